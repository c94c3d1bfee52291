/* SPDX-License-Identifier: Apache-2.0 */
/*
 * held.c - live blocks of tensor memory from records as they come
 *
 * Passes hand out one thread's records after the other's: a block may be seen freed before it is
 * seen allocated. So the newest event of an address counts, and a freed one stays in the table until
 * what was recorded before it must have come. Seen twice, a record changes nothing.
 *
 * An operator's record comes at its end, after the blocks that it allocated: the last PENDING blocks
 * of each thread wait for it. The outermost operator names a block.
 */
#include "runtime/probe/hang/held.h"

#include <string.h>

#include "runtime/base/clock.h"
#include "runtime/base/hash.h"
#include "runtime/engine/ring/ring.h"
#include "runtime/probe/hang/held_table.h"
#include "runtime/probe/stack/stack_thread.h"

enum {
	PENDING = 32,
	THREADS = 64,	/* that are told apart at a time */
	PASSES = 3,	/* since which all that was recorded before has come */
	FIRST_PLACES = 1 << 12,
};

struct thread {
	uint32_t slot_plus_one;
	bool is_shared;		/* by threads that have no slot of their own: which is where, is not known */
	uint32_t stack;		/* where the thread is */
	uint32_t n_pending;	/* ever */
	struct {
		uint64_t address, time;
	} pending[PENDING];
};

struct tp_held_table tp_held;

static struct {
	bool is_off;			/* no memory */
	bool has_forgotten;		/* the dead, in this pass */
	bool is_refused;		/* more memory, in this pass */
	uint64_t pass, begin[PASSES];	/* of the last passes, ticks; the newest first */
	uint64_t stop;			/* 0: none */
	struct thread thread[THREADS];
} seen;

static uint32_t place_of(uint64_t key, uint32_t n)
{
	return (uint32_t)tp_hash_mix(key) & (n - 1);
}

/* ---- memory ---- */

/* Written before it is read: a page that is read first is one of the kernel's zeros, and the first write to
 * it then interrupts every core that the process runs on. Tables are kept from window to window for the same
 * reason. */
static void *map_zeros(size_t bytes)
{
	void *memory = tp_stack_map(bytes);

	if (memory)
		memset(memory, 0, bytes);
	return memory;
}

/* ---- blocks ---- */

/* The block's entry, or the free one where it would be. */
static struct tp_held_block *find_block(uint64_t address)
{
	uint32_t at = place_of(address, tp_held.n_places);

	while (tp_held.block[at].address && tp_held.block[at].address != address)
		at = (at + 1) & (tp_held.n_places - 1);
	return &tp_held.block[at];
}

/* Entries behind it that a search would not find any more move up. */
static void erase_block(uint32_t at)
{
	const uint32_t mask = tp_held.n_places - 1;

	for (uint32_t next = (at + 1) & mask; tp_held.block[next].address; next = (next + 1) & mask) {
		uint32_t home = place_of(tp_held.block[next].address, tp_held.n_places);

		if (((next - home) & mask) < ((next - at) & mask))
			continue;
		tp_held.block[at] = tp_held.block[next];
		at = next;
	}
	tp_held.block[at] = (struct tp_held_block){0};
	tp_held.n_blocks--;
}

static bool is_over(const struct tp_held_block *block)
{
	return block->address && block->is_dead && block->time < seen.begin[PASSES - 1];
}

static void forget_dead(void)
{
	for (uint32_t i = 0; i < tp_held.n_places; i++)
		while (is_over(&tp_held.block[i]))
			erase_block(i);
}

/* Twice the places, where there may be so many and there is memory. */
static void grow_blocks(void)
{
	struct tp_held_block *old = tp_held.block, *more;
	const uint32_t n = tp_held.n_places;

	more = n < TP_HELD_BLOCKS && !seen.is_refused ? map_zeros(2 * n * sizeof(*more)) : NULL;
	seen.is_refused = !more;
	if (!more)
		return;
	tp_held.block = more;
	tp_held.n_places = 2 * n;
	for (uint32_t i = 0; i < n; i++)
		if (old[i].address)
			*find_block(old[i].address) = old[i];
	tp_stack_unmap(old, n * sizeof(*old));
}

static bool is_full(void)
{
	return tp_held.n_blocks >= tp_held.n_places / 4 * 3;
}

static bool has_place(void)
{
	if (!is_full())
		return true;
	if (!seen.has_forgotten)
		forget_dead();
	seen.has_forgotten = true;
	if (tp_held.n_blocks >= tp_held.n_places / 2)
		grow_blocks();
	return !is_full();
}

