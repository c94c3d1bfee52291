/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_clock.c - CUPTI's time becomes ticks: on clocks that are played here, and on the real ones
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/probe/gpu/cupti_clock.h"
#include "runtime/probe/gpu/cupti_lib.h"

#define REAL_0 1790000000000000000ull	/* in 2026 */
#define SECOND 1000000000ull

/* A machine's clocks: what they show `ns` after the beginning, on which they began elsewhere. */
static struct {
	double ticks_per_ns;
	uint64_t ticks_0, mono_0;
	int64_t real_apart;	/* REALTIME was set */
	uint32_t noise_ns;	/* of a reading */
	bool is_counter;	/* a timestamp callback gives out the counter */
} machine;

static uint64_t ticks_of(uint64_t ns)
{
	return machine.ticks_0 + (uint64_t)(machine.ticks_per_ns * (double)ns);
}

static uint64_t cupti_of(uint64_t ns)
{
	if (machine.is_counter)
		return ticks_of(ns);
	return REAL_0 + ns + (uint64_t)machine.real_apart;
}

static int64_t noise(void)
{
	return machine.noise_ns ? rand() % (2 * (int)machine.noise_ns + 1) - (int)machine.noise_ns
				: 0;
}

static void read_at(uint64_t ns)
{
	struct tp_cupti_reading reading = {
		.ticks = ticks_of(ns), .cupti_ns = cupti_of(ns) + (uint64_t)noise(),
		.mono_ns = machine.mono_0 + ns, .bracket_ns = 2 * machine.noise_ns,
		.is_counter = machine.is_counter,
	};

	tp_cupti_clock_add(&reading);
}

static void boot(double ticks_per_ns, uint32_t noise_ns)
{
	srand(7);
	machine.ticks_per_ns = ticks_per_ns;
	machine.ticks_0 = 123456789012345;
	machine.mono_0 = 5000 * SECOND;
	machine.real_apart = 0;
	machine.noise_ns = noise_ns;
	machine.is_counter = false;
	tp_cupti_clock_reset();
}

/* In ns, + : too late. */
static double error_at(uint64_t ns)
{
	return ((double)(int64_t)(tp_cupti_clock_ticks(cupti_of(ns)) - ticks_of(ns))) /
	       machine.ticks_per_ns;
}

static const double rates[] = {1, 0.024, 2.1, 3.7};	/* MONOTONIC, a slow timer, two TSCs */
enum { N_RATES = sizeof(rates) / sizeof(rates[0]) };

static uint64_t below(uint64_t most)
{
	return ((uint64_t)rand() << 31 | (uint64_t)rand()) % most;
}

Test(cupti_clock, is_exact_where_readings_are)
{
	for (int r = 0; r < N_RATES; r++) {
		double most = 1 + 1 / rates[r];

		boot(rates[r], 0);
		for (uint64_t ns = 0; ns < 20 * SECOND; ns += 10000000) {
			read_at(ns);
			/* Also before the first reading and after the last. */
			for (int i = 0; ns && i < 20; i++) {
				double error = error_at(below(ns + SECOND / 10));

				cr_assert(error <= most && error >= -most, "rate %g, %lu: %g",
					  rates[r], (unsigned long)ns, error);
			}
		}
		cr_assert_eq(tp_cupti_clock_ticks(0), 0);
		cr_assert_eq(tp_cupti_clock_steps(), 0);
		cr_assert_eq(tp_cupti_clock_ticks(1), 1, "long before the machine was started");
	}
}

/* A kernel's duration is exact to a nanosecond and a millionth, however long the readings go on,
 * though each of these is off by up to 50 ns. */
Test(cupti_clock, keeps_durations)
{
	for (int r = 0; r < N_RATES; r++) {
		boot(rates[r], 50);
		for (uint64_t ns = 0; ns < 300 * SECOND; ns += 20000000) {
			read_at(ns);
			for (int i = 0; ns > SECOND && i < 8; i++) {
				uint64_t length = 1 + below(i < 4 ? 20000 : 20000000);
				uint64_t begin = ns - length - below(SECOND / 2);
				double got = (double)(tp_cupti_clock_ticks(cupti_of(begin + length)) -
						      tp_cupti_clock_ticks(cupti_of(begin))) /
					     rates[r];
				double off = got - (double)length;
				double most = 1 + 1 / rates[r] + (double)length * 1e-6;

				cr_assert(off <= most && off >= -most, "rate %g: %lu ns are %g",
					  rates[r], (unsigned long)length, got);
				off = error_at(begin);
				cr_assert(off < 110 && off > -110, "off by %g", off);
			}
		}
		cr_assert_eq(tp_cupti_clock_steps(), 0);
	}
}

