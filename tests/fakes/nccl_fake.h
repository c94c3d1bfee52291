/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nccl_fake.h - a libnccl.so.2 that moves nothing, and tells its profiler plugin what the real one
 * would
 *
 * The plugin is opened as NCCL does it: NCCL_PROFILER_PLUGIN, dlopen(RTLD_NOW | RTLD_LOCAL) when
 * the first communicator is made, the newest table that it knows; FAKE_NCCL_VERSION (1 to 6) makes
 * it know no newer one. Manners kept, of the releases in nccl_plugin.h: one mask for all
 * communicators, read for each group; before version 4 nothing is started in a group without a
 * handle; version 1 stops events without looking at their handles, and counts only what it
 * profiles; from version 5 on a call's handle is stopped once more by later calls that had none;
 * tasks keep the mask that they were enqueued with, also in a captured graph, which is replayed on
 * another thread; proxies are threads of their own, append 16 operations at a time, have 8 steps of
 * each under way, and work for other processes, whose contexts and handles mean nothing here.
 *
 * What it tells while the mask is not 0 it also writes, a line each, into the file that
 * FAKE_NCCL_BOOKS names:
 *   coll HASH FUNC SEQ BYTES TYPE ALGO PROTO PEER STREAM FLAGS    SEQ "-": none; FLAGS: r replay
 *   xfer HASH FUNC SEQ BYTES RANK PEER CHANNEL send|recv          FUNC "-", HASH 0: foreign
 * What it cannot show: what a real device does, how often real proxies come, real times.
 */
#ifndef NCCL_FAKE_H
#define NCCL_FAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(default)

/* As in nccl.h. */
enum fake_func { FAKE_BROADCAST, FAKE_REDUCE, FAKE_ALL_GATHER, FAKE_REDUCE_SCATTER, FAKE_ALL_REDUCE,
		 FAKE_SEND_RECV, FAKE_SEND, FAKE_RECV };
enum fake_type { FAKE_INT8 = 0, FAKE_FLOAT16 = 6, FAKE_FLOAT32 = 7, FAKE_FLOAT64 = 8,
		 FAKE_BFLOAT16 = 9 };

struct fake_comm;
struct fake_comm_spec {
	const char *name;	/* may be NULL */
	uint64_t hash;
	int n_nodes, n_ranks, rank, channels;
};

struct fake_comm *fake_nccl_comm(const struct fake_comm_spec *spec);
/* Waits for its proxies first; without `in_order` events stay open. */
void fake_nccl_destroy(struct fake_comm *comm, bool in_order);

struct fake_call {
	enum fake_func func;
	enum fake_type type;
	size_t count;
	int peer;		/* of SEND and RECV; root */
	uintptr_t stream;
	bool is_captured;	/* recorded into the communicator's graph: fake_nccl_replay */
	bool by_engines;	/* version 6 only */
};
void fake_nccl_call(struct fake_comm *comm, const struct fake_call *call);
void fake_nccl_group_start(void);
void fake_nccl_group_end(void);

/* What was captured runs, on a thread of the driver. */
void fake_nccl_replay(struct fake_comm *comm);
/* An operation for another process of the host. */
void fake_nccl_foreign(struct fake_comm *comm, int peer);
/* Until the proxies have done all. */
void fake_nccl_wait(struct fake_comm *comm);

/* Microseconds between two looks of a proxy at its operations. */
void fake_nccl_set_pace(unsigned us);
int fake_nccl_version(void);	/* of the plugin in use, 0: none */
int fake_nccl_mask(void);

#pragma GCC visibility pop

#endif
