/* SPDX-License-Identifier: Apache-2.0 */
/* Records of a device in the ring of the dead: those of the window that was over, each once. */
#include <criterion/criterion.h>

#include <signal.h>
#include <sys/wait.h>

#include "merge/input/fuse.h"
#include "tests/unit/ring_bag.h"

TestSuite(recover_device, .init = set_up, .fini = tear_down, .timeout = 60);

enum how_far {
	TAKEN_NOTHING,
	PICKED,		/* and written perhaps: the pass was not committed */
	COMMITTED,	/* but picked records are still there */
	RELEASED,
};

static void put(uint8_t kind, uint8_t flags, uint64_t time, uint64_t len, uint32_t number)
{
	struct tp_rec *rec = tp_ring_reserve();

	*rec = (struct tp_rec){.time = time, .kind = kind, .flags = flags, .link = number};
	tp_rec_set_len(rec, len);
	tp_ring_commit();
}

static uint32_t take_none(void *ctx, uint32_t slot, const struct tp_rec *rec, uint32_t n)
{
	return 0;
}

static bool pick_device(void *ctx, uint32_t slot, const struct tp_rec *rec)
{
	return rec->kind == TP_REC_KERNEL;
}

/* Window 0 is over, window 1 goes on; `written`: of these, the first have their files. */
static void run_doomed(enum how_far how_far, uint32_t written)
{
	uint64_t t;

	if (rig_open_ring(MIB))
		_exit(1);
	t = tp_clock_now();
	tp_ring.head->windows[0].begin = t;
	tp_ring.head->windows[0].end = tp_ring.head->windows[1].begin = t + 1000000;
	tp_ring.head->windows_begun = 2;
	tp_ring.head->windows_written = written;
	put(TP_REC_COUNTER, 0, t + 1000500, 0, 1);			/* of window 1 */
	put(TP_REC_KERNEL, 0, t + 500, 1000, 2);
	put(TP_REC_KERNEL, TP_F_AFTER, t + 900000, 5000000, 3);
	put(TP_REC_KERNEL, TP_F_AFTER | TP_F_PARTIAL, t + 990000, 20000, 4);
	/* The same bit means another thing: bounded by a clock. */
	put(TP_REC_STEP, TP_F_CLOCK, t + 1000100, 1000, 5);
	put(TP_REC_KERNEL, 0, t + 100, 1000, 6);
	if (how_far != TAKEN_NOTHING) {
		tp_ring_take(take_none, NULL);
		tp_ring_pick(pick_device, NULL);
	}
	if (how_far == COMMITTED)
		tp_ring.head->pass_done++;
	if (how_far == RELEASED)
		tp_ring_release(1, 0);
	raise(SIGKILL);
}

static char found[200];

static void note(void *ctx, const struct tp_event *event)
{
	sprintf(found + strlen(found), "%s%u.%u", found[0] ? " " : "", event->window,
		event->link);
	if (event->link == 3)
		cr_expect_gt(event->end_ns - event->begin_ns, 1000000 / 10,
			     "it is not cut at the end of its window");
}

Test(recover_device, which_records_count_wherever_a_pass_was_cut)
{
	static const struct {
		enum how_far how_far;
		uint32_t written;
		const char *want;
	} cases[] = {
		{TAKEN_NOTHING, 0, "0.6 0.2 0.3 0.4 1.5 1.1"},
		{PICKED, 0, "0.6 0.2 0.3 0.4 1.5 1.1"},
		{COMMITTED, 0, "1.5 1.1"},
		{RELEASED, 0, "1.5 1.1"},
		{TAKEN_NOTHING, 1, "1.5 1.1"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *path = rig_dir;
		struct tp_fuse_options options = {.path = &path, .n_paths = 1, .is_quiet = true};
		struct tp_run *run;
		pid_t pid = fork();
		char command[400];

		if (pid == 0)
			run_doomed(cases[i].how_far, cases[i].written);
		waitpid(pid, NULL, 0);
		found[0] = '\0';
		run = tp_run_open(&options);
		cr_assert_not_null(run, "case %zu", i);
		cr_assert_eq(tp_fuse_events(run, note, NULL), 0);
		cr_expect_str_eq(found, cases[i].want, "case %zu: %s", i, found);
		tp_run_free(run);
		snprintf(command, sizeof(command),
			 "for r in '%s'/*.ring; do rm -f \"$(readlink -f \"$r\")\" $r; done", rig_dir);
		cr_assert_eq(system(command), 0);
	}
}
