/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schedule.c - the schedule: a step's number in, its phase out
 *
 * Pure: no state, no clock, no environment, no allocation. The phase of a step follows from
 * its number alone, so nothing can drift, and a resumed or restarted count needs no repair.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "runtime/base/text.h"
#include "runtime/engine/config/schedule.h"

static struct tp_sched_action at_listed(const struct tp_sched_spec *spec, uint64_t step)
{
	struct tp_sched_action action = {.phase = TP_PHASE_DONE};

	for (uint32_t i = 0; i < spec->n_at; i++) {
		uint64_t from = spec->at[i], to = from + spec->active;

		/* The next one may come before this one is over. */
		if (i + 1 < spec->n_at && spec->at[i + 1] < to)
			to = spec->at[i + 1];
		if (step >= to)
			continue;
		if (step >= from) {
			action.phase = TP_PHASE_ACTIVE;
			action.is_last_active = step + 1 == to;
		} else {
			action.phase = from - step <= spec->warmup ? TP_PHASE_WARMUP
								   : TP_PHASE_WAIT;
		}
		return action;
	}
	return action;
}

uint64_t tp_sched_missed(const struct tp_sched_spec *spec, uint64_t n_steps)
{
	for (uint32_t i = 0; i < spec->n_at; i++)
		if (spec->at[i] >= n_steps)
			return spec->at[i];
	return TP_SCHED_MOST + 1;
}

struct tp_sched_action tp_sched_at(const struct tp_sched_spec *spec, uint64_t in_epoch)
{
	struct tp_sched_action action = {.phase = TP_PHASE_DONE};
	uint64_t cycle = spec->wait + spec->warmup + spec->active;
	uint64_t at;

	if (spec->always) {
		action.phase = TP_PHASE_ACTIVE;
		return action;
	}
	if (spec->only_extra) {
		action.phase = TP_PHASE_WAIT;
		return action;
	}
	if (spec->n_at)
		return at_listed(spec, in_epoch);
	if (in_epoch < spec->skip_first) {
		action.phase = TP_PHASE_SKIP;
		return action;
	}
	at = in_epoch - spec->skip_first;
	/* A division, because repeat * cycle may not fit. */
	if (!cycle || (spec->repeat && at / cycle >= spec->repeat))
		return action;
	at %= cycle;
	if (at < spec->wait) {
		action.phase = TP_PHASE_WAIT;
	} else if (at < spec->wait + spec->warmup) {
		action.phase = TP_PHASE_WARMUP;
	} else {
		action.phase = TP_PHASE_ACTIVE;
		action.is_last_active = at == cycle - 1;
	}
	return action;
}

/* As long as nobody stopped it. */
static struct tp_sched_action at_stopped(const struct tp_sched_spec *spec, uint64_t stop,
					 uint64_t in_epoch, uint64_t step)
{
	struct tp_sched_action action = {.phase = TP_PHASE_DONE};

	if (stop && step >= stop)
		return action;
	action = tp_sched_at(spec, in_epoch);
	if (action.phase == TP_PHASE_ACTIVE && step + 1 == stop)
		action.is_last_active = true;
	return action;
}

struct tp_sched_action tp_sched_with(const struct tp_sched_spec *spec,
				     const struct tp_sched_extra *extra, uint64_t in_epoch,
				     uint64_t step)
{
	struct tp_sched_action action;

	if (spec->n_at)
		in_epoch = step;	/* listed ones are of the run */
	action = at_stopped(spec, extra->stop, in_epoch, step);
	if (action.phase == TP_PHASE_ACTIVE || step >= extra->to)
		return action;
	if (step >= extra->from) {
		action.phase = TP_PHASE_ACTIVE;
		action.is_extra = true;
		action.is_last_active =
			step + 1 == extra->to ||
			at_stopped(spec, extra->stop, in_epoch + 1, step + 1).phase == TP_PHASE_ACTIVE;
	} else if (extra->from - step <= spec->warmup) {
		action.phase = TP_PHASE_WARMUP;
	}
	return action;
}

