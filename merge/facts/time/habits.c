/* SPDX-License-Identifier: Apache-2.0 */
/*
 * habits.c - calls of CUDA by what they mean for who waits for them
 */
#include "merge/facts/time/habits.h"

#include <string.h>

#include "merge/kit/sum.h"
#include "merge/model/device.h"

/* Beginnings of names, behind which a version may stand ("cudaMalloc_v3020"), but no other
 * word ("cudaMemcpyAsync"). */
struct beginning {
	const char *bytes;
	uint32_t n;
};
#define BEGINNING(text) {text, sizeof(text) - 1}

static const struct beginning waits[] = {
	BEGINNING("cudaStreamSynchronize"), BEGINNING("cudaDeviceSynchronize"),
	BEGINNING("cudaEventSynchronize"), BEGINNING("cudaMemcpy"),
	BEGINNING("cuStreamSynchronize"), BEGINNING("cuCtxSynchronize"),
	BEGINNING("cuEventSynchronize"), BEGINNING("cuMemcpyDtoH"), BEGINNING("cuMemcpyHtoD"),
	{NULL, 0},
};
static const struct beginning allocs[] = {
	BEGINNING("cudaMalloc"), BEGINNING("cudaFree"), BEGINNING("cuMemAlloc"), BEGINNING("cuMemFree"),
	BEGINNING("cuMemCreate"), BEGINNING("cuMemRelease"), BEGINNING("cuMemUnmap"), {NULL, 0},
};
static const struct beginning host_allocs[] = {
	BEGINNING("cudaHostAlloc"), BEGINNING("cudaMallocHost"), BEGINNING("cudaFreeHost"),
	BEGINNING("cudaHostRegister"), BEGINNING("cudaHostUnregister"), BEGINNING("cuMemHostAlloc"),
	BEGINNING("cuMemFreeHost"), {NULL, 0},
};

static const struct beginning graphs[] = {BEGINNING("cudaGraphLaunch"), BEGINNING("cuGraphLaunch"), {NULL, 0}};

/* Asked of each call: all begin alike, so what tells most of them apart is looked at first. */
static bool is_one_of(const struct tp_string *name, const struct beginning *list)
{
	for (; list->n; list++) {
		if (name->n_bytes < list->n || name->bytes[list->n - 1] != list->bytes[list->n - 1])
			continue;
		if (!memcmp(name->bytes, list->bytes, list->n) &&
		    (name->n_bytes == list->n || name->bytes[list->n] == '_'))
			return true;
	}
	return false;
}

bool tp_habits_is_wait(const struct tp_string *name)
{
	return is_one_of(name, waits);
}

bool tp_habits_is_alloc(const struct tp_string *name)
{
	return is_one_of(name, allocs) || is_one_of(name, host_allocs);
}

bool tp_habits_is_pageable(const struct tp_event *event)
{
	struct tp_transfer transfer = tp_device_transfer(event);

	return (transfer.copy_kind == TP_COPY_HTOD && transfer.from_kind == TP_MEMORY_PAGEABLE) ||
	       (transfer.copy_kind == TP_COPY_DTOH && transfer.to_kind == TP_MEMORY_PAGEABLE);
}

void tp_habits_call(struct tp_habits *habits, const struct tp_event *event)
{
	int64_t ns = tp_sub(event->end_ns, event->begin_ns);

	if (is_one_of(event->name, waits)) {
		habits->n_waits++;
		habits->wait_ns = tp_add(habits->wait_ns, ns);
	} else if (is_one_of(event->name, allocs)) {
		habits->n_allocs++;
		habits->alloc_ns = tp_add(habits->alloc_ns, ns);
	} else if (is_one_of(event->name, host_allocs)) {
		habits->n_host_allocs++;
		habits->host_alloc_ns = tp_add(habits->host_alloc_ns, ns);
	}
}

void tp_habits_work(struct tp_habits *habits, const struct tp_event *event,
		    const struct tp_string *call)
{
	int64_t ns = tp_sub(event->end_ns, event->begin_ns);

	if (event->kind == TP_REC_KERNEL) {
		habits->n_kernels++;
		habits->n_graph_kernels += is_one_of(call, graphs);
		habits->kernel_ns = tp_add(habits->kernel_ns, ns);
	} else if (event->kind == TP_REC_MEMCPY && tp_habits_is_pageable(event)) {
		habits->n_pageable++;
		habits->pageable_ns = tp_add(habits->pageable_ns, ns);
		if (tp_device_transfer(event).copy_kind == TP_COPY_DTOH)
			habits->pageable_back_ns = tp_add(habits->pageable_back_ns, ns);
	}
}
