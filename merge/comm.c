/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comm.c - events into collectives of each rank, one by one, and into shares of time
 */
#include "merge/comm_in.h"

#include <stdlib.h>
#include <string.h>

#include "merge/gpu_time.h"
#include "merge/grow.h"
#include "merge/shapes.h"
#include "merge/sum.h"

enum {
	NO_STEP = 0xffffffff,
	NO_GROUP = 0xffffffff,
	/* Steps that one rank may have more than another, and of so many one. */
	STEPS_APART = 3,
	STEPS_SHARE = 10,
	OWNERS = 1 << 16,	/* launches whose kernels have not begun; older ones are forgotten */
};

static bool begins(const struct tp_event *event, const char *with)
{
	return event->name->n_bytes >= strlen(with) &&
	       !memcmp(event->name->bytes, with, strlen(with));
}

/* ---- shares of a step ---- */

/* Counts the time up to `to`, of which it is known what ran. */
static void sweep(struct tp_comm_counted *rank, int64_t to)
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

static void reach(struct tp_comm_counted *rank, int64_t *until, const struct tp_event *event)
{
	sweep(rank, event->begin_ns);
	if (event->end_ns > *until)
		*until = event->end_ns;
}

static void take_step(struct tp_comm *comm, struct tp_comm_counted *rank,
		      const struct tp_event *event)
{
	sweep(rank, INT64_MAX);
	rank->now_ns = event->begin_ns;
	rank->step_end_ns = event->end_ns;
	rank->step = (uint64_t)event->link + 1;
	/* What was not met by now never will be, and would be taken for another's. */
	for (uint32_t i = 0; i < TP_COMM_ASKED; i++)
		rank->asked[i].is_taken = true;
	tp_breakdown_step(&rank->breakdown, event->link, event->begin_ns, event->end_ns);
	if (!rank->breakdown.n_steps || !tp_grow(&rank->step_late, &rank->cap_late,
						 rank->breakdown.n_steps, sizeof(*rank->step_late)))
		comm->is_incomplete = true;
}

/* ---- calls ---- */

/* The channel of a call, and which member of it this rank is. */
static uint32_t find_channel(struct tp_comm *comm, struct tp_comm_counted *rank,
			     struct tp_comm_call *call, const struct tp_comm_asked *asked,
			     uint32_t *member)
{
	struct tp_comm_group *group = tp_comm_groups_at(comm->groups, call->group);
	uint32_t in_group = tp_comm_groups_member(comm->groups, call->group, call->rank, asked->at);
	uint32_t n = group->size < comm->n_ranks ? group->size : comm->n_ranks;
	uint32_t key[4] = {call->group, call->kind | (uint32_t)call->is_device << 8, 0, 0};
	bool is_send = call->kind == TP_COMM_SEND;

	if (in_group == UINT32_MAX)
		return UINT32_MAX;
	group->member[in_group].n_calls++;
	*member = in_group;
	if ((is_send || call->kind == TP_COMM_RECV) && asked->at >= 0 && asked->peer >= 0) {
		call->kind = TP_COMM_SEND_RECV;
		call->from = (uint32_t)(is_send ? asked->at : asked->peer);
		key[1] = call->kind | (uint32_t)call->is_device << 8 | 1u << 16;
		key[2] = call->from << 16 | (uint32_t)(is_send ? asked->peer : asked->at);
		key[3] = asked->tag;
		*member = !is_send;
		n = 2;
	}
	/* What the plugin numbered is not counted, and not mixed with what is. */
	if (asked->has_sequence)
		key[1] |= 1u << 17;
	return tp_comm_match_channel(comm->match, key, n);
}

/* The step in which it began: work of devices is told of some steps later. */
static uint32_t find_step(const struct tp_comm_counted *rank, int64_t begin_ns)
{
	uint32_t at = rank->step ? rank->breakdown.n_steps : 0;

	while (at && rank->breakdown.step[at - 1].begin_ns > begin_ns)
		at--;
	return at ? at - 1 : NO_STEP;
}

