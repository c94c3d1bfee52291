/* SPDX-License-Identifier: Apache-2.0 */
/*
 * columns_heap.c - records of host memory and stacks come back as they were, also those that no
 * probe makes; bytes that are none are refused
 */
#include "tests/unit/synth_heap.h"
/* After it: the rig's names are short. */
#include "tests/unit/columns_rig.h"

static struct synth_heap heap;

static void set_up_heap(void)
{
	encode = tp_columns_encode_heap;
	decode = tp_columns_decode_heap;
	synth_heap_init(&heap, 1);
	set_up();
}

TestSuite(columns_heap, .init = set_up_heap, .fini = tear_down);

Test(columns_heap, keeps_no_records)
{
	round_trip("none", 0);
}

Test(columns_heap, keeps_those_of_a_training_small)
{
	static struct tp_rec begin[TP_BLOCK_EVENTS_MAX];
	size_t n_bytes, n_other;

	/* All is new in the first block. */
	synth_heap_make(&heap, begin, TP_BLOCK_EVENTS_MAX);
	synth_heap_make(&heap, rec, TP_BLOCK_EVENTS_MAX);
	n_bytes = round_trip("training", TP_BLOCK_EVENTS_MAX);
	n_other = tp_columns_encode(scratch, rec, thread, TP_BLOCK_EVENTS_MAX, payload, NULL);
	/* Not compressed yet. */
	cr_expect_lt(n_bytes, 6 * TP_BLOCK_EVENTS_MAX, "%zu", n_bytes);
	cr_expect_lt(3 * n_bytes, 2 * n_other, "%zu, and %zu as other events", n_bytes, n_other);
	for (uint32_t n = 1; n <= TP_BLOCK_EVENTS_MAX; n = n * 3 + 1)
		round_trip("a piece of a training", n);
	memcpy(rec, begin, sizeof(rec));
	n_bytes = round_trip("a training's begin", TP_BLOCK_EVENTS_MAX);
	cr_expect_lt(n_bytes, 8 * TP_BLOCK_EVENTS_MAX, "%zu", n_bytes);
}

Test(columns_heap, keeps_any_records_whatever_they_hold)
{
	for (int round = 0; round < 400; round++) {
		uint32_t n = 1 + (uint32_t)(synth_random(&synth) % 300);

		make_noise(n, round & 1 ? 256 : 5, 1 + (unsigned)round % 4);
		for (uint32_t i = 0; i < n && !(round & 1); i++)
			rec[i].kind = (uint8_t)(TP_REC_HEAPALLOC + rec[i].kind);
		round_trip("noise", n);
	}
	make_noise(TP_BLOCK_EVENTS_MAX, 5, 200);
	for (uint32_t i = 0; i < TP_BLOCK_EVENTS_MAX; i++)
		rec[i].kind = (uint8_t)(TP_REC_HEAPALLOC + rec[i].kind);
	round_trip("a block of noise", TP_BLOCK_EVENTS_MAX);
}

/* Every table at its limits, and the most bytes. */
Test(columns_heap, keeps_blocks_of_one_kind_in_which_all_is_new)
{
	static const uint8_t kind[] = {TP_REC_HEAPALLOC, TP_REC_HEAPFREE, TP_REC_FRAME, TP_REC_MAP};

	for (size_t k = 0; k < sizeof(kind); k++) {
		for (uint32_t i = 0; i < TP_BLOCK_EVENTS_MAX; i++) {
			rec[i] = (struct tp_rec){.time = pick_extreme(),
						 .kind = kind[k],
						 .link = UINT32_MAX - 77 * i,
						 .arg = UINT64_MAX - 0x123456789abull * i};
			if (kind[k] == TP_REC_FRAME)
				rec[i].len_lo = 31 * i;
			else
				tp_rec_set_len(&rec[i], TP_LEN_MAX / (i + 1));
			thread[i] = (uint16_t)(65535 - i);
		}
		cr_assert_leq(round_trip("all new", TP_BLOCK_EVENTS_MAX), TP_BLOCK_RAW_MAX);
	}
}

static void put(uint32_t i, uint8_t kind, uint64_t len, uint64_t arg)
{
	rec[i] = (struct tp_rec){.time = 10 * i, .kind = kind, .arg = arg};
	tp_rec_set_len(&rec[i], len);
}

