/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook_torch.c - functions of torch's own, seen where it calls them: reports of allocators, ranges, threads
 *
 * libc10 calls these functions of its own through the PLT, so the preloaded definitions come
 * first. Each forwards to the real one (real_torch.h). What makes a block is noted after the fact, what
 * gives it back before: once it is free another thread may own the address.
 *
 * Three signatures of the report have existed since torch 1.7; a process uses one of them.
 */
#include <stdint.h>

#include "preload/export.h"
#include "preload/guard.h"
#include "preload/real_torch.h"
#include "runtime/base/sync.h"
#include "runtime/probe/entry/entry.h"
#include "runtime/probe/hang/oom.h"
#include "runtime/probe/python/pymodule.h"
#include "runtime/probe/torch/tensor.h"
#include "runtime/probe/torch/torch_abi.h"
#include "runtime/probe/torch/torch_ranges.h"

/* c10::Device: two bytes, passed in one register. */
struct device {
	int8_t type, index;
};

typedef void (*new_fn)(void *self, void *block, uint64_t n_bytes);
typedef void (*delete_fn)(void *self, void *block);
typedef void (*out_of_memory_fn)(void *self, uint64_t n_bytes);
typedef void (*report_fn)(void *block, int64_t n_bytes, uint64_t allocated, uint64_t reserved,
			  struct device device);
typedef void (*report_old_fn)(void *block, int64_t n_bytes, struct device device);
typedef void (*report_oom_fn)(int64_t n_bytes, uint64_t allocated, uint64_t reserved,
			      struct device device);

typedef void (*set_num_threads_fn)(int n);
typedef const void *(*tracing_state_fn)(void);
typedef void (*range_made_fn)(void *range, uint8_t scope);

#define NEW "_ZN3c1025ProfiledCPUMemoryReporter3NewEPvm"
#define DELETE "_ZN3c1025ProfiledCPUMemoryReporter6DeleteEPv"
#define OUT_OF_MEMORY "_ZN3c1025ProfiledCPUMemoryReporter11OutOfMemoryEm"
#define REPORT "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE"
#define REPORT_SIGNED "_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE"
#define REPORT_OLD "_ZN3c1027reportMemoryUsageToProfilerEPvlNS_6DeviceE"
#define REPORT_OOM "_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE"
#define REPORT_OOM_SIGNED "_ZN3c1027reportOutOfMemoryToProfilerElllNS_6DeviceE"

#define SET_NUM_THREADS "_ZN2at15set_num_threadsEi"	/* of libtorch_cpu, those above of libc10 */

#define TRACING_STATE "_ZN5torch3jit6tracer15getTracingStateEv"	/* of libtorch_cpu, too */

#define RANGE_MADE "_ZN2at14RecordFunctionC1ENS_11RecordScopeE"	/* likewise */

void tp_hook_new(void *self, void *block, uint64_t n_bytes) __asm__(NEW);
void tp_hook_delete(void *self, void *block) __asm__(DELETE);
void tp_hook_out_of_memory(void *self, uint64_t n_bytes) __asm__(OUT_OF_MEMORY);
void tp_hook_report(void *block, int64_t n_bytes, uint64_t allocated, uint64_t reserved,
		    struct device device) __asm__(REPORT);
void tp_hook_report_signed(void *block, int64_t n_bytes, uint64_t allocated, uint64_t reserved,
			   struct device device) __asm__(REPORT_SIGNED);
void tp_hook_report_old(void *block, int64_t n_bytes, struct device device)
	__asm__(REPORT_OLD);
void tp_hook_report_oom(int64_t n_bytes, uint64_t allocated, uint64_t reserved,
			struct device device) __asm__(REPORT_OOM);
void tp_hook_report_oom_signed(int64_t n_bytes, uint64_t allocated, uint64_t reserved,
			       struct device device) __asm__(REPORT_OOM_SIGNED);

void tp_hook_set_num_threads(int n) __asm__(SET_NUM_THREADS);
const void *tp_hook_tracing_state(void) __asm__(TRACING_STATE);
void tp_hook_range_made(void *range, uint8_t scope) __asm__(RANGE_MADE);

TP_EXPORT void tp_hook_new(void *self, void *block, uint64_t n_bytes)
{
	static void *cached;
	new_fn real = (new_fn)tp_real_torch(&cached, TP_LIBC10, NEW);

	tp_entry_allocation();
	tp_tensor_enter();
	if (tp_likely(real != NULL))
		real(self, block, n_bytes);
	tp_tensor_leave();
	tp_tensor_new(block, n_bytes);
}

TP_EXPORT void tp_hook_delete(void *self, void *block)
{
	static void *cached;
	delete_fn real = (delete_fn)tp_real_torch(&cached, TP_LIBC10, DELETE);

	tp_tensor_delete(block);
	tp_tensor_enter();
	if (tp_likely(real != NULL))
		real(self, block);
	tp_tensor_leave();
}

