/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook_cuda.c - the cudaMalloc family by its names, for when CUPTI does not tell
 *
 * Programs look for cudaMalloc to learn whether there is CUDA (dlsym, weak references), and must
 * not find ours. So the names are defined with the versions that NVIDIA's libcudart gives them,
 * none of which is the default: only who was linked against a libcudart is led here, and the
 * version says against which one, also when several are loaded. The real function is the one of
 * that version in a libcudart that is mapped. A runtime that is linked statically is not seen.
 *
 * While CUPTI tells (tp_devmem_is_told), it costs a branch.
 */
#include "preload/hook_cuda.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <cuda_runtime_api.h>

#include "preload/export.h"
#include "runtime/base/sync.h"
#include "runtime/base/text.h"
#include "runtime/engine/config/config.h"
#include "runtime/probe/devmem/devmem.h"
#include "runtime/probe/devmem/owner_objects.h"

/* Those of preload/versions.map. CUDA 11 kept one name for all its releases. */
#define VERSIONS                                                                           \
	_(11, "libcudart.so.11.0")                                                         \
	_(12, "libcudart.so.12")                                                           \
	_(13, "libcudart.so.13")

enum version {
#define _(number, node) V_##number,
	VERSIONS
#undef _
	N_VERSIONS
};

static const char *const node_name[N_VERSIONS] = {
#define _(number, node) [V_##number] = node,
	VERSIONS
#undef _
};

enum function {
	MALLOC, MALLOC_PITCH, MALLOC_MANAGED, MALLOC_HOST, HOST_ALLOC,
	MALLOC_ASYNC, MALLOC_ASYNC_PTSZ, MALLOC_FROM_POOL_ASYNC, MALLOC_FROM_POOL_ASYNC_PTSZ,
	FREE, FREE_HOST, FREE_ASYNC, FREE_ASYNC_PTSZ, HOST_REGISTER, HOST_UNREGISTER,
	GET_DEVICE, N_FUNCTIONS
};

static const char *const function_name[N_FUNCTIONS] = {
	[MALLOC] = "cudaMalloc",
	[MALLOC_PITCH] = "cudaMallocPitch",
	[MALLOC_MANAGED] = "cudaMallocManaged",
	[MALLOC_HOST] = "cudaMallocHost",
	[HOST_ALLOC] = "cudaHostAlloc",
	[MALLOC_ASYNC] = "cudaMallocAsync",
	[MALLOC_ASYNC_PTSZ] = "cudaMallocAsync_ptsz",
	[MALLOC_FROM_POOL_ASYNC] = "cudaMallocFromPoolAsync",
	[MALLOC_FROM_POOL_ASYNC_PTSZ] = "cudaMallocFromPoolAsync_ptsz",
	[FREE] = "cudaFree",
	[FREE_HOST] = "cudaFreeHost",
	[FREE_ASYNC] = "cudaFreeAsync",
	[FREE_ASYNC_PTSZ] = "cudaFreeAsync_ptsz",
	[HOST_REGISTER] = "cudaHostRegister",
	[HOST_UNREGISTER] = "cudaHostUnregister",
	[GET_DEVICE] = "cudaGetDevice",
};

enum { MOST_RUNTIMES = 8, PATH_BYTES = 512 };

static void *real_function[N_VERSIONS][N_FUNCTIONS];	/* atomic */
static bool is_on;
/* A function of the family may be made of another one. */
static __thread bool is_inside __attribute__((tls_model("initial-exec")));

/* ---- the real ones ---- */

struct runtimes {
	uint32_t n;
	char path[MOST_RUNTIMES][PATH_BYTES];
};

static int note_runtime(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct runtimes *runtimes = ctx;
	const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
	struct tp_text text;

	if (!slash || strncmp(slash + 1, "libcudart", strlen("libcudart")) != 0 ||
	    runtimes->n == MOST_RUNTIMES)
		return 0;
	tp_text_init(&text, runtimes->path[runtimes->n], PATH_BYTES);
	tp_text_str(&text, info->dlpi_name);
	runtimes->n += !text.is_cut;
	return 0;
}

/* Wheels give libcudart names of their own, and load it where RTLD_NEXT does not look. */
static void *find_real(enum version version, enum function function)
{
	struct runtimes runtimes = { 0 };
	int kept_errno = errno;
	void *found = NULL;

	dl_iterate_phdr(note_runtime, &runtimes);
	for (uint32_t i = 0; i < runtimes.n && !found; i++) {
		void *library = dlopen(runtimes.path[i], RTLD_LAZY | RTLD_NOLOAD);

		if (library)
			found = dlvsym(library, function_name[function], node_name[version]);
	}
	if (!found)
		dlerror();
	__atomic_store_n(&real_function[version][function], found, __ATOMIC_RELAXED);
	errno = kept_errno;
	return found;
}

