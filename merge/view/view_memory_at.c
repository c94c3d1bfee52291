/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_memory_at.c - memory at the start and the end of ranges: steps of the framework, of the optimizer,
 * of the program
 *
 * Keys, numbers of calls and contexts are those of MemProfiler of finetuning-scheduler. Rows for programs
 * have a row for each snapshot; text has one for each range, its calls summed up.
 */
#include <stdlib.h>

#include "merge/facts/tensor/memory_at.h"
#include "merge/facts/tensor/module_memory.h"
#include "merge/kit/list.h"
#include "merge/kit/need.h"
#include "merge/kit/sum.h"
#include "merge/model/view.h"

struct state {
	struct tp_view_options options;
	const struct tp_memory_at *at;
};

static void *begin_memory_at(struct tp_facts *facts, const struct tp_view_options *options)
{
	const struct tp_memory_at_params params = {.names = options->at};
	struct state *state = tp_need(1, sizeof(*state));

	state->options = *options;
	state->at = tp_facts_want(facts, &tp_fact_memory_at, &params);
	return state;
}

/* ---- a row for each snapshot ---- */

struct snapshot {
	const struct tp_memory_at_call *call;
	bool is_end;
};

static void put_known(struct tp_row *r, uint64_t bytes)
{
	if (bytes)
		tp_row_integer(r, (int64_t)bytes);
}

static void put_difference(struct tp_row *r, const struct snapshot *of, uint64_t after, uint64_t before)
{
	if (of->is_end && after && before)
		tp_row_integer(r, tp_sub((int64_t)after, (int64_t)before));
}

static const char *field_of(uint32_t category)
{
	static char field[TP_TENSOR_N][40];

	snprintf(field[category], sizeof(field[category]), "%s_bytes", tp_memcat_word(category));
	return field[category];
}

static void put_snapshot(struct tp_row *r, const void *ctx, const void *of)
{
	static const struct tp_memory_at_call none;
	const struct state *state = ctx;
	const struct snapshot *snapshot = of;
	const struct tp_memory_at_call *call = snapshot && snapshot->call ? snapshot->call : &none;
	const bool is_end = snapshot && snapshot->is_end;
	const struct tp_memory_at_point *point = is_end ? &call->end : &call->start;
	const struct tp_sampled *before = &call->start.process;
	const char *name = call->proc ? tp_names_at(tp_memory_at_names(state->at), call->name)->bytes : "";
	char key[TP_MEMORY_AT_KEY];

	TP_TEXT(r, "key", NULL, 0, "rank, range, number of the call and context, separated by points", "%s",
		tp_memory_at_key(key, state->at, call, is_end));
	TP_TEXT(r, "rank", NULL, 0, "rank", "%d", tp_memory_at_rank(call));
	TP_TEXT(r, "fn_name", NULL, 0, "name of the range", "%s", name);
	TP_COUNT(r, "iter_idx", NULL, 0, "number of the recorded call, from 1", call->number);
	TP_TEXT(r, "iter_ctx", NULL, 0, "start or end of the call", "%s", is_end ? "end" : "start");
	TP_NS(r, "when_ns", NULL, 0, "time of that", point->ns);
	TP_CELL(r, "rss_bytes", NULL, TP_UNIT_BYTES, 0, "RSS of the process at the nearest sample",
		put_known(r, point->process.rss));
	TP_CELL(r, "vms_bytes", NULL, TP_UNIT_BYTES, 0, "VMS at that time", put_known(r, point->process.vms));
	TP_CELL(r, "pss_bytes", NULL, TP_UNIT_BYTES, 0, "PSS: private memory, and its share of shared memory",
		put_known(r, point->process.pss));
	TP_CELL(r, "age_ns", NULL, TP_UNIT_NS, 0, "age of that sample; negative: it was taken after that time",
		point->process.rss ? tp_row_integer(r, tp_sub(point->ns, point->process.ns)) : (void)0);
	TP_CELL(r, "rss_diff_bytes", NULL, TP_UNIT_BYTES, 0, "at the end: increase of RSS since the start",
		put_difference(r, snapshot, point->process.rss, before->rss));
	TP_CELL(r, "allocated_bytes", NULL, TP_UNIT_BYTES, 0, "allocated by PyTorch's allocator on all devices",
		put_known(r, point->process.allocated));
	TP_CELL(r, "reserved_bytes", NULL, TP_UNIT_BYTES, 0, "reserved by it from the driver",
		put_known(r, point->process.reserved));
	TP_BYTES(r, "tensor_bytes", NULL, 0, "bytes of all live tensors, on the host and on devices",
		 point->tensors ? tp_moment_bytes(point->tensors) : 0);
	for (uint32_t i = 1; i <= TP_TENSOR_N; i++) {
		const uint32_t c = i % TP_TENSOR_N;

		TP_BYTES(r, field_of(c), NULL, 0, tp_tensor_category_title(c),
			 point->tensors ? point->tensors->bytes[c] : 0);
	}
}

static const struct tp_table_def table_snapshots = {
	.name = "memory_at", .columns = put_snapshot, .row_bytes = sizeof(struct snapshot),
	.help = "memory at the start and the end of each call of a range",
};

