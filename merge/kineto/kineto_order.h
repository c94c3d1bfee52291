/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kineto_order.h - calls of Python and what they call, of a torch.profiler trace, by their begin
 *
 * A trace has its operators first and its calls of Python behind them, or in the order in which
 * they ended: which were going on when an operator began is seen when all have been read. Memory:
 * TP_KINETO_RUN items, whatever there are; the rest lies in a file without a name.
 */
#ifndef TP_MERGE_KINETO_ORDER_H
#define TP_MERGE_KINETO_ORDER_H

#include <stdbool.h>
#include <stdint.h>

enum { TP_KINETO_RUN = 1 << 18 };

struct tp_kineto_item {
	uint64_t begin;		/* ns */
	uint64_t len_slot;	/* ns << 16 | slot of the thread */
	uint32_t what;		/* raw string: what is called; an operator's own stack, 0: none */
	uint32_t order;		/* of what begins and ends together: TP_KINETO_ASKS or number */
};
#define TP_KINETO_ASKS 0x80000000u	/* not a call of Python: it asks for its stack */

struct tp_kineto_order {
	char path[520];		/* of the file, which is there only for a moment */
	int fd;			/* -1: no file yet */
	struct tp_kineto_item *item;
	uint32_t n_items, n_runs;	/* n_items: behind the runs in the file */
	int err;		/* -errno: some are lost */
};

void tp_kineto_order_init(struct tp_kineto_order *order, const char *path);
void tp_kineto_order_free(struct tp_kineto_order *order);
void tp_kineto_order_add(struct tp_kineto_order *order, const struct tp_kineto_item *item);

typedef void (*tp_kineto_order_fn)(void *ctx, const struct tp_kineto_item *item);
/* All of them: by begin, the longer first, calls of Python first, by number. 0 or -errno. Once. */
int tp_kineto_order_each(struct tp_kineto_order *order, tp_kineto_order_fn each, void *ctx);

#endif
