/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nccl_tell.c - the fake libnccl: events for the plugin, in the words of its version, and the books
 */
#include <string.h>

#include "tests/fakes/nccl_state.h"

const char *const fake_func_name[] = {"Broadcast", "Reduce", "AllGather", "ReduceScatter",
				      "AllReduce", "SendRecv", "Send", "Recv"};
const char *const fake_type_name[] = {"ncclInt8", "ncclUint8", "ncclInt32", "ncclUint32",
				      "ncclInt64", "ncclUint64", "ncclFloat16", "ncclFloat32",
				      "ncclFloat64", "ncclBfloat16"};
static const unsigned type_bytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};

static bool is_p2p(const struct task *task)
{
	return task->call.func >= FAKE_SEND;
}

static int start(struct fake_comm *comm, void *context, void **handle, void *descr)
{
	(void)comm;
	return fake_nccl.plugin->start(context, handle, descr);
}

void *fake_tell_group(struct fake_comm *comm, bool is_api)
{
	struct nccl_descr_v6 descr = {.type = is_api ? NCCL_GROUP_API : NCCL_GROUP};
	struct nccl_descr_v4 old = {.type = NCCL_GROUP};
	void *handle = NULL;

	start(comm, comm->context, &handle, fake_nccl.version >= 5 ? (void *)&descr : (void *)&old);
	return handle;
}

void fake_tell_api(struct task *task, void *group)
{
	const struct fake_call *call = &task->call;
	struct nccl_descr_v6 descr = {.type = is_p2p(task) ? NCCL_P2P_API : NCCL_COLL_API,
				      .parent = group};

	if (is_p2p(task)) {
		descr.p2p_api.func = fake_func_name[call->func];
		descr.p2p_api.count = call->count;
		descr.p2p_api.datatype = fake_type_name[call->type];
		descr.p2p_api.stream = (void *)call->stream;
		descr.p2p_api.is_captured = call->is_captured;
	} else {
		descr.coll_api.func = fake_func_name[call->func];
		descr.coll_api.count = call->count;
		descr.coll_api.datatype = fake_type_name[call->type];
		descr.coll_api.root = call->peer;
		descr.coll_api.stream = (void *)call->stream;
		descr.coll_api.is_captured = call->is_captured;
	}
	start(task->comm, task->comm->context, &task->api, &descr);
}

static void write_coll(struct task *task, const char *algo, const char *proto)
{
	const struct fake_call *call = &task->call;
	char seq[24] = "-";

	task->is_wanted = __atomic_load_n(&fake_nccl.mask, __ATOMIC_RELAXED) != 0;
	if (!fake_nccl.books || !task->is_wanted)
		return;
	if (task->has_seq)
		snprintf(seq, sizeof(seq), "%lu", (unsigned long)task->seq);
	fprintf(fake_nccl.books, "coll %lx %s %s %zu %s %s %s %d %lx %s\n",
		(unsigned long)task->comm->spec.hash, fake_func_name[call->func], seq,
		call->count * type_bytes[call->type], fake_type_name[call->type],
		*algo ? algo : "-", *proto ? proto : "-", call->peer,
		fake_nccl.version >= 5 ? (unsigned long)call->stream : 0,
		fake_nccl.version >= 5 && call->is_captured ? "r" : "-");
}

#define FILL_COLL(descr)                                                                   \
	do {                                                                               \
		(descr).parent = group;                                                    \
		(descr).rank = comm->spec.rank;                                            \
		(descr).coll.seq = task->seq;                                              \
		(descr).coll.count = call->count;                                          \
		(descr).coll.root = call->peer;                                            \
		(descr).coll.channels = (uint8_t)comm->spec.channels;                      \
		(descr).coll.warps = 16;                                                   \
	} while (0)
#define FILL_COLL_TEXTS(descr)                                                             \
	do {                                                                               \
		(descr).coll.func = fake_func_name[call->func];                            \
		(descr).coll.datatype = fake_type_name[call->type];                        \
		(descr).coll.algo = "RING";                                                \
		(descr).coll.proto = "SIMPLE";                                             \
	} while (0)
#define FILL_P2P(descr)                                                                    \
	do {                                                                               \
		(descr).type = NCCL_P2P;                                                   \
		(descr).parent = group;                                                    \
		(descr).rank = comm->spec.rank;                                            \
		(descr).p2p.count = call->count;                                           \
		(descr).p2p.peer = call->peer;                                             \
	} while (0)
#define FILL_P2P_TEXTS(descr)                                                              \
	do {                                                                               \
		(descr).p2p.func = fake_func_name[call->func];                             \
		(descr).p2p.datatype = fake_type_name[call->type];                         \
	} while (0)
#define FILL_COMM(descr, what)                                                             \
	do {                                                                               \
		(descr).what.name = comm->spec.name;                                       \
		(descr).what.hash = comm->spec.hash;                                       \
	} while (0)

