/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nccl_read.h - the description of an event, whatever the version of NCCL's interface
 *
 * Texts are NCCL's own constants and live as long as the library; the communicator's name lives
 * until the call returns. Pure; any thread.
 */
#ifndef TP_PROBE_NCCL_READ_H
#define TP_PROBE_NCCL_READ_H

#include <stdbool.h>
#include <stdint.h>

struct tp_nccl_event {
	uint32_t type;		/* enum tp_nccl_type */
	int32_t rank;
	uint64_t parent;
	/* COLL, P2P, CE_COLL */
	const char *comm_name;	/* before 4; may be NULL */
	uint64_t comm_hash;	/* before 4 */
	uint64_t seq;
	const char *func, *datatype, *algo, *proto; /* never NULL */
	uint64_t bytes;
	int32_t root;		/* P2P: the peer */
	uint8_t element_bytes, channels, warps;
	bool has_seq;
	/* COLL_API, P2P_API, CE_COLL */
	uint64_t stream;
	bool is_captured;
	/* PROXY_OP */
	int32_t pid, peer;
	uint16_t channel;
	bool is_send;
};

/* False: of a type that is not wanted; nothing but type, rank and parent is set. */
bool tp_nccl_read(uint32_t version, const void *description, struct tp_nccl_event *event);

#endif
