/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sink_folded.c of the merge: what flamegraph.pl reads, against texts made by hand
 */
#include <errno.h>

#include "merge/pass.h"
#include "tests/unit/heap_rig.h"

TestSuite(sink_folded, .init = rig_begin, .fini = rig_end);

static void write_rows(struct tp_hostmem_row *row, uint32_t n, uint32_t n_procs)
{
	struct tp_heap_rows heap = heap_rows(row, n, n_procs);
	struct tp_flame_rows rows = tp_heap_flame(&heap);
	char path[128];

	snprintf(path, sizeof(path), "%s/folded", rig.folder);
	cr_assert_eq(tp_folded_write(&rows, 1, path), 0);
}

#define COMMON                                                                             \
	"_start;<module> (x/train.py);Net.forward (model/net.py);at::native::empty_like;"   \
	"at::empty(int: int);alloc_cpu(unsigned long)"
#define HOSTILE "_a b \"c\"\\:\xef\xbf\xbd<d>& ;take_12"

Test(sink_folded, a_file_for_each_cost_and_stacks_of_equal_functions_in_one_line)
{
	write_rows(heap_row, HEAP_ROWS, 1);
	cr_expect_str_eq(rig_read("folded/peak.folded"), COMMON " 430\n" HOSTILE " 8\n");
	cr_expect_str_eq(rig_read("folded/allocations.folded"),
			 COMMON " 12\n"
			 "(callers not known) 7\n"
			 "(callers not known);(unknown);[libtorch_cpu.so];[libtorch_cpu.so] 5\n"
			 HOSTILE " 1\n");
	cr_expect_str_eq(rig_read("folded/leaked.folded"), COMMON " 30\n");
	cr_expect_str_eq(rig_read("folded/temporary.folded"), COMMON " 3\n");
}

Test(sink_folded, no_file_of_a_cost_that_nothing_has)
{
	char path[128];

	write_rows(heap_row, HEAP_ROWS, 1);
	rig_read("folded/leaked.folded");
	/* Nothing stays: an old file would be taken for this run's. */
	write_rows(heap_row + 2, 2, 1);
	snprintf(path, sizeof(path), "%s/folded/leaked.folded", rig.folder);
	cr_expect_eq(access(path, F_OK), -1);
	rig_read("folded/peak.folded");
}

Test(sink_folded, processes_are_the_outermost_frames_when_there_are_several)
{
	struct tp_hostmem_row row[2] = {heap_row[0], heap_row[0]};

	row[0].proc = 1;
	row[1].peak_bytes = 9;
	write_rows(row, 2, 3);
	cr_expect_str_eq(rig_read("folded/peak.folded"),
			 "rank 1: train.py (pid 1001);" COMMON " 400\n"
			 "rank 0: train.py (pid 1000);" COMMON " 9\n");
}

/* 60,000 callees of one function, of which one has more than all others. */
Test(sink_folded, branches_beyond_the_limit_become_one_that_says_so)
{
	enum { N = 60000 };
	struct tp_hostmem_row *row = calloc(N, sizeof(*row));
	const char *text, *other;
	uint64_t sum = 0, value;

	for (uint32_t i = 0; i < N; i++)
		row[i] = (struct tp_hostmem_row){.stack = 1000 + i, .n_allocs = 1,
						 .alloc_bytes = 1, .peak_bytes = i ? 2 : 1000000};
	write_rows(row, N, 1);
	text = rig_read("folded/peak.folded");
	cr_expect_eq(rig_count(text, "\n"), 2, "%s", text);
	other = strstr(text, ";(other: branches below 0.0021 % of the whole) ");
	cr_expect(other, "%s", text);
	for (const char *at = text; *at; at = strchr(at, '\n') + 1) {
		value = strtoull(memrchr(at, ' ', (size_t)(strchr(at, '\n') - at)), NULL, 10);
		sum += value;
	}
	cr_expect_eq(sum, 1000000 + 2 * (N - 1), "%llu", (unsigned long long)sum);
	free(row);
}

Test(sink_folded, a_run_without_them_is_said_and_leaves_no_file)
{
	struct tp_run *run;
	char path[128];

	rig_file("a.tpt", 0, 0);
	rig_span(TP_REC_STEP, 0, 1000, 2000);
	rig_close(9000);
	run = rig_open(NULL, NULL, NULL);
	snprintf(path, sizeof(path), "%s/folded", rig.folder);
	cr_expect_eq(tp_pass_write(run, &tp_sink_folded, path), -ENODATA);
	cr_expect_eq(access(path, F_OK), -1);
	tp_run_free(run);
}

Test(sink_folded, a_folder_that_cannot_be_is_said)
{
	struct tp_heap_rows heap = heap_rows(heap_row, HEAP_ROWS, 1);
	struct tp_flame_rows rows = tp_heap_flame(&heap);
	char path[128];

	rig_file("a.tpt", 0, 0);
	rig_close(9000);
	snprintf(path, sizeof(path), "%s/a.tpt/folded", rig.folder);
	cr_expect_eq(tp_folded_write(&rows, 1, path), -ENOTDIR);
}
