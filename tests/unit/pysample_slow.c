/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pysample_slow.c - tests of which step is slow, and of the functions that its samples share
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "runtime/probe/sample/pysample_slow.h"

static struct tp_slow slow;
static struct tp_pysample_look look;
static char told[400];
static bool is_collecting;

static void set_up(void)
{
	memset(&slow, 0, sizeof(slow));
	is_collecting = false;
}

TestSuite(pysample_slow, .init = set_up);

/* By number; "main" asks for "evaluate", for "forward", and that for torch's. */
static const struct {
	const char *function, *file;
} names[] = {
	{"", ""}, {"<module>", "/home/me/train.py"}, {"evaluate", "/home/me/train.py"},
	{"evaluate.<locals>.<listcomp>", "/home/me/train.py"}, {"Net.forward", "/home/me/net.py"},
	{"Module._call_impl", "/x/site-packages/torch/nn/modules/module.py"},
	{"save", "/home/a\nb/train.py"},
	{"Trainer._evaluate", "/x/site-packages/transformers/trainer.py"},
	{"Trainer.evaluation_loop", "/x/site-packages/transformers/trainer.py"},
	{"Layer.forward_with_checkpointing", "/x/site-packages/transformers/bert.py"},
	{"save", "/x/site-packages/torch/serialization.py"},
	{"Agent.collect", "/x/site-packages/gymnastics/agent.py"},
	{"Agent._step", "/x/site-packages/gymnastics/agent.py"},
	{"timed.<locals>.wrapped", "/x/site-packages/gymnastics/timed.py"},
	{"wrapper", "/x/site-packages/gymnastics/timed.py"},
	{"dumps", "/usr/lib/python3.11/json/__init__.py"},
	{"log", "/home/me/my-packages/log.py"},
};
enum { NAMES = sizeof(names) / sizeof(names[0]), MANY = TP_SLOW_FUNCTIONS + 20 };

static bool name(uint32_t string, const char **bytes, uint32_t *n_bytes)
{
	static char text[MANY][200];

	*n_bytes = (uint32_t)snprintf(text[string], sizeof(text[0]), "%s%c%s",
				      names[string < NAMES ? string : 1].function, 0,
				      names[string < NAMES ? string : 1].file);
	*bytes = text[string];
	return true;
}

/* Of n functions, outermost first, each at that line. */
static void take(uint32_t times, const uint32_t *function, uint32_t n, uint32_t line)
{
	look.n = n;
	for (uint32_t i = 0; i < n; i++)
		look.frame[n - 1 - i] = (struct tp_pysample_frame){.string = function[i], .line = line + i};
	for (uint32_t i = 0; i < times; i++)
		tp_slow_take(&slow, &look, is_collecting, name);
}

static const char *tell(uint32_t most)
{
	struct tp_text out;

	tp_text_init(&out, told, sizeof(told));
	return tp_slow_tell(&slow, most, name, &out) ? told : NULL;
}

Test(pysample_slow, is_what_takes_half_more_than_the_median)
{
	for (uint32_t i = 0; i + 1 < TP_SLOW_LEAST; i++)
		tp_slow_step(&slow, 100);
	cr_expect_eq(tp_slow_limit(&slow), UINT64_MAX);
	tp_slow_step(&slow, 5000);
	cr_expect_eq(tp_slow_limit(&slow), 150);
	/* Only the last ones count. */
	for (uint32_t i = 0; i < TP_SLOW_STEPS; i++)
		tp_slow_step(&slow, 1000 + i % 3);
	cr_expect_eq(tp_slow_limit(&slow), 1501);
}

Test(pysample_slow, functions_are_told_that_four_of_five_samples_share)
{
	take(8, (const uint32_t[]){1, 2, 3, 4, 5}, 5, 10);
	take(2, (const uint32_t[]){1, 2}, 2, 10);
	cr_expect_str_eq(tell(3), "/home/me/train.py:10 <module> > /home/me/train.py:11 evaluate > "
				  "/home/me/net.py:13 Net.forward");
	cr_expect_str_eq(tell(1), "/home/me/net.py:13 Net.forward");
	take(1, (const uint32_t[]){1, 2}, 2, 10);
	cr_expect_str_eq(tell(3), "/home/me/train.py:10 <module> > /home/me/train.py:11 evaluate");
	/* Only the outermost one is in four of five: then those that are in most. */
	take(4, (const uint32_t[]){1}, 1, 30);
	cr_expect_str_eq(tell(3), "/home/me/train.py:10 <module> > /home/me/train.py:11 evaluate > "
				  "/home/me/net.py:13 Net.forward");
	cr_expect_str_eq(tell(1), "/home/me/net.py:13 Net.forward");
	take(1, (const uint32_t[]){1}, 1, 30);
	cr_expect_str_eq(tell(3), "/home/me/train.py:10 <module> > /home/me/train.py:11 evaluate");
	take(6, (const uint32_t[]){1}, 1, 30);
	cr_expect_str_eq(tell(3), "/home/me/train.py:10 <module>");
	/* Of a few all but one. */
	for (uint32_t n_others = 1; n_others <= 2; n_others++) {
		for (uint32_t n = 3; n <= 5; n++) {
			tp_slow_reset(&slow);
			take(n - n_others, (const uint32_t[]){1, 2}, 2, 10);
			take(n_others, (const uint32_t[]){1}, 1, 10);
			cr_expect_eq(strstr(tell(3), "evaluate") != NULL, n_others * 2 < n, "%u: %s", n, tell(3));
		}
	}
}

