/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_ranks.c - tests of the rules on ranks: stragglers, ranks that wait by turns, ranks without a core
 */
#include "tests/unit/advice_gpu_rig.h"

static void set_up(void)
{
	advice_gpu_init();
}

TestSuite(overview_ranks, .init = set_up);

/* Of 400 ms on two cores: 1000 and 1001 train. */
#define THREADS(ran, waited, others) \
	"threads.wall=400000000\nthreads.cores=2\nthreads.cpu=280000000\nthreads.wait=120000000\n" \
	"thread.1000=" ran "000000 " waited "000000 python\n" \
	"thread.1001=" ran "000000 " waited "000000 python\n" others
#define THREAD(ran, waited) THREADS(ran, waited, "")

/* Two ranks: at each collective the second, or each by turns, comes so long after the other. */
static void add_late_ranks(uint32_t late_ms, bool by_turns, const char *first, const char *second)
{
	struct tp_proc *both[2] = {proc, fake_proc(&fake, 1)};

	for (uint32_t r = 0; r < 2; r++) {
		struct tp_window *window = fake_window(&fake, both[r], 0, 0, STEPS * 100 * MS);

		window->n_events = 1;
		window->totals = r ? second : first;
	}
	for (uint32_t i = 0; i < STEPS; i++) {
		const uint32_t early = by_turns ? i % 2 : 0;
		const int64_t at = i * 100 * MS, last = at + 80 * MS;

		for (uint32_t r = 0; r < 2; r++)
			event[n_events++] = fake_step(&fake, both[r], i, at, at + 100 * MS);
		for (uint32_t r = 0; r < 2; r++)
			event[n_events++] = fake_span(&fake, both[r], 0, TP_REC_RANGE,
						      fake_text(&fake, "gloo:all_reduce"),
						      r == early ? last - late_ms * MS : last, at + 90 * MS);
	}
}

static void add_ranks(bool by_turns, const char *first, const char *second)
{
	add_late_ranks(50, by_turns, first, second);
}

/* Nobody is to blame, nor are buckets. */
Test(overview_ranks, tells_waiting_for_a_rank_from_moving_bytes)
{
	add_ranks(true, NULL, NULL);
	expect_rules(print(), (const char *const[]){"communication", NULL});
	cr_expect(strstr(print(), "nothing but communication runs, 71.4 % of it waiting for the last rank"),
		  "%s", print());
	cr_expect(strstr(print(), "give all ranks equal work in each step"), "%s", print());
	/* Threads of collectives that wait for a core do not count, those that train do. */
	for (uint32_t r = 0; r < 2; r++)
		fake.run.window[r].totals = THREADS("200", "10", "thread.9=80000000 110000000 gloo\n");
	expect_rules(print(), (const char *const[]){"communication", NULL});
	for (uint32_t r = 0; r < 2; r++)
		fake.run.window[r].totals = THREADS("200", "79", "thread.9=80000000 41000000 gloo\n");
	expect_rules(print(), (const char *const[]){NULL});
}

/* Of communication in 25 % of the time 15 % of a step are waiting. */
Test(overview_ranks, waiting_is_told_by_what_it_takes_itself)
{
	add_late_ranks(30, true, NULL, NULL);
	expect_rules(print(), (const char *const[]){"communication", NULL});
	cr_expect(strstr(print(), "for 25.0 % of step time nothing but communication"), "%s", print());
	set_up();
	add_late_ranks(28, true, NULL, NULL);
	expect_rules(print(), (const char *const[]){NULL});
}

Test(overview_ranks, tells_a_straggler_from_a_rank_that_has_no_core)
{
	static const struct {
		const char *first, *second, *wanted[2];
	} row[] = {
		{NULL, NULL, {"uneven-ranks", NULL}},
		{THREAD("100", "10"), THREAD("100", "10"), {"uneven-ranks", NULL}},
		/* It may be what else the machine runs ... */
		{THREAD("100", "120"), THREAD("100", "120"), {NULL}},
		{THREAD("100", "10"), THREAD("120", "120"), {NULL}},
		{THREAD("160", "10"), THREAD("100", "120"), {NULL}},
		{NULL, THREAD("160", "120"), {NULL}},
		/* ... but for a rank that also runs longer. */
		{THREAD("40", "60"), THREAD("160", "120"), {"uneven-ranks", NULL}},
	};

	for (uint32_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		set_up();
		add_ranks(false, row[i].first, row[i].second);
		expect_rules(print(), row[i].wanted);
	}
}

/* Two ranks: in each step both call `calls[r]` operators of the same line, each after such a gap, the
 * second one so much after its step's start, and meet when these are done. */
