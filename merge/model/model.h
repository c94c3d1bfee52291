/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model.h - what sinks and views see of a run: processes, threads, events in time order
 *
 * Built by input.c (who is there), align.c (one clock) and fuse.c (order). Events are handed
 * out one at a time, by begin time; what they point to lives until the end of the run,
 * the event itself only until the call returns.
 */
#ifndef TP_MERGE_MODEL_H
#define TP_MERGE_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/trace/hang.h"
#include "runtime/trace/oom.h"
#include "runtime/trace/trainprof_trace.h"

struct tp_string {
	uint32_t kind;		/* enum tp_string_kind, 0: unknown id */
	uint32_t n_bytes;
	const char *bytes;	/* NUL-terminated beyond n_bytes; not to be trusted */
	uint32_t same;		/* number of the string among all equal ones of the run: equal
				 * strings of different files and ranks have equal `same` */
};

struct tp_thread {
	uint32_t slot, tid, torch_id;
	bool is_main;
	char name[17];
};

/* A device of one process, as far as its trace tells. Zero: not known. */
struct tp_device {
	uint32_t id;			/* CUPTI's, the process's own numbering */
	char name[97];
	uint32_t major, minor;		/* compute capability */
	uint32_t n_sms, warp_threads;
	uint32_t sm_threads, sm_registers, sm_shared; /* most per multiprocessor */
	uint32_t block_threads, block_registers, block_shared, block_shared_optin;
	uint64_t memory_bytes;
	uint32_t clock_khz;
};

/* A file of code and where a process had it; path and build id live as long as the run. */
struct tp_module_at {
	const char *path;
	const uint8_t *build_id;	/* NULL: it has none */
	uint32_t build_id_bytes;
	uint64_t bias;			/* address at run time less address in the file's headers */
	uint64_t begin, end;		/* addresses at run time */
	int64_t from_ns, to_ns;		/* it was there for sure; INT64_MAX: to the end */
};

/* A stream of a device, of one process: what runs on it runs in order. */
struct tp_queue {
	uint32_t at;			/* index in tp_proc.queue */
	uint32_t device, context, stream;
};

/* One profiled process, over all its windows: a rank, or a worker of one (of a data loader...),
 * which stands right behind its rank in tp_run.proc. */
struct tp_proc {
	uint32_t at;		/* index in tp_run.proc */
	int32_t rank, local_rank, world_size, node_rank;
	uint32_t pid, restart;
	uint32_t worker;	/* a worker process of its rank: its number; 0: the rank itself */
	uint32_t parent_pid;	/* of a worker: the rank's process */
	uint64_t parent_run_id;
	uint64_t run_id, boot_id[2];
	char host[65];
	const char *program;	/* from META; may be "" */
	bool has_own_steps;	/* its steps are its own ranges "ProfilerStep#N": TRAINPROF_STEP said so */
	struct tp_thread *thread;
	uint32_t n_threads;	/* by slot, unused slots have tid 0; behind them, threads that took
				 * over the slot of an earlier one: thread[i].slot says which; of
				 * a process with CUDA then spare ones (tid 0) for threads that are
				 * met in CALL events only. Constant while events come */
	const char *started;	/* "key=value" lines of its ledger: how it was started and ended; "" */
	bool is_running;	/* its ring is here, and held by a living process */
	bool is_dead;		/* recovered from a ring: it did not end in order */
	bool is_replaced;	/* the same, and it did so itself: by exec another program has its pid */
	bool is_twin;		/* torch.profiler's trace of a process that has one of ours, too */
	bool is_past;		/* of an earlier start: the job's ranks were started again later */
	struct tp_queue **queue;	/* as they are met: grows while events come */
	uint32_t n_queues;
	bool has_gpu;			/* its strings say so */
	struct tp_device *device;	/* by id, ascending; complete before the first event */
	uint32_t n_devices;
	struct tp_module_at *module;	/* by begin, then from_ns; complete before the first event */
	uint32_t n_modules;
};

/* Something ended it. */
static inline bool tp_proc_died(const struct tp_proc *proc)
{
	return proc->is_dead && !proc->is_replaced;
}

/* It died, or (!died) it still runs; one that called exec does neither. */
static inline bool tp_proc_died_or_runs(const struct tp_proc *proc, bool died)
{
	return died ? tp_proc_died(proc) : proc->is_running;
}

/* Does it work for that rank? Another host may have a process of the same number. */
static inline bool tp_proc_works_for(const struct tp_proc *worker, const struct tp_proc *rank)
{
	return worker->worker && !rank->worker && worker->parent_run_id == rank->run_id &&
	       worker->parent_pid == rank->pid;
}

