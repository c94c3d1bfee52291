/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock.c - choosing the clock, anchors, and ticks to nanoseconds
 *
 * The TSC is used only when the processor says that it runs at one speed through all power
 * states, and the kernel, which also watches it for jumps between sockets, keeps its own
 * time with it. No frequency is read anywhere: CPUID leaves it out on virtual machines.
 */
#include "runtime/base/clock.h"

#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "runtime/base/file.h"
#include "runtime/base/sync.h"
#include "runtime/base/text.h"

enum {
	ANCHOR_TRIES = 5,	/* of about 120 ns each; the best of 5 is rarely disturbed */
	/* A thread that reads the counter and then a word may have read the word first, by up to 24 ticks
	 * as seen. */
	AHEAD_TICKS = 200,
};

TP_READ_OFTEN bool tp_clock_is_tsc;
static char reason[128];

static uint64_t read_clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint64_t tp_clock_mono_ns(void)
{
	return read_clock_ns(CLOCK_MONOTONIC);
}

uint64_t tp_clock_real_ns(void)
{
	return read_clock_ns(CLOCK_REALTIME);
}

uint64_t tp_clock_after_stores(void)
{
	uint64_t first, now;

	/* Not by the same name everywhere: gcc has no fences for the thread sanitizer. */
#if defined(__x86_64__)
	_mm_mfence();
	_mm_lfence();
#else
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
	first = tp_clock_now();
	do
		now = tp_clock_now();
	while (now - first < AHEAD_TICKS);
	return now;
}

#if defined(__x86_64__)
static bool has_invariant_tsc(void)
{
	enum { LEAF_POWER = 0x80000007, INVARIANT_TSC = 1 << 8 };
	unsigned eax, ebx, ecx, edx;

	return __get_cpuid(LEAF_POWER, &eax, &ebx, &ecx, &edx) && (edx & INVARIANT_TSC);
}
#endif

/* Whether the TSC can be trusted. Appends what was found to `why`. */
static bool check_tsc(struct tp_text *why)
{
#if defined(__x86_64__)
	char source[32];
	ssize_t n = tp_file_read("/sys/devices/system/clocksource/clocksource0/"
				 "current_clocksource",
				 source, sizeof(source) - 1);

	if (!has_invariant_tsc()) {
		tp_text_str(why, "not invariant");
		return false;
	}
	source[n > 0 ? n : 0] = '\0';
	source[strcspn(source, "\n")] = '\0';
	tp_text_fmt(why, "invariant, clocksource %s", *source ? source : "not known");
	return !strcmp(source, "tsc");
#else
	tp_text_str(why, "not on this processor");
	return false;
#endif
}

enum tp_clock_source tp_clock_init(enum tp_clock_source wanted)
{
	char found[64];
	struct tp_text why, text;
	bool is_good;

	tp_text_init(&why, found, sizeof(found));
	is_good = check_tsc(&why);
	tp_clock_is_tsc = is_good && wanted != TP_CLOCK_MONOTONIC;
	tp_text_init(&text, reason, sizeof(reason));
	if (tp_clock_is_tsc)
		tp_text_fmt(&text, "tsc: %s", found);
	else if (wanted == TP_CLOCK_MONOTONIC)
		tp_text_str(&text, "monotonic: requested");
	else
		tp_text_fmt(&text, "monotonic: tsc %s", found);
	return tp_clock_is_tsc ? TP_CLOCK_TSC : TP_CLOCK_MONOTONIC;
}

const char *tp_clock_reason(void)
{
	return reason;
}

void tp_clock_take_anchor(struct tp_clock_anchor *anchor)
{
	struct tp_clock_anchor best = {.bracket_ticks = UINT64_MAX};

	for (int i = 0; i < ANCHOR_TRIES; i++) {
		struct tp_clock_anchor now;
		uint64_t before = tp_clock_now(), after;

		now.mono_ns = tp_clock_mono_ns();
		now.real_ns = tp_clock_real_ns();
		after = tp_clock_now();
		now.bracket_ticks = after - before;
		/* Where ticks are CLOCK_MONOTONIC, the two are one number. */
		now.ticks = tp_clock_is_tsc ? before + now.bracket_ticks / 2 : now.mono_ns;
		if (now.bracket_ticks < best.bracket_ticks)
			best = now;
	}
	*anchor = best;
}

uint64_t tp_clock_to_mono(const struct tp_clock_anchor *a, const struct tp_clock_anchor *b,
			  uint64_t ticks)
{
	bool is_before = ticks < a->ticks;
	uint64_t away = is_before ? a->ticks - ticks : ticks - a->ticks;
	unsigned __int128 ns = away;

	/* Anchors that do not make a line (one and the same, or damaged): ticks are ns. */
	if (b->ticks > a->ticks && b->mono_ns > a->mono_ns)
		ns = ns * (b->mono_ns - a->mono_ns) / (b->ticks - a->ticks);
	if (is_before)
		return ns > a->mono_ns ? 0 : a->mono_ns - (uint64_t)ns;
	return ns > UINT64_MAX - a->mono_ns ? UINT64_MAX : a->mono_ns + (uint64_t)ns;
}
