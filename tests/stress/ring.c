/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring.c - threads come, record and go while the drain takes, gives back and reaps; names are
 * interned meanwhile
 *
 * usage: ring [SECONDS]
 *
 * Every record that reserve gave room for must come out once, whole, in the order of its
 * thread. Meant for the thread and the address sanitizer. Exit status 0: all was right.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "runtime/base/log.h"
#include "runtime/engine/intern.h"
#include "tests/unit/ring_rig.h"

enum { N_WRITERS = 6, MAX_LIVES = 1 << 16, SPAN_KINDS = 2 };

/* A life is one thread from its start to its end. */
static _Atomic uint32_t n_lives;
static uint64_t published[MAX_LIVES];	/* written by the life, read after all have ended */
static uint64_t next_of[MAX_LIVES];	/* by the drain */
static _Atomic bool is_over;
static uint64_t n_wrong, n_taken;
static uint32_t names[64];

static void *live(void *arg)
{
	uint32_t me = atomic_fetch_add(&n_lives, 1);
	unsigned seed = me * 2654435761u;
	uint64_t n_records = 1 + (unsigned)rand_r(&seed) % 20000, n = 0;

	for (uint64_t i = 0; i < n_records && !is_over; i++) {
		uint32_t depth = tp_ring_span_begin(TP_REC_OP, (uint32_t)i, i + 1);
		char name[16];

		n += rig_put(me, n);
		tp_ring_span_end(depth);
		if (i % 64)
			continue;
		snprintf(name, sizeof(name), "name %u", (unsigned)rand_r(&seed) % 64);
		if (!tp_intern_text(name))
			__atomic_fetch_add(&n_wrong, 1, __ATOMIC_RELAXED);
	}
	published[me] = n;
	return NULL;
}

static void *keep_starting(void *arg)
{
	while (!is_over && n_lives < MAX_LIVES - N_WRITERS) {
		pthread_t thread;

		if (!pthread_create(&thread, NULL, live, NULL))
			pthread_join(thread, NULL);
	}
	return NULL;
}

static uint32_t check(void *ctx, uint32_t slot, const struct tp_rec *rec, uint32_t n)
{
	unsigned *seed = ctx;
	uint32_t n_wanted = (unsigned)rand_r(seed) % 8 ? n : (unsigned)rand_r(seed) % (n + 1);

	for (uint32_t i = 0; i < n_wanted; i++) {
		uint32_t who = rec[i].link % MAX_LIVES;

		n_wrong += !rig_is_whole(&rec[i]) || rec[i].arg != next_of[who];
		next_of[who] = rec[i].arg + 1;
	}
	n_taken += n_wanted;
	return n_wanted;
}

static void *drain(void *arg)
{
	unsigned seed = 7;

	for (uint64_t pass = 0; !is_over; pass++) {
		struct tp_ring_slot *slot = &tp_ring.slots[pass % TP_RING_SLOTS];

		tp_ring_take(check, &seed);
		tp_ring_release(1, pass);
		tp_ring_reap(pass % 3 == 0);
		if (pass % 5 == 0)
			tp_ring_forget_spans();
		/* As the end of a window reads it. */
		for (uint32_t d = 0; d < __atomic_load_n(&slot->depth, __ATOMIC_ACQUIRE) &&
				     d < TP_OPEN_SPANS; d++)
			names[d] = __atomic_load_n(&slot->open[d].name, __ATOMIC_RELAXED);
		usleep(200);
	}
	return NULL;
}

static uint32_t check_all(void *ctx, uint32_t slot, const struct tp_rec *rec, uint32_t n)
{
	unsigned seed = 1;
	uint32_t n_done = 0;

	while (n_done < n)
		n_done += check(&seed, slot, rec + n_done, n - n_done);
	return n;
}

int main(int argc, char **argv)
{
	int seconds = argc > 1 ? atoi(argv[1]) : 5;
	pthread_t writer[N_WRITERS], drainer;
	struct tp_arena arena;
	uint64_t n_published = 0;

	tp_log_set_level(TP_LOG_WARN);
	tp_clock_init(TP_CLOCK_AUTO);
	rig_make_dir();
	if (rig_open_ring(1 << 20) || tp_arena_init(&arena, 16 << 20) || tp_intern_init(&arena))
		return 2;
	pthread_create(&drainer, NULL, drain, NULL);
	for (int i = 0; i < N_WRITERS; i++)
		pthread_create(&writer[i], NULL, keep_starting, NULL);
	sleep((unsigned)seconds);
	is_over = true;
	for (int i = 0; i < N_WRITERS; i++)
		pthread_join(writer[i], NULL);
	pthread_join(drainer, NULL);
	tp_ring_take(check_all, NULL);
	tp_ring_release(1, 0);

	for (uint32_t i = 0; i < n_lives; i++) {
		n_published += published[i];
		n_wrong += published[i] != next_of[i];
	}
	printf("%u threads, %lu records, %lu dropped, %lu wrong\n", (unsigned)n_lives, n_taken,
	       tp_ring_dropped(), n_wrong);
	n_wrong += n_taken != n_published || !n_taken;
	tp_ring_close();
	rig_remove_dir();
	return n_wrong != 0;
}
