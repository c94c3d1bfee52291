/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heapdiff.c of the merge: which stacks of two builds are the same
 */
#include "merge/facts/heap/heapdiff.h"
#include "tests/unit/heap_rig.h"

static const struct tp_heapdiff_row *of_cost(const struct tp_heapdiff_row *row, uint32_t n,
					     uint64_t base, uint64_t now)
{
	for (uint32_t i = 0; i < n; i++) {
		if (row[i].base[TP_HEAP_PEAK] == base && row[i].now[TP_HEAP_PEAK] == now)
			return &row[i];
	}
	return NULL;
}

/* Stacks 1 and 2 differ by a line of Python and an address only. */
Test(heapdiff, functions_by_their_names_not_addresses_lines_or_processes)
{
	struct tp_hostmem_row before[] = {{.stack = 1, .peak_bytes = 400, .n_allocs = 4},
					  {.stack = 3, .peak_bytes = 8}};
	struct tp_hostmem_row after[] = {{.stack = 2, .peak_bytes = 500, .n_allocs = 5},
					 {.stack = 1, .proc = 1, .peak_bytes = 70, .n_allocs = 1},
					 {.stack = 4, .peak_bytes = 9}};
	struct tp_heap_rows base = heap_rows(before, 2, 2), now = heap_rows(after, 3, 2);
	struct tp_heapdiff_row *row;
	const struct tp_heapdiff_row *same;
	uint32_t n;

	row = tp_heapdiff(&base, &now, &n);
	cr_assert_not_null(row);
	cr_expect_eq(n, 3);
	same = of_cost(row, n, 400, 570);
	cr_assert_not_null(same);
	cr_expect_eq(same->base[TP_HEAP_ALLOCS], 4);
	cr_expect_eq(same->now[TP_HEAP_ALLOCS], 6);
	cr_expect_not(same->is_of_base);
	cr_expect_not_null(of_cost(row, n, 8, 0), "gone");
	cr_expect_not_null(of_cost(row, n, 0, 9), "new");
	free(row);
}

static struct tp_frame named[2];

static uint32_t named_frames(const void *stacks, uint32_t stack, struct tp_frame *frame,
			     uint32_t max)
{
	if (max)
		frame[0] = named[stack];
	return 1;
}

/* Every file of Python has a <module>; code without names is known by its file. */
Test(heapdiff, what_is_called_alike_elsewhere_is_another)
{
	static const struct {
		struct tp_frame a, b;
		bool is_same;
	} cases[] = {
		{{.function = "f", .file = "/a/x.c", .module = "/a/m.so"},
		 {.function = "f", .file = "/b/y.c", .module = "/b/m.so"}, true},
		{{.function = "<module>", .file = "/a/x.py", .module = "", .is_python = true},
		 {.function = "<module>", .file = "/b/x.py", .module = "", .is_python = true}, true},
		{{.function = "<module>", .file = "/a/x.py", .module = "", .is_python = true},
		 {.function = "<module>", .file = "/a/y.py", .module = "", .is_python = true}, false},
		{{.function = "", .file = "", .module = "/a/m.so", .offset = 7},
		 {.function = "", .file = "", .module = "/b/m.so", .offset = 8}, true},
		{{.function = "", .file = "", .module = "/a/m.so"},
		 {.function = "", .file = "", .module = "/a/n.so"}, false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct tp_hostmem_row row_of[] = {{.stack = 0, .peak_bytes = 1},
						  {.stack = 1, .peak_bytes = 1}};
		struct tp_heap_rows base = heap_rows(row_of, 1, 1), now = heap_rows(row_of + 1, 1, 1);
		struct tp_heapdiff_row *row;
		uint32_t n;

		named[0] = cases[i].a;
		named[1] = cases[i].b;
		base.frames = now.frames = named_frames;
		row = tp_heapdiff(&base, &now, &n);
		cr_assert_not_null(row);
		cr_expect_eq(n, cases[i].is_same ? 1 : 2, "case %zu", i);
		free(row);
	}
}
