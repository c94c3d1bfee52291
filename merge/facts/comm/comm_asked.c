/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comm_asked.c - collectives by the operators and ranges of a rank: what was asked for, and gloo's
 */
#include "merge/facts/comm/comm_in.h"

#include "merge/kit/grow.h"
#include "merge/kit/sum.h"
#include "merge/model/shapes.h"
#include "runtime/base/begins.h"
#include "runtime/trace/torch_names.h"

struct tp_comm_thread *tp_comm_find_thread(struct tp_comm *comm, struct tp_comm_counted *rank,
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

	asked->group = TP_COMM_NO_GROUP;
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
	bool knows_time = event->shapes->n_bytes && event->link != TP_NO_SEQ;
	int64_t came_ns = knows_time ? tp_sub(event->begin_ns, event->link) : event->begin_ns;

	/* Whatever a device does meanwhile: its data are exchanged by the host. */
	tp_comm_reach(&rank->on_host, &rank->on_host.comm_ns, event);
	tp_comm_reach(&rank->on_device, &rank->on_device.comm_ns, event);
	/* Of the others only those that were as slow have a record of it. */
	if (event->flags & TP_F_EARLY)
		return;
	by = find_asked(rank, kind, knows_time, came_ns);
	/* Gloo has no reduce-scatter of its own: what was asked for counts. */
	if (by)
		asked = *by;
	asked.is_set = true;
	if (!by || knows_time)
		asked.begin_ns = came_ns;
	take_group(comm, rank, event, &asked);
	tp_comm_take_call(comm, rank, asked.kind, event, false, &asked);
}

static void take_collective(struct tp_comm *comm, struct tp_comm_counted *rank,
			    enum tp_comm_kind kind, const struct tp_event *event)
{
	struct tp_comm_thread *thread;
	struct tp_comm_asked asked = {.begin_ns = event->begin_ns, .end_ns = event->end_ns,
				      .kind = (uint8_t)kind, .group = TP_COMM_NO_GROUP, .at = -1, .peer = -1,
				      .is_set = true};

	enum tp_comm_library by = tp_comm_library(event->name->bytes, event->name->n_bytes);

	if (by == TP_COMM_BY_GLOO) {
		take_gloo(comm, rank, kind, event);
		return;
	}
	thread = tp_comm_find_thread(comm, rank, event->thread);
	if (!thread)
		return;
	if (by == TP_COMM_BY_C10D) {
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
	/* Of nested ones the outer that knows bytes: the inner may be a part. But only the range knows
	 * its group. */
	if (asked.group != TP_COMM_NO_GROUP || event->begin_ns >= thread->size.end_ns ||
	    (asked.bytes && !thread->size.bytes))
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
		{TP_NAME_NODE TP_NAME_ACCUMULATE, TP_COMM_USE_DDP},
		{TP_NAME_FSDP, TP_COMM_USE_FSDP},
		{"FullyShardedDataParallel._", TP_COMM_USE_FSDP},
		{TP_NAME_FUNCTIONAL, TP_COMM_USE_FUNCTIONAL},
	};
	struct tp_comm_thread *thread;

	for (uint32_t i = 0; i < sizeof(uses) / sizeof(uses[0]); i++) {
		if (event->flags & TP_F_ASYNC ||
		    !tp_begins(event->name->bytes, event->name->n_bytes, uses[i].begins))
			continue;
		thread = tp_comm_find_thread(comm, rank, event->thread);
		if (thread)
			thread->use_end_ns[uses[i].use] = event->end_ns;
	}
}

void tp_comm_take_span(struct tp_comm *comm, struct tp_comm_counted *rank,
		       const struct tp_event *event)
{
	enum tp_comm_kind kind = tp_comm_kind_of(event->name->bytes, event->name->n_bytes);

	note_use(comm, rank, event);
	if (kind != TP_COMM_KINDS)
		take_collective(comm, rank, kind, event);
	else if (event->kind == TP_REC_OP)
		tp_comm_reach(&rank->on_host, &rank->on_host.compute_ns, event);
}
