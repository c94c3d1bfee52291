/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_reports.c - part of the overview: the run hung, or had no memory left, and why
 */
#include "merge/view/overview/overview.h"

#include <stdio.h>

#include "merge/facts/origin/hostmem_frames.h"
#include "merge/facts/tensor/tensormem.h"
#include "merge/kit/sum.h"
#include "merge/model/hangs.h"

enum { OOMS = 3, HOLDERS = 3 };	/* that are shown */

struct lines {
	struct tp_out *out;
	const char *label;
	uint32_t *n_all;	/* of both kinds */
	uint32_t n;
};

static void say_line(void *ctx, const char *line)
{
	struct lines *lines = ctx;

	if (!*lines->n_all)
		tp_out_title(lines->out, "What went wrong");
	++*lines->n_all;
	tp_out_item(lines->out, "red", TP_OVERVIEW_LABEL, lines->n++ ? "" : lines->label, "%s", line);
}

/* ---- who held the memory ---- */

const struct tp_tensormem *tp_overview_want_reports(struct tp_facts *facts)
{
	const struct tp_run *run = tp_facts_run(facts);

	return run->n_ooms && run->n_windows ? tp_tensormem_want(facts, 1) : NULL;
}

/* The first failed allocation that lies in a window. NULL: none does. */
static const struct tp_pinned *find_pin(const struct tp_tensormem *memory)
{
	uint32_t n;
	const struct tp_mempeak_track *track = tp_tensormem_by_step(memory, &n);
	const struct tp_pinned *first = NULL;

	for (uint32_t i = 0; i < n; i++)
		if (track[i].n_pins && (!first || track[i].pin[0].ns < first->ns))
			first = &track[i].pin[0];
	return first;
}

static void print_holder(const struct tp_memcat *cat, const struct tp_holder *holder, int64_t all,
			 const char *label, struct tp_out *out)
{
	const struct tp_origins *origins = tp_memcat_origins(cat);
	bool is_older = holder->name == TP_NO_NAME;
	char bytes[32], share[32], module[256] = "", line[512] = "";

	if (holder->origin.path)
		tp_module_title(tp_origins_paths(origins), holder->origin.path, false, module,
				sizeof(module));
	tp_hostmem_show_line(tp_origins_stacks(origins), holder->origin.stack, TP_HOSTMEM_SHORT, line,
			     sizeof(line));
	tp_out_item(out, "", TP_OVERVIEW_LABEL, label, "%s (%s) %s%s%s%s%s%s%s",
		    tp_show_bytes(bytes, holder->bytes),
		    tp_show_percent(share, (double)holder->bytes, (double)all),
		    holder->category == TP_TENSOR_UNKNOWN && !is_older
			    ? "kept across steps" : tp_tensor_category_title(holder->category),
		    is_older ? ", allocated before the window" : ", allocated by ",
		    is_older ? "" : tp_names_at(tp_memcat_names(cat), holder->name)->bytes,
		    module[0] ? " in " : "", module, line[0] ? ", " : "", line);
}

static void print_holders(const struct tp_tensormem *memory, const struct tp_pinned *pin, struct tp_out *out)
{
	int64_t all = 0;

	for (uint32_t i = 0; pin && i < TP_TENSOR_N; i++)
		all = tp_add(all, pin->bytes[i]);
	for (uint32_t i = 0; pin && i < pin->n_holders && i < HOLDERS; i++)
		print_holder(tp_tensormem_cat(memory), &pin->holder[i], all, i ? "" : "held then", out);
}

void tp_overview_print_reports(const struct tp_run *run, const struct tp_tensormem *memory,
			       struct tp_out *out)
{
	const struct tp_pinned *pin = memory ? find_pin(memory) : NULL;
	uint32_t n = 0;
	struct lines hangs = {out, "HANG", &n, 0}, ooms = {out, "MEMORY", &n, 0};

	if (tp_hangs_say(run, say_line, &hangs))
		tp_out_item(out, "dim", TP_OVERVIEW_LABEL, "", "where each process stood: -v health");
	/* The records know more than the process did. */
	if (tp_ooms_say(run, OOMS, !pin, say_line, &ooms)) {
		print_holders(memory, pin, out);
		tp_out_item(out, "dim", TP_OVERVIEW_LABEL, "", "%s", run->n_windows
			    ? "memory of recorded steps by category and line: -v memory, -f memviz"
			    : "the steps before it are recorded with TRAINPROF_RECORDER=steps=8");
	}
	if (run->n_ooms > OOMS)
		tp_out_item(out, "dim", TP_OVERVIEW_LABEL, "", "%u more: -v health", run->n_ooms - OOMS);
}
