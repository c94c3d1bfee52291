/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nest.c - tests of nesting: known answers, and random spans against a definition
 */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "merge/facts/time/nest.h"
#include "tests/unit/fake_run.h"

enum { SPANS_MAX = 300 };

struct seen {
	int64_t self_ns[SPANS_MAX], self_bytes[SPANS_MAX], total_bytes[SPANS_MAX];
	int64_t device_bytes[SPANS_MAX];
	uint32_t depth[SPANS_MAX], n_closed[SPANS_MAX];
};

static void note(void *ctx, const struct tp_nest_span *span)
{
	struct seen *seen = ctx;

	seen->self_ns[span->row] = tp_nest_self_ns(span);
	seen->self_bytes[span->row] = span->self_bytes;
	seen->total_bytes[span->row] = span->self_bytes + span->child_bytes;
	seen->device_bytes[span->row] = span->self_device_bytes + span->child_device_bytes;
	seen->depth[span->row] = span->depth;
	seen->n_closed[span->row]++;
}

Test(nest, gives_self_time_of_known_cases)
{
	/* Spans in begin order; self time and depth of each. */
	static const struct {
		const char *what;
		uint32_t n;
		struct {
			int64_t begin, end, self;
			uint32_t depth;
		} span[5];
	} cases[] = {
		{"one", 1, {{0, 10, 10, 0}}},
		{"child", 2, {{0, 10, 6, 0}, {3, 7, 4, 1}}},
		{"grandchild takes from its parent only",
		 3,
		 {{0, 10, 6, 0}, {3, 7, 2, 1}, {4, 6, 2, 2}}},
		{"two children", 3, {{0, 10, 5, 0}, {1, 3, 2, 1}, {6, 9, 3, 1}}},
		{"touching spans are beside each other", 2, {{0, 5, 5, 0}, {5, 9, 4, 0}}},
		{"same begin, the first is the parent", 2, {{0, 10, 3, 0}, {0, 7, 7, 1}}},
		{"same begin and end", 2, {{0, 10, 0, 0}, {0, 10, 10, 1}}},
		{"child ends with its parent", 2, {{0, 10, 5, 0}, {5, 10, 5, 1}}},
		{"no length", 2, {{0, 10, 10, 0}, {4, 4, 0, 1}}},
		{"crossing: only what lies inside counts", 2, {{0, 10, 6, 0}, {6, 15, 9, 1}}},
		{"after crossing, the later one is the parent",
		 3,
		 {{0, 10, 6, 0}, {6, 15, 6, 1}, {11, 14, 3, 2}}},
		{"before zero", 2, {{-20, -10, 7, 0}, {-15, -12, 3, 1}}},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct seen seen = {.n_closed = {0}};
		struct tp_nest *nest = tp_nest_new(note, &seen);
		struct tp_proc *proc;
		struct fake fake;

		fake_init(&fake);
		proc = fake_proc(&fake, 0);
		for (uint32_t k = 0; k < cases[i].n; k++) {
			struct tp_event event = fake_span(&fake, proc, 0, TP_REC_OP, NULL,
							  cases[i].span[k].begin,
							  cases[i].span[k].end);

			cr_assert(tp_nest_span(nest, &event, k, k));
		}
		tp_nest_end(nest);
		for (uint32_t k = 0; k < cases[i].n; k++) {
			cr_expect_eq(seen.n_closed[k], 1, "%s", cases[i].what);
			cr_expect_eq(seen.self_ns[k], cases[i].span[k].self, "%s: span %u: %ld",
				     cases[i].what, k, (long)seen.self_ns[k]);
			cr_expect_eq(seen.depth[k], cases[i].span[k].depth, "%s: span %u: depth",
				     cases[i].what, k);
		}
	}
}

