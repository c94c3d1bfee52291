/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kineto_strings.c - names, input shapes and launches of a torch.profiler trace as strings of
 * our own format
 */
#include "merge/kineto/kineto_strings.h"

#include <stdlib.h>
#include <string.h>

#include "merge/kit/demangle.h"
#include "merge/kit/grow.h"
#include "merge/model/scalar.h"
#include "runtime/trace/trainprof_trace.h"

enum {
	NAME_BYTES = TP_DEMANGLE_TO,	/* longer ones are cut: the same name demangled by us is, too */
	SHAPES_BYTES = 4096,
	LIST_MOST = 64,		/* tensors of a list that are kept */
	RAW = 255,		/* kind of the file's own texts: never written */
	RAW_BYTES = 64 << 10,
};

int tp_kineto_strings_init(struct tp_kineto_strings *s)
{
	memset(s, 0, sizeof(*s));
	return tp_strings_init(&s->strings);
}

void tp_kineto_strings_free(struct tp_kineto_strings *s)
{
	tp_strings_free(&s->strings);
	free(s->by_id);
	free(s->shapes_of);
}

uint32_t tp_kineto_id(struct tp_kineto_strings *s, uint32_t kind, const void *bytes, uint32_t n)
{
	const struct tp_string *string = tp_strings_add(&s->strings, kind, bytes, n);

	if (!string || string->same >= TP_KINETO_IDS ||
	    !tp_grow(&s->by_id, &s->cap_ids, (uint64_t)string->same + 1, sizeof(s->by_id[0]))) {
		s->n_nameless++;
		return 0;
	}
	s->by_id[string->same] = string;
	return string->same;
}

uint32_t tp_kineto_raw(struct tp_kineto_strings *s, const char *bytes, uint32_t n)
{
	return tp_kineto_id(s, RAW, bytes, n < RAW_BYTES ? n : RAW_BYTES);
}

const struct tp_string *tp_kineto_string(const struct tp_kineto_strings *s, uint32_t id)
{
	return id < s->cap_ids ? s->by_id[id] : NULL;
}

uint32_t tp_kineto_plain(const struct tp_kineto_strings *s, uint32_t id, char *out, uint32_t cap)
{
	const struct tp_string *string = tp_kineto_string(s, id);
	struct tp_json_text text = {.bytes = "", .n = 0};

	if (string)
		text = (struct tp_json_text){.bytes = string->bytes, .n = string->n_bytes};
	return tp_json_in_plain(&text, out, cap);
}

uint32_t tp_kineto_name(struct tp_kineto_strings *s, uint32_t kind,
			const struct tp_json_text *text)
{
	char plain[NAME_BYTES + 2];
	uint32_t n = text->n < NAME_BYTES ? text->n : NAME_BYTES;

	if (!text->n)
		return 0;
	if (text->has_escapes)
		n = tp_json_in_plain(text, plain, NAME_BYTES);
	else
		memcpy(plain, text->bytes, n);
	/* Name, NUL, no overload. */
	plain[n] = 0;
	return tp_kineto_id(s, kind, plain, kind == TP_STRING_OP ? n + 1 : n);
}

struct packer {
	uint8_t bytes[SHAPES_BYTES];
	uint32_t n;
	bool is_full;
};

static void put_byte(struct packer *out, uint8_t byte)
{
	if (out->n == SHAPES_BYTES)
		out->is_full = true;
	else
		out->bytes[out->n++] = byte;
}

static void put_varint(struct packer *out, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		put_byte(out, (uint8_t)(v | 0x80));
	put_byte(out, (uint8_t)v);
}

/* [4,4] -> dtype, 2, 4, 4. */
static void put_tensor(struct packer *out, struct tp_json_in *dims, uint8_t dtype)
{
	bool is_first = true;
	uint32_t n_at;
	uint8_t n = 0;

	put_byte(out, dtype);
	n_at = out->n;
	put_byte(out, 0);
	if (!tp_json_in_take(dims, '[')) {
		tp_json_in_skip(dims, NULL);
		return;
	}
	while (tp_json_in_item(dims, &is_first)) {
		int64_t size = 0;

		tp_json_in_number(dims, 1, &size);
		if (n < UINT8_MAX) {
			put_varint(out, size > 0 ? (uint64_t)size : 0);
			n++;
		}
	}
	if (n_at < out->n)
		out->bytes[n_at] = n;
}

/* Does a list of lists begin here? */
static bool is_nested(const struct tp_json_in *dims)
{
	struct tp_json_in ahead = *dims;

	return tp_json_in_take(&ahead, '[') && tp_json_in_peek(&ahead) == '[';
}

