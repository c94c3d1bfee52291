/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_module.c - the tree of nn.Modules: calls, time of forward and backward on the host and on
 * devices, tensor memory
 *
 * A row is a path of modules: who calls it matters.
 */
#include "merge/view/view_module.h"

#include <stdlib.h>
#include <string.h>

#include "merge/facts/program/flop_sums.h"
#include "merge/kit/need.h"
#include "merge/kit/sum.h"
#include "merge/model/label.h"

struct state {
	struct tp_view_options options;
	struct tp_module_times *times;
	struct tp_module_memories *memories;
	const struct tp_flop_sums *flops;
	/* At the end. */
	struct tp_module_paths *paths;
};

static void *begin_module(struct tp_facts *facts, const struct tp_view_options *options)
{
	struct state *state = tp_need(1, sizeof(*state));

	state->options = *options;
	state->times = tp_facts_want(facts, &tp_fact_module_times_cut, NULL);
	state->memories = tp_facts_want(facts, &tp_fact_module_memories, NULL);
	state->flops = tp_facts_want(facts, &tp_fact_flop_sums, NULL);
	return state;
}

void tp_view_module_put(struct tp_row *r, const struct tp_module_path *path)
{
	char text[TP_MODULE_TEXT];

	tp_row_text(r, "%s", tp_module_show(text, path, tp_row_is_for_programs(r)));
}

static const struct tp_module_path *path_of(const struct state *state, const void *of)
{
	return tp_module_paths_at(state->paths, *(const uint32_t *)of);
}

static const struct tp_module_time *time_of(const struct state *state, const void *of)
{
	return tp_module_times_at(state->times, *(const uint32_t *)of);
}

static void put_string(struct tp_row *r, const char *text, uint32_t n)
{
	tp_row_text(r, "%.*s", (int)n, text);
}

static void put_class(struct tp_row *r, const struct tp_module_path *path)
{
	uint32_t n;
	const char *name = tp_module_class(path, &n);

	put_string(r, name, n);
}

static void put_full_name(struct tp_row *r, const struct tp_module_path *path)
{
	uint32_t n;
	const char *name = tp_module_name(path, &n);

	put_string(r, name, n);
}

static int64_t bytes_of(const struct tp_module_memory *memory, const struct tp_moment *moment)
{
	return memory->n_calls ? tp_moment_bytes(moment) : 0;
}

/* Of the call with the highest peak. */
static void put_memory(struct tp_row *r, const struct state *state, const void *of)
{
	const struct tp_module_memory memory =
		of ? tp_module_memories_at(state->memories, *(const uint32_t *)of, TP_PASS_FORWARD)
		   : (struct tp_module_memory){.n_calls = 0};

	TP_BYTES(r, "entry_bytes", "entry", TP_LESS(3), "tensor memory at the start of a call",
		 bytes_of(&memory, memory.entry));
	TP_BYTES(r, "peak_bytes", "peak", TP_LESS(1), "peak of tensor memory in a call",
		 bytes_of(&memory, memory.peak));
	TP_BYTES(r, "exit_bytes", "exit", TP_LESS(3), "tensor memory at the end of a call",
		 bytes_of(&memory, memory.exit));
	TP_BYTES(r, "kept_bytes", "kept", TP_LESS(1), "mean increase over a call",
		 memory.n_calls ? memory.kept_bytes / (int64_t)memory.n_calls : 0);
}

static void put_flops(struct tp_row *r, const struct state *state, const void *of)
{
	const struct tp_flop_module flops = of ? tp_flop_sums_module(state->flops, *(const uint32_t *)of)
					       : (struct tp_flop_module){0};

	TP_REAL(r, "forward_gflop", "GFLOP fwd", TP_LESS(2),
		"floating-point operations, in 10^9, forward", (double)flops.forward / 1e9, 3);
	TP_REAL(r, "backward_gflop", "GFLOP bwd", TP_LESS(2),
		"floating-point operations, in 10^9, of its backward pass", (double)flops.backward / 1e9, 3);
	TP_COUNT(r, "forward_flops", NULL, TP_ROWS_ONLY, "floating-point operations, forward",
		 flops.forward);
	TP_COUNT(r, "backward_flops", NULL, TP_ROWS_ONLY, "floating-point operations of its backward pass",
		 flops.backward);
	TP_COUNT(r, "forward_self_flops", NULL, TP_ROWS_ONLY, "forward, without child modules",
		 flops.self_forward);
	TP_COUNT(r, "backward_self_flops", NULL, TP_ROWS_ONLY, "backward, without child modules",
		 flops.self_backward);
}

