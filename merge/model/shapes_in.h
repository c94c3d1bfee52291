/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shapes_in.h - a SHAPES string item by item (trainprof-trace(5), "Shapes"): its one reader
 *
 *	while (tp_shapes_next(&in, &item))
 *		if (item.what == TP_SHAPE_TENSOR)
 *			for (i = 0; i < item.n; i++)
 *				tp_shapes_size(&in);
 *
 * The string is not trusted: is_bad says that it is cut or makes no sense, and ends it.
 */
#ifndef TP_MERGE_SHAPES_IN_H
#define TP_MERGE_SHAPES_IN_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/trace/trainprof_trace.h"

struct tp_shapes_in {
	const uint8_t *at, *end;
	bool is_bad;
};

struct tp_shapes_item {
	uint8_t what;		/* TP_SHAPE_TENSOR .. */
	uint8_t dtype;		/* of a TENSOR */
	uint8_t n;		/* TENSOR: its sizes; TENSOR_LIST: its tensors: both follow */
	struct tp_shapes_in framed;	/* from TP_SHAPE_GROUP on: what it holds */
};

static inline struct tp_shapes_in tp_shapes_open(const char *bytes, uint32_t n)
{
	return (struct tp_shapes_in){(const uint8_t *)bytes, (const uint8_t *)bytes + n, false};
}

/* False: the end, or bad. What follows the item before must have been read. */
bool tp_shapes_next(struct tp_shapes_in *in, struct tp_shapes_item *item);
/* The next of a list's: a TENSOR or, for one that is undefined, NONE. */
bool tp_shapes_next_of_list(struct tp_shapes_in *in, struct tp_shapes_item *item);
/* A size of a TENSOR, or a number in a framed item; 0 when bad. */
uint64_t tp_shapes_size(struct tp_shapes_in *in);

#endif
