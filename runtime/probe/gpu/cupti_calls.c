/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_calls.c - CUPTI's callbacks: the subscriber, and the few calls that are heard
 *
 * A callback runs on a guest thread, inside the driver, perhaps under its locks: it waits for
 * nothing and calls nothing but cuptiGetDeviceId, which CUPTI allows there. What takes memory
 * back acts when the call begins (once it is done another thread may have the address), and is
 * undone when the call fails. A call within a heard one is part of it and counts for nothing.
 */
#include "runtime/probe/gpu/cupti_calls.h"

#include <errno.h>
#include <string.h>

#include <cupti.h>

#include "runtime/base/sync.h"
#include "runtime/base/text.h"
#include "runtime/probe/gpu/cupti_lib.h"
#include "runtime/probe/gpu/cupti_yield.h"
#include "runtime/probe/devmem/devmem.h"
#include "runtime/probe/devmem/devmem_calls.h"
#include "runtime/probe/devmem/owner.h"
#include "runtime/probe/devmem/owner_objects.h"
#include "runtime/probe/mark/mark.h"

enum {
	CONTEXTS = 256,		/* whose device is remembered */
	NAME_BYTES = 256,	/* of whoever has CUPTI */
};

static struct {
	CUpti_SubscriberHandle subscriber;
	uint32_t is_open;		/* atomic */
	uint32_t is_dead;		/* atomic */
	uint32_t wanted, applied;	/* atomic; enum tp_cupti_memory */
	uint32_t is_busy;		/* atomic: somebody applies */
	uint32_t generation;		/* atomic: times that callbacks were switched */
	bool is_by_runtime;		/* the driver's callbacks were refused */
	uint32_t device[CONTEXTS];	/* atomic, by CUPTI's number of the context: plus one */
} calls;

/* The heard call that this thread is in. */
static __thread struct {
	uint32_t generation, correlation;
	CUpti_CallbackId id;
	bool is_inside;
} inside __attribute__((tls_model("initial-exec")));

/* ---- callbacks ---- */

static uint32_t device_of(CUcontext context, uint32_t number)
{
	uint32_t *known = number < CONTEXTS ? &calls.device[number] : NULL;
	uint32_t device = known ? __atomic_load_n(known, __ATOMIC_RELAXED) : 0;

	if (device)
		return device - 1;
	if (!context || tp_cupti.cuptiGetDeviceId(context, &device) != CUPTI_SUCCESS)
		return TP_DEVMEM_NO_DEVICE;
	if (known)
		__atomic_store_n(known, device + 1, __ATOMIC_RELAXED);
	return device;
}

/* False: within another heard call, or the end of such a one. */
static bool is_outermost(CUpti_CallbackId id, const CUpti_CallbackData *data)
{
	/* A call that began when other callbacks were on may never be heard to end. */
	uint32_t generation = __atomic_load_n(&calls.generation, __ATOMIC_RELAXED);
	bool is_in_call = inside.is_inside && inside.generation == generation;
	bool is_same = inside.id == id && inside.correlation == data->correlationId;

	if (data->callbackSite == CUPTI_API_ENTER) {
		if (is_in_call)
			return false;
		inside.is_inside = true;
		inside.generation = generation;
		inside.correlation = data->correlationId;
		inside.id = id;
		return true;
	}
	if (is_in_call && !is_same)
		return false;
	inside.is_inside = false;
	return true;
}

static void act_before(const struct tp_devmem_call *call)
{
	const struct tp_devmem_block *block = &call->block;

	switch (call->act) {
	case TP_ACT_FREE:
		tp_devmem_free(block->address, block->kind, block->correlation, block->caller);
		break;
	case TP_ACT_RELEASE:
		tp_devmem_release(call->handle, block->correlation, block->caller);
		break;
	default:
		tp_devmem_graph_gone(call->handle, block->correlation);
		break;
	}
}

static void act_after(const struct tp_devmem_call *call)
{
	const struct tp_devmem_block *block = &call->block;

	switch (call->act) {
	case TP_ACT_ALLOC:
		tp_devmem_alloc(block);
		break;
	case TP_ACT_CREATE:
		tp_devmem_create(block);
		break;
	case TP_ACT_RETAIN:
		tp_devmem_retain(call->handle, block->address);
		break;
	case TP_ACT_MAP:
		tp_devmem_map(block, call->handle);
		break;
	case TP_ACT_UNMAP:
		tp_devmem_unmap(block->address, block->bytes, block->correlation, block->caller);
		break;
	case TP_ACT_UNREGISTER:
		tp_devmem_free(block->address, block->kind, block->correlation, block->caller);
		break;
	default:
		break;
	}
}

static void undo(enum tp_devmem_act act)
{
	if (act == TP_ACT_FREE)
		tp_devmem_unfree();
	else if (act == TP_ACT_RELEASE)
		tp_devmem_unrelease();
}

