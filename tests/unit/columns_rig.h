/* SPDX-License-Identifier: Apache-2.0 */
/*
 * columns_rig.h - a block of events there and back, and bytes that are none: for both sorts of
 * columns
 */
#ifndef TP_TESTS_COLUMNS_RIG_H
#define TP_TESTS_COLUMNS_RIG_H

#include <criterion/criterion.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/trace/columns.h"
#include "tests/unit/synth_events.h"

static struct tp_rec rec[TP_BLOCK_EVENTS_MAX], back[TP_BLOCK_EVENTS_MAX];
static uint16_t thread[TP_BLOCK_EVENTS_MAX], back_thread[TP_BLOCK_EVENTS_MAX];
static struct tp_columns_scratch *scratch;
static uint8_t *payload;
static struct synth synth;
/* The sort. */
static size_t (*encode)(struct tp_columns_scratch *scratch, const struct tp_rec *rec,
			const uint16_t *thread, uint32_t n_events, uint8_t *out,
			uint32_t part_bytes[TP_COLUMN_N]);
static int (*decode)(struct tp_columns_scratch *scratch, const uint8_t *in, size_t n_bytes,
		     uint32_t n_events, struct tp_rec *rec, uint16_t *thread, uint32_t *bad_at);

static inline void set_up(void)
{
	scratch = malloc(tp_columns_scratch_bytes());
	payload = malloc(tp_columns_bound(TP_BLOCK_EVENTS_MAX));
	synth_init(&synth, 1);
}

static inline void tear_down(void)
{
	free(scratch);
	free(payload);
}

/* A block of n events there and back, in memory of exactly the promised size. */
static inline size_t round_trip(const char *what, uint32_t n)
{
	uint8_t *tight = malloc(tp_columns_bound(n));
	uint32_t part_bytes[TP_COLUMN_N], bad_at, sum = 0;
	size_t n_bytes;
	uint8_t *exact;

	/* What an earlier block left behind must not matter. */
	memset(scratch, 0xa5, tp_columns_scratch_bytes());
	n_bytes = encode(scratch, rec, thread, n, tight, part_bytes);
	cr_assert_leq(n_bytes, tp_columns_bound(n), "%s: %zu bytes", what, n_bytes);
	for (int i = 0; i < TP_COLUMN_N; i++)
		sum += part_bytes[i];
	cr_assert_eq(sum, n_bytes, "%s: the parts are the whole", what);
	exact = malloc(n_bytes);
	memcpy(exact, tight, n_bytes);
	memset(scratch, 0x5a, tp_columns_scratch_bytes());
	memset(back, 0xee, sizeof(back));
	cr_assert_eq(
	    decode(scratch, exact, n_bytes, n, back, back_thread, &bad_at), 0,
	    "%s: refused at event %u of %u", what, bad_at, n);
	for (uint32_t i = 0; i < n; i++) {
		cr_assert_eq(memcmp(&rec[i], &back[i], sizeof(rec[i])), 0,
			     "%s: event %u of %u (kind %u) has changed", what, i, n,
			     rec[i].kind);
		cr_assert_eq(thread[i], back_thread[i], "%s: thread of event %u", what, i);
	}
	free(exact);
	free(tight);
	return n_bytes;
}

/* Edges of every field, and of the classes of numbers. */
static inline uint64_t pick_extreme(void)
{
	uint64_t r = synth_random(&synth), bit = 1ull << (r >> 8 & 63);

	switch (r & 7) {
	case 0:
		return 0;
	case 1:
		return UINT64_MAX;
	case 2:
		return bit - 1;
	case 3:
		return bit;
	case 4:
		return -bit;
	default:
		return synth_random(&synth) >> (r >> 8 & 63);
	}
}

/* Everything is random, and from time to time the same as before, so that forms recur. */
static inline void make_noise(uint32_t n, unsigned n_kinds, unsigned n_threads)
{
	for (uint32_t i = 0; i < n; i++) {
		uint64_t r = synth_random(&synth);

		thread[i] = (uint16_t)((r >> 20) % n_threads * 257);
		rec[i] = (struct tp_rec){.kind = (uint8_t)((r >> 8) % n_kinds)};
		if (i && r & 1)
			rec[i] = rec[i - 1 - (uint32_t)(r >> 40) % i];
		rec[i].time = r & 2 ? pick_extreme() : rec[i].time + (r >> 44);
		if (r & 4)
			tp_rec_set_len(&rec[i], pick_extreme());
		if (r & 8)
			rec[i].arg = pick_extreme();
		if (r & 16)
			rec[i].link = (uint32_t)pick_extreme();
		if (r & 32)
			rec[i].name = (uint32_t)pick_extreme();
		if (r & 64)
			rec[i].flags = (uint8_t)pick_extreme();
	}
}

/* Whatever the decoder makes of it, it stays inside its buffers and comes to an end; the
 * sanitizers watch. What it accepts must be events that can be encoded again. */
static inline void decode_anyhow(const uint8_t *bytes, size_t n_bytes, uint32_t n)
{
	uint8_t *exact = malloc(n_bytes ? n_bytes : 1);
	uint32_t bad_at = 0;
	int err;

	memcpy(exact, bytes, n_bytes);
	err = decode(scratch, exact, n_bytes, n, back, back_thread, &bad_at);
	cr_assert(err == 0 || err == -EBADMSG);
	cr_assert_leq(bad_at, n);
	free(exact);
}

/* Of the block of n events in `rec`. */
static inline void try_cuts_and_flips(uint32_t n)
{
	uint32_t bad_at;
	size_t n_bytes;

	n_bytes = encode(scratch, rec, thread, n, payload, NULL);
	for (size_t cut = 0; cut < n_bytes; cut++) {
		decode_anyhow(payload, cut, n);
		cr_assert_eq(
		    decode(scratch, payload, cut, n, back, back_thread, &bad_at),
		    -EBADMSG, "cut at %zu", cut);
	}
	for (size_t bit = 0; bit < 8 * n_bytes; bit++) {
		payload[bit / 8] ^= (uint8_t)(1 << bit % 8);
		decode_anyhow(payload, n_bytes, n);
		payload[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	decode_anyhow(payload, n_bytes, n - 1);
	decode_anyhow(payload, n_bytes, n + 1);
	decode_anyhow(payload, n_bytes, TP_BLOCK_EVENTS_MAX);
	cr_assert_eq(decode(scratch, payload, n_bytes, TP_BLOCK_EVENTS_MAX + 1,
				       back, back_thread, &bad_at),
		     -EBADMSG);
}

static inline void try_random_bytes(void)
{
	for (int round = 0; round < 3000; round++) {
		size_t n_bytes = 36 + synth_random(&synth) % 400, left = n_bytes - 36;

		for (size_t i = 0; i < n_bytes; i++)
			payload[i] =
			    (uint8_t)(synth_random(&synth) >> (round & 1 ? 20 : 60));
		/* A table of lengths that fits: otherwise nothing else is looked at. */
		for (int i = 0; i < TP_COLUMN_N; i++) {
			uint32_t n =
			    i + 1 == TP_COLUMN_N
				? (uint32_t)left
				: (uint32_t)(synth_random(&synth) % (left / 3 + 1));

			memcpy(payload + 4 * i, &n, 4);
			left -= n;
		}
		decode_anyhow(payload, n_bytes, (uint32_t)(synth_random(&synth) % 40));
	}
}

#endif
