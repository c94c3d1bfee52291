/* SPDX-License-Identifier: Apache-2.0 */
/* Steps without a core: which looks make which lines of the ledger. */
#include <criterion/criterion.h>

#include <string.h>

#include "runtime/probe/host/host_crowd.h"

enum { MS = 1000000 };

static char buf[16384];
static struct tp_text out;
static struct tp_crowd crowd;

static void set_up(void)
{
	memset(&crowd, 0, sizeof(crowd));
	tp_text_init(&out, buf, sizeof(buf));
}

TestSuite(host_crowd, .init = set_up);

/* A look each 100 ms, in these steps, with so much of the time waited. */
static void look(uint64_t step, uint64_t percent)
{
	tp_crowd_take(&crowd, step, 100 * MS, percent * MS, &out);
}

Test(host_crowd, looks_in_a_row_become_one_line)
{
	look(5, 0);
	look(10, 40);
	look(16, 60);
	cr_expect_str_eq(buf, "", "it goes on");
	look(22, 19);
	cr_expect_str_eq(buf, "crowded.5=15 49\n");
	look(30, 100);
	tp_crowd_end(&crowd, &out);
	tp_crowd_end(&crowd, &out);
	cr_expect_str_eq(buf, "crowded.5=15 49\ncrowded.22=29 99\n");
}

/* One look in ten says little of a step of a second. */
Test(host_crowd, a_step_of_many_looks_has_all_of_theirs)
{
	look(1, 0);
	for (int i = 0; i < 9; i++)
		look(1, i == 3 ? 90 : 0);
	look(2, 0);
	for (int i = 0; i < 9; i++)
		look(2, 30);
	look(3, 30);
	look(4, 0);
	cr_expect_str_eq(buf, "crowded.2=2 29\n");
}

Test(host_crowd, lines_get_rare_and_none_is_cut)
{
	uint32_t n = 0;

	for (uint64_t i = 1; i < 20000; i += 2) {
		look(i, 100);
		look(i + 1, 0);
	}
	for (const char *at = buf; (at = strstr(at, "crowded.")); at++)
		n++;
	cr_expect(n > 90 && n < 130, "%u", n);
	cr_expect_not(out.is_cut);
	/* No room: it is left out whole. */
	tp_text_init(&out, buf, 100);
	set_up();
	out.cap = 100;
	for (uint64_t i = 1; i < 40; i += 2) {
		look(i, 100);
		look(i + 1, 0);
	}
	cr_expect_not(out.is_cut);
	cr_expect_str_eq(buf, "crowded.0=0 99\ncrowded.2=2 99\n");
}
