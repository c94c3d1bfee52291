/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scalar.c - one row a type of elements
 */
#include "merge/model/scalar.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "runtime/trace/nccl_types.h"

/* c10::ScalarType, in its order. */
static const struct {
	const char *name, *cpp, *torch;	/* ours; of its C++ type; torch's (toString) */
	uint8_t bytes;
} scalars[] = {
	{"u8", "unsigned char", "Byte", 1},
	{"i8", "signed char", "Char", 1},
	{"i16", "short int", "Short", 2},
	{"i32", "int", "Int", 4},
	{"i64", "long int", "Long", 8},
	{"f16", "c10::Half", "Half", 2},
	{"f32", "float", "Float", 4},
	{"f64", "double", "Double", 8},
	{"c32", "c10::complex<c10::Half>", "ComplexHalf", 4},
	{"c64", "c10::complex<float>", "ComplexFloat", 8},
	{"c128", "c10::complex<double>", "ComplexDouble", 16},
	{"bool", "bool", "Bool", 1},
	{"qi8", "c10::qint8", "QInt8", 1},
	{"qu8", "c10::quint8", "QUInt8", 1},
	{"qi32", "c10::qint32", "QInt32", 4},
	{"bf16", "c10::BFloat16", "BFloat16", 2},
	{"qu4x2", "c10::quint4x2", "QUInt4x2", 0},
	{"qu2x4", "c10::quint2x4", "QUInt2x4", 0},
	{"bits1x8", "c10::bits1x8", "Bits1x8", 0},
	{"bits2x4", "c10::bits2x4", "Bits2x4", 0},
	{"bits4x2", "c10::bits4x2", "Bits4x2", 0},
	{"bits8", "c10::bits8", "Bits8", 1},
	{"bits16", "c10::bits16", "Bits16", 2},
	{"f8e5m2", "c10::Float8_e5m2", "Float8_e5m2", 1},
	{"f8e4m3fn", "c10::Float8_e4m3fn", "Float8_e4m3fn", 1},
	{"f8e5m2fnuz", "c10::Float8_e5m2fnuz", "Float8_e5m2fnuz", 1},
	{"f8e4m3fnuz", "c10::Float8_e4m3fnuz", "Float8_e4m3fnuz", 1},
	{"u16", "unsigned short int", "UInt16", 2},
	{"u32", "unsigned int", "UInt32", 4},
	{"u64", "unsigned long int", "UInt64", 8},
	{"u1", NULL, "UInt1", 0},
	{"u2", NULL, "UInt2", 0},
	{"u3", NULL, "UInt3", 0},
	{"u4", NULL, "UInt4", 0},
	{"u5", NULL, "UInt5", 0},
	{"u6", NULL, "UInt6", 0},
	{"u7", NULL, "UInt7", 0},
	{"i1", NULL, "Int1", 0},
	{"i2", NULL, "Int2", 0},
	{"i3", NULL, "Int3", 0},
	{"i4", NULL, "Int4", 0},
	{"i5", NULL, "Int5", 0},
	{"i6", NULL, "Int6", 0},
	{"i7", NULL, "Int7", 0},
	{"f8e8m0fnu", "c10::Float8_e8m0fnu", "Float8_e8m0fnu", 1},
	/* Two in a byte, which torch counts as one element. */
	{"f4e2m1fnx2", "c10::Float4_e2m1fn_x2", "Float4_e2m1fn_x2", 1},
};
enum { N_SCALARS = sizeof(scalars) / sizeof(scalars[0]) };

const char *tp_scalar_name(uint8_t type, char other[12])
{
	if (type < N_SCALARS)
		return scalars[type].name;
	snprintf(other, 12, "dtype%u", type);
	return other;
}

const char *tp_scalar_cpp(uint8_t type)
{
	return type < N_SCALARS && scalars[type].cpp ? scalars[type].cpp : "unknown";
}

const char *tp_scalar_torch(uint8_t type)
{
	return type < N_SCALARS ? scalars[type].torch : NULL;
}

uint32_t tp_scalar_bytes(uint8_t type)
{
	return type < N_SCALARS ? scalars[type].bytes : 0;
}

static bool is_name(const char *known, const char *name, uint32_t n)
{
	return known && strlen(known) == n && !memcmp(known, name, n);
}

uint8_t tp_scalar_of_cpp(const char *name, uint32_t n)
{
	static const struct {
		const char *name;
		uint8_t type;
	} of_clang[] = {{"long", 4}, {"short", 2}, {"unsigned long", 29}, {"unsigned short", 27}};

	for (uint32_t i = 0; i < sizeof(of_clang) / sizeof(of_clang[0]); i++)
		if (is_name(of_clang[i].name, name, n))
			return of_clang[i].type;
	for (uint32_t i = 0; i < N_SCALARS; i++)
		if (is_name(scalars[i].cpp, name, n))
			return (uint8_t)i;
	return TP_SCALAR_UNKNOWN;
}

uint8_t tp_scalar_of_torch(const char *name, uint32_t n)
{
	for (uint32_t i = 0; i < N_SCALARS; i++)
		if (is_name(scalars[i].torch, name, n))
			return (uint8_t)i;
	return TP_SCALAR_UNKNOWN;
}

uint8_t tp_scalar_of_nccl(const char *name, uint32_t n)
{
	static const struct {
		const char *name;
		uint8_t type;
	} of_nccl[] = {
#define _(number, name, type) {name, type},
		TP_NCCL_TYPES(_)
#undef _
	};

	for (uint32_t i = 0; i < sizeof(of_nccl) / sizeof(of_nccl[0]); i++)
		if (is_name(of_nccl[i].name, name, n))
			return of_nccl[i].type;
	return TP_SCALAR_UNKNOWN;
}
