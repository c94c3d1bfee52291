/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kineto_order.c - runs of items in a file, each put in order at the end, and taken together
 *
 * Most runs are in order as they come; and a trace without calls of Python never asks.
 */
#include "merge/kineto/kineto_order.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RUNS_MOST = TP_KINETO_RUN / 64 };	/* fewer items of each at once are too few */

/* One of the runs while they are taken together: `n` items of it are in memory. */
struct run {
	struct tp_kineto_item *item;
	uint32_t at, n;
	uint32_t n_left;	/* in the file */
	off_t from;
};

void tp_kineto_order_init(struct tp_kineto_order *order, const char *path)
{
	memset(order, 0, sizeof(*order));
	order->fd = -1;
	snprintf(order->path, sizeof(order->path), "%s", path);
}

void tp_kineto_order_free(struct tp_kineto_order *order)
{
	if (order->fd >= 0)
		close(order->fd);
	free(order->item);
	order->fd = -1;
	order->item = NULL;
}

static inline bool is_before(const struct tp_kineto_item *a, const struct tp_kineto_item *b)
{
	uint64_t len_a = a->len_slot >> 16, len_b = b->len_slot >> 16;

	if (a->begin != b->begin)
		return a->begin < b->begin;
	return len_a != len_b ? len_a > len_b : a->order < b->order;
}

static int compare(const void *a, const void *b)
{
	return is_before(b, a) - is_before(a, b);
}

static bool is_in_order(const struct tp_kineto_item *item, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++)
		if (is_before(&item[i], &item[i - 1]))
			return false;
	return true;
}

/* All of it, from or to the file. 0 or -errno. */
static int move(int fd, void *bytes, size_t n, off_t at, bool is_write)
{
	while (n) {
		ssize_t done = is_write ? pwrite(fd, bytes, n, at) : pread(fd, bytes, n, at);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return done ? -errno : -EIO;
		bytes = (char *)bytes + done;
		n -= (size_t)done;
		at += done;
	}
	return 0;
}

static off_t place_of(uint32_t run)
{
	return (off_t)run * TP_KINETO_RUN * (off_t)sizeof(struct tp_kineto_item);
}

/* What is in memory becomes a run. */
static void spill(struct tp_kineto_order *order)
{
	if (order->fd < 0) {
		order->fd = open(order->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (order->fd < 0) {
			order->err = -errno;
			return;
		}
		unlink(order->path);
	}
	if (order->n_runs == RUNS_MOST)
		order->err = -EFBIG;
	else
		order->err = move(order->fd, order->item, TP_KINETO_RUN * sizeof(*order->item),
				  place_of(order->n_runs), true);
	order->n_runs++;
	order->n_items = 0;
}

void tp_kineto_order_add(struct tp_kineto_order *order, const struct tp_kineto_item *item)
{
	if (order->err)
		return;
	if (!order->item) {
		order->item = malloc(TP_KINETO_RUN * sizeof(*order->item));
		if (!order->item) {
			order->err = -ENOMEM;
			return;
		}
	}
	order->item[order->n_items++] = *item;
	if (order->n_items == TP_KINETO_RUN)
		spill(order);
}

/* ---- the end ---- */

static int sort_run(struct tp_kineto_order *order, uint32_t run, uint32_t n)
{
	int err = move(order->fd, order->item, n * sizeof(*order->item), place_of(run), false);

	if (err || is_in_order(order->item, n))
		return err;
	qsort(order->item, n, sizeof(*order->item), compare);
	return move(order->fd, order->item, n * sizeof(*order->item), place_of(run), true);
}

static int refill(const struct tp_kineto_order *order, struct run *run, uint32_t room)
{
	run->at = 0;
	run->n = run->n_left < room ? run->n_left : room;
	run->n_left -= run->n;
	run->from += (off_t)(run->n * sizeof(*run->item));
	return move(order->fd, run->item, run->n * sizeof(*run->item),
		    run->from - (off_t)(run->n * sizeof(*run->item)), false);
}

/* The run with the first item, moved to the front; *until: the first of all others, if any. */
static bool choose(struct run *run, uint32_t n_runs, struct tp_kineto_item *until)
{
	struct run first;
	uint32_t at = 0, second = UINT32_MAX;

	for (uint32_t i = 1; i < n_runs; i++) {
		if (is_before(&run[i].item[run[i].at], &run[at].item[run[at].at])) {
			second = at;
			at = i;
		} else if (second == UINT32_MAX ||
			   is_before(&run[i].item[run[i].at], &run[second].item[run[second].at])) {
			second = i;
		}
	}
	if (second != UINT32_MAX)
		*until = run[second].item[run[second].at];
	first = run[at];
	run[at] = run[0];
	run[0] = first;
	return second != UINT32_MAX;
}

static int merge_runs(struct tp_kineto_order *order, struct run *run, uint32_t n_runs,
		      uint32_t room, tp_kineto_order_fn each, void *ctx)
{
	while (n_runs) {
		struct tp_kineto_item until = {.begin = 0};
		bool has_others = choose(run, n_runs, &until);

		do {
			each(ctx, &run->item[run->at++]);
			if (run->at == run->n) {
				int err = refill(order, run, room);

				if (err)
					return err;
			}
		} while (run->n && !(has_others && is_before(&until, &run->item[run->at])));
		if (!run->n)
			*run = run[--n_runs];
	}
	return 0;
}

int tp_kineto_order_each(struct tp_kineto_order *order, tp_kineto_order_fn each, void *ctx)
{
	uint32_t n_runs = order->n_runs + 1, n_last = order->n_items, room;
	struct run *run;
	int err = order->err;

	if (err)
		return err;
	if (!order->n_runs) {
		if (!is_in_order(order->item, n_last))
			qsort(order->item, n_last, sizeof(*order->item), compare);
		for (uint32_t i = 0; i < n_last; i++)
			each(ctx, &order->item[i]);
		return 0;
	}
	run = calloc(n_runs, sizeof(*run));
	if (!run)
		return -ENOMEM;
	err = move(order->fd, order->item, n_last * sizeof(*order->item), place_of(order->n_runs),
		   true);
	for (uint32_t i = 0; i < n_runs && !err; i++)
		err = sort_run(order, i, i < order->n_runs ? TP_KINETO_RUN : n_last);
	room = TP_KINETO_RUN / n_runs;
	n_runs -= !n_last;
	for (uint32_t i = 0; i < n_runs && !err; i++) {
		run[i] = (struct run){
			.item = order->item + (size_t)i * room, .from = place_of(i),
			.n_left = i < order->n_runs ? TP_KINETO_RUN : n_last,
		};
		err = refill(order, &run[i], room);
	}
	if (!err)
		err = merge_runs(order, run, n_runs, room, each, ctx);
	free(run);
	return err;
}
