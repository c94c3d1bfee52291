/* SPDX-License-Identifier: Apache-2.0 */
/* fuse.c and open.c: files in, all events out, once and in order. */
#include "runtime/trace/reader.h"
#include "tests/unit/merge_rig.h"

#include <criterion/redirect.h>
#include <fcntl.h>
#include <sys/stat.h>

enum { MANY = 60000 };

struct seen {
	int64_t begin_ns, end_ns;
	uint64_t arg;
	int32_t rank;
	uint32_t window, tid;
	uint8_t kind;
	char name[32];
};

static struct seen seen[4 * MANY];
static uint32_t n_seen;

static void note(void *ctx, const struct tp_event *event)
{
	struct seen *s = &seen[n_seen++];

	cr_assert_leq(n_seen, 4 * MANY);
	s->begin_ns = event->begin_ns;
	s->end_ns = event->end_ns;
	s->arg = event->arg;
	s->rank = event->proc->rank;
	s->window = event->window;
	s->tid = event->thread->tid;
	s->kind = event->kind;
	snprintf(s->name, sizeof(s->name), "%s", event->name->bytes);
}

static void expect_order(void)
{
	for (uint32_t i = 1; i < n_seen; i++) {
		const struct seen *a = &seen[i - 1], *b = &seen[i];

		cr_assert_leq(a->begin_ns, b->begin_ns, "event %u", i);
		if (a->begin_ns == b->begin_ns)
			cr_assert_geq(a->end_ns, b->end_ns, "a parent comes before its child: %u", i);
	}
}

static struct tp_run *fuse(const char *ranks, const char *windows, const char *steps)
{
	struct tp_run *run = rig_open(ranks, windows, steps);

	n_seen = 0;
	if (run)
		cr_assert_eq(tp_fuse_events(run, note, NULL), 0);
	expect_order();
	return run;
}

TestSuite(fuse, .init = rig_begin, .fini = rig_end);

/* Random spans of all lengths, LONG ones among them, over several files and windows. */
static uint64_t write_random(uint32_t n_files, uint32_t n, uint64_t *sum)
{
	uint64_t total = 0;

	srand(7);
	for (uint32_t f = 0; f < n_files; f++) {
		char name[32];
		uint64_t now = 1000000 + (uint64_t)(rand() % 5000);

		snprintf(name, sizeof(name), "rank%u.tpt", f);
		rig_file(name, (int32_t)f, 0);
		for (uint32_t i = 0; i < n; i++) {
			/* Recorded at its end; one in a thousand is long, some are seconds. */
			uint64_t len = rand() % 1000 ? (uint64_t)(rand() % 2000)
						     : (uint64_t)(rand() % 50) * 1000000;
			uint64_t begin = now > len ? now - len : 0;

			rig_put((struct tp_rec){.time = begin * rig.rate, .kind = TP_REC_OP,
						.name = rig_op("aten::add"), .link = TP_NO_SEQ,
						.arg = (uint64_t)(f * n + i) << 32}, len * rig.rate, 0);
			*sum += (uint64_t)(f * n + i) << 32;
			total++;
			now += (uint64_t)(rand() % 300);
			if (i % 9999 == 0)
				rig_anchor(now);
		}
		rig_close(now);
	}
	return total;
}

Test(fuse, every_event_comes_once_and_in_order)
{
	uint64_t want_sum = 0, sum = 0, want = write_random(3, MANY, &want_sum);
	struct tp_run *run = fuse(NULL, NULL, NULL);

	cr_assert_not_null(run);
	cr_assert_eq(n_seen, want);
	for (uint32_t i = 0; i < n_seen; i++)
		sum += seen[i].arg;
	cr_assert_eq(sum, want_sum);
	cr_assert_eq(run->n_issues, 0);
	cr_assert_eq(run->n_procs, 3);
	cr_assert_eq(seen[0].begin_ns, 0, "time 0 is the earliest event");
	tp_run_free(run);
}