/* NULL: it, or a later event, is known, or there is no place. */
static struct tp_held_block *take_block(const struct tp_rec *rec)
{
	struct tp_held_block *block = rec->arg ? find_block(rec->arg) : NULL;

	if (!block || (block->address && block->time >= rec->time))
		return NULL;
	if (!block->address && !has_place()) {
		tp_held.n_lost += rec->kind == TP_REC_ALLOC;
		return NULL;
	}
	/* Others may have moved. */
	block = find_block(rec->arg);
	tp_held.n_blocks += !block->address;
	block->address = rec->arg;
	block->time = rec->time;
	return block;
}

/* A scan saw it before its allocation came. NULL: none did. */
static struct tp_held_block *find_scanned(const struct tp_rec *rec)
{
	struct tp_held_block *block = find_block(rec->arg);

	return block->address && !block->is_dead && !block->born && block->time > rec->time ? block : NULL;
}

static void take_alloc(struct thread *thread, const struct tp_rec *rec)
{
	struct tp_held_block *scanned = find_scanned(rec), *block = scanned ? scanned : take_block(rec);
	uint32_t at = thread->n_pending % PENDING;

	if (!block)
		return;
	*block = (struct tp_held_block){
		.address = rec->arg, .time = block->time, .born = rec->time, .bytes = tp_rec_len(rec),
		.stack = thread->stack, .device = rec->link,
		.category = scanned ? scanned->category : TP_TENSOR_UNKNOWN,
	};
	thread->pending[at].address = rec->arg;
	thread->pending[at].time = rec->time;
	thread->n_pending++;
}

static void take_free(const struct tp_rec *rec)
{
	struct tp_held_block *block = take_block(rec);

	if (block)
		block->is_dead = true;
}

/* Of a block from before all records, too. */
static void take_category(const struct tp_rec *rec)
{
	const struct tp_held_block *known = rec->arg ? find_block(rec->arg) : NULL;
	bool is_known = known && known->address && !known->is_dead;
	struct tp_held_block *block;

	if (is_known && known->born > rec->time)
		return;
	block = is_known ? find_block(rec->arg) : take_block(rec);
	if (!block)
		return;
	if (!is_known)
		*block = (struct tp_held_block){
			.address = rec->arg, .time = rec->time, .bytes = tp_rec_len(rec),
			.device = rec->link,
		};
	block->category = rec->flags;
}

static void take_operator(struct thread *thread, const struct tp_rec *rec)
{
	for (uint32_t i = 1; i <= PENDING && i <= thread->n_pending; i++) {
		const uint32_t at = (thread->n_pending - i) % PENDING;
		struct tp_held_block *block;

		if (thread->pending[at].time < rec->time)
			return;
		block = find_block(thread->pending[at].address);
		if (block->address && block->born == thread->pending[at].time &&
		    block->born <= tp_rec_end(rec))
			block->operator = rec->name;
	}
}

/* ---- stacks ---- */

/* The frame's entry, or the free one where it would be. */
static struct tp_held_frame *find_frame(uint32_t number)
{
	uint32_t at = place_of(number, TP_HELD_FRAMES);

	while (tp_held.frame[at].number && tp_held.frame[at].number != number)
		at = (at + 1) & (TP_HELD_FRAMES - 1);
	return &tp_held.frame[at];
}

static void take_frame(const struct tp_rec *rec)
{
	const uint32_t most = TP_HELD_FRAMES / 4 * 3;
	struct tp_held_frame *frame;
	bool is_module = (rec->flags & TP_FRAME_MODULE) == TP_FRAME_MODULE;

	if (!rec->link || tp_held.n_frames >= most || !(rec->flags & TP_FRAME_PYTHON))
		return;
	frame = find_frame(rec->link);
	tp_held.n_frames += !frame->number;
	*frame = (struct tp_held_frame){
		.number = rec->link, .outer = (uint32_t)tp_rec_len(rec), .is_module = is_module,
		.string = is_module ? 0 : rec->name,
		.line = is_module ? TP_MODULE_NUMBER(rec->arg) : (uint32_t)rec->arg,
	};
}

const struct tp_held_frame *tp_held_frame(uint32_t number)
{
	const struct tp_held_frame *frame = find_frame(number);

	return frame->number ? frame : NULL;
}