static inline void *find(enum version version, enum function function)
{
	void *real = __atomic_load_n(&real_function[version][function], __ATOMIC_RELAXED);

	return tp_likely(real != NULL) ? real : find_real(version, function);
}

/* ---- telling ---- */

static inline bool is_telling(void)
{
	return is_on && !tp_devmem_is_told() && !is_inside;
}

static uint32_t current_device(enum version version)
{
	cudaError_t (*get)(int *device) = (cudaError_t (*)(int *))find(version, GET_DEVICE);
	int device;

	return get && get(&device) == cudaSuccess ? (uint32_t)device : TP_DEVMEM_NO_DEVICE;
}

static void tell(enum version version, uint8_t kind, const void *address, size_t bytes,
		 cudaMemPool_t pool, const void *caller)
{
	struct tp_devmem_block block = {
		.address = (uintptr_t)address, .bytes = bytes, .pool = (uintptr_t)pool,
		.device = current_device(version), .kind = kind,
		.is_async = kind == TP_DEVMEM_POOL, .caller = caller,
	};

	/* A library that came after the last look; no callback of CUDA, so there may be one now. */
	if (!tp_owner_of(caller))
		tp_owner_refresh();
	tp_devmem_alloc(&block);
}

/* What all that allocate have in common: `call` is the real one, with its arguments. */
#define ALLOCATE(version, kind, call, address, bytes, pool)                                \
	cudaError_t result;                                                                \
                                                                                           \
	if (tp_unlikely(!real))                                                            \
		return cudaErrorInitializationError;                                       \
	if (tp_likely(!is_telling()))                                                      \
		return call;                                                               \
	is_inside = true;                                                                  \
	result = call;                                                                     \
	is_inside = false;                                                                 \
	/* The first call of all may have brought CUPTI, which told of it. */              \
	if (result == cudaSuccess && !tp_devmem_is_told())                                 \
		tell(version, kind, address, bytes, pool, caller);                         \
	return result

/* And all that free: told before, because afterwards another thread may have the address. */
#define RELEASE(kind, call, address)                                                       \
	cudaError_t result;                                                                \
                                                                                           \
	if (tp_unlikely(!real))                                                            \
		return cudaErrorInitializationError;                                       \
	if (tp_likely(!is_telling()))                                                      \
		return call;                                                               \
	tp_devmem_free((uintptr_t)(address), kind, 0, caller);                             \
	is_inside = true;                                                                  \
	result = call;                                                                     \
	is_inside = false;                                                                 \
	if (result != cudaSuccess)                                                         \
		tp_devmem_unfree();                                                        \
	return result

static inline cudaError_t do_malloc(enum version version, enum function function, uint8_t kind,
				    void **address, size_t bytes, const void *caller)
{
	cudaError_t (*real)(void **, size_t) = (__typeof__(real))find(version, function);

	ALLOCATE(version, kind, real(address, bytes), *address, bytes, NULL);
}

static inline cudaError_t do_malloc_flags(enum version version, enum function function,
					  uint8_t kind, void **address, size_t bytes,
					  unsigned flags, const void *caller)
{
	cudaError_t (*real)(void **, size_t, unsigned) = (__typeof__(real))find(version, function);

	ALLOCATE(version, kind, real(address, bytes, flags), *address, bytes, NULL);
}

static inline cudaError_t do_pitch(enum version version, void **address, size_t *pitch,
				   size_t width, size_t height, const void *caller)
{
	cudaError_t (*real)(void **, size_t *, size_t, size_t) =
		(__typeof__(real))find(version, MALLOC_PITCH);

	ALLOCATE(version, TP_DEVMEM_DEVICE, real(address, pitch, width, height), *address,
		 *pitch * height, NULL);
}

static inline cudaError_t do_async(enum version version, enum function function, void **address,
				   size_t bytes, cudaStream_t stream, const void *caller)
{
	cudaError_t (*real)(void **, size_t, cudaStream_t) =
		(__typeof__(real))find(version, function);

	ALLOCATE(version, TP_DEVMEM_POOL, real(address, bytes, stream), *address, bytes, NULL);
}

static inline cudaError_t do_pool(enum version version, enum function function, void **address,
				  size_t bytes, cudaMemPool_t pool, cudaStream_t stream,
				  const void *caller)
{
	cudaError_t (*real)(void **, size_t, cudaMemPool_t, cudaStream_t) =
		(__typeof__(real))find(version, function);

	ALLOCATE(version, TP_DEVMEM_POOL, real(address, bytes, pool, stream), *address, bytes,
		 pool);
}

static inline cudaError_t do_register(enum version version, void *address, size_t bytes,
				      unsigned flags, const void *caller)
{
	cudaError_t (*real)(void *, size_t, unsigned) =
		(__typeof__(real))find(version, HOST_REGISTER);

	ALLOCATE(version, TP_DEVMEM_REGISTERED, real(address, bytes, flags), address, bytes, NULL);
}