/* Told to both: the trace marks it, and a report says what was held. */
static void note_out_of_memory(int64_t n_bytes, uint64_t allocated, uint64_t reserved, int8_t type,
			       int8_t index)
{
	bool may_walk = tp_guard_enter();

	tp_tensor_out_of_memory(n_bytes, allocated, reserved, type, index);
	tp_oom_note_device((uint64_t)n_bytes, allocated, reserved, type, index, may_walk);
	if (may_walk)
		tp_guard_leave();
}

TP_EXPORT void tp_hook_out_of_memory(void *self, uint64_t n_bytes)
{
	static void *cached;
	out_of_memory_fn real = (out_of_memory_fn)tp_real_torch(&cached, TP_LIBC10, OUT_OF_MEMORY);

	note_out_of_memory((int64_t)n_bytes, 0, 0, 0, -1);
	tp_tensor_enter();
	if (real)
		real(self, n_bytes);
	tp_tensor_leave();
}

/* A free is noted before torch hears of it, an allocation after. */
static void forward_report(report_fn real, void *block, int64_t n_bytes, uint64_t allocated,
			   uint64_t reserved, struct device device)
{
	if (device.type == 0)
		tp_entry_allocation();
	if (n_bytes < 0)
		tp_tensor_report(block, n_bytes, allocated, reserved, device.type, device.index);
	if (real)
		real(block, n_bytes, allocated, reserved, device);
	if (n_bytes >= 0)
		tp_tensor_report(block, n_bytes, allocated, reserved, device.type, device.index);
}

TP_EXPORT void tp_hook_report(void *block, int64_t n_bytes, uint64_t allocated,
			      uint64_t reserved, struct device device)
{
	static void *cached;

	forward_report((report_fn)tp_real_torch(&cached, TP_LIBC10, REPORT), block, n_bytes, allocated,
		       reserved, device);
}

TP_EXPORT void tp_hook_report_signed(void *block, int64_t n_bytes, uint64_t allocated,
				     uint64_t reserved, struct device device)
{
	static void *cached;

	forward_report((report_fn)tp_real_torch(&cached, TP_LIBC10, REPORT_SIGNED), block, n_bytes, allocated,
		       reserved, device);
}

TP_EXPORT void tp_hook_report_old(void *block, int64_t n_bytes, struct device device)
{
	static void *cached;
	report_old_fn real = (report_old_fn)tp_real_torch(&cached, TP_LIBC10, REPORT_OLD);

	tp_tensor_report(block, n_bytes, 0, 0, device.type, device.index);
	if (real)
		real(block, n_bytes, device);
}

TP_EXPORT void tp_hook_report_oom(int64_t n_bytes, uint64_t allocated, uint64_t reserved,
				  struct device device)
{
	static void *cached;
	report_oom_fn real = (report_oom_fn)tp_real_torch(&cached, TP_LIBC10, REPORT_OOM);

	note_out_of_memory(n_bytes, allocated, reserved, device.type, device.index);
	if (real)
		real(n_bytes, allocated, reserved, device);
}

TP_EXPORT void tp_hook_report_oom_signed(int64_t n_bytes, uint64_t allocated,
					 uint64_t reserved, struct device device)
{
	static void *cached;
	report_oom_fn real = (report_oom_fn)tp_real_torch(&cached, TP_LIBC10, REPORT_OOM_SIGNED);

	note_out_of_memory(n_bytes, allocated, reserved, device.type, device.index);
	if (real)
		real(n_bytes, allocated, reserved, device);
}

/* Where a data loader's worker begins. A few calls in the life of a process. */
TP_EXPORT void tp_hook_set_num_threads(int n)
{
	static void *cached;
	set_num_threads_fn real =
		(set_num_threads_fn)tp_real_torch(&cached, TP_LIBTORCH_CPU, SET_NUM_THREADS);

	if (real)
		real(n);
	tp_entry_threads_set();
}

/*
 * torch asks for it here and there, and in each call of an nn.Module. A reference to a shared
 * pointer, which is null where no trace is made, as ours is.
 */
TP_EXPORT const void *tp_hook_tracing_state(void)
{
	static const void *const none[2];
	static void *cached;
	tracing_state_fn real =
		(tracing_state_fn)tp_real_torch(&cached, TP_LIBTORCH_CPU, TRACING_STATE);

	tp_pymodule_maybe_called();
	return tp_likely(real != NULL) ? real() : none;
}

/* A range is made: of the user's, it may be given a callback of its own. */
TP_EXPORT void tp_hook_range_made(void *range, uint8_t scope)
{
	static void *cached;
	range_made_fn real = (range_made_fn)tp_real_torch(&cached, TP_LIBTORCH_CPU, RANGE_MADE);
	struct tp_torch_range_made entered;

	if (scope != TP_SCOPE_USER) {
		real(range, scope);
		return;
	}
	do {
		entered = tp_torch_range_enter(range);
		real(range, scope);
	} while (tp_unlikely(!tp_torch_range_leave(range, entered)));
}
