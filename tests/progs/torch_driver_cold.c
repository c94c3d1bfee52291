/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torch_driver_cold.c - one event at a time, after something that filled the caches
 *
 * A hot loop calls an operator while everything of the last call is still in the first cache. In
 * a training the work between two events has replaced that. Here something is done before each
 * call, outside the time that is taken: data of the size of a cache is written, code is run, or
 * a real product of matrices is computed. Part of torch_driver.so (torch_driver.c), for
 * tests/bench/cold.py.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "runtime/base/clock.h"
#include "runtime/base/sync.h"
#include "runtime/probe/torch/tensor.h"

#define EXPORT __attribute__((visibility("default")))

enum {
	DATA_1 = 128 << 10,		/* first caches: 32 to 64 KiB */
	DATA_2 = 4 << 20,		/* second ones: 0.5 to 2 MiB */
	CODE = 256 << 10,		/* instruction caches, and the predictor of jumps */
	BLOCK_BYTES = 4096,
};

enum evict {
	EVICT_NOTHING,
	EVICT_DATA_1,
	EVICT_DATA_2,
	EVICT_CODE,
	EVICT_ALL,
	EVICT_PRODUCT,
};

/* at::Tensor is one pointer; so is a reference to one. */
struct tensor {
	void *impl;
};

static struct {
	char *data, *code;
	void *(*relu)(struct tensor *);
	void *(*product)(const struct tensor *, const struct tensor *, struct tensor *);
	void *(*call)(void *callable);
	void (*release)(void *object);
	struct tensor small, a, b, out;
} cold;

/* Code that does nothing but return, at the start of every line. */
static char *map_code(void)
{
	char *code = mmap(NULL, CODE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (code == MAP_FAILED)
		return NULL;
	for (uint32_t at = 0; at < CODE; at += TP_CACHE_LINE) {
#if defined(__x86_64__)
		code[at] = (char)0xc3;
#elif defined(__aarch64__)
		memcpy(code + at, &(uint32_t){ 0xd65f03c0 }, 4);
#endif
	}
	__builtin___clear_cache(code, code + CODE);
	return mprotect(code, CODE, PROT_READ | PROT_EXEC) ? NULL : code;
}

/* relu and product: at::_ops::relu_::call and mm_out::call; the rest: tensors, not owned. */
EXPORT int driver_cold_ready(void *relu, void *product, void *call, void *release, void *const *tensors);
EXPORT int driver_cold_ready(void *relu, void *product, void *call, void *release, void *const *tensors)
{
	cold.relu = relu;
	cold.product = product;
	cold.call = call;
	cold.release = release;
	cold.small.impl = tensors[0];
	cold.a.impl = tensors[1];
	cold.b.impl = tensors[2];
	cold.out.impl = tensors[3];
	cold.data = malloc(DATA_2);
	cold.code = map_code();
	return cold.data && cold.code;
}

static void write_data(size_t n_bytes)
{
	for (size_t at = 0; at < n_bytes; at += TP_CACHE_LINE)
		cold.data[at]++;
	__asm__ volatile("" ::: "memory");
}

static void run_code(void)
{
	for (uint32_t at = 0; at < CODE; at += TP_CACHE_LINE)
		((void (*)(void))(uintptr_t)(cold.code + at))();
}

static void evict(enum evict what)
{
	switch (what) {
	case EVICT_NOTHING:
		break;
	case EVICT_DATA_1:
		write_data(DATA_1);
		break;
	case EVICT_DATA_2:
		write_data(DATA_2);
		break;
	case EVICT_CODE:
		run_code();
		break;
	case EVICT_ALL:
		write_data(DATA_2);
		run_code();
		break;
	case EVICT_PRODUCT:
		cold.product(&cold.a, &cold.b, &cold.out);
		break;
	}
}

/* Ticks of n operators, each alone. On the thread that holds the interpreter's lock or not. */
EXPORT void driver_cold_operator(int what, int n, uint32_t *ticks);
EXPORT void driver_cold_operator(int what, int n, uint32_t *ticks)
{
	for (int i = 0; i < n; i++) {
		uint64_t begin;

		evict((enum evict)what);
		begin = tp_clock_now();
		cold.relu(&cold.small);
		ticks[i] = (uint32_t)(tp_clock_now() - begin);
	}
}

/* The same of calls of Python functions, in turns. With the interpreter's lock. */
EXPORT void driver_cold_call(int what, int n, void *one, void *other, uint32_t *ticks);
EXPORT void driver_cold_call(int what, int n, void *one, void *other, uint32_t *ticks)
{
	for (int i = 0; i < n; i++) {
		uint64_t begin;
		void *object;

		evict((enum evict)what);
		begin = tp_clock_now();
		object = cold.call(i & 1 ? other : one);
		ticks[i] = (uint32_t)(tp_clock_now() - begin);
		cold.release(object);
	}
}

/* Of a block made, and of one given back: mean of the two, told to the tensor probe or not. */
EXPORT void driver_cold_block(int what, int n, int is_told, uint32_t *ticks);
EXPORT void driver_cold_block(int what, int n, int is_told, uint32_t *ticks)
{
	for (int i = 0; i < n; i++) {
		uint64_t begin, made;
		void *block;

		evict((enum evict)what);
		begin = tp_clock_now();
		if (posix_memalign(&block, 64, BLOCK_BYTES))
			return;
		if (is_told)
			tp_tensor_new(block, BLOCK_BYTES);
		made = tp_clock_now() - begin;
		evict((enum evict)what);
		begin = tp_clock_now();
		if (is_told)
			tp_tensor_delete(block);
		free(block);
		ticks[i] = (uint32_t)((made + tp_clock_now() - begin) / 2);
	}
}

/* Nanoseconds of a tick. */
EXPORT double driver_tick_ns(void);
EXPORT double driver_tick_ns(void)
{
	uint64_t begin = tp_clock_mono_ns(), ticks = tp_clock_now();

	while (tp_clock_mono_ns() - begin < 50000000)
		;
	return (double)(tp_clock_mono_ns() - begin) / (double)(tp_clock_now() - ticks);
}