static void take_call(struct tp_comm *comm, struct tp_comm_counted *rank, enum tp_comm_kind kind,
		      const struct tp_event *event, bool is_device, const struct tp_comm_asked *asked)
{
	const uint32_t restart = rank->pub.proc->restart;
	struct tp_comm_call call = {
	    /* A rank has come when it asks. */
	    .begin_ns = asked->is_set && !is_device ? asked->begin_ns : event->begin_ns,
	    .end_ns = event->end_ns, .bytes = asked->bytes, .dtype = asked->dtype,
	    .rank = (uint32_t)(rank - comm->rank), .kind = (uint8_t)kind, .use = asked->use,
	    .is_device = is_device, .from = UINT32_MAX, .group = asked->group,
	};
	uint32_t channel, member;

	call.step = find_step(rank, call.begin_ns);
	rank->pub.n_calls++;
	if (!asked->is_set || call.group == NO_GROUP)
		call.group = tp_comm_groups_find(comm->groups, NULL, restart, comm->n_ranks);
	channel = call.group == NO_GROUP ? UINT32_MAX :
					   find_channel(comm, rank, &call, asked, &member);
	if (channel == UINT32_MAX) {
		comm->is_incomplete = true;
		return;
	}
	if (asked->has_sequence)
		call.label = asked->sequence;
	else
		call.label = tp_comm_match_label(comm->match, channel, member,
						 is_device || comm->has_other_steps ?
							 (uint64_t)event->window : rank->step);
	if (!tp_comm_match_call(comm->match, channel, member, &call))
		comm->is_incomplete = true;
}

/* ---- what was asked for ---- */

static struct tp_comm_thread *find_thread(struct tp_comm *comm, struct tp_comm_counted *rank,
					  const struct tp_thread *thread)
{
	uint64_t at = (uint64_t)(thread - rank->pub.proc->thread);

	if (at >= rank->pub.proc->n_threads ||
	    !tp_grow(&rank->thread, &rank->cap_threads, at + 1, sizeof(*rank->thread))) {
		comm->is_incomplete = true;
		return NULL;
	}
	return &rank->thread[at];
}

/* The operator that was running when gloo's collective was asked for; of traces that do not say
 * when that was, the oldest one of its kind that has no collective yet. NULL: none. */
static struct tp_comm_asked *find_asked(struct tp_comm_counted *rank, enum tp_comm_kind kind,
					bool knows_time, int64_t asked_ns)
{
	for (uint32_t i = 0; i < TP_COMM_ASKED; i++) {
		uint32_t back = knows_time ? TP_COMM_ASKED - 1 - i : i;
		struct tp_comm_asked *asked = &rank->asked[(rank->n_asked + back) % TP_COMM_ASKED];

		if (!asked->is_set)
			continue;
		if (knows_time ? asked->begin_ns <= asked_ns && asked_ns <= asked->end_ns :
				 !asked->is_taken && asked->kind == kind) {
			asked->is_taken = true;
			return asked;
		}
	}
	return NULL;
}

/* The group that a range tells, and its bytes as nccl-tests counts them: all that a rank gets of
 * a gathering. */
static void take_group(struct tp_comm *comm, struct tp_comm_counted *rank,
		       const struct tp_event *event, struct tp_comm_asked *asked)
{
	struct tp_shapes_group group;
	struct tp_comm_said said;
	uint64_t bytes = tp_shapes_bytes(event->shapes->bytes, event->shapes->n_bytes, &asked->dtype);

	asked->group = NO_GROUP;
	asked->at = asked->peer = -1;
	if (!tp_shapes_group(event->shapes->bytes, event->shapes->n_bytes, &group)) {
		if (bytes)
			asked->bytes = bytes;
		return;
	}
	if (bytes && group.size && (asked->kind == TP_COMM_ALL_GATHER || asked->kind == TP_COMM_GATHER))
		bytes = bytes <= UINT64_MAX / group.size ? bytes * group.size : 0;
	if (bytes)
		asked->bytes = bytes;
	asked->at = group.rank;
	asked->peer = group.peer;
	asked->tag = group.tag;
	said = (struct tp_comm_said){
	    .name = group.name, .n_name = group.n_name, .description = group.description,
	    .n_description = group.n_description, .size = group.size, .at = group.rank};
	asked->group = tp_comm_groups_find(comm->groups, &said, rank->pub.proc->restart, comm->n_ranks);
}

