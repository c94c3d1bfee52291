/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_diff_places.c - part of the diff: which places of the program changed most, of each kind
 */
#include "merge/view/diff/view_diff_places.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/kit/need.h"
#include "merge/kit/sum.h"

#include "runtime/base/text.h"

enum {
	LITTLE_PERCENT = 2,	/* of the step's change: people need not see that */
	SHOWN = 3,		/* functions and lines that people see; programs get all */
};

const struct tp_diff_kind_words tp_diff_kinds[TP_DIFF_KINDS] = {
	[TP_SPOT_FUNCTION] = {"function", "samples", "samples"},
	[TP_SPOT_WORKER] = {"function in workers", "samples", "in workers, samples"},
	[TP_SPOT_LINE] = {"source line", "operators", "its operators"},
	[TP_SPOT_LINES] = {"function's lines", "operators", "its operators"},
	[TP_SPOT_MODULE] = {"module", "self time", "module, self time"},
	[TP_SPOT_OPERATOR] = {"operator", "self time", "operator, self time"},
	[TP_SPOT_KERNEL] = {"kernel", "time on devices", "kernel, time on devices"},
	[TP_SPOT_PART] = {"part of a step", "on the host", "part of a step"},
};

/* ---- the places ---- */

static bool is_little(const struct tp_diff_places *places, double change_ns)
{
	return !(fabs(change_ns) >= 1) ||
	       (!places->is_full && fabs(change_ns) * 100 < fabs(places->change_ns) * LITTLE_PERCENT);
}

/* What changed most comes first. */
static struct tp_diff_spot *add(struct tp_diff_places *places, enum tp_diff_kind kind, double base,
				double now)
{
	struct tp_diff_spot *row;

	tp_need_room(&places->row, &places->cap, (uint64_t)places->n + 1, sizeof(*places->row));
	row = &places->row[places->n++];
	*row = (struct tp_diff_spot){.kind = kind, .base = base, .now = now};
	if (!places->first[kind] && (now - base) * places->direction > 0)
		places->first[kind] = places->n;
	return row;
}

static void name_function(struct tp_diff_spot *row, const struct tp_diff_function *of)
{
	struct tp_text text;

	tp_text_init(&text, row->name, sizeof(row->name));
	if (of->n_function && of->function[0] != '<')
		tp_text_fmt(&text, "%.*s() at ", (int)of->n_function, of->function);
	tp_text_fmt(&text, "%s:%u", tp_show_file(of->file), of->line);
}

/* Takes the functions. */
static void add_functions(struct tp_diff_places *places, enum tp_diff_kind kind, bool has_gaps,
			  struct tp_diff_function *of, uint32_t n)
{
	const uint32_t most = places->is_full ? UINT32_MAX : places->n + SHOWN;

	for (uint32_t i = 0; i < n && places->n < most; i++) {
		const struct tp_diff_time *base = &of[i].time[TP_DIFF_BASE], *now = &of[i].time[TP_DIFF_NOW];
		struct tp_diff_spot *row;

		if (is_little(places, now->ns - base->ns) ||
		    (kind != TP_SPOT_LINE && !tp_diff_is_certain(&of[i])))
			continue;
		row = add(places, kind == TP_SPOT_LINE && !of[i].is_line ? TP_SPOT_LINES : kind, base->ns,
			  now->ns);
		row->has_gaps = has_gaps;
		row->more_wait = now->wait_ns - base->wait_ns;
		row->n_samples[TP_DIFF_BASE] = base->n_samples;
		row->n_samples[TP_DIFF_NOW] = now->n_samples;
		name_function(row, &of[i]);
	}
	free(of);
}

static bool has_lines(const struct tp_diff_side *side)
{
	return tp_sites_sum(side->overview->sites, TP_SITE_CALLS) > 0;
}

static bool has_samples(const struct tp_diff_side *side)
{
	return side->overview->owners->n_rows > 0;
}

