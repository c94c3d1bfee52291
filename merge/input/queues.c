/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queues.c - queues and threads of events that CUPTI reported
 *
 * An event of a device always has a queue: one whose string is damaged or missing lands on
 * stream 0 of device 0, with a detail that says nothing.
 */
#include "merge/input/queues.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "merge/kit/grow.h"
#include "merge/model/strings.h"
#include "runtime/base/hash.h"

enum {
	SPARE_THREADS = 1024,	/* of a process: that called CUDA and recorded nothing else */
	SLOTS_AT_FIRST = 64,
};

static uint64_t hash_place(uint32_t device, uint32_t context, uint32_t stream)
{
	return tp_hash_mix(((uint64_t)context << 32 | stream) ^
			   (uint64_t)device * 0x9e3779b97f4a7c15ull);
}

/* The index + 1 stands where the tid belongs; 0: not there. */
static uint16_t *tid_slot_of(struct tp_queues *q, uint32_t tid)
{
	uint64_t at = tp_hash_mix(tid);

	for (;; at++) {
		uint16_t *slot = &q->tid_slot[at & (q->n_tid_slots - 1)];

		if (!*slot || q->proc->thread[*slot - 1].tid == tid)
			return slot;
	}
}

int tp_queues_init(struct tp_queues *q, struct tp_proc *proc, uint32_t *cap_threads)
{
	uint32_t n = proc->n_threads, n_spare = SPARE_THREADS;

	q->proc = proc;
	if (n + n_spare >= TP_NO_THREAD)
		n_spare = n + 1 < TP_NO_THREAD ? TP_NO_THREAD - 1 - n : 0;
	if (!proc->has_gpu)
		n_spare = 0;
	/* One more than is counted: the nobody of events without a known thread. */
	if (!tp_grow(&proc->thread, cap_threads, (uint64_t)n + n_spare + 1,
		     sizeof(proc->thread[0])))
		return -ENOMEM;
	memset(&proc->thread[n], 0, (n_spare + 1) * sizeof(proc->thread[0]));
	for (uint32_t i = n; i < n + n_spare; i++)
		proc->thread[i].slot = i;
	proc->thread[n + n_spare].slot = TP_NO_THREAD;
	proc->n_threads = n + n_spare;
	q->n_listed = n;
	for (q->n_tid_slots = 64; q->n_tid_slots < 2 * (n + n_spare);)
		q->n_tid_slots *= 2;
	q->tid_slot = calloc(q->n_tid_slots, sizeof(q->tid_slot[0]));
	if (!q->tid_slot)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t tid = proc->thread[i].tid;
		uint16_t *slot = tid ? tid_slot_of(q, tid) : NULL;

		if (slot && !*slot)
			*slot = (uint16_t)(i + 1);
	}
	return 0;
}

void tp_queues_free(struct tp_queues *q)
{
	for (uint32_t i = 0; q->proc && i < q->proc->n_queues; i++)
		free(q->proc->queue[i]);
	if (q->proc)
		free(q->proc->queue);
	free(q->slot);
	free(q->tid_slot);
}

const struct tp_thread *tp_queues_thread(struct tp_queues *q, uint32_t tid)
{
	struct tp_thread *nobody = &q->proc->thread[q->proc->n_threads];
	uint16_t *slot;

	if (!tid)
		return nobody;
	if (tid == q->last_tid)
		return &q->proc->thread[q->last_thread];
	slot = tid_slot_of(q, tid);
	if (!*slot) {
		uint32_t at = q->n_listed + q->n_made;

		if (at >= q->proc->n_threads)
			return nobody;
		q->n_made++;
		q->proc->thread[at].tid = tid;
		*slot = (uint16_t)(at + 1);
	}
	q->last_tid = tid;
	q->last_thread = *slot - 1u;
	return &q->proc->thread[q->last_thread];
}

static bool is_at(const struct tp_queue *queue, const struct tp_device_place *place)
{
	return queue->stream == place->stream && queue->context == place->context &&
	       queue->device == place->device;
}

