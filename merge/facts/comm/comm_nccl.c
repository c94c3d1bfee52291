/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comm_nccl.c - collectives of NCCL: what its plugin tells, and its kernels with what launched them
 */
#include "merge/facts/comm/comm_in.h"

#include <string.h>

#include "merge/model/scalar.h"

void tp_comm_take_coll(struct tp_comm *comm, struct tp_comm_counted *rank,
		       const struct tp_event *event)
{
	struct tp_coll coll = {.n_ranks = -1};
	struct tp_comm_asked asked = {.begin_ns = event->begin_ns, .end_ns = event->end_ns,
				      .bytes = TP_ARG_COLL_BYTES(event->arg), .is_set = true};
	struct tp_comm_said said = {.is_nccl = true, .description = "", .name = ""};
	const char *text = event->name->bytes + sizeof(coll), *type;
	const char *end = event->name->bytes + event->name->n_bytes;
	struct tp_comm_thread *thread;
	uint8_t dtype = TP_SCALAR_UNKNOWN;

	if (event->name->kind != TP_STRING_COLL || event->name->n_bytes < sizeof(coll))
		return;
	memcpy(&coll, event->name->bytes, sizeof(coll));
	asked.kind = (uint8_t)tp_comm_kind_of_function(text, (uint32_t)strnlen(text, (size_t)(end - text)));
	if (asked.kind == TP_COMM_KINDS)
		return;
	type = text + strnlen(text, (size_t)(end - text));
	if (type < end)
		dtype = tp_scalar_of_nccl(type + 1, (uint32_t)strnlen(type + 1, (size_t)(end - type - 1)));
	if (dtype != TP_SCALAR_UNKNOWN)
		asked.dtype = dtype;
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
		tp_comm_reach(&rank->on_host, &rank->on_host.comm_ns, event);
		tp_comm_take_call(comm, rank, asked.kind, event, true, &asked);
		return;
	}
	thread = NULL;
	for (uint32_t i = 0; i < rank->pub.proc->n_threads && !thread; i++)
		if (rank->pub.proc->thread[i].tid &&
		    rank->pub.proc->thread[i].slot == TP_ARG_COLL_SLOT(event->arg))
			thread = tp_comm_find_thread(comm, rank, &rank->pub.proc->thread[i]);
	if (!thread)
		return;
	asked.use = event->begin_ns < thread->size.end_ns ? thread->size.use : 0;
	/* The launch comes after the record, and its range ends after the launch. */
	if (event->begin_ns < thread->size.end_ns)
		asked.end_ns = thread->size.end_ns;
	thread->size = asked;
}

void tp_comm_take_transfer(struct tp_comm *comm, struct tp_comm_counted *rank,
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
		tp_comm_account_transfer(comm, &cell);
	}
}

void tp_comm_take_launch(struct tp_comm *comm, struct tp_comm_counted *rank,
			 const struct tp_event *event)
{
	const struct tp_comm_thread *thread = tp_comm_find_thread(comm, rank, event->thread);

	if (!thread || event->begin_ns >= thread->size.end_ns)
		return;
	comm->asked[comm->n_asked++ % TP_COMM_OWNERS] = thread->size;
	tp_launch_note(&comm->asked_of, event, comm->n_asked);
}

void tp_comm_take_work(void *ctx, const struct tp_event *event, struct tp_launch_call *call)
{
	struct tp_comm *comm = ctx;
	struct tp_comm_counted *rank = tp_comm_find_rank(comm, event);
	enum tp_comm_kind kind = tp_comm_kind_of(event->name->bytes, event->name->n_bytes);
	struct tp_comm_asked asked = {.group = TP_COMM_NO_GROUP, .at = -1, .peer = -1};
	uint32_t n = tp_launch_noted(&comm->asked_of, call);

	if (!rank || kind == TP_COMM_KINDS || event->kind != TP_REC_KERNEL)
		return;
	if (n && comm->n_asked - n < TP_COMM_OWNERS)
		asked = comm->asked[(n - 1) % TP_COMM_OWNERS];
	/* The plugin and the range know what a kernel of many kinds was for. */
	if (asked.is_set && asked.kind != TP_COMM_KINDS && kind == TP_COMM_SEND_RECV)
		kind = asked.kind;
	tp_comm_take_call(comm, rank, kind, event, true, &asked);
}
