/* SPDX-License-Identifier: Apache-2.0 */
/*
 * label.c - tests of names of processes and of facts in META texts
 */
#include <criterion/criterion.h>
#include <unistd.h>

#include "merge/model/label.h"
#include "tests/unit/fake_run.h"

Test(label, finds_facts_by_their_whole_key)
{
	static const char text[] = "torch=2.13.0\nSCHEDULE=wait=5,warmup=1\nempty=\nno equals\n"
				   "torchx=1\nlast=end";
	static const struct {
		const char *key, *value;
	} cases[] = {
		{"torch", "2.13.0"}, {"SCHEDULE", "wait=5,warmup=1"}, {"empty", ""},
		{"torchx", "1"},     {"last", "end"},		      {"tor", NULL},
		{"no equals", NULL}, {"wait", NULL},
	};
	char buf[64];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *value = tp_fact(text, cases[i].key, buf, sizeof(buf));

		if (cases[i].value)
			cr_expect(value && !strcmp(value, cases[i].value), "%s", cases[i].key);
		else
			cr_expect_null(value, "%s", cases[i].key);
	}
	cr_expect_str_eq(tp_fact(text, "torch", buf, 4), "2.1");
	cr_expect_null(tp_fact("", "torch", buf, 4));
	cr_expect_null(tp_fact(NULL, "torch", buf, 4));
}

Test(label, reads_numbers_and_nothing_else)
{
	static const char text[] = "a=12\nb=x\nc=12x\nd=-1\ne=\nf=18446744073709551615\n";

	cr_expect_eq(tp_fact_u64(text, "a", 7), 12);
	cr_expect_eq(tp_fact_u64(text, "b", 7), 7);
	cr_expect_eq(tp_fact_u64(text, "c", 7), 7);
	cr_expect_eq(tp_fact_u64(text, "d", 7), 7);
	cr_expect_eq(tp_fact_u64(text, "e", 7), 7);
	cr_expect_eq(tp_fact_u64(text, "f", 7), UINT64_MAX);
	cr_expect_eq(tp_fact_u64(text, "g", 7), 7);
}

Test(label, walks_over_facts_with_a_prefix)
{
	const char *at = "off.shapes=why\ntorch=2\noff.=empty key\noff.x=";
	char key[64], value[8];

	cr_assert(tp_fact_next(&at, "off.", key, value, sizeof(value)));
	cr_expect_str_eq(key, "shapes");
	cr_expect_str_eq(value, "why");
	cr_assert(tp_fact_next(&at, "off.", key, value, sizeof(value)));
	cr_expect_str_eq(key, "");
	cr_expect_str_eq(value, "empty k");
	cr_assert(tp_fact_next(&at, "off.", key, value, sizeof(value)));
	cr_expect_str_eq(key, "x");
	cr_expect_str_eq(value, "");
	cr_expect_not(tp_fact_next(&at, "off.", key, value, sizeof(value)));
}

Test(label, names_processes_so_that_no_two_are_equal)
{
	struct fake fake;
	char buf[64];

	fake_init(&fake);
	fake_proc(&fake, 0);
	fake_proc(&fake, 1);
	fake_proc(&fake, 1);
	fake_proc(&fake, -1);
	cr_expect_str_eq(tp_label_proc(buf, &fake.run, fake.procs[0]), "rank 0");
	cr_expect_str_eq(tp_label_proc(buf, &fake.run, fake.procs[1]), "rank 1 pid 1001");
	cr_expect_str_eq(tp_label_proc(buf, &fake.run, fake.procs[3]), "pid 1003");
	fake_proc(&fake, 0)->worker = 2;
	fake_proc(&fake, 1)->worker = 1;
	fake.procs[5]->parent_pid = 1001;
	cr_expect_str_eq(tp_label_proc(buf, &fake.run, fake.procs[0]), "rank 0");
	cr_expect_str_eq(tp_label_proc(buf, &fake.run, fake.procs[4]), "rank 0 worker 2");
	cr_expect_str_eq(tp_label_proc(buf, &fake.run, fake.procs[5]), "rank 1 pid 1001 worker 1");
	cr_expect_str_eq(tp_label_thread(buf, &fake.procs[0]->thread[0]), "main thread");
	cr_expect_str_eq(tp_label_thread(buf, &fake.procs[0]->thread[2]), "thread 1002 'python'");
}

Test(label, shows_programs_as_one_types_them)
{
	static const struct {
		const char *program, *shown;
	} cases[] = {{"file:/x/train.py", "/x/train.py"}, {"module:a.b", "-m a.b"},
		     {"command", "python -c '...'"}, {"train.py", "train.py"},
		     {"file:/x/./y/../train.py", "/x/train.py"}, {"file:/../../x//train.py", "/x/train.py"},
		     {"file:/x/y/..", "/x"}, {"file:/", "/"}, {"file:train.py", "train.py"},
		     {"exec:./native 1", "./native 1"},
		     {"", "?"},				  {NULL, "?"}};
	struct tp_proc proc = {.at = 0};
	char buf[400];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		proc.program = cases[i].program;
		cr_expect_str_eq(tp_label_program(buf, &proc), cases[i].shown);
	}
	/* Below the working directory: from there. */
	cr_assert_eq(chdir("/usr"), 0);
	proc.program = "file:/usr/./lib/train.py";
	cr_expect_str_eq(tp_label_program(buf, &proc), "lib/train.py");
	proc.program = "file:/usr/../usr/lib/train.py";
	cr_expect_str_eq(tp_label_program(buf, &proc), "lib/train.py");
	proc.program = "file:/usrlib/train.py";
	cr_expect_str_eq(tp_label_program(buf, &proc), "/usrlib/train.py");
}

Test(label, knows_every_phase_and_does_not_trust_the_number)
{
	for (uint32_t phase = 0; phase < 256; phase++)
		cr_expect(tp_label_phase((uint8_t)phase)[0]);
	cr_expect_str_eq(tp_label_phase(TP_PHASE_ACTIVE), "active");
	cr_expect_str_eq(tp_label_phase(99), "?");
	cr_expect_str_eq(tp_label_source(99), "?");
}
