/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_rhythm.c - tests of the rules on the steps of a whole run: each applies where it should,
 * and nowhere else
 */
#include <criterion/criterion.h>

#include "runtime/trace/ring_layout.h"
#include "tests/unit/fake_run.h"

enum { MS = 1000000, STEPS = 121 };

static const struct tp_view_options options = {.top = 20};
static struct fake fake;
static const char *started = "";
static int64_t pause_ms;	/* before steps of which n % pause_every is 0; of no step */
static uint32_t pause_every = 30;
static uint32_t index_jump;	/* of these steps: others are not in the ledger */

/* Milliseconds of a step. */
typedef int64_t length(uint32_t step);

static const char *print(length *of, uint32_t in_epoch, uint32_t n, uint8_t phase)
{
	struct tp_proc *proc;
	int64_t now = 0;

	fake_init(&fake);
	proc = fake_proc(&fake, 0);
	proc->started = started;
	for (uint32_t i = 0; i < n; i++) {
		const bool is_paused = i && i % pause_every == 0;
		const uint32_t jumps = i / pause_every * index_jump;
		struct tp_step_row *row;

		now += is_paused ? pause_ms * MS : 0;
		row = fake_step_row(&fake, proc, i + jumps, now, of(i) * MS);
		row->phase = phase;
		row->epoch = i / in_epoch;
		row->in_epoch = i % in_epoch;
		now += of(i) * MS;
	}
	return fake_print(&fake, &tp_view_overview, &options, NULL, 0, 200, false);
}

/* The rule that applies, and no other one. NULL: none. */
static void expect_rule(const char *text, const char *wanted)
{
	static const char *const all[] = {"epoch-start", "every-n-steps", "step-growth", "slow-since", "slow-steps",
					  "between-epochs"};

	for (uint32_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		bool is_wanted = wanted && !strcmp(wanted, all[i]);
		char item[64];

		snprintf(item, sizeof(item), "\n  %s ", all[i]);
		cr_expect_eq(strstr(text, item) != NULL, is_wanted, "%s in:\n%s", all[i], text);
	}
}

static int64_t jitter(uint32_t step)
{
	return 20 + step * 2654435761u % 5;
}

static int64_t tenth(uint32_t step)
{
	return jitter(step) + (step % 10 == 9 ? 100 : 0);
}

/* With others that are slow by chance. */
static int64_t tenth_among_slow(uint32_t step)
{
	return jitter(step) + (step % 10 == 9 ? 100 : step * 2654435761u % 5 == 3 ? 16 : 0);
}

static int64_t often(uint32_t step)
{
	return jitter(step) + (step % 3 == 2 ? 100 : 0);
}

/* The same, and some of them are longer. */
static int64_t often_and_longer(uint32_t step)
{
	return 20 + (step % 3 == 2 ? step % 9 == 2 ? 18 : 9 : 0);
}

/* Each third is a little longer, which is not why each ninth is. */
static int64_t ninth(uint32_t step)
{
	return 20 + (step % 3 == 2 ? step % 9 == 2 ? 60 : 3 : 0);
}

static int64_t by_chance(uint32_t step)
{
	return jitter(step) + (step * 2654435761u % 11 == 3 ? 100 : 0);
}

static int64_t twice(uint32_t step)
{
	return jitter(step) + (step == 40 || step == 80 ? 500 : 0);
}

static int64_t seldom(uint32_t step)
{
	return jitter(step) + (step == 40 || step == 47 || step == 80 || step == 101 ? 300 : 0);
}

static int64_t seldom_and_short(uint32_t step)
{
	return jitter(step) + (step == 40 || step == 47 || step == 80 || step == 101 ? 70 : 0);
}

/* Four at one distance, but one of them is not like the others. */
static int64_t seldom_and_once_short(uint32_t step)
{
	const bool is_long = step == 30 || step == 50 || step == 64 || step == 90;

	return jitter(step) + (is_long ? 300 : step == 70 ? 20 : 0);
}

static int64_t slightly(uint32_t step)
{
	return jitter(step) + (step % 10 == 9 ? 6 : 0);
}

static int64_t slower(uint32_t step)
{
	return jitter(step) + step / 2;
}

static int64_t slower_soon(uint32_t step)
{
	return 20 + step;
}

/* One eighth of a short run is not slower than the one before. */
static int64_t slower_in_few(uint32_t step)
{
	return 20 + step / 2 - (step >= 14 && step < 19 ? 4 : 0);
}

/* Hardly, until another program begins. */
static int64_t slower_at_the_end(uint32_t step)
{
	return 20 + step / 9 + (step >= 27 ? 14 : 0);
}

