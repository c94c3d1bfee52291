/* SPDX-License-Identifier: Apache-2.0 */
/* A session driven by hand: which steps are in which trace, and nothing else than they. */
#include <criterion/criterion.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "tests/unit/session_rig.h"

TestSuite(session, .init = rig_set_up, .fini = rig_tear_down, .timeout = 60);

enum { OPS = 10 };

/* `n` steps; in step s, OPS operators called "s<number>" of the run. */
static void run_steps(uint32_t first, uint32_t n)
{
	char name[16];

	for (uint32_t s = first; s < first + n; s++) {
		snprintf(name, sizeof(name), "s%u", s);
		for (int i = 0; i < OPS && tp_session_is_armed(); i++)
			rig_op(name, 0, s);
		rig_step();
	}
}

/* Which steps have their operators in the trace, e.g. "3 4 5"; a wrong number of them: "3?". */
static const char *steps_in(const struct rig_trace *trace)
{
	static char text[4096];
	char name[16];

	text[0] = '\0';
	for (uint32_t s = 0; s < 200; s++) {
		uint32_t n;

		snprintf(name, sizeof(name), "s%u", s);
		n = rig_count(trace, name, TP_REC_OP, 0);
		if (n)
			sprintf(text + strlen(text), "%s%u%s", text[0] ? " " : "", s, n == OPS ? "" : "?");
	}
	return text;
}

Test(session, records_the_steps_of_the_schedule_and_no_other)
{
	static const struct {
		const char *schedule;
		uint32_t n_steps;
		const char *windows[5];
	} cases[] = {
		{"wait=2,warmup=1,active=3,repeat=2", 20, {"3 4 5", "9 10 11"}},
		{"skip_first=3,wait=1,warmup=0,active=1,repeat=2", 20, {"4", "6"}},
		{"wait=0,warmup=0,active=2,repeat=3", 20, {"0 1", "2 3", "4 5"}},
		{"wait=0,warmup=0,active=1,repeat=4", 5, {"0", "1", "2", "3"}},
		{"wait=0,warmup=1,active=1,repeat=0", 6, {"1", "3", "5"}},
		{"wait=1,warmup=1,active=5,repeat=1", 4, {"2 3"}},
		{"always", 4, {"0 1 2 3"}},
		{"wait=5,warmup=1,active=4,repeat=1", 5, {NULL}},
	};

	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		int status;
		pid_t pid = fork();

		if (pid == 0) {
			bool is_good = true;

			if (rig_open(cases[c].schedule))
				_exit(2);
			run_steps(0, cases[c].n_steps);
			tp_session_close("exit");
			for (uint32_t w = 0; w < 5; w++) {
				const struct rig_trace *trace = rig_window(w);
				const char *want = cases[c].windows[w];

				is_good &= trace->is_there == (want != NULL);
				is_good &= !want || trace->is_whole;
				is_good &= !want || !strcmp(steps_in(trace), want);
				if (!is_good)
					fprintf(stderr, "window %u: '%s'\n", w, steps_in(trace));
			}
			_exit(!is_good);
		}
		waitpid(pid, &status, 0);
		cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s", cases[c].schedule);
		rig_remove_dir();
		rig_make_dir();
		snprintf(rig_config.dir, sizeof(rig_config.dir), "%s/run", rig_dir);
	}
}

Test(session, arms_from_warm_up_to_the_end_of_the_window)
{
	static const bool armed[] = {false, false, true, true, true, false, false, true};

	cr_assert_eq(rig_open("wait=2,warmup=1,active=2,repeat=2"), 0);
	cr_expect(!tp_session_is_armed());
	for (uint32_t s = 0; s < 8; s++) {
		cr_expect_eq(tp_session_is_armed(), armed[s], "in step %u", s);
		run_steps(s, 1);
	}
	tp_session_close("exit");
	cr_expect_not_null(strstr(rig_told, "open "));
	cr_expect_not_null(strstr(rig_told, "warm "));
	cr_expect_not_null(strstr(rig_told, "arm disarm arm "), "%s", rig_told);
	cr_expect_not_null(strstr(rig_told, "close "));
	cr_expect(!tp_session_is_armed());
}