/* Samples are few in a short window: they may not tell what gaps between operators do. */
static bool has_function(const struct tp_diff_places *places)
{
	const uint32_t first = places->first[TP_SPOT_FUNCTION];

	return first && tp_diff_explains(places, &places->row[first - 1]);
}

/* Where both runs have both, functions have what is outside operators, lines the operators. */
static void add_code(struct tp_diff_places *places, const struct tp_diff_shown *shown)
{
	const struct tp_diff_side *base = shown->base, *now = shown->now;
	const bool is_sampled = has_samples(base) && has_samples(now);
	const bool is_lined = has_lines(base) && has_lines(now);
	struct tp_diff_function *of;
	uint32_t n;

	if (is_sampled) {
		of = tp_diff_functions(base, now, is_lined ? TP_DIFF_OUTSIDE : TP_DIFF_STEPS, &n);
		add_functions(places, TP_SPOT_FUNCTION, false, of, n);
		of = tp_diff_functions(base, now, TP_DIFF_WORKERS, &n);
		add_functions(places, TP_SPOT_WORKER, false, of, n);
	}
	if (is_lined) {
		const bool has_gaps = !has_function(places);

		of = tp_diff_lines(base, now, has_gaps, &n);
		add_functions(places, TP_SPOT_LINE, has_gaps, of, n);
	}
}

/* By its own time: that of its operators, not of modules that it calls. */
static void add_module(struct tp_diff_places *places, const struct tp_diff_shown *shown)
{
	uint32_t n, most = 0;
	struct tp_diff_module *row = tp_diff_modules(shown->base, shown->now, &n);
	double change = 0;

	for (uint32_t i = 0; i < n; i++) {
		const double here = (row[i].time[TP_DIFF_NOW].self_ns - row[i].time[TP_DIFF_BASE].self_ns) *
				    places->direction;

		if (here <= change)
			continue;
		change = here;
		most = i;
	}
	if (!is_little(places, change)) {
		char text[TP_MODULE_TEXT];
		const struct tp_module_path *path = tp_view_diff_path(shown, &row[most]);
		uint32_t n_class;
		const char *class = tp_module_class(path, &n_class);
		struct tp_diff_spot *place = add(places, TP_SPOT_MODULE, row[most].time[TP_DIFF_BASE].self_ns,
					  row[most].time[TP_DIFF_NOW].self_ns);
		struct tp_text name;

		tp_text_init(&name, place->name, sizeof(place->name));
		tp_text_fmt(&name, "%s (%.*s)", tp_module_show(text, path, false), (int)n_class, class);
	}
	free(row);
}

static void add_named(struct tp_diff_places *places, const struct tp_diff_shown *shown,
		      enum tp_diff_kind kind)
{
	const double n_base = shown->base->n_steps, n_now = shown->now->n_steps;
	uint32_t n, i = 0;
	struct tp_diff_row *row = kind == TP_SPOT_KERNEL ? tp_diff_kernels(shown->base, shown->now, &n)
						 : tp_diff_operators(shown->base, shown->now, &n);
	struct tp_text name;

	if (row)
		tp_diff_sort(row, n, false);
	while (row && i < n && row[i].change_ns * places->direction < 1)
		i++;
	if (row && i < n && !is_little(places, row[i].change_ns)) {
		struct tp_diff_spot *place = add(places, kind, (double)row[i].base.self_ns / n_base,
					  (double)row[i].now.self_ns / n_now);

		tp_text_init(&name, place->name, sizeof(place->name));
		tp_text_fmt(&name, "%.*s", (int)row[i].n_name, row[i].name);
	}
	free(row);
}

