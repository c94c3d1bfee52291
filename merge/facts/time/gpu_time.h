/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_time.h - what each device did in each step: work, overlap, idle time by cause, queues
 *
 * A sweep over the work of each device of each process, in begin order, each with its call
 * (launches.h). At every moment it is known which work runs, so all figures are integrals
 * over time: they are exact, and of a stretch of time kernel_ns and the idle times add up
 * to it. The definitions of utilisation, est. SM efficiency and est. achieved occupancy are
 * those of torch-tb-profiler (seed 003), over the same time: from the first step of a window
 * to the end of its last one, or of the last work launched in it; less the lead in which
 * only work from before was running.
 *
 * Memory: steps, queues, and the work that runs at a time.
 */
#ifndef TP_MERGE_GPU_TIME_H
#define TP_MERGE_GPU_TIME_H

#include "merge/facts/time/launches.h"
#include "merge/kit/spread.h"
#include "merge/model/model.h"

/* Why no kernel ran. */
enum tp_idle {
	TP_IDLE_COPY,	/* a copy (or a set) ran */
	TP_IDLE_HOST,	/* nothing ran, and the call for the next work had not returned: the host
			 * had not asked for it in time */
	TP_IDLE_QUEUE,	/* nothing ran though the next work was asked for, and the last work to end
			 * was another stream's: it waited for that */
	TP_IDLE_OTHER,	/* nothing ran though the next work was asked for; or its call is not known */
	TP_IDLE_N
};
const char *tp_idle_name(enum tp_idle cause);

struct tp_gpu_figures {		/* of a stretch of time */
	int64_t all_ns;		/* how long it is */
	int64_t busy_ns;	/* any work runs */
	int64_t kernel_ns;	/* a kernel runs; by all_ns: GPU utilisation */
	int64_t compute_ns;	/* one that is not communication (nccl) */
	int64_t comm_ns;
	int64_t copy_ns;	/* a copy or a set */
	int64_t compute_copy_ns, compute_comm_ns; /* both at a time */
	int64_t idle_ns[TP_IDLE_N];
	/* Integrals over the kernels running: */
	double sm_ns;		/* of min(sum of blocks per SM, 1); by all_ns: est. SM efficiency */
	double occupancy_ns;	/* of est. achieved occupancies; by known_ns: their mean by time */
	double known_ns;	/* of 1 for each kernel whose occupancy is known */
	double run_ns, tensor_ns; /* of 1 for each kernel; each with tensor cores */
};

void tp_gpu_add(struct tp_gpu_figures *to, const struct tp_gpu_figures *from);

struct tp_gpu_step {
	uint64_t index;		/* of the step in the run */
	int64_t begin_ns, end_ns;
	uint32_t window;
};

struct tp_gpu_queue {
	const struct tp_queue *queue;
	uint64_t n_launches;	/* calls whose work began */
	uint32_t depth_most;	/* calls made whose work has not begun, at most */
	int64_t wait_ns;	/* sum of all delays; by time: the mean depth (Little's law) */
	int64_t *start;		/* gpu_queue.c's: when the last launches began, a ring */
	uint32_t n_starts, next_start, cap_starts;
};

struct tp_gpu_device {
	const struct tp_proc *proc;
	uint32_t id;
	const struct tp_device *device;	/* NULL: not known */
	struct tp_gpu_figures total;	/* see above; without any step: of the windows */
	bool has_steps;
	struct tp_gpu_figures *step;	/* tp_gpu_time_steps(): cut at the program's own edges */
	struct tp_gpu_queue *queue;
	uint32_t n_queues, cap_queues;
	struct tp_spread delay;		/* from the start of a call to that of its first work */
	uint64_t n_work, n_no_call;	/* without a call that is known */
	uint64_t n_reported;		/* kernels: tp_occupancy.is_reported */
	uint64_t n_before_call;		/* began before its call: cannot be */
	int64_t most_before_ns;
};

struct tp_gpu_time;

/* By steps, of all work. */
extern const struct tp_fact tp_fact_gpu_time;

struct tp_gpu_time *tp_gpu_time_new(const struct tp_run *run);
void tp_gpu_time_free(struct tp_gpu_time *time);
/* A step has begun. Before its work. */
void tp_gpu_time_step(struct tp_gpu_time *time, const struct tp_event *event);
/* In place of steps, before any work: all windows in pieces of that length, above 0 ns. A window may
 * begin before the run's first event, time 0; timelines have no time before that, and so no piece has. */
void tp_gpu_time_pieces(struct tp_gpu_time *time, int64_t piece_ns);
/* KERNEL, MEMCPY, MEMSET or GRAPH, in begin order, with its call or NULL: for tp_launches_each. */
void tp_gpu_time_work(struct tp_gpu_time *time, const struct tp_event *event,
		      const struct tp_launch_call *call);
/* For how long in steps the device was idle, waiting for the host to ask for the work that was given last. */
int64_t tp_gpu_time_waited(const struct tp_gpu_time *time);
/* No more events: figures are final. */
void tp_gpu_time_end(struct tp_gpu_time *time);

/* By process, then by id. */
uint32_t tp_gpu_time_count(const struct tp_gpu_time *time);
const struct tp_gpu_device *tp_gpu_time_at(const struct tp_gpu_time *time, uint32_t i);
/* The steps that the devices' of a process are parallel to. */
const struct tp_gpu_step *tp_gpu_time_steps(const struct tp_gpu_time *time,
					    const struct tp_proc *proc, uint32_t *n);
bool tp_gpu_time_is_incomplete(const struct tp_gpu_time *time);	/* memory ran out */

/* Of communication between devices, by its name (nccl's). */
bool tp_gpu_is_communication(const struct tp_event *event);

#endif