Test(session, does_not_disarm_between_windows_that_follow_each_other)
{
	cr_assert_eq(rig_open("wait=0,warmup=0,active=1,repeat=3"), 0);
	run_steps(0, 4);
	tp_session_close("exit");
	cr_expect_null(strstr(rig_told, "disarm arm"), "%s", rig_told);
}

Test(session, writes_a_step_record_for_every_active_step)
{
	const struct rig_trace *trace;
	uint32_t n = 0;

	cr_assert_eq(rig_open("wait=1,warmup=1,active=3,repeat=1"), 0);
	tp_session_epoch(tp_clock_now());
	run_steps(0, 8);
	tp_session_close("exit");
	trace = rig_window(0);
	cr_expect_eq(rig_count(trace, "step", TP_REC_STEP, 0), 3);
	cr_expect_eq(rig_count(trace, NULL, 0, TP_F_EARLY), 0);
	for (uint32_t i = 0; i < trace->n; i++) {
		if (trace->rec[i].kind != TP_REC_STEP)
			continue;
		cr_expect_eq(trace->rec[i].link, 2 + n);
		cr_expect_eq(trace->rec[i].arg, 2 + n);
		n++;
	}
	cr_expect_eq(rig_total(trace, "steps"), 3);
	cr_expect_eq(rig_total(trace, "first_step"), 2);
	cr_expect_eq(rig_total(trace, "events"), 3 * OPS + 3);
	cr_expect_eq(rig_total(trace, "lost"), 0);
	cr_expect_eq(rig_total(trace, "dropped"), 0);
	cr_expect_eq(rig_total(trace, "late"), 0);
	cr_expect_lt(rig_total(trace, "stall_ns"), 100000000);
	cr_expect_neq(rig_total(trace, "drain_cpu_ns"), UINT64_MAX);
	cr_expect_not_null(strstr(trace->totals, "rig=was here\n"));
	cr_expect_not_null(strstr(trace->meta, "program=file:/x/train.py\n"));
	cr_expect_eq(trace->slot[0].tid, (uint32_t)getpid());
	cr_expect_eq(trace->slot[0].flags, 1);
}

/* ---- epochs ---- */

Test(session, starts_the_schedule_over_in_each_epoch)
{
	struct tp_ledger_row row[64];

	cr_assert_eq(rig_open("wait=1,warmup=0,active=2,repeat=1"), 0);
	for (uint32_t e = 0; e < 3; e++) {
		tp_session_epoch(tp_clock_now());
		run_steps(e * 5, 5);
	}
	tp_session_close("exit");
	cr_expect_str_eq(steps_in(rig_window(0)), "1 2");
	cr_expect_str_eq(steps_in(rig_window(1)), "6 7");
	cr_expect_str_eq(steps_in(rig_window(2)), "11 12");
	cr_expect_eq(rig_ledger(row, 64), 15);
	cr_expect_eq(row[7].epoch, 1);
	cr_expect_eq(row[7].in_epoch, 2);
	cr_expect_eq(row[7].phase, TP_PHASE_ACTIVE);
	cr_expect_eq(row[8].phase, TP_PHASE_DONE);
	cr_expect_eq(row[14].index, 14);
}

Test(session, ignores_epochs_with_per_run)
{
	struct tp_ledger_row row[64];

	cr_assert_eq(rig_open("wait=3,warmup=0,active=4,repeat=1,per=run"), 0);
	for (uint32_t e = 0; e < 2; e++) {
		tp_session_epoch(tp_clock_now());
		run_steps(e * 5, 5);
	}
	tp_session_close("exit");
	cr_expect_str_eq(steps_in(rig_window(0)), "3 4 5 6");
	cr_expect(!rig_window(1)->is_there);
	cr_expect_eq(rig_ledger(row, 64), 10);
	cr_expect_eq(row[6].epoch, 1);
	cr_expect_eq(row[6].in_epoch, 1);
}

Test(session, ends_a_window_that_an_epoch_cuts_short)
{
	cr_assert_eq(rig_open("wait=1,warmup=0,active=10,repeat=1"), 0);
	for (uint32_t e = 0; e < 2; e++) {
		tp_session_epoch(tp_clock_now());
		run_steps(e * 4, 4);
	}
	tp_session_close("exit");
	cr_expect_str_eq(steps_in(rig_window(0)), "1 2 3");
	cr_expect_str_eq(steps_in(rig_window(1)), "5 6 7");
}