Test(fuse, parents_come_before_children_that_begin_in_the_same_nanosecond)
{
	/* Three ticks are less than a nanosecond apart. */
	rig.rate = 4;
	rig_file("a.tpt", 0, 0);
	rig_put((struct tp_rec){.time = 4002, .kind = TP_REC_OP, .name = rig_op("leaf"),
				.link = TP_NO_SEQ}, 4000, 0);
	rig_put((struct tp_rec){.time = 4001, .kind = TP_REC_OP, .name = rig_op("middle"),
				.link = TP_NO_SEQ}, 8000, 0);
	rig_put((struct tp_rec){.time = 4000, .kind = TP_REC_RANGE, .name = rig_text("outer"),
				.link = TP_NO_SEQ}, 8002, 0);
	rig_put((struct tp_rec){.time = 4000, .kind = TP_REC_STEP, .name = rig_text("step")}, 8002,
		0);
	rig_put((struct tp_rec){.time = 4003, .kind = TP_REC_ALLOC, .link = TP_DEVICE_CPU}, 64, 0);
	/* A span of 20 ms that begins with them lies in another block. */
	rig_put((struct tp_rec){.time = 4000, .kind = TP_REC_RANGE, .name = rig_text("long"),
				.link = TP_NO_SEQ}, 80000000, 0);
	rig_close(1000000000);
	tp_run_free(fuse(NULL, NULL, NULL));
	cr_assert_eq(n_seen, 6);
	cr_assert_str_eq(seen[0].name, "long");
	cr_assert_str_eq(seen[1].name, "step");
	cr_assert_str_eq(seen[2].name, "outer");
	cr_assert_str_eq(seen[3].name, "middle");
	cr_assert_str_eq(seen[4].name, "leaf");
	cr_assert_eq(seen[5].kind, TP_REC_ALLOC);
	rig.rate = 1;
}

Test(fuse, of_two_equal_spans_the_one_recorded_later_is_the_parent)
{
	rig_file("a.tpt", 0, 0);
	rig_span(TP_REC_OP, rig_op("inner"), 1000, 2000);
	rig_span(TP_REC_OP, rig_op("outer"), 1000, 2000);
	rig_close(5000);
	tp_run_free(fuse(NULL, NULL, NULL));
	cr_assert_str_eq(seen[0].name, "outer");
	cr_assert_str_eq(seen[1].name, "inner");
}

Test(fuse, processes_of_one_host_share_their_clock_to_the_nanosecond)
{
	/* Composer's merge moved ranks of one host by 159 us against each other. */
	for (int32_t rank = 0; rank < 2; rank++) {
		char name[16];

		snprintf(name, sizeof(name), "r%d.tpt", rank);
		/* What a clock step between their starts would do to REALTIME. */
		rig.real_minus_mono = 1790000000000000000ll + rank * 159000;
		rig_file(name, rank, 0);
		rig_span(TP_REC_OP, rig_op("aten::add"), 5000000, 6000000);
		rig_close(9000000);
	}
	struct tp_run *run = fuse(NULL, NULL, NULL);

	cr_assert_eq(n_seen, 2);
	cr_assert_eq(seen[0].begin_ns, seen[1].begin_ns);
	cr_assert_leq(run->window[0].clock_error_ns, 50);
	cr_assert_geq(run->window[0].clock_error_ns, 0);
	tp_run_free(run);
	rig.real_minus_mono = 0;
}

Test(fuse, ranks_windows_and_steps_select)
{
	for (int32_t rank = 0; rank < 3; rank++) {
		for (uint32_t w = 0; w < 3; w++) {
			char name[32];

			snprintf(name, sizeof(name), "r%d.%u.tpt", rank, w);
			rig_file(name, rank, w);
			rig_span(TP_REC_OP, rig_op("aten::add"), 1000 * w + 100, 1000 * w + 200);
			rig_close(10000);
		}
	}
	static const struct {
		const char *ranks, *windows;
		uint32_t want;
	} cases[] = {
		{NULL, NULL, 9}, {"0", NULL, 3}, {"1-2", NULL, 6}, {"0,2", "1", 2},
		{NULL, "0,2", 6}, {"7", NULL, 0}, {"0-99", "0-99", 9},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		tp_run_free(fuse(cases[i].ranks, cases[i].windows, NULL));
		cr_assert_eq(n_seen, cases[i].want, "case %zu: %u", i, n_seen);
	}
}

Test(fuse, equal_strings_of_ranks_are_one_and_unknown_ids_are_counted)
{
	rig_file("a.tpt", 0, 0);
	rig_span(TP_REC_OP, rig_op("aten::add"), 1000, 2000);
	/* The writer has no such string. */
	rig_span(TP_REC_OP, RIG_STRINGS - 1, 3000, 4000);
	rig_close(5000);
	rig_file("b.tpt", 1, 0);
	rig_span(TP_REC_OP, rig_op("aten::mul"), 1500, 2000);
	rig_span(TP_REC_OP, rig_op("aten::add"), 1600, 1900);
	rig_close(5000);
	struct tp_run *run = fuse(NULL, NULL, NULL);

	cr_assert_eq(n_seen, 4);
	cr_assert_str_eq(seen[3].name, "");
	cr_assert_eq(run->n_distinct_strings, 3, "none, add, mul: %u", run->n_distinct_strings);
	cr_assert_gt(run->n_issues, 0);
	cr_assert(run->issue[run->n_issues - 1].is_loss);
	tp_run_free(run);
}

