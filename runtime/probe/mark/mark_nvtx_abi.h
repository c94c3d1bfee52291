/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mark_nvtx_abi.h - what of NVTX's binary interface is needed to be one of its tools
 *
 * Own declarations, so that the library is built without NVIDIA's headers; where these are at
 * hand tests/unit/mark_nvtx.c compares. The interface is for ever: each module that uses NVTX has
 * its own copy of it compiled in.
 */
#ifndef TP_PROBE_MARK_NVTX_ABI_H
#define TP_PROBE_MARK_NVTX_ABI_H

#include <stddef.h>
#include <stdint.h>

enum tp_nvtx_table {
	TP_NVTX_TABLE_CALLBACKS = 1,
};

enum tp_nvtx_module {
	TP_NVTX_CORE = 1,	/* of the program's own domain */
	TP_NVTX_CORE2 = 5,	/* of named domains */
};

/* Slots of the modules' tables; what nobody fills does nothing. */
enum tp_nvtx_core {
	TP_NVTX_MARK_EX = 1,
	TP_NVTX_MARK_A = 2,
	TP_NVTX_MARK_W = 3,
	TP_NVTX_RANGE_START_EX = 4,
	TP_NVTX_RANGE_START_A = 5,
	TP_NVTX_RANGE_START_W = 6,
	TP_NVTX_RANGE_END = 7,
	TP_NVTX_RANGE_PUSH_EX = 8,
	TP_NVTX_RANGE_PUSH_A = 9,
	TP_NVTX_RANGE_PUSH_W = 10,
	TP_NVTX_RANGE_POP = 11,
	TP_NVTX_NAME_CATEGORY_A = 12,
	TP_NVTX_NAME_CATEGORY_W = 13,
};

enum tp_nvtx_core2 {
	TP_NVTX_DOMAIN_MARK_EX = 1,
	TP_NVTX_DOMAIN_RANGE_START_EX = 2,
	TP_NVTX_DOMAIN_RANGE_END = 3,
	TP_NVTX_DOMAIN_RANGE_PUSH_EX = 4,
	TP_NVTX_DOMAIN_RANGE_POP = 5,
	TP_NVTX_DOMAIN_NAME_CATEGORY_A = 8,
	TP_NVTX_DOMAIN_NAME_CATEGORY_W = 9,
	TP_NVTX_DOMAIN_REGISTER_STRING_A = 10,
	TP_NVTX_DOMAIN_REGISTER_STRING_W = 11,
	TP_NVTX_DOMAIN_CREATE_A = 12,
	TP_NVTX_DOMAIN_CREATE_W = 13,
};

enum tp_nvtx_message {
	TP_NVTX_MESSAGE_ASCII = 1,
	TP_NVTX_MESSAGE_UNICODE = 2,
	TP_NVTX_MESSAGE_REGISTERED = 3,
};

enum tp_nvtx_payload {
	TP_NVTX_PAYLOAD_U64 = 1,
	TP_NVTX_PAYLOAD_I64 = 2,
	TP_NVTX_PAYLOAD_DOUBLE = 3,
	TP_NVTX_PAYLOAD_U32 = 4,
	TP_NVTX_PAYLOAD_I32 = 5,
	TP_NVTX_PAYLOAD_FLOAT = 6,
};

enum { TP_NVTX_NOT_TRACKED = -2 };	/* what push and pop return without a tool */

struct tp_nvtx_attributes {
	uint16_t version;
	uint16_t size;		/* of the caller's structure */
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type;	/* enum tp_nvtx_payload; others are not ours to read */
	int32_t reserved;
	union {
		uint64_t u64;
		int64_t i64;
		double f64;
		uint32_t u32;
		int32_t i32;
		float f32;
	} payload;
	int32_t message_type;	/* enum tp_nvtx_message */
	union {
		const char *ascii;
		const wchar_t *unicode;
		void *registered;
	} message;
};

typedef void (*tp_nvtx_function)(void);

struct tp_nvtx_callbacks {
	size_t struct_size;
	/* *table: n pointers to where the module keeps its functions. */
	int (*get_table)(int module, tp_nvtx_function ***table, unsigned int *n);
};

#endif
