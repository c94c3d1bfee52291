/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_queue.c - how many calls wait in a stream for their work to begin, and how long
 */
#include "merge/facts/time/gpu_time_in.h"

#include <stdlib.h>

#include "merge/kit/grow.h"
#include "merge/kit/sum.h"

enum { STARTS_KEPT = 4096 }; /* of a queue: more than the driver lets wait */

static struct tp_gpu_queue *find_queue(struct tp_gpu_time *time, struct tp_gpu_sweep *s,
				       const struct tp_queue *queue)
{
	struct tp_gpu_device *d = &s->pub;

	for (uint32_t i = 0; i < d->n_queues; i++)
		if (d->queue[i].queue == queue)
			return &d->queue[i];
	if (!tp_grow(&d->queue, &d->cap_queues, (uint64_t)d->n_queues + 1, sizeof(*d->queue))) {
		time->is_incomplete = true;
		return NULL;
	}
	d->queue[d->n_queues].queue = queue;
	return &d->queue[d->n_queues++];
}

/* The i-th of the starts kept, the oldest first. */
static int64_t start_at(const struct tp_gpu_queue *q, uint32_t i)
{
	return q->start[(q->next_start + q->cap_starts - q->n_starts + i) % q->cap_starts];
}

static bool make_room_for_start(struct tp_gpu_queue *q)
{
	uint32_t cap = q->cap_starts ? q->cap_starts * 2 : 32;
	int64_t *start;

	if (q->n_starts < q->cap_starts || q->cap_starts == STARTS_KEPT)
		return true;
	start = malloc(cap * sizeof(*start));
	if (!start)
		return false;
	for (uint32_t i = 0; i < q->n_starts; i++)
		start[i] = start_at(q, i);
	free(q->start);
	q->start = start;
	q->cap_starts = cap;
	q->next_start = q->n_starts;
	return true;
}

/*
 * Work of a queue begins in the order of its calls: at the call of one, those before it wait
 * that began only later.
 */
void tp_gpu_take_launch(struct tp_gpu_time *time, struct tp_gpu_sweep *s,
			const struct tp_event *event, const struct tp_launch_call *call)
{
	struct tp_gpu_queue *q = find_queue(time, s, event->queue);
	int64_t delay = tp_sub(event->begin_ns, call->begin_ns);
	uint32_t low = 0, high;

	if (delay < 0) {
		s->pub.n_before_call++;
		if (-delay > s->pub.most_before_ns)
			s->pub.most_before_ns = -delay;
		delay = 0;
	}
	if (!tp_spread_add(&s->pub.delay, delay))
		time->is_incomplete = true;
	if (!q || !make_room_for_start(q)) {
		time->is_incomplete = true;
		return;
	}
	q->n_launches++;
	q->wait_ns = tp_add(q->wait_ns, delay);
	for (high = q->n_starts; low < high;) {
		uint32_t middle = (low + high) / 2;

		if (start_at(q, middle) <= call->begin_ns)
			low = middle + 1;
		else
			high = middle;
	}
	if (q->n_starts - low + 1 > q->depth_most)
		q->depth_most = q->n_starts - low + 1;
	q->start[q->next_start] = event->begin_ns;
	q->next_start = (q->next_start + 1) % q->cap_starts;
	if (q->n_starts < q->cap_starts)
		q->n_starts++;
}
