/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nccl_abi.h - what NCCL hands to a profiler plugin, versions 1 to 6 of its interface
 *
 * NCCL looks for ncclProfiler_v6 first, then for older ones, and takes the newest that it knows:
 * 2.23 version 1, 2.24 and 2.25 version 2, 2.26 version 3, 2.27 version 4, 2.28 version 5, 2.29
 * and later ones version 6. So the meaning of a version is that of those releases.
 *
 * Only the members that are read are named; tests/unit/nccl_read.c has all of them, as compared
 * with NVIDIA's headers. An event's description is a head and, 24 bytes on, what its type says.
 */
#ifndef TP_PROBE_NCCL_ABI_H
#define TP_PROBE_NCCL_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TP_NCCL_VERSIONS = 6 };

enum tp_nccl_type {	/* bits of the mask, and types of events */
	TP_NCCL_GROUP = 1 << 0,
	TP_NCCL_COLL = 1 << 1,
	TP_NCCL_P2P = 1 << 2,
	TP_NCCL_PROXY_OP = 1 << 3,
	TP_NCCL_PROXY_STEP = 1 << 4,
	TP_NCCL_GROUP_API = 1 << 8,	/* since 5 */
	TP_NCCL_COLL_API = 1 << 9,
	TP_NCCL_P2P_API = 1 << 10,
	TP_NCCL_CE_COLL = 1 << 12,	/* since 6 */
};

enum tp_nccl_state {
	TP_NCCL_OP_SEND_DONE = 3,	/* states 0 to 7 are of operations, before 4 */
	TP_NCCL_OP_RECV_DONE = 7,
	TP_NCCL_SEND_GPU_WAIT = 8,	/* states of steps */
	TP_NCCL_SEND_WAIT = 9,
	TP_NCCL_RECV_WAIT = 10,
	TP_NCCL_RECV_FLUSH_WAIT = 11,
	TP_NCCL_RECV_GPU_WAIT = 12,
	TP_NCCL_SEND_PEER_WAIT = 20,	/* since 4 */
};

/* The head: `type` is one byte before version 5, and eight from there on. */
struct tp_nccl_head {
	union {
		uint8_t type_v1;
		uint64_t type_v5;
	};
	uint64_t parent;	/* a handle of ours, or what another process's plugin made */
	int32_t rank;
};
enum { TP_NCCL_DETAIL_AT = 24 };
_Static_assert(sizeof(struct tp_nccl_head) == TP_NCCL_DETAIL_AT, "what a type says follows");

struct tp_nccl_coll_v1 {
	const char *comm_name;
	uint64_t comm_hash, seq;
	uint8_t func;
	const void *send, *recv;
	size_t count;
	int root;
	uint8_t datatype;
	uint32_t op;
	size_t traffic_bytes;
	uint8_t channels, warps, algo, proto;
};

struct tp_nccl_coll_v2 {
	const char *comm_name;
	uint64_t comm_hash, seq;
	const char *func;
	const void *send, *recv;
	size_t count;
	int root;
	const char *datatype;
	size_t traffic_bytes;
	uint8_t channels, warps;
	const char *algo, *proto;
};

struct tp_nccl_coll_v3 {
	const char *comm_name;
	uint64_t comm_hash, seq;
	const char *func;
	const void *send, *recv;
	size_t count;
	int root;
	const char *datatype;
	uint8_t channels, warps;
	const char *algo, *proto;
};

struct tp_nccl_coll_v4 {	/* and later */
	uint64_t seq;
	const char *func;
	const void *send, *recv;
	size_t count;
	int root;
	const char *datatype;
	uint8_t channels, warps;
	const char *algo, *proto;
};

struct tp_nccl_p2p_v1 {
	const char *comm_name;
	uint64_t comm_hash;
	uint8_t func;
	const void *buffer;
	uint8_t datatype;
	size_t count;
	int peer;
};

struct tp_nccl_p2p_v2 {		/* and 3 */
	const char *comm_name;
	uint64_t comm_hash;
	const char *func;
	const void *buffer;
	const char *datatype;
	size_t count;
	int peer;
};

struct tp_nccl_p2p_v4 {		/* and later */
	const char *func;
	const void *buffer;
	const char *datatype;
	size_t count;
	int peer;
	uint8_t channels;
};

struct tp_nccl_proxy_op {	/* all versions */
	int32_t pid;		/* of the process whose collective it is */
	uint8_t channel;
	int peer, steps, chunk_bytes, is_send;
};

struct tp_nccl_coll_api {	/* since 5 */
	const char *func;
	size_t count;
	const char *datatype;
	int root;
	void *stream;
	bool is_captured;
};

struct tp_nccl_p2p_api {	/* since 5 */
	const char *func;
	size_t count;
	const char *datatype;
	void *stream;
	bool is_captured;
};

struct tp_nccl_ce_coll {	/* since 6 */
	uint64_t seq;
	const char *func;
	const void *send, *recv;
	size_t count;
	int root;
	const char *datatype, *sync;
	bool has_sync;
	uint32_t batch, batches, ce_seq;
	void *stream;
};

/* What comes with a state: of an operation (before 4) the bytes so far, of a step (since 4) its
 * own; in both cases first. Steps had none before 4. */
struct tp_nccl_state_args {
	size_t bytes;
};

#endif
