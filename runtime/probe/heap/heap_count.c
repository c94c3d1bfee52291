/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_count.c - slots of the malloc counters, and their sums
 *
 * Taking a slot runs inside the guest's malloc, once a thread: two or three system calls at
 * most, nothing that allocates. Slots are given back by nobody: a thread's last free may come
 * after every destructor that could tell us, so a newcomer asks the kernel instead whether
 * the owner still lives.
 */
#include "runtime/probe/heap/heap_count.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Owners looked at before a newcomer settles for the shared slot: bounds its first malloc. */
enum { TAKE_TRIES = 16 };

__thread struct tp_heap_self tp_heap_self
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

uint32_t tp_heap_mode = TP_HEAP_LIVE;

static struct {
	struct tp_heap_slot slot[TP_HEAP_SLOTS];
	uint32_t next;		/* atomic: where the next newcomer looks first */
	uint32_t n_sharing;	/* atomic */
	bool has_no_owners;	/* atomic: nobody reads the counts */
	int64_t inherited;	/* bytes alive when this process was forked */
} heap;
static struct tp_heap_slot shared_slot = { .is_shared = 1 };

/* What the slots told; apart, because any thread writes it at any time. */
static struct {
	int64_t live;		/* atomic */
	int64_t recent_peak;	/* atomic: since it was last taken */
	int64_t peak;		/* atomic: until then */
} sum __attribute__((aligned(2 * TP_CACHE_LINE)));

void tp_heap_change_mode(uint32_t add, uint32_t remove)
{
	uint32_t mode = tp_heap_get_mode();

	while (!__atomic_compare_exchange_n(&tp_heap_mode, &mode, (mode & ~remove) | add, false,
					    __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
}

static bool is_dead(uint32_t tid)
{
	return syscall(SYS_tgkill, getpid(), (pid_t)tid, 0) < 0 && errno == ESRCH;
}

/* What the new owner's own counts begin at. */
static void begin_owner(struct tp_heap_slot *slot)
{
	int64_t live = __atomic_load_n(&slot->live, __ATOMIC_RELAXED);

	__atomic_store_n(&slot->begin_allocs, __atomic_load_n(&slot->allocs, __ATOMIC_RELAXED),
			 __ATOMIC_RELAXED);
	__atomic_store_n(&slot->begin_frees, __atomic_load_n(&slot->frees, __ATOMIC_RELAXED),
			 __ATOMIC_RELAXED);
	__atomic_store_n(&slot->begin_live, live, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->peak, live, __ATOMIC_RELAXED);
}

void tp_heap_forget_owners(void)
{
	__atomic_store_n(&heap.has_no_owners, true, __ATOMIC_RELAXED);
}

/* Asks the kernel who this thread is, and whether an earlier owner is still there. NULL: all looked at
 * are. */
static struct tp_heap_slot *own_slot(uint32_t first)
{
	uint32_t tid = (uint32_t)syscall(SYS_gettid);
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
						__ATOMIC_RELAXED)) {
			mine = slot;
			begin_owner(mine);
		}
	}
	errno = kept_errno;
	return mine;
}

struct tp_heap_slot *tp_heap_take_slot(void)
{
	uint32_t first;

	if (tp_heap_self.is_sharing)
		return &shared_slot;
	first = __atomic_fetch_add(&heap.next, 1, __ATOMIC_RELAXED);
	if (__atomic_load_n(&heap.has_no_owners, __ATOMIC_RELAXED))
		tp_heap_self.slot = &heap.slot[first % TP_HEAP_SLOTS];
	else
		tp_heap_self.slot = own_slot(first);
	if (tp_heap_self.slot)
		return tp_heap_self.slot;
	tp_heap_self.is_sharing = true;
	__atomic_fetch_add(&heap.n_sharing, 1, __ATOMIC_RELAXED);
	return &shared_slot;
}

void tp_heap_tell(struct tp_heap_slot *slot)
{
	int64_t live = __atomic_load_n(&slot->live, __ATOMIC_RELAXED);
	/* Exchanged: whoever tells at the same time (a signal handler, a thread that shares the
	 * slot) tells another part of the way. */
	int64_t change = live - __atomic_exchange_n(&slot->told, live, __ATOMIC_RELAXED);

	tp_raise(&sum.recent_peak, __atomic_add_fetch(&sum.live, change, __ATOMIC_RELAXED));
}