static void add_compute(const int64_t ns[2], const uint32_t calls[2], const int64_t gap[2], int64_t idle,
			const char *other_host)
{
	struct tp_proc *both[2] = {proc, fake_proc(&fake, 1)};

	proc->n_devices = 0;
	if (other_host)
		strcpy(both[1]->host, other_host);
	for (uint32_t r = 0; r < 2; r++) {
		fake_window(&fake, both[r], 0, 0, STEPS * 100 * MS)->n_events = 1;
		proc = both[r];
		add_line(1, 10);
	}
	for (uint32_t i = 0; i < STEPS; i++)
		for (uint32_t r = 0; r < 2; r++) {
			const int64_t at = i * 100 * MS, first = at + (r ? idle : 0),
				      each = (at + ns[r] - first) / calls[r];

			proc = both[r];
			event[n_events++] = fake_step(&fake, proc, i, at, at + 100 * MS);
			add_stack(1, first + 1);
			for (uint32_t k = 0; k < calls[r]; k++)
				add(TP_REC_OP, "aten::mm", first + 2 + k * each + gap[r],
				    first + 1 + (k + 1) * each);
			event[n_events++] = fake_span(&fake, proc, 0, TP_REC_RANGE,
						      fake_text(&fake, "gloo:all_reduce"), at + ns[r] + 2,
						      at + 90 * MS - MS / 2);
		}
	proc = both[0];
}

Test(overview_ranks, a_core_that_is_slower_than_its_neighbour_is_no_straggler)
{
	static const struct {
		int64_t ns[2];
		uint32_t calls[2];
		int64_t gap[2], idle;
		const char *other_host, *wanted;
	} row[] = {
		/* A sixth of a step is communication, and half of that waiting: for that core. */
		{{66 * MS, 82 * MS}, {60, 60}, {0, 0}, 0, NULL, NULL},
		/* More than a core's own way, other work, another machine, code of the host. */
		{{63 * MS, 82 * MS}, {60, 60}, {0, 0}, 0, NULL, NULL},
		{{60 * MS, 82 * MS}, {60, 60}, {0, 0}, 0, NULL, "uneven-ranks"},
		{{70 * MS, 82 * MS}, {60, 62}, {0, 0}, 0, NULL, "uneven-ranks"},
		{{70 * MS, 82 * MS}, {60, 60}, {0, 0}, 0, "node8", "uneven-ranks"},
		{{66 * MS, 76 * MS}, {60, 60}, {0, 0}, 10 * MS, NULL, "uneven-ranks"},
		/* Asking for them takes as much longer, hardly longer, too little to tell, twice as long. */
		{{60 * MS, 82 * MS}, {60, 60}, {MS / 10, MS / 7}, 0, NULL, NULL},
		{{60 * MS, 82 * MS}, {60, 60}, {MS / 10, MS / 9}, 0, NULL, "uneven-ranks"},
		{{60 * MS, 82 * MS}, {60, 60}, {MS / 100, MS / 70}, 0, NULL, "uneven-ranks"},
		{{38 * MS, 82 * MS}, {60, 60}, {MS / 20, MS / 7}, 0, NULL, "uneven-ranks"},
	};

	for (uint32_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		set_up();
		add_compute(row[i].ns, row[i].calls, row[i].gap, row[i].idle, row[i].other_host);
		expect_rules(print(), (const char *const[]){row[i].wanted, NULL});
	}
}

/* Steps that no window has: every tenth is slow on both ranks. */
static void add_slow_steps(const char *first, const char *second)
{
	for (uint32_t r = 0; r < 2; r++) {
		int64_t now = 1000 * MS;

		fake.run.proc[r]->started = r ? second : first;
		for (uint32_t i = STEPS; i < 60; i++) {
			const int64_t ns = (i % 10 == 9 ? 300 : 20) * MS;

			fake_step_row(&fake, fake.run.proc[r], i, now, ns);
			now += ns;
		}
	}
}

Test(overview_ranks, where_slow_steps_stand_is_asked_of_the_rank_that_others_wait_for)
{
	static const char learns[] = "slow.9=9 /a/train.py:1 main > /a/train.py:3 train > /a/train.py:5 learn\n",
			  saves[] = "slow.9=9 /a/train.py:1 main > /a/train.py:7 save\n";

	add_ranks(false, NULL, NULL);
	add_slow_steps(learns, saves);
	cr_expect(strstr(print(), "...: train.py:1 main > train.py:7 save\n"), "%s", print());
	/* Neither is waited for more than the other. */
	set_up();
	add_ranks(true, NULL, NULL);
	add_slow_steps(saves, learns);
	cr_expect(strstr(print(), "...: train.py:1 main > train.py:3 train > train.py:5 learn\n"), "%s", print());
}
