/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nccl_types.h - element types of NCCL: number of ncclDataType_t, name as its profiler plugin gives
 * it and as a COLL string has it, and which of torch's ScalarType it is
 *
 * _(number, "name", scalar_type)
 */
#ifndef TP_NCCL_TYPES_H
#define TP_NCCL_TYPES_H

#define TP_NCCL_TYPES(_)                                                                   \
	_(0, "ncclInt8", 1)                                                                \
	_(1, "ncclUint8", 0)                                                               \
	_(2, "ncclInt32", 3)                                                               \
	_(3, "ncclUint32", 28)                                                             \
	_(4, "ncclInt64", 4)                                                               \
	_(5, "ncclUint64", 29)                                                             \
	_(6, "ncclFloat16", 5)                                                             \
	_(7, "ncclFloat32", 6)                                                             \
	_(8, "ncclFloat64", 7)                                                             \
	_(9, "ncclBfloat16", 15)                                                           \
	_(10, "ncclFloat8e4m3", 24)                                                        \
	_(11, "ncclFloat8e5m2", 23)

#endif
