/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hostile_files.c - files that claim more than they hold: the merge takes memory and time in
 * proportion to what lies there, and reads the rest
 */
#include "tests/unit/hostile_rig.h"

TestSuite(hostile_files, .init = rig_begin, .fini = rig_end, .timeout = 120);

/* ---- rings ---- */

Test(hostile_files, a_ring_that_claims_terabytes_of_names)
{
	struct tp_ring_head head = {
		.magic = TP_RING_MAGIC, .version = TP_RING_VERSION, .n_steps = TP_RING_STEPS,
		.n_chunks = 1 << 20, .slots_at = 4096, .steps_at = 4096, .names_at = 1 << 20,
		.names_bytes = 1ull << 42, .names_used = 1ull << 42, .chunks_at = 1 << 20,
		.file_bytes = (1ull << 42) + (1 << 20), .boot_id = {7, 7}, .run_id = 5, .pid = 3,
		.rank = 1, .world_size = 4,
	};
	static const struct {
		uint32_t n_bytes, kind;
		char bytes[8];
	} name = {8, TP_STRING_TEXT, "a name."};
	int fd = make("rank1.3.ring");

	if (ftruncate(fd, (off_t)head.file_bytes)) {
		close(fd);
		cr_skip("no file may be so large here");
	}
	cr_assert_eq(pwrite(fd, &head, sizeof(head), 0), sizeof(head));
	cr_assert_eq(pwrite(fd, &name, sizeof(name), (off_t)head.names_at + 8), sizeof(name));
	close(fd);
	write_good();
	expect_good(rig_open(NULL, NULL, NULL), "1 names in it are damaged");
}

/* ---- names ---- */

/* What a trace begins with, without an END: bytes may be put behind it. */
static int make_trace(const char *name)
{
	struct tp_file_head head = {.magic = TP_FILE_MAGIC, .major = TP_TRACE_MAJOR,
				    .head_bytes = sizeof(head), .run_id = 9, .pid = 4, .rank = 1,
				    .boot_id = {1, 2}, .clock_source = TP_CLOCK_MONOTONIC};
	int fd = make(name);

	tp_frame_seal_file_head(&head);
	cr_assert_eq(write(fd, &head, sizeof(head)), sizeof(head));
	return fd;
}

static uint8_t *put_varint(uint8_t *to, uint32_t value)
{
	for (; value >= 0x80; value >>= 7)
		*to++ = (uint8_t)(value | 0x80);
	*to++ = (uint8_t)value;
	return to;
}

static void append_block(int fd, struct tp_block_head *head, const uint8_t *raw, size_t n_raw,
			 const uint32_t *part, uint32_t n_parts)
{
	size_t packer_bytes = tp_frame_packer_bytes(), n;
	struct tp_frame_packer *packer = tp_frame_packer_init(malloc(packer_bytes), packer_bytes);
	uint8_t *out = malloc(tp_frame_bound(n_raw));

	n = tp_frame_pack(packer, head, raw, n_raw, part, n_parts, out);
	cr_assert_eq(write(fd, head, sizeof(*head)), sizeof(*head));
	cr_assert_eq(write(fd, out, n), (ssize_t)n);
	free(out);
	free(packer);
}

/* Blocks of names that are all alike but for a number: a thousandth of them is stored. */
static void append_bombs(int fd, uint32_t n_blocks, uint32_t name_bytes, uint32_t id_step)
{
	uint8_t *raw = malloc(TP_BLOCK_RAW_MAX);
	uint32_t id = 100;

	for (uint32_t i = 0; i < n_blocks; i++) {
		struct tp_block_head head = {.type = TP_BLOCK_STRINGS, .sequence = 2 + i};
		uint8_t *to = raw;

		while (to - raw < (long)(TP_BLOCK_RAW_MAX - name_bytes - 32) && id < TP_IDS_MAX - id_step) {
			to = put_varint(to, id);
			to = put_varint(to, TP_STRING_TEXT);
			to = put_varint(to, name_bytes);
			memset(to, 'a', name_bytes);
			memcpy(to, &id, sizeof(id));
			to += name_bytes;
			id += id_step;
			head.n_items++;
		}
		append_block(fd, &head, raw, (size_t)(to - raw), NULL, 0);
	}
	free(raw);
}

