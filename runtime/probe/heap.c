/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap.c - slots of the malloc counters, and their totals for the trace
 *
 * Taking a slot runs inside the guest's malloc, once a thread: two or three system calls at
 * most, nothing that allocates. Slots are given back by nobody: a thread's last free may come
 * after every destructor that could tell us, so a newcomer asks the kernel instead whether
 * the owner still lives.
 */
#include "runtime/probe/heap.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/base/text.h"

/* Owners looked at before a newcomer settles for the shared slot: bounds its first malloc. */
enum { TAKE_TRIES = 16 };

__thread struct tp_heap_self tp_heap_self
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

static struct {
	struct tp_heap_slot slot[TP_HEAP_SLOTS];
	struct tp_heap_slot shared;
	uint32_t next;		/* atomic: where the next newcomer looks first */
	uint32_t n_sharing;	/* atomic */
	const char *off;	/* why nothing is seen; NULL: counting */
} heap;

static bool is_dead(uint32_t tid)
{
	return syscall(SYS_tgkill, getpid(), (pid_t)tid, 0) < 0 && errno == ESRCH;
}

struct tp_heap_slot *tp_heap_take_slot(void)
{
	uint32_t tid = (uint32_t)syscall(SYS_gettid);
	uint32_t first = __atomic_fetch_add(&heap.next, 1, __ATOMIC_RELAXED);
	struct tp_heap_slot *mine = NULL;
	int kept_errno = errno;

	for (uint32_t i = 0; i < TAKE_TRIES && !mine; i++) {
		struct tp_heap_slot *slot = &heap.slot[(first + i) % TP_HEAP_SLOTS];
		uint32_t owner = __atomic_load_n(&slot->tid, __ATOMIC_RELAXED);

		/* An owner with our own number had it before us. */
		if (owner && owner != tid && !is_dead(owner))
			continue;
		/* Acquire: the dead owner's counts are read and continued. */
		if (__atomic_compare_exchange_n(&slot->tid, &owner, tid, false, __ATOMIC_ACQ_REL,
						__ATOMIC_RELAXED))
			mine = slot;
	}
	if (!mine) {
		__atomic_fetch_add(&heap.n_sharing, 1, __ATOMIC_RELAXED);
		mine = &heap.shared;
	}
	errno = kept_errno;
	tp_heap_self.slot = mine;
	return mine;
}

void tp_heap_set_off(const char *why)
{
	heap.off = why;
}

static void add_slot(struct tp_heap_totals *totals, const struct tp_heap_slot *slot)
{
	totals->allocs += __atomic_load_n(&slot->allocs, __ATOMIC_RELAXED);
	totals->frees += __atomic_load_n(&slot->frees, __ATOMIC_RELAXED);
	totals->reallocs += __atomic_load_n(&slot->reallocs, __ATOMIC_RELAXED);
	totals->bytes += __atomic_load_n(&slot->bytes, __ATOMIC_RELAXED);
}

void tp_heap_totals(struct tp_heap_totals *totals)
{
	memset(totals, 0, sizeof(*totals));
	for (int i = 0; i < TP_HEAP_SLOTS; i++)
		add_slot(totals, &heap.slot[i]);
	add_slot(totals, &heap.shared);
	totals->n_sharing = __atomic_load_n(&heap.n_sharing, __ATOMIC_RELAXED);
}

void tp_heap_forked(void)
{
	/* The other threads do not exist here; this one takes a slot again when it counts. */
	memset(heap.slot, 0, sizeof(heap.slot));
	memset(&heap.shared, 0, sizeof(heap.shared));
	heap.next = 0;
	heap.n_sharing = 0;
	tp_heap_self.slot = NULL;
	tp_heap_self.last_block = NULL;
}

static int open_heap(const struct tp_config *config)
{
	if (!heap.off)
		return 0;
	tp_probe_off("heap", heap.off);
	return -ENOTSUP;
}

static void report_heap(struct tp_text *totals)
{
	struct tp_heap_totals sum;

	tp_heap_totals(&sum);
	tp_text_fmt(totals,
		    "heap.allocs=%lu\nheap.frees=%lu\nheap.reallocs=%lu\nheap.bytes=%lu\n"
		    "heap.threads_sharing=%u\n",
		    (unsigned long)sum.allocs, (unsigned long)sum.frees, (unsigned long)sum.reallocs,
		    (unsigned long)sum.bytes, sum.n_sharing);
}

const struct tp_probe tp_heap_probe = {
	.name = "heap",
	.open = open_heap,
	.report = report_heap,
};
