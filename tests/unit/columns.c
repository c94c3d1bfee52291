/* SPDX-License-Identifier: Apache-2.0 */
/*
 * columns.c - any events come back as they were; bytes that are no events are refused
 */
#include "tests/unit/synth_cuda.h"
/* After it: the rig's names are short. */
#include "tests/unit/columns_rig.h"

static void set_up_events(void)
{
	encode = tp_columns_encode;
	decode = tp_columns_decode;
	set_up();
}

TestSuite(columns, .init = set_up_events, .fini = tear_down);

Test(columns, keeps_no_events)
{
	round_trip("none", 0);
}

Test(columns, keeps_the_events_of_a_training_small)
{
	static struct tp_rec step[SYNTH_STEP_MAX];
	uint32_t n = 0;

	while (n < TP_BLOCK_EVENTS_MAX) {
		uint32_t more = synth_step(&synth, step, SYNTH_STEP_MAX);

		if (more > TP_BLOCK_EVENTS_MAX - n)
			more = TP_BLOCK_EVENTS_MAX - n;
		memcpy(rec + n, step, more * sizeof(*rec));
		n += more;
	}
	cr_assert_lt(round_trip("training", n), 8 * n);
	for (n = 1; n <= TP_BLOCK_EVENTS_MAX; n = n * 3 + 1)
		round_trip("a piece of a training", n);
}

Test(columns, keeps_any_events_whatever_they_hold)
{
	for (int round = 0; round < 400; round++) {
		uint32_t n = 1 + (uint32_t)(synth_random(&synth) % 300);

		make_noise(n, round & 1 ? 256 : TP_REC_N, 1 + (unsigned)round % 4);
		round_trip("noise", n);
	}
	make_noise(TP_BLOCK_EVENTS_MAX, 256, 200);
	round_trip("a block of noise", TP_BLOCK_EVENTS_MAX);
}

Test(columns, keeps_a_block_in_which_every_event_has_its_own_form_and_thread)
{
	for (uint32_t i = 0; i < TP_BLOCK_EVENTS_MAX; i++) {
		rec[i] = (struct tp_rec){.time = pick_extreme(),
					 .kind = TP_REC_OP,
					 .flags = 255,
					 .name = UINT32_MAX - i,
					 .link = UINT32_MAX - 1 - i,
					 .arg = UINT64_MAX - i};
		tp_rec_set_len(&rec[i], TP_LEN_MAX);
		thread[i] = (uint16_t)(65535 - i);
	}
	cr_assert_leq(round_trip("all different", TP_BLOCK_EVENTS_MAX), TP_BLOCK_RAW_MAX);
}

Test(columns, keeps_any_number_of_forms)
{
	static const uint32_t n_forms[] = {1, 255, 256, 257, 300, 511, 512, 513, 4000};

	for (size_t i = 0; i < sizeof(n_forms) / sizeof(n_forms[0]); i++) {
		for (uint32_t k = 0; k < 5000; k++)
			rec[k] = (struct tp_rec){
			    .time = k, .kind = TP_REC_MARK, .name = k % n_forms[i]};
		round_trip("forms", 5000);
	}
}

Test(columns, keeps_times_that_go_back_and_spans_that_cross)
{
	static const struct {
		uint64_t begin, len;
		uint8_t kind, flags;
	} row[] = {
	    {100, 50, TP_REC_OP, 0}, /* ends at 150 */
	    {120, 10, TP_REC_OP, 0}, /* recorded later, ended before */
	    {90, 100, TP_REC_OP, 0}, /* contains both */
	    {95, 200, TP_REC_OP, 0}, /* crosses the one before */
	    {0, 400, TP_REC_RANGE, TP_F_ASYNC},
	    {10, 300, TP_REC_RANGE, TP_F_EARLY | TP_F_OPEN},
	    {500, 0, TP_REC_OP, 0},
	    {500, 0, TP_REC_OP, 0},
	    {500, 0, TP_REC_ALLOC, 0},
	    {400, 0, TP_REC_FREE, 0},
	    {UINT64_MAX, TP_LEN_MAX, TP_REC_OP, 0},
	    {0, TP_LEN_MAX, TP_REC_OP, 0},
	    {0, 0, TP_REC_MARK, 0},
	};
	uint32_t n = sizeof(row) / sizeof(row[0]);

	for (uint32_t shift = 0; shift < n; shift++) {
		for (uint32_t i = 0; i < n; i++) {
			rec[i] = (struct tp_rec){.time = row[(i + shift) % n].begin,
						 .kind = row[(i + shift) % n].kind,
						 .flags = row[(i + shift) % n].flags};
			tp_rec_set_len(&rec[i], row[(i + shift) % n].len);
		}
		round_trip("crossing", n);
	}
}

