/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tensor_cores.c - tests: names of real kernels, as traces have them
 */
#include "merge/facts/time/tensor_cores.h"

#include <criterion/criterion.h>
#include <string.h>

static bool uses(const char *name)
{
	return tp_tensor_cores_used(name, (uint32_t)strlen(name));
}

static bool misses(const char *name)
{
	return tp_tensor_cores_missed(name, (uint32_t)strlen(name));
}

Test(tensor_cores, are_missed_by_products_in_float32)
{
	static const char *const missing[] = {
		/* of an H200, with matmul precision "highest" */
		"sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_warpsize2x2x1_ffma_aligna4_alignc4_"
		"execute_kernel__5x_cublas",
		"void cutlass::Kernel2<cutlass_80_simt_sgemm_128x256_8x4_nt_align1>(cutlass_80_simt_sgemm_128x256_8x4::P)",
		"void sgemm_largek_lds64<true, false, 5, 5, 4, 4, 4, 34>(float*)",
		"volta_sgemm_128x64_nn", "ampere_scudnn_128x64_relu_medium_nn_v1",
		"cutlass::gemm::device::Gemm<float, cutlass::arch::OpClassSimt>",
	}, *const others[] = {
		"sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x32_warpgroupsize1x1x1_execute_kernel__5x_cublas",
		"cutlass_80_tensorop_d884gemm_64x32_16x4_tn_align1", "ampere_sgemm_tf32_s1688gemm_fp32_64x64_tn",
		"nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT", "void at::native::vectorized_elementwise_kernel<4>", "",
	};

	for (size_t i = 0; i < sizeof(missing) / sizeof(missing[0]); i++)
		cr_expect(misses(missing[i]), "%s", missing[i]);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		cr_expect_not(misses(others[i]), "%s", others[i]);
}

Test(tensor_cores, are_used_by_kernels_of_every_generation)
{
	static const char *const names[] = {
		/* Volta, Turing */
		"volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_nn",
		"volta_h884gemm_64x128_ldg8_nn",
		"turing_fp16_s1688cudnn_fp16_128x128_ldg8_relu_f2f_exp_small_nhwc2nchw_tn_v1",
		"_Z20first_layer_wgrad_kernel_something",
		/* Ampere */
		"ampere_bf16_s16816gemm_bf16_256x128_ldg8_f2f_stages_32x3_nn",
		"void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_32x3_nn>",
		"cutlass_80_tensorop_i16832gemm_s8_128x64_128x3_tn_align16",
		"sm80_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_stage3",
		"sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nchw_tilesize64x64x64",
		"_ZN13pytorch_flash16flash_fwd_kernelINS_23Flash_fwd_kernel_traitsILi64EEEEEv",
		"void cutlass::Kernel<cutlass::gemm::kernel::Gemm<cutlass::gemm::threadblock::MmaMultistage<"
		"cutlass::gemm::warp::MmaTensorOp<cutlass::gemm::GemmShape<64, 64, 16>, cutlass::tfloat32_t>>>>",
		"fmha_cutlassF_bf16_aligned_64x64_rf_sm80(PyTorchMemEffAttention)",
		/* Hopper */
		"nvjet_hsh_256x128_64x4_2x1_v_bz_TNN",
		"nvjet_sm90_hss_320x128_64x3_1x2_h_bz_coopB_NNT",
		"sm90_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x128x64",
		"cutlass3x_sm90_tensorop_h64x128x16gemm_f16_f16_f16_void_f16_128x128x64",
		"cutlass::gemm::collective::MainloopSm90TmaGmmaWarpSpecialized<7>",
		"void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<8>>>",
		"cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x64x128",
		/* Blackwell */
		"nvjet_sm100_tst_64x32_64x16_2x1_2cta_h_bz_TNT",
		"cutlass3x_sm100_tensorop_s128x256x16gemm_bf16_bf16_f32",
		"cutlass::gemm::collective::MainloopSm100TmaUmmaWarpSpecialized<6>",
		"matmul_tcgen05_kernel",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		cr_expect(uses(names[i]), "%s", names[i]);
}

Test(tensor_cores, are_not_used_by_others)
{
	static const char *const names[] = {
		"void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>",
		"_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIfEEEEvT2_",
		"void at::native::fill_kernel(c10::TensorOptions)",
		"volta_sgemm_128x64_nn",
		"ampere_sgemm_64x32_sliced1x4_tn",
		"gemmSN_TN_kernel",
		"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
		"ncclKernel_AllReduce_RING_LL_Sum_half",
		"flash_fwd_splitkv_combine_kernel",
		"void at::native::lgamma_kernel",
		"",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		cr_expect_not(uses(names[i]), "%s", names[i]);
	cr_expect_not(tp_tensor_cores_used(NULL, 0));
	/* The length counts, not a NUL. */
	cr_expect_not(tp_tensor_cores_used("volta_h884gemm", 8));
	cr_expect(tp_tensor_cores_used("a\0h884", 6));
}

Test(tensor_cores, could_be_used_by_operators_of_the_list_only)
{
	static const char *const yes[] = {"aten::mm", "aten::addmm", "aten::convolution",
					  "aten::linear", "AddmmBackward"};
	static const char *const no[] = {"aten::mm_", "aten::add", "aten::m", "mm", "",
					 "aten::_scaled_dot_product_flash_attention"};

	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
		cr_expect(tp_tensor_cores_eligible(yes[i], (uint32_t)strlen(yes[i])), "%s", yes[i]);
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		cr_expect_not(tp_tensor_cores_eligible(no[i], (uint32_t)strlen(no[i])), "%s", no[i]);
	cr_expect_not(tp_tensor_cores_eligible(NULL, 0));
}
