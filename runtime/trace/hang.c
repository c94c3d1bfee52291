/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hang.c - a hang report as text, and back
 */
#include "runtime/trace/hang.h"

#include <string.h>

static const char first_line[] = TP_HANG_FIRST_LINE;
static const char *const state_word[TP_HANG_N_STATES] = {
	[TP_HANG_IS_LATE] = "late", [TP_HANG_IS_QUIET] = "quiet", [TP_HANG_IS_STUCK] = "stuck",
	[TP_HANG_IS_SPINNING] = "spinning", [TP_HANG_IS_OVER] = "over",
};

/* ---- writing ---- */

/* A value ends with its line, whatever a name of the program has in it. */
static void put_text(struct tp_text *out, const char *key, const char *value)
{
	if (!*value)
		return;
	tp_text_fmt(out, "%s: ", key);
	for (; *value; value++)
		tp_text_char(out, (unsigned char)*value < ' ' || *value == 127 ? '?' : *value);
	tp_text_char(out, '\n');
}

void tp_hang_put(const struct tp_hang *hang, struct tp_text *out)
{
	tp_text_fmt(out, "%s\n", first_line);
	tp_text_fmt(out, "run: %lx\n", (unsigned long)hang->run_id);
	tp_text_fmt(out, "rank: %d\nranks: %d\nrestart: %u\nworker: %u\npid: %u\n", hang->rank,
		    hang->world_size, hang->restart, hang->worker, hang->pid);
	put_text(out, "host", hang->host);
	tp_text_fmt(out, "state: %s\n", state_word[hang->state]);
	tp_text_fmt(out, "written_ns: %lu\nlate_ns: %lu\nsteps: %lu\nmedian_ns: %lu\n",
		    (unsigned long)hang->real_ns, (unsigned long)hang->late_ns,
		    (unsigned long)hang->steps, (unsigned long)hang->median_ns);
	put_text(out, "where", hang->where);
	put_text(out, "within", hang->within);
	put_text(out, "waits", hang->waits);
	put_text(out, "other", hang->other);
	if (hang->is_idle)
		tp_text_str(out, "idle: 1\n");
	for (uint32_t i = 0; i < hang->n_groups && i < TP_HANG_GROUPS; i++) {
		const struct tp_hang_group *group = &hang->group[i];

		tp_text_fmt(out, "group: %lu %lu ", (unsigned long)group->asked,
			    (unsigned long)group->ended);
		tp_text_word(out, *group->last ? group->last : "-", sizeof(group->last), '_');
		put_text(out, "", group->name[0] ? group->name : "?");
	}
	tp_text_char(out, '\n');
}

/* ---- reading ---- */

static uint64_t take_number(const char **at, const char *end, uint32_t base)
{
	uint64_t value = 0;

	for (; *at < end; (*at)++) {
		char c = **at;
		uint32_t digit = c >= '0' && c <= '9' ? (uint32_t)(c - '0')
				 : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10) : base;

		if (digit >= base)
			break;
		value = value * base + digit;
	}
	return value;
}

static int32_t take_signed(const char *at, const char *end)
{
	bool is_negative = at < end && *at == '-';
	uint64_t value;

	at += is_negative;
	value = take_number(&at, end, 10);
	return value > INT32_MAX ? -1 : is_negative ? -(int32_t)value : (int32_t)value;
}

static void take_text(const char *at, const char *end, char *out, size_t cap)
{
	struct tp_text text;

	tp_text_init(&text, out, cap);
	for (; at < end; at++)
		tp_text_char(&text, (unsigned char)*at < ' ' || *at == 127 ? '?' : *at);
}

/* "ASKED ENDED LAST: NAME" */
static void take_group(const char *at, const char *end, struct tp_hang *hang)
{
	struct tp_hang_group *group = &hang->group[hang->n_groups];
	const char *name;

	if (hang->n_groups == TP_HANG_GROUPS)
		return;
	group->asked = take_number(&at, end, 10);
	at += at < end;
	group->ended = take_number(&at, end, 10);
	at += at < end;
	name = memmem(at, (size_t)(end - at), ": ", 2);
	if (!name || group->ended > group->asked)
		return;
	take_text(at, name, group->last, sizeof(group->last));
	take_text(name + 2, end, group->name, sizeof(group->name));
	hang->n_groups++;
}

static bool take_state(const char *at, const char *end, struct tp_hang *hang)
{
	for (uint32_t i = 0; i < TP_HANG_N_STATES; i++) {
		if ((size_t)(end - at) == strlen(state_word[i]) &&
		    !memcmp(at, state_word[i], (size_t)(end - at))) {
			hang->state = (enum tp_hang_state)i;
			return true;
		}
	}
	return false;
}

/* One line's value; keys that are not known are of a newer build. False: it makes no sense. */
static bool take_value(const char *key, size_t n_key, const char *at, const char *end,
		       struct tp_hang *hang)
{
	const struct {
		const char *key;
		uint64_t *number;
		uint32_t *small;
		int32_t *is_signed;
		char *text;
		size_t cap;
	} known[] = {
		{.key = "rank", .is_signed = &hang->rank},
		{.key = "ranks", .is_signed = &hang->world_size},
		{.key = "restart", .small = &hang->restart},
		{.key = "worker", .small = &hang->worker},
		{.key = "pid", .small = &hang->pid},
		{.key = "written_ns", .number = &hang->real_ns},
		{.key = "late_ns", .number = &hang->late_ns},
		{.key = "steps", .number = &hang->steps},
		{.key = "median_ns", .number = &hang->median_ns},
		{.key = "host", .text = hang->host, .cap = sizeof(hang->host)},
		{.key = "where", .text = hang->where, .cap = sizeof(hang->where)},
		{.key = "within", .text = hang->within, .cap = sizeof(hang->within)},
		{.key = "other", .text = hang->other, .cap = sizeof(hang->other)},
		{.key = "waits", .text = hang->waits, .cap = sizeof(hang->waits)},
	};

	for (uint32_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (strlen(known[i].key) != n_key || memcmp(known[i].key, key, n_key))
			continue;
		if (known[i].number)
			*known[i].number = take_number(&at, end, 10);
		else if (known[i].small)
			*known[i].small = (uint32_t)take_number(&at, end, 10);
		else if (known[i].is_signed)
			*known[i].is_signed = take_signed(at, end);
		else
			take_text(at, end, known[i].text, known[i].cap);
		return true;
	}
	if (n_key == 5 && !memcmp(key, "state", 5))
		return take_state(at, end, hang);
	if (n_key == 5 && !memcmp(key, "group", 5))
		take_group(at, end, hang);
	if (n_key == 4 && !memcmp(key, "idle", 4))
		hang->is_idle = true;
	if (n_key == 3 && !memcmp(key, "run", 3))
		hang->run_id = take_number(&at, end, 16);
	return true;
}

bool tp_hang_parse(const char *text, size_t n, struct tp_hang *hang)
{
	const char *at = text, *end = text + n;

	memset(hang, 0, sizeof(*hang));
	hang->rank = hang->world_size = -1;
	if (n < sizeof(first_line) || memcmp(text, first_line, sizeof(first_line) - 1) ||
	    text[sizeof(first_line) - 1] != '\n')
		return false;
	for (at += sizeof(first_line); at < end && *at != '\n';) {
		const char *eol = memchr(at, '\n', (size_t)(end - at));
		const char *colon = eol ? memmem(at, (size_t)(eol - at), ": ", 2) : NULL;

		if (!colon || !take_value(at, (size_t)(colon - at), colon + 2, eol, hang))
			return false;
		at = eol + 1;
	}
	return at < end && hang->pid != 0;
}
