/* SPDX-License-Identifier: Apache-2.0 */
/* What probes add to a window that has ended: in its file, once, whatever lies between. */
#include <criterion/criterion.h>

#include <signal.h>
#include <sys/wait.h>

#include "merge/input/fuse.h"
#include "merge/input/ring/recovered.h"
#include "tests/unit/criterion_leak.h"
#include "tests/unit/session_rig.h"

static struct settled {
	uint32_t n_calls, n_closing, settles_at;	/* calls of a window until it is settled */
	uint32_t n_windows;
	uint32_t next;			/* number of the next record */
	uint32_t n_burst;		/* rounds of records a call; 0: one */
	uint32_t n_pure;		/* of so many calls only one has records of the next window */
	struct { uint64_t published; uint32_t after[1 << 20]; } *diary;
} state;

static void put(uint8_t kind, uint8_t flags, uint64_t time, uint64_t len)
{
	struct tp_rec *rec = tp_ring_reserve();

	if (!rec)
		return;
	*rec = (struct tp_rec){.time = time, .kind = kind, .flags = flags, .link = state.next++};
	tp_rec_set_len(rec, len);
	rec->name = tp_intern_text("k");
	tp_ring_commit();
	if (state.diary)
		__atomic_store_n(&state.diary->published, state.next, __ATOMIC_RELEASE);
}

/* As CUPTI's records come: late, in no order, among those of the next window. */
static bool settle(uint64_t end, bool is_closing)
{
	state.n_calls++;
	state.n_closing += is_closing;
	for (uint32_t i = 0; i < (state.n_burst ? state.n_burst : 1); i++) {
		put(TP_REC_KERNEL, 0, end - 500, 100);
		if (!state.n_pure || (state.n_calls % state.n_pure == 0 && !i))
			put(TP_REC_COUNTER, 0, tp_clock_now(), 0);	/* of the next one */
		put(TP_REC_KERNEL, TP_F_AFTER, end - 300, 5000000000);
		if (!state.n_pure)
			put(TP_REC_CALL, 0, end - 400, 500);	/* crosses the end */
		put(TP_REC_MEMCPY, 0, end - 200, 200);
		put(TP_REC_KERNEL, TP_F_AFTER, end - 100, 7000);
	}
	if (state.n_calls < state.settles_at && !is_closing)
		return false;
	state.n_calls = 0;
	state.n_windows++;
	return true;
}

static const struct tp_probe probe = {.name = "settle", .settle = settle};
static const struct tp_probe silent = {.name = "silent"};
static const struct tp_probe *const probes[] = {&silent, &probe, &silent, NULL};

static void open_session(const char *schedule)
{
	char bad[64];

	cr_assert_eq(tp_sched_parse(&rig_config.schedule, schedule, bad, sizeof(bad)), 0);
	cr_assert_eq(tp_session_open(&rig_config, probes, "file:/x/train.py"), 0);
}

/* Which numbers of a kind are in the trace, in their order. */
static const char *links(const struct rig_trace *trace, uint8_t kind, uint8_t flags)
{
	static char text[4][1000];
	static uint32_t at;
	char *p = text[at++ % 4];
	uint32_t most = 0;

	*p = '\0';
	for (uint32_t i = 0; i < trace->n; i++)
		most = trace->rec[i].link < 1000 && trace->rec[i].link > most ? trace->rec[i].link : most;
	for (uint32_t k = 0; k <= most; k++)
		for (uint32_t i = 0; i < trace->n; i++)
			if (trace->rec[i].kind == kind && trace->rec[i].link == k &&
			    (trace->rec[i].flags & (TP_F_AFTER | TP_F_OPEN | TP_F_EARLY)) == flags)
				sprintf(p + strlen(p), "%s%u", *p ? " " : "", k);
	return p;
}

TestSuite(session_settle, .init = rig_set_up, .fini = rig_tear_down, .timeout = 60);

