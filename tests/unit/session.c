/* SPDX-License-Identifier: Apache-2.0 */
/* A session driven by hand: which steps are in which trace, and nothing else than they. */
#include <criterion/criterion.h>

#include <pthread.h>
#include <sys/wait.h>

#include "tests/unit/session_rig.h"

TestSuite(session, .init = rig_set_up, .fini = rig_tear_down, .timeout = 60);

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
			rig_run_steps(0, cases[c].n_steps);
			tp_session_close("exit");
			for (uint32_t w = 0; w < 5; w++) {
				const struct rig_trace *trace = rig_window(w);
				const char *want = cases[c].windows[w];

				is_good &= trace->is_there == (want != NULL);
				is_good &= !want || trace->is_whole;
				is_good &= !want || !strcmp(rig_steps_in(trace), want);
				if (!is_good)
					fprintf(stderr, "window %u: '%s'\n", w, rig_steps_in(trace));
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
		rig_run_steps(s, 1);
	}
	tp_session_close("exit");
	cr_expect_not_null(strstr(rig_told, "open "));
	cr_expect_not_null(strstr(rig_told, "warm "));
	cr_expect_not_null(strstr(rig_told_in_order(), "arm disarm arm "), "%s", rig_told);
	cr_expect_not_null(strstr(rig_told, "close "));
	cr_expect(!tp_session_is_armed());
}

Test(session, does_not_disarm_between_windows_that_follow_each_other)
{
	cr_assert_eq(rig_open("wait=0,warmup=0,active=1,repeat=3"), 0);
	rig_run_steps(0, 4);
	tp_session_close("exit");
	cr_expect_null(strstr(rig_told_in_order(), "disarm arm"), "%s", rig_told);
}

Test(session, writes_a_step_record_for_every_active_step)
{
	const struct rig_trace *trace;
	uint64_t began = tp_clock_mono_ns(), took_ns;
	uint32_t n = 0;

	cr_assert_eq(rig_open("wait=1,warmup=1,active=3,repeat=1"), 0);
	tp_session_epoch(tp_clock_now());
	rig_run_steps(0, 8);
	tp_session_close("exit");
	took_ns = tp_clock_mono_ns() - began;
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
	cr_expect_eq(rig_total(trace, "events"), 3 * RIG_OPS + 3);
	cr_expect_eq(rig_total(trace, "lost"), 0);
	cr_expect_eq(rig_total(trace, "dropped"), 0);
	cr_expect_eq(rig_total(trace, "late"), 0);
	cr_expect_leq(rig_total(trace, "stall_ns"), took_ns);
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
		rig_run_steps(e * 5, 5);
	}
	tp_session_close("exit");
	cr_expect_str_eq(rig_steps_in(rig_window(0)), "1 2");
	cr_expect_str_eq(rig_steps_in(rig_window(1)), "6 7");
	cr_expect_str_eq(rig_steps_in(rig_window(2)), "11 12");
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
		rig_run_steps(e * 5, 5);
	}
	tp_session_close("exit");
	cr_expect_str_eq(rig_steps_in(rig_window(0)), "3 4 5 6");
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
		rig_run_steps(e * 4, 4);
	}
	tp_session_close("exit");
	cr_expect_str_eq(rig_steps_in(rig_window(0)), "1 2 3");
	cr_expect_str_eq(rig_steps_in(rig_window(1)), "5 6 7");
}

/* Six steps of wait and warm-up in epochs of six: what lies between an epoch's last step and the
 * next epoch is all that a window gets. */