/* Seen once: not each eighth, and three of the rises from one to the next make three quarters of all. */
static int64_t slower_by_chance(uint32_t step)
{
	static const int64_t middle[] = {85, 92, 116, 174, 217, 256, 206, 290, 279, 291};
	const uint32_t part = STEPS / 8, at = (step + part / 2) / part, of = (step + part / 2) % part;

	return middle[at] + (middle[at + 1] - middle[at]) * of / part;
}

/* Seen once, beside an evaluation every 12 steps: the machine was busy from the middle on. */
static int64_t on_busy_machine(uint32_t step)
{
	static const int64_t ms[] = {
		41, 17, 15, 12, 11, 13, 12, 101, 10, 10, 10, 9, 9, 9, 90, 10, 9, 9, 9, 9, 9, 9, 10, 10, 9,
		9, 90, 9, 9, 9, 12, 15, 15, 16, 15, 12, 12, 11, 92, 11, 10, 11, 11, 11, 12, 10, 14, 17, 16,
		17, 98, 17, 16, 12, 12, 13, 14, 16, 15, 16, 15, 15, 95, 15, 15, 16, 11, 17, 15, 13, 11, 12,
		14, 13, 95, 14, 14, 10, 9, 13, 16, 18, 15, 17, 15, 13, 100, 16, 16, 17, 16, 16, 15, 16, 16,
		16, 17, 14, 99, 20, 15, 11, 15, 17, 16, 15, 10, 11, 16, 16,
	};

	return ms[step];
}

/* Images that get larger three times, on a machine that gets a little slower. */
static int64_t larger_images(uint32_t step)
{
	return 100 + 50 * (step / (STEPS / 4 + 4)) + step / 15;
}

/* Not each eighth of it is slower, and the larger images make four fifths of the rises. */
static int64_t larger_by_chance(uint32_t step)
{
	return 100 + 50 * (step / (STEPS / 4 + 4)) + step * 3 / 5 - (step / 15 == 5 ? 20 : 0);
}

/* The same with every eighth, and with the square of the steps. */
static int64_t larger_often(uint32_t step)
{
	return 20 + 10 * (step / (STEPS / 8));
}

static int64_t slower_by_the_square(uint32_t step)
{
	return 20 + step * step / 100;
}

static int64_t slower_at_once(uint32_t step)
{
	return jitter(step) + (step > 60 ? 40 : 0);
}

Test(overview_rhythm, sees_steps_that_are_slow_at_an_equal_distance)
{
	const char *text = print(tenth, 1000, STEPS, TP_PHASE_WAIT);

	expect_rule(text, "every-n-steps");
	cr_expect(strstr(text, "every 10th step takes 12"), "%s", text);
	cr_expect(strstr(text, "steps 9, 19, 29, ..."), "%s", text);
	expect_rule(print(tenth_among_slow, 1000, STEPS, TP_PHASE_WAIT), "every-n-steps");
}

Test(overview_rhythm, slow_steps_that_collect_garbage_are_a_rule_of_their_own)
{
	const char *text;

	started = "slow.9=9 /a/train.py:1 main > garbage collection\nslow.19=8 /a/train.py:1 main > garbage collection\n";
	text = print(tenth, 1000, STEPS, TP_PHASE_WAIT);
	expect_rule(text, NULL);
	cr_expect(strstr(text, "\n  garbage             every 10th step takes 12"), "%s", text);
	cr_expect(strstr(text, "steps 9, 19, 29, ...: train.py:1 main > garbage collection"), "%s", text);
	started = "slow.9=9 /a/train.py:1 main\nslow.19=8 /a/train.py:1 main\n";
	expect_rule(print(tenth, 1000, STEPS, TP_PHASE_WAIT), "every-n-steps");
	started = "";
}

/* Two ranks of the same slow steps, but that the second one's take `more` ms. */
static const char *print_ranks(const char *first, const char *second, int64_t more)
{
	int64_t now[2] = {0, 0};

	fake_init(&fake);
	for (uint32_t r = 0; r < 2; r++) {
		struct tp_proc *proc = fake_proc(&fake, (int)r);

		proc->started = r ? second : first;
		for (uint32_t i = 0; i < STEPS / 2; i++) {
			const int64_t ms = tenth(i) + (r && i % 10 == 9 ? more : 0);

			fake_step_row(&fake, proc, i, now[r], ms * MS)->phase = TP_PHASE_WAIT;
			now[r] += ms * MS;
		}
	}
	return fake_print(&fake, &tp_view_overview, &options, NULL, 0, 200, false);
}

