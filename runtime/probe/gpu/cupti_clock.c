/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_clock.c - readings of two clocks, the lines between them, and steps
 *
 * The last reading moves with each new one until it is LINE_NS away from the one before it and a
 * later one can take its place: so no line is short for long. A step starts a new segment; segments
 * may overlap in CUPTI's time (REALTIME was set back).
 *
 * PyTorch's profiler has CUPTI take its times from the processor's counter (it registers a timestamp
 * callback, and leaves it there): from then on CUPTI's time is in counts, which are ticks where these are the
 * TSC's. One reading tells.
 */
#include "runtime/probe/gpu/cupti_clock.h"

#include <string.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "runtime/base/clock.h"
#include "runtime/base/sync.h"
#include "runtime/probe/gpu/cupti_lib.h"

enum {
	LINE_NS = 500000000,
	STEP_NS = 50000,	/* less than that is noise of reading */
	DRIFT = 5000,		/* a clock of CUPTI's own may run that part faster or slower */
	TRIES = 3,
	RATE_NS = 2000000,	/* between two readings, enough to tell a rate to 50 ppm */
	RATE_BITS = 40,
};
/* Ns since 1970 are more, a counter since the boot is less. */
#define COUNTER_MOST 1000000000000000000u

struct knot {
	struct tp_cupti_reading at;
	bool is_after_step;	/* begins a segment */
};

/* ticks = t0 + (cupti_ns - c0) * rate, and not beyond most; good for c0 <= cupti_ns <= until. */
struct line {
	uint64_t c0, until, t0, rate, most;
};

static struct {
	struct knot knot[TP_CUPTI_CLOCK_KEPT];
	uint32_t n;
	bool has_middle, has_step;	/* has_step: among the knots */
	bool has_ns, has_counter;	/* readings in that unit */
	struct tp_cupti_reading middle;	/* the last reading's place when it moves far enough on */
	uint64_t n_steps;
	uint64_t counter_rate;		/* ticks per count, where a tick is a ns; 0: not measured */
	struct line line;		/* used last; until == 0: none */
} clocks;

void tp_cupti_clock_reset(void)
{
	memset(&clocks, 0, sizeof(clocks));
}

uint64_t tp_cupti_clock_steps(void)
{
	return clocks.n_steps;
}

static uint64_t read_cupti(void)
{
	uint64_t ns = 0;

	if (tp_cupti.cuptiGetTimestamp && tp_cupti.cuptiGetTimestamp(&ns) == CUPTI_SUCCESS && ns)
		return ns;
	return tp_clock_real_ns();
}

/* The counter that a timestamp callback may give out; 0: there is none. */
static uint64_t read_counter(void)
{
#if defined(__x86_64__)
	return __rdtsc();
#else
	return 0;
#endif
}

/* The best of some readings, of CUPTI's time or of the one that it has where nobody changed it. */
static struct tp_cupti_reading read_best(uint64_t (*read)(void))
{
	struct tp_cupti_reading best = {.bracket_ns = UINT64_MAX};

	for (int i = 0; i < TRIES; i++) {
		struct tp_cupti_reading now;
		uint64_t first_mono = tp_clock_mono_ns(), before = tp_clock_now(), after;
		uint64_t counter = read_counter();

		now.cupti_ns = read();
		now.is_counter = counter && counter <= now.cupti_ns && now.cupti_ns <= read_counter();
		after = tp_clock_now();
		now.bracket_ns = tp_clock_mono_ns() - first_mono;
		now.ticks = before + (after - before) / 2;
		now.mono_ns = first_mono + now.bracket_ns / 2;
		if (now.bracket_ns < best.bracket_ns)
			best = now;
	}
	return best;
}

void tp_cupti_clock_read(void)
{
	struct tp_cupti_reading now = read_best(read_cupti);

	/* What was recorded before the callback came is still in the other unit. */
	if (!clocks.n && now.is_counter) {
		struct tp_cupti_reading real = read_best(tp_clock_real_ns);

		tp_cupti_clock_add(&real);
		tp_sleep_ns(RATE_NS);
		now = read_best(read_cupti);
	}
	tp_cupti_clock_add(&now);
}

