/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_cores.c - tests of the rules on what threads wait for
 */
#include "tests/unit/advice_rig.h"

static uint32_t n_cores;

static void set_up(void)
{
	advice_init();
	n_cores = 2;
}

TestSuite(overview_cores, .init = set_up);

/* Of one second, in percent: the training thread, and so many others, each. */
static void add_threads(uint32_t cpu, uint32_t wait, uint32_t n, uint32_t other_cpu, uint32_t other_wait)
{
	static char totals[2048];
	int at = snprintf(totals, sizeof(totals),
			  "steps=4\nthreads.wall=1000000000\nthreads.cores=%u\nthreads.cpu=%u0000000\n"
			  "threads.wait=%u0000000\nthread.1000=%u0000000 %u0000000 python\n", n_cores,
			  cpu + n * other_cpu, wait + n * other_wait, cpu, wait);

	for (uint32_t i = 0; i < n; i++)
		at += snprintf(totals + at, sizeof(totals) - (size_t)at,
			       "thread.%u=%u0000000 %u0000000 watch\n", 2000 + i, other_cpu, other_wait);
	fake.run.window[0].totals = totals;
}

/* In each step one operator from either of two lines, the second one after so long a gap. */
static void add_operators(int64_t gap)
{
	add_two_lines();
	for (uint32_t i = 0; i < STEPS; i++) {
		int64_t at = i * 100 * MS, half = at + 50 * MS;

		add_stack(1, at + 1);
		add(TP_REC_OP, "aten::mm", at + (i % 2 ? gap : 2), half);
		add_stack(2, half + 1);
		add(TP_REC_OP, "aten::mm", half + (i % 2 ? 2 : gap), at + 100 * MS - 1);
	}
}

Test(overview_cores, sees_more_threads_than_cores)
{
	const char *text;

	add_operators(2);
	add_threads(15, 55, 14, 4, 36);
	text = print();
	expect_rules(text, (const char *[]){"too-many-threads", NULL});
	cr_expect(strstr(text, "want 6.3 cores, and there are 2: the training thread waits for a core up to "
			       "55.0 % of the time"), "%s", text);
}

/* A library's threads beside torch's: one more than there are cores. */
Test(overview_cores, sees_one_thread_too_many)
{
	static const struct {
		uint32_t cores, cpu, wait, n, other_cpu, other_wait;
		bool is_told;
	} row[] = {
		{2, 65, 30, 2, 60, 28, true},
		{2, 65, 30, 2, 60, 17, false},	/* 2.49 */
		{1, 60, 30, 1, 35, 50, false},	/* one of Python's beside it */
		{1, 50, 48, 1, 49, 48, true},
		{1, 40, 60, 2, 40, 20, true},
		{4, 65, 30, 5, 60, 25, true},
		{4, 65, 30, 5, 60, 18, false},
	};

	for (uint32_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		set_up();
		n_cores = row[i].cores;
		add_operators(2);
		add_threads(row[i].cpu, row[i].wait, row[i].n, row[i].other_cpu, row[i].other_wait);
		expect_rules(print(), (const char *[]){row[i].is_told ? "too-many-threads" : NULL, NULL});
	}
}

Test(overview_cores, does_not_blame_threads_that_others_keep_waiting)
{
	/* As many as cores: other programs hold them. */
	add_operators(2);
	add_threads(28, 70, 1, 28, 70);
	expect_rules(print(), (const char *[]){"waits-for-cores", NULL});
	/* Many, that hardly do anything. */
	add_threads(60, 30, 15, 1, 1);
	expect_rules(print(), (const char *[]){NULL});
	/* The training thread does not wait. */
	add_threads(95, 5, 15, 10, 30);
	expect_rules(print(), (const char *[]){NULL});
	/* A damaged or an older trace. */
	fake.run.window[0].totals = "threads.wall=1000000000\nthreads.cores=x\nthread.=\nthread.7=a b\n";
	expect_rules(print(), (const char *[]){NULL});
}