Test(session, keeps_the_window_without_a_step_that_opens_just_before_an_epoch)
{
	struct tp_ledger_row row[32];

	cr_assert_eq(rig_open("wait=5,warmup=1,active=4,repeat=1"), 0);
	for (uint32_t e = 0; e < 3; e++) {
		tp_session_epoch(tp_clock_now());
		cr_expect(!tp_session_is_armed());
		rig_run_steps(e * 6, 6);
		cr_expect(tp_session_is_armed());
		rig_op("evaluation", 0, e);
	}
	tp_session_close("exit");
	for (uint32_t w = 0; w < 3; w++) {
		const struct rig_trace *trace = rig_window(w);

		cr_assert(trace->is_whole, "window %u", w);
		cr_expect_eq(rig_total(trace, "steps"), 0);
		cr_expect_eq(rig_total(trace, "first_step"), 6 * w + 6);
		cr_expect_eq(rig_total(trace, "in_epoch"), 6);
		cr_expect_eq(rig_total(trace, "epoch"), w);
		cr_expect_eq(rig_count(trace, NULL, TP_REC_STEP, 0), 0);
		cr_expect_eq(rig_count(trace, "evaluation", TP_REC_OP, 0), 1);
		cr_expect_eq(trace->n, 1);
	}
	cr_expect(!rig_window(3)->is_there);
	cr_expect_eq(rig_ledger(row, 32), 18);
	for (uint32_t i = 0; i < 18; i++)
		cr_expect_neq(row[i].phase, TP_PHASE_ACTIVE, "step %u", i);
}

Test(session, counts_the_gap_before_an_epoch_to_no_step)
{
	struct tp_ledger_row row[8];
	uint64_t began, ended, begin, most;

	cr_assert_eq(rig_open("wait=9,warmup=0,active=1"), 0);
	usleep(30000);
	began = tp_clock_mono_ns();
	tp_session_epoch(tp_clock_now());
	rig_run_steps(0, 1);
	ended = tp_clock_mono_ns();
	usleep(30000);	/* evaluation */
	begin = tp_clock_mono_ns();
	tp_session_epoch(tp_clock_now());
	rig_run_steps(1, 1);
	most = tp_clock_mono_ns() - begin;
	tp_session_close("exit");
	cr_expect_eq(rig_ledger(row, 8), 2);
	cr_expect_leq(row[0].dur_ns, ended - began + 5000000);
	cr_expect_leq(row[1].dur_ns, most + 5000000);
	cr_expect_geq(row[1].begin_ns, row[0].begin_ns + row[0].dur_ns + 25000000);
}

Test(session, takes_an_epoch_without_a_step_for_none)
{
	struct tp_ledger_row row[8];

	cr_assert_eq(rig_open("wait=1,warmup=0,active=1,repeat=1"), 0);
	for (int i = 0; i < 3; i++)
		tp_session_epoch(tp_clock_now());
	rig_run_steps(0, 3);
	tp_session_epoch(tp_clock_now());
	tp_session_epoch(tp_clock_now());
	rig_run_steps(3, 3);
	tp_session_close("exit");
	cr_expect_eq(rig_ledger(row, 8), 6);
	cr_expect_eq(row[0].epoch, 0);
	cr_expect_eq(row[3].epoch, 1);
	cr_expect_str_eq(rig_steps_in(rig_window(1)), "4");
}

/* A loader that nobody knew counts when its first batch has been in a step, and with it the epoch. */
static void run_late_epoch(const char *schedule, struct tp_ledger_row *row)
{
	const struct tp_step_facts facts = { .data_wait = 1, .batches = 1, .source = TP_STEP_OPTIMIZER };
	uint64_t begun, ended;

	cr_assert_eq(rig_open(schedule), 0);
	tp_session_epoch(tp_clock_now());
	rig_run_steps(0, 3);
	begun = tp_clock_now();
	usleep(40000);
	ended = tp_clock_now();
	tp_session_epoch(begun);
	tp_session_step(ended, &facts);
	rig_run_steps(4, 2);
	tp_session_close("exit");
	cr_assert_eq(rig_ledger(row, 16), 6);
	cr_expect_eq(row[3].epoch, 1);
	cr_expect_eq(row[3].in_epoch, 0);
	cr_expect_geq(row[3].dur_ns, 40000000);
	cr_expect_leq(row[3].begin_ns + row[3].dur_ns, row[4].begin_ns);
}

Test(session, a_step_whose_epoch_is_told_at_its_end_has_its_time)
{
	struct tp_ledger_row row[16];

	run_late_epoch("wait=1,warmup=0,active=1,repeat=1", row);
	cr_expect_str_eq(rig_steps_in(rig_window(0)), "1");
	cr_expect_str_eq(rig_steps_in(rig_window(1)), "4");
}

