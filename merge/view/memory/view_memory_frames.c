/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_memory_frames.c - part of the view of memory: the few stacks that held most of the host's,
 * whole
 */
#include "merge/view/memory/view_memory.h"

#include <stdlib.h>
#include <string.h>

#include "merge/facts/origin/hostmem_frames.h"
#include "merge/model/label.h"

enum {
	STACKS_SHOWN = 3,
	INNER_FRAMES = 24, OUTER_FRAMES = 6,	/* of a deep stack that are shown */
	FRAMES_MAX = 1024,	/* of a stack that is shown */
	SHOWN_MAX = 2048,	/* bytes of a frame */
};

uint64_t tp_host_peak_of(const struct tp_host_shown *shown, uint32_t proc)
{
	for (uint32_t i = 0; i < shown->n_host; i++)
		if (shown->host[i].proc->at == proc)
			return shown->host[i].peak_bytes;
	return 0;
}

/* Frames that are shown, in place: not those of the interpreter between two of Python. */
static uint32_t leave_out_glue(struct tp_frame *frame, uint32_t n)
{
	uint32_t n_kept = 0;
	bool is_in_python = false;

	for (uint32_t i = 0; i < n; i++) {
		is_in_python |= frame[i].is_python;
		if (!is_in_python || !tp_hostmem_is_glue(&frame[i]) || frame[i].is_cut)
			frame[n_kept++] = frame[i];
	}
	return n_kept;
}

static void print_frames(const struct tp_host_shown *shown, struct tp_frame *frame, uint32_t n)
{
	bool is_whole = !shown->options->top;
	uint32_t n_kept = is_whole ? n : leave_out_glue(frame, n);
	char text[SHOWN_MAX];

	for (uint32_t i = 0; i < n_kept; i++) {
		if (!is_whole && i == INNER_FRAMES && n_kept > INNER_FRAMES + OUTER_FRAMES + 1) {
			i = n_kept - OUTER_FRAMES;
			tp_out_line(shown->out, "dim", "    ... %u more", i - INNER_FRAMES);
		}
		tp_out_line(shown->out, frame[i].is_python ? "bold" : "", "    %s",
			    tp_hostmem_show_frame(text, sizeof(text), &frame[i],
						  TP_HOSTMEM_LONG));
		if (frame[i].is_cut)
			tp_out_line(shown->out, "dim", "    (what is outside it is not known)");
	}
	if (n_kept < n)
		tp_out_line(shown->out, "dim",
			    "    (%u frames of the interpreter left out%s)",
			    n - n_kept,
			    tp_out_is_terminal(shown->out) ? ": --top 0 shows all" : "");
}

static void print_stack(const struct tp_host_shown *shown, const struct tp_hostmem_row *row)
{
	struct tp_frame *frame = malloc(FRAMES_MAX * sizeof(*frame));
	uint32_t n = frame ? tp_stacks_frames(tp_hostmem_stacks(shown->mem), row->stack, frame,
					      FRAMES_MAX)
			   : 0;
	char a[32], b[32], c[32], who[64] = "";

	if (n && n <= FRAMES_MAX) {
		if (shown->run->n_procs > 1)
			tp_label_proc(who, shown->run, shown->run->proc[row->proc]);
		tp_out_title(shown->out, "%s at the peak of %s%s, from one stack (%s allocations):",
			     tp_show_bytes(a, (int64_t)row->peak_bytes),
			     *who ? who : "",
			     *who ? "" : tp_show_bytes(c, (int64_t)tp_host_peak_of(shown, row->proc)),
			     tp_show_count(b, row->n_allocs));
		print_frames(shown, frame, n);
	}
	free(frame);
}

void tp_view_memory_frames(const struct tp_host_shown *shown)
{
	uint32_t n, n_most = 0;
	const struct tp_hostmem_row *row = tp_hostmem_rows(shown->mem, &n);
	const struct tp_hostmem_row *most[STACKS_SHOWN];

	for (uint32_t i = 0; i < n; i++) {
		uint32_t at = n_most;

		if (!row[i].stack || !row[i].peak_bytes)
			continue;
		while (at && most[at - 1]->peak_bytes < row[i].peak_bytes)
			at--;
		if (at == STACKS_SHOWN)
			continue;
		n_most += n_most < STACKS_SHOWN;
		memmove(&most[at + 1], &most[at], (n_most - at - 1) * sizeof(most[0]));
		most[at] = &row[i];
	}
	for (uint32_t i = 0; i < n_most && !shown->out->rows; i++)
		print_stack(shown, most[i]);
}
