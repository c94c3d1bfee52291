/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kineto.c - input shapes and types of an operator, written as torch's own profiler does
 *
 * Bytes come from a file: each length is checked.
 */
#include "merge/kineto.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const dtype_name[] = {
	"unsigned char", "signed char", "short int", "int", "long int", "c10::Half", "float",
	"double", "c10::complex<c10::Half>", "c10::complex<float>", "c10::complex<double>",
	"bool", "c10::qint8", "c10::quint8", "c10::qint32", "c10::BFloat16", "c10::quint4x2",
	"c10::quint2x4", "c10::bits1x8", "c10::bits2x4", "c10::bits4x2", "c10::bits8",
	"c10::bits16", "c10::Float8_e5m2", "c10::Float8_e4m3fn", "c10::Float8_e5m2fnuz",
	"c10::Float8_e4m3fnuz", "unsigned short int", "unsigned int", "unsigned long int",
};

const char *tp_kineto_dtype(uint8_t scalar_type)
{
	if (scalar_type < sizeof(dtype_name) / sizeof(dtype_name[0]))
		return dtype_name[scalar_type];
	return "unknown";
}

struct bytes {
	const uint8_t *at, *end;
	bool is_bad;
};

static uint8_t take_byte(struct bytes *in)
{
	if (in->at == in->end) {
		in->is_bad = true;
		return 0;
	}
	return *in->at++;
}

static uint64_t take_varint(struct bytes *in)
{
	uint64_t v = 0;

	for (int shift = 0; shift < 64; shift += 7) {
		uint8_t byte = take_byte(in);

		v |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return v;
	}
	in->is_bad = true;
	return 0;
}

/* [4,4]; its dtype is returned. */
static uint8_t put_tensor(struct bytes *in, FILE *dims)
{
	uint8_t dtype = take_byte(in), n_dims = take_byte(in);

	fputc('[', dims);
	for (uint8_t i = 0; i < n_dims && !in->is_bad; i++)
		fprintf(dims, "%s%lld", i ? "," : "", (long long)take_varint(in));
	fputc(']', dims);
	return dtype;
}

static void put_list(struct bytes *in, FILE *dims)
{
	uint8_t n = take_byte(in);

	fputc('[', dims);
	for (uint8_t i = 0; i < n && !in->is_bad; i++) {
		if (i)
			fputc(',', dims);
		put_tensor(in, dims);
	}
	fputc(']', dims);
}

/* One input. False: nothing follows. */
static bool put_item(struct bytes *in, FILE *dims, FILE *types, const char *comma)
{
	uint8_t item = take_byte(in);

	if (in->is_bad || item == TP_SHAPE_CUT || item > TP_SHAPE_CUT)
		return false;
	fputs(comma, dims);
	switch (item) {
	case TP_SHAPE_TENSOR:
		fprintf(types, "%s\"%s\"", comma, tp_kineto_dtype(put_tensor(in, dims)));
		break;
	case TP_SHAPE_TENSOR_LIST:
		put_list(in, dims);
		fprintf(types, "%s\"TensorList\"", comma);
		break;
	default:
		fputs("[]", dims);
		fprintf(types, "%s\"%s\"", comma,
			item == TP_SHAPE_SCALAR	       ? "Scalar"
			: item == TP_SHAPE_SCALAR_LIST ? "ScalarList"
						       : "");
		break;
	}
	return !in->is_bad;
}

bool tp_kineto_shapes(const struct tp_string *shapes, char **out, size_t *n)
{
	struct bytes in = {.at = (const uint8_t *)shapes->bytes,
			   .end = (const uint8_t *)shapes->bytes + shapes->n_bytes};
	char *dims_text = NULL, *types_text = NULL;
	size_t n_dims = 0, n_types = 0;
	FILE *dims, *types;
	bool is_whole = false;
	int length = -1;

	if (shapes->kind != TP_STRING_SHAPES)
		return false;
	dims = open_memstream(&dims_text, &n_dims);
	types = open_memstream(&types_text, &n_types);
	for (const char *comma = ""; dims && types && in.at < in.end; comma = ",") {
		if (!put_item(&in, dims, types, comma))
			break;
	}
	if (dims && types) {
		is_whole = fclose(dims) == 0;
		is_whole = fclose(types) == 0 && is_whole && !in.is_bad;
		if (is_whole)
			length = asprintf(out, "\"Input Dims\":[%s],\"Input type\":[%s]",
					  dims_text, types_text);
		*n = length < 0 ? 0 : (size_t)length;
	} else if (dims || types) {
		fclose(dims ? dims : types);
	}
	free(dims_text);
	free(types_text);
	return length >= 0;
}
