/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_file.c - what the writer wrote the reader reads, and damage costs only what it hit
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <signal.h>
#include <unistd.h>

#include "runtime/trace/reader.h"
#include "runtime/trace/writer.h"
#include "tests/unit/synth_events.h"

enum { N_IDS = 1000, FILE_MAX = 8 << 20 };

static char dir[64], path[128], part[128];
static struct tp_arena arena;
static struct tp_writer writer;
static struct tp_reader reader;
static struct tp_rec rec[40000], back[TP_BLOCK_EVENTS_MAX];
static uint16_t back_thread[TP_BLOCK_EVENTS_MAX];
static uint8_t bytes[FILE_MAX];

/* What the last file was complained about. */
static unsigned n_complaints;
static uint64_t complaint_offset;
static char complaint[256];

static void complain(void *ctx, const char *file, uint64_t offset, const char *what)
{
	cr_assert_str_eq(file, path);
	n_complaints++;
	complaint_offset = offset;
	snprintf(complaint, sizeof(complaint), "%s", what);
}

/* String id: "name ID", every tenth with a NUL and bytes that are no text; 999 is not
 * there. */
static bool find_string(void *ctx, uint32_t id, uint32_t *kind, const char **out,
			uint32_t *n)
{
	static char name[32];

	*n = (uint32_t)snprintf(name, sizeof(name), "name %u", id);
	if (id % 10 == 0)
		memcpy(name, "\0\n\xff", 3);
	*kind = id % 2 ? TP_STRING_OP : TP_STRING_SHAPES;
	*out = name;
	return id != 999;
}

static void set_up(void)
{
	snprintf(dir, sizeof(dir), "/tmp/trainprof-unit-XXXXXX");
	cr_assert_not_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/rank0.tpt", dir);
	snprintf(part, sizeof(part), "%s/rank0.tpt.part", dir);
	cr_assert_eq(tp_arena_init(&arena, 64 << 20), 0);
	cr_assert_eq(tp_writer_init(&writer, &arena, N_IDS, find_string, NULL), 0);
}

static void tear_down(void)
{
	unlink(path);
	unlink(part);
	rmdir(dir);
	tp_arena_fini(&arena);
}

TestSuite(trace_file, .init = set_up, .fini = tear_down);

static const struct tp_file_head head = {
    .boot_id = {1, 2},
    .run_id = 3,
    .pid = 4,
    .window = 5,
    .rank = 6,
    .local_rank = -1,
    .world_size = 8,
    .node_rank = 9,
    .clock_source = TP_CLOCK_MONOTONIC,
    .restart = 10,
};

static void open_writer(void)
{
	cr_assert_eq(tp_writer_open(&writer, path, &head, "host=here\nx=a=b\n", 16), 0);
}

static void put_bytes(const void *data, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, data, n), (ssize_t)n);
	close(fd);
}

static size_t get_bytes(const char *file)
{
	int fd = open(file, O_RDONLY);
	ssize_t n = read(fd, bytes, sizeof(bytes));

	close(fd);
	cr_assert(n >= 0 && n < FILE_MAX);
	return (size_t)n;
}

static int open_reader(void)
{
	n_complaints = 0;
	complaint[0] = '\0';
	return tp_reader_open(&reader, path, complain, NULL);
}

/* Everything in an open reader is read. Returns events that came out. */
static uint64_t read_all(void)
{
	uint64_t n_events = 0;

	for (uint32_t i = 0; i < reader.n_blocks; i++) {
		const struct tp_block_head *block = &reader.block[i].head;
		const uint8_t *raw;
		uint32_t n;

		if (block->type == TP_BLOCK_EVENTS || block->type == TP_BLOCK_LONG) {
			if (!tp_reader_events(&reader, i, back, back_thread))
				n_events += block->n_items;
		} else {
			tp_reader_payload(&reader, i, &raw, &n);
		}
	}
	return n_events;
}

struct strings {
	uint8_t seen[N_IDS];
};

static void note_string(void *ctx, uint32_t id, uint32_t kind, const char *text, uint32_t n)
{
	struct strings *strings = ctx;
	uint32_t want_kind, want_n;
	const char *want;

	cr_assert_lt(id, N_IDS);
	cr_assert(find_string(NULL, id, &want_kind, &want, &want_n));
	cr_assert_eq(kind, want_kind);
	cr_assert_eq(n, want_n);
	cr_assert_eq(memcmp(text, want, n), 0);
	strings->seen[id]++;
}

