/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_time_in.h - the inside of gpu_time.h, for its own files
 *
 * gpu_sweep.c goes through time and adds up, gpu_queue.c counts what waits in streams,
 * gpu_time.c takes events.
 */
#ifndef TP_MERGE_GPU_TIME_IN_H
#define TP_MERGE_GPU_TIME_IN_H

#include "merge/facts/time/gpu_time.h"
#include "merge/facts/time/occupancy.h"

/* As clip.h bounds events: further away no time is real. */
#define TP_GPU_TIME_MAX_NS ((int64_t)1 << 60)

enum tp_gpu_kind { TP_GPU_COMPUTE, TP_GPU_COMM, TP_GPU_COPY, TP_GPU_KINDS };

/* Work that runs. */
struct tp_gpu_open {
	int64_t end_ns;
	const struct tp_queue *queue;
	float blocks, occupancy;
	uint8_t kind;
	bool is_known, is_reported, uses_tensor_cores;
};

struct tp_gpu_sweep {			/* of a device */
	struct tp_gpu_device pub;
	bool has_begun;
	int64_t now_ns;
	struct tp_gpu_open *open;	/* a heap: the first ends first */
	uint32_t n_open, cap_open;
	const struct tp_queue *last; /* the queue of the work that ended last */
	uint32_t n_kind[TP_GPU_KINDS];
	double blocks, occupancy, n_known, n_tensor; /* sums over `open` */
	uint32_t at;		/* first step that has not ended */
	uint32_t cap_steps;
	/* The window whose steps are being added up; steps [range, ...) are of it. */
	uint32_t range;
	bool has_range, has_own;/* work launched in it has begun */
	int64_t range_end_ns;
	struct tp_gpu_figures lead, sums, tail; /* before its own work; up to range_end_ns; on */
	struct tp_gpu_figures whole;
	uint32_t window;	/* first one of the process that has not ended */
};

struct tp_gpu_steps {			/* of a process */
	struct tp_gpu_step *step;
	uint32_t n, cap;
	/* Times in which others had CUPTI: whether devices worked then is not known. */
	struct tp_gpu_gap {
		int64_t begin_ns, end_ns;
	} *gap;
	uint32_t n_gaps, cap_gaps;
};

struct tp_gpu_time {
	const struct tp_run *run;
	struct tp_gpu_steps *steps;	/* by tp_proc.at */
	const struct tp_window **window; /* by begin */
	uint32_t n_windows;
	struct tp_gpu_sweep **sweep;
	uint32_t n_sweeps, cap_sweeps;
	struct tp_name_of {
		bool is_looked_up, is_communication, uses_tensor_cores;
	} *of;			/* by tp_string.same */
	uint32_t cap_of;
	struct tp_occupancies occupancies;
	int64_t waited_ns;	/* tp_gpu_time_waited() */
	bool is_incomplete;
};

/* ---- gpu_sweep.c ---- */

/* Up to `to`; `cause` is why nothing runs where nothing does. */
void tp_gpu_advance(struct tp_gpu_time *time, struct tp_gpu_sweep *s, int64_t to,
		    enum tp_idle cause);
/* A MARK; it may say that others have CUPTI for so long. */
void tp_gpu_note_gap(struct tp_gpu_time *time, const struct tp_event *event);
bool tp_gpu_has_gap(const struct tp_gpu_time *time, const struct tp_proc *proc, int64_t begin_ns,
		    int64_t end_ns);
/* Why nothing runs between the end of what runs now and the start of this. */
enum tp_idle tp_gpu_why(const struct tp_gpu_time *time, const struct tp_gpu_sweep *s,
			const struct tp_event *event, const struct tp_launch_call *call);
/* Runs from now on. */
void tp_gpu_push(struct tp_gpu_time *time, struct tp_gpu_sweep *s,
		 const struct tp_gpu_open *open);
/* The window's steps are over: its figures go to the device's. */
void tp_gpu_close_range(struct tp_gpu_sweep *s);
/* The window's first work begins now: what the device did before is not known. */
void tp_gpu_forget_lead(struct tp_gpu_sweep *s);
/* The window's steps, or the work launched in them, last to there. */
void tp_gpu_extend_range(struct tp_gpu_sweep *s, int64_t end_ns);
/* The first window of the device's process from the i-th on; NULL: none. */
const struct tp_window *tp_gpu_window_at(const struct tp_gpu_time *time,
					 const struct tp_gpu_sweep *s, uint32_t *i);

/* ---- gpu_queue.c ---- */

/* The first work of a call begins. */
void tp_gpu_take_launch(struct tp_gpu_time *time, struct tp_gpu_sweep *s,
			const struct tp_event *event, const struct tp_launch_call *call);

#endif