Test(overview_cores, sees_a_thread_that_holds_pythons_lock)
{
	const char *text;

	add_operators(5200000);
	add_threads(40, 20, 1, 90, 9);
	text = print();
	expect_rules(text, (const char *[]){"interpreter-lock", NULL});
	cr_expect(strstr(text, "up to 40.0 % of the time the training waits for Python's lock: 4 gaps of 5 ms "
			       "between operators in 2 places"), "%s", text);
	cr_expect(strstr(text, "thread 2000 watch\n"), "%s", text);
}

Test(overview_cores, does_not_take_other_waits_for_the_lock)
{
	/* Gaps of another length. */
	add_operators(3 * MS);
	add_threads(40, 20, 1, 90, 9);
	expect_rules(print(), (const char *[]){NULL});
	/* No other thread is busy. */
	set_up();
	add_operators(5200000);
	add_threads(40, 20, 1, 30, 9);
	expect_rules(print(), (const char *[]){NULL});
	/* The training thread is, too. */
	add_threads(80, 19, 1, 90, 9);
	expect_rules(print(), (const char *[]){NULL});
	/* It sleeps on one line: its own pause. */
	set_up();
	add_one_line();
	for (uint32_t i = 0; i < STEPS; i++) {
		add_stack(1, i * 100 * MS + 1);
		add(TP_REC_OP, "aten::mm", i * 100 * MS + 5200000, (i + 1) * 100 * MS - 1);
	}
	add_threads(40, 20, 1, 90, 9);
	expect_rules(print(), (const char *[]){NULL});
}

/* What a machine that has other work does to a line is not the line's fault. */
Test(overview_cores, a_gap_is_nobodys_where_the_training_had_no_core)
{
	static const char cores[] = "the training thread was runnable but waited for a core ";

	for (uint32_t wait = 10; wait <= 30; wait += 20) {
		const char *text;

		set_up();
		add_operators(40 * MS);
		add_threads(60, wait, 0, 0, 0);
		text = print();
		expect_rules(text, (const char *[]){wait == 10 ? "host-code" : NULL, NULL});
		cr_expect_eq(strstr(text, cores) != NULL, wait == 30, "%s", text);
	}
}

/* ---- several ranks, other programs ---- */

static void add_busy(uint64_t busy_percent)
{
	static const char name[] = "core\0%\0cpu";

	for (uint32_t i = 0; i < STEPS; i++) {
		event[n_events] = fake_span(&fake, proc, 0, TP_REC_COUNTER,
					    fake_string(&fake, TP_STRING_COUNTER, name, sizeof(name) - 1),
					    i * 100 * MS, i * 100 * MS);
		event[n_events++].arg = busy_percent;
	}
}

/* As add_threads() has it of the first one, of another rank of two threads, or of a worker. */
static struct tp_proc *add_proc(bool is_worker, uint32_t cpu, uint32_t wait, uint32_t other_wait)
{
	struct tp_proc *other = is_worker ? fake_worker(&fake, proc, 1) : fake_proc(&fake, 1);
	static char totals[300];

	snprintf(totals, sizeof(totals), "threads.wall=1000000000\nthreads.cores=%u\nthreads.cpu=%u0000000\n"
		 "threads.wait=%u0000000\nthread.%u=%u0000000 %u0000000 python\n", n_cores, 2 * cpu, wait + other_wait,
		 other->pid, cpu, wait);
	fake_window(&fake, other, 0, 0, STEPS * 100 * MS)->totals = totals;
	return other;
}

