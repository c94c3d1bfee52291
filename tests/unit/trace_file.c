/* SPDX-License-Identifier: Apache-2.0 */
/* trace_file.c - what the writer wrote the reader reads, and what did not fit is counted */
#include <signal.h>
#include <sys/resource.h>

#include "tests/unit/synth_events.h"
#include "tests/unit/trace_file_rig.h"

TestSuite(trace_file, .init = set_up, .fini = tear_down);

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

/* What of the events was read already. */
struct progress {
	struct strings *strings;
	uint32_t at, at_long;
};

static void expect_text(uint32_t i, const char *key, const char *want)
{
	const uint8_t *raw;
	uint32_t n_raw;
	char value[32];

	cr_assert_eq(tp_reader_payload(&reader, i, &raw, &n_raw), 0);
	cr_assert_eq(tp_reader_text_value((const char *)raw, n_raw, key, value, sizeof(value)),
		     want != NULL, "%s", key);
	if (want)
		cr_assert_str_eq(value, want, "%s", key);
}

/* Block i, of events. */
static void expect_events(uint32_t i, struct progress *p)
{
	const struct tp_block_head *block = &reader.block[i].head;
	bool is_long = block->type == TP_BLOCK_LONG;
	uint32_t *next = is_long ? &p->at_long : &p->at;

	cr_assert_eq(tp_reader_events(&reader, i, back, back_thread), 0);
	cr_assert_eq(block->dropped, 5);
	cr_assert_eq(block->anchor_real_ns, 3);
	for (uint32_t k = 0; k < block->n_items; k++) {
		while ((tp_rec_len(&rec[*next]) > TP_LONG_NS) != is_long)
			++*next;
		cr_assert_eq(memcmp(&back[k], &rec[*next], sizeof(*back)), 0);
		cr_assert_eq(back_thread[k], *next / 1000 % 3);
		cr_assert(back[k].time >= block->first_time && back[k].time <= block->last_time &&
			  back[k].time + tp_rec_len(&back[k]) <= block->end_time);
		/* Names come before the first event that uses them. */
		cr_assert(back[k].name >= 999 || p->strings->seen[back[k].name]);
		++*next;
	}
}

static void expect_block(uint32_t i, const struct tp_thread_entry entry[2], struct progress *p)
{
	const struct tp_block_head *block = &reader.block[i].head;
	const uint8_t *raw;
	uint32_t n_raw;
	char n_blocks[16];

	cr_assert_eq(block->sequence, i);
	switch (block->type) {
	case TP_BLOCK_META:
		expect_text(i, "x", "a=b");
		expect_text(i, "hos", NULL);
		break;
	case TP_BLOCK_THREADS:
		cr_assert_eq(block->n_items, 2);
		cr_assert_eq(tp_reader_payload(&reader, i, &raw, &n_raw), 0);
		cr_assert_eq(n_raw, 2 * sizeof(*entry));
		cr_assert_eq(memcmp(raw, entry, n_raw), 0);
		break;
	case TP_BLOCK_STRINGS:
		cr_assert_eq(tp_reader_strings(&reader, i, note_string, p->strings), 0);
		break;
	case TP_BLOCK_EVENTS:
	case TP_BLOCK_LONG:
	case TP_BLOCK_HEAP:
		expect_events(i, p);
		break;
	case TP_BLOCK_END:
		expect_text(i, "events", "20000");
		expect_text(i, "dropped", "5");
		expect_text(i, "why", "done");
		snprintf(n_blocks, sizeof(n_blocks), "%u", reader.n_blocks);
		expect_text(i, "blocks", n_blocks);
		break;
	}
}

Test(trace_file, comes_back_as_it_was_written)
{
	static struct strings strings;
	const struct tp_thread_entry entry[2] = {
	    {.slot = 0, .tid = 11, .flags = 1, .name = "main"},
	    {.slot = 1, .tid = 12, .name = "pt_data_worker."}};
	struct progress progress = {.strings = &strings};
	uint32_t n = make_events();
	bool has_name[N_IDS] = {false};

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
	for (uint32_t i = 0; i < reader.n_blocks; i++)
		expect_block(i, entry, &progress);
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
	cr_assert_eq(writer.file.fd, -1);
	memset(bytes, 'a', 600);
	bytes[600] = '\0';
	cr_assert_eq(tp_writer_open(&writer, (char *)bytes, &head, "", 0), -ENAMETOOLONG);
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
