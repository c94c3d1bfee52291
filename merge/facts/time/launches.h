/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launches.h - which call of which thread, inside which operator, started a device's work
 *
 * By correlation id within a window of a process, the newest call with that id before the work
 * began (ids wrap), or, without one, the first to begin after it. One call may start many (a
 * graph); work without a call is legal (a cut trace). Calls of the runtime API enclose those of
 * the driver that they make: the outermost traced one has the id.
 *
 * Memory: the newest TP_LAUNCHES_KEPT calls of each process, but of more than 8192 only those
 * that began less than TP_LAUNCHES_KEPT_NS ago: a full queue of a device makes its callers wait.
 * With several processes fewer: as many as TP_LAUNCHES_BYTES hold of all of them, but
 * TP_LAUNCHES_LEAST of each, twice of what a queue takes before its callers wait.
 */
#ifndef TP_MERGE_LAUNCHES_H
#define TP_MERGE_LAUNCHES_H

#include "merge/model/fact.h"

enum {	/* powers of two */
	TP_LAUNCHES_KEPT = 1 << 17,
	TP_LAUNCHES_LEAST = 1 << 11,
	TP_LAUNCHES_BYTES = 1 << 23,
};
#define TP_LAUNCHES_KEPT_NS 2000000000ll
/* Device times that were turned into the host's may be off: work may seem to begin before its
 * call. By some us where all is well; its ids tell what belongs together all the same. */
#define TP_LAUNCHES_LATE_NS 100000000ll

struct tp_launch_call {
	int64_t begin_ns, end_ns;
	const struct tp_proc *proc;
	const struct tp_thread *thread;
	const struct tp_string *name;
	uint32_t correlation, window;
	uint32_t serial;	/* counts the calls of its process, from 1 on */
	uint32_t n_work;	/* pieces of device work found so far */
};

struct tp_launches;

/* The joins of a run: of events as they were recorded, and of those cut to their windows. */
extern const struct tp_fact tp_fact_launches, tp_fact_launches_cut;

struct tp_launches *tp_launches_new(const struct tp_run *run);
void tp_launches_free(struct tp_launches *launches);	/* NULL: nothing */
/* A CALL event. */
void tp_launches_call(struct tp_launches *launches, const struct tp_event *event);
/* The call behind an event with a queue; valid until the next call is given. NULL: none, or
 * not given yet. */
struct tp_launch_call *tp_launches_find(struct tp_launches *launches, const struct tp_event *event);

/*
 * For those who need the call of work that seems to begin before it, too: work is handed on
 * with its call (NULL: none), in the order it came, when TP_LAUNCHES_LATE_NS of the events'
 * time have gone by. Nothing comes twice or is left out.
 */
typedef void (*tp_launches_fn)(void *ctx, const struct tp_event *event,
			       struct tp_launch_call *call);
/* One more reader, any number. `gone`, which may be NULL: a call is forgotten (too many newer ones,
 * or the end): what it started is known now. */
typedef void (*tp_launches_gone_fn)(void *ctx, const struct tp_launch_call *call);
void tp_launches_read(struct tp_launches *launches, tp_launches_fn each, tp_launches_gone_fn gone,
		      void *ctx);
void tp_launches_work(struct tp_launches *launches, const struct tp_event *event);
/* No more events: hands on what still waits. */
void tp_launches_end(struct tp_launches *launches);

/*
 * What a reader knows of calls: a number each, 0 at first, kept as long as the call is. Asked for
 * before the first call comes; lives in the join.
 */
struct tp_launch_notes {
	struct tp_launches *launches;
	uint32_t at;		/* among those of all readers */
};

struct tp_launch_notes tp_launches_notes(struct tp_launches *launches);
/* Of the call that came last of the process of `event`, which is that call. */
void tp_launch_note(const struct tp_launch_notes *notes, const struct tp_event *event, uint32_t note);
/* Of a call of that join; NULL: 0. */
uint32_t tp_launch_noted(const struct tp_launch_notes *notes, const struct tp_launch_call *call);

#endif