Test(session, counts_the_gap_before_an_epoch_to_no_step)
{
	struct tp_ledger_row row[8];

	cr_assert_eq(rig_open("wait=9,warmup=0,active=1"), 0);
	usleep(30000);
	tp_session_epoch(tp_clock_now());
	run_steps(0, 1);
	usleep(30000);	/* evaluation */
	tp_session_epoch(tp_clock_now());
	run_steps(1, 1);
	tp_session_close("exit");
	cr_expect_eq(rig_ledger(row, 8), 2);
	cr_expect_lt(row[0].dur_ns, 25000000);
	cr_expect_lt(row[1].dur_ns, 25000000);
	cr_expect_geq(row[1].begin_ns, row[0].begin_ns + row[0].dur_ns + 25000000);
}

Test(session, takes_an_epoch_without_a_step_for_none)
{
	struct tp_ledger_row row[8];

	cr_assert_eq(rig_open("wait=1,warmup=0,active=1,repeat=1"), 0);
	for (int i = 0; i < 3; i++)
		tp_session_epoch(tp_clock_now());
	run_steps(0, 3);
	tp_session_epoch(tp_clock_now());
	tp_session_epoch(tp_clock_now());
	run_steps(3, 3);
	tp_session_close("exit");
	cr_expect_eq(rig_ledger(row, 8), 6);
	cr_expect_eq(row[0].epoch, 0);
	cr_expect_eq(row[3].epoch, 1);
	cr_expect_str_eq(steps_in(rig_window(1)), "4");
}

Test(session, throws_the_time_before_the_first_epoch_away_when_the_window_is_open_at_once)
{
	cr_assert_eq(rig_open("wait=0,warmup=0,active=2,repeat=1"), 0);
	cr_expect(tp_session_is_armed());
	rig_op("import", 0, 0);
	tp_session_epoch(tp_clock_now());
	run_steps(0, 3);
	tp_session_close("exit");
	cr_expect_str_eq(steps_in(rig_window(0)), "0 1");
	cr_expect_eq(rig_count(rig_window(0), "import", 0, 0), 0);
}

Test(session, restarts_the_schedule_when_a_better_source_of_steps_comes_up)
{
	struct tp_ledger_row row[16];

	cr_assert_eq(rig_open("wait=2,warmup=0,active=2,repeat=1,per=run"), 0);
	run_steps(0, 3);	/* the window has begun with what were no steps */
	tp_session_restart(tp_clock_now());
	run_steps(3, 6);
	tp_session_close("exit");
	cr_expect_str_eq(steps_in(rig_window(0)), "2");
	cr_expect_str_eq(steps_in(rig_window(1)), "5 6");
	cr_expect_eq(rig_ledger(row, 16), 9);
	cr_expect_eq(row[8].index, 8);
}

/* ---- the edges of a window ---- */

Test(session, marks_spans_that_cross_the_edges)
{
	const struct rig_trace *trace;
	uint64_t before, inside, depth;

	cr_assert_eq(rig_open("wait=0,warmup=1,active=1,repeat=1"), 0);
	before = tp_clock_now();
	rig_op("warm-up", 0, 0);
	rig_step();
	rig_op("early", before, 0);
	rig_op("whole", 0, 0);
	inside = tp_clock_now();
	depth = tp_ring_span_begin(TP_REC_RANGE, tp_intern_text("loop"), before);
	tp_ring_span_begin(TP_REC_OP, tp_intern(TP_STRING_OP, "stuck", 6), inside);
	rig_step();
	rig_op("late", 0, 0);
	rig_op("crossing", inside, 0);
	usleep(300000);
	tp_ring_span_end((uint32_t)depth);
	tp_session_close("exit");

	trace = rig_window(0);
	cr_expect_eq(rig_count(trace, "warm-up", 0, 0), 0);
	cr_expect_eq(rig_count(trace, "early", TP_REC_OP, TP_F_EARLY), 1);
	cr_expect_eq(rig_count(trace, "whole", TP_REC_OP, 0), 1);
	cr_expect_eq(rig_count(trace, "whole", TP_REC_OP, TP_F_EARLY), 0);
	cr_expect_eq(rig_count(trace, "late", 0, 0), 0);
	cr_expect_eq(rig_count(trace, "crossing", TP_REC_OP, TP_F_OPEN), 1);
	cr_expect_eq(rig_count(trace, "stuck", TP_REC_OP, TP_F_OPEN), 1);
	cr_expect_eq(rig_count(trace, "loop", TP_REC_RANGE, TP_F_OPEN | TP_F_EARLY), 1);
	for (uint32_t i = 0; i < trace->n; i++)
		if (trace->rec[i].flags & TP_F_OPEN)
			cr_expect_eq(trace->rec[i].time + tp_rec_len(&trace->rec[i]),
				     rig_total(trace, "end"));
	cr_expect_eq(trace->n, 6);
}

