/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ledger.c - lines of the step ledger there and back, and lines that are none
 */
#include <criterion/criterion.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "runtime/trace/ledger.h"
#include "runtime/trace/ring_layout.h"

static const struct tp_ledger_row typical = {
    .index = 1234,
    .epoch = 1,
    .in_epoch = 234,
    .batches = 1,
    .phase = TP_PHASE_WAIT,
    .source = TP_STEP_OPTIMIZER,
    .begin_ns = 1234567890123,
    .dur_ns = 345678901,
    .data_wait_ns = 123456,
    .optimizer_ns = 23456789,
    .live_bytes = 123456789,
    .peak_bytes = 223456789,
};

static bool rows_agree(const struct tp_ledger_row *a, const struct tp_ledger_row *b)
{
	return a->index == b->index && a->epoch == b->epoch && a->in_epoch == b->in_epoch &&
	       a->batches == b->batches && a->phase == b->phase && a->source == b->source &&
	       a->flags == b->flags && a->begin_ns == b->begin_ns &&
	       a->dur_ns == b->dur_ns && a->data_wait_ns == b->data_wait_ns &&
	       a->optimizer_ns == b->optimizer_ns && a->live_bytes == b->live_bytes &&
	       a->peak_bytes == b->peak_bytes && a->device_live == b->device_live &&
	       a->device_peak == b->device_peak && a->dropped == b->dropped &&
	       a->heap_bytes == b->heap_bytes && a->resident == b->resident &&
	       a->virtual == b->virtual;
}

Test(ledger, row_is_short_and_comes_back)
{
	char line[TP_LEDGER_LINE_MAX];
	struct tp_ledger_row back;
	size_t n = tp_ledger_format_row(line, sizeof(line), &typical);

	cr_assert_leq(n, 85);
	cr_assert_str_eq(line, "s1234 e1 i234 t1234567890123 d345678901 w123456 o23456789 "
			       "l123456789 m223456789\n");
	cr_assert(tp_ledger_parse_row(line, n - 1, &back));
	cr_assert(rows_agree(&typical, &back));
}

Test(ledger, row_of_extremes_fits_its_line)
{
	char line[TP_LEDGER_LINE_MAX];
	struct tp_ledger_row row, back;
	size_t n;

	memset(&row, 0xff, sizeof(row));
	n = tp_ledger_format_row(line, sizeof(line), &row);
	cr_assert_lt(n, TP_LEDGER_LINE_MAX);
	cr_assert_eq(line[n - 1], '\n');
	cr_assert(tp_ledger_parse_row(line, n - 1, &back));
	cr_assert(rows_agree(&row, &back));
	memset(&row, 0, sizeof(row));
	n = tp_ledger_format_row(line, sizeof(line), &row);
	cr_assert_str_eq(line, "s0 b0 p0 c0\n");
	cr_assert(tp_ledger_parse_row(line, n - 1, &back));
	cr_assert(rows_agree(&row, &back));
}

Test(ledger, row_with_letters_of_a_later_version_is_read)
{
	struct tp_ledger_row back;
	const char *line = "s7 q99 d5 z18446744073709551615";

	cr_assert(tp_ledger_parse_row(line, strlen(line), &back));
	cr_assert_eq(back.index, 7);
	cr_assert_eq(back.dur_ns, 5);
}

Test(ledger, what_is_no_row_is_refused)
{
	static const char *const line[] = {
	    "",
	    " ",
	    "s",
	    "s1 ",
	    "s1  d5",
	    "d5 s1",
	    "s-1",
	    "s1 d",
	    "s1 D5",
	    "s1,d5",
	    "s1 d5x",
	    "S1",
	    "#s1",
	    "s1 p256",
	    "s1 e4294967296",
	    "s18446744073709551616",
	    "s1\td5",
	};
	struct tp_ledger_row row;
	struct tp_ledger_head head;

	for (size_t i = 0; i < sizeof(line) / sizeof(line[0]); i++) {
		cr_assert_not(tp_ledger_parse_row(line[i], strlen(line[i]), &row), "'%s'",
			      line[i]);
		cr_assert_not(tp_ledger_parse_head(line[i], strlen(line[i]), &head), "'%s'",
			      line[i]);
	}
}

Test(ledger, head_comes_back)
{
	char line[2 * TP_LEDGER_LINE_MAX];
	struct tp_ledger_head head =
				  {
				      .run_id = UINT64_MAX,
				      .boot_id = {0x0123456789abcdef, 1},
				      .mono_ns = UINT64_MAX,
				      .real_ns = 1,
				      .rank = INT32_MIN,
				      .local_rank = -1,
				      .world_size = INT32_MAX,
				      .node_rank = 3,
				      .pid = UINT32_MAX,
				      .restart = 2,
				      .parent_pid = UINT32_MAX,
				      .fork_ns = UINT64_MAX,
				  },
			      back;
	struct tp_ledger_row row;
	size_t n, first;

	memset(head.host, 'h', 64);
	memset(head.job, 'j', sizeof(head.job) - 1);
	n = tp_ledger_format_head(line, sizeof(line), &head);
	cr_assert_lt(n, sizeof(line) - 1, "not cut");
	cr_assert_eq(line[n - 1], '\n');
	first = strcspn(line, "\n");
	cr_assert(tp_ledger_parse_head(line, first, &back));
	cr_assert_eq(memcmp(&head, &back, sizeof(head)), 0);
	cr_assert_not(tp_ledger_parse_row(line, first, &row));
	for (size_t cut = 0; cut < first - 64; cut++)
		cr_assert_not(tp_ledger_parse_head(line, cut, &back) && cut < first - 70);
	/* The second line is for people. */
	cr_assert_eq(line[first + 1], '#');
	cr_assert_not(tp_ledger_parse_head(line + first + 1, n - first - 2, &back));
	cr_assert_not(tp_ledger_parse_row(line + first + 1, n - first - 2, &row));
}

Test(ledger, host_name_is_one_word)
{
	char line[2 * TP_LEDGER_LINE_MAX];
	struct tp_ledger_head head = {.host = "my host\n=x"}, back;

	tp_ledger_format_head(line, sizeof(line), &head);
	cr_assert(tp_ledger_parse_head(line, strcspn(line, "\n"), &back));
	cr_assert_str_eq(back.host, "my?host?=x");
}
