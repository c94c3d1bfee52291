/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nccl_proxy.c - the fake libnccl: the thread of a communicator that works for it between hosts
 */
#include <stdlib.h>
#include <unistd.h>

#include "tests/fakes/nccl_state.h"

static void write_xfer(const struct op *op)
{
	char seq[24] = "-";

	if (!fake_nccl.books || !op->is_wanted)
		return;
	if (op->has_seq)
		snprintf(seq, sizeof(seq), "%lu", (unsigned long)op->seq);
	fprintf(fake_nccl.books, "xfer %lx %s %s %zu %d %d %u %s\n", (unsigned long)op->hash,
		op->func ? op->func : "-", seq, op->bytes, op->rank, op->peer, op->channel,
		op->is_send ? "send" : "recv");
}

static void post(struct op *op)
{
	fake_tell_step(op, op->posted);
	fake_tell_step_state(op, op->posted, op->is_send ? NCCL_STEP_SEND_GPU_WAIT :
							   NCCL_STEP_RECV_WAIT, 0);
	op->posted++;
	fake_tell_op_state(op, op->is_send ? NCCL_OP_SEND_POSTED : NCCL_OP_RECV_POSTED);
}

static void transmit(struct op *op)
{
	if (op->is_send && fake_nccl.version >= 4)
		fake_tell_step_state(op, op->sent, NCCL_STEP_SEND_PEER_WAIT, 0);
	op->bytes += (size_t)op->chunk;
	fake_tell_step_state(op, op->sent, op->is_send ? NCCL_STEP_SEND_WAIT :
							 NCCL_STEP_RECV_FLUSH_WAIT,
			     (size_t)op->chunk);
	/* The same argument as above: the bytes count once. */
	if (!op->is_send)
		fake_tell_step_state(op, op->sent, NCCL_STEP_RECV_GPU_WAIT, (size_t)op->chunk);
	op->sent++;
	fake_tell_op_state(op, op->is_send ? NCCL_OP_SEND_TRANSMITTED : NCCL_OP_RECV_RECEIVED);
}

static void finish_step(struct op *op)
{
	void **handle = &op->step[op->done % STEPS];

	if (*handle)
		fake_nccl.plugin->stop(*handle);
	*handle = NULL;
	op->done++;
	fake_tell_op_state(op, op->is_send ? NCCL_OP_SEND_DONE : NCCL_OP_RECV_DONE);
}

/* True: it is done. */
static bool progress(struct op *op)
{
	if (op->done < op->sent)
		finish_step(op);
	if (op->sent < op->posted)
		transmit(op);
	if (op->posted < op->steps && op->posted - op->done < STEPS)
		post(op);
	if (op->done < op->steps)
		return false;
	if (op->event)
		fake_nccl.plugin->stop(op->event);
	write_xfer(op);
	return true;
}

/* Under the lock. */
static void append(struct fake_comm *comm)
{
	for (int n = 0; n < APPEND && comm->queue; n++) {
		struct op *op = comm->queue;

		comm->queue = op->next;
		if (!comm->queue)
			comm->queue_end = &comm->queue;
		op->next = comm->active;
		comm->active = op;
		if (op->mask & (NCCL_PROXY_OP | NCCL_PROXY_STEP))
			fake_tell_op(op);
	}
}

static void *run(void *arg)
{
	struct fake_comm *comm = arg;

	pthread_mutex_lock(&comm->lock);
	for (;;) {
		while (!comm->queue && !comm->active && !comm->is_ending)
			pthread_cond_wait(&comm->changed, &comm->lock);
		if (comm->is_aborting || (!comm->queue && !comm->active))
			break;
		append(comm);
		pthread_mutex_unlock(&comm->lock);
		for (struct op **at = &comm->active, *op; (op = *at);) {
			if (!progress(op)) {
				at = &op->next;
				continue;
			}
			*at = op->next;
			free(op);
			pthread_mutex_lock(&comm->lock);
			comm->n_due--;
			pthread_cond_broadcast(&comm->changed);
			pthread_mutex_unlock(&comm->lock);
		}
		if (fake_nccl.pace_us)
			usleep(fake_nccl.pace_us);
		pthread_mutex_lock(&comm->lock);
	}
	pthread_mutex_unlock(&comm->lock);
	return NULL;
}

void fake_proxy_start(struct fake_comm *comm)
{
	pthread_mutex_init(&comm->lock, NULL);
	pthread_cond_init(&comm->changed, NULL);
	comm->queue_end = &comm->queue;
	if (comm->spec.n_nodes > 1)
		comm->has_thread = !pthread_create(&comm->thread, NULL, run, comm);
}

void fake_proxy_end(struct fake_comm *comm, bool in_order)
{
	pthread_mutex_lock(&comm->lock);
	comm->is_ending = true;
	comm->is_aborting = !in_order;
	pthread_cond_broadcast(&comm->changed);
	pthread_mutex_unlock(&comm->lock);
	if (comm->has_thread)
		pthread_join(comm->thread, NULL);
	for (struct op *op; (op = comm->active) || (op = comm->queue); free(op))
		*(comm->active ? &comm->active : &comm->queue) = op->next;
}

void fake_proxy_add(struct fake_comm *comm, struct op *op)
{
	pthread_mutex_lock(&comm->lock);
	*comm->queue_end = op;
	comm->queue_end = &op->next;
	comm->n_due++;
	pthread_cond_broadcast(&comm->changed);
	pthread_mutex_unlock(&comm->lock);
}

void fake_proxy_wait(struct fake_comm *comm)
{
	pthread_mutex_lock(&comm->lock);
	while (comm->n_due)
		pthread_cond_wait(&comm->changed, &comm->lock);
	pthread_mutex_unlock(&comm->lock);
}
