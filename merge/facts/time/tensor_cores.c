/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tensor_cores.c - whether a kernel uses tensor cores, by its name; whether an operator could
 *
 * A part of its name says it: the shape of the tensor instruction, or the kernel's family.
 * Matching the plugin comes first: it counts every "xmma_gemm", among them cuBLAS's few
 * that multiply without tensor cores ("ffma").
 */
#include "merge/facts/time/tensor_cores.h"

#include <string.h>

static const char *const used[] = {
    /* torch-tb-profiler 0.4.3 */
    "h884",
    "s884",
    "h1688",
    "s1688",
    "hmma",
    "i8816",
    "16816",
    "dgrad_1x1_stride_2x2",
    "first_layer_wgrad_kernel",
    "conv1x1",
    "conv2d_c1_k1",
    "direct_group",
    "xmma_implicit_gemm",
    "xmma_sparse_conv",
    "xmma_warp_specialized_implicit_gemm",
    "xmma_gemm",
    "xmma_sparse_gemm",
    "c1688",
    /* and what came after it */
    "tensorop",		 /* CUTLASS */
    "MmaTensorOp",
    "OpClassTensorOp",
    "i16832",		 /* Ampere: 8 bit */
    "xmma_fprop_implicit", /* cuDNN */
    "xmma_dgrad_implicit",
    "xmma_wgrad_implicit",
    "sm90_xmma",
    "sm100_xmma",
    "nvjet_",		 /* cuBLAS, Hopper and later */
    "gmma",		 /* Hopper: instructions of warp groups */
    "Gmma",
    "GMMA",
    "tcgen05",		 /* Blackwell: the fifth generation */
    "Umma",
    "UMMA",
    "SM100_MMA",
    "flash_fwd_kernel",	 /* attention */
    "flash_fwd_splitkv_kernel",
    "flash_bwd_dq_dk_dv",
    "FlashAttnFwdSm",
    "FlashAttnBwdSm",
    "fmha_cutlassF_f16",
    "fmha_cutlassF_bf16",
    "fmha_cutlassB_f16",
    "fmha_cutlassB_bf16",
    "native_sdpa_sm",
};

static const char *const eligible[] = {
    "aten::_convolution",
    "aten::conv1d",
    "aten::conv2d",
    "aten::conv3d",
    "aten::conv_tbc",
    "aten::conv_transpose1d",
    "aten::conv_transpose2d",
    "aten::conv_transpose3d",
    "aten::convolution",
    "aten::cudnn_convolution",
    "aten::cudnn_convolution_transpose",
    "aten::prelu",
    "aten::addmm",
    "aten::addmv",
    "aten::addr",
    "aten::matmul",
    "aten::mm",
    "aten::mv",
    "aten::linear",
    "aten::addbmm",
    "aten::baddbmm",
    "aten::bmm",
    "aten::chain_matmul",
    "aten::linalg_multi_dot",
    "aten::_thnn_fused_lstm_cell",
    "aten::_thnn_fused_gru_cell",
    "aten::lstm_cell",
    "aten::gru_cell",
    "aten::rnn_tanh_cell",
    "aten::rnn_relu_cell",
    "CudnnConvolutionBackward",
    "BmmBackward0",
    "aten::cudnn_convolution_transpose_backward",
    "CudnnConvolutionTransposeBackward",
    "MmBackward",
    "aten::cudnn_convolution_backward_weight",
    "aten::addmm_",
    "AddmvBackward",
    "MvBackward",
    "aten::cudnn_convolution_transpose_backward_weight",
    "aten::cudnn_convolution_transpose_backward_input",
    "AddmmBackward",
    "aten::cudnn_convolution_backward_input",
    "AddbmmBackward",
    "aten::cudnn_convolution_backward",
};

static bool has_part_at(const char *kernel, uint32_t n_bytes)
{
	for (size_t i = 0; i < sizeof(used) / sizeof(used[0]); i++) {
		size_t n = strlen(used[i]);

		if (n <= n_bytes && !memcmp(kernel, used[i], n))
			return true;
	}
	return false;
}

/* Asked for each kernel of a trace: one look at the name, by the pairs that parts begin with. */
bool tp_tensor_cores_used(const char *kernel, uint32_t n_bytes)
{
	static uint8_t begins[1 << 16];
	static bool is_made;

	for (size_t i = 0; !is_made && i < sizeof(used) / sizeof(used[0]); i++)
		begins[(uint8_t)used[i][0] << 8 | (uint8_t)used[i][1]] = 1;
	is_made = true;
	for (uint32_t i = 0; kernel && i + 1 < n_bytes; i++)
		if (begins[(uint8_t)kernel[i] << 8 | (uint8_t)kernel[i + 1]] &&
		    has_part_at(kernel + i, n_bytes - i))
			return true;
	return false;
}

static bool has_part(const char *kernel, uint32_t n_bytes, const char *part)
{
	return memmem(kernel, n_bytes, part, strlen(part)) != NULL;
}

bool tp_tensor_cores_missed(const char *kernel, uint32_t n_bytes)
{
	static const char *const parts[] = {"sgemm", "simt_", "OpClassSimt", "scudnn"};

	if (!kernel || has_part(kernel, n_bytes, "_ffma_"))
		return kernel != NULL;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (has_part(kernel, n_bytes, parts[i]))
			return !tp_tensor_cores_used(kernel, n_bytes);
	return false;
}

bool tp_tensor_cores_eligible(const char *op, uint32_t n_bytes)
{
	for (size_t i = 0; op && i < sizeof(eligible) / sizeof(eligible[0]); i++)
		if (strlen(eligible[i]) == n_bytes && !memcmp(op, eligible[i], n_bytes))
			return true;
	return false;
}