/* 20,000 events on three threads, one in 500 a long span; also names, shapes and a few
 * threads. */
static uint32_t make_events(void)
{
	uint64_t now = 1000000;

	for (uint32_t i = 0; i < 20000; i++, now += 1000) {
		rec[i] = (struct tp_rec){.time = now,
					 .kind = TP_REC_OP,
					 .name = 1 + i % 700,
					 .link = TP_NO_SEQ,
					 .arg = TP_ARG_OP(i % 3 ? 0 : 700 + i % 290, 0, 0)};
		tp_rec_set_len(&rec[i], i % 500 ? 700 : TP_LONG_NS + 1);
	}
	rec[77].name = 999;
	rec[78].name = 4000000000u;
	return 20000;
}

Test(trace_file, comes_back_as_it_was_written)
{
	static struct strings strings;
	const struct tp_thread_entry entry[2] = {
	    {.slot = 0, .tid = 11, .flags = 1, .name = "main"},
	    {.slot = 1, .tid = 12, .name = "pt_data_worker."}};
	uint32_t n = make_events(), at = 0, at_long = 0;
	bool has_name[N_IDS] = {false};
	const uint8_t *raw;
	uint32_t n_raw;
	char value[32];

	open_writer();
	writer.anchor = (struct tp_clock_anchor){1, 2, 3, 4};
	writer.dropped = 5;
	cr_assert_eq(tp_writer_threads(&writer, entry, 2), 0);
	for (uint32_t i = 0; i < n; i += 1000)
		cr_assert_eq(
		    tp_writer_events(&writer, rec + i, 1000, (uint16_t)(i / 1000 % 3)), 0);
	cr_assert_eq(access(path, F_OK), -1);
	cr_assert_eq(tp_writer_close(&writer, "why=done\n", 9), 0);
	cr_assert_eq(access(part, F_OK), -1);
	cr_assert_eq(writer.n_events, n);

	cr_assert_eq(open_reader(), 0);
	cr_assert(reader.is_whole);
	cr_assert_eq(reader.head.rank, 6);
	cr_assert_eq(reader.head.restart, 10);
	cr_assert_eq(reader.n_blocks, writer.sequence);
	for (uint32_t i = 0; i < reader.n_blocks; i++) {
		const struct tp_block_head *block = &reader.block[i].head;
		bool is_long = block->type == TP_BLOCK_LONG;

		cr_assert_eq(block->sequence, i);
		switch (block->type) {
		case TP_BLOCK_META:
			cr_assert_eq(tp_reader_payload(&reader, i, &raw, &n_raw), 0);
			cr_assert(
			    tp_reader_text_value((const char *)raw, n_raw, "x", value, 32));
			cr_assert_str_eq(value, "a=b");
			cr_assert_not(tp_reader_text_value((const char *)raw, n_raw, "hos",
							   value, 32));
			break;
		case TP_BLOCK_THREADS:
			cr_assert_eq(block->n_items, 2);
			cr_assert_eq(tp_reader_payload(&reader, i, &raw, &n_raw), 0);
			cr_assert_eq(n_raw, sizeof(entry));
			cr_assert_eq(memcmp(raw, entry, n_raw), 0);
			break;
		case TP_BLOCK_STRINGS:
			cr_assert_eq(tp_reader_strings(&reader, i, note_string, &strings),
				     0);
			break;
		case TP_BLOCK_EVENTS:
		case TP_BLOCK_LONG:
			cr_assert_eq(tp_reader_events(&reader, i, back, back_thread), 0);
			cr_assert_eq(block->dropped, 5);
			cr_assert_eq(block->anchor_real_ns, 3);
			for (uint32_t k = 0; k < block->n_items; k++) {
				uint32_t *next = is_long ? &at_long : &at;

				while ((tp_rec_len(&rec[*next]) > TP_LONG_NS) != is_long)
					++*next;
				cr_assert_eq(memcmp(&back[k], &rec[*next], sizeof(*back)),
					     0);
				cr_assert_eq(back_thread[k], *next / 1000 % 3);
				cr_assert(back[k].time >= block->first_time &&
					  back[k].time <= block->last_time &&
					  back[k].time + tp_rec_len(&back[k]) <=
					      block->end_time);
				/* Names come before the first event that uses them. */
				cr_assert(back[k].name >= 999 ||
					  strings.seen[back[k].name]);
				++*next;
			}
			break;
		case TP_BLOCK_END:
			cr_assert_eq(tp_reader_payload(&reader, i, &raw, &n_raw), 0);
			cr_assert(tp_reader_text_value((const char *)raw, n_raw, "events",
						       value, 32));
			cr_assert_str_eq(value, "20000");
			cr_assert(tp_reader_text_value((const char *)raw, n_raw, "dropped",
						       value, 32));
			cr_assert_str_eq(value, "5");
			cr_assert(tp_reader_text_value((const char *)raw, n_raw, "why",
						       value, 32));
			cr_assert_str_eq(value, "done");
			cr_assert(tp_reader_text_value((const char *)raw, n_raw, "blocks",
						       value, 32));
			cr_assert_eq((uint32_t)atoi(value), reader.n_blocks);
			break;
		}
	}
	for (uint32_t i = 0; i < n; i++) {
		if (rec[i].name < N_IDS)
			has_name[rec[i].name] = true;
		has_name[TP_ARG_SHAPES(rec[i].arg)] = true;
	}
	has_name[0] = has_name[999] = false;
	for (uint32_t id = 0; id < N_IDS; id++)
		cr_assert_eq(strings.seen[id], has_name[id], "string %u", id);
	cr_assert_eq(n_complaints, 0, "%s", complaint);
	tp_reader_close(&reader);
}

