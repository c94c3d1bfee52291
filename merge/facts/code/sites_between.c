/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sites_between.c - which function a gap between two operators is in
 *
 * The innermost lines of the two are often in functions that others call: what runs between them is
 * in the caller. From the outermost frame inwards the two stacks have the same functions; the last
 * one of these is it, with the line that it was in before and the one that it came to.
 */
#include "merge/facts/code/sites_in.h"
#include "runtime/base/own_python.h"
#include "merge/facts/origin/stacks.h"
#include "merge/kit/show.h"
#include "runtime/base/text.h"

enum { FRAMES = 192 };

/* Python's frames, the outermost first. */
static uint32_t read_frames(const struct tp_stacks *stacks, uint32_t stack,
			    struct tp_frame frame[FRAMES])
{
	struct tp_frame all[FRAMES];
	uint32_t n_all = tp_stacks_frames(stacks, stack, all, FRAMES), n = 0;

	if (n_all > FRAMES || (n_all && all[n_all - 1].is_cut))
		return 0;
	while (n_all--)
		if (all[n_all].is_python)
			frame[n++] = all[n_all];
	return n;
}

static bool has_own(const struct tp_frame *frame, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (tp_own_python(frame[i].file))
			return true;
	return false;
}

bool tp_sites_between(const struct tp_sites *sites, const struct tp_site *site, char *text, size_t cap)
{
	const struct tp_stacks *stacks = tp_sites_stacks(sites);
	struct tp_frame before[FRAMES], after[FRAMES];
	const struct tp_frame *at;
	uint32_t n_before, n_after, n = 0, to;
	struct tp_text out;

	if (!site->stack || !site->before_stack)
		return false;
	n_before = read_frames(stacks, site->before_stack, before);
	n_after = read_frames(stacks, site->stack, after);
	while (n < n_before && n < n_after && before[n].function_id == after[n].function_id) {
		n++;
		/* Two calls from two lines of one function: what is inside them is not the same. */
		if (before[n - 1].line != after[n - 1].line)
			break;
	}
	while (n && !tp_own_python(before[n - 1].file))
		n--;
	/* The lines themselves say it. */
	if (!n || (!has_own(before + n, n_before - n) && !has_own(after + n, n_after - n) &&
		   before[n - 1].line < after[n - 1].line))
		return false;
	tp_text_init(&out, text, cap);
	at = &before[--n];
	to = after[n].line;
	tp_text_fmt(&out, "%s %s, from line %u %sto line %u", tp_show_file(at->file), at->function, at->line,
		    at->line < to ? "" : "round ", to);
	/* Round: in a loop, or in the next call from the line that called it. */
	while (at->line >= to && n--) {
		if (!tp_own_python(before[n].file))
			continue;
		tp_text_fmt(&out, ", called from %s:%u %s", tp_show_file(before[n].file), before[n].line,
			    before[n].function);
		break;
	}
	return true;
}