static void expect_bounded(uint32_t n_blocks, uint32_t name_bytes, uint32_t id_step)
{
	int fd = make_trace("rank1.0.tpt");
	const struct tp_run_in *in;
	struct tp_run *run;
	uint64_t used;
	off_t size;

	append_bombs(fd, n_blocks, name_bytes, id_step);
	size = lseek(fd, 0, SEEK_END);
	close(fd);
	cr_assert_lt(size, 1 << 20);
	write_good();
	run = rig_open(NULL, NULL, NULL);
	cr_assert_not_null(run);
	in = tp_run_inside(run);
	used = in->strings.n_bytes + in->n_text_bytes;
	cr_expect_lt(used, (64 << 20) + 64 * ((uint64_t)size + 10000) + 65536, "%lu bytes of %ld",
		     used, (long)size);
	expect_good(run, "names and texts are left out");
}

Test(hostile_files, names_that_unpack_to_a_thousand_times_their_size)
{
	expect_bounded(200, 4000, 1);
}

/* Each in a page of the table of ids for itself. */
Test(hostile_files, ids_far_from_each_other)
{
	expect_bounded(1, 8, TP_IDS_PAGE);
}

/* ---- texts ---- */

static void append_text(int fd, uint8_t type, uint64_t sequence, const uint8_t *text, uint32_t n)
{
	struct tp_block_head head = {.type = type, .n_items = 1, .sequence = sequence};

	append_block(fd, &head, text, n, NULL, 0);
}

/* Whoever reads runs again and again, as trainprof-read(3) lets one, holds nothing of the ones before. */
Test(hostile_files, texts_that_begin_with_a_zero_are_given_back)
{
	enum { TEXT = 200000, TIMES = 10 };
	uint8_t *text = calloc(1, TEXT);
	int fd = make_trace("rank1.0.tpt");
	size_t before = 0;

	memset(text + 1, 'a', TEXT - 1);
	append_text(fd, TP_BLOCK_META, 0, text, TEXT);
	append_text(fd, TP_BLOCK_END, 1, text, TEXT);
	close(fd);
	write_good();
	for (int i = 0; i < TIMES; i++) {
		struct tp_run *run = rig_open(NULL, NULL, NULL);

		cr_assert_not_null(run);
		tp_run_free(run);
		if (i == 0)
			before = mallinfo2().uordblks + mallinfo2().hblkhd;
	}
	cr_expect_lt(mallinfo2().uordblks + mallinfo2().hblkhd, before + TEXT);
	free(text);
}

/* ---- events ---- */

enum { N = TP_BLOCK_EVENTS_MAX };

/* Blocks of N records that lie `apart` ns from each other, addresses 64 bytes; the file's size. */
static off_t write_blocks(uint32_t n_blocks, uint8_t kind, uint64_t apart)
{
	static struct tp_rec rec[N];
	static uint16_t thread[N];
	struct tp_columns_scratch *scratch = malloc(tp_columns_scratch_bytes());
	uint8_t *raw = malloc(tp_columns_bound(N));
	int fd = make_trace("rank1.0.tpt");
	off_t size;

	for (uint32_t b = 0; b < n_blocks; b++) {
		struct tp_block_head head = {.type = TP_BLOCK_EVENTS, .n_items = N, .sequence = b};
		uint32_t part[TP_COLUMN_N];
		size_t n;

		for (uint64_t i = 0; i < N; i++) {
			const uint64_t at = (uint64_t)b * N + i;

			rec[i] = (struct tp_rec){.time = 1000 + at * apart, .kind = kind,
						 .link = tp_kind_is_span[kind] ? TP_NO_SEQ : TP_DEVICE_CPU,
						 .arg = tp_kind_is_span[kind] ? 0 : (at + 1) << 6};
			tp_rec_set_len(&rec[i], 64);
		}
		head.first_time = rec[0].time;
		head.last_time = rec[N - 1].time;
		head.end_time = rec[N - 1].time + 64;
		head.anchor_ticks = head.anchor_mono_ns = head.anchor_real_ns = head.end_time;
		n = tp_columns_encode(scratch, rec, thread, N, raw, part);
		append_block(fd, &head, raw, n, part, TP_COLUMN_N);
	}
	size = lseek(fd, 0, SEEK_END);
	close(fd);
	free(scratch);
	free(raw);
	return size;
}

