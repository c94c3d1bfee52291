/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step.c - tests of the step detector: what training loops do, as scripts of events, and the
 * steps and epochs that must come out
 */
#include "tests/unit/step_rig.h"

Test(step, ends_with_the_optimizer)
{
	static const struct row rows[] = {
		{"zero_grad first", "a! Z1 O1 {3 a Z1 O1 } a.", "^ {4 o1 }"},
		{"zero_grad last", "a! O1 Z1 {3 a O1 Z1 } a.", "^ {4 o1 }"},
		{"zero_grad also before the loop", "Z1 a! Z1 O1 {3 a Z1 O1 } a.", "^ ^ {4 o1 }"},
		{"no zero_grad at all", "a! O1 {3 a O1 } a.", "^ {4 o1 }"},
		{"no loader, zero_grad first", "{4 Z1 O1 }", "^ {4 o0 }"},
		{"no loader, zero_grad last", "{4 O1 Z1 }", "^ {4 o0 }"},
		{"no loader, nothing but the optimizer", "{4 O1 }", "^ {4 o0 }"},
		{"accumulation x4", "Z1 a! {3 a } O1 Z1 {2 {4 a } O1 Z1 }", "^ ^ {3 o4 }"},
		{"accumulation x4, zero_grad first", "a! Z1 {3 a } O1 {2 a Z1 {3 a } O1 }", "^ {3 o4 }"},
		{"accumulation x64, zero_grad last", "Z1 a! {63 a } O1 Z1 {64 a } O1 Z1", "^ ^ {2 o64 }"},
		{"accumulation x32, zero_grad last", "a! {31 a } O1 Z1 {3 {32 a } O1 Z1 }", "^ ^ {22 l1 } R o1 {3 o32 }"},
		{"accumulation x200, zero_grad first", "a! Z1 {199 a } O1 {3 a Z1 {199 a } O1 }",
		 "^ ^ {134 l1 } R o1 {3 o200 }"},
		{"LBFGS: closures inside", "a! (1 Z1 Z1 )1 {2 a (1 Z1 Z1 )1 }", "^ {3 o1 }"},
		{"LBFGS, no loader", "{3 (1 Z1 Z1 Z1 )1 }", "^ {3 o0 }"},
		{"an optimizer that wraps another", "a! {3 (9 O1 )9 a }", "^ o1 o1 o1"},
		{"an optimizer on another thread", "a! Z1 ~O1 {3 a Z1 ~O1 }", "^ {4 o1 }"},
		{"all on another thread", "~a! ~Z1 ~O1 {3 ~a ~Z1 ~O1 }", "^ {4 o1 }"},
		{"the end of an optimizer's step was lost", "a! O1 a (1 {3 a O1 }", "^ o1 o1 {2 o1 }"},
	};

	CHECK_ROWS(rows, NULL);
}

Test(step, sees_a_skipped_optimizer)
{
	static const struct row rows[] = {
		{"inf, zero_grad first", "a! Z1 O1 a Z1 O1 a Z1 a Z1 O1 a Z1 O1", "^ o1 o1 o1! o1 o1"},
		{"inf, zero_grad last", "a! O1 Z1 a O1 Z1 a Z1 a O1 Z1", "^ o1 o1 o1! o1"},
		{"inf twice, zero_grad last", "a! O1 Z1 {2 a Z1 } a O1 Z1", "^ o1 {2 o1! } o1"},
		{"inf in the second step of all", "a! Z1 O1 a Z1 a Z1 O1", "^ o1 o1! o1"},
		{"inf in the first steps", "a! Z1 a Z1 a Z1 O1 a Z1 O1", "^ ^ o1 o1"},
		{"inf after an evaluation", "a! O1 Z1 a O1 Z1 e! e e. a Z1 a O1 Z1",
		 "^ o1 o1 o1! o1"},
		{"inf, no loader, zero_grad first", "Z1 O1 Z1 O1 Z1 Z1 O1 Z1 O1", "^ o0 o0 o0! o0 o0"},
		{"inf, no loader, zero_grad last", "O1 Z1 O1 Z1 O1 Z1 Z1 O1 Z1", "^ o0 o0 o0 o0! o0"},
		{"inf with accumulation", "a! a O1 Z1 a a O1 Z1 a a Z1 a a O1 Z1", "^ o2 o2 o2! o2"},
		{"zero_grad twice in each step, all of a sudden, is soon no skip",
		 "{4 Z1 O1 } {9 Z1 Z1 O1 }", "^ {4 o0 } {5 o0! o0 } {4 o0 }"},
		{"of two that never step, the first one's zero_grad counts", "{6 Z1 Z2 }", "^ ^ {3 z0 }"},
		{"zero_grad twice in each step is no skip", "{6 Z1 Z1 O1 }", "^ {6 o0 }"},
		{"zero_grad of another optimizer is no skip", "a! Z1 O1 {4 a Z2 Z1 O1 Z2 }", "^ {5 o1 }"},
		{"zero_grad before each epoch is no skip",
		 "Z1 a! O1 Z1 {2 a O1 Z1 } a. Z1 a! O1 Z1 {2 a O1 Z1 } a.", "^ ^ {3 o1 } | {3 o1 }"},
	};

	CHECK_ROWS(rows, NULL);
}