static bool is_step(const struct tp_cupti_reading *a, const struct tp_cupti_reading *b)
{
	int64_t cupti = (int64_t)(b->cupti_ns - a->cupti_ns);
	int64_t mono = (int64_t)(b->mono_ns - a->mono_ns);
	int64_t apart = cupti > mono ? cupti - mono : mono - cupti;

	if (a->is_counter || b->is_counter)
		return a->is_counter != b->is_counter;
	return apart > STEP_NS + mono / DRIFT + (int64_t)(a->bracket_ns + b->bracket_ns);
}

static void push(const struct tp_cupti_reading *reading, bool is_after_step)
{
	enum { HALF = TP_CUPTI_CLOCK_KEPT / 2 };

	if (clocks.n == TP_CUPTI_CLOCK_KEPT) {
		memmove(clocks.knot, clocks.knot + HALF, HALF * sizeof(clocks.knot[0]));
		clocks.n = HALF;
		clocks.has_step = is_after_step;
		for (uint32_t i = 1; i < HALF; i++)
			clocks.has_step |= clocks.knot[i].is_after_step;
	}
	clocks.has_step |= is_after_step;
	clocks.knot[clocks.n++] = (struct knot){*reading, is_after_step};
}

void tp_cupti_clock_add(const struct tp_cupti_reading *reading)
{
	struct tp_cupti_reading *last = clocks.n ? &clocks.knot[clocks.n - 1].at : NULL;

	clocks.line.until = 0;
	clocks.has_ns |= !reading->is_counter;
	clocks.has_counter |= reading->is_counter;
	if (!last) {
		push(reading, false);
		return;
	}
	if (reading->ticks <= last->ticks)
		return;
	if (is_step(last, reading)) {
		clocks.n_steps += last->is_counter == reading->is_counter;
		clocks.has_middle = false;
		push(reading, true);
		return;
	}
	if (reading->cupti_ns <= last->cupti_ns)
		return;		/* two readings within each other's brackets */
	if (clocks.n == 1 || clocks.knot[clocks.n - 1].is_after_step) {
		push(reading, false);	/* the first of a segment stays */
		return;
	}
	if (!clocks.has_middle &&
	    last->mono_ns - clocks.knot[clocks.n - 2].at.mono_ns >= LINE_NS) {
		clocks.middle = *last;
		clocks.has_middle = true;
	}
	if (clocks.has_middle && reading->mono_ns - clocks.middle.mono_ns >= LINE_NS) {
		*last = clocks.middle;
		clocks.has_middle = false;
		push(reading, false);
	} else {
		*last = *reading;
	}
}

/* Ticks per unit of CUPTI's time. */
static uint64_t rate_between(const struct tp_cupti_reading *a, const struct tp_cupti_reading *b)
{
	return (uint64_t)(((unsigned __int128)(b->ticks - a->ticks) << RATE_BITS) /
			  (b->cupti_ns - a->cupti_ns));
}

/* Of the line that begins at knot `i`. */
static uint64_t rate_at(uint32_t i)
{
	return rate_between(&clocks.knot[i].at, &clocks.knot[i + 1].at);
}

/* Of the processor's counter, by itself. */
static uint64_t rate_of_counter(void)
{
	struct tp_cupti_reading first, then;

	if (tp_clock_is_tsc)
		return 1ull << RATE_BITS;
	if (!clocks.counter_rate) {
		first = read_best(read_counter);
		tp_sleep_ns(RATE_NS);
		then = read_best(read_counter);
		clocks.counter_rate = then.cupti_ns > first.cupti_ns ? rate_between(&first, &then)
								     : 1ull << RATE_BITS;
	}
	return clocks.counter_rate;
}

/* Of the nearest line to knot `i` that is in the same unit; the knot may be alone in its segment. */
static uint64_t rate_near(uint32_t i)
{
	bool is_counter = clocks.knot[i].at.is_counter;

	for (uint32_t away = 0; away < clocks.n; away++) {
		if (i + away + 1 < clocks.n && !clocks.knot[i + away + 1].is_after_step &&
		    clocks.knot[i + away].at.is_counter == is_counter)
			return rate_at(i + away);
		if (away < i && !clocks.knot[i - away].is_after_step &&
		    clocks.knot[i - away].at.is_counter == is_counter)
			return rate_at(i - away - 1);
	}
	if (is_counter)
		return rate_of_counter();
	/* Across a step MONOTONIC still tells how fast ticks are. */
	if (clocks.n >= 2) {
		const struct tp_cupti_reading *a = &clocks.knot[0].at;
		const struct tp_cupti_reading *b = &clocks.knot[clocks.n - 1].at;

		if (b->mono_ns > a->mono_ns)
			return (uint64_t)(((unsigned __int128)(b->ticks - a->ticks) << RATE_BITS) /
					  (b->mono_ns - a->mono_ns));
	}
	return 1ull << RATE_BITS;
}