static void tell_engines(struct task *task)
{
	struct fake_comm *comm = task->comm;
	const struct fake_call *call = &task->call;
	struct nccl_descr_v6 descr = {.type = NCCL_CE_COLL, .parent = task->api,
				      .rank = comm->spec.rank};

	task->seq = comm->ce_seq++;
	task->has_seq = true;
	descr.ce_coll.seq = task->seq;
	descr.ce_coll.func = fake_func_name[call->func];
	descr.ce_coll.count = call->count;
	descr.ce_coll.root = call->peer;
	descr.ce_coll.datatype = fake_type_name[call->type];
	descr.ce_coll.sync = "UC";
	descr.ce_coll.stream = (void *)call->stream;
	start(comm, comm->context, &task->event, &descr);
	write_coll(task, "CE", "UC");
}

void fake_tell_task(struct task *task, void *group)
{
	struct fake_comm *comm = task->comm;
	const struct fake_call *call = &task->call;
	struct nccl_descr_v1 v1 = {.type = NCCL_COLL};
	struct nccl_descr_v2 v2 = {.type = NCCL_COLL};
	struct nccl_descr_v3 v3 = {.type = NCCL_COLL};
	struct nccl_descr_v4 v4 = {.type = NCCL_COLL};
	struct nccl_descr_v6 v6 = {.type = NCCL_COLL};
	void *descr[] = {NULL, &v1, &v2, &v3, &v4, &v6, &v6};

	if (call->by_engines && fake_nccl.version >= 6) {
		tell_engines(task);
		return;
	}
	if (is_p2p(task)) {
		FILL_P2P(v1);
		FILL_COMM(v1, p2p);
		v1.p2p.func = (uint8_t)call->func;
		v1.p2p.datatype = (uint8_t)call->type;
		FILL_P2P(v2);
		FILL_COMM(v2, p2p);
		FILL_P2P_TEXTS(v2);
		FILL_P2P(v3);
		FILL_COMM(v3, p2p);
		FILL_P2P_TEXTS(v3);
		FILL_P2P(v4);
		FILL_P2P_TEXTS(v4);
		v4.p2p.channels = (uint8_t)comm->spec.channels;
		FILL_P2P(v6);
		FILL_P2P_TEXTS(v6);
		v6.p2p.channels = v4.p2p.channels;
		v6.p2p.group = group;
	} else {
		FILL_COLL(v1);
		FILL_COMM(v1, coll);
		v1.coll.func = (uint8_t)call->func;
		v1.coll.datatype = (uint8_t)call->type;
		v1.coll.traffic = 77;
		v1.coll.algo = 1;
		v1.coll.proto = 2;
		FILL_COLL(v2);
		FILL_COMM(v2, coll);
		FILL_COLL_TEXTS(v2);
		v2.coll.traffic = 77;
		FILL_COLL(v3);
		FILL_COMM(v3, coll);
		FILL_COLL_TEXTS(v3);
		FILL_COLL(v4);
		FILL_COLL_TEXTS(v4);
		FILL_COLL(v6);
		FILL_COLL_TEXTS(v6);
		v6.coll.group = group;
	}
	v6.parent = task->api;
	start(comm, comm->context, &task->event, descr[fake_nccl.version]);
	write_coll(task, is_p2p(task) ? "" : "RING", is_p2p(task) ? "" : "SIMPLE");
}

void fake_tell_op(struct op *op)
{
	struct nccl_descr_v4 old = {.type = NCCL_PROXY_OP, .parent = op->parent, .rank = op->rank};
	struct nccl_descr_v6 descr = {.type = NCCL_PROXY_OP, .parent = op->parent,
				      .rank = op->rank};

	descr.op.pid = op->pid;
	descr.op.channel = op->channel;
	descr.op.peer = op->peer;
	descr.op.steps = op->steps;
	descr.op.chunk = op->chunk;
	descr.op.is_send = op->is_send;
	memcpy(&old.op, &descr.op, sizeof(old.op));
	start(NULL, op->context, &op->event, fake_nccl.version >= 5 ? (void *)&descr : (void *)&old);
	if (fake_nccl.version >= 4 && op->event)
		fake_nccl.plugin->state(op->event, NCCL_OP_IN_PROGRESS, &(union nccl_state_args){0});
}

void fake_tell_step(struct op *op, int step)
{
	struct nccl_descr_v4 old = {.type = NCCL_PROXY_STEP, .parent = op->event,
				    .rank = op->rank};
	struct nccl_descr_v6 descr = {.type = NCCL_PROXY_STEP, .parent = op->event,
				      .rank = op->rank};

	/* Since 5 also when the operation has no handle. */
	if (!op->event && fake_nccl.version < 5)
		return;
	descr.step.step = old.step.step = step;
	start(NULL, op->context, &op->step[step % STEPS],
	      fake_nccl.version >= 5 ? (void *)&descr : (void *)&old);
}

void fake_tell_step_state(struct op *op, int step, int state, size_t bytes)
{
	union nccl_state_args args = {.step = {bytes}};

	if (op->event && op->step[step % STEPS])
		fake_nccl.plugin->state(op->step[step % STEPS], state,
					fake_nccl.version >= 4 ? &args : NULL);
}

void fake_tell_op_state(struct op *op, int state)
{
	union nccl_state_args args = {.op = {op->bytes, op->done}};

	if (fake_nccl.version < 4 && op->event)
		fake_nccl.plugin->state(op->event, state, &args);
}
