/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ahead.c - a pool of threads that decode
 *
 * All shared state is guarded by `lock`; a slice belongs to one thread at a time.
 */
#include "merge/input/ahead.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum state {
	FREE,
	ASKED,
	RUNNING,
	DONE,
};

struct task {
	enum state state;
	const struct tp_block_ref *ref;
	uint32_t from;
	struct tp_decoded *d;	/* NULL when DONE: out of memory */
};

struct tp_ahead {
	struct tp_run_in *run;
	uint32_t slice_events;
	struct tp_decoder mine;	/* of the thread that takes */
	struct tp_decoder decoder[TP_AHEAD_THREADS];
	pthread_t thread[TP_AHEAD_THREADS];
	uint32_t n_threads, n_begun;	/* begun: have found their decoder */

	pthread_mutex_t lock;
	pthread_cond_t asked, done;
	struct task task[TP_AHEAD_TASKS];
	uint32_t queue[TP_AHEAD_TASKS];	/* ASKED, first in first out; some are begun already */
	uint32_t n_queued, n_served;
	struct tp_decoded *pool;	/* of slice_events each */
	bool is_over;
};

static void free_slice(struct tp_decoded *d)
{
	free(d->rec);
	free(d->thread);
	free(d);
}

void tp_ahead_release(struct tp_ahead *ahead, struct tp_decoded *d)
{
	if (d->room != ahead->slice_events) {
		free_slice(d);
		return;
	}
	pthread_mutex_lock(&ahead->lock);
	d->next = ahead->pool;
	ahead->pool = d;
	pthread_mutex_unlock(&ahead->lock);
}

/* The lock is held. */
static struct tp_decoded *take_pooled(struct tp_ahead *ahead, uint32_t n)
{
	struct tp_decoded *d = n > ahead->slice_events / 2 ? ahead->pool : NULL;

	if (d)
		ahead->pool = d->next;
	return d;
}

/* Small blocks get what they need, all others are alike and used again. */
static struct tp_decoded *make_slice(const struct tp_ahead *ahead, uint32_t n)
{
	struct tp_decoded *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->room = n > ahead->slice_events / 2 ? ahead->slice_events : n;
	d->rec = malloc(d->room * sizeof(d->rec[0]));
	d->thread = malloc(d->room * sizeof(d->thread[0]));
	if (d->rec && d->thread)
		return d;
	free_slice(d);
	return NULL;
}

/* The lock is held, but not while it decodes. */
static void run_task(struct tp_ahead *ahead, struct tp_decoder *decoder, struct task *task)
{
	uint32_t n = task->ref->n_events - task->from;
	struct tp_decoded *d = take_pooled(ahead, n);

	task->state = RUNNING;
	pthread_mutex_unlock(&ahead->lock);
	if (!d)
		d = make_slice(ahead, n);
	if (d)
		tp_decode_slice(decoder, task->ref, task->from, d);
	pthread_mutex_lock(&ahead->lock);
	task->d = d;
	task->state = DONE;
}

static void *serve(void *arg)
{
	struct tp_ahead *ahead = arg;
	struct tp_decoder *decoder;

	pthread_mutex_lock(&ahead->lock);
	decoder = &ahead->decoder[ahead->n_begun++];
	for (;;) {
		struct task *task;

		while (ahead->n_served == ahead->n_queued && !ahead->is_over)
			pthread_cond_wait(&ahead->asked, &ahead->lock);
		if (ahead->is_over)
			break;
		task = &ahead->task[ahead->queue[ahead->n_served++ % TP_AHEAD_TASKS]];
		/* The one that takes was faster; the task may even be another one by now. */
		if (task->state != ASKED)
			continue;
		run_task(ahead, decoder, task);
		pthread_cond_broadcast(&ahead->done);
	}
	pthread_mutex_unlock(&ahead->lock);
	return NULL;
}