Test(overview_cores, counts_the_threads_of_all_ranks_of_a_machine)
{
	static const struct {
		const char *what, *host;
		uint32_t cores, cpu, wait, others_wait;
		bool is_past, is_worker, is_told;
	} row[] = {
		{"as many each as there are cores", "", 2, 48, 46, 46, false, false, true},
		{"cores that are not full", "", 2, 38, 46, 46, false, false, false},
		{"one and a half as many", "", 2, 45, 31, 31, false, false, true},
		{"not so many", "", 2, 45, 28, 28, false, false, false},
		{"those that train hardly wait", "", 2, 48, 19, 60, false, false, false},
		{"cores of their own", "", 2, 60, 36, 36, false, false, false},
		{"on another machine", "node8", 2, 48, 46, 46, false, false, false},
		{"an earlier start", "", 2, 48, 46, 46, true, false, false},
		{"a worker", "", 2, 48, 46, 46, false, true, false},
	};

	for (uint32_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct tp_proc *other;
		const char *text;

		set_up();
		n_cores = row[i].cores;
		add_operators(2);
		add_threads(row[i].cpu, row[i].wait, 1, row[i].cpu, row[i].others_wait);
		other = add_proc(row[i].is_worker, row[i].cpu, row[i].wait, row[i].others_wait);
		if (row[i].host[0])
			strcpy(other->host, row[i].host);
		other->is_past = row[i].is_past;
		text = print();
		cr_expect_eq(strstr(text, "\n  too-many-threads") != NULL, row[i].is_told, "%s: %s", row[i].what, text);
		if (row[i].is_told && i == 0)
			cr_expect(strstr(text, "threads of 2 ranks that are ready to run want 3.8 cores, and there are 2"),
				  "%s", text);
	}
}

Test(overview_cores, sees_that_others_have_the_cores)
{
	static const struct {
		uint32_t cpu, wait;
		uint64_t busy_percent;	/* 0: not known */
		const char *says;	/* NULL: nothing */
		const char *notes;
	} row[] = {
		{28, 60, 99, "waits for a core up to 60.0 % of the time, though this run uses only 0.6 of 2 cores: "
			     "other programs of the machine have the others",
		 "this run had 0.6 of 2 cores, other programs the others"},
		{28, 60, 0, "other programs of the machine have the others", "other programs the others"},
		{65, 35, 50, "the others are idle, and it may not use them", "1.3 of 2 cores, nobody the others"},
		{28, 32, 99, NULL, "0.6 of 2 cores, other programs the others"},
		/* A third of them is a share among others. */
		{32, 60, 99, NULL, "0.6 of 2 cores, other programs the others"},
		/* It has most of them. */
		{71, 29, 50, NULL, "more threads were runnable than there are cores"},
	};

	for (uint32_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		const char *text;

		set_up();
		add_operators(2);
		add_threads(row[i].cpu, row[i].wait, 1, row[i].cpu, row[i].wait);
		if (row[i].busy_percent)
			add_busy(row[i].busy_percent);
		text = print();
		expect_rules(text, (const char *[]){row[i].says ? "waits-for-cores" : NULL, NULL});
		cr_expect(!row[i].says || strstr(text, row[i].says), "%u: %s", i, text);
		cr_expect(strstr(text, row[i].notes), "%u: %s", i, text);
	}
}

/* In each step ten products of 9 ms, or so many shorter operators. */
static void add_products(const char *name, uint32_t n, int64_t ns)
{
	add_two_lines();
	for (int64_t i = 0; i < STEPS * n; i++)
		add(TP_REC_OP, name, i * 100 * MS / n + 1, i * 100 * MS / n + 1 + ns);
}

