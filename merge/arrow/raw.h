/* SPDX-License-Identifier: Apache-2.0 */
/*
 * raw.h - tables that no view shows: who was recorded, what went wrong, and events one by one
 */
#ifndef TP_MERGE_ARROW_RAW_H
#define TP_MERGE_ARROW_RAW_H

#include "merge/arrow/raw_rows.h"
#include "merge/input/fuse.h"
#include "merge/model/fact.h"

/* Where the rows of a table come from: one of the three. */
struct tp_raw {
	const char *name, *help;
	const struct tp_raw_column *column;
	/* Of events in order: a fact that puts rows into what `params`, a struct tp_raw_to, says. */
	const struct tp_fact *fact;
	/* Of the run. */
	void (*show)(struct tp_run *run, struct tp_raw_rows *rows);
	bool needs_events;	/* `show` comes when all of them were read */
	/* Of events in any order, a part at a time, by column. begin: what `part` needs, to be freed. */
	void *(*begin_parts)(struct tp_run *run, struct tp_raw_rows *rows);
	void (*part)(void *state, struct tp_raw_rows *rows, const struct tp_block_part *part);
};

struct tp_raw_to {
	struct tp_raw_rows *rows;
};

/* What rows of events, spans and device work begin with. */
struct tp_raw_head {
	int64_t process_at, rank, pid, tid, window;
	const char *kind, *name;
	int64_t begin_ns, dur_ns;
};
#define TP_RAW_HEAD(row)                                                                           \
	{"process_at", TP_UNIT_NUMBER, offsetof(row, head.process_at), false, "of the table processes"}, \
	{"rank", TP_UNIT_NUMBER, offsetof(row, head.rank), false, "rank in the job"},              \
	{"pid", TP_UNIT_NUMBER, offsetof(row, head.pid), false, "process id"},                     \
	{"tid", TP_UNIT_NUMBER, offsetof(row, head.tid), false,                                    \
	 "thread id; none: on a device, or not known"},                                            \
	{"window", TP_UNIT_NUMBER, offsetof(row, head.window), false, "window that recorded it"},  \
	{"kind", TP_UNIT_TEXT, offsetof(row, head.kind), true, "what it is: operator, range, kernel..."}, \
	{"name", TP_UNIT_TEXT, offsetof(row, head.name), true, "its name"},                        \
	{"begin_ns", TP_UNIT_NS, offsetof(row, head.begin_ns), false, "when it began, on the run's one clock"}, \
	{"dur_ns", TP_UNIT_NS, offsetof(row, head.dur_ns), false, "how long it took; 0: instantaneous"}
struct tp_raw_head tp_raw_head_of(const struct tp_event *event);
const char *tp_raw_kind(uint8_t kind);	/* "?" of those that are not known */
/* What a string says as a name; "" where it is none. */
const char *tp_raw_name(const struct tp_string *string);
/* A rank, or none. */
static inline int64_t tp_raw_rank(const struct tp_proc *proc)
{
	return proc->rank >= 0 ? proc->rank : TP_RAW_NONE;
}

extern const struct tp_raw tp_raw_processes, tp_raw_files, tp_raw_issues, tp_raw_events, tp_raw_spans,
	tp_raw_kernels, tp_raw_collectives, tp_raw_tensors, tp_raw_heap, tp_raw_samples, tp_raw_counters,
	tp_raw_strings, tp_raw_stacks;
/* All of them, NULL at the end. */
extern const struct tp_raw *const tp_raws[];

#endif
