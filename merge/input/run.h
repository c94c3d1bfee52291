/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run.h - the inside of a run, shared by the files that open and fuse it only
 *
 * Everything that sinks and views see is a struct of model.h; these structures begin with
 * them and add what opening and fusing need.
 */
#ifndef TP_MERGE_RUN_H
#define TP_MERGE_RUN_H

#include <stdio.h>

#include "merge/clock/align.h"
#include "merge/input/infile.h"
#include "merge/input/options.h"
#include "merge/input/queues.h"
#include "merge/kit/sum.h"
#include "merge/model/strings.h"
#include "runtime/base/own_fd.h"
#include "runtime/trace/reader.h"
#include "runtime/trace/ring_layout.h"

struct tp_node;

/* Times between which events of a process were asked for (--steps). */
struct tp_span_ns {
	int64_t first, last;
};

struct tp_proc_in {
	struct tp_proc pub;		/* first: the two are cast to each other */
	struct tp_ids ids;
	uint32_t cap_threads;
	uint32_t n_slots;		/* threads at [n_slots..] took over a slot of an earlier one */
	struct tp_clock_anchor *anchor;
	uint32_t n_anchors, cap_anchors;
	struct tp_align_map map;
	int64_t to_run_ns;		/* of what `map` gives -> time of the run */
	int64_t shift_ns;		/* its CLOCK_MONOTONIC - its host's: of a time namespace */
	struct tp_span_ns *chosen;
	uint32_t n_chosen, cap_chosen;
	struct tp_chosen_call *chosen_call; /* of the newest calls; NULL: no steps were asked for */
	uint32_t host;			/* one boot of one machine; 0: the clock of the run */
	bool is_tsc, is_live;
	bool has_modules;		/* of nn.Modules, the same */
	const struct tp_proc_in *twin;	/* of a trace of torch.profiler: ours of the same process; NULL */
	struct tp_queues queues;
	uint32_t cap_devices;
	uint32_t *loose_id;		/* of strings that no event names: DEVICE, MODULE */
	uint32_t n_loose_ids, cap_loose_ids;
	/* What its ring says about its files: see ring_layout.h. */
	bool has_ring;
	uint32_t windows_written;
	uint32_t pass_window[2];
	uint64_t pass_bytes[2], pass_done;
	struct tp_ring_stand stand;	/* as its ring has it; time 0: not known */
	struct tp_ring_window ring_window[TP_RING_WINDOWS];	/* number n is [n % TP_RING_WINDOWS] */
	uint32_t windows_begun;
	uint64_t ring_dropped;
	uint64_t seen_ticks;		/* last sign of life: latest time in its files and ring */
	struct tp_ring_step *ring_step;	/* finished, not in the ledger file */
	uint32_t n_ring_steps, cap_ring_steps;
	struct tp_ring_open *ring_open;	/* open spans, as its ring holds them */
	uint32_t n_ring_open, cap_ring_open;
	char *ring_path;		/* NULL: none read */
	char *ledger_path;		/* of its ledger file, if one was read */
	struct tp_own_fd ring_file, ledger_file;	/* which files those were; not open */
	uid_t ring_uid;
};

struct tp_ring_open {
	struct tp_open_span span;
	uint32_t slot, depth;
	uint32_t thread;		/* index in proc->thread */
	bool has_ended;			/* its record was published: only the stack lags */
};

/* Which thread each slot means, from some block of a file on. */
struct tp_slots {
	uint32_t n;
	uint16_t *thread;		/* index in proc->thread, or TP_NO_THREAD */
};

/* Where blocks of events come from: a trace file, or what a ring holds beyond its files. */
struct tp_source {
	struct tp_proc_in *proc;
	uint32_t window;		/* index in run.window */
	char *path;			/* for messages */
	struct tp_infile *file;		/* NULL: a ring */
	struct tp_ring_rest *rest;	/* not NULL: a ring */
	bool is_lost;			/* said: it cannot be read any more */
	struct tp_slots *slots;
	uint32_t n_slots, cap_slots;
};

struct tp_block_ref {
	int64_t first_ns, last_ns;	/* begins of its events */
	uint64_t lies_at;		/* of its head, in source.file */
	uint64_t offset;		/* the same in the trace as it was written: for messages */
	uint32_t source;		/* index in run.source */
	uint32_t at;			/* block of the reader, or part of the ring */
	uint32_t n_events, stored_bytes;
	uint32_t slots;			/* index in source.slots */
	bool has_stacks;		/* or may have: events of all later blocks may need it */
};

/* A file that was read; the parts of a node file each. */
struct tp_member {
	enum tp_member_kind kind;
	struct tp_proc_in *proc;
	char *path;			/* where it can be read; of a node file's the node file's */
	char *shown;			/* what people know it by */
	int64_t source;			/* of a trace: index in run.source; -1: a better one was found */
	dev_t dev;			/* of that file */
	ino_t ino;
	struct tp_node *node;		/* NULL: a file of its own */
	uint32_t part;			/* in node.part */
};

/* An issue that only shows when the files themselves are opened: node files carry it. */
struct tp_note {
	uint32_t issue;
	uint32_t before;		/* n_members at the time */
};