Test(session, splits_windows_that_follow_each_other_exactly)
{
	enum { N = 150 };

	rig_config.buffer_bytes = 32 << 20;
	cr_assert_eq(rig_open("wait=0,warmup=0,active=1,repeat=0"), 0);
	tp_session_epoch(tp_clock_now());
	for (uint32_t s = 0; s < N; s++) {
		run_steps(s, 1);
		usleep(5000);
	}
	tp_session_close("exit");
	for (uint32_t s = 0; s < N; s++) {
		const struct rig_trace *trace = rig_window(s);
		char want[16];

		snprintf(want, sizeof(want), "%u", s);
		cr_expect_str_eq(steps_in(trace), want);
		cr_expect_eq(rig_count(trace, NULL, TP_REC_STEP, 0), 1);
		cr_expect_eq(rig_total(trace, "steps"), 1);
	}
}

Test(session, says_so_when_windows_come_faster_than_files)
{
	uint32_t n_windows = 0, n_lost = 0;

	cr_assert_eq(rig_open("wait=0,warmup=0,active=1,repeat=0"), 0);
	for (uint32_t s = 0; s < 100; s++)
		rig_step();
	tp_session_close("exit");
	for (uint32_t w = 0; w < 100; w++) {
		const struct rig_trace *trace = rig_window(w);

		if (!trace->is_there)
			break;
		n_windows++;
		n_lost = (uint32_t)rig_total(trace, "windows_lost");
	}
	cr_expect_geq(n_windows, TP_RING_WINDOWS);
	cr_expect_eq(n_windows + n_lost, 101, "%u %u", n_windows, n_lost);
}

/* ---- volume ---- */

static void *record_many(void *arg)
{
	for (uint32_t i = 0; i < 100000; i++)
		while (!rig_op("busy", 0, i))
			usleep(100);
	return NULL;
}

