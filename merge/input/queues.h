/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queues.h - where what CUPTI reported happened: a queue of a device, or a thread by its
 * kernel number
 *
 * Such events carry the slot of the thread that recorded them, which says nothing. Queues
 * are made as they are met and stay until the run is freed. One thread.
 */
#ifndef TP_MERGE_QUEUES_H
#define TP_MERGE_QUEUES_H

#include "merge/model/model.h"

#define TP_NO_THREAD 0xffffu		/* in the place of a slot, or of an index in tp_proc.thread */

struct tp_queues {			/* of a process */
	struct tp_proc *proc;
	uint32_t cap;			/* of tp_proc.queue */
	uint32_t *slot;			/* hash of a place: index in tp_proc.queue + 1 */
	uint32_t n_slots;
	struct tp_queue *last;		/* the one found last */
	uint16_t *tid_slot;		/* hash of a tid: index in tp_proc.thread + 1 */
	uint32_t n_tid_slots;		/* power of two */
	uint32_t n_listed;		/* threads that the trace lists; behind them, spare ones */
	uint32_t n_made;		/* spare ones in use */
	uint32_t last_tid, last_thread;
};

/* Zeroed. Once the threads of the process are known; makes room for those only CUPTI knows, so that
 * proc->thread (of *cap_threads) and n_threads stay as they are while events come. 0 or -ENOMEM. */
int tp_queues_init(struct tp_queues *queues, struct tp_proc *proc, uint32_t *cap_threads);
/* And the queues of the process. Zeroed: nothing. */
void tp_queues_free(struct tp_queues *queues);

/* NULL: out of memory. */
const struct tp_queue *tp_queues_find(struct tp_queues *queues,
				      const struct tp_device_place *place);
/* Made when no thread has that number; the nobody when there are too many, or it is 0. */
const struct tp_thread *tp_queues_thread(struct tp_queues *queues, uint32_t tid);

/*
 * Queue, detail, thread and name of an event of a kind that came with minor 1. `name`: what
 * its record's name is; `launch`: the string of a KERNEL's arg.
 */
void tp_queues_place(struct tp_queues *queues, struct tp_event *event,
		     const struct tp_string *none, const struct tp_string *name,
		     const struct tp_string *launch);

#endif