static void take_gloo(struct tp_comm *comm, struct tp_comm_counted *rank, enum tp_comm_kind kind,
		      const struct tp_event *event)
{
	struct tp_comm_asked asked = {.kind = (uint8_t)kind}, *by;
	bool knows_time = event->shapes->n_bytes && event->link != TP_NO_SEQ &&
			  !(event->flags & TP_F_EARLY);
	int64_t came_ns = knows_time ? tp_sub(event->begin_ns, event->link) : event->begin_ns;

	if (!rank->pub.proc->n_devices)
		reach(rank, &rank->comm_ns, event);
	by = find_asked(rank, kind, knows_time, came_ns);
	/* Gloo has no reduce-scatter of its own: what was asked for counts. */
	if (by)
		asked = *by;
	asked.is_set = true;
	if (!by || knows_time)
		asked.begin_ns = came_ns;
	take_group(comm, rank, event, &asked);
	take_call(comm, rank, asked.kind, event, false, &asked);
}

static void take_collective(struct tp_comm *comm, struct tp_comm_counted *rank,
			    enum tp_comm_kind kind, const struct tp_event *event)
{
	struct tp_comm_thread *thread;
	struct tp_comm_asked asked = {.begin_ns = event->begin_ns, .end_ns = event->end_ns,
				      .kind = (uint8_t)kind, .group = NO_GROUP, .at = -1, .peer = -1,
				      .is_set = true};

	if (begins(event, "gloo:")) {
		take_gloo(comm, rank, kind, event);
		return;
	}
	thread = find_thread(comm, rank, event->thread);
	if (!thread)
		return;
	if (begins(event, "c10d::")) {
		asked.bytes = tp_shapes_bytes(event->shapes->bytes, event->shapes->n_bytes, &asked.dtype);
		/* Of several that are open the last in their order. */
		for (uint32_t use = 0; use < TP_COMM_USES; use++)
			if (event->begin_ns < thread->use_end_ns[use])
				asked.use = (uint8_t)use;
		rank->asked[rank->n_asked++ % TP_COMM_ASKED] = asked;
	} else {
		take_group(comm, rank, event, &asked);
		asked.use = event->begin_ns < thread->size.end_ns ? thread->size.use : 0;
	}
	/* Of nested ones the outer: the inner may be a part. But only the range knows its group. */
	if (asked.group != NO_GROUP || (asked.bytes && event->begin_ns >= thread->size.end_ns))
		thread->size = asked;
}

/* What an operator or range says of the collectives in it. DDP's reducer runs where gradients have
 * been accumulated. */
static void note_use(struct tp_comm *comm, struct tp_comm_counted *rank,
		     const struct tp_event *event)
{
	static const struct {
		const char *begins;
		enum tp_comm_use use;
	} uses[] = {
		{"autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", TP_COMM_USE_DDP},
		{"FSDP::", TP_COMM_USE_FSDP},
		{"FullyShardedDataParallel._", TP_COMM_USE_FSDP},
		{"_c10d_functional::", TP_COMM_USE_FUNCTIONAL},
	};
	struct tp_comm_thread *thread;

	for (uint32_t i = 0; i < sizeof(uses) / sizeof(uses[0]); i++) {
		if (!begins(event, uses[i].begins) || event->flags & TP_F_ASYNC)
			continue;
		thread = find_thread(comm, rank, event->thread);
		if (thread)
			thread->use_end_ns[uses[i].use] = event->end_ns;
	}
}

