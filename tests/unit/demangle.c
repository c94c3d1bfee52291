/* SPDX-License-Identifier: Apache-2.0 */
/*
 * demangle.c - tests: names of kernels as torch.profiler shows them
 */
#include "merge/kit/demangle.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "merge/model/strings.h"

static const char *readable(const char *name)
{
	uint32_t n = 0;
	static char room[TP_DEMANGLE_TO];
	const char *text = tp_demangle(name, (uint32_t)strlen(name), room, &n);

	if (text)
		cr_expect_eq(strlen(text), n);
	return text;
}

Test(demangle, shows_names_as_cxxfilt_does)
{
	cr_expect_str_eq(readable("_Z3foov"), "foo()");
	cr_expect_str_eq(
		readable("_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEE"
			 "St5arrayIPcLm1EEEEviT0_T1_"),
		"void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, "
		"std::array<char*, 1ul> >(int, at::native::FillFunctor<float>, "
		"std::array<char*, 1ul>)");
	cr_expect_str_eq(readable("_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LLP15ncclDevCommArgs"),
			 "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevCommArgs*)");
}

/* With the hash that says which build it is, the same function has two names in two runs. */
Test(demangle, shows_names_of_rust)
{
	cr_expect_str_eq(readable("_ZN62_$LT$r..shapes..Square$LT$T$GT$$u20$as$u20$r..shapes..Area"
				  "$GT$4area17h01e18ed23576449dE"),
			 "<r::shapes::Square<T> as r::shapes::Area>::area");
	cr_expect_str_eq(readable("_ZN1r5apply17h0878380d74eb232bE"), "r::apply");
	cr_expect_str_eq(readable("_RINvCs6GmmlP4bgsG_1r5applyNCNvB2_4main0EB2_"),
			 "r::apply::<r::main::{closure#0}>");
	/* Almost. */
	cr_expect_str_eq(readable("_ZN1r5apply17h0878380d74eb232gE"), "r::apply::h0878380d74eb232g");
	cr_expect_null(readable("_RINvCs6GmmlP4bgsG_1r5applyNCNvB2_4main0EB2_!"));
	cr_expect_null(readable("_R"));
	cr_expect_null(readable("_RN"));
}

Test(demangle, leaves_others_alone)
{
	cr_expect_null(readable("ampere_bf16_s16816gemm_bf16_256x128_ldg8_f2f_stages_32x3_nn"));
	cr_expect_null(readable(""));
	cr_expect_null(readable("_Z"));
	cr_expect_null(readable("_Zwhat is this"));
	cr_expect_null(readable("_ZN2at6native29vectorized_"));
}

/* Kernels of CUTLASS have names of some thousand bytes. */
Test(demangle, takes_long_names)
{
	char name[TP_DEMANGLE_FROM + 100] = "_Z1fI";
	const char *text;

	for (int i = 0; i < 300; i++)
		strcat(name, "12ABCDEFGHIJKL");
	strcat(name, "Evv");
	cr_assert_gt(strlen(name), 4000);
	text = readable(name);
	cr_assert_not_null(text);
	cr_expect_eq(strncmp(text, "void f<ABCDEFGHIJKL, ABCDEFGHIJKL, ", 35), 0);
	memset(name + 5, 'i', sizeof(name) - 6);
	name[sizeof(name) - 1] = 0;
	cr_expect_null(readable(name));
}

/* Each argument is the last one twice. */
Test(demangle, ends_for_names_without_end)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char name[1024] = "_Z1f1AIiiE";

	for (int i = 0; i < 36; i++) {
		size_t n = strlen(name);

		snprintf(name + n, sizeof(name) - n, "S_IS%c_S%c_E", digits[i], digits[i]);
	}
	cr_expect_null(readable(name));
	/* And the next one is as usual. */
	cr_expect_str_eq(readable("_Z3foov"), "foo()");
}

Test(demangle, bears_any_bytes)
{
	static const char seedling[] = "_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIfNS0_"
				       "14func_wrapper_tIfZNS0_11sum_functorIfffEclERNS_14Tensor"
				       "IteratorEEUlffE_EEjfLi4EEEEEvT1_";
	static const char rust[] = "_RINvNtNtNtCsgEmfK2I1SDS_4core5slice4sort6stable14driftsort_main"
				   "NtNtCs4X4t9plMPHF_9addr2line4line12LineSequenceNCINvMNtCslNYArtu3i"
				   "FV_5alloc5sliceSBZ_11sort_by_keyyNCINvMs_B11_NtB11_5Lines5parseE0E";
	unsigned seed = 3;

	for (int i = 0; i < 40000; i++) {
		const char *from = i % 2 ? rust : seedling;
		size_t bytes = (i % 2 ? sizeof(rust) : sizeof(seedling));
		char name[sizeof(seedling) > sizeof(rust) ? sizeof(seedling) : sizeof(rust)];

		memcpy(name, from, bytes);
		for (int k = 0; k < 1 + i % 5; k++)
			name[2 + rand_r(&seed) % (bytes - 3)] = from[rand_r(&seed) % (bytes - 1)];
		readable(name);
	}
}

Test(demangle, is_what_a_kernel_is_called)
{
	struct tp_strings strings;
	const struct tp_string *mangled, *plain;

	cr_assert_eq(tp_strings_init(&strings), 0);
	mangled = tp_strings_add(&strings, TP_STRING_TEXT, "_Z3foov", 7);
	plain = tp_strings_add(&strings, TP_STRING_TEXT, "foo()", 5);
	cr_expect_eq(tp_strings_title(mangled), plain);
	cr_expect_eq(tp_strings_title(plain)->kind, 0);
	/* What it was recorded as stays what it is. */
	cr_expect_str_eq(mangled->bytes, "_Z3foov");
	tp_strings_free(&strings);
}

Test(demangle, a_short_name_has_neither_result_nor_parameters)
{
	static const struct {
		const char *full, *expected;
	} cases[] = {
		{"void at::native::fill<4, (bool)1>(int, float (*)(int))", "at::native::fill<4, (bool)1>"},
		{"ampere_sgemm_128x64_tn", "ampere_sgemm_128x64_tn"},
		{"(anonymous)", "(anonymous)"}, {"void ", "void "}, {")", ")"}, {"", ""},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint32_t n = (uint32_t)strlen(cases[i].full);
		const char *bytes = tp_short_function(cases[i].full, &n);

		cr_expect_eq(n, strlen(cases[i].expected), "%s: %u", cases[i].full, n);
		cr_expect(!strncmp(bytes, cases[i].expected, n), "%s", cases[i].full);
	}
}
