/* SPDX-License-Identifier: Apache-2.0 */
/*
 * columns.c - bytes and nanoseconds that an event costs on its way to the file and back
 *
 * usage: columns [TRACE.tpt]
 *
 * The events are those of a trace, else made up in the shape of a training
 * (synth_events.h), and then in that of one on a GPU (synth_cuda.h; at most 6 bytes); then those
 * of host memory and stacks, of the trace or made up (synth_heap.h), by their own columns: at most
 * 4 bytes an allocation or free, 7 with the frames of stacks, 50 ns to write. Beside the
 * product's columns stands the floor of doing nothing clever: the 32-byte records themselves
 * through zstd at the same level. Blocks of 16 Ki events, as in a full window, and of 1 Ki, as at
 * the end of a short one. CPU time of this thread, medians of 9 rounds. Goals: at most 5.5 bytes,
 * 40 ns to encode and compress, 35 ns to decompress and decode. Exit status 1 when one is missed
 * with full blocks.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/trace/columns.h"
#include "runtime/trace/frame.h"
#include "runtime/trace/reader.h"
#include "tests/unit/synth_cuda.h"
#include "tests/unit/synth_heap.h"

enum { ROUNDS = 9, SYNTH_STEPS = 30, CUDA_EVENTS = 200000, HEAP_EVENTS = 400000 };

static const double goal_bytes = 5.5, goal_write_ns = 40, goal_read_ns = 35;
static const double goal_cuda_bytes = 6;
static const double goal_heap_bytes = 4, goal_stacks_bytes = 7, goal_heap_ns = 50;

static struct tp_rec *rec;
static uint16_t *thread;
static uint32_t n_rec, cap_rec;
static bool is_heap;	/* by the columns of HEAP blocks */

static struct tp_frame_packer *packer;
static struct tp_frame_unpacker *unpacker;
static struct tp_columns_scratch *scratch;
static uint8_t *raw, *raw_back, *stored;

struct cost {
	double encode_ns, pack_ns, unpack_ns, decode_ns, bytes;
};

static double cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int order_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void make_room(uint32_t more)
{
	if (n_rec + more <= cap_rec)
		return;
	cap_rec = 2 * (n_rec + more);
	rec = realloc(rec, cap_rec * sizeof(*rec));
	thread = realloc(thread, cap_rec * sizeof(*thread));
	if (!rec || !thread)
		exit(2);
}

static void make_events(void)
{
	struct synth *synth = malloc(sizeof(*synth));

	synth_init(synth, 1);
	for (int step = 0; step < SYNTH_STEPS; step++) {
		make_room(SYNTH_STEP_MAX);
		n_rec += synth_step(synth, rec + n_rec, SYNTH_STEP_MAX);
	}
	memset(thread, 0, n_rec * sizeof(*thread));
	free(synth);
}

static void make_cuda_events(void)
{
	n_rec = 0;
	make_room(CUDA_EVENTS + 4 * SYNTH_CUDA_BUFFER);
	n_rec = synth_cuda(rec, CUDA_EVENTS, 1);
	memset(thread, 0, n_rec * sizeof(*thread));
}

static void make_heap_events(void)
{
	struct synth_heap *heap = malloc(sizeof(*heap));

	n_rec = 0;
	make_room(HEAP_EVENTS);
	n_rec = HEAP_EVENTS;
	synth_heap_init(heap, 1);
	synth_heap_make(heap, rec, n_rec);
	memset(thread, 0, n_rec * sizeof(*thread));
	free(heap);
}

/* Drops the frames of stacks; how many there were. */
static uint32_t drop_frames(void)
{
	uint32_t n = 0, n_all = n_rec;

	for (uint32_t i = 0; i < n_all; i++) {
		if (rec[i].kind == TP_REC_FRAME)
			continue;
		thread[n] = thread[i];
		rec[n++] = rec[i];
	}
	n_rec = n;
	return n_all - n;
}

static void complain(void *ctx, const char *path, uint64_t offset, const char *what)
{
	fprintf(stderr, "columns: '%s' at %lu: %s\n", path, (unsigned long)offset, what);
}

