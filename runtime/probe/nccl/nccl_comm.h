/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nccl_comm.h - the communicators of the process, and NCCL's mask of wanted events
 *
 * They are usually made before the process has proved to train: they are remembered, and told in
 * the trace when there is one. What NCCL gets as a plugin's context is a communicator's place.
 * A library of NCCL has one mask for all its communicators, which it reads anew for each group of
 * operations: it is written at a window's edges, 0 outside.
 *
 * Any thread; a spin lock around the list.
 */
#ifndef TP_PROBE_NCCL_COMM_H
#define TP_PROBE_NCCL_COMM_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/trace/trainprof_trace.h"

enum {
	TP_NCCL_COMMS = 256,	/* at a time; those of more are not recorded, and counted */
	TP_NCCL_NAME = 64,
};

struct tp_nccl_who {
	struct tp_communicator is;	/* hash 0, numbers -1: not known */
	const char *name;		/* NULL: none */
};

/* 1 + its place, 0: no room. `mask` (may be NULL) is NCCL's. */
uint32_t tp_nccl_comm_add(const struct tp_nccl_who *who, int *mask);
void tp_nccl_comm_remove(uint32_t comm);

/* Before version 4 NCCL tells hash, name and rank only with the first collective. */
void tp_nccl_comm_name(uint32_t comm, uint64_t hash, int32_t rank, const char *name);
/* False: there is none. `name` has zero bytes behind it, unless it fills all. */
bool tp_nccl_comm_get(uint32_t comm, struct tp_communicator *is, char name[TP_NCCL_NAME]);

/* Whether operations of its proxies are to be waited for: it has several hosts, may have, or one
 * was seen. */
bool tp_nccl_comm_has_proxies(uint32_t comm);
void tp_nccl_comm_saw_proxy(uint32_t comm);

/* To all masks, and those to come. */
void tp_nccl_comm_set_mask(uint32_t mask);

/* Drain thread: into the names those that are not there yet. The largest one: false, none. */
void tp_nccl_comm_tell(void);
bool tp_nccl_comm_largest(struct tp_communicator *is);

struct tp_nccl_comm_counts {
	uint64_t made, refused;
};
struct tp_nccl_comm_counts tp_nccl_comm_counts(void);

/* In the child of fork. */
void tp_nccl_comm_forked(void);

#endif