/* What makes a rank point to something else than it did. */
Test(columns_heap, keeps_addresses_that_are_used_in_odd_ways)
{
	static const struct {
		uint8_t kind;
		uint16_t len;
		uint32_t arg;
	} row[] = {
		{TP_REC_HEAPALLOC, 40, 0x1000}, {TP_REC_HEAPALLOC, 40, 0x1000},	/* twice */
		{TP_REC_HEAPFREE, 0, 0x1000}, {TP_REC_HEAPFREE, 0, 0x1000},
		{TP_REC_HEAPFREE, 0, 0x1000}, {TP_REC_HEAPALLOC, 40, 0x1000},
		{TP_REC_HEAPALLOC, 40, 0x1000}, {TP_REC_HEAPALLOC, 41, 0x1000},
		{TP_REC_HEAPFREE, 0, 0x7777}, {TP_REC_HEAPALLOC, 9, 0x7777},	/* resized in place */
		{TP_REC_HEAPFREE, 0, 0x7777}, {TP_REC_HEAPALLOC, 900, 0x7777},
		{TP_REC_HEAPFREE, 0, 0x7777}, {TP_REC_FRAME, 1, 0x7777},
		{TP_REC_HEAPALLOC, 9, 0x7777}, {TP_REC_HEAPALLOC, 9, 0x7777},
		{TP_REC_HEAPFREE, 0, 0}, {TP_REC_HEAPALLOC, 0, 0}, {TP_REC_HEAPFREE, 0, 0},
		{TP_REC_HEAPALLOC, 16384, 0x1000}, {TP_REC_HEAPFREE, 0, 0x1000},
		{TP_REC_HEAPALLOC, 0, 0x1000},	/* of another size in the same place of the table */
	};
	uint32_t n = sizeof(row) / sizeof(row[0]);

	for (uint32_t first = 0; first < n; first++) {
		for (uint32_t i = 0; i < n; i++)
			put(i, row[(first + i) % n].kind, row[(first + i) % n].len,
			    row[(first + i) % n].arg);
		round_trip("odd", n);
	}
	/* Freed in order and given out in order: the walk through the freed ones ends before. */
	for (uint32_t i = 0; i < 200; i++) {
		put(i, TP_REC_HEAPALLOC, 64, 0x9000 + 80 * i);
		put(200 + i, TP_REC_HEAPFREE, 0, 0x9000 + 80 * i);
		put(400 + i, TP_REC_HEAPALLOC, 64, 0x9000 + 80 * i);
	}
	round_trip("a queue", 600);
}

Test(columns_heap, keeps_frames_of_every_sort)
{
	for (int round = 0; round < 50; round++) {
		uint32_t stack = (uint32_t)(synth_random(&synth) % 3 * 0x7ffffff0u);

		for (uint32_t i = 0; i < 2000; i++) {
			uint64_t r = synth_random(&synth);

			rec[i] = (struct tp_rec){.time = 5 * i, .kind = TP_REC_FRAME,
						 .flags = (uint8_t)(r % 40), .link = ++stack,
						 .arg = (r >> 8) % 50 * 7};
			if ((r >> 16) % 3 == 0)
				rec[i].link = stack = (uint32_t)(stack + (r >> 20) % 40000 - 20000);
			rec[i].len_lo = (r >> 40) % 4 ? rec[i].link - 1
						      : (uint32_t)(rec[i].link - (r >> 44) % 40000);
			rec[i].len_hi = (r >> 41) % 500 == 0;
			if ((r >> 28) % 2)
				rec[i].name = (uint32_t)(r >> 30) % 20;
			if (rec[i].flags & TP_FRAME_JOINED && r >> 63)
				rec[i].arg = r;
		}
		round_trip("frames", 2000);
	}
}

Test(columns_heap, survives_every_cut_and_every_flipped_bit)
{
	static struct tp_rec begin[20000];

	synth_heap_make(&heap, begin, 20000);
	memcpy(rec, begin + 19000, 150 * sizeof(*rec));
	try_cuts_and_flips(150);
	memcpy(rec, begin, 150 * sizeof(*rec));
	try_cuts_and_flips(150);
}

Test(columns_heap, survives_random_bytes)
{
	try_random_bytes();
}

static uint32_t make_example(void)
{
	static const struct tp_rec row[] = {
		{.time = 1000, .kind = TP_REC_FRAME, .link = 1, .arg = 5},
		{.time = 1000, .kind = TP_REC_FRAME, .link = 2, .len_lo = 1, .arg = 9},
		{.time = 1000, .kind = TP_REC_HEAPALLOC, .len_lo = 3, .link = 2, .arg = 64},
		{.time = 1002, .kind = TP_REC_HEAPFREE, .arg = 64},
		{.time = 1005, .kind = TP_REC_HEAPALLOC, .len_lo = 4, .link = 2, .arg = 64},
		{.time = 1006, .kind = TP_REC_UNMAP, .len_lo = 8, .link = 2, .arg = 32},
	};

	memcpy(rec, row, sizeof(row));
	return sizeof(row) / sizeof(row[0]);
}

