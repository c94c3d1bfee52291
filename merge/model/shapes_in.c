/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shapes_in.c - a SHAPES string item by item
 */
#include "merge/model/shapes_in.h"

static uint8_t get_byte(struct tp_shapes_in *in)
{
	if (in->is_bad || in->at >= in->end) {
		in->is_bad = true;
		return 0;
	}
	return *in->at++;
}

uint64_t tp_shapes_size(struct tp_shapes_in *in)
{
	uint64_t value = 0;

	for (uint32_t shift = 0; shift < 64; shift += 7) {
		uint8_t byte = get_byte(in);

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	in->is_bad = true;
	return 0;
}

/* An item that says how long it is. */
static struct tp_shapes_in get_framed(struct tp_shapes_in *in)
{
	uint64_t n = tp_shapes_size(in);
	struct tp_shapes_in framed = {.at = in->at, .end = in->at};

	if (n > (uint64_t)(in->end - in->at))
		in->is_bad = true;
	if (!in->is_bad)
		framed.end = in->at += n;
	return framed;
}

bool tp_shapes_next(struct tp_shapes_in *in, struct tp_shapes_item *item)
{
	*item = (struct tp_shapes_item){.what = TP_SHAPE_NONE};
	if (in->is_bad || in->at >= in->end)
		return false;
	item->what = get_byte(in);
	if (item->what >= TP_SHAPE_GROUP)
		item->framed = get_framed(in);
	if (item->what == TP_SHAPE_TENSOR)
		item->dtype = get_byte(in);
	if (item->what == TP_SHAPE_TENSOR || item->what == TP_SHAPE_TENSOR_LIST)
		item->n = get_byte(in);
	return !in->is_bad;
}

bool tp_shapes_next_of_list(struct tp_shapes_in *in, struct tp_shapes_item *item)
{
	bool is_there = tp_shapes_next(in, item);

	in->is_bad |= !is_there || (item->what != TP_SHAPE_TENSOR && item->what != TP_SHAPE_NONE);
	return !in->is_bad;
}
