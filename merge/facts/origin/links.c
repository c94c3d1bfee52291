/* SPDX-License-Identifier: Apache-2.0 */
/*
 * links.c - forward and backward, joined by thread and sequence number
 *
 * One table a forward thread, indexed by the low bits of the number: a training step has
 * some hundreds to thousands of nodes, and backward follows soon.
 */
#include "merge/facts/origin/links.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int tp_links_init(struct tp_links *links, const struct tp_run *run)
{
	links->n_procs = run->n_procs;
	links->n_kept = TP_LINKS_KEPT;
	while (links->n_kept > TP_LINKS_LEAST &&
	       (uint64_t)links->n_kept * run->n_procs * sizeof(struct tp_link_op) > TP_LINKS_BYTES)
		links->n_kept /= 2;
	links->of_proc = calloc(run->n_procs + 1, sizeof(links->of_proc[0]));
	return links->of_proc ? 0 : -ENOMEM;
}

void tp_links_free(struct tp_links *links)
{
	for (uint32_t i = 0; i < links->n_procs && links->of_proc; i++) {
		for (uint32_t k = 0; k < TP_LINKS_THREADS && links->of_proc[i]; k++)
			free(links->of_proc[i][k].op);
		free(links->of_proc[i]);
	}
	free(links->of_proc);
	memset(links, 0, sizeof(*links));
}

static struct tp_link_op *find_op(struct tp_links *links, const struct tp_proc *proc,
				  uint32_t torch_id, uint32_t sequence, bool is_new)
{
	struct tp_link_thread *thread = links->of_proc[proc->at];
	uint32_t k = 0;

	if (!thread && is_new) {
		thread = calloc(TP_LINKS_THREADS, sizeof(*thread));
		links->of_proc[proc->at] = thread;
	}
	if (!thread)
		return NULL;
	while (k < TP_LINKS_THREADS && thread[k].op && thread[k].torch_id != torch_id)
		k++;
	if (k == TP_LINKS_THREADS)
		return NULL;
	if (!thread[k].op) {
		if (!is_new)
			return NULL;
		thread[k].torch_id = torch_id;
		thread[k].op = calloc(links->n_kept, sizeof(thread[k].op[0]));
		if (!thread[k].op)
			return NULL;
	}
	return &thread[k].op[sequence & (links->n_kept - 1)];
}

void tp_links_forward(struct tp_links *links, const struct tp_event *event)
{
	tp_links_forward_of(links, event, 0, 0);
}

void tp_links_forward_of(struct tp_links *links, const struct tp_event *event, uint32_t stack,
			 uint32_t path)
{
	struct tp_link_op *op;

	if (event->kind != TP_REC_OP || event->link == TP_NO_SEQ ||
	    event->flags & (TP_F_BACKWARD | TP_F_ASYNC) || TP_ARG_THREAD(event->arg) ||
	    !event->thread->torch_id)
		return;
	op = find_op(links, event->proc, event->thread->torch_id, event->link, true);
	if (!op)
		return;
	op->begin_ns = event->begin_ns;
	op->thread = event->thread;
	op->sequence = event->link;
	op->stack = stack;
	op->path = path;
	op->is_used = false;
}

const struct tp_link_op *tp_links_backward(struct tp_links *links, const struct tp_event *event)
{
	struct tp_link_op *op;

	if (event->kind != TP_REC_OP || event->link == TP_NO_SEQ ||
	    !(event->flags & TP_F_BACKWARD) || !TP_ARG_THREAD(event->arg))
		return NULL;
	op = find_op(links, event->proc, TP_ARG_THREAD(event->arg), event->link, false);
	if (!op || !op->thread || op->sequence != event->link || op->is_used)
		return NULL;
	op->is_used = true;
	return op;
}