static const struct {
	const char *name;
	size_t at;
} number_field[] = {
	{"skip_first", offsetof(struct tp_sched_spec, skip_first)},
	{"wait", offsetof(struct tp_sched_spec, wait)},
	{"warmup", offsetof(struct tp_sched_spec, warmup)},
	{"active", offsetof(struct tp_sched_spec, active)},
	{"repeat", offsetof(struct tp_sched_spec, repeat)},
};
enum {
	N_NUMBERS = sizeof(number_field) / sizeof(number_field[0]), PER = N_NUMBERS, AT,
	OF_AT = 1u << AT | 1u << 2 | 1u << 3,	/* at, warmup, active: what goes together */
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool is_word(const char *word, size_t n, const char *text)
{
	return strlen(text) == n && !memcmp(word, text, n);
}

/* Digits only, at most TP_SCHED_MOST. */
static int parse_number(const char *text, size_t n, uint64_t *value)
{
	uint64_t sum = 0;

	if (!n)
		return -EINVAL;
	for (size_t i = 0; i < n; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -EINVAL;
		sum = sum * 10 + (uint64_t)(text[i] - '0');
		if (sum > TP_SCHED_MOST)
			return -ERANGE;
	}
	*value = sum;
	return 0;
}

/* A step of `at`, beyond those before it. */
static int parse_at(struct tp_sched_spec *spec, const char *text, size_t n)
{
	uint64_t step;

	if (spec->n_at == TP_SCHED_AT_MOST || parse_number(text, n, &step) ||
	    (spec->n_at && step <= spec->at[spec->n_at - 1]))
		return -EINVAL;
	spec->at[spec->n_at++] = step;
	spec->per_run = true;
	return 0;
}

/* One "name=value" of n bytes. `seen` has a bit for each name that came already. */
static int parse_pair(struct tp_sched_spec *spec, const char *pair, size_t n, uint32_t *seen,
		      bool *is_at)
{
	const char *equals = memchr(pair, '=', n);
	const char *value;
	size_t n_name, n_value, i;

	/* "5000" of "at=100,5000". */
	if (!equals)
		return *is_at ? parse_at(spec, pair, n) : -EINVAL;
	value = equals + 1;
	n_name = (size_t)(equals - pair);
	n_value = n - n_name - 1;
	for (i = 0; i < N_NUMBERS; i++) {
		if (is_word(pair, n_name, number_field[i].name))
			break;
	}
	*is_at = is_word(pair, n_name, "at");
	if (*is_at)
		i = AT;
	else if (i == PER && !is_word(pair, n_name, "per"))
		return -EINVAL;
	if (*seen & 1u << i)
		return -EINVAL;
	*seen |= 1u << i;
	if (*seen & 1u << AT && *seen & ~OF_AT)
		return -EINVAL;
	if (*is_at)
		return parse_at(spec, value, n_value);
	if (i < N_NUMBERS)
		return parse_number(value, n_value,
				    (uint64_t *)(void *)((char *)spec + number_field[i].at));
	spec->per_run = is_word(value, n_value, "run");
	return spec->per_run || is_word(value, n_value, "epoch") ? 0 : -EINVAL;
}

static int refuse(const char *word, size_t n, char *bad, uint32_t cap)
{
	struct tp_text text;

	if (cap) {
		tp_text_init(&text, bad, cap);
		tp_text_bytes(&text, word, n);
	}
	return -EINVAL;
}

int tp_sched_parse(struct tp_sched_spec *spec, const char *text, char *bad, uint32_t cap)
{
	struct tp_sched_spec read = *spec;
	uint32_t seen = 0;
	bool is_last = false, is_at = false;

	if (!strcmp(text, "always") || !strcmp(text, "trigger")) {
		spec->always = text[0] == 'a';
		spec->only_extra = !spec->always;
		return 0;
	}
	read.always = read.only_extra = false;
	read.n_at = 0;
	while (!is_last) {
		size_t n = strcspn(text, ",");
		const char *word = text, *after = text + n;

		is_last = *after == '\0';
		text = after + 1;
		while (n && is_blank(*word)) {
			word++;
			n--;
		}
		while (n && is_blank(word[n - 1]))
			n--;
		if (parse_pair(&read, word, n, &seen, &is_at))
			return refuse(word, n, bad, cap);
	}
	/* A cycle without an active step would never end a window. */
	if (!read.active)
		return refuse("active=0", strlen("active=0"), bad, cap);
	*spec = read;
	return 0;
}