Test(session, a_window_that_begins_at_the_end_of_its_first_step_has_what_is_left_of_it)
{
	struct tp_ledger_row row[16];
	const struct rig_trace *trace;

	run_late_epoch("wait=0,warmup=0,active=2,repeat=1", row);
	trace = rig_window(1);
	cr_expect_str_eq(rig_steps_in(trace), "4");
	cr_expect_eq(rig_count(trace, NULL, TP_REC_STEP, 0), 2);
	for (uint32_t i = 0; i < trace->n; i++)
		if (trace->rec[i].kind == TP_REC_STEP)
			cr_expect_geq(trace->rec[i].time, rig_total(trace, "begin"));
}

Test(session, throws_the_time_before_the_first_epoch_away_when_the_window_is_open_at_once)
{
	cr_assert_eq(rig_open("wait=0,warmup=0,active=2,repeat=1"), 0);
	cr_expect(tp_session_is_armed());
	rig_op("import", 0, 0);
	tp_session_epoch(tp_clock_now());
	rig_run_steps(0, 3);
	tp_session_close("exit");
	cr_expect_str_eq(rig_steps_in(rig_window(0)), "0 1");
	cr_expect_eq(rig_count(rig_window(0), "import", 0, 0), 0);
}

Test(session, restarts_the_schedule_when_a_better_source_of_steps_comes_up)
{
	struct tp_ledger_row row[16];

	cr_assert_eq(rig_open("wait=2,warmup=0,active=2,repeat=1,per=run"), 0);
	rig_run_steps(0, 3);	/* the window has begun with what were no steps */
	tp_session_restart(tp_clock_now());
	rig_run_steps(3, 6);
	tp_session_close("exit");
	cr_expect_str_eq(rig_steps_in(rig_window(0)), "2");
	cr_expect_str_eq(rig_steps_in(rig_window(1)), "5 6");
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
	cr_assert(rig_await_written(1));
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
		rig_run_steps(s, 1);
		/* With more, the program would go on without a window. */
		cr_assert(rig_await_written(s > 4 ? s - 4 : 0));
	}
	tp_session_close("exit");
	for (uint32_t s = 0; s < N; s++) {
		const struct rig_trace *trace = rig_window(s);
		char want[16];

		snprintf(want, sizeof(want), "%u", s);
		cr_expect_str_eq(rig_steps_in(trace), want);
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

/* Who asks whether anything goes on hears of a block that was there in between, too. */
Test(session, tensors_that_come_and_go_are_seen_where_as_many_bytes_are_left)
{
	uint64_t turn;

	tp_session_live(true, 1000);
	turn = tp_session_tensor_turn();
	cr_expect_eq(tp_session_tensor_turn(), turn);
	tp_session_live(true, 64);
	tp_session_live(true, -64);
	cr_expect_neq(tp_session_tensor_turn(), turn);
	turn = tp_session_tensor_turn();
	tp_session_device_live(512);
	tp_session_device_live(0);
	cr_expect_neq(tp_session_tensor_turn(), turn);
}

/* ---- the ledger ---- */

Test(session, keeps_a_row_of_every_step)
{
	static struct tp_ledger_row row[6000];
	const struct tp_step_facts facts = {
		.batches = 4, .source = TP_STEP_ZERO_GRAD, .flags = TP_F_SKIPPED,
	};

	cr_assert_eq(rig_open("wait=1000000,warmup=0,active=1"), 0);
	tp_session_live(true, 1000);
	tp_session_live(false, 5000);
	tp_session_live(false, -4500);
	tp_session_device_live(70000);
	tp_session_device_live(60000);
	tp_session_step(tp_clock_now(), &facts);
	tp_session_live(true, 500);
	tp_session_step(tp_clock_now(), &facts);
	for (int i = 2; i < 5000; i++) {
		tp_session_step(tp_clock_now(), &facts);
		/* The ring has room for TP_RING_STEPS that are not in the file yet. */
		if (i % 300 == 0)
			cr_assert(AWAIT(rig_ledger(row, 6000) + 600 >= (uint32_t)i));
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