/* The last knot that is not after cupti_ns, in the knots [first, end). */
static uint32_t find_knot(uint64_t cupti_ns, uint32_t first, uint32_t end)
{
	while (end - first > 1) {
		uint32_t middle = first + (end - first) / 2;

		if (clocks.knot[middle].at.cupti_ns <= cupti_ns)
			first = middle;
		else
			end = middle;
	}
	return first;
}

/* The segment that begins with that knot may be in another unit than the time. */
static bool is_of_other_unit(uint32_t first, uint64_t cupti_ns)
{
	return clocks.has_ns && clocks.has_counter &&
	       clocks.knot[first].at.is_counter != (cupti_ns < COUNTER_MOST);
}

/*
 * The knot from which the line for cupti_ns begins: of the newest segment that holds it, else of
 * the one that ends last before it, else of the one that begins first.
 */
static uint32_t choose_knot(uint64_t cupti_ns)
{
	uint32_t below = 0, lowest = clocks.n, end = clocks.n;
	bool has_below = false;

	if (!clocks.has_step)
		return find_knot(cupti_ns, 0, clocks.n);
	while (end > 0) {
		uint32_t first = end - 1;

		while (first > 0 && !clocks.knot[first].is_after_step)
			first--;
		if (is_of_other_unit(first, cupti_ns)) {
			end = first;
			continue;
		}
		if (clocks.knot[first].at.cupti_ns <= cupti_ns &&
		    cupti_ns <= clocks.knot[end - 1].at.cupti_ns)
			return find_knot(cupti_ns, first, end);
		if (clocks.knot[end - 1].at.cupti_ns < cupti_ns &&
		    (!has_below ||
		     clocks.knot[end - 1].at.cupti_ns > clocks.knot[below].at.cupti_ns)) {
			below = end - 1;
			has_below = true;
		}
		if (lowest == clocks.n || clocks.knot[first].at.cupti_ns < clocks.knot[lowest].at.cupti_ns)
			lowest = first;
		end = first;
	}
	if (has_below)
		return below;
	return lowest < clocks.n ? lowest : 0;
}

static struct line line_from(uint32_t i)
{
	bool is_last = i + 1 == clocks.n, is_cut = !is_last && clocks.knot[i + 1].is_after_step;
	struct line line = {
		.c0 = clocks.knot[i].at.cupti_ns,
		.t0 = clocks.knot[i].at.ticks,
		.rate = is_last || is_cut ? rate_near(i) : rate_at(i),
		.until = is_last ? UINT64_MAX : clocks.knot[i + 1].at.cupti_ns,
		.most = is_last ? UINT64_MAX : clocks.knot[i + 1].at.ticks,
	};

	return line;
}

static uint64_t along(const struct line *line, uint64_t cupti_ns)
{
	uint64_t ticks = line->t0 + (uint64_t)((unsigned __int128)(cupti_ns - line->c0) *
					       line->rate >> RATE_BITS);

	return ticks > line->most ? line->most : ticks;
}

static uint64_t convert_slow(uint64_t cupti_ns)
{
	struct line line;
	unsigned __int128 back;

	/* One reading gives no rate. */
	if (clocks.n < 2)
		tp_cupti_clock_read();
	line = line_from(choose_knot(cupti_ns));
	if (cupti_ns < line.c0) {
		back = (unsigned __int128)(line.c0 - cupti_ns) * line.rate >> RATE_BITS;
		return back < line.t0 ? line.t0 - (uint64_t)back : 1;
	}
	if (!clocks.has_step)
		clocks.line = line;
	return along(&line, cupti_ns);
}

uint64_t tp_cupti_clock_ticks(uint64_t cupti_ns)
{
	const struct line *line = &clocks.line;

	if (!cupti_ns)
		return 0;
	if (tp_likely(cupti_ns >= line->c0 && cupti_ns < line->until))
		return along(line, cupti_ns);
	return convert_slow(cupti_ns);
}
