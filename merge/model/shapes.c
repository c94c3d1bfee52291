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

#include "runtime/trace/trainprof_trace.h"

struct in {
	const uint8_t *at, *end;
	bool is_bad;
};

struct out {
	char *buf;
	uint32_t cap, n;
	bool is_full;
};

/* c10::ScalarType, in its order. */
static const char *const dtypes[] = {
    "u8",    "i8",     "i16",	    "i32",	  "i64",	"f16",	      "f32",
    "f64",   "c32",    "c64",	    "c128",	  "bool",	"qi8",	      "qu8",
    "qi32",  "bf16",   "qu4x2",	    "qu2x4",	  "bits1x8",	"bits2x4",    "bits4x2",
    "bits8", "bits16", "f8e5m2",    "f8e4m3fn",	  "f8e5m2fnuz", "f8e4m3fnuz", "u16",
    "u32",   "u64",    "u1",	    "u2",	  "u3",		"u4",	      "u5",
    "u6",    "u7",     "i1",	    "i2",	  "i3",		"i4",	      "i5",
    "i6",    "i7",     "f8e8m0fnu", "f4e2m1fnx2",
};

const char *tp_show_dtype(uint8_t dtype, char other[12])
{
	if (dtype < sizeof(dtypes) / sizeof(dtypes[0]))
		return dtypes[dtype];
	snprintf(other, 12, "dtype%u", dtype);
	return other;
}

static uint8_t get_byte(struct in *in)
{
	if (in->at >= in->end) {
		in->is_bad = true;
		return 0;
	}
	return *in->at++;
}

static uint64_t get_varint(struct in *in)
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
static void put_tensor(struct in *in, struct out *out)
{
	char other[12];
	uint8_t dtype = get_byte(in), n_dims = get_byte(in);

	if (in->is_bad)
		return;
	put(out, "%s[", tp_show_dtype(dtype, other));
	for (uint32_t i = 0; i < n_dims && !in->is_bad; i++) {
		uint64_t size = get_varint(in);

		if (!in->is_bad)
			put(out, "%s%" PRIu64, i ? "," : "", size);
	}
	put(out, "]");
}

/* An item that says how long it is. */
static struct in get_framed(struct in *in)
{
	uint64_t n = get_varint(in);
	struct in framed = {.at = in->at};

	if (n > (uint64_t)(in->end - in->at))
		in->is_bad = true;
	if (!in->is_bad)
		in->at += n;
	framed.end = in->at;
	return framed;
}

/* Items that are no inputs follow these, and are not shown. */
static void put_item(struct in *in, struct out *out)
{
	uint8_t item = *in->at, n;

	if (item >= TP_SHAPE_GROUP) {
		in->at++;
		get_framed(in);
		return;
	}
	if (out->n)
		put(out, ", ");
	get_byte(in);
	switch (item) {
	case TP_SHAPE_NONE:
		put(out, "-");
		break;
	case TP_SHAPE_TENSOR:
		put_tensor(in, out);
		break;
	case TP_SHAPE_TENSOR_LIST:
		n = get_byte(in);
		put(out, "(");
		for (uint32_t i = 0; i < n && !in->is_bad; i++) {
			put(out, "%s", i ? ", " : "");
			/* Each is a whole item. */
			if (get_byte(in) != TP_SHAPE_TENSOR)
				in->is_bad = true;
			else
				put_tensor(in, out);
		}
		put(out, ")");
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
	default:
		in->is_bad = true;
	}
}

const char *tp_show_shapes(char *buf, uint32_t cap, const char *bytes, uint32_t n)
{
	struct in in = {(const uint8_t *)bytes, (const uint8_t *)bytes + n, false};
	struct out out = {buf, cap, 0, false};

	buf[0] = 0;
	while (in.at < in.end && !in.is_bad && !out.is_full)
		put_item(&in, &out);
	if (in.is_bad)
		put(&out, "?");
	return buf;
}

/* Bytes of an element of a dtype, by its place in dtypes[]; 0: less than one, or not known. */
static uint32_t element_bytes(uint8_t dtype)
{
	static const uint8_t of[] = {1, 1, 2, 4, 8, 2, 4, 8, 4, 8, 16, 1, 1, 1, 4,
				     2, 0, 0, 0, 0, 0, 1, 2, 1, 1, 1,  1, 2, 4, 8};

	return dtype < sizeof(of) ? of[dtype] : 0;
}

static uint64_t get_tensor_bytes(struct in *in, uint8_t *dtype)
{
	uint64_t n;
	uint8_t n_dims;

	*dtype = get_byte(in);
	n_dims = get_byte(in);
	n = element_bytes(*dtype);
	for (uint32_t i = 0; i < n_dims && !in->is_bad; i++) {
		if (__builtin_mul_overflow(n, get_varint(in), &n))
			in->is_bad = true;
	}
	return in->is_bad ? 0 : n;
}

uint64_t tp_shapes_bytes(const char *bytes, uint32_t n, uint8_t *dtype)
{
	struct in in = {(const uint8_t *)bytes, (const uint8_t *)bytes + n, false};
	uint64_t greatest = 0;

	while (in.at < in.end && !in.is_bad) {
		uint8_t item = get_byte(&in), n_tensors = item == TP_SHAPE_TENSOR, last = 0;
		uint64_t sum = 0;
		bool is_list = item == TP_SHAPE_TENSOR_LIST;

		if (is_list)
			n_tensors = get_byte(&in);
		for (uint32_t i = 0; i < n_tensors && !in.is_bad; i++) {
			if (is_list && get_byte(&in) != TP_SHAPE_TENSOR)
				return greatest;	/* one without sizes: the sum is not known */
			if (__builtin_add_overflow(sum, get_tensor_bytes(&in, &last), &sum))
				in.is_bad = true;
		}
		if (item >= TP_SHAPE_GROUP)
			get_framed(&in);
		if (!in.is_bad && sum > greatest) {
			greatest = sum;
			*dtype = last;
		}
	}
	return greatest;
}

static bool get_group(struct in in, struct tp_shapes_group *group)
{
	const uint8_t *zero;
	uint64_t rank = get_varint(&in), size = get_varint(&in), peer = get_varint(&in);
	uint64_t tag = get_varint(&in);

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

bool tp_shapes_group(const char *bytes, uint32_t n, struct tp_shapes_group *group)
{
	struct in in = {(const uint8_t *)bytes, (const uint8_t *)bytes + n, false};
	struct out nowhere = {.is_full = true};

	while (in.at < in.end && !in.is_bad) {
		if (*in.at != TP_SHAPE_GROUP) {
			put_item(&in, &nowhere);
			continue;
		}
		in.at++;
		return get_group(get_framed(&in), group);
	}
	return false;
}