int64_t tp_heap_peak(void)
{
	int64_t peak = __atomic_load_n(&sum.peak, __ATOMIC_RELAXED);
	int64_t recent = __atomic_load_n(&sum.recent_peak, __ATOMIC_RELAXED);

	return recent > peak ? recent : peak;
}

int64_t tp_heap_live(void)
{
	return __atomic_load_n(&sum.live, __ATOMIC_RELAXED);
}

int64_t tp_heap_take_recent_peak(void)
{
	int64_t recent = __atomic_exchange_n(&sum.recent_peak,
					     __atomic_load_n(&sum.live, __ATOMIC_RELAXED),
					     __ATOMIC_RELAXED);

	tp_raise(&sum.peak, recent);
	return recent;
}

static void add_slot(struct tp_heap_totals *totals, const struct tp_heap_slot *slot)
{
	totals->allocs += __atomic_load_n(&slot->allocs, __ATOMIC_RELAXED);
	totals->frees += __atomic_load_n(&slot->frees, __ATOMIC_RELAXED);
	totals->reallocs += __atomic_load_n(&slot->reallocs, __ATOMIC_RELAXED);
	totals->bytes += __atomic_load_n(&slot->bytes, __ATOMIC_RELAXED);
	totals->live += __atomic_load_n(&slot->live, __ATOMIC_RELAXED);
	totals->n_slots += __atomic_load_n(&slot->tid, __ATOMIC_RELAXED) != 0;
}

void tp_heap_totals(struct tp_heap_totals *totals)
{
	memset(totals, 0, sizeof(*totals));
	totals->live = heap.inherited;
	for (int i = 0; i < TP_HEAP_SLOTS; i++)
		add_slot(totals, &heap.slot[i]);
	add_slot(totals, &shared_slot);
	totals->n_sharing = __atomic_load_n(&heap.n_sharing, __ATOMIC_RELAXED);
	totals->n_slots += totals->n_sharing != 0;
}

static void read_thread(struct tp_heap_thread *thread, const struct tp_heap_slot *slot)
{
	int64_t begin = __atomic_load_n(&slot->begin_live, __ATOMIC_RELAXED);

	thread->tid = __atomic_load_n(&slot->tid, __ATOMIC_RELAXED);
	thread->allocs = __atomic_load_n(&slot->allocs, __ATOMIC_RELAXED) -
			 __atomic_load_n(&slot->begin_allocs, __ATOMIC_RELAXED);
	thread->frees = __atomic_load_n(&slot->frees, __ATOMIC_RELAXED) -
			__atomic_load_n(&slot->begin_frees, __ATOMIC_RELAXED);
	thread->live = __atomic_load_n(&slot->live, __ATOMIC_RELAXED) - begin;
	thread->peak = __atomic_load_n(&slot->peak, __ATOMIC_RELAXED) - begin;
}

uint32_t tp_heap_threads(struct tp_heap_thread *thread, uint32_t most)
{
	uint32_t n = 0;

	for (int i = 0; i < TP_HEAP_SLOTS; i++) {
		struct tp_heap_thread next;
		uint32_t at;

		read_thread(&next, &heap.slot[i]);
		if (!next.tid)
			continue;
		for (at = n; at > 0 && thread[at - 1].peak < next.peak; at--)
			if (at < most)
				thread[at] = thread[at - 1];
		if (at < most) {
			thread[at] = next;
			n += n < most;
		}
	}
	return n;
}

void tp_heap_forked(uint32_t tid)
{
	struct tp_heap_totals totals;

	/* Memory that the parent's threads were given is this process's now. */
	tp_heap_totals(&totals);
	/* The other threads do not exist here; this one has a slot at once: when it counts it may be
	 * where asking for its number ends the process. */
	memset(heap.slot, 0, sizeof(heap.slot));
	memset(&shared_slot, 0, sizeof(shared_slot));
	shared_slot.is_shared = 1;
	heap.slot[0].tid = tid;
	heap.next = 1;
	heap.n_sharing = 0;
	heap.inherited = totals.live;
	sum.live = sum.recent_peak = sum.peak = totals.live;
	tp_heap_self.slot = &heap.slot[0];
	tp_heap_self.is_sharing = false;
	tp_heap_self.last_block = NULL;
}
