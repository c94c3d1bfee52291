/* SPDX-License-Identifier: Apache-2.0 */
/* trace_damage.c - damage to a trace file costs only what it hit, and is said */
#include "tests/unit/synth_events.h"
#include "tests/unit/trace_file_rig.h"

TestSuite(trace_damage, .init = set_up, .fini = tear_down);

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

Test(trace_damage, cut_at_any_byte_gives_what_is_whole_before_it, .timeout = 60)
{
	enum { N = 40 };
	size_t n_bytes = make_small(N), ends[32];
	uint32_t events[32], n_ends = 0;

	/* After how many bytes each block is whole, and how many events there are by then.
	 */
	cr_assert_eq(open_reader(), 0);
	for (uint32_t i = 0, sum = 0; i < reader.n_blocks; i++) {
		const struct tp_block_head *block = &reader.block[i].head;

		sum += tp_reader_has_events(block) ? block->n_items : 0;
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

Test(trace_damage, with_any_bit_of_its_head_flipped_is_refused_with_a_reason)
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

Test(trace_damage, with_any_bit_of_a_block_flipped_loses_that_block_only, .timeout = 120)
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

Test(trace_damage, that_is_something_else_is_called_by_its_name)
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
	    {"TPTPRNG1\0\0\0\0", 12, "buffer file"},
	    {"#trainprof-ledger 1", 19, "step log"},
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

Test(trace_damage, of_another_major_version_is_refused_and_of_a_newer_minor_one_read)
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

Test(trace_damage, with_unknown_blocks_and_kinds_of_records_keeps_the_rest)
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

Test(trace_damage, with_malformed_names_gives_those_before)
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

Test(trace_damage, with_more_events_in_a_block_than_may_be_loses_that_block)
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

Test(trace_damage, of_noise_is_read_to_the_end_without_harm, .timeout = 60)
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

Test(trace_damage, with_bytes_after_its_end_says_so)
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