static void take_span(struct tp_comm *comm, struct tp_comm_counted *rank,
		      const struct tp_event *event)
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
	note_use(comm, rank, event);
	if (kind != TP_COMM_KINDS)
		take_collective(comm, rank, kind, event);
	else if (event->kind == TP_REC_OP && !rank->pub.proc->n_devices)
		reach(rank, &rank->compute_ns, event);
}

/* ---- NCCL ---- */

static enum tp_comm_kind kind_of_function(const char *text, uint32_t n)
{
	char name[64] = "nccl:";

	if (n > sizeof(name) - 6)
		n = sizeof(name) - 6;
	memcpy(name + 5, text, n);
	name[5 + n] = '\0';
	if (!strcmp(name + 5, "Send"))
		return TP_COMM_SEND;
	if (!strcmp(name + 5, "Recv"))
		return TP_COMM_RECV;
	return tp_comm_kind_of(name, (uint32_t)strlen(name));
}

static const struct {
	const char *nccl;
	uint8_t dtype;			/* torch's ScalarType */
} nccl_types[] = {
	{"ncclFloat32", 6}, {"ncclFloat16", 5}, {"ncclBfloat16", 15}, {"ncclFloat64", 7},
	{"ncclInt8", 1}, {"ncclUint8", 0}, {"ncclInt32", 3}, {"ncclInt64", 4}, {"ncclUint32", 28},
	{"ncclUint64", 29}, {"ncclFloat8e4m3", 24}, {"ncclFloat8e5m2", 23},
};

/* A COLL of the plugin: which collective the kernel is that is launched next on its thread. */
static void take_nccl(struct tp_comm *comm, struct tp_comm_counted *rank,
		      const struct tp_event *event)
{
	struct tp_coll coll = {.n_ranks = -1};
	struct tp_comm_asked asked = {.begin_ns = event->begin_ns, .end_ns = event->end_ns,
				      .bytes = TP_ARG_COLL_BYTES(event->arg), .is_set = true};
	struct tp_comm_said said = {.is_nccl = true, .description = "", .name = ""};
	const char *text = event->name->bytes + sizeof(coll), *type;
	const char *end = event->name->bytes + event->name->n_bytes;
	struct tp_comm_thread *thread;

	if (event->name->kind != TP_STRING_COLL || event->name->n_bytes < sizeof(coll))
		return;
	memcpy(&coll, event->name->bytes, sizeof(coll));
	asked.kind = (uint8_t)kind_of_function(text, (uint32_t)strnlen(text, (size_t)(end - text)));
	if (asked.kind == TP_COMM_KINDS)
		return;
	type = text + strnlen(text, (size_t)(end - text));
	for (uint32_t i = 0; type < end && i < sizeof(nccl_types) / sizeof(nccl_types[0]); i++)
		if (!strcmp(type + 1, nccl_types[i].nccl))
			asked.dtype = nccl_types[i].dtype;
	said.hash = coll.hash;
	said.size = coll.n_ranks > 0 ? (uint32_t)coll.n_ranks : 0;
	asked.at = coll.rank;
	asked.peer = coll.what == 1 ? coll.root : -1;
	/* As passed to NCCL: a rank's part. */
	if (said.size && (asked.kind == TP_COMM_ALL_GATHER || asked.kind == TP_COMM_REDUCE_SCATTER))
		asked.bytes *= said.size;
	asked.has_sequence = event->link != TP_NO_SEQ;
	asked.sequence = event->link;
	asked.group = tp_comm_groups_find(comm->groups, &said, rank->pub.proc->restart, comm->n_ranks);
	if (!rank->pub.proc->n_devices) {
		reach(rank, &rank->comm_ns, event);
		tp_breakdown_span(&rank->breakdown, TP_CAT_COMM, event->begin_ns, event->end_ns);
		take_call(comm, rank, asked.kind, event, true, &asked);
		return;
	}
	thread = NULL;
	for (uint32_t i = 0; i < rank->pub.proc->n_threads && !thread; i++)
		if (rank->pub.proc->thread[i].tid &&
		    rank->pub.proc->thread[i].slot == TP_ARG_COLL_SLOT(event->arg))
			thread = find_thread(comm, rank, &rank->pub.proc->thread[i]);
	if (!thread)
		return;
	asked.use = event->begin_ns < thread->size.end_ns ? thread->size.use : 0;
	/* The launch comes after the record, and its range ends after the launch. */
	if (event->begin_ns < thread->size.end_ns)
		asked.end_ns = thread->size.end_ns;
	thread->size = asked;
}