/* Bunches of calls and of kernels from the same stretch of time, one behind the other. */
Test(columns, keeps_the_work_of_a_device_small_though_it_comes_through_one_slot)
{
	struct tp_rec *made = malloc((TP_BLOCK_EVENTS_MAX + 4 * SYNTH_CUDA_BUFFER) * sizeof(*made));
	uint32_t n = synth_cuda(made, TP_BLOCK_EVENTS_MAX, 3);

	cr_assert_geq(n, TP_BLOCK_EVENTS_MAX);
	memcpy(rec, made, sizeof(rec));
	free(made);
	n = (uint32_t)round_trip("CUDA", TP_BLOCK_EVENTS_MAX);
	/* Not compressed yet; 12 without runs of their own. */
	cr_assert_lt(n, 8 * TP_BLOCK_EVENTS_MAX, "%u bytes", n);
	for (n = 1; n <= TP_BLOCK_EVENTS_MAX; n = n * 3 + 1)
		round_trip("a piece of CUDA", n);
	/* Two streams by turns, each event before the other's last one: a run for each pair. */
	for (uint32_t i = 0; i < TP_BLOCK_EVENTS_MAX; i++) {
		rec[i] = (struct tp_rec){.time = 1ull << 60, .kind = TP_REC_KERNEL, .len_lo = 100};
		rec[i].time -= (uint64_t)i << 32;
	}
	round_trip("backwards", TP_BLOCK_EVENTS_MAX);
	for (uint32_t i = 0; i < TP_BLOCK_EVENTS_MAX; i++)
		rec[i].kind = (uint8_t)(TP_REC_CALL + i % 9);
	round_trip("backwards, all kinds", TP_BLOCK_EVENTS_MAX);
}

Test(columns, keeps_deep_nesting_and_long_loops)
{
	/* More inside than the stack keeps, one after the other and one in the other. */
	for (uint32_t i = 0; i < 2000; i++) {
		rec[i] =
		    (struct tp_rec){.time = 1000000 + 10 * i, .kind = TP_REC_OP, .name = 1};
		tp_rec_set_len(&rec[i], 5);
	}
	for (uint32_t i = 0; i < 2000; i++) {
		rec[2000 + i] =
		    (struct tp_rec){.time = 1000000 - i, .kind = TP_REC_OP, .name = 2};
		tp_rec_set_len(&rec[2000 + i], 20000 + 2 * i);
	}
	round_trip("deep", 4000);
}

Test(columns, tells_where_memory_went_also_when_much_is_live)
{
	for (uint32_t i = 0; i < 1000; i++) {
		rec[i] = (struct tp_rec){.time = i, .kind = TP_REC_ALLOC, .arg = 4096 * i};
		tp_rec_set_len(&rec[i], i % 7);
		rec[1000 + i] = rec[i];
		rec[1000 + i].kind = TP_REC_FREE;
		rec[1000 + i].time = 1000 + i;
		rec[2000 + i] = rec[i];
		rec[2000 + i].time = 2000 + i;
		rec[3000 + i] = rec[2999 - i];
		rec[3000 + i].kind = TP_REC_FREE;
		rec[3000 + i].time = 3000 + i;
		/* Freed with another size than it was allocated with, or none. */
		if (i % 5 == 0)
			tp_rec_set_len(&rec[3000 + i], 0);
	}
	round_trip("memory", 4000);
}

Test(columns, survives_every_cut_and_every_flipped_bit)
{
	static struct tp_rec step[SYNTH_STEP_MAX];
	uint32_t n = 150;

	synth_step(&synth, step, SYNTH_STEP_MAX);
	memcpy(rec, step + 1000, n * sizeof(*rec));
	try_cuts_and_flips(n);
}

Test(columns, survives_random_bytes)
{
	try_random_bytes();
}

