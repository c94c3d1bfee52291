/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring_drain.c - the other end of the ring: passes, and what ended threads leave behind
 *
 * One thread at a time. The order of the stores here is what makes the file of a dead process
 * readable at every moment: see ring_layout.h.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/engine/ring/ring_pool.h"

uint64_t tp_ring_dropped(void)
{
	return tp_ring.head ? __atomic_load_n(&tp_ring.head->dropped, __ATOMIC_RELAXED) : 0;
}

uint32_t tp_ring_chunks_used(void)
{
	if (!tp_ring.head)
		return 0;
	return tp_ring.head->n_chunks - __atomic_load_n(&tp_ring_pool.n_free, __ATOMIC_RELAXED);
}

uint32_t tp_ring_chunks_full(void)
{
	uint32_t top = __atomic_load_n(&tp_ring_pool.chunk_top, __ATOMIC_ACQUIRE), n = 0;

	for (uint32_t i = 0; tp_ring.head && i < top; i++)
		n += __atomic_load_n(&tp_ring.chunks[i].state, __ATOMIC_RELAXED) == TP_CHUNK_FULL;
	return n;
}

/* Records of the chunk that are published, from `from` on; not more than it can have where somebody has cut
 * the ring, which is read as zeros then. */
static uint32_t count_from(const struct tp_chunk *chunk, uint32_t from)
{
	uint32_t n = __atomic_load_n(&chunk->published, __ATOMIC_ACQUIRE);

	return n > from && n <= TP_CHUNK_RECORDS ? n - from : 0;
}

static void give_back(uint32_t at)
{
	__atomic_store_n(&tp_ring.chunks[at].state, TP_CHUNK_FREE, __ATOMIC_RELEASE);
	/* Count first: a thread that finds the bit takes it off the count. */
	__atomic_fetch_add(&tp_ring_pool.n_free, 1, __ATOMIC_RELAXED);
	__atomic_fetch_or(&tp_ring_pool.free[at / 64], 1ull << (at % 64), __ATOMIC_RELEASE);
}

uint64_t tp_ring_waiting(void)
{
	uint32_t top = __atomic_load_n(&tp_ring_pool.chunk_top, __ATOMIC_ACQUIRE);
	uint64_t n = 0;

	for (uint32_t i = 0; tp_ring.head && i < top; i++) {
		const struct tp_chunk *chunk = &tp_ring.chunks[i];

		if (__atomic_load_n(&chunk->state, __ATOMIC_ACQUIRE) != TP_CHUNK_FREE)
			n += count_from(chunk, chunk->drained);
	}
	return n;
}

/* Moves entry i of a heap (highest sequence number on top) of n down to its place. */
static void sift_down(struct tp_ring_taken *heap, uint32_t i, uint32_t n)
{
	struct tp_ring_taken moved = heap[i];

	for (uint32_t child; (child = 2 * i + 1) < n; i = child) {
		if (child + 1 < n && heap[child + 1].sequence > heap[child].sequence)
			child++;
		if (heap[child].sequence <= moved.sequence)
			break;
		heap[i] = heap[child];
	}
	heap[i] = moved;
}

/* By sequence. (qsort takes memory from the guest's malloc when there is much to sort.) */
static void sort_taken(struct tp_ring_taken *taken, uint32_t n)
{
	for (uint32_t i = n / 2; i-- > 0;)
		sift_down(taken, i, n);
	for (uint32_t last = n; last-- > 1;) {
		struct tp_ring_taken top = taken[0];

		taken[0] = taken[last];
		taken[last] = top;
		sift_down(taken, 0, last);
	}
}

/*
 * All chunks that have, or may soon have, something to hand out, oldest first. The threads go
 * on meanwhile: a chunk taken after the start of the search is left for the next pass, because
 * the one that its thread filled before it may have been passed over.
 */
