/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_tree.c - the tables behind the numbers of stacks
 *
 * A frame in a table is 16 bytes: its key packs what a FRAME's flags, name and arg can be. A
 * table begins with a page, doubles, and is emptied where it would pass its cap, or the
 * process all tables' together: the records of the same stacks are then made once more, which
 * costs 32 bytes of the ring each, but the memory of the program stays its own.
 */
#include "runtime/probe/stack/stack_tree.h"

#include <string.h>

#include "runtime/base/clock.h"
#include "runtime/engine/ring/ring.h"
#include "runtime/probe/stack/stack_thread.h"

struct tp_stack_node {
	uint64_t key;
	uint32_t outer;
	uint32_t number;	/* 0: no node */
};

enum {
	FIRST_SLOTS = 256,		/* a page */
	MOST_SLOTS = 1 << 16,		/* 1 MiB; with 4 a training makes 4 % fewer records */
	MOST_BYTES = 3 << 20,		/* all tables but for their first pages */
	NUMBERS = 256,			/* taken from the process at a time */
};

static struct {
	uint32_t n_blocks;	/* atomic: of NUMBERS, given out; block 0 is not */
	uint64_t bytes;		/* atomic: of all tables */
} trees;

TP_READ_OFTEN uint32_t tp_stack_epoch;

void tp_stack_tree_begin_anew(void)
{
	__atomic_fetch_add(&tp_stack_epoch, 1, __ATOMIC_RELEASE);
}

static size_t bytes_of(uint32_t slots)
{
	return slots * sizeof(struct tp_stack_node);
}

void tp_stack_tree_shrink(struct tp_stack_tree *tree)
{
	if (tree->node) {
		tp_stack_unmap(tree->node, bytes_of(tree->mask + 1));
		__atomic_fetch_sub(&trees.bytes, bytes_of(tree->mask + 1), __ATOMIC_RELAXED);
	}
	__atomic_store_n(&tree->node, NULL, __ATOMIC_RELAXED);
	tree->mask = 0;
	tree->n_nodes = 0;
}

static void empty(struct tp_stack_tree *tree)
{
	memset(tree->node, 0, bytes_of(tree->mask + 1));
	tree->n_nodes = 0;
}

/* What the tree holds is of another window, or its addresses have got another meaning. */
static void renew(struct tp_stack_tree *tree, uint32_t turn, uint32_t epoch)
{
	/* A table that was used well will be again. */
	if (tree->node && tree->n_nodes >= tree->mask / 8)
		empty(tree);
	else
		tp_stack_tree_shrink(tree);
	tree->turn = turn;
	tree->epoch = epoch;
	if (!++tree->generation)
		tree->generation = 1;
}

/* Did the window that began last begin after this event? Then the event is of an older one, or of
 * none, and so are the records that it makes. */
static bool is_before_window(const struct tp_ring_head *head, uint64_t time)
{
	uint32_t n_begun = __atomic_load_n(&head->windows_begun, __ATOMIC_ACQUIRE);

	return time && n_begun &&
	       time < __atomic_load_n(&head->windows[(n_begun - 1) % TP_RING_WINDOWS].begin,
						__ATOMIC_RELAXED);
}

/*
 * While a boundary has not settled whether a window begins (turn is odd), the event may lie on
 * either side of it: its stacks are made for it alone. So they are when the thread was held up since it
 * took the event's time, and a window began, or several: those it has may be of one before the event's.
 */
struct tp_stack_tree *tp_stack_tree(uint64_t time, uint32_t *generation)
{
	const struct tp_ring_head *head = __atomic_load_n(&tp_ring.head, __ATOMIC_ACQUIRE);
	struct tp_stack_thread *thread = tp_stack_thread();
	uint32_t turn, epoch = tp_stack_tree_epoch();
	struct tp_stack_tree *tree;

	if (tp_unlikely(!head || !thread))
		return NULL;
	tree = &thread->tree;
	turn = __atomic_load_n(&head->window_turn, __ATOMIC_ACQUIRE);
	if (tp_unlikely(epoch != tree->epoch || !tree->generation))
		renew(tree, is_before_window(head, time) ? turn - 2 : turn & ~1u, epoch);
	else if (tp_unlikely(turn & 1))
		renew(tree, tree->turn, epoch);
	else if (tp_unlikely(turn != tree->turn) && !is_before_window(head, time))
		renew(tree, turn, epoch);
	else if (tp_unlikely(turn != tree->turn))
		renew(tree, tree->turn, epoch);
	*generation = tree->generation;
	return tree;
}

