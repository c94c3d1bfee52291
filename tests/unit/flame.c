/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flame.c of the merge: the tree of stacks; what formats make of it is tested with them
 */
#include "merge/facts/time/flame.h"
#include "tests/unit/heap_rig.h"

struct seen {
	struct tp_flame *flame;
	uint64_t sum, others, rest, of_proc[HEAP_PROCS];
	uint32_t n, deepest;
};

static void note(void *ctx, const uint32_t *place, uint32_t n, const uint64_t *value)
{
	struct seen *seen = ctx;
	enum tp_place_kind kind = tp_flame_place(seen->flame, place[n - 1])->kind;

	seen->n++;
	seen->sum += *value;
	seen->others += kind == TP_PLACE_OTHER || kind == TP_PLACE_REST ? *value : 0;
	seen->rest += kind == TP_PLACE_REST ? *value : 0;
	seen->deepest = n > seen->deepest ? n : seen->deepest;
	if (tp_flame_place(seen->flame, place[0])->kind == TP_PLACE_PROCESS)
		seen->of_proc[tp_flame_place(seen->flame, place[0])->function_id] += *value;
}

/* Rows have 1 byte and are 300 deep; so many that follow each other have the same stack. */
static struct seen walk_same(uint32_t n_rows, uint32_t nodes_max, uint32_t n_procs,
			     uint32_t n_same)
{
	struct tp_hostmem_row *row = calloc(n_rows, sizeof(*row));
	struct tp_heap_rows rows = heap_rows(row, n_rows, n_procs);
	struct tp_flame_rows flame_rows = tp_heap_flame(&rows);
	struct seen seen = {0};

	for (uint32_t i = 0; i < n_rows; i++)
		row[i] = (struct tp_hostmem_row){.stack = 1000 + i / n_same,
						 .proc = i % n_procs, .peak_bytes = 1};
	flame_rows.n_costs = 1;	/* the peak */
	seen.flame = tp_flame_new(&flame_rows, TP_FLAME_BY_LINE, nodes_max);
	cr_assert_not_null(seen.flame);
	cr_expect_eq(tp_flame_total(seen.flame, 0), n_rows);
	cr_assert_eq(tp_flame_each(seen.flame, 0, 1, note, &seen), 0);
	tp_flame_free(seen.flame);
	free(row);
	return seen;
}

static struct seen walk(uint32_t n_rows, uint32_t nodes_max, uint32_t n_procs)
{
	return walk_same(n_rows, nodes_max, n_procs, 1);
}

Test(flame, sums_stay_whole_whatever_is_folded)
{
	static const struct {
		uint32_t n_rows, nodes_max, n_procs;
	} cases[] = {{1, 400, 1}, {500, 10000, 1}, {500, 400, 1}, {500, 1, 1}, {500, 3, 3},
		     {5000, 100, 1}, {5000, 5, 2}, {5000, 2, 1}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct seen seen = walk(cases[i].n_rows, cases[i].nodes_max, cases[i].n_procs);

		cr_expect_eq(seen.sum, cases[i].n_rows, "case %zu: %llu", i,
			     (unsigned long long)seen.sum);
		/* A node is given out at most twice: for itself, and for what is below it. */
		cr_expect_leq(seen.n, 2 * cases[i].nodes_max + 2 * cases[i].n_procs, "case %zu: %u",
			      i, seen.n);
	}
}

Test(flame, nothing_is_folded_that_has_room)
{
	struct seen seen = walk(500, 10000, 1);

	cr_expect_eq(seen.n, 500);
	cr_expect_eq(seen.others, 0);
	cr_expect_eq(seen.deepest, 300);
}

Test(flame, rows_of_processes_in_turn_stay_apart)
{
	struct seen seen = walk(300, 10000, 3);

	for (uint32_t i = 0; i < 3; i++)
		cr_expect_eq(seen.of_proc[i], 100, "process %u: %llu", i,
			     (unsigned long long)seen.of_proc[i]);
}

/* 40 nodes of the tree for each that is given out: 400 have 299 outer frames and 100 leaves. */
Test(flame, a_tree_that_is_full_takes_the_rest_as_one)
{
	struct seen seen = walk(5000, 10, 1);

	cr_expect_eq(seen.sum, 5000);
	cr_expect_eq(seen.others, 5000);
	/* The root, 299 outer frames and 15,700 leaves. */
	seen = walk(20000, 400, 1);
	cr_expect_eq(seen.sum, 20000);
	cr_expect_eq(seen.rest, 4300, "%llu", (unsigned long long)seen.rest);
	/* What has no node of its own is not the last one that had. */
	seen = walk_same(40000, 400, 1, 2);
	cr_expect_eq(seen.rest, 8600, "%llu", (unsigned long long)seen.rest);
	seen = walk(100, 1, 1);
	cr_expect_eq(seen.sum, 100);
	cr_expect_leq(seen.deepest, 42);
}

/* A row inside another: one frame each. Rows of an even number cost nothing themselves. */
static void row_of_one(const void *of, uint32_t at, uint32_t *proc, uint32_t *stack)
{
	*proc = 0;
	*stack = at;
}

static uint64_t value_of_one(const void *of, uint32_t at, uint32_t cost)
{
	return at % 2;
}

static uint32_t around_one(const void *of, uint32_t at)
{
	return at ? (at - 1) / 2 : TP_FLAME_NO_ROW;
}

static uint32_t frames_of_one(const void *of, uint32_t stack, struct tp_frame *frame, uint32_t max)
{
	if (max)
		*frame = (struct tp_frame){.function = "f", .file = "", .module = "",
					   .function_id = stack};
	return 1;
}

static struct seen walk_inside(uint32_t n_rows, uint32_t nodes_max)
{
	static const struct tp_flame_cost cost = {.word = "cost"};
	struct tp_run run = {.n_procs = 1};
	const struct tp_flame_rows rows = {
		.run = &run, .n_rows = n_rows, .cost = &cost, .n_costs = 1, .row = row_of_one,
		.value = value_of_one, .around = around_one, .frames = frames_of_one,
	};
	struct seen seen = {.flame = tp_flame_new(&rows, TP_FLAME_BY_FUNCTION, nodes_max)};

	cr_assert_not_null(seen.flame);
	cr_assert_eq(tp_flame_each(seen.flame, 0, 1, note, &seen), 0);
	tp_flame_free(seen.flame);
	return seen;
}

Test(flame, a_row_stands_below_the_row_around_it_that_costs_nothing)
{
	struct seen seen = walk_inside(1023, 10000);

	cr_expect_eq(seen.n, 511);
	cr_expect_eq(seen.sum, 511);
	cr_expect_eq(seen.deepest, 10);
	/* 40 nodes: the root, 39 of the first rows; what is below those is one for each. */
	seen = walk_inside(1023, 1);
	cr_expect_eq(seen.sum, 511);
	cr_expect_leq(seen.deepest, 7);
	seen = walk_inside(41, 1);
	cr_expect_eq(seen.sum, 20);
}