static void collect(void)
{
	uint64_t newest = __atomic_load_n(&tp_ring.head->chunk_sequence, __ATOMIC_ACQUIRE);
	uint32_t top = __atomic_load_n(&tp_ring_pool.chunk_top, __ATOMIC_ACQUIRE);

	tp_ring_pool.n_taken = 0;
	for (uint32_t i = 0; i < top; i++) {
		struct tp_chunk *chunk = &tp_ring.chunks[i];
		uint32_t state = __atomic_load_n(&chunk->state, __ATOMIC_ACQUIRE);

		if (state == TP_CHUNK_FULL &&
		    __atomic_load_n(&chunk->published, __ATOMIC_ACQUIRE) == chunk->drained)
			give_back(i);	/* it was drained to the end before it was full */
		else if (state != TP_CHUNK_FREE && chunk->sequence <= newest)
			tp_ring_pool.taken[tp_ring_pool.n_taken++] =
				(struct tp_ring_taken){.sequence = chunk->sequence, .chunk = i};
	}
	sort_taken(tp_ring_pool.taken, tp_ring_pool.n_taken);
}

void tp_ring_take(tp_ring_take_fn take, void *ctx)
{
	uint64_t stopped[TP_RING_SLOTS / 64] = {0};
	uint64_t pass;
	uint32_t n_kept = 0;

	if (!tp_ring.head)
		return;
	/* Threads that fill more of the pool from here on have to say so again. */
	__atomic_store_n(&tp_ring_pool.is_half_told, false, __ATOMIC_RELAXED);
	pass = tp_ring.head->pass_done + 1;
	collect();
	for (uint32_t i = 0; i < tp_ring_pool.n_taken; i++) {
		struct tp_ring_taken *taken = &tp_ring_pool.taken[i];
		struct tp_chunk *chunk = &tp_ring.chunks[taken->chunk];
		uint32_t slot = chunk->slot % TP_RING_SLOTS;
		uint32_t n, n_took;

		if (stopped[slot / 64] >> (slot % 64) & 1)
			continue;
		/* Counted only now: when a later chunk of the thread is in the list, this one was
		 * full before the list was made, and must be handed out to its end. */
		taken->from = chunk->drained;
		n = count_from(chunk, taken->from);
		if (n == 0)
			continue;
		n_took = take(ctx, slot, &chunk->rec[taken->from], n);
		if (n_took < n)
			stopped[slot / 64] |= 1ull << (slot % 64);
		if (n_took == 0)
			continue;
		__atomic_store_n(&chunk->taken, taken->from + n_took, __ATOMIC_RELAXED);
		__atomic_store_n(&chunk->pass, pass, __ATOMIC_RELEASE);
		tp_ring_pool.taken[n_kept++] = *taken;
	}
	tp_ring_pool.n_taken = n_kept;
}

void tp_ring_show(tp_ring_show_fn show, void *ctx)
{
	if (!tp_ring.head)
		return;
	collect();
	for (uint32_t i = 0; i < tp_ring_pool.n_taken; i++) {
		const struct tp_chunk *chunk = &tp_ring.chunks[tp_ring_pool.taken[i].chunk];
		uint32_t from = chunk->drained, n = count_from(chunk, from);

		if (n)
			show(ctx, chunk->slot % TP_RING_SLOTS, &chunk->rec[from], n);
	}
	tp_ring_pool.n_taken = 0;
}

void tp_ring_pick(tp_ring_pick_fn pick, void *ctx)
{
	uint32_t top = __atomic_load_n(&tp_ring_pool.chunk_top, __ATOMIC_ACQUIRE);
	uint32_t slot = tp_ring_self.slot_at, tid;
	uint64_t pass;

	if (!tp_ring.head || !tp_ring_self.generation ||
	    tp_ring_self.generation != tp_ring.generation)
		return;
	tid = (uint32_t)syscall(SYS_gettid);
	pass = tp_ring.head->pass_done + 1;
	for (uint32_t i = 0; i < top; i++) {
		struct tp_chunk *chunk = &tp_ring.chunks[i];
		bool is_listed = chunk->pass == pass, has_picked = false;
		uint32_t at, n, from;

		/* Only our own: nobody else writes to them meanwhile. */
		if (__atomic_load_n(&chunk->state, __ATOMIC_ACQUIRE) == TP_CHUNK_FREE ||
		    chunk->slot != slot || chunk->tid != tid)
			continue;
		from = at = is_listed ? chunk->taken : chunk->drained;
		n = __atomic_load_n(&chunk->published, __ATOMIC_RELAXED);
		while (at < n && (!chunk->rec[at].kind || pick(ctx, slot, &chunk->rec[at])))
			at++;
		for (uint32_t k = at + 1; k < n; k++) {
			if (!chunk->rec[k].kind || !pick(ctx, slot, &chunk->rec[k]))
				continue;
			__atomic_store_n(&chunk->rec[k].kind, chunk->rec[k].kind | TP_RING_PICKED,
					 __ATOMIC_RELAXED);
			has_picked = true;
		}
		if (at == from && !has_picked)
			continue;
		__atomic_store_n(&chunk->taken, at, __ATOMIC_RELAXED);
		__atomic_store_n(&chunk->pass, pass, __ATOMIC_RELEASE);
		if (!is_listed)
			tp_ring_pool.taken[tp_ring_pool.n_taken++] = (struct tp_ring_taken){.chunk = i};
		for (uint32_t k = 0; has_picked && k < tp_ring_pool.n_taken; k++)
			tp_ring_pool.taken[k].has_picked |= tp_ring_pool.taken[k].chunk == i;
	}
}