Test(step, begins_epochs_with_passes_over_the_training_loader)
{
	static const struct row rows[] = {
		{"three epochs", "{3 a! O1 {3 a O1 } a. }", "^ {4 o1 } | {4 o1 } | {4 o1 }"},
		{"three epochs, the end cannot be told", "{3 a! O1 {3 a O1 } a? }",
		 "^ {4 o1 } | {4 o1 } | {4 o1 }"},
		{"left by break", "{2 a! O1 {3 a O1 } }", "^ {4 o1 } | {4 o1 }"},
		{"one batch fetched ahead", "{2 a! {3 a O1 } a. O1 }", "^ o2 o1 o1 o0 | o2 o1 o1 o0"},
		{"evaluation between epochs", "{3 a! O1 {3 a O1 } a. e! e e. }",
		 "^ {4 o1 } | {4 o1 } | {4 o1 }"},
		{"evaluation inside an epoch", "a! O1 {3 a O1 } e! e e. {3 a O1 } a. a! O1",
		 "^ {7 o1 } | o1"},
		{"evaluation inside, cut short", "a! O1 {3 a O1 } {2 e! e {3 a O1 } }", "^ {10 o1 }"},
		{"evaluation before the first step", "e! e e. a! O1 {3 a O1 }", "^ ^ {4 o1 }"},
		{"a long evaluation before the first step", "e! {20 e } e. a! O1 {3 a O1 }",
		 "^ ^ {12 l1 } R {4 o1 }"},
		{"evaluation over the training loader", "{2 a! O1 {3 a O1 } a. a! {3 a } a. }",
		 "^ {4 o1 } | ^ {4 o1 } |"},
		{"the remainder of an accumulation", "{2 a! a O1 {2 a a O1 } a a. }", "^ {3 o2 } | {3 o2 }"},
		{"two loaders zipped", "{2 a! b! O1 {3 a b O1 } a. }", "^ {4 o2 } | {4 o2 }"},
		{"two loaders zipped, the second cycles",
		 "a! b! O1 a b O1 a b. b! O1 a b O1 a. a! b O1 a b O1", "^ {4 o2 } | o2 o2"},
		{"two loaders zipped, in the second epoch the first is a new one",
		 "a! b! O1 {3 a b O1 } a. f! b! O1 {3 f b O1 } f.", "^ {4 o2 } | {4 o2 }"},
		{"two loaders zipped, in the second epoch the second is a new one",
		 "a! b! O1 {3 a b O1 } a. a! f! O1 {3 a f O1 } a.", "^ {4 o2 } | {4 o2 }"},
		{"two loaders zipped, new ones that have the old ones' addresses, the other way round",
		 "a! b! O1 {3 a b O1 } a. b! a! O1 {3 b a O1 } b.", "^ {4 o2 } | {4 o2 }"},
		{"two loaders zipped, new ones in the second epoch",
		 "a! b! O1 {3 a b O1 } a. f! g! O1 {3 f g O1 } f.", "^ {4 o2 } | {4 o2 }"},
		{"one batch of a new loader before a pass of the one that trains",
		 "a! O1 {3 a O1 } a. e! a! O1 {3 a O1 } a.", "^ {4 o1 } | {4 o1 }"},
		{"a second loader joins later, called before the first",
		 "a! O1 {2 a O1 } b! a O1 {3 b a O1 }", "^ {5 o1 } {2 o2 }"},
		{"another training loader from the second epoch on",
		 "a! O1 {3 a O1 } a. b! O1 {3 b O1 } b. b! O1 b O1", "^ {4 o1 } | {4 o1 } | o1 o1"},
		{"another one, with evaluations between", "a! O1 {3 a O1 } a. e! e e. b! O1 {3 b O1 } b.",
		 "^ {4 o1 } | {4 o1 }"},
		{"another one, the first left by break", "a! O1 {3 a O1 } b! O1 {3 b O1 } b! O1",
		 "^ {8 o1 } | o1"},
		{"a new iterator in each step is no epoch", "{6 a! O1 }", "^ {6 o1 }"},
		{"one batch a pass is no epoch", "{6 a! O1 a. }", "^ {6 o1 }"},
		{"a loader that cannot be told apart", "{2 O1 }", "^ o0 o0"},
		{"a loader inside a loader", "a! O1 {3 <a b >a O1 }", "^ {4 o1 }"},
		{"the end of a loader's call was lost", "a! O1 <a {3 a O1 } a. a! O1", "^ {4 o1 } | o1"},
		{"a thread fetches ahead", "~a! ~a Z1 O1 {3 ~a Z1 O1 } ~a! Z1 O1", "^ o2 {3 o1 } | o1"},
	};

	CHECK_ROWS(rows, NULL);
}