static bool grow_slots(struct tp_queues *q)
{
	uint32_t n = q->n_slots ? 2 * q->n_slots : SLOTS_AT_FIRST;
	uint32_t *slot = calloc(n, sizeof(slot[0]));

	if (!slot)
		return false;
	for (uint32_t i = 0; i < q->proc->n_queues; i++) {
		const struct tp_queue *queue = q->proc->queue[i];
		uint64_t at = hash_place(queue->device, queue->context, queue->stream);

		while (slot[at & (n - 1)])
			at++;
		slot[at & (n - 1)] = i + 1;
	}
	free(q->slot);
	q->slot = slot;
	q->n_slots = n;
	return true;
}

const struct tp_queue *tp_queues_find(struct tp_queues *q,
				      const struct tp_device_place *place)
{
	struct tp_queue *queue;
	uint64_t at;

	if (q->last && is_at(q->last, place))
		return q->last;
	if (q->proc->n_queues >= q->n_slots / 2 && !grow_slots(q))
		return NULL;
	at = hash_place(place->device, place->context, place->stream);
	for (;; at++) {
		uint32_t index = q->slot[at & (q->n_slots - 1)];

		if (!index)
			break;
		if (is_at(q->proc->queue[index - 1], place))
			return q->last = q->proc->queue[index - 1];
	}
	if (!tp_grow(&q->proc->queue, &q->cap, (uint64_t)q->proc->n_queues + 1,
		     sizeof(q->proc->queue[0])))
		return NULL;
	queue = malloc(sizeof(*queue));
	if (!queue)
		return NULL;
	*queue = (struct tp_queue){.at = q->proc->n_queues,
				   .device = place->device,
				   .context = place->context,
				   .stream = place->stream};
	q->proc->queue[q->proc->n_queues++] = queue;
	q->slot[at & (q->n_slots - 1)] = q->proc->n_queues;
	return q->last = queue;
}

/* The queue that the event's detail names. */
static const struct tp_queue *queue_of(struct tp_queues *q, const struct tp_string *detail)
{
	static const struct tp_queue nowhere;
	struct tp_device_place place = {0};
	const struct tp_queue *queue;

	memcpy(&place, detail->bytes,
	       detail->n_bytes < sizeof(place) ? detail->n_bytes : sizeof(place));
	queue = tp_queues_find(q, &place);
	return queue ? queue : &nowhere;
}

void tp_queues_place(struct tp_queues *q, struct tp_event *event,
		     const struct tp_string *none, const struct tp_string *name,
		     const struct tp_string *launch)
{
	uint32_t kind = 0;

	switch (event->kind) {
	case TP_REC_CALL:
	case TP_REC_OVERHEAD:
		event->thread = tp_queues_thread(q, TP_ARG_TID(event->arg));
		return;
	case TP_REC_KERNEL:
		event->detail = launch->kind == TP_STRING_LAUNCH ? launch : none;
		event->queue = queue_of(q, event->detail);
		if (name->kind == TP_STRING_TEXT && tp_strings_title(name)->kind)
			event->name = tp_strings_title(name);
		return;
	case TP_REC_MEMCPY:
	case TP_REC_MEMSET:
		kind = TP_STRING_TRANSFER;
		break;
	case TP_REC_SYNC:
		kind = TP_STRING_SYNC;
		break;
	case TP_REC_GRAPH:
		kind = TP_STRING_LAUNCH;
		break;
	case TP_REC_DEVALLOC:
	case TP_REC_DEVFREE:
		event->detail = name->kind == TP_STRING_DEVMEM ? name : none;
		event->name = none;
		return;
	default:
		return;
	}
	event->detail = name->kind == kind ? name : none;
	event->name = name->kind == kind	      ? tp_strings_title(name)
		      : name->kind == TP_STRING_TEXT ? name
						     : none;
	event->queue = queue_of(q, event->detail);
}