/* The product of the memory's order and of chance: frames of one stack lie apart. */
static inline uint32_t slot_of(const struct tp_stack_tree *tree, uint64_t key, uint32_t outer)
{
	uint64_t hash = (key ^ outer * 0x9e3779b97f4a7c15ull) * 0xff51afd7ed558ccdull;

	return (uint32_t)(hash >> 40) & tree->mask;
}

static struct tp_stack_node *find(const struct tp_stack_tree *tree, uint64_t key, uint32_t outer)
{
	uint32_t at = slot_of(tree, key, outer);
	struct tp_stack_node *node;

	for (;; at = (at + 1) & tree->mask) {
		node = &tree->node[at];
		if (!node->number || (node->key == key && node->outer == outer))
			return node;
	}
}

/* False: no memory, or it may not grow. */
static bool grow(struct tp_stack_tree *tree)
{
	uint32_t slots = tree->node ? (tree->mask + 1) * 2 : FIRST_SLOTS;
	struct tp_stack_tree bigger = *tree;

	if (slots > MOST_SLOTS || (slots > FIRST_SLOTS &&
	    __atomic_load_n(&trees.bytes, __ATOMIC_RELAXED) + bytes_of(slots) / 2 > MOST_BYTES))
		return false;
	bigger.node = tp_stack_map(bytes_of(slots));
	if (!bigger.node)
		return false;
	bigger.mask = slots - 1;
	__atomic_fetch_add(&trees.bytes, bytes_of(slots), __ATOMIC_RELAXED);
	for (uint32_t i = 0; tree->node && i <= tree->mask; i++) {
		const struct tp_stack_node *node = &tree->node[i];

		if (node->number)
			*find(&bigger, node->key, node->outer) = *node;
	}
	bigger.n_nodes = tree->n_nodes;
	tp_stack_tree_shrink(tree);
	*tree = bigger;
	return true;
}

/* Room for one node more. False: no memory at all. */
static bool has_room(struct tp_stack_tree *tree)
{
	if (tree->node && tree->n_nodes < tree->mask - tree->mask / 4)
		return true;
	if (grow(tree))
		return true;
	if (!tree->node)
		return false;
	empty(tree);
	return true;
}

static uint32_t next_number(struct tp_stack_tree *tree)
{
	uint32_t block;

	if (tree->next_number == tree->end_number) {
		do
			block = __atomic_add_fetch(&trees.n_blocks, 1, __ATOMIC_RELAXED) * NUMBERS;
		while (!block);		/* after 4 G frames: 0 is no number */
		tree->next_number = block;
		tree->end_number = block + NUMBERS;
	}
	return tree->next_number;
}

/*
 * Flags have 5 bits. A native frame has no name and an address below 2^59; a Python frame a line
 * below 2^27; a joined one no name and a number of 32 bits.
 */
static uint64_t pack(uint32_t flags, uint32_t name, uint64_t arg)
{
	_Static_assert((TP_FRAME_PYTHON | TP_FRAME_JOINED | TP_FRAME_ENTRY | TP_FRAME_EXACT |
			TP_FRAME_CUT) < 32, "flags of a frame");

	return (arg | (uint64_t)name << 27) << 5 | flags;
}

/* Ticks, some 20 ns: a reader who sorts by time must meet a frame before what names it, which may read
 * the clock a few instructions later and go back a little itself; and the processor does not read the
 * counter exactly where the instruction stands. */
enum { WELL_BEFORE = 64 };

uint32_t tp_stack_tree_child(struct tp_stack_tree *tree, uint32_t outer, uint32_t flags,
			     uint32_t name, uint64_t arg, uint64_t time)
{
	uint64_t key = pack(flags, name, arg);
	struct tp_stack_node *node;
	struct tp_rec *rec;

	if (tp_likely(tree->node != NULL)) {
		node = find(tree, key, outer);
		if (tp_likely(node->number))
			return node->number;
	}
	if (!has_room(tree))
		return 0;
	rec = tp_ring_reserve();
	if (!rec)
		return 0;
	rec->time = time ? time : tp_clock_now() - WELL_BEFORE;
	tp_rec_set_len(rec, outer);
	rec->kind = TP_REC_FRAME;
	rec->flags = (uint8_t)flags;
	rec->name = name;
	rec->link = next_number(tree);
	rec->arg = arg;
	tp_ring_commit();
	node = find(tree, key, outer);
	*node = (struct tp_stack_node){ .key = key, .outer = outer, .number = tree->next_number++ };
	tree->n_nodes++;
	return node->number;
}