/* Those in blocks of this type. */
static int load_events(const char *path, uint8_t type)
{
	struct tp_reader reader;

	n_rec = 0;
	if (tp_reader_open(&reader, path, complain, NULL))
		return -1;
	for (uint32_t i = 0; i < reader.n_blocks; i++) {
		make_room(TP_BLOCK_EVENTS_MAX);
		if (reader.block[i].head.type == type &&
		    !tp_reader_events(&reader, i, rec + n_rec, thread + n_rec))
			n_rec += reader.block[i].head.n_items;
	}
	tp_reader_close(&reader);
	return n_rec ? 0 : -1;
}

/* One block there and back by columns. */
static void run_columns(struct cost *cost, const struct tp_rec *from, const uint16_t *slots,
			uint32_t n, struct tp_rec *back, uint16_t *back_slots)
{
	struct tp_block_head head = {.n_items = n};
	uint32_t part_bytes[TP_COLUMN_N], bad_at;
	double at[5];
	size_t n_raw;

	at[0] = cpu_ns();
	n_raw = (is_heap ? tp_columns_encode_heap : tp_columns_encode)(scratch, from, slots, n, raw,
									part_bytes);
	at[1] = cpu_ns();
	cost->bytes += (double)tp_frame_pack(packer, &head, raw, n_raw, part_bytes,
					     TP_COLUMN_N, stored);
	at[2] = cpu_ns();
	if (tp_frame_unpack(unpacker, &head, stored, raw_back))
		exit(2);
	at[3] = cpu_ns();
	if ((is_heap ? tp_columns_decode_heap : tp_columns_decode)(scratch, raw_back, n_raw, n, back,
								   back_slots, &bad_at))
		exit(2);
	at[4] = cpu_ns();
	cost->bytes += sizeof(head);
	cost->encode_ns += at[1] - at[0];
	cost->pack_ns += at[2] - at[1];
	cost->unpack_ns += at[3] - at[2];
	cost->decode_ns += at[4] - at[3];
}

/* The same for bare records. */
static void run_records(struct cost *cost, const struct tp_rec *from, const uint16_t *slots,
			uint32_t n, struct tp_rec *back, uint16_t *back_slots)
{
	struct tp_block_head head = {.n_items = n};
	double at[3];

	at[0] = cpu_ns();
	cost->bytes +=
	    (double)tp_frame_pack(packer, &head, from, n * sizeof(*from), NULL, 0, stored);
	at[1] = cpu_ns();
	if (tp_frame_unpack(unpacker, &head, stored, back))
		exit(2);
	at[2] = cpu_ns();
	cost->bytes += sizeof(head);
	cost->pack_ns += at[1] - at[0];
	cost->unpack_ns += at[2] - at[1];
}

typedef void (*run_fn)(struct cost *cost, const struct tp_rec *from, const uint16_t *slots,
		       uint32_t n, struct tp_rec *back, uint16_t *back_slots);

static double median_of(const struct cost *round, size_t offset)
{
	double value[ROUNDS];

	for (int i = 0; i < ROUNDS; i++)
		memcpy(&value[i], (const char *)&round[i] + offset, sizeof(value[i]));
	qsort(value, ROUNDS, sizeof(value[0]), order_doubles);
	return value[ROUNDS / 2] / n_rec;
}

static struct cost measure(const char *what, run_fn run, uint32_t block)
{
	static struct tp_rec back[TP_BLOCK_EVENTS_MAX];
	static uint16_t back_slots[TP_BLOCK_EVENTS_MAX];
	struct cost round[ROUNDS] = {{0}}, middle;

