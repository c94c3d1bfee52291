/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_rig.h - a CUPTI of a few variables: one subscriber, one pair of buffer callbacks and a
 * set of kinds, whoever asks
 *
 * They are plain on purpose: two users at the same time are a race, which the thread sanitizer
 * sees.
 */
#ifndef TP_TESTS_CUPTI_RIG_H
#define TP_TESTS_CUPTI_RIG_H

#include "runtime/probe/gpu/cupti_lib.h"
#include "runtime/probe/gpu/cupti_yield.h"
#include "tests/unit/session_rig.h"

static struct {
	uint64_t kinds;
	void *subscriber;
	CUpti_BuffersCallbackRequestFunc requested;
	CUpti_BuffersCallbackCompleteFunc completed;
	uint8_t zeroed, per_thread;
	CUpti_ActivityThreadIdType thread_ids;
	uint32_t n_forced, n_calls;
} lib;

static inline CUptiResult called(void)
{
	__atomic_fetch_add(&lib.n_calls, 1, __ATOMIC_RELAXED);
	return CUPTI_SUCCESS;
}

static inline CUptiResult subscribe(CUpti_SubscriberHandle *handle, CUpti_CallbackFunc callback,
				    void *ctx)
{
	void *none = NULL;

	called();
	/* These two are safe to call at the same time, as the real ones. */
	*handle = (CUpti_SubscriberHandle)(&lib.n_calls + (tp_cupti_inside != 0));
	if (!__atomic_compare_exchange_n(&lib.subscriber, &none, (void *)*handle, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
	return CUPTI_SUCCESS;
}

static inline CUptiResult unsubscribe(CUpti_SubscriberHandle handle)
{
	void *his = handle;

	called();
	if (!__atomic_compare_exchange_n(&lib.subscriber, &his, NULL, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED))
		return CUPTI_ERROR_INVALID_PARAMETER;
	return CUPTI_SUCCESS;
}

static inline CUptiResult enable_callback(uint32_t enable, CUpti_SubscriberHandle handle,
				   CUpti_CallbackDomain domain, CUpti_CallbackId id)
{
	return called();
}

static inline CUptiResult register_buffers(CUpti_BuffersCallbackRequestFunc requested,
				    CUpti_BuffersCallbackCompleteFunc completed)
{
	lib.requested = requested;
	lib.completed = completed;
	return called();
}

static inline CUptiResult enable(CUpti_ActivityKind kind)
{
	lib.kinds |= 1ull << kind;
	return called();
}

static inline CUptiResult disable(CUpti_ActivityKind kind)
{
	lib.kinds &= ~(1ull << kind);
	return called();
}

static inline CUptiResult flush(uint32_t flag)
{
	lib.n_forced += flag == CUPTI_ACTIVITY_FLAG_FLUSH_FORCED;
	return called();
}

static inline CUptiResult count_dropped(CUcontext context, uint32_t stream, size_t *n)
{
	*n = 0;
	return called();
}

static inline CUptiResult set_attribute(CUpti_ActivityAttribute attribute, size_t *size,
					void *value)
{
	if (attribute == CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER)
		lib.zeroed = *(uint8_t *)value;
	if (attribute == CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER)
		lib.per_thread = *(uint8_t *)value;
	return called();
}

static inline CUptiResult set_thread_ids(CUpti_ActivityThreadIdType type)
{
	lib.thread_ids = type;
	return called();
}

static inline CUptiResult filter(CUpti_CallbackId id, uint8_t is_on)
{
	return called();
}

static inline CUptiResult get_time(uint64_t *ns)
{
	*ns = tp_clock_real_ns();
	return CUPTI_SUCCESS;
}

static inline CUptiResult get_error(CUptiResult result, const char **text)
{
	*text = "CUPTI_ERROR_SOME";
	return CUPTI_SUCCESS;
}

static inline void rig_set_cupti(void)
{
	tp_cupti = (struct tp_cupti_lib){
		.cuptiSubscribe = subscribe,
		.cuptiUnsubscribe = unsubscribe,
		.cuptiEnableCallback = enable_callback,
		.cuptiActivityRegisterCallbacks = register_buffers,
		.cuptiActivityEnable = enable,
		.cuptiActivityEnableAndDump = enable,
		.cuptiActivityDisable = disable,
		.cuptiActivityFlushAll = flush,
		.cuptiActivityGetNumDroppedRecords = count_dropped,
		.cuptiActivitySetAttribute = set_attribute,
		.cuptiSetThreadIdType = set_thread_ids,
		.cuptiActivityEnableRuntimeApi = filter,
		.cuptiActivityEnableDriverApi = filter,
		.cuptiGetTimestamp = get_time,
		.cuptiGetResultString = get_error,
		.version = 24,
		.release = 120600,
		.path = "/x/libcupti.so.12",
	};
}

#endif