/* What was picked is nothing from now on: earlier than any window, of no kind. */
static void strike_picked(struct tp_chunk *chunk)
{
	for (uint32_t k = chunk->taken; k < chunk->published; k++) {
		if (!(chunk->rec[k].kind & TP_RING_PICKED))
			continue;
		memset(&chunk->rec[k], 0, offsetof(struct tp_rec, kind));
		__atomic_store_n(&chunk->rec[k].kind, TP_REC_NONE, __ATOMIC_RELEASE);
	}
}

void tp_ring_release(uint32_t window_plus_one, uint64_t file_bytes)
{
	struct tp_ring_head *head = tp_ring.head;
	uint64_t pass;

	if (!head)
		return;
	pass = head->pass_done + 1;
	head->pass_bytes[pass & 1] = file_bytes;
	head->pass_window[pass & 1] = window_plus_one;
	/* Release: this one store makes the whole pass count. */
	__atomic_store_n(&head->pass_done, pass, __ATOMIC_RELEASE);

	for (uint32_t i = 0; i < tp_ring_pool.n_taken; i++) {
		struct tp_chunk *chunk = &tp_ring.chunks[tp_ring_pool.taken[i].chunk];
		uint32_t state = __atomic_load_n(&chunk->state, __ATOMIC_ACQUIRE);

		if (tp_ring_pool.taken[i].has_picked)
			strike_picked(chunk);
		__atomic_store_n(&chunk->drained, chunk->taken, __ATOMIC_RELAXED);
		__atomic_store_n(&chunk->pass, 0, __ATOMIC_RELEASE);
		if (state == TP_CHUNK_FULL &&
		    __atomic_load_n(&chunk->published, __ATOMIC_RELAXED) == chunk->drained)
			give_back(tp_ring_pool.taken[i].chunk);
	}
	tp_ring_pool.n_taken = 0;
}

static bool has_ended(uint32_t pid, uint32_t tid)
{
	return syscall(SYS_tgkill, pid, tid, 0) < 0 && errno == ESRCH;
}

/* Whether the owner of the chunk is no more. */
static bool is_orphan(const struct tp_chunk *chunk)
{
	const struct tp_ring_slot *slot = &tp_ring.slots[chunk->slot % TP_RING_SLOTS];

	if (chunk->slot != TP_RING_LAST_SLOT &&
	    (__atomic_load_n(&slot->tid, __ATOMIC_RELAXED) != chunk->tid ||
	     __atomic_load_n(&slot->is_dead, __ATOMIC_ACQUIRE)))
		return true;
	return has_ended(tp_ring.head->pid, chunk->tid);
}

/* A younger slot has the same thread number: the kernel gives a number again only when the
 * thread that had it is gone. */
static bool is_outlived(uint32_t at, uint32_t tid, uint32_t n_slots)
{
	uint64_t born = __atomic_load_n(&tp_ring.slots[at].sequence, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < n_slots && born; i++) {
		const struct tp_ring_slot *slot = &tp_ring.slots[i];
		uint64_t sequence = __atomic_load_n(&slot->sequence, __ATOMIC_ACQUIRE);

		if (i != at && __atomic_load_n(&slot->tid, __ATOMIC_ACQUIRE) == tid &&
		    (sequence == 0 || sequence > born))
			return true;
	}
	return false;
}

