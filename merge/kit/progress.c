/* SPDX-License-Identifier: Apache-2.0 */
/*
 * progress.c - "merging: 42 %, 3.1 M events/s, 12 s left"
 */
#include "merge/kit/progress.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/clock.h"

enum {
	FIRST_AFTER_MS = 500,
	EVERY_MS = 200,
};

#define NS_PER_MS 1000000ull

void tp_progress_begin(struct tp_progress *progress, bool is_quiet, uint64_t total)
{
	memset(progress, 0, sizeof(*progress));
	progress->is_on = !is_quiet && total && isatty(STDERR_FILENO);
	progress->total = total;
	progress->begin_ns = tp_clock_mono_ns();
	progress->said_ns = progress->begin_ns + (FIRST_AFTER_MS - EVERY_MS) * NS_PER_MS;
}

void tp_progress_at(struct tp_progress *progress, uint64_t done)
{
	uint64_t now, spent;

	if (!progress->is_on || !done)
		return;
	now = tp_clock_mono_ns();
	if (now < progress->said_ns + EVERY_MS * NS_PER_MS)
		return;
	spent = now - progress->begin_ns;
	fprintf(stderr, "\r%s: %llu %%, ", progress->doing ? progress->doing : "merging",
		(unsigned long long)(done * 100 / progress->total));
	if (!progress->doing)
		fprintf(stderr, "%.1f M events/s, ", (double)done * 1e3 / (double)spent);
	fprintf(stderr, "%.0f s left   ",
		(double)spent / 1e9 * (double)(progress->total - done) / (double)done);
	fflush(stderr);
	progress->said_ns = now;
	progress->is_shown = true;
}

void tp_progress_end(struct tp_progress *progress)
{
	/* The line gives way to what is printed next. */
	if (progress->is_shown)
		fputs("\r\033[K", stderr);
	progress->is_on = false;
}
