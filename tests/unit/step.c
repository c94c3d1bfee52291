/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step.c - tests of the step detector: what training loops do, as scripts of events, and the
 * steps and epochs that must come out
 *
 * A script is words:
 *	a! a a.		loader a: first call of a pass, a further batch, the call that ends it
 *			(no batch); a? is that call where nobody can tell that it brought none
 *	O1 Z1		optimizer 1: step(), zero_grad()
 *	(1 )1		begin and end of step() of optimizer 1, with other words between
 *	<a >a		begin and end of a call of loader a
 *	rX		a user range named X ended
 *	c		a second passes, then the clock ticks
 *	~word		the word happens on another thread
 *	{N ... }	N times
 * The outcome is words too:
 *	^		the step in progress begins here (tp_session_epoch before any step of the epoch)
 *	|		a new epoch
 *	R		the schedule starts over
 *	o2 z1 l1 r0 c0	a step ended, by its source, with its number of batches; "!" after it:
 *			flagged as skipped
 */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/engine/step/step.h"

enum { TICKS_PER_MS = 1000, GAP = 100, CALL = 10, LOADER_CALL = 40 };

static char outcome[65536];
static uint64_t now_ticks, begun_optimizer, begun_loader, outer_loader, n_in_epoch, n_steps, last_wait;
static uint64_t last_begin, last_end, last_optimizer;

static void note(const char *word)
{
	if (outcome[0])
		strcat(outcome, " ");
	strcat(outcome, word);
}

static void take_step(uint64_t now, const struct tp_step_facts *facts)
{
	static const char letter[] = {'?', 'o', 'z', 'l', 'r', 'c'};
	char word[32];

	cr_assert(now <= now_ticks && now >= last_end, "boundaries do not go back");
	snprintf(word, sizeof(word), "%c%u%s", letter[facts->source], facts->batches,
		 facts->flags & TP_F_SKIPPED ? "!" : "");
	cr_assert_eq(!!(facts->flags & TP_F_CLOCK), facts->source == TP_STEP_CLOCK);
	note(word);
	last_begin = last_end;
	last_end = now;
	last_wait = facts->data_wait;
	last_optimizer = facts->optimizer;
	cr_assert(facts->data_wait <= now - last_begin, "no wait is longer than its step");
	n_in_epoch++;
	n_steps++;
}

/* As the session does it. */
static void take_epoch(uint64_t now)
{
	cr_assert(now <= now_ticks && now >= last_end);
	note(n_in_epoch ? "|" : "^");
	n_in_epoch = 0;
	last_end = now;
}

static void take_restart(uint64_t now)
{
	cr_assert(now <= now_ticks && now >= last_end);
	note("R");
	last_end = now;
}

static void start(const struct tp_step_spec *spec)
{
	static const struct tp_step_spec automatic;
	static const struct tp_step_out out = {take_step, take_epoch, take_restart};

	outcome[0] = '\0';
	now_ticks = 1000;
	n_in_epoch = n_steps = last_begin = last_end = 0;
	tp_step_init(spec ? spec : &automatic, &out, TICKS_PER_MS);
}

static void play_word(const char *word);

static void *play_on_thread(void *word)
{
	play_word(word);
	return NULL;
}

static void begin_loader(char name, bool is_first)
{
	begun_loader = now_ticks += GAP;
	tp_step_loader_begin((uint64_t)name, is_first, now_ticks);
}

static void end_loader(char name, enum tp_step_got got)
{
	now_ticks += LOADER_CALL;
	tp_step_loader_end((uint64_t)name, begun_loader, now_ticks, got);
}

static void play_word(const char *word)
{
	uint64_t who = (uint64_t)word[1];
	pthread_t thread;

	switch (word[0]) {
	case '~':
		cr_assert_eq(pthread_create(&thread, NULL, play_on_thread, (void *)(word + 1)), 0);
		pthread_join(thread, NULL);
		break;
	case 'O':
	case '(':
		now_ticks += GAP;
		tp_step_optimizer_begin(who, now_ticks);
		if (word[0] == '(') {
			begun_optimizer = now_ticks;
			break;
		}
		now_ticks += CALL;
		tp_step_optimizer_end(who, now_ticks - CALL, now_ticks);
		break;
	case ')':
		now_ticks += CALL;
		tp_step_optimizer_end(who, begun_optimizer, now_ticks);
		break;
	case 'Z':
		now_ticks += CALL;
		tp_step_zero_grad_end(who, now_ticks);
		break;
	case '<':
		begin_loader(word[1], false);
		outer_loader = begun_loader;
		break;
	case '>':
		begun_loader = outer_loader;
		end_loader(word[1], TP_STEP_GOT_BATCH);
		break;
	case 'r':
		now_ticks += GAP;
		tp_step_range_end(word + 1, (uint32_t)strlen(word + 1), now_ticks);
		break;
	case 'c':
		now_ticks += 1000 * TICKS_PER_MS;
		tp_step_clock(now_ticks);
		break;
	default:
		begin_loader(word[0], word[1] == '!');
		end_loader(word[0], word[1] == '.' ? TP_STEP_GOT_NONE :
				    word[1] == '?' ? TP_STEP_GOT_UNKNOWN :
						     TP_STEP_GOT_BATCH);
	}
}

