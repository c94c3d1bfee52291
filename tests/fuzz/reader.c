/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reader.c - any bytes through everything that reads a trace or a ledger
 *
 * Built with clang -fsanitize=fuzzer it is a libFuzzer target; built plainly
 * (-DTP_FUZZ_MAIN) it replays files: reader FILE..., or writes the seeds of the corpus:
 * reader --seeds FOLDER.
 *
 * The first byte of an input chooses what the rest is: a file as it is; a file whose
 * checksums are made right first, so that what lies behind them is reached; the bare
 * columns of a block; lines of a ledger; a string about a device, its kind first; the bare
 * columns of a HEAP block; or a node file whose checksums are made right.
 */
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "merge/model/device.h"
#include "runtime/trace/columns.h"
#include "runtime/trace/ledger.h"
#include "runtime/trace/kinds.h"
#include "runtime/trace/reader.h"
#include "runtime/trace/writer.h"
#include "tests/unit/synth_cuda.h"
#include "tests/unit/synth_heap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	INPUT_FILE,
	INPUT_SEALED_FILE,
	INPUT_COLUMNS,
	INPUT_LEDGER,
	INPUT_DEVICE,
	INPUT_HEAP_COLUMNS,
	INPUT_NODE,
	INPUT_N
};

static struct tp_rec rec[TP_BLOCK_EVENTS_MAX], again[TP_BLOCK_EVENTS_MAX];
static uint16_t thread[TP_BLOCK_EVENTS_MAX], thread_again[TP_BLOCK_EVENTS_MAX];
static volatile uint64_t sink; /* keeps reads of the results alive */

/* The property that failed, in the fuzzer's language: a crash. */
static void must(bool is_true, const char *what)
{
	if (is_true)
		return;
	fprintf(stderr, "reader: %s\n", what);
	abort();
}

static void note_complaint(void *ctx, const char *path, uint64_t offset, const char *what)
{
	sink += strlen(path) + strlen(what) + offset;
}

static void note_string(void *ctx, uint32_t id, uint32_t kind, const char *bytes,
			uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		sink += (uint8_t)bytes[i];
	sink += id + kind;
}

static void read_block(struct tp_reader *reader, uint32_t i)
{
	char value[16];
	const uint8_t *raw;
	uint32_t n;

	switch (reader->block[i].head.type) {
	case TP_BLOCK_EVENTS:
	case TP_BLOCK_LONG:
	case TP_BLOCK_HEAP:
		tp_reader_events(reader, i, rec, thread);
		break;
	case TP_BLOCK_STRINGS:
		tp_reader_strings(reader, i, note_string, NULL);
		break;
	default:
		if (!tp_reader_payload(reader, i, &raw, &n))
			tp_reader_text_value((const char *)raw, n, "events", value,
					     sizeof(value));
	}
}

static void read_file(const uint8_t *data, size_t size)
{
	struct tp_reader reader;
	char path[64];
	int fd = memfd_create("input", MFD_CLOEXEC);

	must(fd >= 0 && write(fd, data, size) == (ssize_t)size, "no file to read");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (!tp_reader_open(&reader, path, note_complaint, NULL)) {
		uint64_t end = 0;

		for (uint32_t i = 0; i < reader.n_blocks; i++) {
			must(reader.block[i].offset >= end, "blocks overlap");
			end = reader.block[i].offset + sizeof(struct tp_block_head) +
			      reader.block[i].head.stored_bytes;
			must(end <= size, "a block is not in the file");
			read_block(&reader, i);
		}
		tp_reader_close(&reader);
	}
	close(fd);
}

/* Its blocks may be anywhere in it, as its index says. */
static void read_node(const uint8_t *data, size_t size)
{
	struct tp_reader reader;
	char path[64];
	int fd = memfd_create("input", MFD_CLOEXEC);

	must(fd >= 0 && write(fd, data, size) == (ssize_t)size, "no file to read");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (!tp_reader_open_node(&reader, path, note_complaint, NULL)) {
		for (uint32_t i = 0; i < reader.n_blocks; i++) {
			must(reader.block[i].lies_at + sizeof(struct tp_block_head) +
					     reader.block[i].head.stored_bytes <= size,
			     "a block is not in the file");
			read_block(&reader, i);
		}
		tp_reader_close(&reader);
	}
	close(fd);
}

