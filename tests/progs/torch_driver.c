/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torch_driver.c - the library with handles to turn parts of it on and off, for benchmarks
 *
 * Linked with the objects of libtrainprof.so into a library of its own, preloaded, with a
 * session that is always recording; tests/bench/torch_events.py turns the handles by ctypes.
 * Never shipped.
 */
#include <stdlib.h>
#include <time.h>

#include "runtime/base/clock.h"
#include "runtime/engine/session.h"
#include "runtime/probe/python/pyplace.h"
#include "runtime/probe/python/pystack.h"
#include "runtime/probe/stack/stack_tree.h"
#include "runtime/probe/torch/tensor.h"
#include "runtime/probe/torch/torch_state.h"

#define EXPORT __attribute__((visibility("default")))

enum mode {
	MODE_NOTHING,
	MODE_EMPTY,		/* callbacks that do nothing: what torch itself charges */
	MODE_EMPTY_INPUTS,	/* the same, with the inputs handed to them */
	MODE_OURS,
	MODE_OURS_SHAPES,
	MODE_COUNT,
	MODE_OURS_STACKS,	/* operators and their Python stacks */
	MODE_OURS_MODULES,	/* operators and calls of modules */
	MODE_OURS_BOTH,
};

static uint64_t n_events, other;

static TP_TORCH_CALLED_BY_TORCH void *start_empty(void **ret, const void *rf)
{
	*ret = NULL;
	return ret;
}
TP_TORCH_DEFINE_START(start_empty);

static TP_TORCH_CALLED_BY_TORCH void *start_count(void **ret, const void *rf)
{
	*ret = NULL;
	n_events++;
	return ret;
}
TP_TORCH_DEFINE_START(start_count);

static void end_empty(const void *rf, void *observer)
{
}

EXPORT void driver_mode(int mode);
EXPORT void driver_mode(int mode)
{
	bool has_frames = mode == MODE_OURS_STACKS || mode == MODE_OURS_BOTH;
	bool has_modules = mode == MODE_OURS_MODULES || mode == MODE_OURS_BOTH;
	struct tp_torch_callback callback = {
		.start = mode == MODE_COUNT ? TP_TORCH_START(start_count) :
					      TP_TORCH_START(start_empty),
		.end = (void *)end_empty,
		.probability = 1.0,
		.scopes = { 1, 1, 1 },
		.needs_inputs = mode == MODE_EMPTY_INPUTS,
	};

	if (other)
		tp_torch.abi.remove(other);
	other = 0;
	tp_torch_operators_remove();
	tp_pyplace_is_on = has_frames || has_modules;
	tp_pystack_hold(has_frames, has_modules);
	tp_pyplace_arm(has_modules);
	/* Stacks of the other sort are not these. */
	tp_stack_tree_begin_anew();
	tp_pystack_unmapped();
	if (mode == MODE_OURS || mode == MODE_OURS_SHAPES || tp_pyplace_is_on)
		tp_torch_operators_add(mode == MODE_OURS_SHAPES);
	else if (mode != MODE_NOTHING)
		other = tp_torch.abi.add(callback);
}

EXPORT uint64_t driver_count(void);
EXPORT uint64_t driver_count(void)
{
	return n_events;
}

/* Nanoseconds for a block made and given back, n times; told to the tensor probe or not. */
static uint64_t read_cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

EXPORT double driver_blocks(int n, int is_told);
EXPORT double driver_blocks(int n, int is_told)
{
	uint64_t begin = read_cpu_ns();

	for (int i = 0; i < n; i++) {
		void *block;

		if (posix_memalign(&block, 64, 256))
			return 0;
		/* The compiler must not see through the pair. */
		__asm__ volatile("" : "+r"(block));
		if (is_told) {
			tp_tensor_new(block, 256);
			tp_tensor_delete(block);
		}
		free(block);
	}
	return (double)(read_cpu_ns() - begin) / n;
}

EXPORT int driver_is_recording(void);
EXPORT int driver_is_recording(void)
{
	return tp_session_is_open() && tp_session_is_armed();
}

EXPORT uint64_t driver_dropped(void);
EXPORT uint64_t driver_dropped(void)
{
	return tp_ring_dropped();
}

EXPORT void driver_tensors(int is_armed);
EXPORT void driver_tensors(int is_armed)
{
	if (is_armed)
		tp_tensor_probe.arm();
	else
		tp_tensor_probe.disarm();
}

/* What reading the clock costs: two of them are in each operator, one in each block's event. */
EXPORT double driver_clock(int n);
EXPORT double driver_clock(int n)
{
	uint64_t begin = read_cpu_ns(), sum = 0;

	for (int i = 0; i < n; i++)
		sum += tp_clock_now();
	__asm__ volatile("" : "+r"(sum));
	return (double)(read_cpu_ns() - begin) / n;
}