Test(cupti_clock, never_goes_back)
{
	uint64_t last = 0;

	boot(2.1, 100);
	for (uint64_t ns = 0; ns < 5 * SECOND; ns += 1 + below(SECOND / 5))
		read_at(ns);
	for (uint64_t ns = 0; ns < 6 * SECOND; ns += below(3000000)) {
		uint64_t ticks = tp_cupti_clock_ticks(cupti_of(ns));

		cr_assert_geq(ticks, last);
		last = ticks;
	}
}

/* One reading gives no rate, but the place. Readings at one moment are one. */
Test(cupti_clock, begins_with_what_it_has)
{
	boot(1, 0);
	tp_clock_init(TP_CLOCK_MONOTONIC);
	read_at(SECOND);
	read_at(SECOND);
	cr_assert_eq(tp_cupti_clock_ticks(cupti_of(SECOND)), ticks_of(SECOND));
	cr_assert_neq(tp_cupti_clock_ticks(cupti_of(SECOND) + 5), 0);
}

/* REALTIME is set between two readings of a window: counted; what happened away from them is
 * right, what lies between them is off by no more than the step. */
Test(cupti_clock, finds_steps)
{
	static const int64_t steps[] = {
		100000, -100000, 1000000000, -1000000000, 3600000000000, -3600000000000,
	};

	for (size_t s = 0; s < sizeof(steps) / sizeof(steps[0]); s++) {
		double size = (double)llabs(steps[s]), most = 60 + size, error;

		boot(2.1, 20);
		for (uint64_t ns = 0; ns <= 2 * SECOND; ns += 50000000)
			read_at(ns);
		error = error_at(2 * SECOND + 10000000);
		cr_assert(error < 60 && error > -60, "%ld: %g", (long)steps[s], error);
		machine.real_apart = steps[s];	/* somewhere in these 50 ms */
		for (uint64_t ns = 2 * SECOND + 50000000; ns < 4 * SECOND; ns += 50000000)
			read_at(ns);
		cr_assert_eq(tp_cupti_clock_steps(), 1, "%ld", (long)steps[s]);
		error = error_at(3 * SECOND + 12345);
		cr_assert(error < 60 && error > -60, "%ld: after it %g", (long)steps[s], error);
		error = error_at(2 * SECOND + 26000000);
		cr_assert(error <= most && error >= -most, "%ld: amid %g", (long)steps[s], error);
		if (steps[s] > 0)	/* never past the reading behind the step */
			cr_assert_leq(error, 24000060, "%ld: amid %g", (long)steps[s], error);
		machine.real_apart = 0;
		error = error_at(2 * SECOND + 24000000);
		cr_assert(error <= most && error >= -most, "%ld: amid %g", (long)steps[s], error);
		/* Set back by less than the time since: the same time was shown twice. */
		error = error_at(SECOND + 12345);
		if (steps[s] > 0 || steps[s] < -(int64_t)SECOND)
			cr_assert(error < 60 && error > -60, "%ld: before %g", (long)steps[s], error);
		else
			cr_assert(error <= most && error >= -most, "%ld: before %g",
				  (long)steps[s], error);
	}
}

/* As torch.profiler does in the middle of a run: the same records in ns before, in ticks after it. */
Test(cupti_clock, follows_a_timestamp_callback)
{
	tp_clock_is_tsc = true;		/* as in this machine, whose ticks are counts */
	for (int r = 0; r < N_RATES; r++) {
		boot(rates[r], 0);
		for (uint64_t at = 0; at < 3 * SECOND; at += SECOND / 10)
			read_at(at);
		machine.is_counter = true;
		read_at(3 * SECOND);
		cr_assert_lt(fabs(error_at(3 * SECOND + SECOND / 20)), 1 + 1 / rates[r], "one reading");
		cr_assert_lt(fabs(error_at(3 * SECOND - SECOND / 20)), 1 + 1 / rates[r], "before it");
		for (uint64_t at = 3 * SECOND; at < 6 * SECOND; at += SECOND / 10)
			read_at(at);
		for (int i = 0; i < 1000; i++)
			cr_assert_lt(fabs(error_at(3 * SECOND + below(4 * SECOND))), 1 + 1 / rates[r]);
		machine.is_counter = false;
		for (int i = 0; i < 1000; i++)
			cr_assert_lt(fabs(error_at(below(3 * SECOND))), 1 + 1 / rates[r],
				     "what came before in ns stays where it was");
		cr_assert_eq(tp_cupti_clock_steps(), 0, "no clock was set");
	}
}