static void seal_tail(uint8_t *data, size_t size)
{
	struct tp_node_tail tail;

	if (size < sizeof(tail))
		return;
	memcpy(&tail, data + size - sizeof(tail), sizeof(tail));
	tail.magic = TP_NODE_TAIL_MAGIC;
	tp_frame_seal_node_tail(&tail);
	memcpy(data + size - sizeof(tail), &tail, sizeof(tail));
}

static void seal_file(uint8_t *data, size_t size, uint64_t magic)
{
	struct tp_file_head file;
	struct tp_block_head head;
	size_t at;

	if (size < sizeof(file))
		return;
	memcpy(&file, data, sizeof(file));
	file.magic = magic;
	file.major = TP_TRACE_MAJOR;
	tp_frame_seal_file_head(&file);
	memcpy(data, &file, sizeof(file));
	for (at = file.head_bytes; at < size && size - at >= sizeof(head);) {
		XXH64_state_t state;

		memcpy(&head, data + at, sizeof(head));
		if (head.stored_bytes > size - at - sizeof(head))
			break;
		XXH64_reset(&state, 0);
		XXH64_update(&state, &head, offsetof(struct tp_block_head, checksum));
		XXH64_update(&state, data + at + sizeof(head), head.stored_bytes);
		head.checksum = XXH64_digest(&state);
		memcpy(data + at, &head, sizeof(head));
		at += sizeof(head) + head.stored_bytes;
	}
}

/* What is accepted as events must be events: they can be written and read again. */
static void read_columns(const uint8_t *data, size_t size, bool is_heap)
{
	typeof(tp_columns_encode) *encode = is_heap ? tp_columns_encode_heap : tp_columns_encode;
	typeof(tp_columns_decode) *decode = is_heap ? tp_columns_decode_heap : tp_columns_decode;
	static struct tp_columns_scratch *scratch;
	static uint8_t *payload;
	uint32_t n, bad_at;
	size_t n_bytes;

	if (!scratch) {
		scratch = malloc(tp_columns_scratch_bytes());
		payload = malloc(tp_columns_bound(TP_BLOCK_EVENTS_MAX));
	}
	if (size < 2)
		return;
	n = (data[0] | (uint32_t)data[1] << 8) % (TP_BLOCK_EVENTS_MAX + 1);
	if (decode(scratch, data + 2, size - 2, n, rec, thread, &bad_at)) {
		must(bad_at <= n, "the bad event is not in the block");
		return;
	}
	n_bytes = encode(scratch, rec, thread, n, payload, NULL);
	must(n_bytes <= tp_columns_bound(n), "more bytes than promised");
	must(!decode(scratch, payload, n_bytes, n, again, thread_again, &bad_at),
	     "own columns are refused");
	must(!memcmp(rec, again, n * sizeof(*rec)), "events change");
	must(!memcmp(thread, thread_again, n * sizeof(*thread)), "threads change");
}

static void read_ledger(const uint8_t *data, size_t size)
{
	char line[2 * TP_LEDGER_LINE_MAX];
	struct tp_ledger_row row, row_again;
	struct tp_ledger_head head;
	size_t n;

	tp_ledger_parse_head((const char *)data, size, &head);
	if (!tp_ledger_parse_row((const char *)data, size, &row))
		return;
	n = tp_ledger_format_row(line, sizeof(line), &row);
	must(tp_ledger_parse_row(line, n - 1, &row_again), "own row is refused");
	must(!memcmp(&row, &row_again, sizeof(row)), "row changes");
}

/* Of exactly its size: the sanitizer sees a read behind the NUL that strings have. */
static void read_device(const uint8_t *data, size_t size)
{
	struct tp_string string;
	struct tp_event event = {.detail = &string};
	struct tp_device device;
	struct tp_transfer transfer;
	const char *owner;
	char *text, name[64];

	if (!size)
		return;
	text = malloc(size);
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	string = (struct tp_string){.kind = data[0], .n_bytes = (uint32_t)size - 1, .bytes = text};
	transfer = tp_device_transfer(&event);
	sink += tp_device_launch(&event).grid[0] + strlen(tp_device_transfer_name(name, &transfer));
	sink += strlen(tp_device_sync_name(tp_device_sync(&event).kind));
	sink += strlen(tp_devmem_kind_name(tp_device_memory(&event, &owner).kind));
	sink += strlen(owner);
	if (tp_device_parse(&device, text, string.n_bytes))
		must(memchr(device.name, '\0', sizeof(device.name)), "a name without end");
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* A copy of the exact size: the sanitizer sees a read behind it. */
	uint8_t *copy;

	if (!size)
		return 0;
	copy = malloc(size);
	memcpy(copy, data + 1, size - 1);
	switch (data[0] % INPUT_N) {
	case INPUT_SEALED_FILE:
		seal_file(copy, size - 1, TP_FILE_MAGIC);
		read_file(copy, size - 1);
		break;
	case INPUT_NODE:
		seal_file(copy, size - 1, TP_NODE_MAGIC);
		seal_tail(copy, size - 1);
		read_node(copy, size - 1);
		break;
	case INPUT_FILE:
		read_file(copy, size - 1);
		break;
	case INPUT_COLUMNS:
	case INPUT_HEAP_COLUMNS:
		copy = realloc(copy, size - 1 ? size - 1 : 1);
		read_columns(copy, size - 1, data[0] % INPUT_N == INPUT_HEAP_COLUMNS);
		break;
	case INPUT_LEDGER:
		copy = realloc(copy, size - 1 ? size - 1 : 1);
		read_ledger(copy, size - 1);
		break;
	case INPUT_DEVICE:
		read_device(copy, size - 1);
		break;
	}
	free(copy);
	return 0;
}

