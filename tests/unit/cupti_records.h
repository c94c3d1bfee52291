/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_records.h - activity records as CUPTI 13.0 fills them, by its own headers, one behind the
 * other in a buffer; and a step from one to the next that needs no CUPTI
 */
#ifndef TP_TESTS_CUPTI_RECORDS_H
#define TP_TESTS_CUPTI_RECORDS_H

#include <stdio.h>
#include <string.h>

#include <cupti.h>

#include "runtime/probe/gpu/cupti_layout.h"
#include "runtime/probe/gpu/cupti_lib.h"

/* Of CUPTI 13.0 Update 1. */
enum { RECORDS_VERSION = 130001 };

static uint8_t records_buffer[1 << 22] __attribute__((aligned(8)));
static size_t records_bytes;

static inline void *add_record(const void *record, size_t bytes)
{
	void *at = records_buffer + records_bytes;

	memcpy(at, record, bytes);
	records_bytes += bytes;
	return at;
}

static inline CUptiResult CUPTIAPI next_record(uint8_t *buffer, size_t n_bytes,
					       CUpti_Activity **record)
{
	uint8_t *at = (uint8_t *)*record;

	at = at ? at + tp_cupti_record_bytes(RECORDS_VERSION, (*record)->kind) : buffer;
	if (at >= buffer + n_bytes)
		return CUPTI_ERROR_MAX_LIMIT_REACHED;
	*record = (CUpti_Activity *)at;
	return CUPTI_SUCCESS;
}

static inline CUptiResult CUPTIAPI callback_name(CUpti_CallbackDomain domain, uint32_t cbid,
						 const char **name)
{
	static char made[40];

	*name = made;
	if (domain == CUPTI_CB_DOMAIN_RUNTIME_API && cbid == 211)
		*name = "cudaLaunchKernel_v7000";
	else if (domain == CUPTI_CB_DOMAIN_DRIVER_API && cbid == 307)
		*name = "cuLaunchKernel";
	else if (cbid < 500)
		snprintf(made, sizeof(made), "cudaCall%u_ptsz_v11020", cbid);
	else
		return CUPTI_ERROR_INVALID_PARAMETER;
	return CUPTI_SUCCESS;
}

static inline void add_call(CUpti_ActivityKind kind, uint32_t cbid, uint32_t correlation,
			    uint64_t start, uint64_t end)
{
	CUpti_ActivityAPI call = {
		.kind = kind, .cbid = cbid, .start = start, .end = end, .processId = 7,
		.threadId = 4711, .correlationId = correlation, .returnValue = 3,
	};

	add_record(&call, sizeof(call));
}

static inline CUpti_ActivityKernel10 *add_kernel(const char *name, uint32_t correlation,
						 uint64_t start, uint64_t end)
{
	CUpti_ActivityKernel10 kernel = {
		.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, .registersPerThread = 64,
		.start = start, .end = end, .completed = end, .deviceId = 1, .contextId = 2,
		.streamId = 7, .gridX = 100, .gridY = 2, .gridZ = 1, .blockX = 256, .blockY = 1,
		.blockZ = 1, .staticSharedMemory = 1024, .dynamicSharedMemory = 4096,
		.correlationId = correlation, .gridId = (int64_t)correlation, .name = name,
	};

	return add_record(&kernel, sizeof(kernel));
}

#endif
