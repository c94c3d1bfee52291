/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torch_shapes.h - inputs of an operator (an array of torch's IValues) -> a SHAPES string
 */
#ifndef TP_PROBE_TORCH_SHAPES_H
#define TP_PROBE_TORCH_SHAPES_H

#include <stdint.h>

#include "runtime/probe/torch/torch_layout.h"

/* Writes at most `cap` (>= 2) bytes, see enum tp_shape_item; ends in CUT when more inputs
 * follow than fit. Returns the length. */
uint32_t tp_torch_shapes_pack(const struct tp_torch_layout *layout, const void *inputs,
			      uint64_t n_inputs, uint8_t *out, uint32_t cap);

#endif