/* What a proxy moved to or from another node: only the network's part of its time. */
static void take_transfer(struct tp_comm *comm, struct tp_comm_counted *rank,
			  const struct tp_event *event)
{
	struct tp_comm_said said = {.is_nccl = true, .description = "", .name = ""};
	struct tp_comm_cell cell = {.kind = TP_COMM_KINDS, .n_ranks = 2, .is_device = true, .n = 1};
	const struct tp_comm_group *group;
	struct tp_xfer xfer;
	int64_t network_ns;
	uint32_t shares = (uint32_t)TP_ARG_XFER_DEVICE(event->arg) + TP_ARG_XFER_PEER(event->arg) +
			  TP_ARG_XFER_NETWORK(event->arg);

	if (event->name->kind != TP_STRING_XFER || event->name->n_bytes < sizeof(xfer))
		return;
	memcpy(&xfer, event->name->bytes, sizeof(xfer));
	if (!shares || xfer.peer < 0 || xfer.is_foreign)
		return;
	said.hash = xfer.hash;
	cell.group = tp_comm_groups_find(comm->groups, &said, rank->pub.proc->restart, comm->n_ranks);
	if (cell.group == UINT32_MAX)
		return;
	network_ns = (event->end_ns - event->begin_ns) / 255 * TP_ARG_XFER_NETWORK(event->arg);
	group = tp_comm_groups_at(comm->groups, cell.group);
	for (uint32_t i = 0; i < group->n_members; i++) {
		if (group->member[i].at != xfer.peer)
			continue;
		cell.from = (uint32_t)(rank - comm->rank);
		cell.to = group->member[i].rank;
		cell.bytes = TP_ARG_XFER_BYTES(event->arg);
		cell.sum_ns = cell.least_ns = network_ns;
		tp_comm_book_transfer(comm, &cell);
	}
}

/* The call's owner: the number of what it was asked with, plus one. */
static void take_launch(struct tp_comm *comm, struct tp_comm_counted *rank,
			const struct tp_event *event)
{
	const struct tp_comm_thread *thread = find_thread(comm, rank, event->thread);
	uint32_t owner = 0;

	tp_breakdown_span(&rank->breakdown, TP_CAT_RUNTIME, event->begin_ns, event->end_ns);
	if (thread && event->begin_ns < thread->size.end_ns) {
		comm->owner[comm->n_owners++ % OWNERS] = thread->size;
		owner = comm->n_owners;
	}
	if (!tp_launches_call(comm->launches, event, owner))
		comm->is_incomplete = true;
}

static struct tp_comm_counted *find_rank(struct tp_comm *comm, const struct tp_event *event)
{
	uint32_t at = event->proc->at < comm->n_procs ? comm->rank_of[event->proc->at] : 0;

	return at ? &comm->rank[at - 1] : NULL;
}

static void take_work(void *ctx, const struct tp_event *event, struct tp_launch_call *call)
{
	struct tp_comm *comm = ctx;
	struct tp_comm_counted *rank = find_rank(comm, event);
	enum tp_comm_kind kind = tp_comm_kind_of(event->name->bytes, event->name->n_bytes);
	struct tp_comm_asked asked = {.group = NO_GROUP, .at = -1, .peer = -1};

	if (!rank || kind == TP_COMM_KINDS)
		return;
	if (call && call->owner && comm->n_owners - call->owner < OWNERS)
		asked = comm->owner[(call->owner - 1) % OWNERS];
	/* The plugin and the range know what a kernel of many kinds was for. */
	if (asked.is_set && asked.kind != TP_COMM_KINDS && kind == TP_COMM_SEND_RECV)
		kind = asked.kind;
	take_call(comm, rank, kind, event, true, &asked);
}

