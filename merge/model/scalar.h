/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scalar.h - types of elements by torch's number of them (c10::ScalarType): their names here, in
 * torch's traces, in NCCL's, and their bytes
 */
#ifndef TP_MERGE_SCALAR_H
#define TP_MERGE_SCALAR_H

#include <stdint.h>

enum { TP_SCALAR_UNKNOWN = 255 };	/* in a SHAPES string: what type it is was not told */

/* "f32"; "dtype99" goes to `other` when not known. */
const char *tp_scalar_name(uint8_t type, char other[12]);

/* The name of the C++ type, as torch.profiler writes it: "float", "c10::BFloat16", "unknown". */
const char *tp_scalar_cpp(uint8_t type);

/* "BFloat16", as torch writes it; NULL: not known. */
const char *tp_scalar_torch(uint8_t type);

/* Bytes of an element; 0: less than one, or not known. */
uint32_t tp_scalar_bytes(uint8_t type);

/* The type of this name; TP_SCALAR_UNKNOWN: none. Names are n bytes. */
uint8_t tp_scalar_of_cpp(const char *name, uint32_t n);		/* clang's names, too */
uint8_t tp_scalar_of_torch(const char *name, uint32_t n);	/* "BFloat16" */
uint8_t tp_scalar_of_nccl(const char *name, uint32_t n);	/* "ncclBfloat16" */

#endif
