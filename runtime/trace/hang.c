/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hang.c - a hang report as text, and back
 */
#include "runtime/trace/hang.h"

#include <string.h>

#include "runtime/trace/report.h"

static const char *const state_word[TP_HANG_N_STATES] = {
	[TP_HANG_IS_LATE] = "late", [TP_HANG_IS_QUIET] = "quiet", [TP_HANG_IS_STUCK] = "stuck",
	[TP_HANG_IS_SPINNING] = "spinning", [TP_HANG_IS_OVER] = "over",
};

#define KEY(name, KIND, field) \
	{name, TP_REPORT_##KIND, offsetof(struct tp_hang, field), sizeof(((struct tp_hang *)NULL)->field)}
static const struct tp_report_key keys[] = {
	KEY("run", HEX, run_id),
	KEY("rank", I32, rank), KEY("ranks", I32, world_size), KEY("restart", U32, restart),
	KEY("worker", U32, worker), KEY("pid", U32, pid), KEY("host", TEXT, host),
	KEY("written_ns", U64, real_ns), KEY("late_ns", U64, late_ns), KEY("steps", U64, steps),
	KEY("median_ns", U64, median_ns), KEY("where", TEXT, where), KEY("within", TEXT, within),
	KEY("waits", TEXT, waits), KEY("other", TEXT, other), KEY("gpus", TEXT, gpus),
	KEY("queues", TEXT, queues),
	KEY("idle", U32, is_idle), KEY("joining", U32, is_joining),
};
enum { N_KEYS = sizeof(keys) / sizeof(keys[0]) };

void tp_hang_put(const struct tp_hang *hang, struct tp_text *out)
{
	tp_text_fmt(out, "%s\nstate: %s\n", TP_HANG_FIRST_LINE, state_word[hang->state]);
	tp_report_put_all(out, keys, N_KEYS, hang);
	for (uint32_t i = 0; i < hang->n_groups && i < TP_HANG_GROUPS; i++) {
		const struct tp_hang_group *group = &hang->group[i];

		tp_text_fmt(out, "group: %lu %lu ", (unsigned long)group->asked,
			    (unsigned long)group->ended);
		tp_text_word(out, *group->last ? group->last : "-", sizeof(group->last), '_');
		tp_report_put(out, "", group->name[0] ? group->name : "?");
	}
	tp_text_char(out, '\n');
}

/* "ASKED ENDED LAST: NAME" */
static void take_group(const char *at, const char *end, struct tp_hang *hang)
{
	struct tp_hang_group *group = &hang->group[hang->n_groups];
	const char *name;

	if (hang->n_groups == TP_HANG_GROUPS)
		return;
	group->asked = tp_report_number(&at, end, 10);
	at += at < end;
	group->ended = tp_report_number(&at, end, 10);
	at += at < end;
	name = memmem(at, (size_t)(end - at), ": ", 2);
	if (!name || group->ended > group->asked)
		return;
	tp_report_text(at, name, group->last, sizeof(group->last));
	tp_report_text(name + 2, end, group->name, sizeof(group->name));
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

static bool take_other(void *into, const char *key, size_t n_key, const char *at, const char *end)
{
	if (n_key == 5 && !memcmp(key, "state", 5))
		return take_state(at, end, into);
	if (n_key == 5 && !memcmp(key, "group", 5))
		take_group(at, end, into);
	return true;
}

bool tp_hang_parse(const char *text, size_t n, struct tp_hang *hang)
{
	memset(hang, 0, sizeof(*hang));
	hang->rank = hang->world_size = -1;
	return tp_report_parse(text, n, TP_HANG_FIRST_LINE, keys, N_KEYS, take_other, hang) &&
	       hang->pid != 0;
}
