/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nccl_state.h - the inside of the fake libnccl: nccl.c, nccl_tell.c, nccl_proxy.c
 */
#ifndef NCCL_STATE_H
#define NCCL_STATE_H

#include <pthread.h>
#include <stdio.h>

#include "tests/fakes/nccl_fake.h"
#include "tests/fakes/nccl_plugin.h"

enum { STEPS = 8, APPEND = 16 };	/* NCCL_STEPS, NCCL_PROXY_APPEND_BATCH_SIZE */

struct task {
	struct task *next;
	struct fake_comm *comm;
	struct fake_call call;
	int mask;		/* when it was enqueued */
	void *api, *event;	/* handles */
	uint64_t seq;
	bool has_seq, is_wanted;	/* wanted: the mask was not 0 when it was told */
};

struct op {
	struct op *next;
	void *context, *parent, *event;
	int rank, pid, peer, steps, chunk, mask;
	uint8_t channel;
	bool is_send;
	int posted, sent, done;
	size_t bytes;
	void *step[STEPS];
	/* For the books. */
	uint64_t hash, seq;
	const char *func;
	bool has_seq, is_wanted;
};

struct fake_comm {
	struct fake_comm_spec spec;
	char name[32];
	void *context;
	uint64_t seq[8], ce_seq;
	struct task *graph;
	/* The proxy's. */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct op *queue, **queue_end, *active;
	bool has_thread, is_ending, is_aborting;
	unsigned n_due;
};

struct fake_nccl {
	const struct nccl_profiler *plugin;
	int version, mask;
	unsigned pace_us;
	FILE *books;
};
extern struct fake_nccl fake_nccl;

extern const char *const fake_func_name[], *const fake_type_name[];

/* ---- nccl_tell.c: one event each, as the version has it ---- */

void fake_tell_api(struct task *task, void *group);
void *fake_tell_group(struct fake_comm *comm, bool is_api);
void fake_tell_task(struct task *task, void *group);
void fake_tell_op(struct op *op);
void fake_tell_step(struct op *op, int step);
/* args NULL before version 4. */
void fake_tell_step_state(struct op *op, int step, int state, size_t bytes);
void fake_tell_op_state(struct op *op, int state);

/* ---- nccl_proxy.c ---- */

void fake_proxy_start(struct fake_comm *comm);
void fake_proxy_end(struct fake_comm *comm, bool in_order);
void fake_proxy_add(struct fake_comm *comm, struct op *op);
void fake_proxy_wait(struct fake_comm *comm);

#endif
