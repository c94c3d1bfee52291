/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comm_kind.c - kinds of collectives: their names in gloo, in NCCL and in its kernels
 */
#include "merge/model/comm_kind.h"

#include <string.h>

#include "runtime/trace/torch_names.h"

static const struct {
	const char *name;
	const char *words[3];		/* in ranges of gloo and NCCL, and in names of kernels */
} kinds[TP_COMM_KINDS] = {
	/* A word that holds another stands before it. */
	[TP_COMM_ALL_REDUCE] = {"all_reduce", {"allreduce", "all_reduce", "AllReduce"}},
	[TP_COMM_ALL_GATHER] = {"all_gather", {"allgather", "all_gather", "AllGather"}},
	[TP_COMM_REDUCE_SCATTER] = {"reduce_scatter", {"reduce_scatter", "ReduceScatter"}},
	[TP_COMM_BROADCAST] = {"broadcast", {"broadcast", "Broadcast"}},
	[TP_COMM_ALL_TO_ALL] = {"all_to_all", {"alltoall", "all_to_all", "AllToAll"}},
	[TP_COMM_REDUCE] = {"reduce", {"reduce", "Reduce"}},
	[TP_COMM_GATHER] = {"gather", {"gather", "Gather"}},
	[TP_COMM_SCATTER] = {"scatter", {"scatter", "Scatter"}},
	[TP_COMM_SEND_RECV] = {"send/recv", {"SendRecv"}},
	[TP_COMM_SEND] = {"send", {"send"}},
	[TP_COMM_RECV] = {"recv", {"recv"}},
	[TP_COMM_BARRIER] = {"barrier", {"barrier"}},
};

/* In this order: "AllReduce" holds "Reduce", "ReduceScatter" both. */
static const uint8_t looked_for[] = {
	TP_COMM_ALL_REDUCE, TP_COMM_ALL_GATHER, TP_COMM_REDUCE_SCATTER, TP_COMM_BROADCAST,
	TP_COMM_ALL_TO_ALL, TP_COMM_SEND_RECV, TP_COMM_REDUCE, TP_COMM_GATHER, TP_COMM_SCATTER,
	TP_COMM_SEND, TP_COMM_RECV, TP_COMM_BARRIER,
};

const char *tp_comm_name(enum tp_comm_kind kind)
{
	return kinds[kind].name;
}

const char *tp_comm_use_name(enum tp_comm_use use)
{
	static const char *const names[] = {
	    [TP_COMM_USE_OTHER] = "",
	    [TP_COMM_USE_DDP] = "DDP",
	    [TP_COMM_USE_FSDP] = "FSDP",
	    [TP_COMM_USE_FUNCTIONAL] = "DTensor",
	};

	return names[use];
}

static enum tp_comm_kind find_word(const char *name, uint32_t n_bytes)
{
	for (uint32_t i = 0; i < sizeof(looked_for); i++) {
		for (uint32_t w = 0; w < 3 && kinds[looked_for[i]].words[w]; w++) {
			const char *word = kinds[looked_for[i]].words[w];

			if (memmem(name, n_bytes, word, strlen(word)))
				return looked_for[i];
		}
	}
	return TP_COMM_KINDS;
}

enum tp_comm_kind tp_comm_kind_of(const char *name, uint32_t n_bytes)
{
	return tp_comm_library(name, n_bytes) ? find_word(name, n_bytes) : TP_COMM_KINDS;
}

enum tp_comm_kind tp_comm_kind_of_function(const char *name, uint32_t n_bytes)
{
	/* Its kernels are of both, and have another word. */
	if (n_bytes == 4 && !memcmp(name, "Send", 4))
		return TP_COMM_SEND;
	if (n_bytes == 4 && !memcmp(name, "Recv", 4))
		return TP_COMM_RECV;
	return find_word(name, n_bytes);
}

double tp_comm_bus_factor(enum tp_comm_kind kind, uint32_t n_ranks)
{
	double n = n_ranks;

	if (n_ranks < 2)
		return 0;
	switch (kind) {
	case TP_COMM_ALL_REDUCE:
		return 2 * (n - 1) / n;
	case TP_COMM_ALL_GATHER:
	case TP_COMM_REDUCE_SCATTER:
	case TP_COMM_ALL_TO_ALL:
		return (n - 1) / n;
	case TP_COMM_BROADCAST:
	case TP_COMM_REDUCE:
	case TP_COMM_SEND:
	case TP_COMM_RECV:
	case TP_COMM_SEND_RECV:
		return 1;
	default:
		return 0;
	}
}

bool tp_comm_is_synchronising(enum tp_comm_kind kind)
{
	return kind == TP_COMM_ALL_REDUCE || kind == TP_COMM_ALL_GATHER ||
	       kind == TP_COMM_REDUCE_SCATTER || kind == TP_COMM_ALL_TO_ALL ||
	       kind == TP_COMM_BARRIER;
}
