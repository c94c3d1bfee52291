/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comm.c - collectives of each rank, one by one, into rows, matches and shares of time
 */
#include "merge/comm.h"

#include <stdlib.h>
#include <string.h>

#include "merge/clip.h"
#include "merge/comm_match.h"
#include "merge/gpu_time.h"
#include "merge/grow.h"
#include "merge/launches.h"
#include "merge/names.h"
#include "merge/shapes.h"
#include "merge/sum.h"

enum {
	LABEL_BITS = 24,	/* of a label: number in its step or window */
	NO_STEP = 0xffffffff,
};

/* How large a collective is: said by the operator or range that it was called in. */
struct size {
	int64_t begin_ns, end_ns;
	uint64_t bytes;
	uint8_t dtype;
};

/* Gloo does a collective on a thread of its own, after the operator that asked for it, in the
 * order of asking. */
enum { ASKED = 64 };
struct asked {
	struct size size[ASKED];
	uint32_t first, n;		/* n wait; [first % ASKED] is the oldest */
};

/* A rank: what is counted while events come. */
struct rank {
	struct tp_comm_rank pub;
	struct tp_breakdown breakdown;
	int64_t *step_late;
	uint32_t cap_late;
	struct size *thread;		/* of NCCL's range that is open on each */
	uint32_t cap_threads;
	struct asked asked[TP_COMM_KINDS];
	uint32_t window;
	uint64_t step;
	bool is_in_step;
	uint32_t in_step[TP_COMM_KINDS], in_window[TP_COMM_KINDS];
	/* The sweep of the shares: what lies before `now_ns` is counted. */
	int64_t now_ns, step_end_ns, compute_ns, comm_ns;
};

struct tp_comm {
	struct rank *rank;
	uint32_t n_ranks;
	uint32_t *rank_of;		/* by tp_proc.at, plus one; 0: takes no part */
	uint32_t n_procs;
	struct tp_comm_rank *pub;	/* the answer */
	struct tp_comm_row *row;
	uint32_t n_rows, cap_rows, last_row;
	struct tp_comm_match *match;
	struct tp_launches *launches;
	struct tp_names *names;
	struct tp_clip clip;
	uint64_t n_impossible;
	bool is_incomplete;
};

static bool begins(const struct tp_event *event, const char *with)
{
	return event->name->n_bytes >= strlen(with) &&
	       !memcmp(event->name->bytes, with, strlen(with));
}

/* ---- shares of a step ---- */

/* Counts the time up to `to`, of which it is known what ran. */
static void sweep(struct rank *rank, int64_t to)
{
	struct tp_comm_share *share = &rank->pub.share;

	if (to > rank->step_end_ns)
		to = rank->step_end_ns;
	while (rank->now_ns < to) {
		bool is_compute = rank->compute_ns > rank->now_ns;
		bool is_comm = rank->comm_ns > rank->now_ns;
		int64_t end = to, *of = &share->other_ns;

		if (is_compute && rank->compute_ns < end)
			end = rank->compute_ns;
		if (is_comm && rank->comm_ns < end)
			end = rank->comm_ns;
		if (is_compute)
			of = is_comm ? &share->both_ns : &share->compute_ns;
		else if (is_comm)
			of = &share->comm_ns;
		*of = tp_add(*of, tp_sub(end, rank->now_ns));
		rank->now_ns = end;
	}
}

static void reach(struct rank *rank, int64_t *until, const struct tp_event *event)
{
	sweep(rank, event->begin_ns);
	if (event->end_ns > *until)
		*until = event->end_ns;
}

static void take_step(struct tp_comm *comm, struct rank *rank, const struct tp_event *event)
{
	sweep(rank, INT64_MAX);
	rank->now_ns = event->begin_ns;
	rank->step_end_ns = event->end_ns;
	rank->step = event->link;
	rank->is_in_step = true;
	memset(rank->in_step, 0, sizeof(rank->in_step));
	/* What was not met by now never will be, and would be taken for another's. */
	for (uint32_t kind = 0; kind < TP_COMM_KINDS; kind++)
		rank->asked[kind].n = 0;
	tp_breakdown_step(&rank->breakdown, event->link, event->begin_ns, event->end_ns);
	if (!rank->breakdown.n_steps || !tp_grow(&rank->step_late, &rank->cap_late,
						 rank->breakdown.n_steps, sizeof(*rank->step_late)))
		comm->is_incomplete = true;
}

/* ---- collectives ---- */