#ifdef TP_FUZZ_MAIN

enum { BYTES_MAX = 1 << 20 };
static uint8_t bytes[BYTES_MAX];

static size_t load(const char *path)
{
	int fd = open(path, O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, bytes + 1, BYTES_MAX - 1);

	must(n >= 0, path);
	close(fd);
	return (size_t)n;
}

static void save(const char *dir, const char *name, uint8_t input, const void *data,
		 size_t n)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "w");
	must(file && fputc(input, file) != EOF && fwrite(data, 1, n, file) == n &&
		 !fclose(file),
	     path);
}

static bool find_string(void *ctx, uint32_t id, uint32_t *kind, const char **text,
			uint32_t *n)
{
	/* Of each kind one, by turns. */
	*kind = TP_STRING_OP + id % 11;
	*text = "aten::op\0out";
	*n = 12;
	return true;
}

static uint8_t *put(uint8_t *to, const void *from, size_t n)
{
	memcpy(to, from, n);
	return to + n;
}

/* A member of one block, as it is stored, and the index of both. */
static void make_node(const char *dir)
{
	static const char text[] = "a=b\n";
	uint8_t node[2048], *to = node;
	struct tp_file_head file = {.major = TP_TRACE_MAJOR, .head_bytes = sizeof(file)};
	struct tp_node_member member = {.kind = TP_MEMBER_TRACE, .head = file};
	struct tp_block_head head = {.magic = TP_BLOCK_MAGIC, .head_bytes = sizeof(head),
				     .n_items = 1, .reserved = {1}};
	struct tp_node_entry entry[2];
	struct tp_node_tail tail = {.n_index = 1, .n_members = 1, .n_blocks = 2};

	to = put(to, &file, sizeof(file));
	head.type = TP_BLOCK_MEMBER;
	head.raw_bytes = head.stored_bytes = sizeof(member);
	entry[0] = (struct tp_node_entry){.at = (uint64_t)(to - node), .head = head};
	to = put(put(to, &head, sizeof(head)), &member, sizeof(member));
	head.type = TP_BLOCK_META;
	head.raw_bytes = head.stored_bytes = sizeof(text) - 1;
	entry[1] = (struct tp_node_entry){.at = (uint64_t)(to - node), .head = head};
	to = put(put(to, &head, sizeof(head)), text, sizeof(text) - 1);
	tail.index_at = (uint64_t)(to - node);
	head = (struct tp_block_head){.magic = TP_BLOCK_MAGIC, .head_bytes = sizeof(head),
				      .type = TP_BLOCK_INDEX, .n_items = 2,
				      .raw_bytes = sizeof(entry), .stored_bytes = sizeof(entry)};
	to = put(put(to, &head, sizeof(head)), entry, sizeof(entry));
	to = put(to, &tail, sizeof(tail));
	save(dir, "node", INPUT_NODE, node, (size_t)(to - node));
}

