/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kineto_args.h - input shapes and types of an operator, and occupancy, written as torch's own profiler
 * does
 */
#ifndef TP_MERGE_KINETO_ARGS_H
#define TP_MERGE_KINETO_ARGS_H

#include "merge/model/model.h"

/*
 * *dims: [[8],[4,4],[]], *types: ["float","float","Scalar"], both malloc'ed JSON. False: not a
 * whole SHAPES string, or out of memory.
 */
bool tp_kineto_shapes(const struct tp_string *shapes, char **dims, char **types);

/* Whole per cent of an occupancy as it rounds it: 22.5 % is 22 where a float is less. */
static inline uint32_t tp_kineto_percent(double share)
{
	return (uint32_t)(100.0 * (double)(float)share + 0.5);
}

#endif