/* The other waits for it in a collective, somewhere in a library. */
Test(overview_rhythm, of_ranks_that_are_slow_alike_the_one_in_the_users_function_is_told)
{
	static const char save[] = "slow.9=9 /a/train.py:1 main > /a/train.py:5 save\n"
				   "slow.19=9 /a/train.py:1 main > /a/train.py:5 save\n",
			  waits[] = "slow.9=9 /a/train.py:1 main > /x/site-packages/lib/loop.py:7 advance\n",
			  garbage[] = "slow.9=9 /a/train.py:1 main > garbage collection\n";

	cr_expect(strstr(print_ranks(save, waits, 0), ": train.py:1 main > train.py:5 save\n"));
	cr_expect(strstr(print_ranks(waits, save, 0), ": train.py:1 main > train.py:5 save\n"));
	cr_expect(strstr(print_ranks(save, waits, 3), ": train.py:1 main > train.py:5 save\n"));
	cr_expect(strstr(print_ranks(save, waits, 80), ": train.py:1 main > loop.py:7 advance\n"));
	/* Garbage is collected anywhere. */
	cr_expect(strstr(print_ranks(save, garbage, 0), "\n  garbage "));
	cr_expect(strstr(print_ranks(garbage, save, 0), "\n  garbage "));
}

Test(overview_rhythm, does_not_take_other_slow_steps_for_a_period)
{
	expect_rule(print(often_and_longer, 1000, STEPS, TP_PHASE_WAIT), NULL);
	expect_rule(print(ninth, 1000, STEPS, TP_PHASE_WAIT), "every-n-steps");
	expect_rule(print(jitter, 1000, STEPS, TP_PHASE_WAIT), NULL);
	expect_rule(print(often, 1000, STEPS, TP_PHASE_WAIT), NULL);
	expect_rule(print(by_chance, 1000, STEPS, TP_PHASE_WAIT), NULL);
	expect_rule(print(twice, 1000, STEPS, TP_PHASE_WAIT), NULL);
	expect_rule(print(slightly, 1000, STEPS, TP_PHASE_WAIT), NULL);
	expect_rule(print(seldom_and_once_short, 1000, 110, TP_PHASE_WAIT), "slow-steps");
}

Test(overview_rhythm, sees_a_few_steps_that_take_very_long)
{
	const char *text;

	started = "slow.40=9 /a/train.py:1 main > /a/store.py:7 read\nslow.80=8 /a/train.py:1 main > /a/store.py:7 read\n";
	text = print(seldom, 1000, STEPS, TP_PHASE_WAIT);
	started = "";
	expect_rule(text, "slow-steps");
	cr_expect(strstr(text, "each of 4 slow steps of 119 takes 32"), "%s", text);
	cr_expect(strstr(text, "steps 40, 47, 80, ...: train.py:1 main > store.py:7 read"), "%s", text);
	expect_rule(print(seldom_and_short, 1000, STEPS, TP_PHASE_WAIT), NULL);
}

/* What another program does to a few steps is not the job's; where most have no core, it may be. */
Test(overview_rhythm, leaves_out_steps_that_had_no_core)
{
	const char *text;

	started = "crowded.39=48 50\ncrowded.80=81 70\ncrowded.101=102 90\ncrowded.x=9 9\ncrowded.9=\ncrowded.9=5 5\ncrowded.3=200 50\n";
	text = print(seldom, 1000, STEPS, TP_PHASE_WAIT);
	expect_rule(text, NULL);
	cr_expect(strstr(text, "around it the training thread was runnable but waited for a core 90 % of the time"),
		  "%s", text);
	started = "crowded.39=47 90\n";
	expect_rule(print(seldom, 1000, STEPS, TP_PHASE_WAIT), NULL);
	started = "crowded.39=46 90\n";
	expect_rule(print(seldom, 1000, STEPS, TP_PHASE_WAIT), "slow-steps");
	started = "crowded.9=55 90\n";
	expect_rule(print(seldom, 1000, STEPS, TP_PHASE_WAIT), "slow-steps");
	started = "";
}

/* Windows are the slow steps, or all but each so many. */
static const char *print_windows(length *of, uint32_t but)
{
	print(of, 1000, STEPS, TP_PHASE_WAIT);
	for (uint32_t i = 0; i < STEPS; i++)
		if (but ? i % but : of(i) > 50)
			fake.run.step[i].phase = TP_PHASE_ACTIVE;
	return fake_print(&fake, &tp_view_overview, &options, NULL, 0, 200, false);
}

