/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kineto.c - input shapes and types of an operator, written as torch's own profiler does
 *
 * Bytes come from a file: each length is checked.
 */
#include "merge/model/kineto.h"

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

bool tp_kineto_shapes(const struct tp_string *shapes, char **dims, char **types)
{
	struct bytes in = {.at = (const uint8_t *)shapes->bytes,
			   .end = (const uint8_t *)shapes->bytes + shapes->n_bytes};
	FILE *dims_out, *types_out;
	size_t n_dims, n_types;
	bool is_whole;

	*dims = *types = NULL;
	if (shapes->kind != TP_STRING_SHAPES)
		return false;
	dims_out = open_memstream(dims, &n_dims);
	types_out = dims_out ? open_memstream(types, &n_types) : NULL;
	if (!types_out) {
		if (dims_out)
			fclose(dims_out);
		free(*dims);
		return false;
	}
	fputc('[', dims_out);
	fputc('[', types_out);
	for (const char *comma = ""; in.at < in.end; comma = ",") {
		if (!put_item(&in, dims_out, types_out, comma))
			break;
	}
	fputc(']', dims_out);
	fputc(']', types_out);
	is_whole = !in.is_bad && !ferror(dims_out) && !ferror(types_out);
	is_whole = fclose(dims_out) == 0 && is_whole;
	is_whole = fclose(types_out) == 0 && is_whole;
	if (!is_whole) {
		free(*dims);
		free(*types);
	}
	return is_whole;
}