/* Calls `play` with each word, {N ... } unrolled; returns behind the closing brace. */
static const char *each_word(const char *script, void (*play)(const char *))
{
	while (*script) {
		size_t n = strcspn(script, " ");

		if (*script == ' ') {
			script++;
		} else if (*script == '}') {
			return script + 1;
		} else if (*script == '{') {
			int times = atoi(script + 1);
			const char *body = script + n, *end = body;

			for (int i = 0; i < times; i++)
				end = each_word(body, play);
			script = end;
		} else {
			char word[64];

			snprintf(word, sizeof(word), "%.*s", (int)n, script);
			play(word);
			script += n;
		}
	}
	return script;
}

static void check(const char *name, const char *script, const char *wanted)
{
	char got[sizeof(outcome)];

	each_word(script, play_word);
	strcpy(got, outcome);
	outcome[0] = '\0';
	each_word(wanted, note);
	cr_expect_str_eq(got, outcome, "%s:\n  got    %s\n  wanted %s", name, got, outcome);
}

struct row {
	const char *name, *script, *wanted;
};

static void check_rows(const struct row *row, size_t n, const struct tp_step_spec *spec)
{
	for (size_t i = 0; i < n; i++) {
		start(spec);
		check(row[i].name, row[i].script, row[i].wanted);
	}
}
#define CHECK_ROWS(rows, spec) check_rows(rows, sizeof(rows) / sizeof((rows)[0]), spec)

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
		{"LBFGS: closures inside", "a! (1 Z1 Z1 )1 {2 a (1 Z1 Z1 )1 }", "^ {3 o1 }"},
		{"LBFGS, no loader", "{3 (1 Z1 Z1 Z1 )1 }", "^ {3 o0 }"},
		{"an optimizer that wraps another", "a! {3 (9 O1 )9 a }", "^ o1 o1 o1"},
		{"an optimizer on another thread", "a! Z1 ~O1 {3 a Z1 ~O1 }", "^ {4 o1 }"},
		{"all on another thread", "~a! ~Z1 ~O1 {3 ~a ~Z1 ~O1 }", "^ {4 o1 }"},
		{"the end of an optimizer's step was lost", "a! O1 a (1 {3 a O1 }", "^ o1 o1 {2 o1 }"},
	};

	CHECK_ROWS(rows, NULL);
}

Test(step, counts_several_optimizers_once_a_round)
{
	static const struct row rows[] = {
		/* Two rounds tell that 2 ends them; from the third on it is the boundary. */
		{"GAN 1:1", "a! Z1 O1 Z2 O2 {5 a Z1 O1 Z2 O2 }", "^ {6 o1 }"},
		{"GAN 1:1, order swapped", "a! Z2 O2 Z1 O1 {5 a Z2 O2 Z1 O1 }", "^ {6 o1 }"},
		{"GAN 1:1, no loader", "{6 Z1 O1 Z2 O2 }", "^ {6 o0 }"},
		{"critic 5:1", "a! O1 {4 a O1 } O2 {2 {5 a O1 } O2 }", "^ {15 o1 }"},
		{"critic 5:1, order swapped", "a! O2 {5 a O1 } {3 a O2 {5 a O1 } }", "^ o1 {3 o6 }"},
		{"two optimizers of one model", "a! O1 O2 Z1 Z2 {5 a O1 O2 Z1 Z2 }", "^ {6 o1 }"},
		{"one per parameter, in backward",
		 "a! O1 Z1 O2 Z2 O3 Z3 O4 Z4 {5 a O1 Z1 O2 Z2 O3 Z3 O4 Z4 }", "^ {6 o1 }"},
		{"the leader stops, another goes on", "a! O1 O2 {3 a O1 O2 } {3 a O1 } {3 a O1 }",
		 /* Optimizer 2 led since round 3; 1 takes over with its fourth step alone. */
		 "^ {4 o1 } o4 o1 o1"},
		{"a new optimizer in the second half, it is not known whose the iterations are",
		 "{6 O1 } {20 O2 }", "^ {6 o0 } o0 {4 o0 }"},
	};

	CHECK_ROWS(rows, NULL);
}

