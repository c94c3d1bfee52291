/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tensor.c - blocks of tensor memory, alive and as events
 *
 * The CPU allocator tells the size of a block when it makes it, not when it gives it back.
 * Bytes alive are therefore counted by malloc_usable_size() on both sides, which is allowed
 * only for blocks of the malloc family: each block must be the one that the malloc hooks
 * returned last on its thread. The first that is not ends this count for good, since blocks
 * given back could no longer be told apart; events go on.
 */
#include "runtime/probe/torch/tensor.h"

#include <malloc.h>
#include <stdbool.h>

#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "runtime/base/sync.h"
#include "runtime/engine/config/config.h"
#include "runtime/engine/intern.h"
#include "runtime/engine/ring/ring.h"
#include "runtime/engine/session.h"
#include "runtime/probe/heap/heap_last.h"
#include "runtime/probe/heap/heap_size.h"

enum live_state {
	LIVE_COUNTED,
	LIVE_UNKNOWN,		/* a block came from elsewhere */
	LIVE_SAID,		/* and the user was told */
};

enum { DEVICES = 256 };		/* kinds x indices that are told apart in the sum */

TP_READ_OFTEN static uint32_t live_state;	/* atomic, enum live_state */
TP_READ_OFTEN static uint32_t armed;		/* atomic */

static struct {
	bool is_wanted;
	uint32_t name_out_of_memory;
	uint64_t device_bytes[DEVICES];	/* atomic */
	uint64_t all_devices_bytes;	/* atomic */
} tensor;

__thread struct tp_tensor_self tp_tensor_self
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

TP_READ_OFTEN static uint32_t has_owner;	/* atomic: a thread owns the sum of bytes alive */

/* The first thread that makes or frees a block is the one. */
static TP_COLD bool is_new_owner(void)
{
	if (__atomic_load_n(&has_owner, __ATOMIC_RELAXED))
		return false;
	tp_tensor_self.is_owner = !__atomic_exchange_n(&has_owner, 1, __ATOMIC_RELAXED);
	return tp_tensor_self.is_owner;
}

static inline void count(int64_t change)
{
	tp_session_live(tp_likely(tp_tensor_self.is_owner) || is_new_owner(), change);
}

static inline bool is_armed(void)
{
	return __atomic_load_n(&armed, __ATOMIC_RELAXED) != 0;
}

static inline void put(enum tp_rec_kind kind, uint8_t flags, uint32_t device, uint64_t len,
		       uint64_t arg)
{
	struct tp_rec *rec = tp_ring_reserve();

	if (tp_unlikely(!rec))
		return;
	rec->time = tp_clock_now();
	tp_rec_set_len(rec, len);
	rec->kind = (uint8_t)kind;
	rec->flags = flags;
	rec->name = 0;
	rec->link = device;
	rec->arg = arg;
	tp_ring_commit();
}

static inline bool is_counted(void)
{
	return __atomic_load_n(&live_state, __ATOMIC_RELAXED) == LIVE_COUNTED;
}