struct tp_run_in {
	struct tp_run pub;		/* first */
	struct tp_fuse_options options;
	struct tp_strings strings;
	struct tp_infiles files;
	struct tp_source *source;
	uint32_t n_sources, cap_sources;
	struct tp_block_ref *block;	/* of EVENTS and LONG, by first_ns once opened */
	uint32_t n_blocks, cap_blocks;
	uint32_t cap_procs, cap_windows, cap_steps, cap_open, cap_issues, cap_hangs,
		cap_ooms;
	uint64_t n_events_due;		/* in all blocks: for the progress line */
	uint64_t n_unknown_ids;
	uint64_t n_input_bytes;		/* of all files, as they lie there */
	uint64_t n_text_bytes;		/* beside the strings: ids, texts of windows */
	uint64_t n_left_out;		/* names and texts that may take no more memory */
	uint64_t n_events_left_out;	/* the same of events */
	struct tp_member *member;	/* in the order in which they were read */
	uint32_t n_members, cap_members;
	struct tp_note *note;
	uint32_t n_notes, cap_notes;
	struct tp_node **node;
	uint32_t n_nodes, cap_nodes;
	int *kept_fd;			/* of converted traces: files without a name */
	uint32_t n_kept_fds, cap_kept_fds;
	uint32_t n_hosts;
	struct tp_host_at *host;	/* n_hosts: see place_hosts.c */
	struct tp_clocks *clocks;	/* NULL: there is one host only */
	uint32_t n_kineto;		/* traces that were converted */
};

static inline struct tp_run_in *tp_run_inside(struct tp_run *run)
{
	return (struct tp_run_in *)run;
}

/* The process with these identities, made when it is new. NULL: out of memory. */
struct tp_proc_in *tp_run_proc(struct tp_run_in *run, const struct tp_file_head *head);
/* Its window, made when it is new. -1: out of memory. */
int64_t tp_run_window(struct tp_run_in *run, struct tp_proc_in *proc, uint32_t window,
		      bool *is_new);
/* Index of a new source; -1: out of memory. */
int64_t tp_run_source(struct tp_run_in *run, struct tp_proc_in *proc, uint32_t window_at,
		      const char *path);
/* A block of events of run.source[block.source], from now on with the slots that are known of it;
 * its times are ticks until the clocks are aligned. 0 or -ENOMEM. */
int tp_run_block(struct tp_run_in *run, struct tp_block_ref block);
/* The head of a trace of its, of window 0. */
struct tp_file_head tp_run_file_head(const struct tp_proc_in *proc);
/* Of one that did not end in order: the predicate of a sentence about it. */
static inline const char *tp_run_how_ended(const struct tp_proc_in *proc)
{
	return proc->pub.is_replaced ? "became another program (exec)" : "did not exit cleanly";
}
int tp_run_anchor(struct tp_proc_in *proc, const struct tp_clock_anchor *anchor);
/* Index in proc->thread of the thread that had this slot and tid; -1: there is none. */
int64_t tp_run_find_thread(const struct tp_proc_in *proc, uint32_t slot, uint32_t tid);
/* The same, made when it is new; -1. */
int64_t tp_run_proc_thread(struct tp_proc_in *proc, const struct tp_thread_entry *entry);
/* Slot `entry->slot` of the source means this thread from now on. 0 or -ENOMEM. */
int tp_run_thread(struct tp_source *source, const struct tp_thread_entry *entry);
/* Times of the run further from its begin, 18 years, are none: sums of some of the others fit. */
#define TP_RUN_FAR_NS (1ll << 59)
static inline bool tp_run_is_time(int64_t ns)
{
	return ns > -TP_RUN_FAR_NS && ns < TP_RUN_FAR_NS;
}

/* Ticks of a process in the run's time; only after the clocks were aligned, of one that has any
 * (map.n_knots). */
static inline int64_t tp_run_ns(const struct tp_proc_in *proc, uint32_t *hint, uint64_t ticks)
{
	return tp_add(tp_align_ns(&proc->map, hint, ticks), proc->to_run_ns);
}

/* A file was read; `node` and `part` as in tp_member. False: out of memory. */
bool tp_run_member(struct tp_run_in *run, struct tp_member member);
/* Issues from that number on are such as tp_note. */
void tp_run_keep(struct tp_run_in *run, uint32_t from);

/* Facts about the process that only META knows: host, program. */
void tp_run_take_meta(struct tp_proc_in *proc, const char *meta);
/*
 * Names and texts of the files take memory in proportion to the files: what is more was made to
 * fill it. False: so many bytes more are too many; counted, and said once all files are open.
 */
bool tp_run_affords(struct tp_run_in *run, uint64_t n_bytes);
/* The same of a block of n events: what views keep of them grows with them. */
bool tp_run_affords_events(struct tp_run_in *run, uint32_t n);
/* Its string, and that `id` of the process means it. 0 or -errno (see tp_ids_set). */
int tp_run_string(struct tp_run_in *run, struct tp_proc_in *proc, uint32_t id, uint32_t kind,
		  const char *bytes, uint32_t n_bytes);