static uint32_t find_row(struct tp_comm *comm, enum tp_comm_kind kind, bool is_device,
			 uint64_t bytes, uint8_t dtype)
{
	/* Few, and mostly the last one again. */
	for (uint32_t i = 0; i < comm->n_rows; i++) {
		uint32_t at = (comm->last_row + i) % comm->n_rows;
		const struct tp_comm_row *row = &comm->row[at];

		if (row->kind == kind && row->bytes == bytes && row->dtype == dtype &&
		    row->is_device == is_device)
			return comm->last_row = at;
	}
	if (!tp_grow(&comm->row, &comm->cap_rows, (uint64_t)comm->n_rows + 1, sizeof(*comm->row)))
		return UINT32_MAX;
	comm->row[comm->n_rows] = (struct tp_comm_row){
	    .kind = kind, .is_device = is_device, .bytes = bytes, .dtype = dtype};
	return comm->last_row = comm->n_rows++;
}

static void take_call(struct tp_comm *comm, struct rank *rank, enum tp_comm_kind kind,
		      const struct tp_event *event, bool is_device, const struct size *size)
{
	uint32_t row = find_row(comm, kind, is_device, size->bytes, size->bytes ? size->dtype : 0);
	bool by_step = !is_device && rank->is_in_step;
	uint64_t of = by_step ? rank->step : event->window;
	uint32_t *n = by_step ? &rank->in_step[kind] : &rank->in_window[kind];
	struct tp_comm_call call = {
	    .label = of << LABEL_BITS | (*n)++,
	    /* A rank has come when it asks. */
	    .begin_ns = size->begin_ns && !is_device ? size->begin_ns : event->begin_ns,
	    .end_ns = event->end_ns, .row = row,
	    .step = rank->is_in_step && rank->breakdown.n_steps ? rank->breakdown.n_steps - 1
								: NO_STEP,
	};

	rank->pub.n_calls++;
	if (row == UINT32_MAX ||
	    !tp_comm_match_call(comm->match, (uint32_t)(rank - comm->rank),
				kind + (is_device ? TP_COMM_KINDS : 0), &call)) {
		comm->is_incomplete = true;
		return;
	}
	comm->row[row].n_calls++;
	comm->row[row].time_ns = tp_add(comm->row[row].time_ns,
					tp_sub(call.end_ns, call.begin_ns));
}

/* The last one's step gets the time that it came behind the last but one. */
static void note_last(struct tp_comm *comm, struct rank *rank, const struct tp_comm_call *call,
		      int64_t behind_ns)
{
	rank->pub.n_last++;
	rank->pub.late_ns = tp_add(rank->pub.late_ns, behind_ns);
	if (!tp_spread_add(&rank->pub.late, behind_ns))
		comm->is_incomplete = true;
	if (call->step < rank->cap_late)
		rank->step_late[call->step] = tp_add(rank->step_late[call->step], behind_ns);
}

static void take_match(void *ctx, const uint32_t *rank, const struct tp_comm_call *call, uint32_t n)
{
	struct tp_comm *comm = ctx;
	struct tp_comm_row *row = &comm->row[call[0].row];
	int64_t last_ns = INT64_MIN, before_ns = INT64_MIN, end_ns = INT64_MIN, first_end = INT64_MAX;
	uint32_t last = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (call[i].begin_ns > last_ns) {
			before_ns = last_ns;
			last_ns = call[i].begin_ns;
			last = i;
		} else if (call[i].begin_ns > before_ns) {
			before_ns = call[i].begin_ns;
		}
		if (call[i].end_ns > end_ns)
			end_ns = call[i].end_ns;
		if (call[i].end_ns < first_end)
			first_end = call[i].end_ns;
	}
	comm->n_impossible += tp_comm_is_synchronising(row->kind) && first_end < last_ns;
	for (uint32_t i = 0; i < n; i++) {
		struct rank *of = &comm->rank[rank[i]];
		int64_t until = last_ns < call[i].end_ns ? last_ns : call[i].end_ns;
		int64_t wait_ns = tp_sub(until, call[i].begin_ns);

		of->pub.n_matched++;
		of->pub.wait_ns = tp_add(of->pub.wait_ns, wait_ns);
		row->wait_ns = tp_add(row->wait_ns, wait_ns);
	}
	note_last(comm, &comm->rank[rank[last]], &call[last], tp_sub(last_ns, before_ns));
	row->n_matched++;
	if (n > row->n_ranks)
		row->n_ranks = n;
	if (!tp_spread_add(&row->move, tp_sub(end_ns, last_ns)))
		comm->is_incomplete = true;
}

/* ---- events ---- */

static struct size *find_thread(struct tp_comm *comm, struct rank *rank,
				const struct tp_event *event)
{
	uint64_t at = (uint64_t)(event->thread - rank->pub.proc->thread);

	if (at >= rank->pub.proc->n_threads ||
	    !tp_grow(&rank->thread, &rank->cap_threads, at + 1, sizeof(*rank->thread))) {
		comm->is_incomplete = true;
		return NULL;
	}
	return &rank->thread[at];
}