uint32_t tp_ahead_ask(struct tp_ahead *ahead, const struct tp_block_ref *ref, uint32_t from)
{
	uint32_t i = 0;

	pthread_mutex_lock(&ahead->lock);
	while (ahead->task[i].state != FREE)
		i++;
	ahead->task[i] = (struct task){.state = ASKED, .ref = ref, .from = from};
	/* Full of tasks that were taken before a thread came to them. */
	if (ahead->n_queued - ahead->n_served == TP_AHEAD_TASKS)
		ahead->n_served++;
	ahead->queue[ahead->n_queued++ % TP_AHEAD_TASKS] = i;
	pthread_cond_signal(&ahead->asked);
	pthread_mutex_unlock(&ahead->lock);
	return i;
}

struct tp_decoded *tp_ahead_take(struct tp_ahead *ahead, uint32_t at)
{
	struct task *task = &ahead->task[at];
	struct tp_decoded *d;

	pthread_mutex_lock(&ahead->lock);
	if (task->state == ASKED)
		run_task(ahead, &ahead->mine, task);
	while (task->state != DONE)
		pthread_cond_wait(&ahead->done, &ahead->lock);
	d = task->d;
	task->state = FREE;
	pthread_mutex_unlock(&ahead->lock);
	return d;
}

struct tp_decoded *tp_ahead_now(struct tp_ahead *ahead, const struct tp_block_ref *ref,
				uint32_t from)
{
	struct task task = {.state = ASKED, .ref = ref, .from = from};

	pthread_mutex_lock(&ahead->lock);
	run_task(ahead, &ahead->mine, &task);
	pthread_mutex_unlock(&ahead->lock);
	return task.d;
}

/* Besides the one that asks. */
static uint32_t count_cpus(void)
{
	cpu_set_t set;
	int n = sched_getaffinity(0, sizeof(set), &set) ? 1 : CPU_COUNT(&set);

	return n > TP_AHEAD_THREADS ? TP_AHEAD_THREADS : (uint32_t)n - 1;
}

struct tp_ahead *tp_ahead_start(struct tp_run_in *run, uint32_t slice_events)
{
	struct tp_ahead *ahead = calloc(1, sizeof(*ahead));
	uint32_t n = count_cpus();

	if (!ahead)
		return NULL;
	ahead->run = run;
	ahead->slice_events = slice_events;
	pthread_mutex_init(&ahead->lock, NULL);
	pthread_cond_init(&ahead->asked, NULL);
	pthread_cond_init(&ahead->done, NULL);
	if (tp_decoder_init(&ahead->mine, run)) {
		tp_ahead_stop(ahead);
		return NULL;
	}
	while (ahead->n_threads < n &&
	       !tp_decoder_init(&ahead->decoder[ahead->n_threads], run) &&
	       !pthread_create(&ahead->thread[ahead->n_threads], NULL, serve, ahead))
		ahead->n_threads++;
	return ahead;
}

void tp_ahead_stop(struct tp_ahead *ahead)
{
	pthread_mutex_lock(&ahead->lock);
	ahead->is_over = true;
	pthread_cond_broadcast(&ahead->asked);
	pthread_mutex_unlock(&ahead->lock);
	for (uint32_t i = 0; i < ahead->n_threads; i++)
		pthread_join(ahead->thread[i], NULL);
	for (uint32_t i = 0; i < TP_AHEAD_TASKS; i++) {
		if (ahead->task[i].state == DONE && ahead->task[i].d)
			free_slice(ahead->task[i].d);
	}
	while (ahead->pool) {
		struct tp_decoded *d = ahead->pool;

		ahead->pool = d->next;
		free_slice(d);
	}
	tp_decoder_free(&ahead->mine);
	for (uint32_t i = 0; i < TP_AHEAD_THREADS; i++)
		tp_decoder_free(&ahead->decoder[i]);
	pthread_cond_destroy(&ahead->asked);
	pthread_cond_destroy(&ahead->done);
	pthread_mutex_destroy(&ahead->lock);
	free(ahead);
}