/* The slot's thread has ended and all it did is written: the next thread may have it. */
static void free_slot(struct tp_ring_slot *slot)
{
	uint64_t *name = (uint64_t *)(void *)slot->name;

	__atomic_store_n(&slot->depth, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->dropped, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->torch_id, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->flags, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->chunk, TP_NO_CHUNK, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->is_dead, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&slot->sequence, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&name[0], 0, __ATOMIC_RELAXED);
	__atomic_store_n(&name[1], 0, __ATOMIC_RELAXED);
	/* Release: who takes it finds it clean. */
	__atomic_store_n(&slot->tid, 0, __ATOMIC_RELEASE);
}

void tp_ring_reap(bool and_slots)
{
	uint32_t chunk_top = __atomic_load_n(&tp_ring_pool.chunk_top, __ATOMIC_ACQUIRE);
	uint32_t slot_top = __atomic_load_n(&tp_ring_pool.slot_top, __ATOMIC_ACQUIRE);
	uint64_t busy[TP_RING_SLOTS / 64] = {0};

	if (!tp_ring.head)
		return;
	if (slot_top > TP_RING_LAST_SLOT)
		slot_top = TP_RING_LAST_SLOT;
	for (uint32_t i = 0; i < slot_top; i++) {
		struct tp_ring_slot *slot = &tp_ring.slots[i];
		uint32_t tid = __atomic_load_n(&slot->tid, __ATOMIC_ACQUIRE);

		if (tid && (has_ended(tp_ring.head->pid, tid) || is_outlived(i, tid, slot_top)))
			__atomic_store_n(&slot->is_dead, 1, __ATOMIC_RELEASE);
	}
	for (uint32_t i = 0; i < chunk_top; i++) {
		struct tp_chunk *chunk = &tp_ring.chunks[i];
		uint32_t state = __atomic_load_n(&chunk->state, __ATOMIC_ACQUIRE);

		if (state == TP_CHUNK_FREE)
			continue;
		/* The owner first, then the count: it cannot publish after its end. */
		if ((state == TP_CHUNK_FULL || is_orphan(chunk)) &&
		    __atomic_load_n(&chunk->published, __ATOMIC_ACQUIRE) == chunk->drained)
			give_back(i);
		else
			busy[chunk->slot % TP_RING_SLOTS / 64] |= 1ull << (chunk->slot % 64);
	}
	for (uint32_t i = 0; and_slots && i < slot_top; i++)
		if (__atomic_load_n(&tp_ring.slots[i].is_dead, __ATOMIC_ACQUIRE) &&
		    !(busy[i / 64] >> (i % 64) & 1))
			free_slot(&tp_ring.slots[i]);
}

bool tp_ring_is_short_of_slots(void)
{
	uint32_t top = __atomic_load_n(&tp_ring_pool.slot_top, __ATOMIC_ACQUIRE);
	uint32_t n_taken = 0;

	/* The lowest are taken first: usually there is nothing to count. */
	if (!tp_ring.head || top < TP_RING_SLOTS / 2)
		return false;
	for (uint32_t i = 0; i < top; i++)
		n_taken += __atomic_load_n(&tp_ring.slots[i].tid, __ATOMIC_RELAXED) != 0;
	return n_taken >= TP_RING_SLOTS / 2;
}

void tp_ring_forget_spans(void)
{
	uint32_t top = __atomic_load_n(&tp_ring_pool.slot_top, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < top; i++) {
		struct tp_ring_slot *slot = &tp_ring.slots[i];
		uint32_t depth = __atomic_load_n(&slot->depth, __ATOMIC_ACQUIRE);
		uint32_t keep = 0;

		while (keep < depth && keep < TP_OPEN_SPANS &&
		       __atomic_load_n(&slot->open[keep].kind, __ATOMIC_RELAXED) != TP_REC_OP)
			keep++;
		/* Loses against the thread itself when it moves just now: its word is newer. */
		if (keep < depth)
			__atomic_compare_exchange_n(&slot->depth, &depth, keep, false,
						    __ATOMIC_RELEASE, __ATOMIC_RELAXED);
	}
}