Test(overview_cores, sees_that_one_thread_computes_beside_idle_cores)
{
	static const struct {
		const char *what;
		uint32_t cores, cpu, other_cpu, workers_cpu;
		const char *operator;
		uint32_t n;
		int64_t ns;
		bool is_told, has_device;
	} row[] = {
		{"one of four", 4, 96, 3, 0, "aten::addmm", 10, 9 * MS, true, false},
		{"convolutions", 2, 80, 0, 0, "aten::convolution_backward", 10, 9 * MS, true, false},
		{"the only core", 1, 64, 0, 0, "aten::mm", 10, 9 * MS, false, false},
		{"it sleeps at times", 4, 74, 0, 0, "aten::mm", 10, 9 * MS, false, false},
		{"threads help it", 4, 90, 10, 0, "aten::mm", 10, 9 * MS, false, false},
		{"workers run", 2, 80, 0, 26, "aten::mm", 10, 9 * MS, false, false},
		{"short products", 4, 96, 3, 0, "aten::mm", 300, 299000, false, false},
		{"long enough", 4, 96, 3, 0, "aten::mm", 300, 301000, true, false},
		{"few products", 4, 96, 3, 0, "aten::mm", 10, 2500000, false, false},
		{"no products", 4, 96, 3, 0, "aten::sort", 10, 9 * MS, false, false},
		{"with a device", 4, 96, 3, 0, "aten::mm", 10, 9 * MS, false, true},
	};

	for (uint32_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		const char *text;

		set_up();
		n_cores = row[i].cores;
		add_products(row[i].operator, row[i].n, row[i].ns);
		proc->n_devices = row[i].has_device;
		add_threads(row[i].cpu, 0, 1, row[i].other_cpu, 0);
		if (row[i].workers_cpu)
			add_proc(true, row[i].workers_cpu, 0, 0);
		text = print();
		cr_expect_eq(strstr(text, "\n  too-few-threads") != NULL, row[i].is_told, "%s: %s", row[i].what, text);
		cr_expect(i || strstr(text, "1.0 of 4 cores are used, by one thread a rank: products of matrices and "
					    "convolutions are 90.0 % of a step"), "%s", text);
	}
}

/* Each of two ranks has half of the cores that are idle. */
Test(overview_cores, divides_idle_cores_by_ranks)
{
	for (uint32_t cores = 3; cores <= 4; cores++) {
		set_up();
		n_cores = cores;
		add_products("aten::mm", 10, 5 * MS);
		add_threads(95, 0, 0, 0, 0);
		add_proc(false, 47, 0, 0);
		expect_rules(print(), (const char *[]){cores == 4 ? "too-few-threads" : NULL, NULL});
	}
}

/* ---- workers ---- */

/* The training thread and a worker, as in add_threads(), and how busy the two cores were. */
static void add_worker(uint32_t trainer_wait, uint32_t worker_cpu, uint64_t busy_percent)
{
	struct tp_proc *worker = fake_worker(&fake, proc, 1);
	static char totals[200];

	add_threads(60, trainer_wait, 0, 0, 0);
	snprintf(totals, sizeof(totals), "threads.wall=900000000\nthreads.cores=2\nthreads.cpu=%u0000000\n",
		 worker_cpu);
	fake_window(&fake, worker, 0, 0, STEPS * 100 * MS)->totals = totals;
	add_busy(busy_percent);
}

Test(overview_cores, sees_workers_that_take_the_cores)
{
	const char *text;

	add_operators(2);
	add_worker(30, 50, 97);
	text = print();
	expect_rules(text, (const char *[]){"busy-workers", NULL});
	cr_expect(strstr(text, "run on 0.5 of 2 cores, which are full: the training waits for a core in up to 30.0 %"),
		  "%s", text);
}

Test(overview_cores, does_not_blame_workers_for_other_load)
{
	static const struct {
		uint32_t trainer_wait, worker_cpu;
		uint64_t busy_percent;
	} row[] = {
		{30, 50, 60},	/* cores are idle */
		{30, 10, 97},	/* other programs hold them, which costs a third or less */
		{10, 90, 97},	/* the training hardly waits */
	};

	for (uint32_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		set_up();
		add_operators(2);
		add_worker(row[i].trainer_wait, row[i].worker_cpu, row[i].busy_percent);
		expect_rules(print(), (const char *[]){NULL});
	}
}

Test(overview_cores, says_once_that_loading_is_slow)
{
	add_operators(2);
	add_worker(30, 50, 97);
	for (uint32_t i = 0; i < STEPS; i++)
		fake_step_row(&fake, proc, i, i * 100 * MS, 100 * MS)->data_wait_ns = 20 * MS;
	expect_rules(print(), (const char *[]){"data-loading", NULL});
}
