/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shapes.c - the inputs of an operator as text, and how many bytes they are
 */
#include "merge/model/shapes.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "merge/model/scalar.h"
#include "merge/model/shapes_in.h"

struct out {
	char *buf;
	uint32_t cap, n;
	bool is_full;
};

__attribute__((format(printf, 2, 3))) static void put(struct out *out, const char *format,
						      ...)
{
	va_list args;
	int n;

	if (out->is_full)
		return;
	va_start(args, format);
	n = vsnprintf(out->buf + out->n, out->cap - out->n, format, args);
	va_end(args);
	/* Room for the three dots is kept. */
	if (n < 0 || out->n + (uint32_t)n + 4 > out->cap) {
		out->is_full = true;
		memcpy(out->buf + out->n, "...", 4);
		return;
	}
	out->n += (uint32_t)n;
}

/* No space inside: sizes are read as one word, and columns are few. */
static void put_tensor(struct tp_shapes_in *in, const struct tp_shapes_item *item, struct out *out)
{
	char other[12];

	put(out, "%s[", item->dtype == TP_SCALAR_UNKNOWN ? "tensor"
							  : tp_scalar_name(item->dtype, other));
	for (uint32_t i = 0; i < item->n && !in->is_bad; i++) {
		uint64_t size = tp_shapes_size(in);

		if (!in->is_bad)
			put(out, "%s%" PRIu64, i ? "," : "", size);
	}
	put(out, "]");
}

static void put_list(struct tp_shapes_in *in, uint8_t n, struct out *out)
{
	struct tp_shapes_item item;

	put(out, "(");
	for (uint32_t i = 0; i < n && tp_shapes_next_of_list(in, &item); i++) {
		put(out, "%s", i ? ", " : "");
		if (item.what == TP_SHAPE_TENSOR)
			put_tensor(in, &item, out);
		else
			put(out, "-");
	}
	put(out, ")");
}

static void put_item(struct tp_shapes_in *in, const struct tp_shapes_item *item, struct out *out)
{
	if (out->n)
		put(out, ", ");
	switch (item->what) {
	case TP_SHAPE_NONE:
		put(out, "-");
		break;
	case TP_SHAPE_TENSOR:
		put_tensor(in, item, out);
		break;
	case TP_SHAPE_TENSOR_LIST:
		put_list(in, item->n, out);
		break;
	case TP_SHAPE_SCALAR:
		put(out, "scalar");
		break;
	case TP_SHAPE_SCALAR_LIST:
		put(out, "list");
		break;
	case TP_SHAPE_CUT:
		put(out, "...");
		break;
	}
}

const char *tp_show_shapes(char *buf, uint32_t cap, const char *bytes, uint32_t n)
{
	struct tp_shapes_in in = tp_shapes_open(bytes, n);
	struct out out = {buf, cap, 0, false};
	struct tp_shapes_item item;

	buf[0] = 0;
	/* What is no input follows the inputs, and is not shown. */
	while (!out.is_full && tp_shapes_next(&in, &item))
		if (item.what < TP_SHAPE_GROUP)
			put_item(&in, &item, &out);
	if (in.is_bad)
		put(&out, "?");
	return buf;
}

static uint64_t get_tensor_bytes(struct tp_shapes_in *in, const struct tp_shapes_item *item)
{
	uint64_t n = tp_scalar_bytes(item->dtype);

	for (uint32_t i = 0; i < item->n && !in->is_bad; i++) {
		if (__builtin_mul_overflow(n, tp_shapes_size(in), &n))
			in->is_bad = true;
	}
	return in->is_bad ? 0 : n;
}

uint64_t tp_shapes_bytes(const char *bytes, uint32_t n, uint8_t *dtype)
{
	struct tp_shapes_in in = tp_shapes_open(bytes, n);
	struct tp_shapes_item item, of_list;
	uint64_t largest = 0;

	while (tp_shapes_next(&in, &item)) {
		uint8_t last = item.dtype, n_tensors = item.what == TP_SHAPE_TENSOR_LIST ? item.n : 0;
		uint64_t sum = item.what == TP_SHAPE_TENSOR ? get_tensor_bytes(&in, &item) : 0;

		for (uint32_t i = 0; i < n_tensors && tp_shapes_next_of_list(&in, &of_list); i++) {
			if (of_list.what != TP_SHAPE_TENSOR)
				return largest;	/* one without sizes: the sum is not known */
			last = of_list.dtype;
			if (__builtin_add_overflow(sum, get_tensor_bytes(&in, &of_list), &sum))
				in.is_bad = true;
		}
		if (!in.is_bad && sum > largest) {
			largest = sum;
			*dtype = last;
		}
	}
	return largest;
}