static bool is_shown(const struct state *state, const struct tp_memory_at_call *call)
{
	return !state->options.calls || tp_list_has(state->options.calls, call->number);
}

static void print_snapshots(const struct state *state, struct tp_out *out)
{
	uint32_t n;
	const struct tp_memory_at_call *call = tp_memory_at_calls(state->at, &n);
	struct tp_table *table = tp_table_begin(&table_snapshots, state, state->options.top, out);

	for (uint32_t i = 0; i < n; i++) {
		if (!is_shown(state, &call[i]))
			continue;
		tp_table_add(table, &(struct snapshot){.call = &call[i]});
		tp_table_add(table, &(struct snapshot){.call = &call[i], .is_end = true});
	}
	tp_table_end(table);
}

/* ---- a row for each range ---- */

struct range {
	uint32_t name;
	uint64_t n;
	int64_t start, end;	/* sums of tensors */
	int64_t most;		/* grown in one call */
	uint64_t rss;		/* most */
};

static void put_range(struct tp_row *r, const void *ctx, const void *of)
{
	const struct state *state = ctx;
	const struct range *range = of;

	TP_TEXT(r, "fn_name", "range", TP_CUT, "name", "%s",
		tp_names_at(tp_memory_at_names(state->at), range->name)->bytes);
	TP_COUNT(r, "calls", "calls", 0, "calls recorded from start to end", range->n);
	TP_BYTES(r, "start_bytes", "at start", 0, "mean bytes of live tensors at its start",
		 range->start / (int64_t)range->n);
	TP_BYTES(r, "end_bytes", "at end", 0, "mean bytes of live tensors at its end", range->end / (int64_t)range->n);
	TP_BYTES(r, "kept_bytes", "kept", 0, "mean increase of live tensor bytes",
		 tp_sub(range->end, range->start) / (int64_t)range->n);
	TP_BYTES(r, "most_kept_bytes", "most kept", TP_LESS(1), "largest increase of live tensor bytes", range->most);
	TP_CELL(r, "rss_bytes", "RSS", TP_UNIT_BYTES, TP_LESS(2), "highest RSS at an end",
		put_known(r, range->rss));
}

static const struct tp_table_def table_ranges = {
	.name = "memory_at_ranges", .columns = put_range, .row_bytes = sizeof(struct range),
	.order = "kept_bytes", .help = "memory of each range, over its calls and all ranks",
};

static void add_call(struct range *range, const struct tp_memory_at_call *call)
{
	const int64_t start = tp_moment_bytes(call->start.tensors), end = tp_moment_bytes(call->end.tensors);
	const int64_t kept = tp_sub(end, start);

	range->name = call->name;
	if (!range->n++ || kept > range->most)
		range->most = kept;
	range->start = tp_add(range->start, start);
	range->end = tp_add(range->end, end);
	if (call->end.process.rss > range->rss)
		range->rss = call->end.process.rss;
}

static void print_ranges(const struct state *state, struct tp_out *out)
{
	const uint32_t n_names = tp_names_count(tp_memory_at_names(state->at));
	struct range *range = tp_need(n_names + 1, sizeof(*range));
	uint32_t n, n_ranges = 0, n_left;
	const struct tp_memory_at_call *call = tp_memory_at_calls(state->at, &n);

	for (uint32_t i = 0; i < n; i++)
		if (is_shown(state, &call[i]))
			add_call(&range[call[i].name], &call[i]);
	for (uint32_t i = 0; i < n_names; i++)
		if (range[i].n)
			range[n_ranges++] = range[i];
	n_left = tp_table_show(&table_ranges, state, range, n_ranges, sizeof(*range), state->options.top,
			       out);
	tp_out_left(out, n_left, "ranges");
	free(range);
}

/* What is missing, and what to record. False: nothing can be shown. */
static bool say_missing(const struct state *state, uint32_t n, struct tp_out *out)
{
	const char *asked = tp_memory_at_asked(state->at);

	if (!n)
		tp_out_line(out, "", "no range%s%s was recorded from start to end: TRAINPROF_RECORD=frameworks adds "
			    "those of Lightning and the Hugging Face Trainer", asked ? " like " : "", asked ? asked : "");
	else if (!tp_memory_at_has_tensors(state->at))
		tp_out_line(out, "dim", "Tensors were not recorded: TRAINPROF_RECORD=tensors.");
	return n != 0;
}

static void print_memory_at(void *opaque, const struct tp_run *run, struct tp_out *out)
{
	struct state *state = opaque;
	uint32_t n;

	tp_memory_at_calls(state->at, &n);
	tp_out_title(out, "Memory at the start and the end of ranges");
	if (say_missing(state, n, out)) {
		if (out->rows)
			print_snapshots(state, out);
		print_ranges(state, out);
	}
	free(state);
}

const struct tp_view tp_view_memory_at = {
	.name = "memory-at",
	.help = "memory at the start and the end of ranges: framework hooks, optimizer steps, your own",
	.tables = (const struct tp_table_def *const[]){&table_snapshots, &table_ranges, NULL},
	.begin = begin_memory_at,
	.print = print_memory_at,
};