/* ---- events ---- */

static void take_event(void *ctx, const struct tp_event *event)
{
	struct tp_comm *comm = ctx;
	struct tp_comm_counted *rank = find_rank(comm, event);

	if (!rank)
		return;
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
	case TP_REC_COLL:
		take_nccl(comm, rank, event);
		break;
	case TP_REC_XFER:
		take_transfer(comm, rank, event);
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

/* Whether some ranks make far more steps than others do: one that also trains alone. */
static bool has_other_steps(struct tp_comm *comm, const struct tp_run *run)
{
	uint64_t least = UINT64_MAX, most = 0;

	for (uint32_t i = 0; i < run->n_steps; i++) {
		uint32_t at = comm->rank_of[run->step[i].proc->at];

		if (at)
			comm->rank[at - 1].n_ledger++;
	}
	for (uint32_t r = 0; r < comm->n_ranks; r++) {
		uint64_t n = comm->rank[r].n_ledger;

		/* Who died made fewer, and the same until then. */
		if (comm->rank[r].pub.proc->is_dead)
			return false;
		least = n < least ? n : least;
		most = n > most ? n : most;
	}
	return comm->n_ranks > 1 && most - least > STEPS_APART &&
	       most - least > most / STEPS_SHARE;
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
		struct tp_comm_counted *rank = &comm->rank[comm->n_ranks];

		if (proc->rank < 0 || proc->worker || proc->is_past)
			continue;
		rank->pub.proc = proc;
		rank->step_end_ns = INT64_MIN;
		rank->waited_in = NO_GROUP;
		tp_breakdown_init(&rank->breakdown);
		comm->rank_of[proc->at] = ++comm->n_ranks;
	}
	if (comm->rank && comm->rank_of)
		comm->has_other_steps = has_other_steps(comm, run);
	comm->groups = tp_comm_groups_new();
	comm->match = tp_comm_match_new(tp_comm_book, comm);
	comm->owner = calloc(OWNERS, sizeof(*comm->owner));
	comm->launches = tp_launches_new(run);
	comm->names = tp_names_new();
	tp_clip_init(&comm->clip, run, take_event, comm);
	if (!comm->rank_of || !comm->rank || !comm->pub || !comm->groups || !comm->match ||
	    !comm->owner || !comm->launches || !comm->names) {
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
	tp_comm_groups_free(comm->groups);
	tp_launches_free(comm->launches);
	tp_names_free(comm->names);
	tp_keyed_free(&comm->by_row);
	tp_keyed_free(&comm->by_cell);
	free(comm->owner);
	free(comm->cell);
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
	tp_clip_end(&comm->clip);
	tp_launches_end(comm->launches);
	tp_comm_match_end(comm->match);
	tp_comm_find_slow(comm);
	for (uint32_t i = 0; i < comm->n_ranks; i++) {
		struct tp_comm_counted *rank = &comm->rank[i];

		sweep(rank, INT64_MAX);
		tp_breakdown_end(&rank->breakdown);
		rank->pub.step = rank->breakdown.step;
		rank->pub.n_steps = rank->breakdown.n_steps < rank->cap_late ?
					rank->breakdown.n_steps : rank->cap_late;
		rank->pub.step_late = rank->step_late;
		comm->is_incomplete |= rank->breakdown.is_incomplete;
		comm->pub[i] = rank->pub;
	}
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

const struct tp_comm_group *tp_comm_group(const struct tp_comm *comm, uint32_t group)
{
	return tp_comm_groups_at(comm->groups, group);
}

uint32_t tp_comm_n_groups(const struct tp_comm *comm)
{
	return tp_comm_groups_count(comm->groups);
}

uint64_t tp_comm_unmatched(const struct tp_comm *comm)
{
	return comm->n_alone;
}

uint64_t tp_comm_impossible(const struct tp_comm *comm)
{
	return comm->n_impossible;
}

bool tp_comm_is_incomplete(const struct tp_comm *comm)
{
	return comm->is_incomplete;
}