#if defined(__x86_64__)
/* Where ticks are ns (a container without /sys) a single reading of the counter tells no rate. */
Test(cupti_clock, measures_the_counter_where_ticks_are_ns)
{
	struct tp_cupti_reading reading = {.bracket_ns = 100};
	uint64_t counter, ns;

	tp_clock_init(TP_CLOCK_MONOTONIC);
	tp_cupti_clock_reset();
	for (int i = 0; i < 3; i++) {
		reading.ticks = reading.mono_ns = tp_clock_now();
		reading.cupti_ns = REAL_0 + reading.ticks;
		tp_cupti_clock_add(&reading);
	}
	ns = tp_clock_now();
	counter = __builtin_ia32_rdtsc();
	usleep(50000);
	reading.is_counter = true;
	reading.ticks = reading.mono_ns = tp_clock_now();
	reading.cupti_ns = __builtin_ia32_rdtsc();
	tp_cupti_clock_add(&reading);
	cr_expect_lt(fabs((double)(int64_t)(tp_cupti_clock_ticks(counter) - ns)), 1000000);
}
#endif

/* The first look came when the callback was there already, and what it looks at is older. */
Test(cupti_clock, knows_what_is_older_than_a_timestamp_callback)
{
	for (int r = 0; r < N_RATES; r++) {
		boot(rates[r], 0);
		read_at(SECOND);
		machine.is_counter = true;
		read_at(SECOND + 2000000);
		machine.is_counter = false;
		cr_assert_lt(fabs(error_at(SECOND / 2)), 1000 + 1 / rates[r]);
		cr_assert_lt(fabs(error_at(SECOND + 1000000)), 1000 + 1 / rates[r]);
	}
}

Test(cupti_clock, keeps_the_newest_of_many_steps)
{
	boot(3, 10);
	for (uint64_t ns = 0; ns < 3000 * SECOND; ns += SECOND) {
		if (ns % (7 * SECOND) == 0)	/* there, and not quite back */
			machine.real_apart += ns / SECOND % 2 ? -990000000 : 1000000000;
		read_at(ns);
		read_at(ns + SECOND / 2);
	}
	cr_assert_eq(tp_cupti_clock_steps(), 3000 / 7);
	for (int i = 0; i < 100; i++) {
		double error = error_at(2997 * SECOND + below(2 * SECOND));

		cr_assert(error < 30 && error > -30, "%g", error);
	}
}

static uint64_t fake_calls;
static CUptiResult CUPTIAPI fake_timestamp(uint64_t *ns)
{
	fake_calls++;
	*ns = tp_clock_mono_ns() + 77 * SECOND;
	return CUPTI_SUCCESS;
}

static CUptiResult CUPTIAPI no_timestamp(uint64_t *ns)
{
	return CUPTI_ERROR_NOT_INITIALIZED;
}

/* The real clocks, by CUPTI's function where it works, else by REALTIME; on both kinds of ticks. */
static void check_real(enum tp_clock_source source, bool has_function)
{
	uint64_t before, now, after, got;
	struct timespec ts, pause = {.tv_nsec = 5000000};

	tp_clock_init(source);
	tp_cupti_clock_reset();
	tp_cupti_clock_read();
	for (int i = 0; i < 10; i++) {
		nanosleep(&pause, NULL);
		before = tp_clock_now();
		clock_gettime(has_function ? CLOCK_MONOTONIC : CLOCK_REALTIME, &ts);
		after = tp_clock_now();
		if (i)		/* one reading must do at first: another is taken when it is needed */
			tp_cupti_clock_read();
		now = (uint64_t)ts.tv_sec * SECOND + (uint64_t)ts.tv_nsec +
		      (has_function ? 77 * SECOND : 0);
		got = tp_cupti_clock_ticks(now);
		/* On a busy machine a reading is only as good as its bracket. */
		cr_assert(got + 200000 >= before && got <= after + 200000, "%d: %lu %lu %lu",
			  source, (unsigned long)before, (unsigned long)got, (unsigned long)after);
	}
}

Test(cupti_clock, reads_the_real_clocks)
{
	tp_cupti.cuptiGetTimestamp = fake_timestamp;
	check_real(TP_CLOCK_AUTO, true);
	check_real(TP_CLOCK_MONOTONIC, true);
	cr_assert_geq(fake_calls, 2 * 11 * 3);
	tp_cupti.cuptiGetTimestamp = no_timestamp;
	check_real(TP_CLOCK_AUTO, false);
	tp_cupti.cuptiGetTimestamp = NULL;
	check_real(TP_CLOCK_AUTO, false);
	check_real(TP_CLOCK_MONOTONIC, false);
}