static inline cudaError_t do_free(enum version version, enum function function, uint8_t kind,
				  void *address, const void *caller)
{
	cudaError_t (*real)(void *) = (__typeof__(real))find(version, function);

	RELEASE(kind, real(address), address);
}

static inline cudaError_t do_free_async(enum version version, enum function function,
					void *address, cudaStream_t stream, const void *caller)
{
	cudaError_t (*real)(void *, cudaStream_t) = (__typeof__(real))find(version, function);

	RELEASE(TP_DEVMEM_POOL, real(address, stream), address);
}

/* ---- the names ---- */

/* The name that the compiler needs is removed again: it would be one more for the program. */
#define HOOK(number, node, name, parameters, call)                                         \
	TP_EXPORT cudaError_t tp_hook_##name##_##number parameters;                        \
	TP_EXPORT cudaError_t tp_hook_##name##_##number parameters                         \
	{                                                                                  \
		const enum version version = V_##number;                                   \
		const void *caller = __builtin_return_address(0);                          \
                                                                                           \
		return call;                                                               \
	}                                                                                  \
	__asm__(".symver tp_hook_" #name "_" #number ", " #name "@" node ", remove");

#define _(number, node)                                                                    \
	HOOK(number, node, cudaMalloc, (void **address, size_t bytes),                     \
	     do_malloc(version, MALLOC, TP_DEVMEM_DEVICE, address, bytes, caller))         \
	HOOK(number, node, cudaMallocHost, (void **address, size_t bytes),                 \
	     do_malloc(version, MALLOC_HOST, TP_DEVMEM_PINNED, address, bytes, caller))    \
	HOOK(number, node, cudaMallocManaged, (void **address, size_t bytes, unsigned flags), \
	     do_malloc_flags(version, MALLOC_MANAGED, TP_DEVMEM_MANAGED, address, bytes,   \
			     flags, caller))                                               \
	HOOK(number, node, cudaHostAlloc, (void **address, size_t bytes, unsigned flags),  \
	     do_malloc_flags(version, HOST_ALLOC, TP_DEVMEM_PINNED, address, bytes, flags, \
			     caller))                                                      \
	HOOK(number, node, cudaMallocPitch,                                                \
	     (void **address, size_t *pitch, size_t width, size_t height),                 \
	     do_pitch(version, address, pitch, width, height, caller))                     \
	HOOK(number, node, cudaMallocAsync,                                                \
	     (void **address, size_t bytes, cudaStream_t stream),                          \
	     do_async(version, MALLOC_ASYNC, address, bytes, stream, caller))              \
	HOOK(number, node, cudaMallocAsync_ptsz,                                           \
	     (void **address, size_t bytes, cudaStream_t stream),                          \
	     do_async(version, MALLOC_ASYNC_PTSZ, address, bytes, stream, caller))         \
	HOOK(number, node, cudaMallocFromPoolAsync,                                        \
	     (void **address, size_t bytes, cudaMemPool_t pool, cudaStream_t stream),      \
	     do_pool(version, MALLOC_FROM_POOL_ASYNC, address, bytes, pool, stream, caller)) \
	HOOK(number, node, cudaMallocFromPoolAsync_ptsz,                                   \
	     (void **address, size_t bytes, cudaMemPool_t pool, cudaStream_t stream),      \
	     do_pool(version, MALLOC_FROM_POOL_ASYNC_PTSZ, address, bytes, pool, stream,   \
		     caller))                                                              \
	HOOK(number, node, cudaHostRegister, (void *address, size_t bytes, unsigned flags), \
	     do_register(version, address, bytes, flags, caller))                          \
	HOOK(number, node, cudaFree, (void *address),                                      \
	     do_free(version, FREE, TP_DEVMEM_DEVICE, address, caller))                    \
	HOOK(number, node, cudaFreeHost, (void *address),                                  \
	     do_free(version, FREE_HOST, TP_DEVMEM_PINNED, address, caller))               \
	HOOK(number, node, cudaHostUnregister, (void *address),                            \
	     do_free(version, HOST_UNREGISTER, TP_DEVMEM_REGISTERED, address, caller))     \
	HOOK(number, node, cudaFreeAsync, (void *address, cudaStream_t stream),            \
	     do_free_async(version, FREE_ASYNC, address, stream, caller))                  \
	HOOK(number, node, cudaFreeAsync_ptsz, (void *address, cudaStream_t stream),       \
	     do_free_async(version, FREE_ASYNC_PTSZ, address, stream, caller))

VERSIONS

void tp_hook_cuda_init(const struct tp_config *config)
{
	is_on = config->record & TP_RECORD_DEVMEM;
}
