/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comm_call.c - a collective of one rank: which of its group's it is, to be met with the others'
 */
#include "merge/facts/comm/comm_in.h"

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
	uint32_t at = rank->step ? rank->breakdown->n_steps : 0;

	while (at && rank->breakdown->step[at - 1].begin_ns > begin_ns)
		at--;
	return at ? at - 1 : TP_COMM_NO_STEP;
}

void tp_comm_take_call(struct tp_comm *comm, struct tp_comm_counted *rank, enum tp_comm_kind kind,
		       const struct tp_event *event, bool is_device,
		       const struct tp_comm_asked *asked)
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
	if (!asked->is_set || call.group == TP_COMM_NO_GROUP)
		call.group = tp_comm_groups_find(comm->groups, NULL, restart, comm->n_ranks);
	channel = call.group == TP_COMM_NO_GROUP ? UINT32_MAX :
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
