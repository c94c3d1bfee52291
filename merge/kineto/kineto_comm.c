/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kineto_comm.c - process groups and bytes of collectives as a SHAPES string tells them
 */
#include "merge/kineto/kineto_comm.h"

#include <stdio.h>
#include <string.h>

#include "merge/model/scalar.h"
#include "runtime/base/varint.h"

enum {
	SHAPES_MOST = 4096,
	GROUP_MOST = 2 * TP_KINETO_GROUP_TEXT + 32,
	COLL_TEXT = 1024,
	COLL_MOST = 5 * COLL_TEXT + 64,
};

/* An item GROUP; its bytes. */
static uint32_t put_group(uint8_t out[GROUP_MOST + 8], const struct tp_kineto_group *group,
			  int32_t peer)
{
	uint8_t inner[GROUP_MOST];
	uint32_t n = 0, n_head;

	n += tp_varint_bytes(inner + n, (uint64_t)(group->at + 1));
	n += tp_varint_bytes(inner + n, group->size);
	n += tp_varint_bytes(inner + n, (uint64_t)(peer + 1));
	n += tp_varint_bytes(inner + n, 0);
	memcpy(inner + n, group->name, group->n_name);
	n += group->n_name;
	inner[n++] = 0;
	memcpy(inner + n, group->description, group->n_description);
	n += group->n_description;
	out[0] = TP_SHAPE_GROUP;
	n_head = 1 + tp_varint_bytes(out + 1, n);
	memcpy(out + n_head, inner, n);
	return n_head + n;
}

/* Place of a rank of the job in "[0, 2, 4]"; -1: not there, or the list is cut ("..."). */
static int32_t find_rank(const struct tp_json_text *ranks, int64_t rank)
{
	const char *p = ranks->bytes, *end = p + ranks->n;

	if (rank < 0 || p == end || *p++ != '[')
		return -1;
	for (int32_t at = 0; p < end; at++) {
		int64_t number = 0;

		while (p < end && *p == ' ')
			p++;
		if (p == end || *p < '0' || *p > '9')
			return -1;
		while (p < end && *p >= '0' && *p <= '9' && number <= INT32_MAX)
			number = number * 10 + (*p++ - '0');
		if (number == rank)
			return at;
		if (p == end || *p++ != ',')
			return -1;
	}
	return -1;
}

static int32_t place_in_group(const struct tp_kineto_event *event, int64_t rank)
{
	int32_t at = find_rank(&event->group_ranks, rank);
	int64_t from;

	if (at >= 0 || rank < 0 || !TP_KINETO_HAS(event, RANK_START) ||
	    !TP_KINETO_HAS(event, RANK_STRIDE) || event->rank_stride <= 0)
		return at;
	if (__builtin_sub_overflow(rank, event->rank_start, &from) || from < 0 ||
	    from % event->rank_stride || from / event->rank_stride >= event->group_size)
		return -1;
	return (int32_t)(from / event->rank_stride);
}

/* An item COLL; its bytes. What is longer than a text may be is left out: half a list is none. */
static uint32_t put_coll(uint8_t out[COLL_MOST], const struct tp_kineto_event *event)
{
	const struct tp_json_text *text[] = {&event->collective, &event->element_type, &event->in_split,
					     &event->out_split, &event->group_ranks};
	uint8_t inner[COLL_MOST];
	uint32_t n = 0, n_head;

	n += tp_varint_bytes(inner + n, event->in_elements > 0 ? (uint64_t)event->in_elements : 0);
	n += tp_varint_bytes(inner + n, event->out_elements > 0 ? (uint64_t)event->out_elements : 0);
	for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++) {
		if (text[i]->n < COLL_TEXT)
			n += tp_json_in_plain(text[i], (char *)inner + n, COLL_TEXT);
		inner[n++] = 0;
	}
	out[0] = TP_SHAPE_COLL;
	n_head = 1 + tp_varint_bytes(out + 1, n);
	memcpy(out + n_head, inner, n);
	return n_head + n;
}

