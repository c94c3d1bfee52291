/* SPDX-License-Identifier: Apache-2.0 */
/* Containers that grow, read from the facts of a ledger that anybody may have written. */
#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

#include "merge/facts/code/keepers.h"

static struct tp_keeper keeper[TP_KEEPERS];

static uint32_t read(const char *started)
{
	const struct tp_proc proc = {.started = started};

	memset(keeper, 0, sizeof(keeper));
	return tp_keepers_of(&proc, keeper);
}

Test(keepers, those_of_the_last_look_count)
{
	char text[300];

	cr_assert_eq(read("command=x\n"
			  "grows.3=10\ngrows.3.0=2 1 10 9 8 1 list /home/me/train.py: old\n"
			  "grows.12=40\n"
			  "grows.12.0=2 4 40 42 8 1 list /home/me/a: b/train.py: history\n"
			  "grows.12.1=0 0 40 10 900 0 cache /home/me/train.py: decode\n"
			  "grows.4=20\ngrows.4.0=2 1 20 19 8 1 list /home/me/train.py: older\n"), 2);
	cr_expect_str_eq(keeper[0].name, "history");
	cr_expect_str_eq(keeper[0].file, "/home/me/a: b/train.py");
	cr_expect_eq(keeper[0].first_step, 2);
	cr_expect_eq(keeper[0].first, 4);
	cr_expect_eq(keeper[0].last_step, 40);
	cr_expect_eq(keeper[0].last, 42);
	cr_expect(keeper[0].has_tensor);
	cr_expect_eq(keeper[1].item_bytes, 900);
	cr_expect_float_eq(tp_keeper_rate(&keeper[1]), 0.25, 1e-9);
	cr_expect_str_eq(tp_keeper_tell(text, sizeof(text), &keeper[0]),
			 "'history', a list of /home/me/a: b/train.py: one more item each step");
	cr_expect_str_eq(tp_keeper_tell(text, sizeof(text), &keeper[1]),
			 "'decode', a functools cache of /home/me/train.py: 0.25 more items each step");
}

Test(keepers, what_has_stopped_growing_is_not_told)
{
	cr_expect_eq(read("grows.3=10\ngrows.3.0=2 1 10 9 8 1 list /t.py: old\ngrows.4=20\n"), 0);
	cr_expect_eq(read(""), 0);
	cr_expect_eq(read(NULL), 0);
}

Test(keepers, lines_that_nobody_wrote_are_left_out)
{
	static const char *const odd[] = {
		"", "1", "2 1 10 9 8 1 list", "2 1 10 9 8 1 list nowhere", "10 1 2 9 8 1 list /t.py: x",
		"10 1 10 9 8 1 list /t.py: x", "2 9 10 9 8 1 list /t.py: x", "2 1 x 9 8 1 list /t.py: x",
		"2 1 10 9 8 1 alistofalongnameindeed /t.py: x",
	};

	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		char text[400];

		snprintf(text, sizeof(text), "grows.1=9\ngrows.1.0=%s\n", odd[i]);
		cr_expect_eq(read(text), 0, "'%s'", odd[i]);
	}
	cr_expect_eq(read("grows.x=1\ngrows.=2\ngrows.1.=2 1 10 9 8 1 list /t.py: x\n"), 1);
	cr_expect_eq(read("grows.1.0=2 1 10 9 8 1 list /t.py: a\ngrows.1.1=2 1 10 9 8 1 list /t.py: b\n"
			  "grows.1.2=2 1 10 9 8 1 list /t.py: c\ngrows.1.3=2 1 10 9 8 1 list /t.py: d\n"
			  "grows.1.4=2 1 10 9 8 1 list /t.py: e\n"), TP_KEEPERS);
}