enum { EXAMPLE_BYTES = 36 + 4 + 22 + 2 + 2 + 2 + 8 };
static const uint8_t example[EXAMPLE_BYTES] = {
    /* The lengths of the columns, a u32 each. */
    4,
    0,
    0,
    0,
    22,
    0,
    0,
    0,
    2,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    2,
    0,
    0,
    0,
    2,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    8,
    0,
    0,
    0,
    /* Runs */
    0x00,
    0x02,
    0xd0,
    0x0f,
    /* Definitions */
    0x01,
    0x00,
    0x01,
    0x07,
    0x00,
    0xff,
    0xff,
    0xff,
    0xff,
    0x0f,
    0x00,
    0x01,
    0x00,
    0x01,
    0x08,
    0x01,
    0xff,
    0xff,
    0xff,
    0xff,
    0x0f,
    0x00,
    /* Form, gap, size */
    0x00,
    0x01,
    0x00,
    0x05,
    0x0a,
    0x0a,
    /* Bits */
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
};

Test(columns, of_the_example_in_the_manual_are_as_it_says)
{
	rec[0] = (struct tp_rec){
	    .time = 1000, .len_lo = 10, .kind = TP_REC_OP, .name = 7, .link = TP_NO_SEQ};
	rec[1] = (struct tp_rec){
	    .time = 990, .len_lo = 25, .kind = TP_REC_OP, .name = 8, .link = TP_NO_SEQ};
	cr_assert_eq(round_trip("example", 2), EXAMPLE_BYTES);
	cr_assert_eq(tp_columns_encode(scratch, rec, thread, 2, payload, NULL),
		     EXAMPLE_BYTES);
	cr_assert_eq(memcmp(payload, example, EXAMPLE_BYTES), 0);
}

Test(columns, that_contradict_themselves_are_refused)
{
	enum { RUNS = 36, DEFINITIONS = 40, FORM = 62 };
	static const struct {
		const char *what;
		uint32_t at;
		uint8_t byte;
	} row[] = {
	    {"a run of no events", RUNS + 1, 0},
	    {"a run longer than the block", RUNS + 1, 3},
	    {"a run shorter than the block", RUNS + 1, 1},
	    {"more inside than there is", DEFINITIONS + 15, 2},
	    {"a form not yet defined", FORM, 1},
	    {"a form far from defined", FORM + 1, 200},
	    {"a definition that nobody uses", FORM + 1, 0},
	    {"a length of no known sort", DEFINITIONS + 2, 0x0d},
	    {"a link of no known sort", DEFINITIONS + 2, 0x31},
	    {"the length of an address without one", DEFINITIONS + 2, 0x08},
	    {"a span with a length besides", DEFINITIONS + 2, 0x05},
	};
	uint32_t bad_at;

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		memcpy(payload, example, EXAMPLE_BYTES);
		payload[row[i].at] = row[i].byte;
		decode_anyhow(payload, EXAMPLE_BYTES, 2);
		cr_assert_eq(tp_columns_decode(scratch, payload, EXAMPLE_BYTES, 2, back,
					       back_thread, &bad_at),
			     -EBADMSG, "%s", row[i].what);
	}
	/* Bits that nobody reads: one byte more of them. */
	memcpy(payload, example, EXAMPLE_BYTES);
	payload[4 * TP_COLUMN_BITS]++;
	payload[EXAMPLE_BYTES] = 0;
	cr_assert_eq(tp_columns_decode(scratch, payload, EXAMPLE_BYTES + 1, 2, back,
				       back_thread, &bad_at),
		     -EBADMSG);
}

/* A whole block of events is promised, and there is nothing behind the promise. */
Test(columns, that_promise_too_much_are_not_read_beyond_their_end)
{
	static const uint8_t empty[36 + 5 + 7 + 8] = {
	    [0] = 5, [4] = 7, [32] = 8, [36] = 0x00,	    0x80,
	    0x80,    0x01,    0x00,	[41] = TP_REC_MARK,
	};

	decode_anyhow(empty, sizeof(empty), TP_BLOCK_EVENTS_MAX);
	cr_assert_neq(tp_columns_decode(scratch, empty, sizeof(empty), TP_BLOCK_EVENTS_MAX,
					back, back_thread, &(uint32_t){0}),
		      0);
}
