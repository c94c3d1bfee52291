/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_state.h - what the files of the stand-in for libcuda share
 */
#ifndef FAKE_CUDA_STATE_H
#define FAKE_CUDA_STATE_H

#include <pthread.h>

#include "tests/fakes/fake_api.h"

enum { FAKE_DEVICES_MAX = 16 };

extern struct fake_driver fake_gpu_driver;

struct CUevent_st {
	uint32_t number, correlation;
	uint64_t at;		/* when the work before it is done */
};
struct CUmod_st {
	uint32_t number;
};
struct CUfunc_st {
	struct CUfunc_st *next;
	const char *name;
	uint32_t module;
};

/* cuda_call.c */
struct fake_call_state {	/* of a thread */
	struct fake_api *api;		/* innermost that is watched */
	struct fake_call *said;		/* of the next call; allocated, with its work */
	struct fake_begun *begun;	/* by fake_gpu_begin, innermost first */
};
extern __thread struct fake_call_state fake_here __attribute__((tls_model("initial-exec")));
/* The outermost traced call of this thread, or NULL. */
const struct fake_api *fake_outermost(void);
/* The correlation id of what this call makes the device do: the outermost traced one's, else a new one. */
uint32_t fake_identify(void);
/* What fake_gpu_next said of the innermost call of which it spoke, or NULL. */
const struct fake_call *fake_said(void);
bool fake_is_forked(void);
uint64_t fake_now(void);
const struct fake_tool *fake_tool(void);

/* cuda_device.c */
/* Device work of the call that this thread is in. Times of 0: when the stream comes to it. NULL: as
 * `work` says. */
void fake_work(struct fake_work *work, struct CUstream_st *stream, uint32_t module);
uint64_t fake_busy_until(void);
void fake_wait_until(uint64_t ns);
const char *fake_intern(const char *name);
const char *fake_device_value(uint32_t device, const char *key);
uint64_t fake_device_number(uint32_t device, const char *key);
uint32_t fake_n_devices(void);
struct CUstream_st *fake_stream_of(CUstream stream);

/* cuda_driver.c */
CUcontext fake_context(void);		/* of this thread, made when there is none */
CUcontext fake_current(void);
uint32_t fake_contexts(struct CUctx_st *out, uint32_t cap);

/* cuda_memory.c */
uint64_t fake_used_bytes(uint32_t device);

#endif