Test(fuse, a_slot_that_another_thread_takes_over_keeps_both_apart)
{
	struct tp_thread_entry second = {.slot = 0, .tid = 555, .name = "later"};

	rig_file("a.tpt", 0, 0);
	rig_span(TP_REC_OP, rig_op("first"), 1000, 2000);
	cr_assert_eq(tp_writer_flush(&rig.writer), 0);
	cr_assert_eq(tp_writer_threads(&rig.writer, &second, 1), 0);
	rig_span(TP_REC_OP, rig_op("second"), 3000, 4000);
	/* And one of a slot that nobody named. */
	rig_put((struct tp_rec){.time = 5000, .kind = TP_REC_OP, .name = rig_op("third"),
				.link = TP_NO_SEQ}, 10, 9);
	rig_close(6000);
	tp_run_free(fuse(NULL, NULL, NULL));
	cr_assert_eq(n_seen, 3);
	cr_assert_eq(seen[0].tid, 100);
	cr_assert_eq(seen[1].tid, 555);
	cr_assert_eq(seen[2].tid, 0);
}

Test(fuse, of_two_files_of_one_window_the_whole_one_is_read)
{
	char from[128], to[128];

	rig_file("a.tpt", 0, 0);
	rig_span(TP_REC_OP, rig_op("aten::add"), 1000, 2000);
	rig_span(TP_REC_OP, rig_op("aten::add"), 3000, 4000);
	rig_close(6000);
	rig_file("b.tpt", 0, 0);
	rig_span(TP_REC_OP, rig_op("aten::add"), 1000, 2000);
	cr_assert_eq(tp_writer_flush(&rig.writer), 0);
	tp_writer_abandon(&rig.writer);
	snprintf(from, sizeof(from), "%s/b.tpt.part", rig.folder);
	/* Both orders of names. */
	for (int i = 0; i < 2; i++) {
		struct tp_run *run = fuse(NULL, NULL, NULL);

		cr_assert_eq(n_seen, 2);
		cr_assert_eq(run->n_windows, 1);
		cr_assert(run->window[0].is_whole);
		cr_assert_eq(run->window[0].n_events, 2);
		cr_assert_eq(run->n_issues, 1);
		tp_run_free(run);
		snprintf(to, sizeof(to), "%s/0.tpt.part", rig.folder);
		rename(from, to);
	}
}

Test(fuse, a_file_cut_anywhere_gives_its_whole_blocks_or_a_message)
{
	char path[128], cut[128];
	static char bytes[1 << 16];
	ssize_t n;
	int fd;

	rig_file("a.tpt", 0, 0);
	for (uint32_t i = 0; i < 40; i++)
		rig_span(TP_REC_OP, rig_op("aten::add"), 1000 + 10 * i, 1005 + 10 * i);
	rig_close(6000);
	snprintf(path, sizeof(path), "%s/a.tpt", rig.folder);
	fd = open(path, O_RDONLY);
	n = read(fd, bytes, sizeof(bytes));
	close(fd);
	cr_assert_gt(n, 256);
	unlink(path);
	snprintf(cut, sizeof(cut), "%s/cut.tpt", rig.folder);
	cr_redirect_stderr();
	for (ssize_t k = 0; k < n; k++) {
		struct tp_run *run;

		fd = open(cut, O_CREAT | O_TRUNC | O_WRONLY, 0644);
		cr_assert_eq(write(fd, bytes, (size_t)k), k);
		close(fd);
		run = fuse(NULL, NULL, NULL);
		cr_assert(n_seen == 0 || n_seen == 40, "cut at %zd: %u events", k, n_seen);
		if (run)
			cr_assert_gt(run->n_issues, 0, "cut at %zd: nothing said", k);
		tp_run_free(run);
	}
}

/* Copies a file of blocks but for those at [from, to). */
static void copy_without(const char *name, uint32_t from, uint32_t to)
{
	static char bytes[1 << 16];
	char path[128];
	struct tp_reader reader;
	size_t n;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", rig.folder, name);
	cr_assert_eq(tp_reader_open(&reader, path, NULL, NULL), 0);
	file = fopen(path, "r");
	n = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	cr_assert(n < sizeof(bytes) && from < to && to <= reader.n_blocks);
	file = fopen(path, "w");
	fwrite(bytes, 1, reader.block[from].offset, file);
	if (to < reader.n_blocks)
		fwrite(bytes + reader.block[to].offset, 1, n - reader.block[to].offset, file);
	fclose(file);
	tp_reader_close(&reader);
}

