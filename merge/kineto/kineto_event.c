/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kineto_event.c - one event of a torch.profiler trace, as far as the merge uses it
 */
#include "merge/kineto/kineto_event.h"

#include <string.h>

static void take_number(struct tp_json_in *in, struct tp_kineto_event *event, int64_t *field,
			uint32_t bit, uint32_t scale)
{
	if (tp_json_in_number(in, scale, field))
		event->has |= 1ull << bit;
}

/* [1, 2, 3] */
static void take_three(struct tp_json_in *in, struct tp_kineto_event *event, int64_t three[3],
		       uint32_t bit)
{
	bool is_first = true, is_good = true;
	int64_t ignored;

	if (tp_json_in_peek(in) != '[') {
		tp_json_in_skip(in, NULL);
		return;
	}
	in->at++;
	for (uint32_t i = 0; tp_json_in_item(in, &is_first); i++)
		is_good &= tp_json_in_number(in, 1, i < 3 ? &three[i] : &ignored);
	if (is_good && !in->is_short && !in->is_bad)
		event->has |= 1ull << bit;
}

static void take_raw(struct tp_json_in *in, struct tp_json_text *text)
{
	const char *from;

	if (!tp_json_in_skip(in, &from))
		return;
	text->bytes = from;
	text->n = (uint32_t)(in->at - from);
	text->has_escapes = false;
}

/* Any value; kept when it is a text. */
static void take_text(struct tp_json_in *in, struct tp_json_text *text)
{
	if (tp_json_in_peek(in) == '"')
		tp_json_in_string(in, text);
	else
		tp_json_in_skip(in, NULL);
}

/* Keys differ by length and first letter so far that one comparison of bytes is enough. */
static void take_arg(struct tp_json_in *in, struct tp_kineto_event *event,
		     const struct tp_json_text *key)
{
#define _(bit, word, field, scale)                                                         \
	if (TP_JSON_IS(key, word)) {                                                       \
		take_number(in, event, &event->field, TP_KINETO_BIT_##bit, scale);         \
		return;                                                                    \
	}
	TP_KINETO_ARGS(_)
#undef _
	if (TP_JSON_IS(key, "Input Dims") || TP_JSON_IS(key, "Input dims"))
		take_raw(in, &event->dims);
	else if (TP_JSON_IS(key, "Input type"))
		take_raw(in, &event->types);
	else if (TP_JSON_IS(key, "grid"))
		take_three(in, event, event->grid, TP_KINETO_BIT_GRID);
	else if (TP_JSON_IS(key, "block"))
		take_three(in, event, event->block, TP_KINETO_BIT_BLOCK);
#define _(word, field)                                                                     \
	else if (TP_JSON_IS(key, word)) take_text(in, &event->field);
	TP_KINETO_TEXTS(_)
#undef _
	else
		tp_json_in_skip(in, NULL);
}

static void take_args(struct tp_json_in *in, struct tp_kineto_event *event)
{
	struct tp_json_text key;
	bool is_first = true;

	if (tp_json_in_peek(in) != '{') {
		tp_json_in_skip(in, NULL);
		return;
	}
	in->at++;
	while (tp_json_in_key(in, &key, &is_first))
		take_arg(in, event, &key);
}

static void take_member(struct tp_json_in *in, struct tp_kineto_event *event,
			const struct tp_json_text *key)
{
	struct tp_json_text text = {.n = 0};

	if (TP_JSON_IS(key, "ph")) {
		take_text(in, &text);
		event->phase = text.n ? text.bytes[0] : 0;
		return;
	}
	/* "stream 7" in old traces. */
	if (TP_JSON_IS(key, "tid") && tp_json_in_peek(in) == '"') {
		struct tp_json_in ahead = *in;

		tp_json_in_string(&ahead, &event->tid_text);
	}
#define _(bit, word, field, scale)                                                         \
	if (TP_JSON_IS(key, word)) {                                                       \
		take_number(in, event, &event->field, TP_KINETO_BIT_##bit, scale);         \
		return;                                                                    \
	}
	TP_KINETO_NUMBERS(_)
#undef _
	if (TP_JSON_IS(key, "cat"))
		take_text(in, &event->category);
	else if (TP_JSON_IS(key, "name"))
		take_text(in, &event->name);
	else if (TP_JSON_IS(key, "args"))
		take_args(in, event);
	else
		tp_json_in_skip(in, NULL);
}

bool tp_kineto_event(struct tp_json_in *in, struct tp_kineto_event *event)
{
	static const struct tp_json_text none = {.bytes = ""};
	struct tp_json_text key;
	bool is_first = true;

	memset(event, 0, sizeof(*event));
	event->name = event->category = event->tid_text = event->inner_name = none;
	event->dims = event->types = none;
#define _(word, field) event->field = none;
	TP_KINETO_TEXTS(_)
#undef _
	if (!tp_json_in_take(in, '{')) {
		in->is_bad = !in->is_short;
		return false;
	}
	while (tp_json_in_key(in, &key, &is_first))
		take_member(in, event, &key);
	return !in->is_short && !in->is_bad;
}
