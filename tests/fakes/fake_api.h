/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_api.h - between the stand-ins: how a call of cuda* or cu* is made, and who hears of it
 *
 * libcuda.so.1 exports one struct fake_driver. libcudart calls through it, libcupti puts its
 * struct fake_tool there. A call that nobody watches costs two loads and a branch.
 */
#ifndef FAKE_API_H
#define FAKE_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cupti.h>

#include "tests/fakes/fake.h"

#define FAKE_EXPORT __attribute__((visibility("default")))
#define FAKE_DRIVER_SYMBOL "fake_gpu_driver"

enum { FAKE_DRIVER_API = 1, FAKE_RUNTIME_API = 2, FAKE_N_DOMAINS = 3, FAKE_N_CBIDS = 1024 };
enum { FAKE_DEFAULT_STREAM = 7 };	/* CUPTI's number of it in the first context */

/* Of a cbid, set by libcupti. */
enum {
	FAKE_WATCH_CALLBACK = 1,
	FAKE_WATCH_RECORD = 2,
	FAKE_WATCH_NUMBER = 4,	/* gets a correlation id, whether recorded or not */
};

/* What handles point to. */
struct CUctx_st {
	uint32_t number, device;
};
struct CUstream_st {
	uint32_t number, context, device;
	uint64_t busy_until;	/* atomic */
};

/* One call of the API, from enter to exit, on its thread's stack. */
struct fake_api {
	struct fake_api *outer;
	uint32_t domain, cbid;
	const char *name;
	const void *params;
	const char *symbol;		/* launches: the kernel's name */
	const struct fake_call *said;	/* by fake_gpu_next, or NULL */
	int failed;			/* the error to return instead of doing it; 0: none */
	/* libcupti's: */
	uint8_t watch;
	uint32_t correlation;
	uint64_t start_ns;
	uint64_t correlation_data;
};

struct fake_memory {		/* an allocation or a free, for MEMORY2 and MEMORY_POOL */
	bool is_release, is_pool, is_async;
	uint32_t kind;		/* CUpti_ActivityMemoryKind; pools: the operation */
	uint64_t address, bytes, pool;
	uint32_t device, stream;
};

/* libcupti, as libcuda sees it. Called on the thread of the call. */
struct fake_tool {
	void (*enter)(struct fake_api *api);
	void (*exit)(struct fake_api *api, const void *returned);
	/* A new correlation id, for a call; NULL: for work of one that is not traced. */
	uint32_t (*number)(const struct fake_api *api);
	/* `module` 0: of none. `work->name` stays for ever; the correlation is filled in. */
	void (*work)(const struct fake_work *work, uint32_t module);
	void (*memory)(const struct fake_memory *memory, uint32_t correlation);
	void (*event)(uint32_t correlation, uint32_t context, uint32_t stream, uint32_t event);
	void (*resource)(CUpti_CallbackIdResource what, CUcontext context, uint32_t number,
			 void *handle);
	void (*unload)(uint32_t module);	/* ~0: all */
	void (*deliver)(void);			/* full buffers go out before it returns */
	void (*fatal)(void);
};

struct fake_driver {
	uint8_t watch[FAKE_N_DOMAINS][FAKE_N_CBIDS];	/* atomic */
	uint64_t wanted_kinds;		/* atomic: 1 << CUpti_ActivityKind */
	uint32_t attention;		/* atomic: calls must look for faults and fake_gpu_next */
	const struct fake_tool *tool;	/* atomic */
	uint32_t is_initialised;	/* atomic: cuInit was called */

	bool (*enter)(struct fake_api *api);	/* false: api->failed */
	void (*exit)(struct fake_api *api, const void *returned);
	void (*memory)(const struct fake_memory *memory);
	uint64_t (*now)(void);
	uint32_t (*find_cbid)(uint32_t domain, const char *name, const char **known);
	const char *const *names[FAKE_N_DOMAINS];	/* of cbids, FAKE_N_CBIDS each */
	uint64_t (*used_bytes)(uint32_t device);
	const char *(*device_value)(uint32_t device, const char *key);
	uint32_t (*n_devices)(void);
	CUcontext (*current)(void);	/* of this thread, or NULL */
	uint32_t (*contexts)(struct CUctx_st *out, uint32_t cap);	/* those that are there */
};

static inline bool fake_is_watched(const struct fake_driver *driver, uint32_t domain, uint32_t cbid)
{
	return __builtin_expect(
		__atomic_load_n(&driver->watch[domain][cbid], __ATOMIC_RELAXED) |
			__atomic_load_n(&driver->attention, __ATOMIC_RELAXED), 0);
}

static inline bool fake_wants(const struct fake_driver *driver, uint32_t kind)
{
	return __atomic_load_n(&driver->wanted_kinds, __ATOMIC_RELAXED) >> kind & 1;
}

#define FAKE_LIST(...) __VA_ARGS__

/*
 * Defines NVIDIA's function `name` of `parameters` around the body that follows. `driver`
 * points to the driver; `params_init` begins the structure that CUPTI's callbacks get.
 */
#define FAKE_CALL(type, driver_, domain_, cbid_, name_, parameters, arguments, params_type,    \
		  params_init, symbol_)                                                        \
	static type do_##name_ parameters;                                                     \
	FAKE_EXPORT type name_ parameters                                                      \
	{                                                                                      \
		const struct fake_driver *on = (driver_);                                      \
		type result;                                                                   \
                                                                                               \
		if (!fake_is_watched(on, domain_, cbid_))                                      \
			return do_##name_ arguments;                                           \
		params_type params = { params_init };                                          \
		struct fake_api api = {.domain = domain_, .cbid = cbid_, .name = #name_,        \
				       .params = &params, .symbol = (symbol_)};                 \
		result = on->enter(&api) ? do_##name_ arguments : (type)api.failed;            \
		on->exit(&api, &result);                                                       \
		return result;                                                                 \
	}                                                                                      \
	static type do_##name_ parameters

#endif
