/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control.c - requests to a running job, and its answers, as text
 */
#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

#include "runtime/trace/control.h"

Test(control, writes_what_it_reads)
{
	static const char *const commands[] = {"status", "stop", "window=1", "window=1000000"};

	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		struct tp_control control = {.id = "1f-2"}, again;
		char file[TP_CONTROL_BYTES], wanted[TP_CONTROL_BYTES];
		struct tp_text text;

		cr_assert(tp_control_parse_command(commands[i], &control));
		tp_text_init(&text, file, sizeof(file));
		tp_control_format(&control, &text);
		snprintf(wanted, sizeof(wanted), "trainprof control 1f-2 %s\n", commands[i]);
		cr_expect_str_eq(file, wanted);
		cr_assert(tp_control_parse(file, text.len, &again));
		cr_expect_eq(again.what, control.what);
		cr_expect_eq(again.steps, control.steps);
		cr_expect_str_eq(again.id, "1f-2");
	}
}

Test(control, takes_nothing_else_for_a_request)
{
	static const char *const files[] = {
		"", "\n", "trainprof control", "trainprof control 1 status",
		"trainprof control 1 status\nmore\n", "trainprof control 1 window=0\n",
		"trainprof control 1 window=1000001\n", "trainprof control 1 window=4x\n",
		"trainprof control 1 window=-4\n", "trainprof control 1 window=\n",
		"trainprof control  status\n", "trainprof control ../1 status\n",
		"trainprof control A status\n", "trainprof control 1\n", "trainprof control 1 \n",
		"trainprof control 1 halt\n",
		"trainprof control 0123456789012345678901234567890123456789 status\n",
		"TRAINPROF control 1 status\n",
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		struct tp_control control;

		cr_expect_not(tp_control_parse(files[i], strlen(files[i]), &control), "%s", files[i]);
	}
}

Test(control, reads_answers_line_by_line)
{
	const char *at = "taken so\nrefused it is late\ndone w", *said;
	size_t n;

	cr_expect_eq(tp_answer_parse(&at, &said, &n), TP_ANSWER_TAKEN);
	cr_expect_eq(tp_answer_parse(&at, &said, &n), TP_ANSWER_REFUSED);
	cr_expect(n == strlen("it is late") && !memcmp(said, "it is late", n));
	cr_expect_eq(tp_answer_parse(&at, &said, &n), TP_ANSWER_NONE, "half a line");
	at = "perhaps so\n";
	cr_expect_eq(tp_answer_parse(&at, &said, &n), TP_ANSWER_NONE);
}
