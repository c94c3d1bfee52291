/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comm_kind.h - kinds of collectives, and what asks for them
 */
#ifndef TP_MERGE_COMM_KIND_H
#define TP_MERGE_COMM_KIND_H

#include <stdbool.h>
#include <stdint.h>

enum tp_comm_kind {
	TP_COMM_ALL_REDUCE,
	TP_COMM_ALL_GATHER,
	TP_COMM_REDUCE_SCATTER,
	TP_COMM_BROADCAST,
	TP_COMM_REDUCE,
	TP_COMM_ALL_TO_ALL,
	TP_COMM_GATHER,
	TP_COMM_SCATTER,
	TP_COMM_SEND,
	TP_COMM_RECV,
	TP_COMM_SEND_RECV,	/* NCCL has one kernel for both, and for all to all */
	TP_COMM_BARRIER,
	TP_COMM_KINDS
};
const char *tp_comm_name(enum tp_comm_kind kind);
/* The kind that a range or kernel of this name is; TP_COMM_KINDS: none. */
enum tp_comm_kind tp_comm_kind_of(const char *name, uint32_t n_bytes);
/* Of a function of NCCL as its plugin names it: "AllReduce", "Send". */
enum tp_comm_kind tp_comm_kind_of_function(const char *name, uint32_t n_bytes);

/* All ranks leave it after the last has come. */
bool tp_comm_is_synchronising(enum tp_comm_kind kind);

/*
 * Bytes that cross the slowest link, of one byte of message, with n ranks (busbw of nccl-tests,
 * doc/PERFORMANCE.md); 0: says nothing for this kind.
 */
double tp_comm_bus_factor(enum tp_comm_kind kind, uint32_t n_ranks);

/* What asked for it. */
enum tp_comm_use {
	TP_COMM_USE_OTHER,		/* the program, or not known */
	TP_COMM_USE_FUNCTIONAL,		/* functional collectives: DTensor, tensor parallelism */
	TP_COMM_USE_DDP,		/* a bucket of gradients */
	TP_COMM_USE_FSDP,
	TP_COMM_USES
};
const char *tp_comm_use_name(enum tp_comm_use use);

#endif