/* The part of a step that changed most in the direction in which the step did. */
static void add_part(struct tp_diff_places *places, const struct tp_diff_shown *shown)
{
	enum tp_part most = TP_PARTS;
	double change = 0;
	struct tp_diff_spot *place;
	struct tp_text name;

	for (uint32_t i = 0; i < TP_PARTS; i++) {
		const enum tp_part part = (enum tp_part)i;
		const double here = (tp_diff_part_ns(shown->now, part) - tp_diff_part_ns(shown->base, part)) *
				    places->direction;

		if (!tp_part_name(part) || here <= change)
			continue;
		change = here;
		most = part;
	}
	if (most == TP_PARTS)
		return;
	place = add(places, TP_SPOT_PART, tp_diff_part_ns(shown->base, most),
		    tp_diff_part_ns(shown->now, most));
	tp_text_init(&name, place->name, sizeof(place->name));
	tp_text_str(&name, tp_part_name(most));
}

/* ---- the table ---- */

static void put_samples(struct tp_row *r, const struct tp_diff_spot *row, enum tp_diff_which which)
{
	if (row->kind == TP_SPOT_FUNCTION || row->kind == TP_SPOT_WORKER)
		tp_row_count(r, row->n_samples[which]);
}

static void put_columns(struct tp_row *r, const void *ctx, const void *of)
{
	const struct tp_diff_spot *row = of;

	TP_TEXT(r, "kind", "what", 0, "function, function in workers, source line, function's lines (which "
		"moved), module, operator, kernel, part of a step", "%s", tp_diff_kinds[row->kind].name);
	TP_PLACE(r, "name", "name", TP_CUT, "name; for functions and lines the line that changed most", "%s",
		 row->name);
	TP_NS(r, "base_ns", "base", 0, "time per step in the base run", tp_whole(row->base));
	TP_NS(r, "now_ns", "now", 0, "time per step in this run", tp_whole(row->now));
	TP_NS(r, "difference_ns", "difference", TP_SIGNED, "this run minus base", tp_whole(tp_diff_spot_change(row)));
	TP_CELL(r, NULL, "change", TP_UNIT_TEXT, TP_TO_RIGHT, "", tp_view_diff_change(r, row->base, row->now));
	TP_TEXT(r, "source", "by", TP_LESS(1), "source of the times", "%s",
		row->has_gaps ? "operators, gaps" : tp_diff_kinds[row->kind].source);
	TP_CELL(r, "base_samples", NULL, TP_UNIT_COUNT, TP_ROWS_ONLY, "samples in the base run, for functions",
		put_samples(r, row, TP_DIFF_BASE));
	TP_CELL(r, "now_samples", NULL, TP_UNIT_COUNT, TP_ROWS_ONLY, "samples in this run, for functions",
		put_samples(r, row, TP_DIFF_NOW));
}

const struct tp_table_def tp_table_diff_places = {
	.name = "diff_places", .columns = put_columns,
	.help = "functions, lines, modules, operators and kernels whose time changed most",
};

static double average_ns(const struct tp_diff_side *side)
{
	return (double)side->sums.all_ns / (double)side->sums.n_steps;
}

void tp_view_diff_places(const struct tp_diff_shown *shown)
{
	const double median = (double)tp_diff_median_more(shown);
	const double average = average_ns(shown->now) - average_ns(shown->base);
	struct tp_diff_places places = {
		.direction = median < 0 ? -1 : 1,
		.change_ns = fabs(average) > fabs(median) ? average : median,
		.is_full = tp_out_is_full(shown->out),
	};

	add_code(&places, shown);
	add_module(&places, shown);
	add_named(&places, shown, TP_SPOT_OPERATOR);
	add_named(&places, shown, TP_SPOT_KERNEL);
	add_part(&places, shown);
	tp_diff_print_answer(shown, &places);
	if (places.n) {
		tp_out_title(shown->out, "What changed most, per step: average of all recorded steps");
		tp_table_show(&tp_table_diff_places, shown, places.row, places.n, sizeof(places.row[0]),
			      TP_TOP_ASKED, shown->out);
	}
	free(places.row);
}
