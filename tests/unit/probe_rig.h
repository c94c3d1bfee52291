/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_rig.h - a ring with an open window, without a session, for a probe's unit test; and the
 * records that the probe made
 */
#ifndef TP_TESTS_PROBE_RIG_H
#define TP_TESTS_PROBE_RIG_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <unistd.h>

#include "runtime/base/arena.h"
#include "runtime/base/clock.h"
#include "runtime/engine/intern.h"
#include "runtime/engine/ring/ring.h"

enum { MOST = 4096 };
static struct {
	struct tp_rec rec[MOST];
	uint32_t n;
} got;

/* `name`: of the ring's file, before the process's number. */
static inline void rig_open_window(const char *name)
{
	static struct tp_arena arena;
	struct tp_ring_spec spec = { .bytes = 4 << 20, .dir = "/tmp", .buffer_dir = "/tmp", .run_id = 1 };
	char file[64];

	snprintf(file, sizeof(file), "%s.%d.ring", name, (int)getpid());
	spec.name = file;
	tp_clock_init(TP_CLOCK_AUTO);
	cr_assert_eq(tp_arena_init(&arena, 4 << 20), 0);
	cr_assert_eq(tp_ring_open(&spec), 0);
	cr_assert_eq(tp_intern_init(&arena), 0);
	tp_ring.head->phase = TP_PHASE_ACTIVE;
	tp_ring.head->windows_begun = 1;
}

static inline void tear_down(void)
{
	tp_ring_close();
}

static inline uint32_t take(void *ctx, uint32_t slot, const struct tp_rec *rec, uint32_t n)
{
	for (uint32_t i = 0; i < n && got.n < MOST; i++)
		got.rec[got.n++] = rec[i];
	return n;
}

/* What was recorded since the last time, into `got`. */
static inline void collect(void)
{
	got.n = 0;
	tp_ring_take(take, NULL);
	tp_ring_release(0, 0);
}

#endif
