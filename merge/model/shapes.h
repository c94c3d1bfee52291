/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shapes.h - the inputs of an operator as text, "f32[4,64,128], f32[128], scalar, -", and their
 * bytes
 *
 * Reads a SHAPES string (trainprof-trace(5), "Shapes"), which is not trusted: what is cut or
 * does not make sense ends the text with "?".
 */
#ifndef TP_MERGE_SHAPES_H
#define TP_MERGE_SHAPES_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Types are those of tp_scalar_name; "tensor[16]": of a type that was not told.
 * Into buf (cap bytes with the NUL, at least 8), returned; "" for no shapes. Too long: "..."
 */
const char *tp_show_shapes(char *buf, uint32_t cap, const char *bytes, uint32_t n);

/*
 * Bytes of the largest input: a tensor, or all tensors of one list. *dtype is that of the
 * largest's last tensor. 0: none is known.
 */
uint64_t tp_shapes_bytes(const char *bytes, uint32_t n, uint8_t *dtype);

/* The process group of a collective. Texts point into the string and are not terminated. */
struct tp_shapes_group {
	const char *name, *description;
	uint32_t n_name, n_description;
	int32_t rank, peer;		/* in the group; -1: not known, or none */
	uint32_t size, tag;		/* size 0: not known */
};

/* What an item COLL says; texts are terminated and point into the string, "" where it says nothing. */
struct tp_shapes_coll {
	uint64_t in_elements, out_elements;	/* 0: not known */
	const char *name, *type, *in_split, *out_split, *ranks;
};
bool tp_shapes_coll(const char *bytes, uint32_t n, struct tp_shapes_coll *coll);
/* Elements of all tensors before what is no input, and the type of the last; 0: not known. */
uint64_t tp_shapes_elements(const char *bytes, uint32_t n, uint8_t *dtype);

/* False: the string has none. */
bool tp_shapes_group(const char *bytes, uint32_t n, struct tp_shapes_group *group);

#endif
