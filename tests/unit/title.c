/* SPDX-License-Identifier: Apache-2.0 */
/*
 * title.c - tests of the numbers and names of processes and devices in a timeline: those of a great
 * job never meet, and stand in order
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "merge/model/title.h"

enum { RANKS = 512, WORKERS = 16, STARTS = 3, DEVICES = 8 };

static int compare(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* In the order of a run: ranks, of each its starts, behind each its workers. */
Test(title, numbers_never_meet)
{
	static uint64_t pid[RANKS * STARTS * (1 + WORKERS + DEVICES)];
	uint32_t n = 0, at = 0, n_devices = 0;
	uint64_t last_of_rank = 0;

	for (int32_t rank = 0; rank < RANKS; rank++) {
		uint64_t least = UINT64_MAX, most = 0;

		for (uint32_t i = 0; i < STARTS * (1 + WORKERS); i++) {
			const struct tp_proc proc = {
				.at = at++, .rank = rank, .restart = i / (1 + WORKERS),
				.worker = i % (1 + WORKERS), .program = "", .pid = 77,
			};
			uint32_t first = n;

			pid[n++] = tp_title_pid(&proc);
			for (uint32_t d = 0; d < DEVICES && !proc.worker; d++) {
				pid[n++] = tp_title_device_pid(&proc, n_devices++);
				cr_assert_gt(pid[n - 1], pid[first], "a device is behind its rank");
			}
			for (; first < n; first++) {
				least = pid[first] < least ? pid[first] : least;
				most = pid[first] > most ? pid[first] : most;
			}
		}
		cr_assert_gt(least, last_of_rank, "rank %d is behind the one before it", rank);
		last_of_rank = most;
	}
	cr_assert_lt(last_of_rank, INT32_MAX, "viewers read 32 bits");
	qsort(pid, n, sizeof(pid[0]), compare);
	for (uint32_t i = 1; i < n; i++)
		cr_assert_neq(pid[i], pid[i - 1]);
}

Test(title, processes_are_called_after_their_rank)
{
	static const struct {
		struct tp_proc proc;
		const char *wanted;
	} rows[] = {
		{{.rank = 3, .pid = 7, .program = "file:/x/train.py"}, "rank 3: train.py (pid 7)"},
		{{.rank = 3, .pid = 7, .program = "file:/x/train.py", .restart = 2},
		 "rank 3: train.py (pid 7, restart 2)"},
		{{.rank = 3, .pid = 7, .program = "", .worker = 1, .is_dead = true},
		 "rank 3 worker 1: python (pid 7, died)"},
		{{.rank = -1, .pid = 7, .program = "file:/x/train.py"}, "train.py (pid 7)"},
	};
	char buf[TP_TITLE_MAX];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect_str_eq(tp_title_process(buf, &rows[i].proc), rows[i].wanted, "%s", buf);
}

Test(title, the_longest_of_a_process_stays_in_its_room)
{
	char program[200], room[TP_TITLE_MAX + 32];
	struct tp_proc proc = {.rank = INT32_MAX, .worker = UINT32_MAX, .pid = UINT32_MAX,
			       .restart = UINT32_MAX, .is_dead = true, .program = program};

	memset(program, 'p', sizeof(program));
	program[sizeof(program) - 1] = '\0';
	memset(room, '#', sizeof(room));
	cr_expect_lt(strlen(tp_title_process(room, &proc)), TP_TITLE_MAX);
	for (size_t i = TP_TITLE_MAX; i < sizeof(room); i++)
		cr_expect_eq(room[i], '#');
}

Test(title, the_main_thread_comes_first)
{
	const struct tp_thread main_thread = {.slot = 5, .is_main = true}, other = {.slot = 0};

	cr_expect_lt(tp_title_sort(&main_thread, 3, false), tp_title_sort(&other, 0, false));
	cr_expect_lt(tp_title_sort(&other, 0, false), tp_title_sort(&other, 1, false));
	cr_expect_lt(tp_title_sort(&other, 60, false), tp_title_sort(&other, 0, true));
}
