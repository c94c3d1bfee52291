/* SPDX-License-Identifier: Apache-2.0 */
/*
 * death.c - see death.h
 */
#include "merge/input/ring/death.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "merge/kit/grow.h"
#include "merge/model/label.h"

enum { LINE_BYTES = 96 };	/* more than the longest line has */

uint32_t tp_death_put(struct tp_text *text, const struct tp_proc_in *proc)
{
	uint32_t i;

	tp_text_fmt(text, "died=%lu\n", proc->seen_ticks);
	for (i = 0; i < proc->n_ring_open && text->len + LINE_BYTES < text->cap; i++) {
		const struct tp_ring_open *open = &proc->ring_open[i];

		if (!open->has_ended)
			tp_text_fmt(text, "open.%u=%u %u %u %u %u %lu\n", i, open->slot,
				    proc->pub.thread[open->thread].tid, open->depth,
				    open->span.kind, open->span.name, open->span.time);
	}
	return i;
}

/* False: no such line. */
static bool parse_open(const char *value, struct tp_ring_open *open, uint32_t *tid)
{
	struct tp_open_span *span = &open->span;

	if (sscanf(value, "%" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu64,
		   &open->slot, tid, &open->depth, &span->kind, &span->name, &span->time) != 6)
		return false;
	return *tid && open->depth < TP_OPEN_SPANS && span->time &&
	       (span->kind == TP_REC_OP || span->kind == TP_REC_RANGE);
}

int tp_recover_death(struct tp_proc_in *proc, const char *totals)
{
	uint64_t died = tp_fact_u64(totals, "died", 0);
	const char *at = totals;
	char key[64], value[LINE_BYTES];

	/* Its ring knows more. */
	if (!died || proc->has_ring)
		return 0;
	proc->pub.is_dead = true;
	if (died > proc->seen_ticks)
		proc->seen_ticks = died;
	while (tp_fact_next(&at, "open.", key, value, sizeof(value))) {
		struct tp_ring_open open = {.has_ended = false};
		uint32_t tid;
		int64_t thread;

		if (!parse_open(value, &open, &tid))
			continue;
		/* It stands in THREADS, before the last block. */
		thread = tp_run_find_thread(proc, open.slot, tid);
		if (thread < 0)
			continue;
		if (!tp_grow(&proc->ring_open, &proc->cap_ring_open, proc->n_ring_open + 1,
			     sizeof(proc->ring_open[0])))
			return -ENOMEM;
		open.thread = (uint32_t)thread;
		proc->ring_open[proc->n_ring_open++] = open;
	}
	return 0;
}