Test(trace_file, is_written_many_times_by_one_writer)
{
	uint64_t used = arena.used;

	for (int window = 0; window < 5; window++) {
		uint32_t n = make_events();

		open_writer();
		tp_writer_events(&writer, rec, n, 0);
		cr_assert_eq(tp_writer_close(&writer, "", 0), 0);
		cr_assert_eq(open_reader(), 0);
		cr_assert_eq(read_all(), n);
		tp_reader_close(&reader);
	}
	cr_assert_eq(arena.used, used, "all memory is taken by init");
}

Test(trace_file, is_readable_while_it_is_part_or_given_up)
{
	uint32_t n = make_events();

	open_writer();
	tp_writer_events(&writer, rec, n, 0);
	tp_writer_flush(&writer);
	rename(part, path);
	cr_assert_eq(open_reader(), 0);
	cr_assert_not(reader.is_whole);
	cr_assert_eq(read_all(), n);
	cr_assert_eq(n_complaints, 0, "%s", complaint);
	tp_reader_close(&reader);
	tp_writer_abandon(&writer);
	cr_assert_eq(tp_writer_events(&writer, rec, 10, 0), 0);
	cr_assert_eq(tp_writer_close(&writer, "", 0), -EBADF);
}

Test(trace_file, tells_a_full_disk_once_and_counts_what_is_lost)
{
	struct rlimit limit = {.rlim_cur = 30000, .rlim_max = RLIM_INFINITY};
	uint32_t n = make_events(), n_errors = 0;
	const uint8_t *raw;
	uint32_t n_raw;
	char value[32];

	for (uint32_t i = 0; i < n; i++)
		rec[i].time = synth_random(&(struct synth){.random = i + 1});
	signal(SIGXFSZ, SIG_IGN);
	open_writer();
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	for (int round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < n; i += 1000) {
			int err = tp_writer_events(&writer, rec + i, 1000, 0);

			cr_assert(err == 0 || err == -EFBIG);
			n_errors += err != 0;
		}
		n_errors += tp_writer_flush(&writer) != 0;
		n_errors +=
		    tp_writer_threads(&writer, &(struct tp_thread_entry){0}, 1) != 0;
	}
	cr_assert_eq(n_errors, 1);
	cr_assert_eq(writer.error, -EFBIG);
	cr_assert_eq(writer.n_events + writer.n_lost, 3 * n);
	cr_assert_gt(writer.n_lost, 0);
	/* Room for the end, if for nothing else: the file says what it lacks. */
	cr_assert_eq(tp_writer_close(&writer, "", 0), 0);
	cr_assert_eq(open_reader(), 0);
	cr_assert(reader.is_whole);
	cr_assert_eq(read_all(), writer.n_events);
	cr_assert_eq(tp_reader_payload(&reader, reader.n_blocks - 1, &raw, &n_raw), 0);
	cr_assert(tp_reader_text_value((const char *)raw, n_raw, "lost", value, 32));
	cr_assert_eq(strtoull(value, NULL, 10), writer.n_lost);
	cr_assert_eq(n_complaints, 0, "%s", complaint);
	tp_reader_close(&reader);
}