Test(step, goes_on_with_optimizers_that_take_the_place_of_others)
{
	static const struct row rows[] = {
		{"a new one in the second half", "a! Z1 O1 {5 a Z1 O1 } {9 a Z2 O2 }", "^ {15 o1 }"},
		{"the same without zero_grad", "a! O1 {5 a O1 } {9 a O2 }", "^ {15 o1 }"},
		{"the same without a loader", "{6 Z1 O1 } {9 Z2 O2 }", "^ {15 o0 }"},
		{"one for each epoch", "a! O1 {5 a O1 } a. a! O2 {5 a O2 } a. a! O3 {5 a O3 } a.",
		 "^ {6 o1 } | {6 o1 } | {6 o1 }"},
		{"two that train by turns", "a! {2 {8 a O1 } {8 a O2 } }", "^ o2 {31 o1 }"},
		{"of few steps each, until one goes on", "{3 Z1 O1 } {3 Z2 O2 } {20 Z3 O3 }", "^ {3 o0 } {5 o0 }"},
		{"two networks by turns instead of one", "{3 Z1 O1 } {18 Z2 O2 Z3 O3 }", "^ {3 o0 } o0 {2 o0 }"},
		{"one of its own in each step", "a! O1 a O2 a O3 a O4 a O5 a O6 a O7 a O8 a O9 a OA a OB a OC",
		 "^ o1 o8 {3 o1 }"},
		{"the same without a loader", "Z1 O1 Z2 O2 Z3 O3 Z4 O4 Z5 O5 Z6 O6 Z7 O7 Z8 O8 Z9 O9 ZA OA ZB OB",
		 "^ {4 o0 }"},
		{"after those one for all",
		 "Z1 O1 Z2 O2 Z3 O3 Z4 O4 Z5 O5 Z6 O6 Z7 O7 Z8 O8 Z9 O9 {16 ZA OA } {3 ZA ZB OB OA }",
		 "^ {2 o0 } {16 o0 } {2 o0 }"},
		{"inner ones of meta-learning, three steps each",
		 "{3 Z1 O1 } {3 Z2 O2 } {3 Z3 O3 } {3 Z4 O4 } {3 Z5 O5 } {3 Z6 O6 } {3 Z7 O7 } {3 Z8 O8 } "
		 "{3 Z9 O9 } {3 ZA OA }", "^ {3 o0 } {6 o0 }"},
		/* Not in its place, but beside it. */
		{"another one that comes seldom, in the same iteration",
		 "a! O1 {8 a O1 } a O2 O1 {8 a O1 } a O2 O1 {8 a O1 } a O2 O1",
		 "^ {9 o1 } o1 o0 {8 o1 } o1 {8 o1 } o1"},
		{"another one that comes seldom, in an iteration of its own",
		 "a! O1 {8 a O1 } a O2 {9 a O1 } a O2 {2 a O1 }", "^ {9 o1 } o1 {9 o1 } o1 {2 o1 }"},
		{"another one that comes seldom, after it", "a! O1 {8 a O1 } O2 {9 a O1 } O2 {2 a O1 }",
		 "^ {20 o1 }"},
		{"its place was taken for good, then both train by turns",
		 "a! O1 {8 a O1 } {2 a O2 } {4 a O2 a O1 }", "^ {12 o1 } o2 o3 o2"},
		{"a third one, after a second one that came beside it", "a! O1 {5 a O1 } O2 a O3 {3 a O1 }",
		 "^ {6 o1 } o2 {2 o1 }"},
		{"a second one joins later, in the same iterations", "{6 Z1 O1 } {6 Z1 Z2 O1 O2 }", "^ {12 o0 }"},
		{"the second network joins later, no loader", "{9 Z1 O1 } {9 Z2 O2 Z1 O1 }", "^ {18 o0 }"},
		{"one per parameter, in backward, without a loader",
		 "{4 O1 Z1 O2 Z2 O3 Z3 O4 Z4 O5 Z5 O6 Z6 O7 Z7 O8 Z8 O9 Z9 OA ZA OB ZB }", "^ {4 o0 }"},
		{"one per parameter, zero_grad first",
		 "{4 Z1 Z2 Z3 Z4 Z5 Z6 Z7 Z8 Z9 ZA ZB O1 O2 O3 O4 O5 O6 O7 O8 O9 OA OB }", "^ {4 o0 }"},
	};

	CHECK_ROWS(rows, NULL);
}

Test(step, ends_where_the_iteration_does_once_the_round_is_known)
{
	start(NULL);
	each_word("a! O1 O2 a O1 O2 a O1 O2 a O1", play_word);
	cr_expect_str_eq(outcome, "^ o1 o1 o1");
	each_word("O2", play_word);
	cr_expect_str_eq(outcome, "^ o1 o1 o1 o1");
	cr_expect_eq(last_end, now_ticks);
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