static void hear_memory(bool is_runtime, CUpti_CallbackId id, const CUpti_CallbackData *data)
{
	bool is_after = data->callbackSite == CUPTI_API_EXIT;
	/* CUresult and cudaError_t: 0 is success in both. */
	bool has_failed = is_after && data->functionReturnValue &&
			  *(const int *)data->functionReturnValue != 0;
	struct tp_devmem_call call = {
		.block = {
			.device = TP_DEVMEM_NO_DEVICE,
			.context = data->contextUid,
			.correlation = data->correlationId,
		},
	};

	if (!is_outermost(id, data))
		return;
	tp_devmem_read_call(is_runtime, id, data->functionParams, is_after && !has_failed, &call);
	if (tp_devmem_is_before(call.act) == is_after) {
		if (has_failed)
			undo(call.act);
		return;
	}
	if (call.act == TP_ACT_NONE || has_failed)
		return;
	if (call.act < TP_ACT_UNMAP)
		call.block.caller = tp_owner_caller();
	if (call.block.device == TP_DEVMEM_NO_DEVICE && call.block.kind != TP_DEVMEM_RESERVED)
		call.block.device = device_of(data->context, data->contextUid);
	/* These outlive contexts. */
	if (call.block.kind == TP_DEVMEM_POOL || call.block.kind == TP_DEVMEM_RESERVED ||
	    call.block.kind == TP_DEVMEM_GRAPH)
		call.block.context = 0;
	if (is_after)
		act_after(&call);
	else
		act_before(&call);
}

static void hear_profiler(const char *what, const CUpti_CallbackData *data)
{
	struct tp_mark_name name = { .text = what, .n_text = (uint32_t)strlen(what) };

	if (data->callbackSite == CUPTI_API_EXIT && tp_mark_is_on())
		tp_mark_instant(&name, 0, false);
}

static void hear_resource(CUpti_CallbackId id, const CUpti_ResourceData *data)
{
	uint32_t number;

	if (!data->context || tp_cupti.cuptiGetContextId(data->context, &number) != CUPTI_SUCCESS)
		return;
	if (id == CUPTI_CBID_RESOURCE_CONTEXT_CREATED) {
		device_of(data->context, number);
		return;
	}
	tp_devmem_context_gone(number);
	if (number < CONTEXTS)
		__atomic_store_n(&calls.device[number], 0, __ATOMIC_RELAXED);
}

static void CUPTIAPI hear(void *unused, CUpti_CallbackDomain domain, CUpti_CallbackId id,
			  const void *data)
{
	int kept_errno = errno;

	if (!data || !__atomic_load_n(&calls.is_open, __ATOMIC_RELAXED))
		return;
	switch (domain) {
	case CUPTI_CB_DOMAIN_DRIVER_API:
		hear_memory(false, id, data);
		break;
	case CUPTI_CB_DOMAIN_RUNTIME_API:
		if (id == CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStart_v4000)
			hear_profiler("cudaProfilerStart", data);
		else if (id == CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStop_v4000)
			hear_profiler("cudaProfilerStop", data);
		else
			hear_memory(true, id, data);
		break;
	case CUPTI_CB_DOMAIN_RESOURCE:
		hear_resource(id, data);
		break;
	case CUPTI_CB_DOMAIN_STATE:
		__atomic_store_n(&calls.is_dead, 1, __ATOMIC_RELEASE);
		__atomic_store_n(&tp_devmem_by_cupti, 0, __ATOMIC_RELAXED);
		break;
	default:
		break;
	}
	errno = kept_errno;
}

/* ---- the subscriber ---- */

static CUptiResult enable(bool is_on, CUpti_CallbackDomain domain, CUpti_CallbackId id)
{
	CUptiResult result;

	if (tp_cupti_calls_is_dead())
		return CUPTI_ERROR_NOT_INITIALIZED;
	tp_cupti_inside++;
	result = tp_cupti.cuptiEnableCallback(is_on, calls.subscriber, domain, id);
	tp_cupti_inside--;
	return result;
}

static bool is_rare(uint32_t id)
{
	return id != CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync &&
	       id != CUPTI_DRIVER_TRACE_CBID_cuMemAllocAsync_ptsz &&
	       id != CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync &&
	       id != CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync_ptsz &&
	       id != CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync &&
	       id != CUPTI_DRIVER_TRACE_CBID_cuMemAllocFromPoolAsync_ptsz;
}

static bool is_rare_of_runtime(uint32_t id)
{
	return id < CUPTI_RUNTIME_TRACE_CBID_cudaMallocAsync_v11020;
}

/* Of the runtime's only when the driver's most important one is refused; when that is, too, others
 * may tell. */
