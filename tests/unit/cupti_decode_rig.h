/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_decode_rig.h - a ring, and buffers of activity records that are decoded into it
 *
 * CUPTI's clock is played: its nanoseconds are ticks and AHEAD more.
 */
#ifndef CUPTI_DECODE_RIG_H
#define CUPTI_DECODE_RIG_H

#include <criterion/criterion.h>

#include "runtime/engine/intern.h"
#include "runtime/probe/gpu/cupti_clock.h"
#include "runtime/probe/gpu/cupti_decode.h"
#include "tests/unit/cupti_records.h"
#include "tests/unit/ring_rig.h"

#define AHEAD 1000000000ull
#define T(ticks) ((ticks) + AHEAD)

static struct tp_arena arena;
static struct tp_rec out[20000];
static uint32_t n_out;

static void play_clock(void)
{
	struct tp_cupti_reading first = {.ticks = 1, .cupti_ns = T(1), .mono_ns = 1};
	struct tp_cupti_reading last = {
		.ticks = 1000000001, .cupti_ns = T(1000000001), .mono_ns = 1000000001,
	};

	tp_cupti_clock_reset();
	tp_cupti_clock_add(&first);
	tp_cupti_clock_add(&last);
}

static void set_up(void)
{
	rig_make_dir();
	cr_assert_eq(rig_open_ring(4 << 20), 0);
	cr_assert_eq(tp_arena_init(&arena, 16 << 20), 0);
	cr_assert_eq(tp_intern_init(&arena), 0);
	tp_clock_init(TP_CLOCK_MONOTONIC);
	play_clock();
	tp_cupti.cuptiActivityGetNextRecord = next_record;
	tp_cupti.cuptiGetCallbackName = callback_name;
	cr_assert_eq(tp_cupti_decode_init(RECORDS_VERSION), 0);
}

static uint32_t take(void *ctx, uint32_t slot, const struct tp_rec *rec, uint32_t n)
{
	for (uint32_t i = 0; i < n && n_out < sizeof(out) / sizeof(out[0]); i++)
		out[n_out++] = rec[i];
	return n;
}

static void drain(void)
{
	tp_ring_take(take, NULL);
	tp_ring_release(0, 0);
}

/* The whole buffer at once, and the buffer is empty again. */
static void decode(const struct tp_cupti_wanted *wanted)
{
	struct tp_cupti_batch batch = {records_buffer, records_bytes, 0};

	n_out = 0;
	cr_assert(tp_cupti_decode(&batch, wanted, UINT32_MAX));
	drain();
	records_bytes = 0;
}

static void check_sums(void)
{
	for (int kind = 0; kind < TP_REC_N; kind++) {
		const struct tp_cupti_counts *c = &tp_cupti_counts[kind];

		cr_assert_eq(c->seen, c->emitted + c->no_time + c->outside + c->late + c->no_room,
			     "kind %d", kind);
	}
}

static const char *report(void)
{
	static char text[4000];
	struct tp_text totals;

	tp_text_init(&totals, text, sizeof(text));
	tp_cupti_decode_report(&totals);
	return text;
}

#endif
