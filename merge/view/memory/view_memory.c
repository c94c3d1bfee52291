/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_memory.c - what filled the memory of the devices and of the host
 */
#include "merge/view/memory/view_tensors.h"

#include <stdlib.h>

#include "merge/kit/need.h"

struct state {
	struct tp_view_options options;
	struct tp_gpumem *gpu;
	struct tp_hostmem *host;
	struct tp_tensormem *tensors;
};

static void *begin_memory(struct tp_facts *facts, const struct tp_view_options *options)
{
	struct state *state = tp_need(1, sizeof(*state));

	state->options = *options;
	state->gpu = tp_facts_want(facts, &tp_fact_gpumem, NULL);
	state->host = tp_hostmem_want(facts, false);
	state->tensors = tp_tensormem_want(facts, options->top);
	return state;
}

static void print_memory(void *opaque, const struct tp_run *run, struct tp_out *out)
{
	struct state *state = opaque;
	uint32_t n_gpu_rows;

	tp_gpumem_rows(state->gpu, &n_gpu_rows);
	tp_view_memory_tensors(run, &state->options, state->tensors, out);
	tp_view_memory_keepers(run, out);
	if (n_gpu_rows)
		tp_view_memory_gpu(run, &state->options, state->gpu, out);
	tp_view_memory_host(run, &state->options, state->host, out);
	if (!n_gpu_rows)
		tp_view_memory_gpu(run, &state->options, state->gpu, out);
	free(state);
}

const struct tp_view tp_view_memory = {
    .name = "memory",
    .help = "memory of tensors, devices and the host: peaks, categories, holders, what stays",
    .begin = begin_memory,
    .tables = (const struct tp_table_def *const[]){
	&tp_table_tensor_oom, &tp_table_tensor_oom_holders, &tp_table_tensor_categories,
	&tp_table_tensor_holders, &tp_table_tensor_allocator, &tp_table_tensor_steps,
	&tp_table_tensor_curve, &tp_table_tensor_blocks, &tp_table_tensor_operators,
	&tp_table_memory_containers,
	&tp_table_host_memory, &tp_table_host_counted, &tp_table_host_stacks[TP_HOST_PEAK],
	&tp_table_host_stacks[TP_HOST_END], &tp_table_host_stacks[TP_HOST_STAYED],
	&tp_table_host_stacks[TP_HOST_TEMPORARY], &tp_table_host_stacks[TP_HOST_MODULES],
	&tp_table_host_stacks[TP_HOST_PYTHON], &tp_table_host_steps, &tp_table_host_mappings,
	&tp_table_host_sizes, NULL},
    .print = print_memory,
};