Test(trace_file, tells_at_the_close_what_could_not_be_kept)
{
	struct rlimit limit = {.rlim_cur = 3000, .rlim_max = RLIM_INFINITY};
	uint32_t n = 3000;

	make_events();
	signal(SIGXFSZ, SIG_IGN);
	open_writer();
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	cr_assert_eq(tp_writer_events(&writer, rec, n, 0), 0, "staged only");
	cr_assert_eq(tp_writer_close(&writer, "", 0), -EFBIG);
	cr_assert_gt(writer.n_lost, 0);
	cr_assert_eq(writer.n_events + writer.n_lost, n);
	cr_assert_eq(open_reader(), 0);
	cr_assert(reader.is_whole);
	cr_assert_eq(read_all(), writer.n_events);
	tp_reader_close(&reader);
}

Test(trace_file, survives_a_folder_that_goes_away)
{
	uint32_t n = make_events();

	cr_assert_eq(tp_writer_open(&writer, "/nowhere/at/all.tpt", &head, "", 0), -ENOENT);
	cr_assert_eq(tp_writer_events(&writer, rec, n, 0), 0);
	open_writer();
	tp_writer_events(&writer, rec, n, 0);
	unlink(part);
	rmdir(dir);
	cr_assert_eq(tp_writer_close(&writer, "", 0), -ENOENT);
	cr_assert_eq(writer.fd, -1);
	memset(bytes, 'a', 600);
	bytes[600] = '\0';
	cr_assert_eq(tp_writer_open(&writer, (char *)bytes, &head, "", 0), -ENAMETOOLONG);
}

/* A small whole file, in `bytes`; returns its length. */
static size_t make_small(uint32_t n)
{
	const struct tp_thread_entry entry = {.tid = 11};

	make_events();
	open_writer();
	tp_writer_threads(&writer, &entry, 1);
	tp_writer_events(&writer, rec, n, 0);
	tp_writer_flush(&writer);
	tp_writer_events(&writer, rec + n, n, 1);
	cr_assert_eq(tp_writer_close(&writer, "", 0), 0);
	return get_bytes(path);
}

Test(trace_file, cut_at_any_byte_gives_what_is_whole_before_it, .timeout = 60)
{
	enum { N = 40 };
	size_t n_bytes = make_small(N), ends[32];
	uint32_t events[32], n_ends = 0;

	/* After how many bytes each block is whole, and how many events there are by then.
	 */
	cr_assert_eq(open_reader(), 0);
	for (uint32_t i = 0, sum = 0; i < reader.n_blocks; i++) {
		const struct tp_block_head *block = &reader.block[i].head;

		sum += block->type == TP_BLOCK_EVENTS || block->type == TP_BLOCK_LONG
			   ? block->n_items
			   : 0;
		ends[n_ends] = reader.block[i].offset + 128 + block->stored_bytes;
		events[n_ends++] = sum;
	}
	tp_reader_close(&reader);
	cr_assert_eq(events[n_ends - 1], 2 * N);
	cr_assert_eq(ends[n_ends - 1], n_bytes);

	for (size_t cut = 0; cut < n_bytes; cut++) {
		uint32_t want = 0, n_blocks = 0;
		bool is_at_end = cut == 128;
		int err;

		for (uint32_t i = 0; i < n_ends && ends[i] <= cut; i++) {
			want = events[i];
			n_blocks = i + 1;
			is_at_end |= ends[i] == cut;
		}
		put_bytes(bytes, cut);
		err = open_reader();
		if (cut < 128) {
			cr_assert_eq(err, cut < 8 ? -EINVAL : -EBADMSG, "cut at %zu: %d %s",
				     cut, err, complaint);
			cr_assert_eq(n_complaints, 1);
			continue;
		}
		cr_assert_eq(err, 0, "cut at %zu", cut);
		cr_assert_not(reader.is_whole);
		cr_assert_eq(reader.n_blocks, n_blocks, "cut at %zu", cut);
		cr_assert_eq(read_all(), want, "cut at %zu", cut);
		cr_assert_eq(n_complaints, !is_at_end, "cut at %zu: %s", cut, complaint);
		cr_assert_eq(reader.cut_bytes == 0, is_at_end);
		tp_reader_close(&reader);
	}
}