Test(fuse, blocks_that_are_gone_are_a_loss)
{
	/* META, THREADS, STRINGS, EVENTS three times, anything the writer ends with, END. */
	static const struct {
		uint32_t from, to, want;
		const char *text;
	} cases[] = {
		{4, 5, 2, "1 of its blocks are missing"},
		{4, 6, 1, "2 of its blocks are missing"},
	};
	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		struct tp_run *run;
		bool is_said = false;

		rig_file("a.tpt", 0, 0);
		for (uint32_t i = 0; i < 3; i++) {
			rig_span(TP_REC_OP, rig_op("aten::add"), 1000 + 100 * i, 1050 + 100 * i);
			cr_assert_eq(tp_writer_flush(&rig.writer), 0);
		}
		rig_close(6000);
		run = fuse(NULL, NULL, NULL);
		cr_assert_eq(n_seen, 3);
		cr_assert_eq(run->n_issues, 0);
		tp_run_free(run);
		copy_without("a.tpt", cases[c].from, cases[c].to);
		run = fuse(NULL, NULL, NULL);
		cr_expect_eq(n_seen, cases[c].want, "case %zu: %u", c, n_seen);
		for (uint32_t i = 0; i < run->n_issues; i++)
			is_said |= run->issue[i].is_loss &&
				   strstr(run->issue[i].text, cases[c].text) != NULL;
		cr_expect(is_said, "case %zu: nothing said", c);
		tp_run_free(run);
	}
}

Test(fuse, one_flipped_bit_of_a_head_never_harms_the_rest)
{
	char path[128];
	static char bytes[1 << 16];
	ssize_t n;
	int fd;

	rig_file("b.tpt", 1, 0);
	rig_span(TP_REC_OP, rig_op("aten::mul"), 1500, 2000);
	rig_close(5000);
	rig_file("a.tpt", 0, 0);
	for (uint32_t i = 0; i < 40; i++)
		rig_span(TP_REC_OP, rig_op("aten::add"), 1000 + 10 * i, 1005 + 10 * i);
	rig_close(6000);
	snprintf(path, sizeof(path), "%s/a.tpt", rig.folder);
	fd = open(path, O_RDWR);
	n = read(fd, bytes, sizeof(bytes));
	cr_assert_gt(n, 384);
	cr_redirect_stderr();
	for (ssize_t bit = 0; bit < 384 * 8; bit++) {
		char changed = (char)(bytes[bit / 8] ^ 1 << bit % 8);
		struct tp_run *run;

		cr_assert_eq(pwrite(fd, &changed, 1, bit / 8), 1);
		run = fuse(NULL, NULL, NULL);
		cr_assert_not_null(run, "bit %zd", bit);
		cr_assert(n_seen == 1 || n_seen == 41, "bit %zd: %u events", bit, n_seen);
		cr_assert_gt(run->n_issues, 0, "bit %zd: nothing said", bit);
		tp_run_free(run);
		cr_assert_eq(pwrite(fd, &bytes[bit / 8], 1, bit / 8), 1);
	}
	close(fd);
}

Test(fuse, hosts_are_put_side_by_side_by_realtime_without_a_bound)
{
	rig.real_minus_mono = 1000000;
	rig_file("a.tpt", 0, 0);
	rig_span(TP_REC_OP, rig_op("aten::add"), 1000, 2000);
	rig_close(6000);
	/* Another boot: its MONOTONIC began elsewhere. */
	struct tp_file_head head = {.boot_id = {3, 4}, .run_id = 99, .pid = 9, .rank = 1,
				    .clock_source = TP_CLOCK_MONOTONIC};
	char path[128];

	rig.real_minus_mono = 500000;
	rig_anchor(500000);
	snprintf(path, sizeof(path), "%s/b.tpt", rig.folder);
	cr_assert_eq(tp_writer_open(&rig.writer, path, &head, "", 0), 0);
	rig_span(TP_REC_OP, rig_op("aten::mul"), 502000, 503000);
	rig_close(600000);
	struct tp_run *run = fuse(NULL, NULL, NULL);

	cr_assert_eq(n_seen, 2);
	cr_assert_eq(seen[1].begin_ns - seen[0].begin_ns, 1000);
	cr_assert_lt(run->window[0].clock_error_ns, 0);
	tp_run_free(run);
	rig.real_minus_mono = 0;
}