Test(session, writes_while_the_window_goes_on_and_loses_nothing)
{
	const struct rig_trace *trace;
	pthread_t thread[3];
	uint64_t dropped;

	rig_config.buffer_bytes = 2 << 20;	/* many times less than what is recorded */
	cr_assert_eq(rig_open("wait=0,warmup=0,active=1,repeat=1"), 0);
	for (int i = 0; i < 3; i++)
		pthread_create(&thread[i], NULL, record_many, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	rig_step();
	dropped = tp_ring_dropped();
	tp_session_close("exit");
	trace = rig_window(0);
	cr_expect(trace->is_whole);
	cr_expect_eq(rig_count(trace, "busy", 0, 0), 300000);
	cr_expect_eq(rig_total(trace, "dropped"), dropped);
	cr_expect_eq(trace->n_bad_blocks, 0);
}

/* ---- the ledger ---- */

Test(session, keeps_a_row_of_every_step)
{
	static struct tp_ledger_row row[6000];
	const struct tp_step_facts facts = {
		.batches = 4, .source = TP_STEP_ZERO_GRAD, .flags = TP_F_SKIPPED,
	};

	cr_assert_eq(rig_open("wait=1000000,warmup=0,active=1"), 0);
	tp_session_live(1000);
	tp_session_live(5000);
	tp_session_live(-4500);
	tp_session_device_live(70000);
	tp_session_device_live(60000);
	tp_session_step(tp_clock_now(), &facts);
	tp_session_live(500);
	tp_session_step(tp_clock_now(), &facts);
	for (int i = 2; i < 5000; i++) {
		tp_session_step(tp_clock_now(), &facts);
		if (i % 300 == 0)
			usleep(20000);
	}
	tp_session_close("exit");
	cr_assert_eq(rig_ledger(row, 6000), 5000);
	cr_expect_eq(row[0].live_bytes, 1500);
	cr_expect_eq(row[0].peak_bytes, 6000);
	cr_expect_eq(row[0].device_live, 60000);
	cr_expect_eq(row[0].device_peak, 70000);
	cr_expect_eq(row[1].live_bytes, 2000);
	cr_expect_eq(row[1].peak_bytes, 2000);
	cr_expect_eq(row[1].device_peak, 60000);
	for (uint32_t i = 0; i < 5000; i++) {
		cr_expect_eq(row[i].index, i);
		cr_expect_eq(row[i].batches, 4);
		cr_expect_eq(row[i].source, TP_STEP_ZERO_GRAD);
		cr_expect_eq(row[i].flags, TP_F_SKIPPED);
	}
}

Test(session, leaves_a_ledger_without_rows_when_no_step_was_seen)
{
	struct tp_ledger_row row[4];
	char path[600], command[700];

	cr_assert_eq(rig_open("wait=5,warmup=1,active=4"), 0);
	tp_session_close("exit");
	cr_expect_eq(rig_ledger(row, 4), 0);
	snprintf(path, sizeof(path), "%s/rank0.steps", rig_config.dir);
	cr_expect_eq(access(path, F_OK), 0);
	snprintf(command, sizeof(command), "test $(ls -A '%s' | wc -l) = 1", rig_config.dir);
	cr_expect_eq(system(command), 0, "nothing else");
}

/* ---- trouble ---- */

Test(session, opens_once_and_closes_once)
{
	cr_assert_eq(rig_open("always"), 0);
	cr_expect_eq(rig_open("always"), -EALREADY);
	run_steps(0, 2);
	tp_session_close("exit");
	tp_session_close("_exit");
	rig_step();
	tp_session_epoch(tp_clock_now());
	cr_expect(!tp_session_is_open());
	cr_expect_str_eq(steps_in(rig_window(0)), "0 1");
}

Test(session, does_nothing_when_it_is_off)
{
	rig_config.is_off = true;
	cr_expect_eq(tp_session_open(&rig_config, rig_probes, ""), -ECANCELED);
	rig_step();
	tp_session_close("exit");
	cr_expect_neq(access(rig_config.dir, F_OK), 0);
	cr_expect_str_empty(rig_told);
}

Test(session, records_nothing_where_it_cannot_make_the_folder)
{
	snprintf(rig_config.dir, sizeof(rig_config.dir), "/proc/none/run");
	cr_expect_lt(rig_open("always"), 0);
	cr_expect(!tp_session_is_armed());
	rig_step();
	tp_session_close("exit");
}

Test(session, makes_the_folder_anew_for_the_next_window_when_it_was_removed)
{
	static struct tp_ledger_row row[64];
	char command[600];

	cr_assert_eq(rig_open("wait=1,warmup=0,active=2,repeat=2"), 0);
	run_steps(0, 2);
	usleep(250000);	/* the first window's file is open */
	snprintf(command, sizeof(command), "rm -rf '%s'", rig_config.dir);
	cr_assert_eq(system(command), 0);
	run_steps(2, 2);
	usleep(100000);
	run_steps(4, 3);
	tp_session_close("exit");
	cr_expect(!rig_window(0)->is_there);
	cr_expect_str_eq(steps_in(rig_window(1)), "4 5");
	cr_expect_eq(rig_ledger(row, 64), 7, "rows that the ring still had are there, too");
}

/* The run folder on a file system of that size; false: this machine does not let us. */
static bool mount_run(const char *size)
{
	char options[32];

	snprintf(options, sizeof(options), "size=%s", size);
	mkdir(rig_config.dir, 0755);
	return unshare(CLONE_NEWNS) == 0 &&
	       mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("tmpfs", rig_config.dir, "tmpfs", 0, options) == 0;
}

Test(session, survives_a_full_disk_and_counts_what_it_cost)
{
	static struct tp_ledger_row row[64];
	const struct rig_trace *trace;
	char filler[600];

	if (!mount_run("256k"))
		cr_skip_test("needs the right to mount");
	rig_config.buffer_bytes = 16 << 20;
	cr_assert_eq(rig_open("wait=0,warmup=0,active=1,repeat=2"), 0);
	tp_session_epoch(tp_clock_now());
	/* Many different records, so that they take more than there is. */
	for (uint32_t i = 0; i < 150000; i++) {
		while (!rig_op("n", tp_clock_now() - i * 7919 % 100000, i * 2654435761u))
			usleep(1000);
	}
	rig_step();
	usleep(100000);
	/* The next window has room again. */
	snprintf(filler, sizeof(filler), "rm -f '%s'/rank0.0*", rig_config.dir);
	cr_expect_eq(system(filler), 0);
	for (uint32_t i = 0; i < OPS; i++)
		rig_op("s1", 0, 1);
	rig_step();
	tp_session_close("exit");
	trace = rig_window(1);
	cr_expect(trace->is_whole);
	cr_expect_str_eq(steps_in(trace), "1");
	cr_expect_eq(rig_total(trace, "lost"), 0);
	cr_expect_eq(rig_ledger(row, 64), 2, "rows waited until there was room");
	umount2(rig_config.dir, MNT_DETACH);
}

Test(session, leaves_a_readable_file_when_the_disk_is_full)
{
	const struct rig_trace *trace;
	char path[600];
	uint64_t n;

	if (!mount_run("256k"))
		cr_skip_test("needs the right to mount");
	rig_config.buffer_bytes = 16 << 20;
	cr_assert_eq(rig_open("wait=0,warmup=0,active=1,repeat=1"), 0);
	for (uint32_t i = 0; i < 200000; i++)
		while (!rig_op("n", tp_clock_now() - i * 7919 % 100000, i * 2654435761u))
			usleep(1000);
	rig_step();
	tp_session_close("exit");
	trace = rig_window(0);
	if (!trace->is_there) {
		snprintf(path, sizeof(path), "%s/rank0.0.tpt.part", rig_config.dir);
		trace = rig_read_trace(path, UINT64_MAX);
	}
	cr_assert(trace->is_there);
	cr_expect_eq(trace->n_bad_blocks, 0);
	n = rig_count(trace, "n", 0, 0);
	cr_expect_gt(n, 10000);
	cr_expect_lt(n, 200000);
	if (trace->is_whole)
		cr_expect_geq(rig_total(trace, "lost") + n, 200000);
	umount2(rig_config.dir, MNT_DETACH);
}

Test(session, gives_up_politely_where_it_may_not_write)
{
	if (getuid() != 0)
		cr_skip_test("needs root to become nobody");
	int status;
	pid_t pid;

	mkdir(rig_config.dir, 0555);
	chmod(rig_dir, 0755);
	pid = fork();
	if (pid == 0) {
		bool is_good = setuid(65534) == 0 && rig_open("always") < 0;

		run_steps(0, 3);
		tp_session_close("exit");
		_exit(!is_good);
	}
	waitpid(pid, &status, 0);
	cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* In a child: the test runner keeps descriptors, too. */
static int close_everything_and_go_on(void)
{
	static struct tp_ledger_row row[64];
	char path[600];
	struct stat st;

	if (rig_open("wait=1,warmup=0,active=2,repeat=0"))
		return 1;
	run_steps(0, 2);
	usleep(250000);	/* the first window's file is open */
	close_range(3, ~0u, 0);
	snprintf(path, sizeof(path), "%s/other", rig_dir);
	for (int i = 0; i < 20; i++)	/* takes all the numbers that we had */
		if (open(path, O_CREAT | O_RDWR | O_APPEND, 0644) < 3)
			return 2;
	for (int fd = 300; fd < 320; fd++)
		if (dup2(3, fd) != fd)
			return 2;
	run_steps(2, 6);
	usleep(50000);
	tp_session_close("exit");
	if (stat(path, &st) || st.st_size != 0)
		return 3;
	for (int i = 0; i < 20; i++)
		if (fcntl(3 + i, F_GETFD) < 0 || fcntl(300 + i, F_GETFD) < 0)
			return 4;
	if (rig_ledger(row, 64) != 8)
		return 5;
	return strcmp(steps_in(rig_window(1)), "4 5") ? 6 : 0;
}

Test(session, never_writes_to_a_file_of_the_program_that_has_the_number_of_ours)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(close_everything_and_go_on());
	waitpid(pid, &status, 0);
	cr_expect(WIFEXITED(status));
	cr_expect_eq(WEXITSTATUS(status), 0);
}

Test(session, keeps_facts_and_what_is_off_for_the_trace_and_for_the_dead)
{
	const struct rig_trace *trace;

	tp_probe_off("shapes", "layout not\nfound");
	tp_probe_off("shapes", "layout not\nfound");
	cr_assert_eq(rig_open("always"), 0);
	tp_session_fact("torch", "2.13.0");
	cr_expect_not_null(strstr(tp_ring.head->meta, "torch=2.13.0\n"));
	cr_expect_not_null(strstr(tp_ring.head->meta, "off.shapes=layout not found\n"));
	cr_expect_not_null(strstr(tp_ring.head->meta, "program=file:/x/train.py\n"));
	run_steps(0, 1);
	tp_session_close("exit");
	trace = rig_window(0);
	cr_expect_not_null(strstr(trace->meta, "torch=2.13.0\n"));
	cr_expect_not_null(strstr(trace->meta, "off.shapes=layout not found\n"));
	cr_expect_eq(strstr(strstr(trace->meta, "off.shapes") + 1, "off.shapes"), NULL);
}

/* ---- processes ---- */

Test(session, a_forked_child_has_none_and_may_open_its_own)
{
	int status;
	pid_t pid;

	cr_assert_eq(rig_open("always"), 0);
	run_steps(0, 2);
	tp_session_before_fork();
	pid = fork();
	tp_session_after_fork(pid == 0);
	if (pid == 0) {
		bool is_good = !tp_session_is_open() && !tp_session_is_armed() &&
			       strstr(rig_told, "forked ") != NULL;

		rig_step();
		rig_op("child", 0, 0);
		tp_session_close("exit");	/* as the child's exit handlers do */
		snprintf(rig_config.dir, sizeof(rig_config.dir), "%s/child", rig_dir);
		is_good &= rig_open("always") == 0;
		run_steps(50, 3);
		tp_session_close("_exit");
		is_good &= !strcmp(steps_in(rig_window(0)), "50 51 52");
		_exit(!is_good);
	}
	waitpid(pid, &status, 0);
	cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	run_steps(2, 2);
	tp_session_close("exit");
	cr_expect_str_eq(steps_in(rig_window(0)), "0 1 2 3");
	cr_expect_eq(rig_count(rig_window(0), "child", 0, 0), 0);
	cr_expect_null(strstr(rig_told, "forked"));
}

static void arm_slowly(void)
{
	const struct timespec while_arming = {.tv_nsec = 20000000};

	rig_note("arming");
	nanosleep(&while_arming, NULL);
	rig_note("armed");
}

static void *cross_boundary(void *unused)
{
	rig_step();
	return NULL;
}

Test(session, a_fork_waits_until_no_probe_is_being_armed)
{
	static struct tp_probe slow;
	static const struct tp_probe *const probes[] = {&slow, NULL};
	char bad[64];
	pthread_t thread;

	slow = rig_probe;
	slow.arm = arm_slowly;
	cr_assert_eq(tp_sched_parse(&rig_config.schedule, "wait=1,active=1", bad, sizeof(bad)), 0);
	cr_assert_eq(tp_session_open(&rig_config, probes, "file:/x/train.py"), 0);
	cr_assert_eq(pthread_create(&thread, NULL, cross_boundary, NULL), 0);
	while (!strstr(rig_told, "arming"))
		usleep(100);
	tp_session_before_fork();
	cr_expect_not_null(strstr(rig_told, "armed"));
	tp_session_after_fork(false);
	pthread_join(thread, NULL);
}

Test(session, a_failure_is_not_repeated_in_every_child)
{
	int status;
	pid_t pid;

	snprintf(rig_config.dir, sizeof(rig_config.dir), "/proc/none/run");
	cr_expect_lt(rig_open("always"), 0);
	pid = fork();
	tp_session_after_fork(pid == 0);
	if (pid == 0)
		_exit(rig_open("always") != -EALREADY);
	waitpid(pid, &status, 0);
	cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* ---- death ---- */

struct diary {
	uint64_t n_ops;		/* published */
	uint64_t n_windows;
};

/* Steps for ever, each operator numbered, every window a file. */
static void run_doomed(struct diary *diary)
{
	/* Small, so that the drain writes many times in a window, too. */
	rig_config.buffer_bytes = 1 << 20;
	if (rig_open("wait=0,warmup=0,active=30,repeat=0"))
		_exit(1);
	tp_session_epoch(tp_clock_now());
	for (uint32_t n = 0;; n++) {
		while (!rig_op("n", 0, n))
			;
		__atomic_store_n(&diary->n_ops, n + 1ull, __ATOMIC_RELEASE);
		if (n % 3000 == 2999) {
			rig_step();
			usleep(1500);
		}
	}
}

struct sieve {
	uint8_t *seen;
	uint64_t n_twice, n_lost;
	const struct tp_ring_head *head;
};

static void sift(struct sieve *sieve, const struct tp_rec *rec)
{
	if (rec->kind == TP_REC_OP)
		sieve->n_twice += sieve->seen[rec->link]++ != 0;
}

static void sift_left(void *ctx, uint32_t slot, const struct tp_rec *rec)
{
	struct sieve *sieve = ctx;
	uint64_t end = rec->time + tp_rec_len(rec);

	for (uint32_t w = sieve->head->windows_written; w < sieve->head->windows_begun; w++) {
		const struct tp_ring_window *window = &sieve->head->windows[w % TP_RING_WINDOWS];

		if (end >= window->begin && (!window->end || end <= window->end)) {
			sift(sieve, rec);
			return;
		}
	}
	sieve->n_lost++;
}

Test(session, shows_every_operator_once_wherever_a_kill_lands, .timeout = 300)
{
	struct diary *diary = mmap(NULL, sizeof(*diary), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned seed = (unsigned)getpid();

	for (int round = 0; round < 20; round++) {
		struct sieve sieve = {.seen = calloc(1, 16 << 20)};
		char path[600], command[1000];
		uint64_t n_missing = 0;
		pid_t pid;

		memset(diary, 0, sizeof(*diary));
		pid = fork();
		if (pid == 0)
			run_doomed(diary);
		while (!__atomic_load_n(&diary->n_ops, __ATOMIC_ACQUIRE))
			usleep(100);
		usleep(20000 + (unsigned)rand_r(&seed) % 120000);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);

		snprintf(path, sizeof(path), "%s/rank0.%d.ring", rig_config.dir, pid);
		sieve.head = rig_read_file(path);
		cr_assert_not_null(sieve.head, "%s", path);
		rig_each_left(sieve.head, sift_left, &sieve);
		for (uint32_t w = 0; w < sieve.head->windows_begun; w++) {
			struct rig_trace *trace = rig_window(w);

			if (!trace->is_there) {
				snprintf(path, sizeof(path), "%s/rank0.%u.tpt.part", rig_config.dir, w);
				free(trace);
				trace = rig_read_trace(path, UINT64_MAX);
				if (trace->is_there && !trace->is_whole &&
				    w >= sieve.head->windows_written)
					trace = rig_read_trace(path, tp_ring_file_bytes(sieve.head, w));
			}
			for (uint32_t i = 0; i < trace->n; i++)
				sift(&sieve, &trace->rec[i]);
		}
		for (uint64_t n = 0; n < diary->n_ops; n++)
			n_missing += !sieve.seen[n];
		cr_expect_eq(sieve.n_twice, 0, "round %d", round);
		cr_expect_eq(sieve.n_lost, 0, "round %d", round);
		cr_expect_eq(n_missing, 0, "round %d", round);
		cr_expect_gt(diary->n_ops, 3000);
		snprintf(command, sizeof(command),
			 "for r in '%s'/*.ring; do rm -f \"$(readlink -f \"$r\")\"; done; rm -rf '%s'",
			 rig_config.dir, rig_config.dir);
		cr_expect_eq(system(command), 0);
		free(sieve.seen);
	}
}