static void put_list(struct packer *out, struct tp_json_in *dims)
{
	uint32_t n_at;
	uint8_t n = 0;
	bool is_first = true;

	put_byte(out, TP_SHAPE_TENSOR_LIST);
	n_at = out->n;
	put_byte(out, 0);
	if (!tp_json_in_take(dims, '['))
		return;
	while (tp_json_in_item(dims, &is_first)) {
		if (n == LIST_MOST) {
			tp_json_in_skip(dims, NULL);
			continue;
		}
		put_byte(out, TP_SHAPE_TENSOR);
		put_tensor(out, dims, TP_SCALAR_UNKNOWN);
		n++;
	}
	if (n_at < out->n)
		out->bytes[n_at] = n;
}

/* One input: its sizes at `dims`, its type's name, if there is one. */
static void put_input(struct packer *out, struct tp_json_in *dims, const struct tp_json_text *type)
{
	struct tp_json_in ahead = *dims;
	bool has_sizes = tp_json_in_take(&ahead, '[') && tp_json_in_peek(&ahead) != ']';
	uint8_t dtype = tp_scalar_of_cpp(type->bytes, type->n);

	if (TP_JSON_IS(type, "TensorList") || is_nested(dims)) {
		put_list(out, dims);
		return;
	}
	if (has_sizes || dtype != TP_SCALAR_UNKNOWN) {
		put_byte(out, TP_SHAPE_TENSOR);
		put_tensor(out, dims, dtype);
		return;
	}
	put_byte(out, TP_JSON_IS(type, "Scalar")       ? TP_SHAPE_SCALAR
		      : TP_JSON_IS(type, "ScalarList") ? TP_SHAPE_SCALAR_LIST
						       : TP_SHAPE_NONE);
	tp_json_in_skip(dims, NULL);
}

static uint32_t make_shapes(struct tp_kineto_strings *s, const struct tp_json_text *dims_text,
			    const struct tp_json_text *types_text)
{
	struct tp_json_in dims = {dims_text->bytes, dims_text->bytes + dims_text->n, false, false};
	struct tp_json_in types = {types_text->bytes, types_text->bytes + types_text->n, false,
				   false};
	bool is_first = true, is_first_type = true;
	bool has_types = types_text->n && tp_json_in_take(&types, '[');
	struct packer out = {.n = 0};
	uint32_t whole = 0;

	if (!tp_json_in_take(&dims, '['))
		return 0;
	while (!dims.is_bad && tp_json_in_item(&dims, &is_first)) {
		struct tp_json_text type = {.bytes = "", .n = 0};

		has_types = has_types && tp_json_in_item(&types, &is_first_type) &&
			    tp_json_in_string(&types, &type);
		put_input(&out, &dims, &type);
		/* Room for the mark of a cut stays. */
		if (out.is_full || out.n >= SHAPES_BYTES - 1) {
			out.n = whole;
			out.is_full = false;
			put_byte(&out, TP_SHAPE_CUT);
			break;
		}
		whole = out.n;
	}
	return tp_kineto_id(s, TP_STRING_SHAPES, out.bytes, out.n);
}

uint32_t tp_kineto_shapes_id(struct tp_kineto_strings *s, const struct tp_json_text *dims,
			     const struct tp_json_text *types)
{
	/* Both texts lie in one event, mostly side by side: together they are the key. */
	char raw[2 * SHAPES_BYTES];
	uint32_t n = dims->n + types->n, id;

	if (!dims->n)
		return 0;
	if (n > sizeof(raw))
		return make_shapes(s, dims, types);
	memcpy(raw, dims->bytes, dims->n);
	if (types->n)
		memcpy(raw + dims->n, types->bytes, types->n);
	id = tp_kineto_id(s, RAW, raw, n);
	if (!id || !tp_grow(&s->shapes_of, &s->cap_shapes, (uint64_t)id + 1,
			    sizeof(s->shapes_of[0])))
		return 0;
	if (!s->shapes_of[id])
		s->shapes_of[id] = make_shapes(s, dims, types);
	return s->shapes_of[id];
}

bool tp_kineto_string_of(void *ctx, uint32_t id, uint32_t *kind, const char **bytes,
			 uint32_t *n_bytes)
{
	const struct tp_kineto_strings *s = ctx;
	const struct tp_string *string = tp_kineto_string(s, id);

	if (!string || string->kind == RAW)
		return false;
	*kind = string->kind;
	*bytes = string->bytes;
	*n_bytes = string->n_bytes;
	return true;
}