Test(trace_file, with_any_bit_of_its_head_flipped_is_refused_with_a_reason)
{
	size_t n_bytes = make_small(40);

	for (size_t bit = 0; bit < 8 * sizeof(struct tp_file_head); bit++) {
		size_t at = bit / 8;
		int want = at < 8 ? -EINVAL : at < 10 ? -EPROTONOSUPPORT : -EBADMSG;

		bytes[at] ^= (uint8_t)(1 << bit % 8);
		put_bytes(bytes, n_bytes);
		cr_assert_eq(open_reader(), want, "bit %zu: %s", bit, complaint);
		cr_assert_eq(n_complaints, 1);
		bytes[at] ^= (uint8_t)(1 << bit % 8);
	}
}

Test(trace_file, with_any_bit_of_a_block_flipped_loses_that_block_only, .timeout = 120)
{
	enum { N = 40 };
	size_t n_bytes = make_small(N), begin = 0, end = 0;
	uint32_t n_blocks, n_hit = 0;

	cr_assert_eq(open_reader(), 0);
	n_blocks = reader.n_blocks;
	for (uint32_t i = 0; i < n_blocks && !begin; i++) {
		if (reader.block[i].head.type == TP_BLOCK_EVENTS) {
			n_hit = reader.block[i].head.n_items;
			begin = reader.block[i].offset;
			end = begin + 128 + reader.block[i].head.stored_bytes;
		}
	}
	tp_reader_close(&reader);
	for (size_t bit = 8 * begin; bit < 8 * end; bit++) {
		uint64_t n_events;

		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		put_bytes(bytes, n_bytes);
		cr_assert_eq(open_reader(), 0);
		n_events = read_all();
		cr_assert(n_events == 2 * N - n_hit, "bit %zu of the block: %lu events, %s",
			  bit - 8 * begin, (unsigned long)n_events, complaint);
		cr_assert(reader.is_whole, "bit %zu", bit - 8 * begin);
		cr_assert_geq(n_complaints, 1);
		cr_assert_eq(reader.n_bad_blocks, 1);
		cr_assert_eq(complaint_offset, begin, "bit %zu: %lu", bit - 8 * begin,
			     (unsigned long)complaint_offset);
		tp_reader_close(&reader);
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
}

Test(trace_file, that_is_something_else_is_called_by_its_name)
{
	static const struct {
		const char *bytes;
		size_t n;
		const char *word;
	} row[] = {
	    {"", 0, "an empty file"},
	    {"{\"schemaVersion\": 1}", 20, "JSON"},
	    {"  [\n", 4, "JSON"},
	    {"\x1f\x8b\x08\0\0", 5, "gzip"},
	    {"\x7f"
	     "ELF\2\1\1\0",
	     8, "ELF"},
	    {"PK\3\4\0\0", 6, "zip"},
	    {"step,loss\n1,2.5\n", 16, "text"},
	    {"TPT1\n\x1a\nabc", 10, "text-mode"},
	    {"TPTPRNG1\0\0\0\0", 12, "ring"},
	    {"#trainprof-ledger 1", 19, "ledger"},
	    {"\0\0\0\0\0\0\0\0\0", 9, "zeros"},
	    {"\x80\x02}q\0X", 6, "unknown"},
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		put_bytes(row[i].bytes, row[i].n);
		cr_assert_eq(open_reader(), -EINVAL, "'%s'", row[i].word);
		cr_assert_eq(n_complaints, 1);
		cr_assert_not_null(strstr(complaint, "not a trainprof trace"));
		cr_assert_not_null(strstr(complaint, row[i].word), "'%s': %s", row[i].word,
				   complaint);
	}
	unlink(path);
	cr_assert_eq(open_reader(), -ENOENT);
	cr_assert_str_eq(complaint, "No such file or directory");
	mkdir(path, 0700);
	cr_assert_eq(open_reader(), -EINVAL);
	cr_assert_not_null(strstr(complaint, "directory"), "%s", complaint);
	rmdir(path);
	mkfifo(path, 0600);
	cr_assert_eq(open_reader(), -EINVAL, "and does not wait for a writer");
}

/* Changes a field of the file head and seals it again. */
static void reseal(size_t n_bytes, uint16_t major, uint16_t minor)
{
	struct tp_file_head changed;

	memcpy(&changed, bytes, sizeof(changed));
	changed.major = major;
	changed.minor = minor;
	tp_frame_seal_file_head(&changed);
	memcpy(bytes, &changed, sizeof(changed));
	put_bytes(bytes, n_bytes);
}

Test(trace_file, of_another_major_version_is_refused_and_of_a_newer_minor_one_read)
{
	size_t n_bytes = make_small(40);

	reseal(n_bytes, TP_TRACE_MAJOR + 1, 0);
	cr_assert_eq(open_reader(), -EPROTONOSUPPORT);
	cr_assert_not_null(strstr(complaint, "2.0"), "%s", complaint);
	reseal(n_bytes, TP_TRACE_MAJOR, TP_TRACE_MINOR + 7);
	cr_assert_eq(open_reader(), 0);
	cr_assert_eq(read_all(), 80);
	cr_assert_eq(n_complaints, 0);
	tp_reader_close(&reader);
}

Test(trace_file, with_unknown_blocks_and_kinds_of_records_keeps_the_rest)
{
	static uint8_t out[1 << 16];
	size_t packer_bytes = tp_frame_packer_bytes(), n_bytes, meta_end;
	struct tp_frame_packer *packer =
	    tp_frame_packer_init(malloc(packer_bytes), packer_bytes);
	struct tp_block_head unknown = {.type = 200, .n_items = 3000000000u};
	size_t n_stored =
	    tp_frame_pack(packer, &unknown, "something new", 13, NULL, 0, out);

	/* An unknown kind of record, a point, with everything in it. */
	make_events();
	rec[1] = (struct tp_rec){.time = rec[1].time,
				 .len_lo = 1,
				 .len_hi = 2,
				 .kind = 250,
				 .flags = 255,
				 .name = 3,
				 .link = 4,
				 .arg = 5};
	open_writer();
	tp_writer_events(&writer, rec, 3, 0);
	cr_assert_eq(tp_writer_close(&writer, "", 0), 0);
	n_bytes = get_bytes(path);
	cr_assert_eq(open_reader(), 0);
	meta_end = reader.block[1].offset;
	tp_reader_close(&reader);
	memmove(bytes + meta_end + 128 + n_stored, bytes + meta_end, n_bytes - meta_end);
	memcpy(bytes + meta_end, &unknown, 128);
	memcpy(bytes + meta_end + 128, out, n_stored);
	put_bytes(bytes, n_bytes + 128 + n_stored);

	cr_assert_eq(open_reader(), 0);
	cr_assert_eq(reader.block[1].head.type, 200);
	for (uint32_t i = 0; i < reader.n_blocks; i++) {
		if (reader.block[i].head.type == TP_BLOCK_EVENTS) {
			cr_assert_eq(tp_reader_events(&reader, i, back, back_thread), 0);
			cr_assert_eq(memcmp(&back[0], &rec[1], sizeof(*back)), 0);
		}
	}
	cr_assert_eq(read_all(), 3);
	cr_assert_eq(n_complaints, 0, "%s", complaint);
	tp_reader_close(&reader);
	free(packer);
}

/* Puts a sound block with this payload behind META of a small file, and opens it. */
static void insert_block(struct tp_block_head block, const void *payload, size_t n)
{
	static uint8_t out[1 << 12];
	size_t packer_bytes = tp_frame_packer_bytes(), n_bytes = make_small(3), at,
	       n_stored;
	void *memory = malloc(packer_bytes);

	n_stored = tp_frame_pack(tp_frame_packer_init(memory, packer_bytes), &block,
				 payload, n, NULL, 0, out);
	cr_assert_eq(open_reader(), 0);
	at = reader.block[1].offset;
	tp_reader_close(&reader);
	memmove(bytes + at + 128 + n_stored, bytes + at, n_bytes - at);
	memcpy(bytes + at, &block, 128);
	memcpy(bytes + at + 128, out, n_stored);
	put_bytes(bytes, n_bytes + 128 + n_stored);
	cr_assert_eq(open_reader(), 0);
	free(memory);
}

static void count_string(void *ctx, uint32_t id, uint32_t kind, const char *text,
			 uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		*(uint32_t *)ctx += (uint8_t)text[i] == 'x';
}

Test(trace_file, with_malformed_names_gives_those_before)
{
	static const struct {
		const char *payload;
		uint32_t n, n_items, n_good;
		int err;
	} row[] = {
	    {"\1\2\1x\2\2\1x", 8, 2, 2, 0},
	    {"\1\2\1x", 4, 2, 1, -EBADMSG},
	    {"\1\2\1x\2\2\2x", 8, 2, 1, -EBADMSG},
	    {"\1\2\1x\2\2\xff\xff\xff\xff\xfx", 12, 2, 1, -EBADMSG},
	    {"\xff\xff\xff\xff\xff\xff\xff\xff", 8, 2, 0, -EBADMSG},
	    {"\xff\xff\xff\xff\x1f\1\1x", 8, 1, 0, -EBADMSG},
	    {"", 0, 4000000000u, 0, -EBADMSG},
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct tp_block_head block = {.type = TP_BLOCK_STRINGS,
					      .n_items = row[i].n_items};
		uint32_t n_good = 0;

		insert_block(block, row[i].payload, row[i].n);
		cr_assert_eq(tp_reader_strings(&reader, 1, count_string, &n_good),
			     row[i].err, "row %zu", i);
		cr_assert_eq(n_good, row[i].n_good, "row %zu", i);
		cr_assert_eq(n_complaints, row[i].err != 0);
		cr_assert_eq(read_all(), 6);
		tp_reader_close(&reader);
	}
}

Test(trace_file, with_more_events_in_a_block_than_may_be_loses_that_block)
{
	struct tp_block_head block = {.type = TP_BLOCK_EVENTS,
				      .n_items = TP_BLOCK_EVENTS_MAX + 1};

	insert_block(block, "x", 1);
	cr_assert_eq(n_complaints, 1);
	cr_assert_eq(reader.n_bad_blocks, 1);
	for (uint32_t i = 0; i < reader.n_blocks; i++)
		cr_assert(reader.block[i].head.type != TP_BLOCK_EVENTS ||
			  reader.block[i].head.n_items <= TP_BLOCK_EVENTS_MAX);
	cr_assert_eq(read_all(), 6);
	tp_reader_close(&reader);
}

Test(trace_file, of_noise_is_read_to_the_end_without_harm, .timeout = 60)
{
	struct synth synth;
	size_t n_bytes = make_small(200);
	static uint8_t original[FILE_MAX];

	memcpy(original, bytes, n_bytes);
	synth_init(&synth, 9);
	for (int round = 0; round < 2000; round++) {
		memcpy(bytes, original, n_bytes);
		for (int i = 0; i < 1 + round % 12; i++) {
			size_t at = 128 + synth_random(&synth) % (n_bytes - 128);
			size_t n = synth_random(&synth) % 64;

			while (n-- && at < n_bytes)
				bytes[at++] = (uint8_t)synth_random(&synth);
		}
		put_bytes(bytes, n_bytes);
		cr_assert_eq(open_reader(), 0);
		cr_assert_leq(read_all(), 400);
		tp_reader_close(&reader);
	}
}

Test(trace_file, with_bytes_after_its_end_says_so)
{
	size_t n_bytes = make_small(40);

	memcpy(bytes + n_bytes, bytes, n_bytes);
	put_bytes(bytes, 2 * n_bytes);
	cr_assert_eq(open_reader(), 0);
	cr_assert_eq(read_all(), 80);
	cr_assert_eq(n_complaints, 1);
	cr_assert_eq(reader.cut_bytes, n_bytes);
	cr_assert_eq(complaint_offset, n_bytes);
	tp_reader_close(&reader);
}

Test(trace_file, refuses_a_writer_without_memory)
{
	struct tp_arena small;

	for (size_t cap = 4096; cap < 4 << 20; cap *= 2) {
		cr_assert_eq(tp_arena_init(&small, cap), 0);
		cr_assert_eq(tp_writer_init(&writer, &small, N_IDS, find_string, NULL),
			     -ENOMEM);
		tp_arena_fini(&small);
	}
}