Test(nest, keeps_threads_and_processes_apart)
{
	struct seen seen = {.n_closed = {0}};
	struct tp_nest *nest = tp_nest_new(note, &seen);
	struct tp_proc *proc[2];
	struct fake fake;
	uint32_t row = 0;

	fake_init(&fake);
	proc[0] = fake_proc(&fake, 0);
	proc[1] = fake_proc(&fake, 1);
	for (uint32_t p = 0; p < 2; p++) {
		for (uint32_t t = 0; t < 3; t++) {
			struct tp_event event = fake_span(&fake, proc[p], t, TP_REC_OP, NULL,
							  row, 100);

			tp_nest_span(nest, &event, row, row);
			row++;
		}
	}
	tp_nest_end(nest);
	for (uint32_t i = 0; i < row; i++)
		cr_expect_eq(seen.self_ns[i], 100 - i);
}

Test(nest, gives_memory_to_the_innermost_span_and_to_all_around_it)
{
	struct seen seen = {.n_closed = {0}};
	struct tp_nest *nest = tp_nest_new(note, &seen);
	struct tp_proc *proc;
	struct fake fake;
	const struct tp_nest_span *open;
	struct tp_event event;
	uint32_t n;

	fake_init(&fake);
	proc = fake_proc(&fake, 0);
	event = fake_span(&fake, proc, 0, TP_REC_OP, NULL, 0, 100);
	tp_nest_span(nest, &event, 0, 0);
	event = fake_block(&fake, proc, 0, TP_REC_ALLOC, 5, 1, 0);
	tp_nest_bytes(nest, &event, 1000, false);
	event = fake_span(&fake, proc, 0, TP_REC_OP, NULL, 10, 50);
	tp_nest_span(nest, &event, 1, 1);
	event = fake_span(&fake, proc, 0, TP_REC_OP, NULL, 20, 30);
	tp_nest_span(nest, &event, 2, 2);
	event = fake_block(&fake, proc, 0, TP_REC_ALLOC, 25, 1, 0);
	tp_nest_bytes(nest, &event, 10, false);
	open = tp_nest_stack(nest, &event, &n);
	cr_assert_eq(n, 3);
	cr_expect_eq(open[0].row, 0);
	cr_expect_eq(open[2].row, 2);
	/* At the very end of a span: still its own. */
	event.begin_ns = 30;
	tp_nest_bytes(nest, &event, -4, false);
	event.begin_ns = 31;
	tp_nest_bytes(nest, &event, 100, true);
	/* Another thread, and after the end: nobody's. */
	event.thread = &proc->thread[1];
	tp_nest_bytes(nest, &event, 12345, false);
	event.thread = &proc->thread[0];
	event.begin_ns = 101;
	tp_nest_bytes(nest, &event, 54321, false);
	tp_nest_end(nest);
	cr_expect_eq(seen.self_bytes[2], 6);
	cr_expect_eq(seen.self_bytes[1], 100);
	cr_expect_eq(seen.self_bytes[0], 1000);
	cr_expect_eq(seen.total_bytes[2], 6);
	cr_expect_eq(seen.total_bytes[1], 106);
	cr_expect_eq(seen.total_bytes[0], 1106);
	/* Of that on devices. */
	cr_expect_eq(seen.device_bytes[2], 0);
	cr_expect_eq(seen.device_bytes[1], 100);
	cr_expect_eq(seen.device_bytes[0], 100);
}

static int compare_spans(const void *a, const void *b)
{
	const struct tp_event *x = a, *y = b;

	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return (x->end_ns < y->end_ns) - (x->end_ns > y->end_ns);
}

/*
 * The parent by its definition: of the spans before this one in the order, the last that has
 * not ended when this one begins. Self time nanosecond by nanosecond: those of a span that
 * lie in none of its children.
 */
