/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step_rig.h - training loops as scripts of events, played to the step detector, and its steps and epochs
 *
 * A script is words:
 *	a! a a.		loader a: first call of a pass, a further batch, the call that ends it
 *			(no batch); a? is that call where nobody can tell that it brought none;
 *			a@ is a! where no gradients are computed
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
#ifndef TP_TESTS_STEP_RIG_H
#define TP_TESTS_STEP_RIG_H

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

static inline void note(const char *word)
{
	if (outcome[0])
		strcat(outcome, " ");
	strcat(outcome, word);
}

static inline void take_step(uint64_t now, const struct tp_step_facts *facts)
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
static inline void take_epoch(uint64_t now)
{
	cr_assert(now <= now_ticks && now >= last_end);
	note(n_in_epoch ? "|" : "^");
	n_in_epoch = 0;
	last_end = now;
}

static inline void take_restart(uint64_t now)
{
	cr_assert(now <= now_ticks && now >= last_end);
	note("R");
	last_end = now;
}

static inline void start(const struct tp_step_spec *spec)
{
	static const struct tp_step_spec automatic;
	static const struct tp_step_out out = {take_step, take_epoch, take_restart};

	outcome[0] = '\0';
	now_ticks = 1000;
	n_in_epoch = n_steps = last_begin = last_end = 0;
	tp_step_init(spec ? spec : &automatic, &out, TICKS_PER_MS);
}

static inline void play_word(const char *word);

static inline void *play_on_thread(void *word)
{
	play_word(word);
	return NULL;
}

static inline void begin_loader(char name, enum tp_step_call call)
{
	begun_loader = now_ticks += GAP;
	tp_step_loader_begin((uint64_t)name, call, now_ticks);
}

static inline void end_loader(char name, enum tp_step_got got)
{
	now_ticks += LOADER_CALL;
	tp_step_loader_end((uint64_t)name, begun_loader, now_ticks, got);
}

static inline void play_word(const char *word)
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
		begin_loader(word[1], TP_STEP_CALL_FURTHER);
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
		begin_loader(word[0], word[1] == '!' ? TP_STEP_CALL_FIRST :
				      word[1] == '@' ? TP_STEP_CALL_NO_GRAD :
						       TP_STEP_CALL_FURTHER);
		end_loader(word[0], word[1] == '.' ? TP_STEP_GOT_NONE :
				    word[1] == '?' ? TP_STEP_GOT_UNKNOWN :
						     TP_STEP_GOT_BATCH);
	}
}

/* Calls `play` with each word, {N ... } unrolled; returns behind the closing brace. */
static inline const char *each_word(const char *script, void (*play)(const char *))
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

static inline void check(const char *name, const char *script, const char *wanted)
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

static inline void check_rows(const struct row *row, size_t n, const struct tp_step_spec *spec)
{
	for (size_t i = 0; i < n; i++) {
		start(spec);
		check(row[i].name, row[i].script, row[i].wanted);
	}
}
#define CHECK_ROWS(rows, spec) check_rows(rows, sizeof(rows) / sizeof((rows)[0]), spec)

#endif
