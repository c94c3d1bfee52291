/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_memory.h - the parts of the view of memory
 */
#ifndef TP_MERGE_VIEW_MEMORY_H
#define TP_MERGE_VIEW_MEMORY_H

#include "merge/facts/heap/hostmem.h"
#include "merge/facts/tensor/gpumem.h"
#include "merge/facts/tensor/tensormem.h"
#include "merge/model/view.h"

enum { TP_VIEW_MEMORY_LABEL = 17 };	/* columns of the labels on the left */

/* Host memory by who asked for it. */
enum tp_host_stacks {
	TP_HOST_PEAK, TP_HOST_END, TP_HOST_STAYED, TP_HOST_TEMPORARY, TP_HOST_MODULES,
	TP_HOST_PYTHON, TP_HOST_STACKS
};
extern const struct tp_table_def tp_table_host_stacks[TP_HOST_STACKS];
extern const struct tp_table_def tp_table_host_memory, tp_table_host_counted,
	tp_table_host_mappings, tp_table_host_sizes, tp_table_host_steps;

/* No more events: accounts are closed. */
void tp_view_memory_gpu(const struct tp_run *run, const struct tp_view_options *options,
			const struct tp_gpumem *mem, struct tp_out *out);
/* Containers of the program that grow. */
void tp_view_memory_keepers(const struct tp_run *run, struct tp_out *out);
extern const struct tp_table_def tp_table_memory_containers;
/* Of the devices and of the host. */
void tp_view_memory_tensors(const struct tp_run *run, const struct tp_view_options *options,
			    const struct tp_tensormem *mem, struct tp_out *out);
/* Reads symbols, too. */
void tp_view_memory_host(const struct tp_run *run, const struct tp_view_options *options,
			 const struct tp_hostmem *mem, struct tp_out *out);
/* Of the host: who asked for it, by code, module and line. Names have been read. */
void tp_view_memory_stacks(const struct tp_run *run, const struct tp_view_options *options,
			   const struct tp_hostmem *mem, struct tp_out *out);
/* Of the host: steps, mappings, sizes. */
void tp_view_memory_tables(const struct tp_run *run, const struct tp_view_options *options,
			   const struct tp_hostmem *mem, struct tp_out *out);

/* What its parts share: view_memory_frames.c has the whole stacks of those that held most. */
struct tp_hostmem_choice;
struct tp_host_shown {
	const struct tp_run *run;
	const struct tp_view_options *options;
	const struct tp_hostmem *mem;
	const struct tp_hostmem_choice *choice;
	const struct tp_hostmem_proc *host;
	uint32_t n_host;
	struct tp_out *out;
};

uint64_t tp_host_peak_of(const struct tp_host_shown *shown, uint32_t proc);
void tp_view_memory_frames(const struct tp_host_shown *shown);
/* Figures of each process, for programs. */
void tp_view_memory_host_rows(const struct tp_run *run, const struct tp_hostmem_proc *host,
			      uint32_t n, struct tp_out *out);

/* Rows that are shown of a long table beside the main one. */
static inline uint32_t tp_view_memory_rows(const struct tp_view_options *options, uint32_t n)
{
	uint32_t most = options->top ? (options->top + 1) / 2 : n;

	return n < most ? n : most;
}

#endif
