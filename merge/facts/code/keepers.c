/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keepers.c - containers of the program that grow from step to step
 */
#include "merge/facts/code/keepers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "merge/model/label.h"
#include "runtime/base/text.h"

enum { VALUE = 1024 };

/* "LOOK" or "LOOK.NUMBER"; false: something else. */
static bool read_key(const char *key, uint64_t *look, bool *is_one)
{
	char number[64];
	const size_t n = strcspn(key, ".");

	if (n >= sizeof(number))
		return false;
	memcpy(number, key, n);
	number[n] = '\0';
	*is_one = key[n] != '\0';
	return !tp_text_parse_u64(number, look);
}

static bool is_kind(const char *word)
{
	static const char *const kinds[] = {
#define _(word, KIND) word,
		TP_GROWS_KINDS(_)
#undef _
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(word, kinds[i]))
			return true;
	return false;
}

static bool read_keeper(const char *value, struct tp_keeper *keeper)
{
	const char *place, *name = NULL;
	unsigned has_tensor;
	int n = 0;

	*keeper = (struct tp_keeper){.first = 0};
	if (sscanf(value,
		   "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %u %15s %n",
		   &keeper->first_step, &keeper->first, &keeper->last_step, &keeper->last,
		   &keeper->item_bytes, &has_tensor, keeper->kind, &n) != 7 || !n)
		return false;
	keeper->has_tensor = has_tensor;
	/* The name has no colon. */
	for (place = value + n; (place = strstr(place, ": ")) != NULL; place += 2)
		name = place;
	if (!name || !is_kind(keeper->kind) || keeper->last_step <= keeper->first_step ||
	    keeper->last <= keeper->first)
		return false;
	snprintf(keeper->name, sizeof(keeper->name), "%s", name + 2);
	snprintf(keeper->file, sizeof(keeper->file), "%.*s", (int)(name - value - n), value + n);
	return true;
}

uint32_t tp_keepers_of(const struct tp_proc *proc, struct tp_keeper keeper[TP_KEEPERS])
{
	char key[64], value[VALUE];
	uint64_t look, last = 0;
	uint32_t n = 0;
	bool is_one;

	for (const char *at = proc->started; at && tp_fact_next(&at, TP_GROWS, key, value, sizeof(value));)
		if (read_key(key, &look, &is_one) && look > last)
			last = look;
	for (const char *at = proc->started; n < TP_KEEPERS && at &&
					     tp_fact_next(&at, TP_GROWS, key, value, sizeof(value));)
		if (read_key(key, &look, &is_one) && is_one && look == last && read_keeper(value, &keeper[n]))
			n++;
	return n;
}

double tp_keeper_rate(const struct tp_keeper *keeper)
{
	return (double)(keeper->last - keeper->first) / (double)(keeper->last_step - keeper->first_step);
}

const char *tp_keeper_tell(char *buf, size_t cap, const struct tp_keeper *keeper)
{
	const double rate = tp_keeper_rate(keeper);
	const bool is_cache = !strcmp(keeper->kind, "cache");
	char more[48];

	if (rate > 0.95 && rate < 1.05)
		snprintf(more, sizeof(more), "one more item");
	else
		snprintf(more, sizeof(more), "%.3g more items", rate);
	snprintf(buf, cap, "'%s', a %s of %s: %s each step", keeper->name, is_cache ? "functools cache" : keeper->kind,
		 keeper->file, more);
	return buf;
}
