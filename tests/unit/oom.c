/* SPDX-License-Identifier: Apache-2.0 */
/* Out-of-memory reports as text, back, and in words. */
#include <criterion/criterion.h>

#include <string.h>

#include "runtime/trace/oom.h"

static const struct tp_oom oom = {
	.run_id = 0xabcdef, .rank = 3, .restart = 1, .pid = 4711, .real_ns = 5, .device = "cuda:2",
	.asked = 3ull << 30, .allocated = 70ull << 30, .reserved = 75ull << 30, .tensors = 1 << 20,
	.tensors_peak = 3 << 19, .heap = 900, .resident = 2047, .virtual = 9, .virtual_limit = UINT64_MAX,
	.steps = 20, .grown = 16 << 20, .grown_steps = 15, .where = "grow (train.py:33)",
	.within = "cat (functional.py:3)", .held = "5.0 GiB (7.1 %) kept across steps",
};
static char text[TP_REPORT_HEAD_MAX];

Test(oom, comes_back_as_it_was_written)
{
	struct tp_oom back;
	struct tp_text out;

	tp_text_init(&out, text, sizeof(text));
	tp_oom_put(&oom, &out);
	cr_assert(tp_oom_parse(text, out.len, &back));
	cr_expect_eq(memcmp(&oom, &back, sizeof(oom)), 0);
	for (size_t n = 0; n < out.len; n++)
		cr_expect_not(tp_oom_parse(text, n, &back), "%zu bytes", n);
}

Test(oom, says_what_failed_where_and_what_was_held)
{
	struct tp_text out;

	tp_text_init(&out, text, sizeof(text));
	tp_oom_say(&oom, &out);
	cr_expect_str_eq(text,
		"out of memory on cuda:2: 3221225472 bytes requested (3.0 GiB) in grow (train.py:33), step 20\n"
		"of the device, allocated 70.0 GiB, reserved 75.0 GiB, reserved and not in use 5.0 GiB, "
		"tensors on the host 1.0 MiB, the most in this step 1.5 MiB, blocks of malloc 900 B, memory of "
		"the process 1.9 KiB, its addresses 9 B of 15.9 EiB, tensors grew by 16.0 MiB in the last 15 "
		"steps\n");
}

Test(oom, says_who_held_it_where_that_is_known)
{
	const struct tp_oom unknown = {.pid = 1};
	struct tp_text out;

	tp_text_init(&out, text, sizeof(text));
	tp_oom_say_held(&unknown, &out);
	cr_expect_eq(out.len, 0);
	tp_oom_say_held(&oom, &out);
	cr_expect_str_eq(text, "held by 5.0 GiB (7.1 %) kept across steps\n");
}

Test(oom, says_little_where_little_is_known)
{
	const struct tp_oom little = {.rank = -1, .pid = 1, .device = "host", .asked = 1023};
	struct tp_text out;

	tp_text_init(&out, text, sizeof(text));
	tp_oom_say(&little, &out);
	cr_expect_str_eq(text, "out of memory on the host: 1023 bytes requested (1023 B), step 0\n\n");
}