static void apply(enum tp_cupti_memory which)
{
	bool is_off = which == TP_CUPTI_MEMORY_OFF, is_heard = is_off;

	/* Of the stream-ordered blocks that are known from before, who knows which were freed. */
	if (which == TP_CUPTI_MEMORY_ALL)
		tp_devmem_forget(TP_DEVMEM_POOL);
	for (uint32_t i = 0, id; (id = tp_devmem_call_id(false, i)) && !calls.is_by_runtime; i++) {
		bool is_on = !is_off && (which == TP_CUPTI_MEMORY_ALL || is_rare(id));
		CUptiResult result = enable(is_on, CUPTI_CB_DOMAIN_DRIVER_API, id);

		if (!is_on || id != CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2)
			continue;
		is_heard = result == CUPTI_SUCCESS;
		calls.is_by_runtime = !is_heard;
	}
	for (uint32_t i = 0, id; (id = tp_devmem_call_id(true, i)) && calls.is_by_runtime; i++) {
		bool is_on = !is_off && (which == TP_CUPTI_MEMORY_ALL || is_rare_of_runtime(id));
		CUptiResult result = enable(is_on, CUPTI_CB_DOMAIN_RUNTIME_API, id);

		if (is_on && id == CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020)
			is_heard = result == CUPTI_SUCCESS;
	}
	__atomic_store_n(&tp_devmem_by_cupti, is_heard, __ATOMIC_RELAXED);
	__atomic_fetch_add(&calls.generation, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&calls.applied, which, __ATOMIC_RELAXED);
}

void tp_cupti_calls_memory(enum tp_cupti_memory which)
{
	uint32_t wanted;

	__atomic_store_n(&calls.wanted, which, __ATOMIC_SEQ_CST);
	/* Not a lock: CUPTI is called here, and whoever is at it sees what is wanted. */
	do {
		if (__atomic_exchange_n(&calls.is_busy, 1, __ATOMIC_SEQ_CST))
			return;
		while (__atomic_load_n(&calls.is_open, __ATOMIC_ACQUIRE) &&
		       (wanted = __atomic_load_n(&calls.wanted, __ATOMIC_SEQ_CST)) !=
			       __atomic_load_n(&calls.applied, __ATOMIC_RELAXED))
			apply((enum tp_cupti_memory)wanted);
		__atomic_store_n(&calls.is_busy, 0, __ATOMIC_SEQ_CST);
		/* Somebody may have wanted something else between our last look and now. */
	} while (__atomic_load_n(&calls.is_open, __ATOMIC_ACQUIRE) &&
		 __atomic_load_n(&calls.wanted, __ATOMIC_SEQ_CST) !=
			 __atomic_load_n(&calls.applied, __ATOMIC_RELAXED));
}

static CUptiResult subscribe(char *other, size_t cap)
{
	CUpti_SubscriberParams parameters;
	CUptiResult result;

	*other = '\0';
	tp_cupti_inside++;
	result = tp_cupti.cuptiSubscribe(&calls.subscriber, hear, NULL);
	if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED && tp_cupti.cuptiSubscribe_v2) {
		/* The same refusal, with the name. Where it is none this time, it is ours. */
		memset(&parameters, 0, sizeof(parameters));
		parameters.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
		parameters.subscriberName = "trainprof";
		parameters.oldSubscriberName = other;
		parameters.oldSubscriberSize = cap;
		result = tp_cupti.cuptiSubscribe_v2(&calls.subscriber, hear, NULL, &parameters);
		other[cap - 1] = '\0';
	}
	tp_cupti_inside--;
	return result;
}

int tp_cupti_calls_open(char *why, size_t cap)
{
	char other[NAME_BYTES];
	CUptiResult result = subscribe(other, sizeof(other));
	struct tp_text text;

	tp_text_init(&text, why, cap);
	if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
		tp_text_str(&text, "CUPTI is in use by ");
		/* compute-sanitizer is "<not provided>". */
		tp_text_str(&text, *other && *other != '<' ? other : "another profiler or debugger");
		return -EBUSY;
	}
	if (result != CUPTI_SUCCESS) {
		tp_text_fmt(&text, "CUPTI takes no subscriber: %s", tp_cupti_error(result));
		return -ENOTSUP;
	}
	tp_owner_refresh();
	__atomic_store_n(&calls.applied, TP_CUPTI_MEMORY_OFF, __ATOMIC_RELAXED);
	__atomic_store_n(&calls.is_open, 1, __ATOMIC_RELEASE);
	__atomic_store_n(&tp_devmem_by_cupti, 1, __ATOMIC_RELAXED);
	enable(true, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_CREATED);
	enable(true, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING);
	if (tp_cupti.release >= 120200)
		enable(true, CUPTI_CB_DOMAIN_STATE, CUPTI_CBID_STATE_FATAL_ERROR);
	enable(true, CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStart_v4000);
	enable(true, CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaProfilerStop_v4000);
	return 0;
}

void tp_cupti_calls_close(void)
{
	if (!__atomic_load_n(&calls.is_open, __ATOMIC_ACQUIRE))
		return;
	tp_cupti_calls_memory(TP_CUPTI_MEMORY_OFF);
	__atomic_store_n(&calls.is_open, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&tp_devmem_by_cupti, 0, __ATOMIC_RELAXED);
	if (tp_cupti_calls_is_dead())
		return;
	tp_cupti_inside++;
	tp_cupti.cuptiUnsubscribe(calls.subscriber);
	tp_cupti_inside--;
}

bool tp_cupti_calls_is_dead(void)
{
	return __atomic_load_n(&calls.is_dead, __ATOMIC_ACQUIRE) != 0;
}

void tp_cupti_calls_forked(void)
{
	__atomic_store_n(&calls.is_open, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&calls.is_busy, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&tp_devmem_by_cupti, 0, __ATOMIC_RELAXED);
}
