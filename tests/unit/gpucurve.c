/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpucurve.c - tests: pieces of several windows, devices of several processes
 */
#include "merge/facts/time/gpucurve.h"

#include <criterion/criterion.h>

#include "tests/unit/fake_run.h"

static struct fake fake;
static struct tp_queue queues[2] = {{.stream = 7}, {.at = 1, .device = 1, .stream = 7}};
static struct tp_gpucurve curve;
static char text[1 << 12];
static size_t n_text;
static uint32_t n_points;

static void set_up(void)
{
	fake_init(&fake);
	n_text = n_points = 0;
	text[0] = 0;
}

static void tear_down(void)
{
	tp_gpucurve_fini(&curve);
}

TestSuite(gpucurve, .init = set_up, .fini = tear_down);

static void note(void *ctx, const struct tp_event *counter)
{
	double value;

	n_points++;
	cr_assert_eq(counter->kind, TP_REC_COUNTER);
	cr_assert(counter->flags & TP_F_DOUBLE);
	memcpy(&value, &counter->arg, sizeof(value));
	if (n_text < sizeof(text))
		n_text += (size_t)snprintf(text + n_text, sizeof(text) - n_text,
					   "%u.%u@%lld=%.2f ", counter->proc->at, counter->link,
					   (long long)counter->begin_ns, value);
}

static void give(uint32_t proc, uint32_t device, uint8_t kind, int64_t begin, int64_t end)
{
	struct tp_event event = fake_span(&fake, fake.procs[proc], 0, kind,
					  fake_text(&fake, "kernel"), begin, end);

	event.queue = &queues[device];
	tp_gpucurve_event(&curve, &fake.run, &event);
}

Test(gpucurve, has_a_hole_between_windows_and_a_row_for_each_device)
{
	for (int32_t rank = 0; rank < 2; rank++) {
		struct tp_proc *proc = fake_proc(&fake, rank);

		/* 1000 ns at most: pieces of 2 ns; the other order must not matter. */
		fake_window(&fake, proc, 1, 5000, 5500);
		fake_window(&fake, proc, 0, 0, 500);
	}
	give(0, 0, TP_REC_KERNEL, 100, 101);
	give(0, 1, TP_REC_GRAPH, 100, 104);
	give(1, 0, TP_REC_MEMCPY, 200, 300);
	give(1, 0, TP_REC_KERNEL, 400, 800); /* beyond its window */
	give(0, 0, TP_REC_KERNEL, 5000, 5500);
	tp_gpucurve_end(&curve, note, NULL);
	cr_expect_str_eq(text,
			 "0.0@0=0.00 0.1@0=0.00 0.0@100=50.00 0.1@100=100.00 0.0@102=0.00 "
			 "0.1@104=0.00 0.0@5000=100.00 0.0@5500=0.00 "
			 "1.0@0=0.00 1.0@400=100.00 1.0@500=0.00 ", "%s", text);
}

Test(gpucurve, has_no_more_points_than_pieces)
{
	fake_window(&fake, fake_proc(&fake, 0), 0, 0, 3600000000000);
	for (int64_t at = 0; at < 3600000; at++)
		give(0, 0, TP_REC_KERNEL, at * 1000000, at * 1000000 + at % 1000000);
	tp_gpucurve_end(&curve, note, NULL);
	cr_expect(n_points > 500 && n_points <= TP_GPUCURVE_PIECES, "%u", n_points);
}

Test(gpucurve, begins_at_time_0_though_a_window_begins_before_it)
{
	fake_window(&fake, fake_proc(&fake, 0), 0, -500, 500);
	give(0, 0, TP_REC_KERNEL, 0, 1);
	tp_gpucurve_end(&curve, note, NULL);
	cr_expect_str_eq(text, "0.0@0=50.00 0.0@2=0.00 ", "%s", text);
}

Test(gpucurve, of_nothing_is_nothing)
{
	fake_window(&fake, fake_proc(&fake, 0), 0, 0, 1000);
	give(0, 0, TP_REC_MEMCPY, 10, 20);
	tp_gpucurve_end(&curve, note, NULL);
	cr_expect_eq(n_points, 0);
}
