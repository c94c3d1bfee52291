/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_since.c - tests of the rule on steps that are slow from one of them on
 */
#include <criterion/criterion.h>

#include "runtime/trace/ring_layout.h"
#include "tests/unit/fake_run.h"

enum { MS = 1000000, STEPS = 160, MANY = 1000, KEPT = 1 << 20, SINCE = 100 };

static const struct tp_view_options options = {.top = 20};
static struct fake fake;

struct how {
	uint32_t since, until;		/* slow steps; the others take 20 to 22 ms */
	int64_t more_ms;		/* than those */
	uint32_t stray_before, stray_after;	/* each so many-th is of the other kind; 0: none */
	uint32_t in_epoch;
	uint64_t peak, slow_peak;	/* bytes of tensors */
	uint64_t device_peak, slow_device_peak;
	const char *started;
	uint32_t steps;
};
static const struct how slow_since = {.since = SINCE, .until = STEPS, .more_ms = 40, .in_epoch = MANY,
				      .peak = KEPT, .slow_peak = KEPT, .steps = STEPS};

static const char *print(const struct how *how)
{
	struct tp_proc *proc;
	int64_t now = 0;

	fake_init(&fake);
	proc = fake_proc(&fake, 0);
	proc->started = how->started ? how->started : "";
	for (uint32_t i = 0; i < how->steps; i++) {
		const uint32_t stray = i < how->since ? how->stray_before : how->stray_after;
		const bool is_late = i >= how->since && i < how->until,
			   is_stray = stray && i % stray == 0;
		const int64_t ns = (20 + i * 7 % 3 + (is_late != is_stray ? how->more_ms : 0)) * MS;
		struct tp_step_row *row = fake_step_row(&fake, proc, i, now, ns);

		row->phase = TP_PHASE_WAIT;
		row->epoch = i / how->in_epoch;
		row->in_epoch = i % how->in_epoch;
		row->peak_bytes = is_late ? how->slow_peak : how->peak;
		row->device_peak = is_late ? how->slow_device_peak : how->device_peak;
		now += ns;
	}
	return fake_print(&fake, &tp_view_overview, &options, NULL, 0, 200, false);
}

Test(overview_since, says_from_which_step_on_and_where_they_stand)
{
	struct how how = slow_since;
	const char *text;

	how.started = "slow.120=9 /a/train.py:1 main > /a/store.py:7 read\n"
		      "slow.20=9 /a/train.py:1 main > /a/other.py:7 write\n"
		      "slow.40=9 /a/train.py:1 main > /a/other.py:7 write\n"
		      "slow.60=9 /a/train.py:1 main > /a/other.py:7 write\n"
		      "slow.130=9 /a/train.py:1 main > /a/store.py:7 read\n";
	text = print(&how);
	cr_expect(strstr(text, "from step 100 on steps take 61.0 ms, before 21.0 ms, with as much memory of tensors"),
		  "%s", text);
	cr_expect(strstr(text, "\n                      train.py:1 main > store.py:7 read\n"), "%s", text);
}

static void expect(bool wanted, const struct how *how)
{
	const char *text = print(how);

	cr_expect_eq(strstr(text, "\n  slow-since ") != NULL, wanted, "%s", text);
}

Test(overview_since, tells_steps_that_take_twice_as_long_to_the_end)
{
	struct how how = slow_since;

	expect(true, &how);
	how.more_ms = 19;
	expect(false, &how);
	how = slow_since;
	how.until = 130;
	expect(false, &how);
	/* A few at the end, nearly all, a short run. */
	how = slow_since;
	how.since = 145;
	expect(false, &how);
	how.since = 12;
	expect(false, &how);
	how.since = 24;
	how.steps = 44;
	expect(false, &how);
	how.steps = 52;
	expect(true, &how);
	/* So many of each kind among the others. */
	how = slow_since;
	how.stray_before = how.stray_after = 20;
	expect(true, &how);
	how.stray_before = 8;
	expect(false, &how);
	how.stray_before = 0;
	how.stray_after = 8;
	expect(false, &how);
}

Test(overview_since, leaves_out_what_needs_more_memory)
{
	struct how how = slow_since;

	how.slow_peak = KEPT + KEPT / 8;
	expect(false, &how);
	how.slow_peak = KEPT + KEPT / 12;
	expect(true, &how);
	how.slow_peak = KEPT;
	how.device_peak = KEPT;
	how.slow_device_peak = 2 * KEPT;
	expect(false, &how);
	/* It is not known. */
	how = slow_since;
	how.peak = how.slow_peak = 0;
	expect(false, &how);
}

Test(overview_since, leaves_out_what_begins_with_an_epoch_or_where_others_have_the_cores)
{
	struct how how = slow_since;

	how.in_epoch = SINCE;
	expect(false, &how);
	how.in_epoch = SINCE - 1;
	expect(true, &how);
	how = slow_since;
	how.started = "crowded.100=159 50\n";
	expect(false, &how);
	how.started = "crowded.10=90 50\n";
	expect(true, &how);
}