Test(step, falls_back_when_there_is_no_optimizer)
{
	static const struct row rows[] = {
		/* Two rounds to be sure. Without a loader the last iteration has no end. */
		{"compiled step: zero_grad", "a! Z1 {9 a Z1 } a.", "^ ^ {8 z1 }"},
		{"compiled step, no loader", "{9 Z1 }", "^ ^ {6 z0 }"},
		{"compiled step, two epochs", "{2 a! Z1 {9 a Z1 } a. }", "^ ^ {8 z1 } | {10 z1 }"},
		{"compiled step, zero_grad last: a range takes time before it",
		 "{2 a! rx Z1 {9 a rx Z1 } a. }", "^ ^ {7 z1 } | {10 z1 }"},
		{"compiled step, accumulation", "a! Z1 a a {4 a Z1 a a } a.", "^ ^ {3 z3 }"},
		{"compiled step, a batch ahead", "a! {4 a Z1 } a. Z1", "^ ^ z1 z1 z0"},
		{"two compiled optimizers", "a! Z1 Z2 {9 a Z1 Z2 } a.", "^ ^ {8 z1 }"},
		{"only a loader", "a! {20 a } a.", "^ ^ {12 l1 }"},
		{"only a loader, two epochs", "{2 a! {20 a } a. }", "^ ^ {12 l1 } | {21 l1 }"},
		{"only loaders, one after the other", "a! {20 a } a. b! {9 b } b.",
		 "^ ^ {12 l1 } | {10 l1 }"},
		{"only loaders, zipped", "a! b! {20 a b } a.", "^ ^ {16 l2 }"},
		{"a loader without identity", "{20 _ }", "^ ^ {11 l1 }"},
		{"nothing: the clock", "{14 c }", "^ {3 c0 }"},
		{"the clock gives way to an optimizer", "{14 c } {3 Z1 O1 }", "^ {3 c0 } R {3 o0 }"},
		{"the clock gives way to zero_grad", "{14 c } {5 Z1 }", "^ {3 c0 } R {2 z0 }"},
		{"the clock gives way to a loader", "{14 c } a! {12 a }", "^ {3 c0 } R {3 l1 }"},
		{"the loader gives way to zero_grad", "a! {20 a } {5 Z1 a }", "^ ^ {13 l1 } R {2 z1 }"},
		{"zero_grad gives way to an optimizer", "a! Z1 {6 a Z1 } a Z1 O1 a Z1 O1",
		 "^ ^ {5 z1 } o1 o1"},
		{"a program that only sleeps between events", "a! O1 {30 c } a O1", "^ o1 o1"},
	};

	CHECK_ROWS(rows, NULL);
}

Test(step, falls_back_when_the_optimizer_stops)
{
	static const struct row rows[] = {
		{"the loader goes on in its first pass", "a! O1 {3 a O1 } {20 a }", "^ {4 o1 } l8 {11 l1 }"},
		{"with accumulation, it takes longer", "a! a a O1 {3 a a a O1 } {40 a }",
		 "^ {4 o3 } l24 {15 l1 }"},
		{"an evaluation over the training loader is shorter than two epochs",
		 "a! O1 {30 a O1 } a. a! {30 a } a. a! O1", "^ {31 o1 } | ^ o1"},
		{"zero_grad goes on", "a! Z1 O1 {3 a Z1 O1 } {12 a Z1 }", "^ {4 o1 } {7 o1! } z1! z1 z1 z1"},
		{"an evaluation over another loader", "a! O1 {3 a O1 } b! {999 b } b. {3 a O1 } b! {999 b } b. a O1",
		 "^ {8 o1 }"},
		{"inference over another loader, long", "a! O1 {3 a O1 } a. b! {16400 b }",
		 "^ {4 o1 } | l16384 {16 l1 }"},
		{"and comes back", "a! O1 {3 a O1 } {20 a } O1 {3 a O1 }", "^ {4 o1 } l8 {11 l1 } {4 o1 }"},
		{"and stops again, later than the batches that it may have accumulated",
		 "a! O1 {20 a } O1 {170 a }", "^ o1 l8 {11 l1 } o1 l160 {9 l1 }"},
		{"so many are not accumulated", "a! O1 {4000 a } O1 {16390 a }", "^ o1 l8 {3991 l1 } o1 l16384 {5 l1 }"},
		{"an evaluation by a loader that has the address of the one that trains",
		 "a! O1 {9 a O1 } a. a@ {99 a } a. a! O1 {9 a O1 } a.", "^ {10 o1 } | {10 o1 }"},
		{"an evaluation's are not", "a! O1 {3 a O1 } b! {999 b } b. {3 a O1 } {2010 a }", "^ {7 o1 } l2002 {7 l1 }"},
	};

	CHECK_ROWS(rows, NULL);
}