static void note_asked(struct asked *asked, const struct size *size)
{
	if (asked->n == ASKED)
		asked->first++;
	else
		asked->n++;
	asked->size[(asked->first + asked->n - 1) % ASKED] = *size;
}

/* What the collective that begins now was asked with; zero: not known. */
static struct size take_asked(struct asked *asked)
{
	if (!asked->n)
		return (struct size){.bytes = 0};
	asked->n--;
	return asked->size[asked->first++ % ASKED];
}

static void take_collective(struct tp_comm *comm, struct rank *rank, enum tp_comm_kind kind,
			    const struct tp_event *event)
{
	struct size size = {.begin_ns = event->begin_ns, .end_ns = event->end_ns}, *thread;

	if (begins(event, "gloo:")) {
		if (!rank->pub.proc->n_devices)
			reach(rank, &rank->comm_ns, event);
		size = take_asked(&rank->asked[kind]);
		take_call(comm, rank, kind, event, false, &size);
		return;
	}
	size.bytes = tp_shapes_bytes(event->shapes->bytes, event->shapes->n_bytes, &size.dtype);
	if (begins(event, "c10d::"))
		note_asked(&rank->asked[kind], &size);
	thread = find_thread(comm, rank, event);
	/* Of nested ones the outer: the inner may be a part. */
	if (thread && size.bytes && event->begin_ns >= thread->end_ns)
		*thread = size;
}

static void take_span(struct tp_comm *comm, struct rank *rank, const struct tp_event *event)
{
	enum tp_comm_kind kind = tp_comm_kind_of(event->name->bytes, event->name->n_bytes);
	uint32_t row = tp_names_row(comm->names, event);
	enum tp_category category = TP_CAT_OTHER;

	if (row == TP_NO_NAME)
		comm->is_incomplete = true;
	else
		category = tp_names_category(comm->names, row, event);
	if (category != TP_CAT_OTHER)
		tp_breakdown_span(&rank->breakdown, category, event->begin_ns, event->end_ns);
	if (kind != TP_COMM_KINDS)
		take_collective(comm, rank, kind, event);
	else if (event->kind == TP_REC_OP && !rank->pub.proc->n_devices)
		reach(rank, &rank->compute_ns, event);
}

/* The call's owner: the row of its size, plus one. */
static void take_launch(struct tp_comm *comm, struct rank *rank, const struct tp_event *event)
{
	const struct size *thread = find_thread(comm, rank, event);
	uint32_t owner = 0;

	tp_breakdown_span(&rank->breakdown, TP_CAT_RUNTIME, event->begin_ns, event->end_ns);
	if (thread && event->begin_ns < thread->end_ns)
		owner = find_row(comm, TP_COMM_KINDS, true, thread->bytes, thread->dtype) + 1;
	if (!tp_launches_call(comm->launches, event, owner))
		comm->is_incomplete = true;
}

static struct rank *find_rank(struct tp_comm *comm, const struct tp_event *event)
{
	uint32_t at = event->proc->at < comm->n_procs ? comm->rank_of[event->proc->at] : 0;

	return at ? &comm->rank[at - 1] : NULL;
}

static void take_work(void *ctx, const struct tp_event *event, struct tp_launch_call *call)
{
	struct tp_comm *comm = ctx;
	struct rank *rank = find_rank(comm, event);
	enum tp_comm_kind kind = tp_comm_kind_of(event->name->bytes, event->name->n_bytes);
	struct size size = {.bytes = 0};

	if (!rank || kind == TP_COMM_KINDS)
		return;
	if (call && call->owner) {
		size.bytes = comm->row[call->owner - 1].bytes;
		size.dtype = comm->row[call->owner - 1].dtype;
	}
	take_call(comm, rank, kind, event, true, &size);
}

static void take_event(void *ctx, const struct tp_event *event)
{
	struct tp_comm *comm = ctx;
	struct rank *rank = find_rank(comm, event);

	if (!rank)
		return;
	if (event->window != rank->window) {
		rank->window = event->window;
		memset(rank->in_window, 0, sizeof(rank->in_window));
	}
	switch (event->kind) {
	case TP_REC_STEP:
		take_step(comm, rank, event);
		break;
	case TP_REC_OP:
	case TP_REC_RANGE:
		take_span(comm, rank, event);
		break;
	case TP_REC_CALL:
		take_launch(comm, rank, event);
		break;
	case TP_REC_MEMCPY:
	case TP_REC_MEMSET:
		tp_breakdown_span(&rank->breakdown, event->kind == TP_REC_MEMCPY ? TP_CAT_MEMCPY
										 : TP_CAT_MEMSET,
				  event->begin_ns, event->end_ns);
		break;
	case TP_REC_KERNEL: {
		bool is_comm = tp_gpu_is_communication(event);

		tp_breakdown_span(&rank->breakdown, is_comm ? TP_CAT_COMM : TP_CAT_KERNEL,
				  event->begin_ns, event->end_ns);
		reach(rank, is_comm ? &rank->comm_ns : &rank->compute_ns, event);
		tp_launches_work(comm->launches, event);
		break;
	}
	default:
		break;
	}
}