static bool get_group(struct tp_shapes_in in, struct tp_shapes_group *group)
{
	const uint8_t *zero;
	uint64_t rank = tp_shapes_size(&in), size = tp_shapes_size(&in);
	uint64_t peer = tp_shapes_size(&in), tag = tp_shapes_size(&in);

	zero = in.is_bad ? NULL : memchr(in.at, 0, (size_t)(in.end - in.at));
	if (!zero || rank > INT32_MAX || size > INT32_MAX || peer > INT32_MAX || tag > UINT32_MAX)
		return false;
	*group = (struct tp_shapes_group){
	    .name = (const char *)in.at, .n_name = (uint32_t)(zero - in.at),
	    .description = (const char *)zero + 1, .n_description = (uint32_t)(in.end - zero - 1),
	    .rank = (int32_t)rank - 1, .peer = (int32_t)peer - 1,
	    .size = (uint32_t)size, .tag = (uint32_t)tag};
	return true;
}

/* The first item of that sort; false: there is none. */
static bool find_framed(const char *bytes, uint32_t n, uint8_t what, struct tp_shapes_in *framed)
{
	struct tp_shapes_in in = tp_shapes_open(bytes, n);
	struct out nowhere = {.is_full = true};
	struct tp_shapes_item item;

	while (tp_shapes_next(&in, &item)) {
		if (item.what == what) {
			*framed = item.framed;
			return true;
		}
		put_item(&in, &item, &nowhere);
	}
	return false;
}

bool tp_shapes_group(const char *bytes, uint32_t n, struct tp_shapes_group *group)
{
	struct tp_shapes_in framed;

	return find_framed(bytes, n, TP_SHAPE_GROUP, &framed) && get_group(framed, group);
}

bool tp_shapes_coll(const char *bytes, uint32_t n, struct tp_shapes_coll *coll)
{
	const char **text[] = {&coll->name, &coll->type, &coll->in_split, &coll->out_split,
			       &coll->ranks};
	struct tp_shapes_in in;

	if (!find_framed(bytes, n, TP_SHAPE_COLL, &in))
		return false;
	coll->in_elements = tp_shapes_size(&in);
	coll->out_elements = tp_shapes_size(&in);
	for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++) {
		const uint8_t *zero = in.is_bad ? NULL : memchr(in.at, 0, (size_t)(in.end - in.at));

		*text[i] = zero ? (const char *)in.at : "";
		in.at = zero ? zero + 1 : in.end;
	}
	return true;
}

static uint64_t count_elements(struct tp_shapes_in *in, const struct tp_shapes_item *item)
{
	uint64_t n = 1;

	for (uint32_t i = 0; i < item->n && !in->is_bad; i++) {
		if (__builtin_mul_overflow(n, tp_shapes_size(in), &n))
			in->is_bad = true;
	}
	return n;
}

uint64_t tp_shapes_elements(const char *bytes, uint32_t n, uint8_t *dtype)
{
	struct tp_shapes_in in = tp_shapes_open(bytes, n);
	struct tp_shapes_item item, of_list;
	uint64_t sum = 0;

	while (tp_shapes_next(&in, &item) && item.what < TP_SHAPE_GROUP) {
		const bool is_list = item.what == TP_SHAPE_TENSOR_LIST;
		const uint32_t n_tensors = is_list ? item.n : item.what == TP_SHAPE_TENSOR;

		for (uint32_t i = 0; i < n_tensors; i++) {
			if (is_list && (!tp_shapes_next_of_list(&in, &of_list) ||
					of_list.what != TP_SHAPE_TENSOR))
				return 0;
			*dtype = is_list ? of_list.dtype : item.dtype;
			if (__builtin_add_overflow(sum, count_elements(&in, is_list ? &of_list : &item),
						   &sum))
				in.is_bad = true;
		}
	}
	return in.is_bad ? 0 : sum;
}
