/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kineto.h - input shapes and types of an operator, written as torch's own profiler does
 */
#ifndef TP_MERGE_KINETO_H
#define TP_MERGE_KINETO_H

#include <stddef.h>

#include "merge/model.h"

/*
 * "Input Dims":[[8],[4,4],[]],"Input type":["float","float","Scalar"] into *out (malloc'ed,
 * n bytes, not terminated). False: not a whole SHAPES string, or out of memory. What follows
 * a damaged item is left out.
 */
bool tp_kineto_shapes(const struct tp_string *shapes, char **out, size_t *n);

/* torch's C++ name of a ScalarType: "float", "c10::BFloat16". Never NULL. */
const char *tp_kineto_dtype(uint8_t scalar_type);

#endif