/* What a block of columns holds: of operators, of calls and what they started, of host memory. */
static void make_columns(const char *dir, const struct tp_rec *step, const struct tp_rec *work)
{
	static struct synth_heap heap;
	struct tp_columns_scratch *scratch = malloc(tp_columns_scratch_bytes());
	uint8_t columns[1 << 16] = {64, 0};

	memcpy(rec, step + 1000, 52 * sizeof(*rec));
	for (uint32_t i = 52; i < 64; i++) {
		rec[i] = (struct tp_rec){.time = rec[51].time + 10 * i,
					 .kind = (uint8_t)(i - 50),
					 .flags = (uint8_t)(i % 3),
					 .name = 5,
					 .link = i,
					 .arg = i};
		tp_rec_set_len(&rec[i], i == 60 ? 2 * TP_LONG_NS : i);
		thread[i] = (uint16_t)(i / 60);
	}
	save(dir, "columns", INPUT_COLUMNS, columns,
	     2 + tp_columns_encode(scratch, rec, thread, 64, columns + 2, NULL));

	/* Calls, and from before them what they started: two runs and more. */
	memcpy(rec, work, 10 * sizeof(*rec));
	memcpy(rec + 10, work + SYNTH_CUDA_BUFFER + 60, 54 * sizeof(*rec));
	memset(thread, 0, 64 * sizeof(*thread));
	save(dir, "columns-cuda", INPUT_COLUMNS, columns,
	     2 + tp_columns_encode(scratch, rec, thread, 64, columns + 2, NULL));
	synth_heap_init(&heap, 1);
	synth_heap_make(&heap, rec, 2000);
	save(dir, "columns-heap", INPUT_HEAP_COLUMNS, columns,
	     2 + tp_columns_encode_heap(scratch, rec + 1900, thread, 64, columns + 2, NULL));
	free(scratch);
}

/* 64 events of each. */
static void make_file(const char *dir, const struct tp_rec *events, const struct tp_rec *more)
{
	static struct tp_writer writer;
	struct tp_file_head file = {.rank = 3};
	struct tp_arena arena;
	char path[512];
	size_t n;

	must(!tp_arena_init(&arena, 64 << 20) &&
		 !tp_writer_init(&writer, &arena, 200, find_string, NULL),
	     "no memory");
	snprintf(path, sizeof(path), "%s/file", dir);
	must(!tp_writer_open(&writer, path, &file, "a=b\n", 4), path);
	tp_writer_threads(&writer, &(struct tp_thread_entry){.tid = 5}, 1);
	tp_writer_string(&writer, 7);
	tp_writer_events(&writer, events, 64, 1);
	tp_writer_events(&writer, more, 64, 1);
	must(!tp_writer_close(&writer, "c=d\n", 4), path);
	n = load(path);
	save(dir, "file-heap", INPUT_FILE, bytes + 1, n);
	save(dir, "sealed-heap", INPUT_SEALED_FILE, bytes + 1, n);
	tp_arena_fini(&arena);
}

/* Small pieces of everything that a trace may hold. */
static void make_seeds(const char *dir)
{
	static struct synth synth;
	static struct tp_rec step[SYNTH_STEP_MAX];
	struct tp_ledger_row row = {
	    .index = 7, .epoch = 1, .begin_ns = 123456789, .dur_ns = 5};
	struct tp_ledger_head head = {.rank = -1, .host = "host"};
	struct tp_rec *work = malloc((100 + 4 * SYNTH_CUDA_BUFFER) * sizeof(*work));
	static const char device[] = "\11id=1\nname=A\nmajor=9\nsms=132\nmemory_bytes=85031714816\n";
	static const char transfer[] = "\6\1\0\0\0\2\0\0\0\7\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\2\3\1";
	char line[1024];

	synth_init(&synth, 1);
	synth_step(&synth, step, SYNTH_STEP_MAX);
	synth_cuda(work, 100, 1);
	make_columns(dir, step, work);
	save(dir, "device", INPUT_DEVICE, device, sizeof(device) - 1);
	save(dir, "transfer", INPUT_DEVICE, transfer, sizeof(transfer) - 1);
	/* Of host memory what make_columns left. */
	memcpy(step, rec + 900, 64 * sizeof(*rec));
	for (uint32_t i = 0; i < 27; i++)
		work[i].kind = (uint8_t)(TP_REC_CALL + i % 9);
	make_file(dir, work, step);
	save(dir, "row", INPUT_LEDGER, line,
	     tp_ledger_format_row(line, sizeof(line), &row) - 1);
	save(dir, "head", INPUT_LEDGER, line,
	     tp_ledger_format_head(line, sizeof(line), &head));
	free(work);
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "--seeds")) {
		make_seeds(argv[2]);
		make_node(argv[2]);
		return 0;
	}
	for (int i = 1; i < argc; i++) {
		size_t n = load(argv[i]);

		LLVMFuzzerTestOneInput(bytes + 1, n);
	}
	printf("%d inputs\n", argc - 1);
	return 0;
}

#endif
