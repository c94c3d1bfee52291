/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slow_steps.c - the lines of a ledger on slow steps: see slow_steps.h
 */
#include "merge/facts/code/slow_steps.h"

#include <stdlib.h>
#include <string.h>

#include "merge/model/label.h"
#include "runtime/base/own_python.h"
#include "runtime/base/text.h"
#include "runtime/trace/ledger.h"

enum {
	NOTES = 256, NOTE_BYTES = 512,
	INNER_OWN = 2, INNER_PART = 3,	/* functions of the user's; of the steps, so many at least */
};

static const char between[] = " > ";

struct note {
	uint64_t step;
	char text[NOTE_BYTES];
};

/* That b goes on where a ends, or ends there too, but for numbers of lines. */
static bool begins_with(const char *b, const char *a)
{
	for (;; a++, b++) {
		a += strspn(a, "0123456789");
		b += strspn(b, "0123456789");
		if (!*a)
			return !*b || !strncmp(b, between, strlen(between));
		if (*a != *b)
			return false;
	}
}

/* One of each step; a ledger may have been made by anybody. */
static uint32_t read_notes(const struct tp_proc *proc, tp_step_choose *choose, const void *ctx,
			   struct note *note)
{
	const char *at = proc->started;
	char key[64], value[NOTE_BYTES];
	uint32_t n = 0;

	while (n < NOTES && at && tp_fact_next(&at, TP_LEDGER_SLOW, key, value, sizeof(value))) {
		const char *text = strchr(value, ' ');
		bool is_there = false;
		uint64_t step;

		if (!text || tp_text_parse_u64(key, &step) || !choose(ctx, step))
			continue;
		for (uint32_t i = 0; i < n; i++)
			is_there |= note[i].step == step;
		if (is_there)
			continue;
		note[n].step = step;
		strcpy(note[n++].text, text + 1);
	}
	return n;
}

static bool is_own(const char *text, size_t n_file)
{
	char file[NOTE_BYTES];

	memcpy(file, text, n_file);
	file[n_file] = '\0';
	return tp_own_python(file);
}

/* Each file without its folders. */
static void shorten(const char *text, struct tp_slow_where *where)
{
	struct tp_text out;

	where->n_own = 0;
	tp_text_init(&out, where->text, sizeof(where->text));
	while (*text) {
		const char *end = strstr(text, between), *file = text;
		size_t n = end ? (size_t)(end - text) : strlen(text), n_file = strcspn(text, ":");

		where->n_own += n_file < n && is_own(text, n_file);
		for (size_t i = 0; i < n && i < n_file; i++)
			if (text[i] == '/')
				file = text + i + 1;
		tp_text_bytes(&out, file, n - (size_t)(file - text));
		if (end)
			tp_text_str(&out, between);
		text += n + (end ? strlen(between) : 0);
	}
}

static uint32_t count_same(const struct note *note, uint32_t n, const char *text)
{
	uint32_t same = 0;

	for (uint32_t i = 0; i < n; i++)
		same += begins_with(note[i].text, text);
	return same;
}

/* What is shared is the outermost function only, or a package's: where others agree on what it calls of the
 * user's that says more. */
static uint32_t prefer_inner(const struct note *note, uint32_t n, uint32_t most, struct tp_slow_where *where)
{
	uint32_t best = 0;

	if (where->n_own >= INNER_OWN)
		return most;
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t same = count_same(note, n, note[i].text);
		struct tp_slow_where inner;

		shorten(note[i].text, &inner);
		if (inner.n_own < INNER_OWN || same <= best || same * INNER_PART < n)
			continue;
		best = same;
		*where = inner;
	}
	return best ? best : most;
}

uint32_t tp_slow_steps_where(const struct tp_proc *proc, tp_step_choose *choose, const void *ctx,
			     struct tp_slow_where *where)
{
	struct note *note = malloc(NOTES * sizeof(*note));
	uint32_t n = note ? read_notes(proc, choose, ctx, note) : 0, most = 0;
	size_t longest = 0;

	*where = (struct tp_slow_where){.n_own = 0};
	for (uint32_t i = 0; i < n; i++) {
		const size_t length = strlen(note[i].text);
		const uint32_t same = count_same(note, n, note[i].text);
		const bool is_half = same >= n - n / 2;

		if (is_half ? length > longest : same > most) {
			longest = is_half ? length : 0;
			most = same;
			shorten(note[i].text, where);
		}
	}
	most = prefer_inner(note, n, most, where);
	free(note);
	return most;
}