struct tp_comm *tp_comm_new(const struct tp_run *run)
{
	struct tp_comm *comm = calloc(1, sizeof(*comm));

	if (!comm)
		return NULL;
	comm->n_procs = run->n_procs;
	comm->rank_of = calloc(run->n_procs + 1, sizeof(*comm->rank_of));
	comm->rank = calloc(run->n_procs + 1, sizeof(*comm->rank));
	comm->pub = calloc(run->n_procs + 1, sizeof(*comm->pub));
	for (uint32_t i = 0; comm->rank_of && comm->rank && i < run->n_procs; i++) {
		const struct tp_proc *proc = run->proc[i];
		struct rank *rank = &comm->rank[comm->n_ranks];

		if (proc->rank < 0 || proc->worker)
			continue;
		rank->pub.proc = proc;
		rank->step_end_ns = INT64_MIN;
		tp_breakdown_init(&rank->breakdown);
		comm->rank_of[proc->at] = ++comm->n_ranks;
	}
	comm->match = tp_comm_match_new(comm->n_ranks, 2 * TP_COMM_KINDS, take_match, comm);
	comm->launches = tp_launches_new(run);
	comm->names = tp_names_new();
	tp_clip_init(&comm->clip, run, take_event, comm);
	if (!comm->rank_of || !comm->rank || !comm->pub || !comm->match || !comm->launches ||
	    !comm->names) {
		tp_comm_free(comm);
		return NULL;
	}
	tp_launches_each(comm->launches, take_work, comm);
	return comm;
}

void tp_comm_free(struct tp_comm *comm)
{
	if (!comm)
		return;
	for (uint32_t i = 0; comm->rank && i < comm->n_ranks; i++) {
		tp_breakdown_free(&comm->rank[i].breakdown);
		tp_spread_free(&comm->rank[i].pub.late);
		free(comm->rank[i].step_late);
		free(comm->rank[i].thread);
	}
	for (uint32_t i = 0; i < comm->n_rows; i++)
		tp_spread_free(&comm->row[i].move);
	tp_comm_match_free(comm->match);
	tp_launches_free(comm->launches);
	tp_names_free(comm->names);
	free(comm->rank_of);
	free(comm->rank);
	free(comm->pub);
	free(comm->row);
	free(comm);
}

void tp_comm_event(struct tp_comm *comm, const struct tp_event *event)
{
	tp_clip_event(&comm->clip, event);
}

void tp_comm_end(struct tp_comm *comm)
{
	uint32_t n = 0;

	tp_clip_end(&comm->clip);
	tp_launches_end(comm->launches);
	tp_comm_match_end(comm->match);
	for (uint32_t i = 0; i < comm->n_ranks; i++) {
		struct rank *rank = &comm->rank[i];

		sweep(rank, INT64_MAX);
		tp_breakdown_end(&rank->breakdown);
		rank->pub.step = rank->breakdown.step;
		rank->pub.n_steps = rank->breakdown.n_steps < rank->cap_late ?
					rank->breakdown.n_steps : rank->cap_late;
		rank->pub.step_late = rank->step_late;
		comm->is_incomplete |= rank->breakdown.is_incomplete;
		comm->pub[i] = rank->pub;
	}
	/* Rows that only kept a size for a launch. */
	for (uint32_t i = 0; i < comm->n_rows; i++)
		if (comm->row[i].n_calls)
			comm->row[n++] = comm->row[i];
	comm->n_rows = n;
}

const struct tp_comm_row *tp_comm_rows(const struct tp_comm *comm, uint32_t *n)
{
	*n = comm->n_rows;
	return comm->row;
}

const struct tp_comm_rank *tp_comm_ranks(const struct tp_comm *comm, uint32_t *n)
{
	*n = comm->n_ranks;
	return comm->pub;
}

uint64_t tp_comm_unmatched(const struct tp_comm *comm)
{
	return tp_comm_match_alone(comm->match);
}

uint64_t tp_comm_impossible(const struct tp_comm *comm)
{
	return comm->n_impossible;
}

bool tp_comm_is_incomplete(const struct tp_comm *comm)
{
	return comm->is_incomplete;
}