Test(step, obeys_the_source_that_was_chosen)
{
	static const struct tp_step_spec optimizer = {.source = TP_STEP_OPTIMIZER};
	static const struct tp_step_spec zero_grad = {.source = TP_STEP_ZERO_GRAD};
	static const struct tp_step_spec loader = {.source = TP_STEP_LOADER};
	static const struct tp_step_spec range = {.source = TP_STEP_RANGE, .range = "train_step"};
	static const struct tp_step_spec prefix = {.source = TP_STEP_RANGE, .range = "step_*"};
	static const struct tp_step_spec clock = {.source = TP_STEP_CLOCK, .clock_ms = 3000};
	static const struct {
		const struct tp_step_spec *spec;
		struct row row;
	} rows[] = {
		{&optimizer, {"optimizer: nothing else ends a step", "a! {30 a } {9 Z1 } O1", "^ o31"}},
		{&zero_grad, {"zero_grad, though there is an optimizer", "a! Z1 O1 {3 a Z1 O1 }", "^ ^ {3 z1 }"}},
		{&zero_grad, {"zero_grad, the last of each iteration", "a! O1 Z1 {3 a O1 Z1 }", "^ {4 z1 }"}},
		{&zero_grad, {"zero_grad, no optimizer to be seen", "a! Z1 {3 a Z1 } a.", "^ ^ {4 z1 }"}},
		{&loader, {"loader, though there is an optimizer", "a! Z1 O1 {3 a Z1 O1 } a.", "^ {4 l1 }"}},
		{&range, {"range", "c a! O1 rtrain_step a O1 rother a rtrain_step", "^ ^ r1 r2"}},
		{&prefix, {"range by prefix", "c {4 a rstep_17 }", "^ {4 r1 }"}},
		{&clock, {"clock", "a! O1 {9 c } a O1", "^ c1 c0 c0"}},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		start(rows[i].spec);
		check(rows[i].row.name, rows[i].row.script, rows[i].row.wanted);
	}
}

Test(step, waits_of_the_training_thread_and_no_others_count)
{
	static const struct {
		const char *name, *script;
		uint64_t wait, optimizer;
	} rows[] = {
		{"one batch", "a! O1 a O1", LOADER_CALL, CALL},
		{"four batches", "a! O1 {4 a } O1", 4 * LOADER_CALL, CALL},
		{"two loaders", "a! b! O1 a b O1", 2 * LOADER_CALL, CALL},
		{"two optimizers, led by the last", "{4 a O1 O2 }", LOADER_CALL, 2 * CALL},
		{"fetched ahead by a thread", "a! O1 ~a O1", 0, CALL},
		{"an evaluation inside", "a! O1 a O1 e! e e e. a O1", LOADER_CALL, CALL},
		{"an optimizer that wraps another", "{3 a (9 O1 )9 }", LOADER_CALL, GAP + 2 * CALL},
		{"a call in which a step ended", "a! O1 <a ~O1 >a O1", LOADER_CALL, CALL},
		{"a new epoch's first batch", "a! O1 a O1 a. a! O1", LOADER_CALL, CALL},
		{"the first batch of another loader", "a! O1 a O1 a. e! e e. b! O1", LOADER_CALL, CALL},
		{"two new loaders, zipped", "a! b! O1 a b O1 a. e! e e. f! g! O1", 2 * LOADER_CALL, CALL},
		{"the step after a skipped one", "a! Z1 O1 a Z1 O1 a Z1 a Z1 O1", LOADER_CALL, CALL},
		{"training after a long evaluation", "e! {20 e } e. a! O1", LOADER_CALL, CALL},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		start(NULL);
		each_word(rows[i].script, play_word);
		cr_expect_eq(last_wait, rows[i].wait, "%s: %lu, not %lu", rows[i].name,
			     (unsigned long)last_wait, (unsigned long)rows[i].wait);
		cr_expect_eq(last_optimizer, rows[i].optimizer, "%s: optimizer", rows[i].name);
	}
}