Test(session_settle, adds_to_the_window_that_has_ended_and_to_no_other)
{
	const struct rig_trace *trace;

	state.settles_at = 3;
	open_session("wait=0,warmup=0,active=2,repeat=2");
	rig_run_steps(0, 2);
	cr_assert(rig_await_written(1));
	cr_expect_eq(state.n_windows, 1);
	cr_expect_eq(state.n_closing, 0);
	rig_run_steps(2, 3);
	cr_assert(rig_await_written(2));
	tp_session_close("exit");
	cr_expect_eq(state.n_windows, 2);

	trace = rig_window(0);
	cr_assert(trace->is_whole);
	cr_expect_str_eq(links(trace, TP_REC_KERNEL, 0), "0 6 12");
	cr_expect_str_eq(links(trace, TP_REC_KERNEL, TP_F_AFTER), "2 5 8 11 14 17");
	cr_expect_str_eq(links(trace, TP_REC_MEMCPY, 0), "4 10 16");
	cr_expect_str_eq(links(trace, TP_REC_CALL, TP_F_OPEN), "3 9 15");
	cr_expect_str_eq(links(trace, TP_REC_COUNTER, 0), "");
	cr_expect_eq(rig_total(trace, "late"), 0);
	for (uint32_t i = 0; i < trace->n; i++)
		if (trace->rec[i].kind == TP_REC_KERNEL && trace->rec[i].link % 6 == 2)
			cr_expect_eq(tp_rec_len(&trace->rec[i]), 5000000000);
	cr_expect_str_eq(rig_steps_in(trace), "0 1");

	trace = rig_window(1);
	cr_expect_str_eq(links(trace, TP_REC_COUNTER, 0), "1 7 13");
	cr_expect_str_eq(links(trace, TP_REC_CALL, TP_F_EARLY), "3 9 15");
	cr_expect_str_eq(links(trace, TP_REC_CALL, TP_F_OPEN), "21 27 33");
	cr_expect_str_eq(links(trace, TP_REC_KERNEL, 0), "18 24 30");
	cr_expect_str_eq(links(trace, TP_REC_KERNEL, TP_F_AFTER), "20 23 26 29 32 35");
	cr_expect_eq(rig_total(trace, "late"), 0);
	cr_expect_str_eq(rig_steps_in(trace), "2 3");
}

Test(session_settle, what_a_later_warm_up_left_between_is_thrown_away)
{
	const struct rig_trace *trace;

	state.settles_at = 2;
	open_session("wait=0,warmup=2,active=1,repeat=2");
	rig_run_steps(0, 3);
	cr_assert(rig_await_written(1));
	rig_run_steps(3, 4);
	cr_assert(rig_await_written(2));
	tp_session_close("exit");
	trace = rig_window(0);
	cr_expect_str_eq(links(trace, TP_REC_KERNEL, TP_F_AFTER), "2 5 8 11");
	trace = rig_window(1);
	cr_expect_str_eq(links(trace, TP_REC_KERNEL, TP_F_AFTER), "14 17 20 23");
	cr_expect_str_eq(links(trace, TP_REC_COUNTER, 0), "");
	cr_expect_eq(rig_total(trace, "late"), 0);
	cr_expect_eq(rig_total(trace, "lost") + rig_total(trace, "dropped"), 0);
}

static struct {
	bool is_there;		/* atomic */
	uint64_t gap, third;	/* times: between the first two windows, in the third */
} all;

static bool settle_mixed(uint64_t end, bool is_closing)
{
	if (!__atomic_load_n(&all.is_there, __ATOMIC_ACQUIRE))
		return is_closing;
	if (end < all.gap) {
		put(TP_REC_COUNTER, 0, all.third, 0);
		put(TP_REC_CALL, 0, all.gap, 1);
	}
	return true;
}

/* Of a warm-up between windows that are over, behind a record of a later one. */
Test(session_settle, what_is_of_no_window_is_not_late)
{
	static const struct tp_probe mixed = {.name = "mixed", .settle = settle_mixed};
	static const struct tp_probe *const only[] = {&mixed, NULL};
	const struct rig_trace *trace;
	char bad[64];

	cr_assert_eq(tp_sched_parse(&rig_config.schedule, "wait=1,warmup=0,active=1,repeat=3", bad,
				    sizeof(bad)), 0);
	cr_assert_eq(tp_session_open(&rig_config, only, "file:/x/train.py"), 0);
	rig_run_steps(0, 2);
	all.gap = tp_clock_now();
	rig_run_steps(2, 6);
	cr_assert_eq(tp_ring.head->windows_begun, 3);
	all.third = tp_ring.head->windows[2].begin;
	__atomic_store_n(&all.is_there, true, __ATOMIC_RELEASE);
	rig_run_steps(6, 7);
	cr_assert(rig_await_written(3));
	tp_session_close("exit");
	trace = rig_window(2);
	cr_expect_eq(rig_count(trace, NULL, TP_REC_COUNTER, 0), 1);
	cr_expect_eq(rig_count(trace, NULL, TP_REC_CALL, 0), 0);
	cr_expect_eq(rig_total(trace, "late"), 0);
}

