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

struct tp_sched_action tp_sched_with(const struct tp_sched_spec *spec,
				     const struct tp_sched_extra *extra, uint64_t in_epoch,
				     uint64_t step)
{
	struct tp_sched_action action = tp_sched_at(spec, in_epoch);

	if (action.phase == TP_PHASE_ACTIVE || step >= extra->to)
		return action;
	if (step >= extra->from) {
		action.phase = TP_PHASE_ACTIVE;
		action.is_extra = true;
		action.is_last_active =
			step + 1 == extra->to ||
			tp_sched_at(spec, in_epoch + 1).phase == TP_PHASE_ACTIVE;
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
enum { N_NUMBERS = sizeof(number_field) / sizeof(number_field[0]), PER = N_NUMBERS };

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

/* One "name=value" of n bytes. `seen` has a bit for each name that came already. */
static int parse_pair(struct tp_sched_spec *spec, const char *pair, size_t n, uint32_t *seen)
{
	const char *equals = memchr(pair, '=', n);
	const char *value;
	size_t n_name, n_value, i;

	if (!equals)
		return -EINVAL;
	value = equals + 1;
	n_name = (size_t)(equals - pair);
	n_value = n - n_name - 1;
	for (i = 0; i < N_NUMBERS; i++) {
		if (is_word(pair, n_name, number_field[i].name))
			break;
	}
	if (i == PER && !is_word(pair, n_name, "per"))
		return -EINVAL;
	if (*seen & 1u << i)
		return -EINVAL;
	*seen |= 1u << i;
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
	bool is_last = false;

	if (!strcmp(text, "always") || !strcmp(text, "trigger")) {
		spec->always = text[0] == 'a';
		spec->only_extra = !spec->always;
		return 0;
	}
	read.always = read.only_extra = false;
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
		if (parse_pair(&read, word, n, &seen))
			return refuse(word, n, bad, cap);
	}
	/* A cycle without an active step would never end a window. */
	if (!read.active)
		return refuse("active=0", strlen("active=0"), bad, cap);
	*spec = read;
	return 0;
}