static int64_t count_self(const struct tp_event *span, const int32_t *parent, uint32_t n,
			  uint32_t of)
{
	int64_t self = 0;

	for (int64_t t = span[of].begin_ns; t < span[of].end_ns; t++) {
		bool is_own = true;

		for (uint32_t i = of + 1; i < n && is_own; i++)
			is_own = parent[i] != (int32_t)of || t < span[i].begin_ns ||
				 t >= span[i].end_ns;
		self += is_own;
	}
	return self;
}

Test(nest, agrees_with_its_definition_on_random_spans)
{
	unsigned seed = 3;

	for (uint32_t round = 0; round < 300; round++) {
		struct tp_event span[60];
		int32_t parent[60];
		struct seen seen = {.n_closed = {0}};
		struct tp_nest *nest = tp_nest_new(note, &seen);
		uint32_t n = 1 + rand_r(&seed) % 60, range = 5 + rand_r(&seed) % 200;
		struct tp_proc *proc;
		struct fake fake;

		fake_init(&fake);
		proc = fake_proc(&fake, 0);
		for (uint32_t i = 0; i < n; i++) {
			int64_t begin = rand_r(&seed) % range - (int64_t)range / 2;
			int64_t end = begin + rand_r(&seed) % range;

			span[i] = fake_span(&fake, proc, 0, TP_REC_OP, NULL, begin, end);
		}
		qsort(span, n, sizeof(span[0]), compare_spans);
		for (uint32_t i = 0; i < n; i++) {
			parent[i] = -1;
			for (uint32_t j = 0; j < i; j++)
				if (span[j].end_ns > span[i].begin_ns)
					parent[i] = (int32_t)j;
			tp_nest_span(nest, &span[i], i, i);
		}
		tp_nest_end(nest);
		for (uint32_t i = 0; i < n; i++)
			cr_assert_eq(seen.self_ns[i], count_self(span, parent, n, i),
				     "round %u, span %u: %ld", round, i, (long)seen.self_ns[i]);
	}
}

/*
 * torch's rule, as torch applies it: again and again over all spans, a span whose parent has
 * its name and no other child goes, and its children become the parent's.
 */
static void remove_doubles(int32_t *parent, const uint32_t *name, bool *is_gone, uint32_t n)
{
	bool is_changed = true;

	while (is_changed) {
		is_changed = false;
		for (uint32_t i = 0; i < n; i++) {
			uint32_t n_children = 0;

			if (is_gone[i] || parent[i] < 0 || name[parent[i]] != name[i])
				continue;
			for (uint32_t k = 0; k < n; k++)
				n_children += !is_gone[k] && parent[k] == parent[i];
			if (n_children != 1)
				continue;
			for (uint32_t k = 0; k < n; k++)
				if (parent[k] == (int32_t)i)
					parent[k] = parent[i];
			is_gone[i] = is_changed = true;
		}
	}
}

static uint32_t make_nested(struct fake *fake, struct tp_proc *proc, struct tp_event *span,
			    uint32_t n, int64_t begin, int64_t end, unsigned *seed);

Test(nest, takes_an_only_child_of_the_same_name_into_its_parent_as_torch_does)
{
	unsigned seed = 21;

	for (uint32_t round = 0; round < 300; round++) {
		struct tp_event span[SPANS_MAX];
		int32_t parent[SPANS_MAX];
		uint32_t name[SPANS_MAX], n, n_names = 1 + rand_r(&seed) % 4;
		bool is_gone[SPANS_MAX] = {false};
		struct seen seen = {.n_closed = {0}};
		struct tp_nest *nest = tp_nest_new(note, &seen);
		struct fake fake;
		struct tp_proc *proc;

		fake_init(&fake);
		proc = fake_proc(&fake, 0);
		n = make_nested(&fake, proc, span, 0, 0, 200 + rand_r(&seed) % 2000, &seed);
		for (uint32_t i = 0; i < n; i++) {
			parent[i] = -1;
			name[i] = rand_r(&seed) % n_names;
			for (uint32_t j = 0; j < i; j++)
				if (span[j].end_ns > span[i].begin_ns)
					parent[i] = (int32_t)j;
			tp_nest_span(nest, &span[i], i, name[i]);
		}
		tp_nest_end(nest);
		remove_doubles(parent, name, is_gone, n);
		for (uint32_t i = 0; i < n; i++) {
			int64_t self = span[i].end_ns - span[i].begin_ns;

			for (uint32_t k = 0; k < n; k++)
				if (!is_gone[k] && parent[k] == (int32_t)i)
					self -= span[k].end_ns - span[k].begin_ns;
			cr_assert_eq(seen.n_closed[i], !is_gone[i], "round %u, span %u", round, i);
			if (!is_gone[i])
				cr_assert_eq(seen.self_ns[i], self, "round %u, span %u: %ld",
					     round, i, (long)seen.self_ns[i]);
		}
	}
}