/* Several times the ring's room: written out while the probe still has more, though records of
 * the next window lie between. */
Test(session_settle, a_window_that_brings_more_than_the_ring_holds_loses_nothing)
{
	const struct rig_trace *trace;
	uint32_t n;

	rig_config.buffer_bytes = 1 << 20;
	state.settles_at = 80;
	state.n_burst = 300;
	state.n_pure = 20;
	open_session("wait=0,warmup=0,active=1,repeat=1");
	rig_run_steps(0, 2);
	cr_assert(rig_await_written(1));
	n = 80 * 300;
	tp_session_close("exit");
	trace = rig_window(0);
	cr_expect_eq(rig_total(trace, "dropped"), 0);
	cr_expect_eq(rig_count(trace, NULL, TP_REC_MEMCPY, 0), n);
	cr_expect_eq(rig_count(trace, NULL, TP_REC_KERNEL, TP_F_AFTER), 2 * n);
	cr_expect_eq(rig_count(trace, NULL, TP_REC_KERNEL, 0), 3 * n);
	cr_expect_eq(trace->n, 4 * n + 1 + RIG_OPS);
	cr_expect_gt(4 * n / TP_CHUNK_RECORDS, 2 * tp_ring.head->n_chunks);
}

Test(session_settle, a_process_that_ends_does_not_wait_for_what_never_comes)
{
	state.settles_at = UINT32_MAX;
	open_session("wait=0,warmup=0,active=2,repeat=0");
	rig_run_steps(0, 1);
	tp_session_close("exit");
	cr_expect_eq(state.n_closing, 1);
	cr_expect(rig_window(0)->is_whole);
	/* Six records each time it was asked: once, or before that, too, if the drain was quick. */
	cr_expect_eq(rig_count(rig_window(0), NULL, TP_REC_KERNEL, TP_F_AFTER), 2 * (state.next / 6));
}

Test(session_settle, windows_wait_for_a_probe_that_takes_its_time)
{
	state.settles_at = 60;
	open_session("wait=0,warmup=0,active=1,repeat=3");
	rig_run_steps(0, 4);
	tp_session_close("exit");
	for (uint32_t w = 0; w < 3; w++)
		cr_expect(rig_window(w)->is_whole, "%u", w);
	cr_expect_str_eq(rig_steps_in(rig_window(2)), "2");
}

Test(session_settle, facts_about_devices_are_in_every_file)
{
	static const char text[] = "id=0\nname=NVIDIA H100\nsms=132\n";

	state.settles_at = 1;
	open_session("wait=0,warmup=0,active=1,repeat=2");
	tp_intern(TP_STRING_DEVICE, text, sizeof(text) - 1);
	rig_run_steps(0, 3);
	tp_session_close("exit");
	for (uint32_t w = 0; w < 2; w++) {
		const struct rig_trace *trace = rig_window(w);
		uint32_t n = 0;

		for (uint32_t i = 0; i < trace->n_strings; i++)
			n += trace->string[i].kind == TP_STRING_DEVICE &&
			     !strcmp(trace->string[i].text, text);
		cr_expect_eq(n, 1, "window %u: %u", w, n);
	}
}

/* ---- kills ---- */

static uint8_t *seen;
static uint32_t n_twice;

static void sift(void *ctx, const struct tp_event *event)
{
	/* A CALL that crosses an end is in both windows. */
	if ((event->kind == TP_REC_KERNEL || event->kind == TP_REC_MEMCPY ||
	     event->kind == TP_REC_COUNTER) && event->link < 1 << 20)
		n_twice += seen[event->link]++ != 0;
}

