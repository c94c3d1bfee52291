/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nccl_record.h - what NCCL told of an event as a record, and whether events are taken
 *
 * For nccl_events.c (NCCL's threads) and nccl_settle.c (the drain thread).
 */
#ifndef TP_PROBE_NCCL_RECORD_H
#define TP_PROBE_NCCL_RECORD_H

#include <sys/types.h>

#include "runtime/probe/nccl/nccl_comm.h"
#include "runtime/probe/nccl/nccl_events.h"
#include "runtime/probe/nccl/nccl_pool.h"
#include "runtime/probe/nccl/nccl_read.h"

struct tp_nccl_taking {
	uint32_t is_armed;	/* atomic */
	uint64_t over;		/* atomic: a window ended then and is not settled; 0: none */
	pid_t pid;
	struct tp_nccl_counts counts;	/* atomic */
};
extern struct tp_nccl_taking tp_nccl_taking __attribute__((visibility("hidden")));

#define TP_NCCL_COUNT(what) __atomic_fetch_add(&tp_nccl_taking.counts.what, 1, __ATOMIC_RELAXED)

/* Names of records: interned. */
uint32_t tp_nccl_name_coll(const struct tp_communicator *comm, const char *comm_name,
			   const struct tp_nccl_event *event, uint64_t stream);
/* With the function of its collective, whose name is `coll`; 0: not known. */
uint32_t tp_nccl_name_xfer(const struct tp_nccl_event *event, uint64_t hash, bool is_foreign,
			   uint32_t coll);

/* When it ended, as far as was heard; 0: it has not. */
uint64_t tp_nccl_end_of(const struct tp_nccl_entry *entry);

/* Into the thread's ring; of a step of a proxy nothing. */
void tp_nccl_record_coll(const struct tp_nccl_entry *entry, uint64_t end, uint8_t flags);
void tp_nccl_record_xfer(const struct tp_nccl_entry *entry, uint64_t end, uint8_t flags);
void tp_nccl_record_entry(const struct tp_nccl_entry *entry, uint64_t end, uint8_t flags);

#endif