Test(step, begins_where_its_first_batch_is_asked_for)
{
	static const char *const scripts[] = {
		"a! O1",
		"a! O1 a O1 a. e! e e. a! O1",
		"a! O1 a O1 a. e! e e. b! O1",		/* known to train only when the step ends */
		"a! Z1 O1 a Z1 O1 a Z1 a Z1 O1",	/* after a skipped one */
		"e! {20 e } e. a! O1",
		"e! e e. a! O1",
	};
	enum { LENGTH = LOADER_CALL + GAP + CALL };

	for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
		uint64_t zero_grad = strchr(scripts[i], 'Z') ? CALL : 0;

		start(NULL);
		each_word(scripts[i], play_word);
		cr_expect_eq(last_end - last_begin, LENGTH + zero_grad, "%s: %lu", scripts[i],
			     (unsigned long)(last_end - last_begin));
	}
}

Test(step, is_not_ended_by_a_clock_that_lags_behind)
{
	static const struct tp_step_spec clock = {.source = TP_STEP_CLOCK, .clock_ms = 1};

	start(&clock);
	each_word("c a!", play_word);
	tp_step_clock(now_ticks - LOADER_CALL - 1);
	cr_expect_eq(n_steps, 0);
	each_word("c", play_word);
	cr_expect_eq(n_steps, 1);
}

Test(step, is_not_guessed_by_the_clock_where_that_is_forbidden)
{
	start(NULL);
	tp_step_forbid_clock();
	each_word("c c c c c c c c c c c c c c", play_word);
	cr_expect_eq(n_steps, 0);
	each_word("Z1 O1 Z1 O1", play_word);
	cr_expect_eq(n_steps, 2);
}

Test(step, says_what_its_source_is)
{
	static const struct tp_step_spec range = {.source = TP_STEP_RANGE, .range = "step *"};
	static const struct tp_step_spec clock = {.source = TP_STEP_CLOCK, .clock_ms = 250};
	static const struct {
		const struct tp_step_spec *spec;
		const char *script, *text;
	} rows[] = {
		{NULL, "a!", "not found yet"},
		{NULL, "a! O1", "optimizer"},
		{NULL, "{4 Z1 }", "zero_grad (no optimizer step was seen)"},
		{NULL, "a! {10 a }", "loader (no optimizer step was seen)"},
		{NULL, "a! O1 {20 a }", "loader (the optimizer's steps stopped)"},
		{NULL, "{12 c }", "clock 1000 ms (no optimizer, zero_grad or loader was seen)"},
		{&range, "", "range 'step *'"},
		{&clock, "", "clock 250 ms"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		start(rows[i].spec);
		each_word(rows[i].script, play_word);
		cr_expect_str_eq(tp_step_source_text(), rows[i].text);
	}
}

static void *play_script(void *script)
{
	each_word(script, play_word);
	return NULL;
}

Test(step, a_thread_that_runs_the_optimizer_is_a_training_thread)
{
	static char script[] = "a! O1 a O1";
	pthread_t thread;

	start(NULL);
	cr_assert_eq(pthread_create(&thread, NULL, play_script, script), 0);
	pthread_join(thread, NULL);
	cr_expect_eq(last_wait, LOADER_CALL);
}

/* Whatever comes in whatever order: boundaries never go back (asserted in take_*), nothing
 * hangs, and steps go on being found afterwards. */
Test(step, survives_any_sequence_of_events)
{
	static const char *const words[] = {
		"a!", "a", "a.", "a?", "b!", "b", "e!", "e", "e.", "_", "O1", "O2", "Z1", "Z2", "c", "rx",
	};
	enum { N_WORDS = sizeof(words) / sizeof(words[0]), ROUNDS = 300, LENGTH = 200 };

	srand(7);
	for (int round = 0; round < ROUNDS; round++) {
		uint64_t before;

		start(NULL);
		for (int i = 0; i < LENGTH; i++) {
			play_word(words[rand() % N_WORDS]);
			outcome[0] = '\0';
		}
		before = n_steps;
		each_word("{30 a Z1 O1 }", play_word);
		cr_expect_geq(n_steps, before + 10, "round %d", round);
	}
}