Test(nest, adds_up_memory_when_a_child_is_taken_in)
{
	struct seen seen = {.n_closed = {0}};
	struct tp_nest *nest = tp_nest_new(note, &seen);
	struct tp_proc *proc;
	struct tp_event event;
	struct fake fake;

	fake_init(&fake);
	proc = fake_proc(&fake, 0);
	for (uint32_t i = 0; i < 3; i++) {
		event = fake_span(&fake, proc, 0, TP_REC_OP, NULL, i * 10, 100 - i * 10);
		/* The first two have one name. */
		tp_nest_span(nest, &event, i, i / 2);
		event = fake_block(&fake, proc, 0, TP_REC_ALLOC, i * 10 + 5, 0, 0);
		tp_nest_bytes(nest, &event, 1 << i, false);
	}
	tp_nest_end(nest);
	cr_expect_eq(seen.n_closed[0], 1);
	cr_expect_eq(seen.n_closed[1], 0);
	cr_expect_eq(seen.self_ns[0], 40);
	cr_expect_eq(seen.self_bytes[0], 3);
	cr_expect_eq(seen.total_bytes[0], 7);
	cr_expect_eq(seen.self_bytes[2], 4);
}

/* Proper nesting, as programs make it: self times add up to the time covered by any span. */
static uint32_t make_nested(struct fake *fake, struct tp_proc *proc, struct tp_event *span,
			    uint32_t n, int64_t begin, int64_t end, unsigned *seed)
{
	while (begin < end && n < SPANS_MAX) {
		int64_t from = begin + rand_r(seed) % (end - begin);
		int64_t to = from + 1 + rand_r(seed) % (end - from);

		span[n++] = fake_span(fake, proc, 0, TP_REC_OP, NULL, from, to);
		if (rand_r(seed) % 3)
			n = make_nested(fake, proc, span, n, from, to, seed);
		begin = to;
	}
	return n;
}

Test(nest, self_times_add_up_to_the_time_covered)
{
	unsigned seed = 11;

	for (uint32_t round = 0; round < 100; round++) {
		struct tp_event span[SPANS_MAX];
		struct seen seen = {.n_closed = {0}};
		struct tp_nest *nest = tp_nest_new(note, &seen);
		int64_t covered = 0, sum = 0;
		struct fake fake;
		struct tp_proc *proc;
		uint32_t n;

		fake_init(&fake);
		proc = fake_proc(&fake, 0);
		n = make_nested(&fake, proc, span, 0, 0, 2000, &seed);
		for (uint32_t i = 0; i < n; i++)
			tp_nest_span(nest, &span[i], i, i);
		tp_nest_end(nest);
		for (int64_t t = 0; t < 2000; t++) {
			bool is_in = false;

			for (uint32_t i = 0; i < n && !is_in; i++)
				is_in = t >= span[i].begin_ns && t < span[i].end_ns;
			covered += is_in;
		}
		for (uint32_t i = 0; i < n; i++)
			sum += seen.self_ns[i];
		cr_assert_eq(sum, covered, "round %u", round);
	}
}
