/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_clocks.c - tests: devices whose clocks are held down, and by what
 */
#include <criterion/criterion.h>

#include "tests/unit/advice_gpu_rig.h"

static void set_up(void)
{
	advice_gpu_init();
	device.clock_khz = 2000000;
	add_steps();
	add_kernel(1 * MS, 2 * MS, 92 * MS);
}

TestSuite(overview_clocks, .init = set_up);

static void say(const char *name, int64_t at, uint64_t value)
{
	struct tp_event *counter = add(TP_REC_COUNTER, name, at, at);

	counter->arg = value;
	counter->link = 0;
}

/* From `at` on. */
static void run_at(int64_t at, uint64_t mhz, const char *by, bool is_held)
{
	say("GPU SM clock", at, mhz);
	say("throttled by power", at, is_held && !strcmp(by, "power"));
	say("throttled by heat", at, is_held && !strcmp(by, "heat"));
	say("throttled by hardware", at, is_held && !strcmp(by, "hardware"));
}

#define ALL (STEPS * 100 * MS)

Test(overview_clocks, at_its_limit_of_power_a_device_is_told_of_and_no_more)
{
	const char *text;

	run_at(0, 1500, "power", true);
	text = print();
	cr_expect(strstr(text, "GPU 0: 1,500 of 2,000 MHz, held down by its limit of power for 100 % of the time"),
		  "%s", text);
	cr_expect_not(strstr(text, "throttling"), "%s", text);
}

/* Each value holds until the next one: 1000 MHz for a quarter of the time, 2000 for the rest. */
Test(overview_clocks, heat_costs_what_the_clock_lacks_of_the_time_that_it_computes)
{
	const char *text;

	run_at(0, 1000, "heat", true);
	run_at(ALL / 4, 2000, "heat", false);
	text = print();
	cr_expect(strstr(text, "1,750 of 2,000 MHz, held down by heat for 25 % of the time"), "%s", text);
	cr_expect_not(strstr(text, "throttling"), "a quarter of an eighth: %s", text);
	n_events = 0;
	advice_gpu_init();
	device.clock_khz = 2000000;
	add_steps();
	add_kernel(1 * MS, 2 * MS, 92 * MS);
	run_at(0, 1000, "heat", true);
	text = print();
	cr_expect(strstr(text, "throttling"), "%s", text);
	cr_expect(strstr(text, "the clock of GPU 0 is held down by heat for 100 % of the time: 1,000 of 2,000 MHz"),
		  "%s", text);
}

Test(overview_clocks, the_hardware_is_named_where_it_is_that)
{
	const char *text;

	run_at(0, 500, "hardware", true);
	text = print();
	cr_expect(strstr(text, "throttling"), "%s", text);
	cr_expect(strstr(text, "held down by the hardware"), "%s", text);
}

Test(overview_clocks, nothing_is_said_of_a_clock_that_is_as_fast_as_it_can_be)
{
	const char *text;

	run_at(0, 1990, "power", true);
	text = print();
	cr_expect_not(strstr(text, "held down"), "%s", text);
}

/* Of what was between two windows nothing is known; the clock of another device is not this one's. */
Test(overview_clocks, only_windows_count)
{
	const char *text;

	run_at(0, 1500, "power", false);
	add(TP_REC_COUNTER, "GPU SM clock", 0, 0)->link = 1;
	run_at(ALL - 10 * MS, 1500, "power", true);
	text = print();
	cr_expect_not(strstr(text, "held down"), "%s", text);
}