uint32_t tp_kineto_comm_id(struct tp_kineto_strings *strings, const struct tp_kineto_event *event,
			   int32_t own_rank, uint32_t shapes)
{
	const struct tp_string *is = shapes ? tp_kineto_string(strings, shapes) : NULL;
	struct tp_kineto_group group = {
		.size = event->group_size > 0 && event->group_size <= INT32_MAX
				? (uint32_t)event->group_size : 0,
		.at = place_in_group(event, own_rank),
	};
	int64_t elements = event->in_elements > 0 ? event->in_elements : event->out_elements;
	int32_t peer = -1;
	uint8_t out[SHAPES_MOST + GROUP_MOST + COLL_MOST + 32];
	uint32_t n = is && is->n_bytes <= SHAPES_MOST ? is->n_bytes : 0;

	if (!event->collective.n || (is && !n))
		return shapes;
	if (n) {
		memcpy(out, is->bytes, n);
	} else if (elements > 0) {
		out[n++] = TP_SHAPE_TENSOR;
		out[n++] = tp_scalar_of_torch(event->element_type.bytes,
					      event->element_type.n);
		out[n++] = 1;
		n += tp_varint_bytes(out + n, (uint64_t)elements);
	}
	if (event->group_name.n)
		group.n_name = tp_json_in_plain(&event->group_name, group.name,
						TP_KINETO_GROUP_TEXT - 1);
	else if (TP_KINETO_HAS(event, GROUP_ID))
		group.n_name = (uint32_t)snprintf(group.name, sizeof(group.name), "%lld",
						  (long long)event->group_id);
	group.n_description = tp_json_in_plain(&event->group_description, group.description,
					       TP_KINETO_GROUP_TEXT - 1);
	if (TP_KINETO_HAS(event, TO_RANK))
		peer = find_rank(&event->group_ranks, event->to_rank);
	else if (TP_KINETO_HAS(event, FROM_RANK))
		peer = find_rank(&event->group_ranks, event->from_rank);
	if (group.n_name || group.n_description)
		n += put_group(out + n, &group, peer);
	n += put_coll(out + n, event);
	return n ? tp_kineto_id(strings, TP_STRING_SHAPES, out, n) : 0;
}

uint32_t tp_kineto_group_id(struct tp_kineto_strings *strings, uint32_t shapes,
			    const struct tp_kineto_group *group)
{
	const struct tp_string *is = shapes ? tp_kineto_string(strings, shapes) : NULL;
	uint8_t out[SHAPES_MOST + GROUP_MOST + 8];
	uint32_t n = is && is->n_bytes <= SHAPES_MOST ? is->n_bytes : 0;

	if (group->n_groups != 1)
		return shapes;
	if (n)
		memcpy(out, is->bytes, n);
	n += put_group(out + n, group, -1);
	return tp_kineto_id(strings, TP_STRING_SHAPES, out, n);
}

/* {"pg_name": "0", "pg_desc": "default_pg", "pg_size": 2, "ranks": [0, 1]} */
static void take_group(struct tp_json_in *in, int32_t own_rank, struct tp_kineto_group *group)
{
	struct tp_json_text key, text;
	bool is_first = true;
	int64_t number;

	while (tp_json_in_key(in, &key, &is_first)) {
		const char *from;

		if (TP_JSON_IS(&key, "pg_name") && tp_json_in_peek(in) == '"') {
			if (tp_json_in_string(in, &text))
				group->n_name = tp_json_in_plain(&text, group->name,
								 TP_KINETO_GROUP_TEXT - 1);
		} else if (TP_JSON_IS(&key, "pg_desc") && tp_json_in_peek(in) == '"') {
			if (tp_json_in_string(in, &text))
				group->n_description =
					tp_json_in_plain(&text, group->description,
							 TP_KINETO_GROUP_TEXT - 1);
		} else if (TP_JSON_IS(&key, "pg_size") && tp_json_in_number(in, 1, &number)) {
			group->size = number > 0 && number <= INT32_MAX ? (uint32_t)number : 0;
		} else if (TP_JSON_IS(&key, "ranks") && tp_json_in_skip(in, &from)) {
			text = (struct tp_json_text){.bytes = from, .n = (uint32_t)(in->at - from)};
			group->at = find_rank(&text, own_rank);
		} else if (!tp_json_in_skip(in, NULL)) {
			return;
		}
	}
}

void tp_kineto_groups(struct tp_json_in *in, int32_t own_rank, struct tp_kineto_group *group)
{
	bool is_first = true;

	*group = (struct tp_kineto_group){.at = -1};
	if (tp_json_in_peek(in) != '[') {
		tp_json_in_skip(in, NULL);
		return;
	}
	in->at++;
	while (tp_json_in_item(in, &is_first)) {
		if (!tp_json_in_take(in, '{')) {
			tp_json_in_skip(in, NULL);
			continue;
		}
		group->n_groups++;
		take_group(in, own_rank, group);
	}
	if (in->is_bad || in->is_short || (!group->n_name && !group->n_description))
		group->n_groups = 0;
}
