/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nccl_plugin.h - all of what NCCL and its profiler plugin share, versions 1 to 6, for the fake
 * libnccl and for unit tests
 *
 * Written apart from runtime/probe/nccl/nccl_abi.h, so that a mistake in one of them is found. Sizes
 * and offsets of all members were compared with NVIDIA's headers (nccl_profiler.h, profiler_v*.h)
 * of tags v2.23.4-1 (1), v2.24.3-1 (2), v2.26.2-1 (3), v2.27.3-1 (4), v2.28.3-1 (5), v2.29.2-1 and
 * v2.30.7-1 (6), on x86-64.
 */
#ifndef NCCL_PLUGIN_H
#define NCCL_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	NCCL_GROUP = 1, NCCL_COLL = 2, NCCL_P2P = 4, NCCL_PROXY_OP = 8, NCCL_PROXY_STEP = 16,
	NCCL_PROXY_CTRL = 32, NCCL_KERNEL_CH = 64, NCCL_NET_PLUGIN = 128, NCCL_GROUP_API = 256,
	NCCL_COLL_API = 512, NCCL_P2P_API = 1024, NCCL_KERNEL_LAUNCH = 2048, NCCL_CE_COLL = 4096,
	NCCL_CE_SYNC = 8192, NCCL_CE_BATCH = 16384,
};

enum {
	NCCL_OP_SEND_POSTED = 0, NCCL_OP_SEND_REM_FIFO_WAIT = 1, NCCL_OP_SEND_TRANSMITTED = 2,
	NCCL_OP_SEND_DONE = 3, NCCL_OP_RECV_POSTED = 4, NCCL_OP_RECV_RECEIVED = 5,
	NCCL_OP_RECV_TRANSMITTED = 6, NCCL_OP_RECV_DONE = 7,
	NCCL_STEP_SEND_GPU_WAIT = 8, NCCL_STEP_SEND_WAIT = 9, NCCL_STEP_RECV_WAIT = 10,
	NCCL_STEP_RECV_FLUSH_WAIT = 11, NCCL_STEP_RECV_GPU_WAIT = 12,
	NCCL_OP_IN_PROGRESS = 19, NCCL_STEP_SEND_PEER_WAIT = 20,
};

struct nccl_descr_v1 {
	uint8_t type;
	void *parent;
	int rank;
	union {
		struct {
			const char *name;
			uint64_t hash, seq;
			uint8_t func;
			const void *send;
			void *recv;
			size_t count;
			int root;
			uint8_t datatype;
			uint32_t op;
			size_t traffic;
			uint8_t channels, warps, algo, proto;
			int is_collnet, is_nvls;
		} coll;
		struct {
			const char *name;
			uint64_t hash;
			uint8_t func;
			void *buffer;
			uint8_t datatype;
			size_t count;
			int peer;
		} p2p;
		struct {
			int pid;
			uint8_t channel;
			int peer, steps, chunk, is_send;
		} op;
		struct {
			int step;
		} step;
	};
};

struct nccl_descr_v2 {
	uint8_t type;
	void *parent;
	int rank;
	union {
		struct {
			const char *name;
			uint64_t hash, seq;
			const char *func;
			const void *send;
			void *recv;
			size_t count;
			int root;
			const char *datatype;
			size_t traffic;
			uint8_t channels, warps;
			const char *algo, *proto;
		} coll;
		struct {
			const char *name;
			uint64_t hash;
			const char *func;
			void *buffer;
			const char *datatype;
			size_t count;
			int peer;
		} p2p;
		struct {
			int pid;
			uint8_t channel;
			int peer, steps, chunk, is_send;
		} op;
		struct {
			int step;
		} step;
	};
};

struct nccl_descr_v3 {
	uint8_t type;
	void *parent;
	int rank;
	union {
		struct {
			const char *name;
			uint64_t hash, seq;
			const char *func;
			const void *send;
			void *recv;
			size_t count;
			int root;
			const char *datatype;
			uint8_t channels, warps;
			const char *algo, *proto;
		} coll;
		struct {
			const char *name;
			uint64_t hash;
			const char *func;
			void *buffer;
			const char *datatype;
			size_t count;
			int peer;
		} p2p;
		struct {
			int pid;
			uint8_t channel;
			int peer, steps, chunk, is_send;
		} op;
		struct {
			int step;
		} step;
		struct {
			int64_t id;
			void *data;
		} net;
	};
};

struct nccl_descr_v4 {
	uint8_t type;
	void *parent;
	int rank;
	union {
		struct {
			uint64_t seq;
			const char *func;
			const void *send;
			void *recv;
			size_t count;
			int root;
			const char *datatype;
			uint8_t channels, warps;
			const char *algo, *proto;
		} coll;
		struct {
			const char *func;
			void *buffer;
			const char *datatype;
			size_t count;
			int peer;
			uint8_t channels;
		} p2p;
		struct {
			int pid;
			uint8_t channel;
			int peer, steps, chunk, is_send;
		} op;
		struct {
			int step;
		} step;
		struct {
			uint8_t channel;
			uint64_t timer;
		} kernel;
	};
};

struct nccl_descr_v6 {	/* and 5, which ends before ce_coll */
	uint64_t type;
	void *parent;
	int rank;
	union {
		struct {
			bool is_captured;
			int depth;
		} group_api;
		struct {
			const char *func;
			size_t count;
			const char *datatype;
			int root;
			void *stream;
			bool is_captured;
		} coll_api;
		struct {
			const char *func;
			size_t count;
			const char *datatype;
			void *stream;
			bool is_captured;
		} p2p_api;
		struct {
			void *stream;
		} launch;
		struct {
			uint64_t seq;
			const char *func;
			const void *send;
			void *recv;
			size_t count;
			int root;
			const char *datatype;
			uint8_t channels, warps;
			const char *algo, *proto;
			void *group;
		} coll;
		struct {
			const char *func;
			void *buffer;
			const char *datatype;
			size_t count;
			int peer;
			uint8_t channels;
			void *group;
		} p2p;
		struct {
			int pid;
			uint8_t channel;
			int peer, steps, chunk, is_send;
		} op;
		struct {
			int step;
		} step;
		struct {
			uint64_t seq;
			const char *func;
			const void *send;
			void *recv;
			size_t count;
			int root;
			const char *datatype, *sync;
			bool has_sync;
			uint32_t batch, batches, ce_seq;
			void *stream;
		} ce_coll;
	};
};

union nccl_state_args {
	struct {
		size_t bytes;
		int steps;
	} op;		/* before 4 */
	struct {
		size_t bytes;
	} step;		/* since 4 */
	struct {
		int appended;
	} ctrl;
};

typedef void (*nccl_logger)(int level, unsigned long flags, const char *file, int line,
			    const char *format, ...);

struct nccl_profiler {
	const char *name;
	union {
		int (*init_v1)(void **context, int *mask);
		int (*init_v4)(void **context, int *mask, const char *name, uint64_t hash,
			       int n_nodes, int n_ranks, int rank, nccl_logger log);
		int (*init_v5)(void **context, uint64_t hash, int *mask, const char *name,
			       int n_nodes, int n_ranks, int rank, nccl_logger log);
	};
	int (*start)(void *context, void **handle, void *descr);
	int (*stop)(void *handle);
	int (*state)(void *handle, int state, union nccl_state_args *args);
	int (*finalize)(void *context);
};

#endif
