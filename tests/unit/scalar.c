/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scalar.c - tests of the types of elements
 */
#include <criterion/criterion.h>
#include <string.h>

#include "merge/model/scalar.h"

Test(scalar, names_lead_back_to_their_type)
{
	char other[12];
	uint32_t n = 0;

	for (uint32_t i = 0; i < TP_SCALAR_UNKNOWN; i++) {
		const char *cpp = tp_scalar_cpp((uint8_t)i), *name = tp_scalar_name((uint8_t)i, other);

		n += name != other;
		if (strcmp(cpp, "unknown"))
			cr_expect_eq(tp_scalar_of_cpp(cpp, (uint32_t)strlen(cpp)), i, "%s", cpp);
	}
	cr_expect_eq(n, 46);
	cr_expect_str_eq(tp_scalar_name(99, other), "dtype99");
	cr_expect_str_eq(tp_scalar_cpp(99), "unknown");
	cr_expect_eq(tp_scalar_of_cpp("unknown", 7), TP_SCALAR_UNKNOWN);
	cr_expect_eq(tp_scalar_of_cpp("", 0), TP_SCALAR_UNKNOWN);
}

Test(scalar, torch_nccl_and_compilers_mean_the_same)
{
	static const struct {
		const char *name, *cpp, *torch, *nccl;
		uint32_t bytes;
	} rows[] = {
		{"u8", "unsigned char", "Byte", "ncclUint8", 1},
		{"i64", "long", "Long", "ncclInt64", 8},
		{"f32", "float", "Float", "ncclFloat32", 4},
		{"bf16", "c10::BFloat16", "BFloat16", "ncclBfloat16", 2},
		{"u32", "unsigned int", "UInt32", "ncclUint32", 4},
		{"f8e4m3fn", "c10::Float8_e4m3fn", "Float8_e4m3fn", "ncclFloat8e4m3", 1},
		{"c128", "c10::complex<double>", "ComplexDouble", NULL, 16},
		{"f8e8m0fnu", "c10::Float8_e8m0fnu", "Float8_e8m0fnu", NULL, 1},
		{"u4", NULL, "UInt4", NULL, 0},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint8_t type = tp_scalar_of_torch(rows[i].torch, (uint32_t)strlen(rows[i].torch));
		char other[12];

		cr_expect_str_eq(tp_scalar_name(type, other), rows[i].name);
		cr_expect_eq(tp_scalar_bytes(type), rows[i].bytes, "%s", rows[i].name);
		if (rows[i].cpp)
			cr_expect_eq(tp_scalar_of_cpp(rows[i].cpp, (uint32_t)strlen(rows[i].cpp)), type);
		if (rows[i].nccl)
			cr_expect_eq(tp_scalar_of_nccl(rows[i].nccl, (uint32_t)strlen(rows[i].nccl)),
				     type);
	}
}
