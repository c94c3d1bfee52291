/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perfetto_names.c - names that a sequence sends once, and the arguments of its events
 */
#include <string.h>

#include "merge/kit/grow.h"
#include "merge/model/kineto.h"
#include "merge/sink/perfetto.h"

/* True the first time; also when memory is out: sent twice is not wrong. */
static bool is_new(uint64_t **bitmap, uint32_t *cap, uint32_t same)
{
	uint64_t bit = 1ull << (same & 63);

	if (!tp_grow(bitmap, cap, same / 64 + 1, sizeof((*bitmap)[0])))
		return true;
	if ((*bitmap)[same / 64] & bit)
		return false;
	(*bitmap)[same / 64] |= bit;
	return true;
}

size_t tp_perfetto_name_length(const struct tp_string *name)
{
	size_t n =
	    name->n_bytes < TP_PERFETTO_NAME_MAX ? name->n_bytes : TP_PERFETTO_NAME_MAX;

	return name->kind == TP_STRING_OP || name->kind == TP_STRING_COUNTER
		   ? strnlen(name->bytes, n)
		   : n;
}

void tp_perfetto_load_shapes(struct tp_perfetto *s, const struct tp_string *string)
{
	struct tp_perfetto_shapes *shapes;

	if (string->kind != TP_STRING_SHAPES ||
	    !tp_grow(&s->shapes, &s->n_shapes, (uint64_t)string->same + 1, sizeof(*shapes)))
		return;
	shapes = &s->shapes[string->same];
	if (!shapes->dims && !tp_kineto_shapes(string, &shapes->dims, &shapes->types))
		shapes->dims = shapes->types = NULL;
}

static const struct tp_perfetto_shapes *shapes_of(const struct tp_perfetto *s,
						  const struct tp_string *string)
{
	const struct tp_perfetto_shapes *shapes;

	if (string->same >= s->n_shapes)
		return NULL;
	shapes = &s->shapes[string->same];
	return shapes->dims && strlen(shapes->dims) <= TP_PERFETTO_SHAPES_MAX &&
		       strlen(shapes->types) <= TP_PERFETTO_SHAPES_MAX
		   ? shapes
		   : NULL;
}

static char *put_argument(char *p, enum tp_perfetto_argument name, uint32_t field,
			  uint64_t value)
{
	char *at;

	p = tp_proto_begin(p, EVENT_ANNOTATIONS, &at);
	p = tp_proto_uint(p, ANNOTATION_NAME_IID, name);
	p = tp_proto_uint(p, field, value);
	tp_proto_end(p, at);
	return p;
}

char *tp_perfetto_put_uint(char *p, enum tp_perfetto_argument name, uint64_t value)
{
	return put_argument(p, name, ANNOTATION_UINT, value);
}

char *tp_perfetto_put_int(char *p, enum tp_perfetto_argument name, int64_t value)
{
	return put_argument(p, name, ANNOTATION_INT, (uint64_t)value);
}

char *tp_perfetto_put_double(char *p, enum tp_perfetto_argument name, uint64_t bits)
{
	char *at;

	p = tp_proto_begin(p, EVENT_ANNOTATIONS, &at);
	p = tp_proto_uint(p, ANNOTATION_NAME_IID, name);
	p = tp_proto_fixed64(p, ANNOTATION_DOUBLE, bits);
	tp_proto_end(p, at);
	return p;
}

char *tp_perfetto_put_text(char *p, enum tp_perfetto_argument name, const char *text)
{
	char *at;

	p = tp_proto_begin(p, EVENT_ANNOTATIONS, &at);
	p = tp_proto_uint(p, ANNOTATION_NAME_IID, name);
	p = tp_proto_text(p, ANNOTATION_STRING, text, strlen(text));
	tp_proto_end(p, at);
	return p;
}

char *tp_perfetto_put_arguments(const struct tp_perfetto *s, char *p,
				const struct tp_event *event)
{
	if (event->kind == TP_REC_STEP) {
		p = tp_perfetto_put_uint(p, ARG_EPOCH, event->arg >> 32);
		p = tp_perfetto_put_uint(p, ARG_STEP, (uint32_t)event->arg);
	} else if (event->kind == TP_REC_OP && event->link != TP_NO_SEQ) {
		p = tp_perfetto_put_uint(p, ARG_SEQUENCE, event->link);
		p = tp_perfetto_put_uint(
		    p, ARG_FORWARD,
		    event->flags & TP_F_ASYNC ? 0 : TP_ARG_THREAD(event->arg));
	}
	if (shapes_of(s, event->shapes)) {
		p = put_argument(p, ARG_DIMS, ANNOTATION_STRING_IID,
				 2 * (uint64_t)event->shapes->same + 2);
		p = put_argument(p, ARG_TYPES, ANNOTATION_STRING_IID,
				 2 * (uint64_t)event->shapes->same + 3);
	}
	if (event->flags & TP_F_EARLY)
		p = tp_perfetto_put_uint(p, ARG_EARLY, 1);
	if (event->flags & TP_F_OPEN)
		p = tp_perfetto_put_uint(p, ARG_OPEN, 1);
	return p;
}

/* What the event of this packet names and its sequence has not seen yet. */
char *tp_perfetto_put_new_names(struct tp_perfetto *s, struct tp_perfetto_sequence *q,
				char *p, const struct tp_event *event)
{
	const struct tp_string *name = event->name, *shapes = event->shapes;
	bool sends_name = event->kind != TP_REC_STEP && name->kind &&
			  is_new(&q->names, &q->cap_names, name->same);
	const struct tp_perfetto_shapes *json = shapes_of(s, shapes);
	bool sends_shapes = json && is_new(&q->strings, &q->cap_strings, shapes->same);
	char *at;

	if (!sends_name && !sends_shapes)
		return p;
	p = tp_proto_begin(p, PACKET_INTERNED_DATA, &at);
	if (sends_name)
		p = tp_perfetto_put_interned(p, INTERNED_NAMES, (uint64_t)name->same + 1,
					     name->bytes, tp_perfetto_name_length(name));
	if (sends_shapes) {
		p = tp_perfetto_put_interned(p, INTERNED_STRINGS,
					     2 * (uint64_t)shapes->same + 2, json->dims,
					     strlen(json->dims));
		p = tp_perfetto_put_interned(p, INTERNED_STRINGS,
					     2 * (uint64_t)shapes->same + 3, json->types,
					     strlen(json->types));
	}
	tp_proto_end(p, at);
	return p;
}
