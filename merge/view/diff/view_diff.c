/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_diff.c - a run against an earlier one: steps, where they go, operators, kernels, memory
 *
 * The run of the command line is "now", that of --compare "base". The second is read when the
 * first has been.
 */
#include "merge/view/diff/view_diff.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/input/fuse.h"
#include "merge/kit/stats.h"
#include "merge/kit/need.h"
#include "merge/kit/sum.h"

#include "runtime/base/text.h"

enum {
	CHOICE_MAX = 160,
};

struct state {
	struct tp_facts *base_facts;	/* of the other run */
	struct tp_view_options options;
	struct tp_diff_side now, base;
};

/* The other run, from its begin to its end. False: said. */
static bool read_base(struct state *state, struct tp_out *out, struct tp_run **run)
{
	if (!state->options.compare) {
		tp_out_line(out, "red", "diff: --compare PATH names the run to compare with");
		return false;
	}
	*run = tp_run_open(state->options.compare);
	if (!*run)
		return false;
	state->base_facts = tp_facts_new(*run);
	tp_diff_begin(&state->base, state->base_facts);
	if (tp_fuse_events(*run, tp_facts_event, state->base_facts)) {
		tp_out_line(out, "red", "diff: out of memory");
		return false;
	}
	tp_facts_end(state->base_facts);
	tp_diff_end(&state->base, state->options.compare);
	return true;
}

static void *begin_diff(struct tp_facts *facts, const struct tp_view_options *options)
{
	struct state *state = tp_need(1, sizeof(*state));

	state->options = *options;
	tp_diff_begin(&state->now, facts);
	return state;
}

static void print_all_steps(const struct state *state, struct tp_out *out)
{
	const struct tp_diff_shown shown = {
		.base = &state->base, .now = &state->now, .options = &state->options, .out = out,
		.has_devices = state->base.kernels->ns || state->now.kernels->ns,
	};

	tp_view_diff_places(&shown);
	tp_view_diff_steps(&shown);
	tp_view_diff_memory(&shown);
	tp_view_diff_each_step(&shown);
	tp_view_diff_categories(&shown);
	tp_view_diff_parts(&shown);
	tp_view_diff_operators(&shown);
	tp_view_diff_kernels(&shown);
	tp_view_diff_modules(&shown);
}

/* "windows 0-3, ranks 0 of "; "": all of it. */
static const char *show_choice(char buf[CHOICE_MAX], const struct tp_fuse_options *options)
{
	const struct {
		const char *what, *list;
	} chosen[] = {{"steps", options->steps}, {"ranks", options->ranks}, {"windows", options->windows}};
	struct tp_text text;

	tp_text_init(&text, buf, CHOICE_MAX);
	for (size_t i = 0; i < sizeof(chosen) / sizeof(chosen[0]); i++)
		if (chosen[i].list)
			tp_text_fmt(&text, "%s%s %s", text.len ? ", " : "", chosen[i].what, chosen[i].list);
	if (text.len)
		tp_text_str(&text, " of ");
	return buf;
}

static void print_all(const struct state *state, const struct tp_run *run,
		      const struct tp_run *other, struct tp_out *out)
{
	const struct tp_diff_side *base = &state->base, *now = &state->now;
	char a[CHOICE_MAX], b[CHOICE_MAX];

	tp_out_title(out, "What changed: %s%s against %s%s", show_choice(a, state->options.chosen),
		     run->path, show_choice(b, state->options.compare), other->path);
	if (!base->n_steps || !now->n_steps)
		tp_out_line(out, "yellow", "no recorded step in %s: %s",
			    !base->n_steps ? other->path : run->path,
			    base->heap->n_rows && now->heap->n_rows
				    ? "only host memory can be compared" : "nothing to compare");
	else
		print_all_steps(state, out);
	tp_view_diff_heap(base, now, state->options.top, out);
	if (base->is_incomplete || now->is_incomplete)
		tp_out_line(out, "red", "out of memory: figures are not complete");
	if (tp_diff_is_worse(base, now, state->options.fail_if, out))
		*state->options.is_worse = true;
}

static void print_diff(void *opaque, const struct tp_run *run, struct tp_out *out)
{
	struct state *state = opaque;
	struct tp_run *other = NULL;

	tp_diff_end(&state->now, state->options.chosen);
	if (read_base(state, out, &other)) {
		tp_diff_choose_steps(&state->base, &state->now);
		print_all(state, run, other, out);
	} else {
		*state->options.is_bad = true;
	}
	tp_diff_free(&state->now);
	tp_diff_free(&state->base);
	tp_facts_free(state->base_facts);
	tp_run_free(other);
	free(state);
}

const struct tp_view tp_view_diff = {
	.name = "diff",
	.help = "against another run (--compare): steps, operators, kernels, modules, memory, host stacks",
	.begin = begin_diff,
	.tables = (const struct tp_table_def *const[]){
		&tp_table_diff_places, &tp_table_diff_steps, &tp_table_diff_memory, &tp_table_diff_each_step,
		&tp_table_diff_categories, &tp_table_diff_parts, &tp_table_diff_operators,
		&tp_table_diff_kernels, &tp_table_diff_modules, &tp_table_diff_heap, &tp_table_diff_heap_peak,
		&tp_table_diff_heap_allocated, &tp_table_diff_heap_leaked, NULL},
	.print = print_diff,
};
