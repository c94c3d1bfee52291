/* SPDX-License-Identifier: Apache-2.0 */
/*
 * links.h - which forward operator a node of the backward pass belongs to
 *
 * torch numbers the nodes that a thread's forward pass makes; operators that make none show
 * the number of the next one. So of all operators of a forward thread with the number of a
 * backward node, the last to begin before it is the one that made it.
 *
 * Memory: the newest TP_LINKS_KEPT operators of each forward thread; with hundreds of processes
 * fewer, as many as TP_LINKS_BYTES hold when each has one such thread.
 */
#ifndef TP_MERGE_LINKS_H
#define TP_MERGE_LINKS_H

#include "merge/model/model.h"

enum {
	TP_LINKS_KEPT = 32768,		/* numbers of one thread; power of two */
	TP_LINKS_LEAST = 1024,
	TP_LINKS_BYTES = 64 << 20,
	TP_LINKS_THREADS = 256,		/* of one process that make nodes; others get no links */
};

struct tp_link_op {
	int64_t begin_ns;
	const struct tp_thread *thread;
	uint32_t sequence;
	uint32_t stack, path;	/* where it came from, for who says so (module_origin.h) */
	bool is_used;
};

struct tp_link_thread {
	uint32_t torch_id;
	struct tp_link_op *op;
};

struct tp_links {
	struct tp_link_thread **of_proc;	/* TP_LINKS_THREADS each, once needed */
	uint32_t n_procs;
	uint32_t n_kept;			/* numbers of one thread; power of two */
};

int tp_links_init(struct tp_links *links, const struct tp_run *run);
void tp_links_free(struct tp_links *links);

/* Notes an operator of a forward pass; anything else is ignored. */
void tp_links_forward(struct tp_links *links, const struct tp_event *event);
void tp_links_forward_of(struct tp_links *links, const struct tp_event *event, uint32_t stack,
			 uint32_t path);
/* The operator that made this node of the backward pass, the first time it is asked for;
 * NULL: none, not known, or linked already. */
const struct tp_link_op *tp_links_backward(struct tp_links *links, const struct tp_event *event);

#endif