static void put_columns(struct tp_row *r, const void *ctx, const void *of)
{
	const struct state *s = ctx;

	TP_CELL(r, "module", "module", TP_UNIT_TEXT, TP_CUT | TP_TREE, "name in its parent module",
		tp_view_module_put(r, path_of(s, of)));
	TP_CELL(r, "class", "class", TP_UNIT_TEXT, TP_CUT | TP_LESS(5), "class",
		put_class(r, path_of(s, of)));
	TP_CELL(r, "name", "name", TP_UNIT_TEXT, TP_ROWS_ONLY, "full name in the model",
		put_full_name(r, path_of(s, of)));
	TP_NUMBER(r, "depth", "depth", TP_ROWS_ONLY, "depth in the tree, from 1",
		  path_of(s, of)->depth);
	TP_COUNT(r, "calls", "calls", 0, "number of calls", time_of(s, of)->n_calls);
	TP_COUNT(r, "operators", "ops", TP_LESS(4), "operators called inside it", time_of(s, of)->n_ops);
	TP_NS(r, "forward_ns", "forward", 0, "time until its last operator ended", time_of(s, of)->total_ns);
	TP_NS(r, "forward_self_ns", "self", 0, "the same, without child modules",
	      time_of(s, of)->self_ns);
	TP_NS(r, "backward_ns", "backward", 0, "time of its autograd nodes", time_of(s, of)->backward_ns);
	TP_NS(r, "backward_self_ns", "self", TP_LESS(2), "the same, without child modules",
	      time_of(s, of)->backward_self_ns);
	TP_WHEN(r, tp_module_times_has_device(s->times)) {
		TP_NS(r, "device_forward_ns", "GPU fwd", 0, "device time, forward",
		      time_of(s, of)->device_ns);
		TP_NS(r, "device_forward_self_ns", "self", TP_LESS(3), "the same, without child modules",
		      time_of(s, of)->device_self_ns);
		TP_NS(r, "device_backward_ns", "GPU bwd", 0, "device time, backward",
		      time_of(s, of)->device_backward_ns);
		TP_NS(r, "device_backward_self_ns", "self", TP_LESS(3), "the same, without child modules",
		      time_of(s, of)->device_backward_self_ns);
	}
	TP_WHEN(r, tp_module_memories_has_any(s->memories))
		put_memory(r, s, of);
	TP_WHEN(r, s->flops->has_any)
		put_flops(r, s, of);
	TP_DEPTH(r, path_of(s, of)->depth - 1);
}

static const struct tp_table_def table_def = {
	.name = "module", .columns = put_columns, .help = "nn.Modules by path",
};

static void print_notes(const struct state *state, const struct tp_run *run, struct tp_out *out,
			uint32_t n_shown, uint32_t n_all)
{
	const struct tp_module_time *outside = tp_module_times_at(state->times, 0);
	char a[32], b[32];

	tp_out_line(out, "dim",
		    "forward: from a call to the end of its last operator; backward: its nodes of "
		    "autograd; self: without the modules inside%s.",
		    run->n_procs > 1 ? "; all ranks added" : "");
	if (tp_module_memories_has_any(state->memories))
		tp_out_line(out, "dim",
			    "Memory: all live tensors, at the call with the highest peak; kept: how "
			    "much more there was after a call, on average.");
	tp_out_line(out, "dim", "Outside all modules: %s operators, %s of backward.",
		    tp_show_count(a, outside->n_ops),
		    tp_show_ns(b, outside->backward_self_ns));
	tp_out_left(out, n_all - n_shown, "rows");
}

/* The first line: which module's own operators take most. */
static void print_answer(const struct state *state, const struct tp_run *run, struct tp_out *out)
{
	const uint32_t n = tp_module_paths_count(state->paths);
	int64_t most_ns = 0, all_ns = 0;
	uint32_t most = 0;
	char title[TP_MODULE_TEXT], a[32], b[32];

	for (uint32_t path = 1; path < n; path++) {
		const struct tp_module_time *time = tp_module_times_at(state->times, path);
		int64_t self_ns = tp_add(tp_add(time->self_ns, time->backward_self_ns),
					 tp_add(time->device_self_ns, time->device_backward_self_ns));

		all_ns = tp_add(all_ns, self_ns);
		if (self_ns > most_ns) {
			most_ns = self_ns;
			most = path;
		}
	}
	if (most)
		tp_out_line(out, "bold", "Most self time goes to %s: %s forward and backward (%s of all modules)%s.",
			    tp_module_title(state->paths, most, false, title, sizeof(title)),
			    tp_show_ns(a, most_ns), tp_show_percent(b, (double)most_ns, (double)all_ns),
			    run->n_procs > 1 ? ", all ranks added" : "");
}

static void print_modules(struct state *state, const struct tp_run *run, struct tp_out *out)
{
	uint32_t n, n_all, *path = tp_view_module_tree(state->times, &state->options, &n, &n_all);

	print_answer(state, run, out);
	tp_table_show(&table_def, state, path, n, sizeof(*path), TP_TOP_NONE, out);
	print_notes(state, run, out, n, n_all);
	if (tp_module_memories_has_any(state->memories))
		tp_view_module_memory(state->memories, state->paths, path, n, &state->options, out);
	free(path);
}

static void print_module(void *opaque, const struct tp_run *run, struct tp_out *out)
{
	struct state *state = opaque;

	state->paths = tp_module_times_paths(state->times);
	tp_out_title(out, "Which modules take time and memory");
	if (tp_module_paths_count(state->paths) == 1) {
		tp_out_line(out, "",
			    tp_label_is_kineto(run) ?
				    "no nn.Module was recorded: torch.profiler records them with "
				    "with_stack=True" :
			    tp_module_times_has_any(state->times) ?
				    "no call of an nn.Module was seen; TRAINPROF_RECORD=modules records "
				    "them" :
				    "modules were not recorded: run with "
				    "TRAINPROF_RECORD=modules,categories,cuda,host");
	} else {
		print_modules(state, run, out);
	}
	if (tp_module_times_is_incomplete(state->times) ||
	    tp_module_memories_is_incomplete(state->memories))
		tp_out_line(out, "red", "out of memory: some modules are missing here");
	free(state);
}

const struct tp_view tp_view_module = {
    .name = "module",
    .help = "the tree of nn.Modules: calls, forward and backward on host and GPU, tensor memory",
    .begin = begin_module,
    .tables = (const struct tp_table_def *const[]){&table_def, &tp_table_module_memory, NULL},
    .print = print_module,
};
