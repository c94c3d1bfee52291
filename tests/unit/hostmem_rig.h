/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hostmem_rig.h - events of host memory of one process, for the tests of its accounts
 */
#ifndef TP_TESTS_HOSTMEM_RIG_H
#define TP_TESTS_HOSTMEM_RIG_H

#include <criterion/criterion.h>

#include "merge/facts/heap/hostmem.h"
#include "tests/unit/fake_run.h"

enum { EVENTS_MAX = 20000, STACKS = 12, THREADS = 4 };

static struct fake fake;
static struct tp_proc *proc;
static struct tp_event events[EVENTS_MAX];
static uint32_t n_events;
static uint64_t seed;
static int64_t now;

static inline void set_up(void)
{
	fake_init(&fake);
	proc = fake_proc(&fake, 0);
	fake_window(&fake, proc, 0, 0, INT64_MAX / 2);
	n_events = 0;
	now = 1000;
	seed = 1;
}

static inline uint32_t random_below(uint32_t n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((seed >> 33) % n);
}

static inline struct tp_event *add(uint8_t kind, uint32_t thread, uint64_t address, uint64_t bytes,
				   uint32_t stack)
{
	struct tp_event *event = &events[n_events++];

	cr_assert(n_events <= EVENTS_MAX);
	*event = fake_span(&fake, proc, thread, kind, NULL, now, now);
	event->arg = address;
	event->len = bytes;
	event->link = stack;
	return event;
}

static inline void add_step(uint32_t number, int64_t begin, int64_t end)
{
	events[n_events++] = fake_step(&fake, proc, number, begin, end);
}

/* Stack n is one frame at an address of its own. */
static inline void add_stacks(uint32_t n)
{
	for (uint32_t i = 1; i <= n; i++)
		add(TP_REC_FRAME, 0, 0x1000 * i, 0, i);
}

static struct tp_facts *facts;

static inline struct tp_hostmem *run(void)
{
	struct tp_hostmem *mem;

	facts = tp_facts_new(&fake.run);
	mem = tp_hostmem_want(facts, false);
	for (uint32_t i = 0; i < n_events; i++)
		tp_facts_event(facts, &events[i]);
	tp_facts_end(facts);
	cr_expect_not(tp_hostmem_is_incomplete(mem));
	return mem;
}

static inline const struct tp_hostmem_proc *only_proc(const struct tp_hostmem *mem)
{
	uint32_t n;
	const struct tp_hostmem_proc *procs = tp_hostmem_procs(mem, &n);

	cr_assert_eq(n, 1);
	return procs;
}

static inline const struct tp_hostmem_row *row_of(const struct tp_hostmem *mem, uint32_t stack)
{
	uint32_t n;
	const struct tp_hostmem_row *row = tp_hostmem_rows(mem, &n);

	for (uint32_t i = 0; i < n; i++)
		if (row[i].stack == stack)
			return &row[i];
	return NULL;
}

#endif