struct tp_event {
	const struct tp_proc *proc;
	const struct tp_thread *thread;	/* never NULL */
	uint32_t window;
	uint8_t kind, flags;
	uint32_t link;
	uint64_t arg;
	int64_t begin_ns, end_ns;	/* aligned; zero is tp_run.zero_real_ns; end == begin unless a span */
	uint64_t len;			/* memory records: as in the record; spans: end - begin */
	const struct tp_string *name;	/* never NULL; kind 0 when there is none. Transfers, syncs
					 * and graph launches have got one: device.h */
	const struct tp_string *shapes;	/* OP, RANGE; never NULL */
	/* What happened on a device; NULL: on the host. `thread` means nothing then. CALL and
	 * OVERHEAD have the thread that they happened on. */
	const struct tp_queue *queue;
	const struct tp_string *detail;	/* LAUNCH, TRANSFER, SYNC, DEVMEM: see device.h; never NULL */
};

/* Which thread of its process an event is of; n_threads: of none of them. Not the slot: a thread may
 * have taken over the slot of one that ended. */
static inline uint32_t tp_thread_at(const struct tp_event *event)
{
	const struct tp_proc *proc = event->proc;
	uintptr_t from = (uintptr_t)event->thread - (uintptr_t)proc->thread;

	if (from / sizeof(*proc->thread) < proc->n_threads)
		return (uint32_t)(from / sizeof(*proc->thread));
	return proc->n_threads;
}

/* An open span of a process that died, or of one that still runs (!proc->is_dead): innermost last. */
struct tp_open_at_end {
	const struct tp_proc *proc;
	const struct tp_thread *thread;
	const struct tp_string *name;
	uint8_t kind;
	int64_t begin_ns, seen_ns;	/* seen: last sign of life; of a process that runs here, now */
	uint32_t depth;
};

/* Whether a step, by its index, is one of those that are asked about. */
typedef bool tp_step_choose(const void *ctx, uint64_t step);

/* One line of a step ledger. */
struct tp_step_row {
	const struct tp_proc *proc;
	uint64_t index;
	uint32_t epoch, in_epoch, batches;
	int64_t begin_ns, dur_ns, data_wait_ns, optimizer_ns;
	uint64_t live_bytes, peak_bytes, device_live, device_peak, dropped;
	uint64_t heap_bytes;		/* alive in the allocator at its end, with tensors; 0: not known */
	uint64_t resident, virtual;	/* of the process soon after; 0: not known */
	uint8_t phase, source, flags;
};

/* Anything that was lost, broken, off or odd: shown by `health`, drives --strict. */
struct tp_issue {
	const struct tp_proc *proc;	/* NULL: the whole run */
	bool is_loss;			/* data is missing because of it */
	const char *text;		/* whole, however long a path in it; of the run */
};

/* The file that a report was, and all of its text: n bytes, not terminated. */
struct tp_report_at {
	char *path, *text;
	uint32_t n;
};

/* A process's hang report. */
struct tp_hang_at {
	struct tp_hang hang;
	struct tp_report_at at;
};

/* A process's out-of-memory report. */
struct tp_oom_at {
	struct tp_oom oom;
	struct tp_report_at at;
};

struct tp_window {
	const struct tp_proc *proc;
	uint32_t window;
	bool is_whole;			/* has its END block */
	bool is_recovered;
	uint64_t n_events, dropped, file_bytes;
	int64_t begin_ns, end_ns;
	int64_t clock_error_ns;		/* +- bound on its times against the run's clock; < 0: not
				 * bounded (several hosts, or too few clock readings) */
	const char *path;
	const char *meta, *totals;	/* texts of the META and END blocks, NUL-terminated; "" if none */
};

struct tp_run {
	const char *path;		/* as given, for messages */
	struct tp_proc **proc;
	uint32_t n_procs;
	bool is_selection;		/* only some ranks were asked for */
	bool is_quiet;			/* no lines of progress */
	struct tp_window *window;
	uint32_t n_windows;
	struct tp_step_row *step;	/* all ledgers, by proc, then index */
	uint32_t n_steps;
	struct tp_open_at_end *open;
	uint32_t n_open;
	struct tp_hang_at *hang;	/* what processes said of themselves while the run hung */
	uint32_t n_hangs;
	struct tp_oom_at *oom;		/* allocations that failed */
	uint32_t n_ooms;
	struct tp_issue *issue;
	uint32_t n_issues;
	uint32_t n_distinct_strings;	/* tp_string.same is below it; grows while events come */
	uint64_t zero_real_ns;		/* CLOCK_REALTIME of time 0 */
	uint32_t n_hosts;		/* boots: each has a clock of its own */
	char clocks[96];		/* of several hosts: how their clocks were compared; "" if not */
	uint64_t violations_before, violations_after; /* of causality, see place_hosts.c */
	uint64_t n_events;		/* handed out so far */
};

/* NULL: there is none of that number. */
static inline const struct tp_window *tp_window_of(const struct tp_run *run, const struct tp_proc *proc,
						   uint32_t number)
{
	for (uint32_t i = 0; i < run->n_windows; i++)
		if (run->window[i].proc == proc && run->window[i].window == number)
			return &run->window[i];
	return NULL;
}

/* is_loss: see tp_issue. proc may be NULL. */
void tp_run_issue(struct tp_run *run, const struct tp_proc *proc, bool is_loss,
		  const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
