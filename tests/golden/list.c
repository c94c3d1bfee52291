/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list.c - a trace as plain text: list TRACE; or one of noise, written first: list --noise
 * TRACE
 *
 * The noise goes where trainings do not: every class of number, forms by the hundred, full
 * stacks and lists of addresses, times that go back. tests/flow/030-format.sh gives it to
 * the second reader.
 */
#include <string.h>

#include "runtime/trace/writer.h"
#include "tests/golden/listing.h"
#include "tests/unit/synth_events.h"

static bool find_string(void *ctx, uint32_t id, uint32_t *kind, const char **bytes,
			uint32_t *n)
{
	*kind = TP_STRING_TEXT;
	*bytes = "noise";
	*n = 5;
	return true;
}

static uint64_t any_number(struct synth *synth)
{
	uint64_t size = synth_random(synth);

	return synth_random(synth) >> (size >> 20) % 64;
}

static void write_noise(struct tp_writer *writer, struct synth *synth)
{
	for (uint32_t i = 0; i < 20000; i++) {
		struct tp_rec rec = {
		    .time = any_number(synth),
		    .kind = (uint8_t)(synth_random(synth) % 26),
		    .flags = (uint8_t)(synth_random(synth) % 3),
		    .name = (uint32_t)(synth_random(synth) % 4),
		    .link = (uint32_t)any_number(synth),
		    .arg = any_number(synth),
		};
		tp_rec_set_len(&rec, any_number(synth));
		tp_writer_events(writer, &rec, 1, (uint16_t)(i / 40 % 5));
	}
}

/* More addresses than the lists hold, freed and used again at random. */
static void write_addresses(struct tp_writer *writer, struct synth *synth)
{
	for (uint32_t i = 0; i < 5000; i++) {
		struct tp_rec rec = {
		    .time = 1000000 + 7 * i,
		    .kind = i % 7 < 4 ? TP_REC_ALLOC : TP_REC_FREE,
		    .arg = synth_random(synth) % 500 * 4096,
		};
		tp_rec_set_len(&rec, synth_random(synth) % 5);
		tp_writer_events(writer, &rec, 1, 9);
	}
}

/* Blocks by the hundred of many sizes, stacks that recur and new ones, what no probe makes. */
static void write_heap(struct tp_writer *writer, struct synth *synth)
{
	static uint64_t live[700];
	uint32_t stack = 0;

	for (uint32_t i = 0; i < 40000; i++) {
		uint64_t r = synth_random(synth), *block = &live[(r >> 8) % 700];
		struct tp_rec rec = {.time = 9000000 + 5 * i, .link = 1 + (uint32_t)(r >> 20) % 60};

		if (r % 8 == 0) {
			rec.kind = TP_REC_FRAME;
			rec.flags = (uint8_t)((r >> 40) % 4 ? 0 : (r >> 44) % 32);
			rec.link = ++stack;
			tp_rec_set_len(&rec, (r >> 30) % 3 ? stack - 1 : (r >> 32) % (stack + 1));
			rec.arg = 0x7f1200000000 + (r >> 50) * (r >> 48) % 97;
			rec.name = rec.flags & TP_FRAME_PYTHON && (r >> 52) % 9 ? r >> 60 : 0;
		} else if (*block) {
			rec.kind = TP_REC_HEAPFREE;
			rec.link = r % 97 == 0;
			rec.arg = *block;
			*block = 0;
		} else {
			rec.kind = TP_REC_HEAPALLOC;
			rec.flags = (r >> 33) % 50 == 0 ? (uint8_t)(r >> 48) : 0;
			tp_rec_set_len(&rec, any_number(synth) >> (r >> 24) % 60);
			rec.arg = *block = 0x550000000000 + (r >> 34) % 3000 * ((r >> 30) % 20 ? 16 : 1);
		}
		if (r % 499 == 0)
			rec.kind = (uint8_t)(TP_REC_HEAPALLOC + (r >> 16) % 5);
		if (r % 997 == 0)
			rec.time = any_number(synth);
		tp_writer_events(writer, &rec, 1, (uint16_t)(i / 300 % 3));
	}
}

/* Spans around more spans than the stack holds, and deep ones. */
static void write_nests(struct tp_writer *writer)
{
	for (uint32_t outer = 0; outer < 8; outer++) {
		uint64_t begin = 2000000 + 100000 * outer;

		for (uint32_t i = 0; i <= 150 * outer; i++) {
			bool is_outer = i == 150 * outer;
			struct tp_rec rec = {
			    .time = is_outer ? begin : begin + 10 + 20 * i,
			    .kind = TP_REC_OP,
			    .name = 1 + i % 3,
			    .link = i,
			};
			tp_rec_set_len(&rec, is_outer ? 90000 : 10);
			tp_writer_events(writer, &rec, 1, 3);
		}
	}
	for (uint32_t i = 0; i < 600; i++) {
		struct tp_rec rec = {
		    .time = 5000000 - 3 * i, .kind = TP_REC_RANGE, .link = TP_NO_SEQ};

		tp_rec_set_len(&rec, 5 * i);
		tp_writer_events(writer, &rec, 1, 4);
	}
}

int main(int argc, char **argv)
{
	static struct tp_writer writer;
	static struct synth synth;
	const struct tp_file_head head = {.rank = -1};
	struct tp_arena arena;

	if (argc == 3 && !strcmp(argv[1], "--noise")) {
		if (tp_arena_init(&arena, 64 << 20) ||
		    tp_writer_init(&writer, &arena, 10, find_string, NULL) ||
		    tp_writer_open(&writer, argv[2], &head, "", 0))
			return 2;
		synth_init(&synth, 5);
		write_noise(&writer, &synth);
		write_addresses(&writer, &synth);
		write_nests(&writer);
		write_heap(&writer, &synth);
		if (tp_writer_close(&writer, "", 0))
			return 2;
	} else if (argc != 2) {
		return 2;
	}
	return list_trace(stdout, argv[argc - 1]) != 0;
}