Test(pysample_slow, what_a_framework_does_is_told_by_its_functions_name)
{
	take(10, (const uint32_t[]){1, 7, 8, 9, 5, 11}, 6, 10);
	cr_expect_str_eq(tell(3), "/home/me/train.py:10 <module> > "
				  "/x/site-packages/transformers/trainer.py:12 Trainer.evaluation_loop");
	tp_slow_reset(&slow);
	/* Around the user's own function it says nothing more; torch's own name every file's end. */
	take(10, (const uint32_t[]){1, 7, 4, 10}, 4, 10);
	cr_expect_str_eq(tell(3), "/home/me/train.py:10 <module> > /home/me/net.py:12 Net.forward");
	tp_slow_reset(&slow);
	/* In three of five only. */
	take(6, (const uint32_t[]){1, 8}, 2, 10);
	take(4, (const uint32_t[]){1}, 1, 10);
	cr_expect_str_eq(tell(3), "/home/me/train.py:10 <module>");
	tp_slow_reset(&slow);
	/* A program of a framework's own command. */
	take(10, (const uint32_t[]){7}, 1, 10);
	cr_expect_str_eq(tell(3), "/x/site-packages/transformers/trainer.py:10 Trainer._evaluate");
}

Test(pysample_slow, of_a_library_the_innermost_public_function_is_told)
{
	take(10, (const uint32_t[]){1, 9, 11, 12, 13, 14, 15, 10}, 8, 10);
	cr_expect_str_eq(tell(3), "/home/me/train.py:10 <module> > "
				  "/x/site-packages/gymnastics/agent.py:12 Agent.collect");
	tp_slow_reset(&slow);
	/* Not around the user's own. */
	take(10, (const uint32_t[]){11, 1}, 2, 10);
	cr_expect_str_eq(tell(3), "/home/me/train.py:11 <module>");
	tp_slow_reset(&slow);
	/* A folder of the user's own with such a name. */
	take(10, (const uint32_t[]){1, 16, 11}, 3, 10);
	cr_expect_str_eq(tell(3), "/home/me/train.py:10 <module> > /home/me/my-packages/log.py:11 log > "
				  "/x/site-packages/gymnastics/agent.py:12 Agent.collect");
	tp_slow_reset(&slow);
	/* Garbage is no matter of whose it is. */
	is_collecting = true;
	take(10, (const uint32_t[]){1, 11}, 2, 10);
	cr_expect_str_eq(tell(3), "/home/me/train.py:10 <module> > garbage collection");
}

Test(pysample_slow, the_line_is_that_of_most_samples)
{
	take(3, (const uint32_t[]){1}, 1, 10);
	take(4, (const uint32_t[]){1}, 1, 30);
	take(5, (const uint32_t[]){1}, 1, 30);
	cr_expect_str_eq(tell(3), "/home/me/train.py:30 <module>");
}

Test(pysample_slow, few_samples_and_others_code_say_nothing)
{
	take(2, (const uint32_t[]){1}, 1, 10);
	cr_expect_null(tell(3));
	tp_slow_reset(&slow);
	take(9, (const uint32_t[]){5}, 1, 10);
	cr_expect_null(tell(3));
}

Test(pysample_slow, one_that_calls_itself_is_in_a_sample_once_and_a_line_stays_one)
{
	take(4, (const uint32_t[]){6, 6, 6}, 3, 10);
	cr_expect_eq(slow.function[0].n, 4);
	cr_expect_str_eq(tell(3), "/home/a?b/train.py:10 save");
}

Test(pysample_slow, more_functions_than_there_is_room_for_are_left_out)
{
	uint32_t many[MANY - 1];

	for (uint32_t i = 0; i < MANY - 1; i++)
		many[i] = i + 1;
	take(3, many, MANY - 1, 1);
	cr_expect_eq(slow.n_functions, TP_SLOW_FUNCTIONS);
	cr_expect_not_null(tell(3));
}

Test(pysample_slow, half_of_the_samples_say_that_garbage_is_collected)
{
	take(3, (const uint32_t[]){1, 2}, 2, 10);
	is_collecting = true;
	take(2, (const uint32_t[]){1, 4}, 2, 10);
	cr_expect_str_eq(tell(3), "/home/me/train.py:10 <module> > /home/me/train.py:11 evaluate");
	take(1, (const uint32_t[]){1, 4}, 2, 10);
	cr_expect_str_eq(tell(3), "/home/me/train.py:10 <module> > garbage collection");
	/* Also where the samples share no function of the user's. */
	tp_slow_reset(&slow);
	take(4, (const uint32_t[]){5}, 1, 10);
	cr_expect_str_eq(tell(3), "garbage collection");
}