Test(overview_rhythm, leaves_out_steps_of_windows_and_short_runs)
{
	expect_rule(print_windows(tenth, 0), NULL);
	expect_rule(print(tenth, 1000, 20, TP_PHASE_WAIT), NULL);
	/* But most are recorded: one in six is not, or none. */
	expect_rule(print_windows(tenth, 6), "every-n-steps");
	expect_rule(print(tenth, 1000, STEPS, TP_PHASE_ACTIVE), "every-n-steps");
}

/* Steps 9, 19, ... begin an epoch. */
static const char *print_tens(length *of)
{
	fake_init(&fake);
	fake_proc(&fake, 0);
	for (uint32_t i = 0, epoch = 0; i < STEPS; i++) {
		struct tp_step_row *row = fake_step_row(&fake, fake.run.proc[0], i, i * 200ll * MS,
							of(i) * MS);

		epoch += i % 10 == 9;
		row->phase = TP_PHASE_WAIT;
		row->epoch = epoch;
		row->in_epoch = (i + 1) % 10;
	}
	return fake_print(&fake, &tp_view_overview, &options, NULL, 0, 200, false);
}

/* After the first step of an epoch the next two are not yet at their pace. */
static int64_t tenth_and_after(uint32_t step)
{
	return tenth(step) + (step % 10 < 2 ? 12 : 0);
}

Test(overview_rhythm, sees_the_first_step_of_epochs)
{
	/* These are the last ones of theirs. */
	expect_rule(print(tenth, 10, STEPS, TP_PHASE_WAIT), "every-n-steps");
	expect_rule(print_tens(tenth), "epoch-start");
	expect_rule(print_tens(tenth_and_after), "epoch-start");
	expect_rule(print_tens(jitter), NULL);
}

Test(overview_rhythm, sees_what_is_between_epochs)
{
	static const struct {
		const char *what;
		uint32_t in_epoch, every, jump;
		int64_t ms;
		bool is_told;
	} row[] = {
		{"four pauses of 16 %", 30, 30, 0, 130, true},
		{"of 14 %", 30, 30, 0, 108, false},
		{"two", 45, 45, 0, 260, true},
		{"one", 61, 61, 0, 900, false},
		{"within epochs", 29, 30, 0, 900, false},
		{"steps that are not known", 30, 30, 1, 900, false},
	};
	const char *text;

	for (uint32_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		pause_every = row[i].every;
		index_jump = row[i].jump;
		pause_ms = row[i].ms;
		text = print(jitter, row[i].in_epoch, STEPS, 0);
		cr_expect_eq(strstr(text, "\n  between-epochs ") != NULL, row[i].is_told, "%s: %s", row[i].what, text);
	}
	pause_every = 30;
	index_jump = 0;
	pause_ms = 400;
	started = "slow.60=5 /home/me/train.py:31 main > /home/me/train.py:12 evaluate\n";
	text = print(jitter, 30, STEPS, 0);
	expect_rule(text, "between-epochs");
	cr_expect(strstr(text, "% of the run is between epochs, in no step: 4 times 400 ms"), "%s", text);
	cr_expect(strstr(text, "train.py:31 main > train.py:12 evaluate\n"), "%s", text);
}

Test(overview_rhythm, sees_steps_that_get_slower_and_slower)
{
	expect_rule(print(slower, 1000, STEPS, TP_PHASE_WAIT), "step-growth");
	expect_rule(print(slower_at_once, 1000, STEPS, TP_PHASE_WAIT), NULL);
	expect_rule(print(larger_often, 1000, STEPS, TP_PHASE_WAIT), "step-growth");
	expect_rule(print(slower_by_the_square, 1000, STEPS, TP_PHASE_WAIT), "step-growth");
	expect_rule(print(slower_by_chance, 1000, STEPS, TP_PHASE_WAIT), "step-growth");
	cr_expect_not(strstr(print(on_busy_machine, 1000, 110, TP_PHASE_WAIT), "step-growth"));
	expect_rule(print(larger_images, 1000, STEPS, TP_PHASE_WAIT), NULL);
	expect_rule(print(larger_by_chance, 1000, STEPS, TP_PHASE_WAIT), NULL);
	cr_expect(strstr(print(slower_in_few, 1000, 36, TP_PHASE_WAIT), "in the first quarter of the run"));
	expect_rule(print(slower_soon, 1000, 31, TP_PHASE_WAIT), "step-growth");
	expect_rule(print(slower_at_once, 1000, 36, TP_PHASE_WAIT), NULL);
	expect_rule(print(slower_at_the_end, 1000, 36, TP_PHASE_WAIT), NULL);
}
