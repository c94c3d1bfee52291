/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_lib.h - the CUPTI of this process: which file, which version, its functions
 *
 * Found at run time, never linked. The functions are those of cupti_calls.def, typed from
 * NVIDIA's headers; one that this version lacks is NULL. The oldest that is used is that of CUDA
 * 11.8, the first whose records have today's beginnings.
 */
#ifndef TP_PROBE_CUPTI_LIB_H
#define TP_PROBE_CUPTI_LIB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cupti.h>

struct tp_cupti_lib {
#define _(function, since) __typeof__(&function) function;
#include "runtime/probe/gpu/cupti_calls.def"
#undef _
	uint32_t version;	/* CUPTI_API_VERSION: 18, 24, 130000, ...; 0: not open */
	uint32_t release;	/* 110800, 120400, 130000: the same on one scale. CUDA 12.0's and
				 * 12.1's CUPTI say 18, as 11.8's does: 110800 */
	char path[512];
};
extern struct tp_cupti_lib tp_cupti __attribute__((visibility("hidden")));

/*
 * `wanted` (TRAINPROF_CUPTI_LIB, may be ""), else the one that is mapped already, else beside
 * the CUDA libraries that are mapped, else $CUDA_HOME, else by name; of these none that is for
 * a newer CUDA than the driver's. dlopen, RTLD_LOCAL, never closed. Idempotent; errno stays.
 * 0, or -errno with one line in `why`.
 */
int tp_cupti_lib_open(const char *wanted, char *why, size_t cap);

/* A function of the libcuda that is mapped; NULL: there is none. Nothing is mapped for that. */
void *tp_cupti_driver(const char *function);

/* On the scale of `release`; 0: older than all that is supported. */
uint32_t tp_cupti_release(uint32_t version);

/* "CUPTI_ERROR_...", for messages. */
const char *tp_cupti_error(CUptiResult result);

#endif