static const uint8_t example[] = {
	/* The lengths of the columns, a u32 each. */
	4, 0, 0, 0, 6, 0, 0, 0, 6, 0, 0, 0, 6, 0, 0, 0, 6, 0, 0, 0,
	2, 0, 0, 0, 4, 0, 0, 0, 6, 0, 0, 0, 8, 0, 0, 0,
	0x00, 0x06, 0xd0, 0x0f,			/* RUNS */
	0x15, 0x00, 0x08, 0x00, 0x02, 0x20,	/* OTHERS */
	0x02, 0x02, 0x00, 0x01, 0x00, 0x03,	/* KIND */
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00,	/* FRAMES */
	0x00, 0x00, 0x00, 0x02, 0x03, 0x01,	/* GAP */
	0x06, 0x02,				/* SIZE */
	0x00, 0x00, 0x00, 0x01,			/* LINK */
	0x0a, 0x08, 0x01, 0x08, 0x02, 0x03,	/* ADDRESS */
	0, 0, 0, 0, 0, 0, 0, 0,
};

Test(columns_heap, of_the_example_in_the_manual_are_as_it_says)
{
	uint32_t n = make_example();

	cr_assert_eq(round_trip("example", n), sizeof(example));
	encode(scratch, rec, thread, n, payload, NULL);
	cr_assert_eq(memcmp(payload, example, sizeof(example)), 0);
}

Test(columns_heap, that_contradict_themselves_are_refused)
{
	enum { RUNS = 36, OTHERS = 40, KIND = 46, FRAMES = 52, GAP = 58, LINK = 66, ADDRESS = 70 };
	static const struct {
		const char *what;
		uint32_t at;
		uint8_t byte;
	} row[] = {
		{"a run of no records", RUNS + 1, 0},
		{"a run longer than the block", RUNS + 1, 7},
		{"a run shorter than the block", RUNS + 1, 5},
		{"a record of no known sort", KIND, 4},
		{"flags of a record that has its own", KIND + 5, 0x0b},
		{"a gap of no known sort", GAP + 3, 252},
		{"a way that leads nowhere", FRAMES + 1, 1},
		{"more ways than there can be", FRAMES + 1, 5},
		{"a place before the first", FRAMES + 5, 2},
		{"a block from before the first", ADDRESS + 4, 3},
		{"a freed block that there is not", ADDRESS + 5, 4},
		{"a freed block far away", ADDRESS + 5, 11},
	};
	uint32_t n = make_example(), bad_at, n_bits;
	uint8_t *last;
	size_t n_bytes;

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		memcpy(payload, example, sizeof(example));
		payload[row[i].at] = row[i].byte;
		cr_expect_eq(decode(scratch, payload, sizeof(example), n, back, back_thread, &bad_at),
			     -EBADMSG, "%s", row[i].what);
	}
	/* The ninth of the freed ones, which is there but is never looked at. */
	for (uint32_t i = 0; i < 9; i++) {
		put(i, TP_REC_HEAPALLOC, 64, 0x9000 + 80 * i);
		put(9 + i, TP_REC_HEAPFREE, 0, 0x9000 + 80 * i);
	}
	put(18, TP_REC_HEAPALLOC, 64, 0x9000 + 80);
	n_bytes = encode(scratch, rec, thread, 19, payload, NULL);
	memcpy(&n_bits, payload + 4 * TP_COLUMN_BITS, sizeof(n_bits));
	last = &payload[n_bytes - n_bits - 1];
	cr_assert_eq(*last, 10, "the eighth");
	cr_assert_eq(decode(scratch, payload, n_bytes, 19, back, back_thread, &bad_at), 0);
	++*last;
	cr_expect_eq(decode(scratch, payload, n_bytes, 19, back, back_thread, &bad_at), -EBADMSG);
	make_example();
	/* The last HEAPFREE, when there was none. */
	memcpy(payload, example, sizeof(example));
	payload[ADDRESS + 2] = 2;
	cr_expect_eq(decode(scratch, payload, sizeof(example), n, back, back_thread, &bad_at),
		     -EBADMSG);
	cr_expect_eq(bad_at, 2, "%u", bad_at);
}