Test(hostile_files, events_that_unpack_to_a_thousand_times_their_size)
{
	off_t size = write_blocks(400, TP_REC_ALLOC, 100);
	struct tp_run *run;

	cr_assert_lt(size, 1 << 18);
	write_good();
	run = rig_open(NULL, NULL, NULL);
	cr_assert_not_null(run);
	cr_expect_lt(tp_run_inside(run)->n_events_due, (1 << 20) + 4 * ((uint64_t)size + 65536));
	expect_good(run, "events are left out");
}

/* As they were recorded, each within the one after it: the order in which they lie is turned. */
Test(hostile_files, spans_that_all_begin_and_end_at_once, .timeout = 60)
{
	write_blocks(50, TP_REC_OP, 0);
	write_good();
	expect_good(rig_open(NULL, NULL, NULL), "no end");
	cr_expect_geq(n_events, 50 * N);
}

/* ---- traces of torch.profiler ---- */

static void write_bomb(const char *name, uint64_t n_bytes)
{
	static const char event[] = "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::add\", "
				    "\"pid\": 1, \"tid\": 1, \"ts\": 1000, \"dur\": 1},\n";
	gzFile gz = gzdopen(make(name), "wb9");

	cr_assert_gt(gzputs(gz, "{\"schemaVersion\": 1, \"traceEvents\": ["), 0);
	for (uint64_t i = 0; i < n_bytes; i += sizeof(event))
		cr_assert_gt(gzputs(gz, event), 0);
	cr_assert_gt(gzputs(gz, "]}"), 0);
	cr_assert_eq(gzclose(gz), Z_OK);
}

Test(hostile_files, gzip_that_unpacks_to_hundreds_of_times_its_size)
{
	char bomb[256], good[256];
	const char *path[] = {bomb, good};
	struct tp_fuse_options options = {.path = path, .n_paths = 2, .is_quiet = true};

	snprintf(bomb, sizeof(bomb), "%s/bomb.pt.trace.json.gz", rig.folder);
	snprintf(good, sizeof(good), "%s/rank0.0.tpt", rig.folder);
	write_bomb("bomb.pt.trace.json.gz", 160ull << 20);
	write_good();
	expect_good(tp_run_open(&options), "more than 128 times their size");
}

Test(hostile_files, json_within_json_within_json)
{
	static char text[200000];
	char deep[256], good[256];
	const char *path[] = {deep, good};
	struct tp_fuse_options options = {.path = path, .n_paths = 2, .is_quiet = true};
	int fd = make("deep.pt.trace.json");

	snprintf(deep, sizeof(deep), "%s/deep.pt.trace.json", rig.folder);
	snprintf(good, sizeof(good), "%s/rank0.0.tpt", rig.folder);
	memcpy(text, "{\"traceEvents\": [{\"ph\": \"X\", \"args\": ", 38);
	memset(text + 38, '[', sizeof(text) - 38);
	cr_assert_eq(write(fd, text, sizeof(text)), sizeof(text));
	close(fd);
	write_good();
	expect_good(tp_run_open(&options), "deep.pt.trace.json");
}