static TP_COLD void stop_counting(void)
{
	uint32_t expected = LIVE_COUNTED;

	if (!__atomic_compare_exchange_n(&live_state, &expected, LIVE_UNKNOWN, false,
					 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return;
	tp_session_live_forget();
}

/* Apart, so that outside windows nothing is saved for them. */
static TP_HOT __attribute__((noinline)) void record_new(void *block, uint64_t n_bytes)
{
	put(TP_REC_ALLOC, 0, TP_DEVICE_CPU, n_bytes, (uintptr_t)block);
}

static TP_HOT __attribute__((noinline)) void record_delete(void *block)
{
	put(TP_REC_FREE, 0, TP_DEVICE_CPU, 0, (uintptr_t)block);
}

TP_HOT void tp_tensor_new(void *block, uint64_t n_bytes)
{
	if (tp_unlikely(!block || n_bytes == 0))
		return;
	if (tp_likely(is_counted())) {
		if (tp_likely(tp_heap_is_last_block(block)))
			count((int64_t)tp_heap_size(malloc_usable_size, block));
		else
			stop_counting();
	}
	if (is_armed())
		record_new(block, n_bytes);
}

TP_HOT void tp_tensor_delete(void *block)
{
	if (tp_unlikely(!block))
		return;
	if (tp_likely(is_counted()))
		count(-(int64_t)tp_heap_size(malloc_usable_size, block));
	if (is_armed())
		record_delete(block);
}

static void note_device(uint32_t device, uint64_t allocated)
{
	uint64_t *bytes = &tensor.device_bytes[(device ^ device >> 4) % DEVICES];
	uint64_t before = __atomic_exchange_n(bytes, allocated, __ATOMIC_RELAXED);

	tp_session_device_live(__atomic_add_fetch(&tensor.all_devices_bytes,
						  allocated - before, __ATOMIC_RELAXED));
}

void tp_tensor_report(void *block, int64_t n_bytes, uint64_t allocated, uint64_t reserved,
		      int8_t type, int8_t index)
{
	const uint32_t device = TP_DEVICE(type, index);
	const bool is_host = type == 0;
	const uint64_t size = n_bytes < 0 ? (uint64_t)-n_bytes : (uint64_t)n_bytes;

	if (tp_tensor_self.inside || n_bytes == 0)
		return;
	if (!is_host)
		note_device(device, allocated);
	else if (is_counted())
		count(n_bytes);
	if (!is_armed())
		return;
	put(n_bytes < 0 ? TP_REC_FREE : TP_REC_ALLOC, is_host ? TP_F_SHARED : 0, device, size,
	    (uintptr_t)block);
	if (!is_host)
		put(TP_REC_TOTALS, 0, device, allocated, reserved);
}

void tp_tensor_out_of_memory(int64_t n_bytes, uint64_t allocated, uint64_t reserved,
			     int8_t type, int8_t index)
{
	struct tp_rec *rec;

	if (tp_tensor_self.inside || !tp_session_is_open())
		return;
	if (type == 0)
		tp_info("out of memory on the host: %ld bytes requested", (long)n_bytes);
	else
		tp_info("out of memory on device %d of kind %d: %ld bytes requested, %lu "
			"allocated, %lu reserved", index, type, (long)n_bytes,
			(unsigned long)allocated, (unsigned long)reserved);
	if (!is_armed())
		return;
	if (type != 0)
		put(TP_REC_TOTALS, 0, TP_DEVICE(type, index), allocated, reserved);
	rec = tp_ring_reserve();
	if (!rec)
		return;
	rec->time = tp_clock_now();
	tp_rec_set_len(rec, 0);
	rec->kind = TP_REC_MARK;
	rec->flags = 0;
	rec->name = tensor.name_out_of_memory;
	rec->link = TP_DEVICE(type, index);
	rec->arg = (uint64_t)n_bytes;
	tp_ring_commit();
}

static int open_tensor(const struct tp_config *config)
{
	tensor.is_wanted = config->record & TP_RECORD_TENSORS;
	return 0;
}

static void arm_tensor(void)
{
	if (!tensor.is_wanted)
		return;
	tensor.name_out_of_memory = tp_intern_text("out of memory");
	/* The level on which the window's own blocks stand. */
	if (is_counted())
		put(TP_REC_TOTALS, 0, TP_DEVICE_CPU,
		    (uint64_t)tp_biased_read(&tp_session_tensors.live), 0);
	__atomic_store_n(&armed, 1, __ATOMIC_RELEASE);
}

static void disarm_tensor(void)
{
	__atomic_store_n(&armed, 0, __ATOMIC_RELEASE);
}

static void report_tensor(struct tp_text *totals)
{
	uint32_t expected = LIVE_UNKNOWN;

	if (__atomic_compare_exchange_n(&live_state, &expected, LIVE_SAID, false,
					__ATOMIC_RELAXED, __ATOMIC_RELAXED))
		tp_probe_off("tensor.live",
			     "tensors do not come from the malloc that is watched");
}

const struct tp_probe tp_tensor_probe = {
	.name = "tensor",
	.is_for_recorder = true,
	.open = open_tensor,
	.arm = arm_tensor,
	.disarm = disarm_tensor,
	.report = report_tensor,
	.forked = disarm_tensor,
	.close = disarm_tensor,
};