	for (int i = 0; i < ROUNDS; i++) {
		for (uint32_t at = 0; at < n_rec; at += block) {
			uint32_t n = n_rec - at < block ? n_rec - at : block;

			run(&round[i], rec + at, thread + at, n, back, back_slots);
			if (memcmp(back, rec + at, n * sizeof(*rec)))
				exit(2);
		}
	}
	middle.encode_ns = median_of(round, offsetof(struct cost, encode_ns));
	middle.pack_ns = median_of(round, offsetof(struct cost, pack_ns));
	middle.unpack_ns = median_of(round, offsetof(struct cost, unpack_ns));
	middle.decode_ns = median_of(round, offsetof(struct cost, decode_ns));
	middle.bytes = median_of(round, offsetof(struct cost, bytes));
	printf("%-24s %6u %7.2f %8.1f %8.1f %8.1f %8.1f\n", what, block, middle.bytes,
	       middle.encode_ns, middle.pack_ns, middle.unpack_ns, middle.decode_ns);
	return middle;
}

static struct cost measure_all(const char *what)
{
	printf("%s: %u events\n", what, n_rec);
	printf("%-24s %6s %7s %8s %8s %8s %8s\n", "ns an event", "block", "bytes", "encode",
	       "zstd", "unzstd", "decode");
	measure("records (the floor)", run_records, TP_BLOCK_EVENTS_MAX);
	measure("columns", run_columns, 1024);
	return measure("columns", run_columns, TP_BLOCK_EVENTS_MAX);
}

static int report(const char *name, double value, double goal)
{
	printf("%s %.2f goal=%.1f %s\n", name, value, goal,
	       value <= goal ? "met" : "missed");
	return value > goal;
}

/* Figures of an allocation or free: what frames cost is theirs. */
static int measure_heap(void)
{
	uint32_t n_all = n_rec, n_frames;
	struct cost cost;
	double by;
	int missed;

	is_heap = true;
	cost = measure_all("host memory and stacks");
	n_frames = drop_frames();
	by = (double)n_all / (n_all - n_frames);
	missed = report("columns_stacks_bytes_per_event", cost.bytes * by, goal_stacks_bytes);
	missed |= report("columns_stacks_write_ns", (cost.encode_ns + cost.pack_ns) * by,
			 goal_heap_ns);
	cost = measure_all("host memory");
	missed |= report("columns_heap_bytes_per_event", cost.bytes, goal_heap_bytes);
	missed |= report("columns_heap_write_ns", cost.encode_ns + cost.pack_ns, goal_heap_ns);
	missed |= report("columns_heap_read_ns", cost.unpack_ns + cost.decode_ns, goal_read_ns);
	is_heap = false;
	return missed;
}

int main(int argc, char **argv)
{
	size_t packer_bytes = tp_frame_packer_bytes(),
	       unpacker_bytes = tp_frame_unpacker_bytes();
	size_t raw_bytes = tp_columns_bound(TP_BLOCK_EVENTS_MAX);
	struct cost cost;
	int missed;

	packer = tp_frame_packer_init(malloc(packer_bytes), packer_bytes);
	unpacker = tp_frame_unpacker_init(malloc(unpacker_bytes), unpacker_bytes);
	scratch = malloc(tp_columns_scratch_bytes());
	raw = malloc(raw_bytes);
	raw_back = malloc(raw_bytes);
	stored = malloc(tp_frame_bound(raw_bytes));
	if (!packer || !unpacker || !scratch || !raw || !raw_back || !stored)
		return 2;
	if (argc < 2)
		make_events();
	else if (load_events(argv[1], TP_BLOCK_EVENTS))
		return 2;

	cost = measure_all("a training");
	missed = report("columns_bytes_per_event", cost.bytes, goal_bytes);
	missed |= report("columns_write_ns", cost.encode_ns + cost.pack_ns, goal_write_ns);
	missed |= report("columns_read_ns", cost.unpack_ns + cost.decode_ns, goal_read_ns);
	if (argc > 1)
		return load_events(argv[1], TP_BLOCK_HEAP) ? missed : missed | measure_heap();
	make_cuda_events();
	cost = measure_all("CUDA");
	missed |= report("columns_cuda_bytes_per_event", cost.bytes, goal_cuda_bytes);
	missed |= report("columns_cuda_write_ns", cost.encode_ns + cost.pack_ns, goal_write_ns);
	missed |= report("columns_cuda_read_ns", cost.unpack_ns + cost.decode_ns, goal_read_ns);
	make_heap_events();
	missed |= measure_heap();
	return missed;
}
