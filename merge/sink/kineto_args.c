/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kineto_args.c - input shapes and types of an operator, written as torch's own profiler does
 *
 * Bytes come from a file: each length is checked.
 */
#include "merge/sink/kineto_args.h"

#include <stdio.h>
#include <stdlib.h>

#include "merge/model/scalar.h"
#include "merge/model/shapes_in.h"

/* [4,4] */
static void put_sizes(struct tp_shapes_in *in, const struct tp_shapes_item *item, FILE *dims)
{
	fputc('[', dims);
	for (uint8_t i = 0; i < item->n && !in->is_bad; i++)
		fprintf(dims, "%s%lld", i ? "," : "", (long long)tp_shapes_size(in));
	fputc(']', dims);
}

static void put_list(struct tp_shapes_in *in, uint8_t n, FILE *dims)
{
	struct tp_shapes_item item;

	fputc('[', dims);
	for (uint8_t i = 0; i < n && tp_shapes_next_of_list(in, &item); i++) {
		if (i)
			fputc(',', dims);
		/* An undefined one has no sizes. */
		put_sizes(in, &item, dims);
	}
	fputc(']', dims);
}

static void put_item(struct tp_shapes_in *in, const struct tp_shapes_item *item, FILE *dims,
		     FILE *types, const char *comma)
{
	const char *type = item->what == TP_SHAPE_TENSOR	? tp_scalar_cpp(item->dtype)
			   : item->what == TP_SHAPE_TENSOR_LIST ? "TensorList"
			   : item->what == TP_SHAPE_SCALAR	? "Scalar"
			   : item->what == TP_SHAPE_SCALAR_LIST ? "ScalarList"
								: "";

	fputs(comma, dims);
	fprintf(types, "%s\"%s\"", comma, type);
	if (item->what == TP_SHAPE_TENSOR_LIST)
		put_list(in, item->n, dims);
	else
		put_sizes(in, item, dims);
}

bool tp_kineto_shapes(const struct tp_string *shapes, char **dims, char **types)
{
	struct tp_shapes_in in = tp_shapes_open(shapes->bytes, shapes->n_bytes);
	struct tp_shapes_item item;
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
	/* What was cut off, and what is no input, is not there. */
	for (const char *comma = ""; tp_shapes_next(&in, &item);) {
		if (item.what >= TP_SHAPE_CUT)
			continue;
		put_item(&in, &item, dims_out, types_out, comma);
		comma = ",";
	}
	fputc(']', dims_out);
	fputc(']', types_out);
	/* Damage of what is no input is none of theirs. */
	is_whole = (!in.is_bad || item.what >= TP_SHAPE_GROUP) && !ferror(dims_out) && !ferror(types_out);
	is_whole = fclose(dims_out) == 0 && is_whole;
	is_whole = fclose(types_out) == 0 && is_whole;
	if (!is_whole) {
		free(*dims);
		free(*types);
	}
	return is_whole;
}
