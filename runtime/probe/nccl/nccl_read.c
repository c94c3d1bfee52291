/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nccl_read.c - the description of an event, whatever the version of NCCL's interface
 */
#include "runtime/probe/nccl/nccl_read.h"

#include "runtime/probe/nccl/nccl_abi.h"
#include "runtime/trace/nccl_types.h"

/* Version 1 gives numbers, later ones these texts. */
static const char *const v1_func[] = {
	"Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce", "SendRecv", "Send",
	"Recv",
};
#define TYPE_NAME(number, name, scalar_type) [number] = name,
static const char *const v1_datatype[] = {TP_NCCL_TYPES(TYPE_NAME)};
static const char *const v1_algo[] = {
	"TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT",
};
static const char *const v1_proto[] = {"LL", "LL128", "SIMPLE"};

#define NAME(names, i) ((i) < sizeof(names) / sizeof((names)[0]) ? (names)[i] : "")

static const char *text(const char *given)
{
	return given ? given : "";
}

/* "ncclFloat8e4m3": its first number is its bits. 0: it has none. */
static uint8_t count_element_bytes(const char *datatype)
{
	uint32_t bits = 0;

	while (*datatype && (*datatype < '0' || *datatype > '9'))
		datatype++;
	while (*datatype >= '0' && *datatype <= '9' && bits < 1000)
		bits = bits * 10 + (uint32_t)(*datatype++ - '0');
	return bits / 8 <= 255 ? (uint8_t)(bits / 8) : 0;
}

/* The members that structures of all versions have by the same names. */
#define TAKE_COMM(from)                                                                    \
	do {                                                                               \
		event->comm_name = (from)->comm_name;                                      \
		event->comm_hash = (from)->comm_hash;                                      \
	} while (0)
#define TAKE_COLL(from)                                                                    \
	do {                                                                               \
		event->seq = (from)->seq;                                                  \
		event->has_seq = true;                                                     \
		event->bytes = (from)->count;                                              \
		event->root = (from)->root;                                                \
		event->channels = (from)->channels;                                        \
		event->warps = (from)->warps;                                              \
	} while (0)
#define TAKE_TEXTS(from)                                                                   \
	do {                                                                               \
		event->func = text((from)->func);                                          \
		event->datatype = text((from)->datatype);                                  \
	} while (0)

static void read_coll(uint32_t version, const void *detail, struct tp_nccl_event *event)
{
	if (version == 1) {
		const struct tp_nccl_coll_v1 *from = detail;

		TAKE_COMM(from);
		TAKE_COLL(from);
		event->func = NAME(v1_func, from->func);
		event->datatype = NAME(v1_datatype, from->datatype);
		event->algo = NAME(v1_algo, from->algo);
		event->proto = NAME(v1_proto, from->proto);
	} else if (version == 2) {
		const struct tp_nccl_coll_v2 *from = detail;

		TAKE_COMM(from);
		TAKE_COLL(from);
		TAKE_TEXTS(from);
		event->algo = text(from->algo);
		event->proto = text(from->proto);
	} else if (version == 3) {
		const struct tp_nccl_coll_v3 *from = detail;

		TAKE_COMM(from);
		TAKE_COLL(from);
		TAKE_TEXTS(from);
		event->algo = text(from->algo);
		event->proto = text(from->proto);
	} else {
		const struct tp_nccl_coll_v4 *from = detail;

		TAKE_COLL(from);
		TAKE_TEXTS(from);
		event->algo = text(from->algo);
		event->proto = text(from->proto);
	}
}

static void read_p2p(uint32_t version, const void *detail, struct tp_nccl_event *event)
{
	if (version == 1) {
		const struct tp_nccl_p2p_v1 *from = detail;

		TAKE_COMM(from);
		event->func = NAME(v1_func, from->func);
		event->datatype = NAME(v1_datatype, from->datatype);
		event->bytes = from->count;
		event->root = from->peer;
	} else if (version <= 3) {
		const struct tp_nccl_p2p_v2 *from = detail;

		TAKE_COMM(from);
		TAKE_TEXTS(from);
		event->bytes = from->count;
		event->root = from->peer;
	} else {
		const struct tp_nccl_p2p_v4 *from = detail;

		TAKE_TEXTS(from);
		event->bytes = from->count;
		event->root = from->peer;
		event->channels = from->channels;
	}
}

static void read_ce_coll(const void *detail, struct tp_nccl_event *event)
{
	const struct tp_nccl_ce_coll *from = detail;

	TAKE_TEXTS(from);
	event->seq = from->seq;
	event->has_seq = true;
	event->bytes = from->count;
	event->root = from->root;
	event->stream = (uintptr_t)from->stream;
	event->algo = "CE";
	event->proto = text(from->sync);
}

static void read_proxy_op(const void *detail, struct tp_nccl_event *event)
{
	const struct tp_nccl_proxy_op *from = detail;

	event->pid = from->pid;
	event->channel = from->channel;
	event->peer = from->peer;
	event->is_send = from->is_send != 0;
}

bool tp_nccl_read(uint32_t version, const void *description, struct tp_nccl_event *event)
{
	const struct tp_nccl_head *head = description;
	const void *detail = (const char *)description + TP_NCCL_DETAIL_AT;

	*event = (struct tp_nccl_event){
		.type = version < 5 ? head->type_v1 : (uint32_t)head->type_v5,
		.rank = head->rank, .parent = head->parent, .root = -1,
		.func = "", .datatype = "", .algo = "", .proto = "",
	};
	switch (event->type) {
	case TP_NCCL_GROUP:
	case TP_NCCL_PROXY_STEP:
		return true;
	case TP_NCCL_COLL:
		read_coll(version, detail, event);
		break;
	case TP_NCCL_P2P:
		read_p2p(version, detail, event);
		break;
	case TP_NCCL_PROXY_OP:
		read_proxy_op(detail, event);
		return true;
	case TP_NCCL_GROUP_API:
		return version >= 5;
	case TP_NCCL_COLL_API:
		if (version < 5)
			return false;
		event->stream = (uintptr_t)((const struct tp_nccl_coll_api *)detail)->stream;
		event->is_captured = ((const struct tp_nccl_coll_api *)detail)->is_captured;
		return true;
	case TP_NCCL_P2P_API:
		if (version < 5)
			return false;
		event->stream = (uintptr_t)((const struct tp_nccl_p2p_api *)detail)->stream;
		event->is_captured = ((const struct tp_nccl_p2p_api *)detail)->is_captured;
		return true;
	case TP_NCCL_CE_COLL:
		if (version < 6)
			return false;
		read_ce_coll(detail, event);
		break;
	default:
		return false;
	}
	event->element_bytes = count_element_bytes(event->datatype);
	event->bytes *= event->element_bytes;
	return true;
}