/* ---- trace_in.c, kineto_open.c ---- */

/* Indexes the trace file fd (its own from now on), which is opened again at `path`; `shown` is what people
 * know it by. 0 or -errno; trouble becomes an issue. */
int tp_run_read_trace(struct tp_run_in *run, int fd, const char *path, const char *shown);
/* The same of one that is a member of a node file; `part` is filled. */
int tp_run_read_part(struct tp_run_in *run, struct tp_node *node, uint32_t part);
/* The same of a trace of torch.profiler, which becomes one of ours in $TMPDIR first. */
int tp_run_read_kineto(struct tp_run_in *run, int from, const char *path);

/* ---- place.c ---- */

/* Puts processes, blocks, windows and steps on one clock from the earliest on, in order, and
 * marks the steps that were asked for. Once, after every file was indexed. 0 or -ENOMEM. */
int tp_run_place(struct tp_run_in *run);

/* ---- place_hosts.c ---- */

/* Aligns processes to their hosts and hosts to each other: map and to_run_ns of each process,
 * in CLOCK_REALTIME of the first host. 0 or -ENOMEM. */
int tp_run_place_hosts(struct tp_run_in *run);
/* A time of the process's CLOCK_MONOTONIC in the run's. */
int64_t tp_run_mono_ns(const struct tp_run_in *run, const struct tp_proc_in *proc,
		       int64_t mono_ns);
/* How far times of the process between these (of the run) may be off; < 0: not bounded. */
int64_t tp_run_clock_error(const struct tp_run_in *run, const struct tp_proc_in *proc,
			   int64_t first_ns, int64_t last_ns);

/* ---- ledger_in.c ---- */

/* Rows of the ledger fd, the same; begin_ns stays on CLOCK_MONOTONIC until the clocks are aligned. */
int tp_run_read_ledger(struct tp_run_in *run, int fd, const char *path, const char *shown);
/* The same of text; the process it is of, NULL: none. 0 or -ENOMEM. */
int tp_run_read_ledger_text(struct tp_run_in *run, FILE *text, const char *shown,
			    struct tp_proc_in **proc);
/* A line "key=value" for proc->started; "key+=value" goes on with the last one's value. Out of memory, or too
 * much of it: it is left out. */
void tp_run_fact(struct tp_run_in *run, struct tp_proc *proc, const char *fact);
/* By process and index, each once; times of the run. After the clocks were aligned. */
void tp_run_settle_steps(struct tp_run_in *run);

/* ---- report_in.c ---- */

/* A report of a hang or of an allocation that failed, the same; one that cannot be read becomes an
 * issue. 0 or -ENOMEM. */
int tp_run_read_report(struct tp_run_in *run, int fd, const char *path);
/* The same of its n bytes; one that is there already counts once. */
int tp_run_take_report(struct tp_run_in *run, const char *text, size_t n, const char *path);
void tp_run_free_report(struct tp_report_at *at);
/* Those of processes that are not of the run go. After all files were read. */
void tp_run_settle_reports(struct tp_run_in *run);

/* ---- merge/input/ring: the ring of a process that died or still runs ---- */

/*
 * Reads the ring fd (its own from now on), which is opened again at `path`: process, names, threads,
 * anchors; records that no file holds become sources; open spans and undrained steps are kept in the
 * process until the clocks are aligned. 0, or -ENOMEM; other trouble becomes an issue. Every offset and
 * count in the file is checked. Before the process's trace files are read: the ring says how much of
 * them counts.
 */
int tp_recover_ring(struct tp_run_in *run, int fd, const char *path);
/* The same of one that a node file kept, here in the file fd; its process is dead. */
int tp_recover_kept(struct tp_run_in *run, int fd, const char *shown, struct tp_proc_in **proc);
/* How many bytes count of the unfinished file of that window; UINT64_MAX: all. */
uint64_t tp_recover_file_bytes(const struct tp_proc_in *proc, uint32_t window);
/* From when to when, in ticks, its ring says that a window is: up to the last sign of life when it was
 * not over. False: its ring does not know. After all files were read. */
bool tp_recover_bounds(const struct tp_proc_in *proc, uint32_t window, uint64_t *begin, uint64_t *end);
/* The totals of a file that --recover made: its process is dead, if they say so, and what they say was open
 * is. Does nothing where its ring was read. What they say is checked. 0 or -ENOMEM. */
int tp_recover_death(struct tp_proc_in *proc, const char *totals);
/* Part `at` of the rest: its n records. 0 or -errno. */
int tp_recover_events(struct tp_ring_rest *rest, uint32_t at, struct tp_rec *rec,
		      uint16_t *thread, uint32_t n);
void tp_recover_free(struct tp_ring_rest *rest);
/* Steps become the run's, as the ledgers' are: after the clocks were aligned, before the run has a time
 * 0, which may be the first of them. 0 or -ENOMEM. */
int tp_recover_settle_steps(struct tp_run_in *run);
/* Open spans become the run's, in its time, and where it stood a fact `stood` of the process, as in
 * trainprof-trace(5), "Step ledger". 0 or -ENOMEM. */
int tp_recover_settle_open(struct tp_run_in *run);

#endif