static void run_doomed(void)
{
	rig_config.buffer_bytes = 1 << 20;
	state.settles_at = 3;
	state.n_burst = 100;
	open_session("wait=0,warmup=0,active=1,repeat=0");
	for (uint32_t s = 0;; s++) {
		rig_run_steps(s, 1);
		usleep(4000);
		/* With more, the program would go on without one, and what comes meanwhile is no
		 * window's. */
		rig_await_written(s > 4 ? s - 4 : 0);
	}
}

Test(session_settle, a_kill_at_any_moment_shows_each_record_once, .timeout = 300)
{
	unsigned seed = (unsigned)getpid();
	uint64_t n_all = 0;

	state.diary = mmap(NULL, sizeof(*state.diary), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (int round = 0; round < 25; round++) {
		const char *path = rig_config.dir;
		struct tp_fuse_options options = {.path = &path, .n_paths = 1, .is_quiet = true};
		struct tp_run *run;
		uint32_t n_missing = 0;
		char command[1000];
		pid_t pid;

		seen = calloc(1, 1 << 20);
		n_twice = 0;
		state.diary->published = 0;
		pid = fork();
		if (pid == 0)
			run_doomed();
		while (__atomic_load_n(&state.diary->published, __ATOMIC_ACQUIRE) < 2000)
			usleep(100);
		usleep((unsigned)rand_r(&seed) % 30000);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		run = tp_run_open(&options);
		cr_assert_not_null(run);
		cr_assert_eq(tp_fuse_events(run, sift, NULL), 0);
		/* CALLs: every sixth from the fourth on. */
		for (uint64_t n = 0; n < state.diary->published; n++)
			n_missing += n % 6 != 3 && !seen[n];
		n_all += state.diary->published;
		cr_expect_eq(n_twice, 0, "round %d: %u twice", round, n_twice);
		cr_expect_eq(n_missing, 0, "round %d: %u missing", round, n_missing);
		tp_run_free(run);
		snprintf(command, sizeof(command),
			 "for r in '%s'/*.ring; do rm -f \"$(readlink -f \"$r\")\"; done; rm -rf '%s'",
			 rig_config.dir, rig_config.dir);
		cr_expect_eq(system(command), 0);
		free(seen);
	}
	cr_expect_gt(n_all, 50000);
}

static void note_kernels(void *ctx, const struct tp_event *event)
{
	uint32_t *n = ctx;

	*n += event->kind == TP_REC_KERNEL && event->queue && event->queue->stream == 7;
}

Test(session_settle, a_window_that_the_merge_saves_has_its_devices_and_queues)
{
	static const char text[] = "id=0\nname=NVIDIA H100\nsms=132\n";
	const struct tp_launch launch = {.place = {0, 1, 7}};
	const char *path = rig_config.dir;
	struct tp_fuse_options options = {.path = &path, .n_paths = 1, .is_quiet = true};
	pid_t pid = fork();

	if (pid == 0) {
		struct tp_rec *rec;

		open_session("always");
		tp_intern(TP_STRING_DEVICE, text, sizeof(text) - 1);
		rec = tp_ring_reserve();
		*rec = (struct tp_rec){
			.time = tp_clock_now(), .kind = TP_REC_KERNEL, .name = tp_intern_text("k"),
			.arg = tp_intern(TP_STRING_LAUNCH, &launch, sizeof(launch))};
		tp_ring_commit();
		put(TP_REC_CALL, 0, tp_clock_now(), 0);
		raise(SIGKILL);
	}
	waitpid(pid, NULL, 0);
	for (int i = 0; i < 2; i++) {
		struct tp_run *run = tp_run_open(&options);
		uint32_t n = 0;

		cr_assert_not_null(run);
		cr_assert_eq(tp_fuse_events(run, note_kernels, &n), 0);
		cr_expect_eq(n, 1, "%s saving: %u", i ? "after" : "before", n);
		cr_expect_eq(run->proc[0]->n_devices, 1);
		cr_expect(run->proc[0]->is_dead, "%s saving", i ? "after" : "before");
		if (!i)
			cr_assert_eq(tp_recovered_write(run), 0);
		tp_run_free(run);
	}
}
