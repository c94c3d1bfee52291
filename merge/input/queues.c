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

#include "merge/input/run.h"
#include "merge/kit/grow.h"
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
static uint16_t *tid_slot_of(struct tp_proc_in *proc, uint32_t tid)
{
	struct tp_queues *q = &proc->queues;
	uint64_t at = tp_hash_mix(tid);

	for (;; at++) {
		uint16_t *slot = &q->tid_slot[at & (q->n_tid_slots - 1)];

		if (!*slot || proc->pub.thread[*slot - 1].tid == tid)
			return slot;
	}
}

int tp_queues_init(struct tp_proc_in *proc)
{
	struct tp_queues *q = &proc->queues;
	uint32_t n = proc->pub.n_threads, n_spare = SPARE_THREADS;

	if (n + n_spare >= TP_NO_THREAD)
		n_spare = n + 1 < TP_NO_THREAD ? TP_NO_THREAD - 1 - n : 0;
	if (!proc->pub.has_gpu)
		n_spare = 0;
	/* One more than is counted: the nobody of events without a known thread. */
	if (!tp_grow(&proc->pub.thread, &proc->cap_threads, (uint64_t)n + n_spare + 1,
		     sizeof(proc->pub.thread[0])))
		return -ENOMEM;
	memset(&proc->pub.thread[n], 0, (n_spare + 1) * sizeof(proc->pub.thread[0]));
	for (uint32_t i = n; i < n + n_spare; i++)
		proc->pub.thread[i].slot = i;
	proc->pub.thread[n + n_spare].slot = TP_NO_THREAD;
	proc->pub.n_threads = n + n_spare;
	q->n_listed = n;
	for (q->n_tid_slots = 64; q->n_tid_slots < 2 * (n + n_spare);)
		q->n_tid_slots *= 2;
	q->tid_slot = calloc(q->n_tid_slots, sizeof(q->tid_slot[0]));
	if (!q->tid_slot)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t tid = proc->pub.thread[i].tid;
		uint16_t *slot = tid ? tid_slot_of(proc, tid) : NULL;

		if (slot && !*slot)
			*slot = (uint16_t)(i + 1);
	}
	return 0;
}

void tp_queues_free(struct tp_proc_in *proc)
{
	for (uint32_t i = 0; i < proc->pub.n_queues; i++)
		free(proc->pub.queue[i]);
	free(proc->pub.queue);
	free(proc->queues.slot);
	free(proc->queues.tid_slot);
}

const struct tp_thread *tp_queues_thread(struct tp_proc_in *proc, uint32_t tid)
{
	struct tp_queues *q = &proc->queues;
	struct tp_thread *nobody = &proc->pub.thread[proc->pub.n_threads];
	uint16_t *slot;

	if (!tid)
		return nobody;
	if (tid == q->last_tid)
		return &proc->pub.thread[q->last_thread];
	slot = tid_slot_of(proc, tid);
	if (!*slot) {
		uint32_t at = q->n_listed + q->n_made;

		if (at >= proc->pub.n_threads)
			return nobody;
		q->n_made++;
		proc->pub.thread[at].tid = tid;
		*slot = (uint16_t)(at + 1);
	}
	q->last_tid = tid;
	q->last_thread = *slot - 1u;
	return &proc->pub.thread[q->last_thread];
}

static bool is_at(const struct tp_queue *queue, const struct tp_device_place *place)
{
	return queue->stream == place->stream && queue->context == place->context &&
	       queue->device == place->device;
}

static bool grow_slots(struct tp_proc_in *proc)
{
	struct tp_queues *q = &proc->queues;
	uint32_t n = q->n_slots ? 2 * q->n_slots : SLOTS_AT_FIRST;
	uint32_t *slot = calloc(n, sizeof(slot[0]));

	if (!slot)
		return false;
	for (uint32_t i = 0; i < proc->pub.n_queues; i++) {
		const struct tp_queue *queue = proc->pub.queue[i];
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

const struct tp_queue *tp_queues_find(struct tp_proc_in *proc,
				      const struct tp_device_place *place)
{
	struct tp_queues *q = &proc->queues;
	struct tp_queue *queue;
	uint64_t at;

	if (q->last && is_at(q->last, place))
		return q->last;
	if (proc->pub.n_queues >= q->n_slots / 2 && !grow_slots(proc))
		return NULL;
	at = hash_place(place->device, place->context, place->stream);
	for (;; at++) {
		uint32_t index = q->slot[at & (q->n_slots - 1)];

		if (!index)
			break;
		if (is_at(proc->pub.queue[index - 1], place))
			return q->last = proc->pub.queue[index - 1];
	}
	if (!tp_grow(&proc->pub.queue, &q->cap, (uint64_t)proc->pub.n_queues + 1,
		     sizeof(proc->pub.queue[0])))
		return NULL;
	queue = malloc(sizeof(*queue));
	if (!queue)
		return NULL;
	*queue = (struct tp_queue){.at = proc->pub.n_queues,
				   .device = place->device,
				   .context = place->context,
				   .stream = place->stream};
	proc->pub.queue[proc->pub.n_queues++] = queue;
	q->slot[at & (q->n_slots - 1)] = proc->pub.n_queues;
	return q->last = queue;
}

/* The queue that the event's detail names. */
static const struct tp_queue *queue_of(struct tp_proc_in *proc, const struct tp_string *detail)
{
	static const struct tp_queue nowhere;
	struct tp_device_place place = {0};
	const struct tp_queue *queue;

	memcpy(&place, detail->bytes,
	       detail->n_bytes < sizeof(place) ? detail->n_bytes : sizeof(place));
	queue = tp_queues_find(proc, &place);
	return queue ? queue : &nowhere;
}

void tp_queues_place(struct tp_proc_in *proc, struct tp_event *event,
		     const struct tp_string *none, const struct tp_string *name,
		     const struct tp_string *launch)
{
	uint32_t kind = 0;

	switch (event->kind) {
	case TP_REC_CALL:
	case TP_REC_OVERHEAD:
		event->thread = tp_queues_thread(proc, TP_ARG_TID(event->arg));
		return;
	case TP_REC_KERNEL:
		event->detail = launch->kind == TP_STRING_LAUNCH ? launch : none;
		event->queue = queue_of(proc, event->detail);
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
	event->queue = queue_of(proc, event->detail);
}
