/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_memory.c - what filled the memory of the devices and of the host
 */
#include "merge/view/view_memory.h"

#include <stdlib.h>

struct state {
	struct tp_view_options options;
	struct tp_gpumem *gpu;
	struct tp_hostmem *host;
	struct tp_tensormem *tensors;
};

static void free_state(struct state *state)
{
	tp_gpumem_free(state->gpu);
	tp_hostmem_free(state->host);
	tp_tensormem_free(state->tensors);
	free(state);
}

static void *begin(struct tp_facts *facts, const struct tp_view_options *options)
{
	const struct tp_run *run = tp_facts_run(facts);
	struct state *state = calloc(1, sizeof(*state));

	if (!state)
		return NULL;
	state->options = *options;
	state->gpu = tp_gpumem_new(run);
	state->host = tp_hostmem_new(run);
	state->tensors = tp_tensormem_new(run, options->top);
	if (state->gpu && state->host && state->tensors)
		return state;
	free_state(state);
	return NULL;
}

static void event(void *opaque, const struct tp_event *ev)
{
	struct state *state = opaque;

	if (!state)
		return;
	tp_gpumem_event(state->gpu, ev);
	tp_hostmem_event(state->host, ev);
	tp_tensormem_event(state->tensors, ev);
}

static void print(void *opaque, const struct tp_run *run, struct tp_out *out)
{
	struct state *state = opaque;
	uint32_t n_gpu_rows;

	if (!state) {
		tp_out_line(out, "red", "memory: out of memory");
		return;
	}
	tp_gpumem_end(state->gpu);
	tp_hostmem_end(state->host);
	tp_tensormem_end(state->tensors);
	tp_gpumem_rows(state->gpu, &n_gpu_rows);
	if (n_gpu_rows)
		tp_view_memory_gpu(run, &state->options, state->gpu, out);
	tp_view_memory_tensors(run, &state->options, state->tensors, out);
	tp_view_memory_host(run, &state->options, state->host, out);
	if (!n_gpu_rows)
		tp_view_memory_gpu(run, &state->options, state->gpu, out);
	free_state(state);
}

const struct tp_view tp_view_memory = {
    .name = "memory",
    .help = "memory of tensors, devices and the host: peaks, what for, who holds it, what stays",
    .begin = begin,
    .event = event,
    .print = print,
};
