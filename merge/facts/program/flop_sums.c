/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flop_sums.c - floating-point operations of steps and of modules
 */
#include "merge/facts/program/flop_sums.h"

#include <stdlib.h>

#include "merge/facts/compute/flops.h"
#include "merge/facts/origin/module_origin.h"
#include "merge/facts/program/step_now.h"
#include "merge/kit/need.h"

struct tp_flop_sums_in {
	struct tp_flops *flops;
	struct tp_origins *origins;
	const struct tp_step_now *steps;
	struct tp_tally by_proc, by_path;	/* path: its number << 1 | backward */
	struct open {
		const struct tp_proc *proc;	/* NULL: in no step */
		uint32_t path;
	} *open;	/* by tp_nest_span.slot */
	uint32_t cap_open;
	uint32_t n_procs;
};

static void begin_call(void *ctx, const struct tp_nest_span *span, const struct tp_event *event)
{
	struct tp_flop_sums_in *in = ctx;
	struct tp_origin origin = tp_origins_of(in->origins, event);

	tp_need_room(&in->open, &in->cap_open, (uint64_t)span->slot + 1, sizeof(*in->open));
	in->open[span->slot] = (struct open){
		.proc = tp_step_now(in->steps, event) >= 0 ? event->proc : NULL,
		.path = origin.path << 1 | origin.is_backward,
	};
}

static void end_call(void *ctx, const struct tp_nest_span *span, uint32_t kind)
{
	struct tp_flop_sums_in *in = ctx;
	const struct open *open = &in->open[span->slot];

	if (open->proc)
		tp_tally_add(&in->by_proc, open->proc->at, kind, 1);
	tp_tally_add(&in->by_path, open->path, kind, 1);
}

static void begin_sums(void *state, struct tp_facts *facts, const void *params)
{
	struct tp_flop_sums *sums = state;
	struct tp_flop_sums_in *in = sums->in = tp_need(1, sizeof(*in));

	in->n_procs = tp_facts_run(facts)->n_procs;
	sums->in_steps = tp_need((size_t)in->n_procs + 1, sizeof(*sums->in_steps));
	in->flops = tp_facts_want(facts, &tp_fact_flops, NULL);
	if (!tp_flops_has_shapes(in->flops))
		return;
	in->origins = tp_facts_want(facts, &tp_fact_origins_cut, NULL);
	in->steps = tp_facts_want(facts, &tp_fact_step_now_cut, NULL);
	tp_flops_read(in->flops, begin_call, end_call, in);
}

/* who: as in by_path. */
static void add_to_module(struct tp_flop_sums *sums, uint32_t who, uint64_t flops)
{
	const struct tp_module_paths *paths = tp_origins_paths(sums->in->origins);
	uint32_t path = who >> 1;
	struct tp_flop_module *module = &sums->module[path];
	bool is_backward = who & 1;
	uint64_t *self = is_backward ? &module->self_backward : &module->self_forward;

	*self = tp_flops_add(*self, flops);
	for (; path; path = tp_module_paths_at(paths, path)->outer) {
		uint64_t *all;

		module = &sums->module[path];
		all = is_backward ? &module->backward : &module->forward;
		*all = tp_flops_add(*all, flops);
	}
}

static void end_sums(void *state)
{
	struct tp_flop_sums *sums = state;
	struct tp_flop_sums_in *in = sums->in;

	sums->has_any = in->by_path.n_rows != 0;
	if (!sums->has_any)
		return;
	sums->n_modules = tp_module_paths_count(tp_origins_paths(in->origins));
	sums->module = tp_need((size_t)sums->n_modules + 1, sizeof(*sums->module));
	for (uint32_t i = 0; i < in->by_proc.n_rows; i++) {
		const struct tp_tally_row *calls = &in->by_proc.row[i];
		uint64_t *of = &sums->in_steps[calls->a];

		*of = tp_flops_add(*of, tp_flops_tallied(in->flops, calls));
	}
	for (uint32_t i = 0; i < in->by_path.n_rows; i++) {
		const struct tp_tally_row *calls = &in->by_path.row[i];
		uint64_t flops = tp_flops_tallied(in->flops, calls);

		sums->n_unknown += flops ? 0 : calls->n;
		if (calls->a >> 1 < sums->n_modules)
			add_to_module(sums, calls->a, flops);
	}
}

static void free_sums(void *state)
{
	struct tp_flop_sums *sums = state;

	tp_tally_free(&sums->in->by_proc);
	tp_tally_free(&sums->in->by_path);
	free(sums->in->open);
	free(sums->in);
	free(sums->in_steps);
	free(sums->module);
}

struct tp_flop_module tp_flop_sums_module(const struct tp_flop_sums *sums, uint32_t path)
{
	return path < sums->n_modules ? sums->module[path] : (struct tp_flop_module){0};
}

const struct tp_fact tp_fact_flop_sums = {
	.name = "floating-point operations of steps and modules",
	.bytes = sizeof(struct tp_flop_sums),
	.begin = begin_sums,
	.end = end_sums,
	.free = free_sums,
};
