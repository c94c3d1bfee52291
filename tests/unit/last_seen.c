/* SPDX-License-Identifier: Apache-2.0 */
/*
 * last_seen.c - where a killed process stood, from its ring: names that fit, a write that was cut
 */
#include <criterion/criterion.h>

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "merge/input/fuse.h"
#include "merge/model/label.h"
#include "runtime/probe/sample/pysample_stand.h"
#include "tests/unit/session_rig.h"

TestSuite(last_seen, .init = rig_set_up, .fini = rig_tear_down, .timeout = 60);

static uint32_t name(const char *function, const char *file)
{
	char text[900];
	int n = snprintf(text, sizeof(text), "%s%c%s", function, 0, file);

	return tp_intern(TP_STRING_PYFRAME, text, (uint32_t)n);
}

/* What the merge says of a process that did `what` in a session of its own and was killed. */
static const char *told(void (*what)(void))
{
	static char value[TP_STOOD_BYTES];
	char command[1400];
	const char *path = rig_config.dir, *text = NULL;
	struct tp_fuse_options options = {.path = &path, .n_paths = 1, .is_quiet = true};
	struct tp_run *run;
	pid_t pid = fork();

	if (pid == 0) {
		if (!rig_open("wait=1,warmup=0,active=1,repeat=0"))
			rig_step(), what();
		raise(SIGKILL);
	}
	waitpid(pid, NULL, 0);
	run = tp_run_open(&options);
	cr_assert_not_null(run);
	cr_assert_eq(run->n_procs, 1);
	cr_expect(run->proc[0]->is_dead);
	if (tp_fact(run->proc[0]->started, "stood", value, sizeof(value)))
		text = value + strcspn(value, " ") + 1;
	tp_run_free(run);
	snprintf(command, sizeof(command), "for r in '%s'/*.ring; do rm -f \"$(readlink -f \"$r\")\" \"$r\"; done",
		 rig_config.dir);
	cr_expect_eq(system(command), 0);
	return text;
}

static void note(const struct tp_pysample_frame *frame, uint32_t n)
{
	static struct tp_pysample_look look;

	memcpy(look.frame, frame, n * sizeof(*frame));
	look.n = n;
	tp_pysample_stand_note(&look, tp_clock_now());
}

static void stand_in_a_library(void)
{
	const struct tp_pysample_frame frame[] = {
		{.string = name("linear", "/x/site-packages/torch/nn/functional.py"), .line = 5},
		{.string = name("call", "/x/site-packages/torch/nn/modules/module.py"), .line = 6},
		{.is_hidden = true},
		{.string = name("forward", "/home/me/net.py"), .line = 7},
		{.string = name("<module>", "/home/me/train.py"), .line = 8}};

	note(frame, 5);
	/* Not every look is worth the search. */
	note(frame + 4, 1);
	tp_pysample_stand_again(tp_clock_now());
}

Test(last_seen, is_the_innermost_function_and_those_of_the_users_own)
{
	cr_expect_str_eq(told(stand_in_a_library),
			 "/home/me/train.py:8 <module> > /home/me/net.py:7 forward > "
			 "/x/site-packages/torch/nn/functional.py:5 linear");
}

static void stand_deep(void)
{
	struct tp_pysample_frame frame[20];
	char function[260];

	memset(function, 'f', sizeof(function));
	for (uint32_t i = 0; i < 20; i++) {
		snprintf(function + 150, 30, "%u", i);
		frame[i] = (struct tp_pysample_frame){.string = name(function, "/home/me/a.py"), .line = i + 1};
	}
	note(frame, 20);
}

Test(last_seen, of_long_names_keeps_the_inner_ones)
{
	const char *text = told(stand_deep);

	cr_assert_not_null(text);
	cr_expect_lt(strlen(text), TP_STOOD_BYTES - 20);
	cr_expect_not_null(strstr(text, "/home/me/a.py:1 f"));
	cr_expect_not_null(strstr(text, "/home/me/a.py:3 f"));
	cr_expect_null(strstr(text, "/home/me/a.py:5 f"));
}

static void be_cut(void)
{
	stand_in_a_library();
	tp_ring.head->stand.turn |= 1;
}

static void lie(void)
{
	stand_in_a_library();
	tp_ring.head->stand.place[0].name = 0x7fffffff;
}

static void stand_nowhere(void)
{
	note(NULL, 0);
}

Test(last_seen, says_nothing_where_it_is_not_known)
{
	static void (*const cases[])(void) = {be_cut, lie, stand_nowhere};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		cr_expect_null(told(cases[i]), "case %zu", i);
		rig_tear_down();
		rig_set_up();
	}
}