static void take_module(const struct tp_rec *rec)
{
	struct tp_held_module *module = &tp_held.module[rec->link % TP_HELD_MODULES];

	module->number = rec->link;
	module->string = rec->name;
}

uint32_t tp_held_module(uint32_t number)
{
	const struct tp_held_module *module = &tp_held.module[number % TP_HELD_MODULES];

	return module->number == number ? module->string : 0;
}

/* ---- records ---- */

/* Of no block, frame or module anything is known any more; their memory stays. */
static void forget(void)
{
	struct tp_held_table empty = {
		.block = tp_held.block, .frame = tp_held.frame, .module = tp_held.module,
		.n_places = tp_held.n_places,
	};
	bool is_off = seen.is_off;

	if (tp_held.block) {
		memset(tp_held.block, 0, tp_held.n_places * sizeof(*tp_held.block));
		memset(tp_held.frame, 0, TP_HELD_FRAMES * sizeof(*tp_held.frame));
		memset(tp_held.module, 0, TP_HELD_MODULES * sizeof(*tp_held.module));
	}
	tp_held = empty;
	memset(&seen, 0, sizeof(seen));
	seen.is_off = is_off;
}

static bool has_memory(void)
{
	if (tp_held.block || seen.is_off)
		return tp_held.block != NULL;
	tp_held.block = map_zeros(FIRST_PLACES * sizeof(*tp_held.block));
	tp_held.frame = map_zeros(TP_HELD_FRAMES * sizeof(*tp_held.frame));
	tp_held.module = map_zeros(TP_HELD_MODULES * sizeof(*tp_held.module));
	tp_held.n_places = FIRST_PLACES;
	seen.is_off = !tp_held.block || !tp_held.frame || !tp_held.module;
	if (seen.is_off) {
		tp_stack_unmap(tp_held.block, FIRST_PLACES * sizeof(*tp_held.block));
		tp_stack_unmap(tp_held.frame, TP_HELD_FRAMES * sizeof(*tp_held.frame));
		tp_stack_unmap(tp_held.module, TP_HELD_MODULES * sizeof(*tp_held.module));
		memset(&tp_held, 0, sizeof(tp_held));
	}
	return !seen.is_off;
}

void tp_held_forget(void)
{
	tp_held.window_plus_one = 0;
}

void tp_held_stop_at(uint64_t time)
{
	seen.stop = time;
}

void tp_held_go_on(void)
{
	seen.stop = 0;
}

/* What was in the ring when a pass began has come when it is over. */
static void follow_pass(void)
{
	uint64_t pass = tp_ring.head ? __atomic_load_n(&tp_ring.head->pass_done, __ATOMIC_RELAXED) + 1 : 0;

	if (pass == seen.pass)
		return;
	memmove(&seen.begin[1], &seen.begin[0], sizeof(seen.begin) - sizeof(seen.begin[0]));
	seen.begin[0] = tp_clock_now();
	seen.pass = pass;
	seen.has_forgotten = seen.is_refused = false;
}

static struct thread *find_thread(uint32_t slot)
{
	struct thread *thread = &seen.thread[slot % THREADS];

	if (thread->slot_plus_one != slot + 1)
		*thread = (struct thread){
			.slot_plus_one = slot + 1, .is_shared = slot == TP_RING_SLOTS - 1,
		};
	return thread;
}

static void take(struct thread *thread, const struct tp_rec *rec)
{
	switch (rec->kind) {
	case TP_REC_ALLOC:
		take_alloc(thread, rec);
		break;
	case TP_REC_FREE:
		take_free(rec);
		break;
	case TP_REC_CATEGORY:
		take_category(rec);
		break;
	case TP_REC_OP:
		if (!thread->is_shared)
			take_operator(thread, rec);
		break;
	case TP_REC_STACK:
		thread->stack = thread->is_shared ? 0 : rec->link;
		break;
	case TP_REC_FRAME:
		take_frame(rec);
		break;
	case TP_REC_NNMODULE:
		take_module(rec);
		break;
	default:
		break;
	}
}

void tp_held_see(uint32_t window, uint32_t slot, const struct tp_rec *rec, uint32_t n)
{
	struct thread *thread;

	if (tp_held.window_plus_one != window + 1)
		forget();
	if (!has_memory())
		return;
	tp_held.window_plus_one = window + 1;
	follow_pass();
	thread = find_thread(slot);
	for (uint32_t i = 0; i < n; i++)
		if (!seen.stop || rec[i].time <= seen.stop)
			take(thread, &rec[i]);
}
