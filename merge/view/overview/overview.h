/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview.h - the parts of the overview: view_overview.c prints them in their order
 */
#ifndef TP_MERGE_VIEW_OVERVIEW_H
#define TP_MERGE_VIEW_OVERVIEW_H

#include "merge/facts/program/flop_sums.h"
#include "merge/facts/program/overview.h"
#include "merge/model/view.h"

enum { TP_OVERVIEW_LABEL = 10 };	/* columns of the labels on the left */

extern const struct tp_table_def tp_table_advice, tp_table_gpu, tp_table_gpu_time,
	tp_table_gpu_streams, tp_table_lines, tp_table_step_breakdown;

/* overview_advice.c: what holds the run back; where, and what to do. Whether that is waiting for data. */
bool tp_overview_print_advice(const struct tp_run *run, const struct tp_overview *overview,
			      const struct tp_overview_sums *sums, struct tp_out *out);
/* Of the run's steps, by the ledger, else of recorded ones, by `sums`: waiting for data, and
 * all. False: not known. */
bool tp_overview_data_wait(const struct tp_run *run, const struct tp_overview_sums *sums,
			   int64_t *wait_ns, int64_t *all_ns);
enum {
	TP_OVERVIEW_DATA_PERCENT = 10,		/* waiting for data: worth a word */
	TP_OVERVIEW_CROWDED_PERCENT = 20,	/* waiting for a core: times are the machine's, too */
	TP_OVERVIEW_TAKEN_PERCENT = 70,		/* of the cores: with less, a run waits for others */
};

/* overview_steps.c: the breakdown, steps or ranks beside each other, operators */
void tp_overview_print_steps(const struct tp_run *run, const struct tp_overview *overview,
			     const struct tp_overview_sums *sums, struct tp_out *out);
void tp_overview_print_operators(const struct tp_overview *overview, struct tp_out *out);

/* overview_table.c: every step of every process, where tp_out_is_full() */
void tp_overview_print_all(const struct tp_run *run, const struct tp_overview *overview,
			   const struct tp_overview_sums *sums, struct tp_out *out);

/* overview_notes.c: memory, the slowest step, the data loader, unless the advice named that */
void tp_overview_print_notes(const struct tp_run *run, const struct tp_overview *overview,
			     const struct tp_overview_sums *sums, bool is_data_told, struct tp_out *out);

/* overview_lines.c: lines of the program's own code, by the time of their operators */
void tp_overview_print_lines(const struct tp_overview *overview, struct tp_out *out);

/* overview_host.c: the heap's peak */
void tp_overview_print_host(const struct tp_run *run, struct tp_out *out);

/* overview_gpu.c: a row for each device, why they were idle, how work came to them */
void tp_overview_print_gpus(const struct tp_run *run, const struct tp_overview *overview,
			    struct tp_out *out);

/* overview_gpu_tables.c: the same for programs and for the page */
const char *tp_overview_gpu_who(char buf[96], const struct tp_run *run,
				const struct tp_gpu_device *d);
void tp_overview_gpu_times(const struct tp_run *run, const struct tp_gpu_time *gpu,
			   struct tp_out *out);
void tp_overview_gpu_streams(const struct tp_run *run, const struct tp_gpu_time *gpu,
			     struct tp_out *out);

/* overview_clocks.c: devices whose clocks are held down */
void tp_overview_print_clocks(const struct tp_run *run, const struct tp_overview *overview,
			      struct tp_out *out);

/* overview_memory.c: the peak of tensors */
void tp_overview_print_memory(const struct tp_run *run, const struct tp_overview *overview,
			      struct tp_out *out);

/* overview_flops.c: of the recorded steps; of how much the device could do, by TRAINPROF_PEAK */
void tp_overview_print_flops(const struct tp_run *run, const struct tp_overview *overview,
			     const struct tp_flop_sums *sums, struct tp_out *out);

/* overview_reports.c: that the run hung, or had no memory left, why, and who held it then */
struct tp_tensormem;
/* NULL: nothing is to be known of that. */
const struct tp_tensormem *tp_overview_want_reports(struct tp_facts *facts);
void tp_overview_print_reports(const struct tp_run *run, const struct tp_tensormem *memory,
			       struct tp_out *out);

/* overview_lost.c: what is missing or off; where the dead stood, and where those
 * stand that still run */
void tp_overview_print_lost(const struct tp_run *run, const struct tp_overview *overview,
			    struct tp_out *out);
void tp_overview_print_died(const struct tp_run *run, const struct tp_overview *overview,
			    struct tp_out *out);
void tp_overview_print_running(const struct tp_run *run, const struct tp_overview *overview,
			       struct tp_out *out);

#endif
