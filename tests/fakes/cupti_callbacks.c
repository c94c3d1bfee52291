/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_callbacks.c - the subscriber, and what libcuda tells: calls, contexts, modules, streams
 */
#include <stdio.h>
#include <string.h>

#include "tests/fakes/cupti_state.h"

/* What a handle points to is nobody's business; that it is ours is. */
static uint32_t handle_target;
#define HANDLE ((CUpti_SubscriberHandle)(void *)&handle_target)

void fake_cupti_watch(uint32_t domain, uint32_t cbid, uint8_t set, uint8_t clear)
{
	uint8_t *watch = &fake_cupti.driver->watch[domain][cbid];

	__atomic_and_fetch(watch, (uint8_t)~clear, __ATOMIC_RELAXED);
	__atomic_or_fetch(watch, set, __ATOMIC_RELAXED);
}

void fake_cupti_watch_all(uint32_t domain, uint8_t set, uint8_t clear)
{
	for (uint32_t cbid = 0; cbid < FAKE_N_CBIDS; cbid++)
		fake_cupti_watch(domain, cbid, set, clear);
}

/* ---- the subscriber ---- */

static CUptiResult subscribe(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback,
			     void *userdata, const char *name)
{
	CUpti_CallbackFunc nobody = NULL;

	if (!subscriber)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (fake_cupti.owner ||
	    !__atomic_compare_exchange_n(&fake_cupti.callback, &nobody, callback, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
	fake_cupti.userdata = userdata;
	snprintf(fake_cupti.subscriber_name, sizeof(fake_cupti.subscriber_name), "CUPTI for %s",
		 name ? name : "unknown");
	*subscriber = HANDLE;
	return CUPTI_SUCCESS;
}

FAKE_CUPTI(cuptiSubscribe,
	   (CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback, void *userdata),
	   (subscriber, callback, userdata), 0, FAKE_NEEDS_DRIVER)
{
	return subscribe(subscriber, callback, userdata, NULL);
}

#if FAKE_RELEASE >= 1300
FAKE_CUPTI(cuptiSubscribe_v2,
	   (CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback, void *userdata,
	    CUpti_SubscriberParams *params),
	   (subscriber, callback, userdata, params), 0, FAKE_NEEDS_DRIVER)
{
	CUptiResult result;

	if (params && params->structSize != CUpti_SubscriberParams_STRUCT_SIZE)
		return CUPTI_ERROR_INVALID_PARAMETER;
	result = subscribe(subscriber, callback, userdata, params ? params->subscriberName : NULL);
	if (result && params && params->oldSubscriberName && params->oldSubscriberSize)
		snprintf(params->oldSubscriberName, params->oldSubscriberSize, "%s",
			 fake_cupti.owner ? fake_cupti.owner : fake_cupti.subscriber_name);
	return result;
}
#endif

void fake_cupti_unsubscribe(void)
{
	fake_cupti_watch_all(FAKE_RUNTIME_API, 0, FAKE_WATCH_CALLBACK);
	fake_cupti_watch_all(FAKE_DRIVER_API, 0, FAKE_WATCH_CALLBACK);
	for (uint32_t i = 0; i < FAKE_N_STATES; i++)
		__atomic_store_n(&fake_cupti.states[i], 0, __ATOMIC_RELAXED);
	for (uint32_t i = 0; i < FAKE_N_RESOURCES; i++)
		__atomic_store_n(&fake_cupti.resources[i], 0, __ATOMIC_RELAXED);
	__atomic_store_n(&fake_cupti.callback, NULL, __ATOMIC_RELEASE);
}

static bool is_subscribed(CUpti_SubscriberHandle subscriber)
{
	return subscriber == HANDLE && __atomic_load_n(&fake_cupti.callback, __ATOMIC_ACQUIRE);
}

FAKE_CUPTI(cuptiUnsubscribe, (CUpti_SubscriberHandle subscriber), (subscriber), 0, FAKE_NEEDS_DRIVER)
{
	if (!is_subscribed(subscriber))
		return CUPTI_ERROR_INVALID_PARAMETER;
	fake_cupti_unsubscribe();
	return CUPTI_SUCCESS;
}

static CUptiResult set_one(uint32_t on, CUpti_CallbackDomain domain, uint32_t cbid)
{
	uint8_t set = on ? FAKE_WATCH_CALLBACK : 0, clear = on ? 0 : FAKE_WATCH_CALLBACK;

	if (domain == CUPTI_CB_DOMAIN_DRIVER_API && cbid && cbid < FAKE_N_CBIDS)
		fake_cupti_watch(FAKE_DRIVER_API, cbid, set, clear);
	else if (domain == CUPTI_CB_DOMAIN_RUNTIME_API && cbid && cbid < FAKE_N_CBIDS)
		fake_cupti_watch(FAKE_RUNTIME_API, cbid, set, clear);
	else if (domain == CUPTI_CB_DOMAIN_RESOURCE && cbid && cbid < FAKE_N_RESOURCES)
		__atomic_store_n(&fake_cupti.resources[cbid], on, __ATOMIC_RELAXED);
	else if (domain == CUPTI_CB_DOMAIN_STATE && cbid && cbid < FAKE_N_STATES &&
		 fake_cupti.release >= 1202)
		__atomic_store_n(&fake_cupti.states[cbid], on, __ATOMIC_RELAXED);
	else if (domain != CUPTI_CB_DOMAIN_SYNCHRONIZE && domain != CUPTI_CB_DOMAIN_NVTX)
		return CUPTI_ERROR_INVALID_PARAMETER;
	return CUPTI_SUCCESS;
}

FAKE_CUPTI(cuptiEnableCallback,
	   (uint32_t on, CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain, uint32_t cbid),
	   (on, subscriber, domain, cbid), cbid, FAKE_NEEDS_DRIVER)
{
	if (!is_subscribed(subscriber))
		return CUPTI_ERROR_INVALID_PARAMETER;
	return set_one(on, domain, cbid);
}

static CUptiResult set_domain(uint32_t on, CUpti_CallbackDomain domain)
{
	uint8_t set = on ? FAKE_WATCH_CALLBACK : 0, clear = on ? 0 : FAKE_WATCH_CALLBACK;

	if (domain == CUPTI_CB_DOMAIN_DRIVER_API)
		fake_cupti_watch_all(FAKE_DRIVER_API, set, clear);
	else if (domain == CUPTI_CB_DOMAIN_RUNTIME_API)
		fake_cupti_watch_all(FAKE_RUNTIME_API, set, clear);
	else
		for (uint32_t cbid = 1; cbid < FAKE_N_RESOURCES; cbid++)
			set_one(on, domain, cbid);
	return CUPTI_SUCCESS;
}

FAKE_CUPTI(cuptiEnableDomain,
	   (uint32_t on, CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain),
	   (on, subscriber, domain), domain, FAKE_NEEDS_DRIVER)
{
	if (!is_subscribed(subscriber))
		return CUPTI_ERROR_INVALID_PARAMETER;
	return set_domain(on, domain);
}

FAKE_CUPTI(cuptiEnableAllDomains, (uint32_t on, CUpti_SubscriberHandle subscriber), (on, subscriber), on,
	   FAKE_NEEDS_DRIVER)
{
	if (!is_subscribed(subscriber))
		return CUPTI_ERROR_INVALID_PARAMETER;
	for (uint32_t domain = CUPTI_CB_DOMAIN_DRIVER_API; domain <= CUPTI_CB_DOMAIN_STATE; domain++)
		set_domain(on, domain);
	return CUPTI_SUCCESS;
}

/* ---- what libcuda tells ---- */

static void call_back(CUpti_CallbackDomain domain, uint32_t cbid, const void *data)
{
	CUpti_CallbackFunc callback = __atomic_load_n(&fake_cupti.callback, __ATOMIC_ACQUIRE);

	if (callback)
		callback(fake_cupti.userdata, domain, cbid, data);
}

static void call_back_api(struct fake_api *api, CUpti_ApiCallbackSite site, const void *returned)
{
	CUcontext context = fake_cupti.driver->current();
	CUpti_CallbackData data = {
		.callbackSite = site,
		.functionName = api->name,
		.functionParams = api->params,
		.functionReturnValue = (void *)returned,
		.symbolName = api->symbol,
		.context = context,
		.contextUid = context ? context->number : 0,
		.correlationData = &api->correlation_data,
		.correlationId = api->correlation,
	};

	call_back((CUpti_CallbackDomain)api->domain, api->cbid, &data);
}

/* Ids that the program gives must stay its own: all others then come from the upper half. */
static uint32_t number(const struct fake_api *api)
{
	if (api && api->said && api->said->correlation) {
		__atomic_store_n(&fake_cupti.is_told, 1, __ATOMIC_RELAXED);
		return api->said->correlation;
	}
	if (__atomic_load_n(&fake_cupti.is_told, __ATOMIC_RELAXED))
		return 0x80000000u | __atomic_add_fetch(&fake_cupti.next_inner, 1, __ATOMIC_RELAXED);
	return __atomic_add_fetch(&fake_cupti.next_correlation, 1, __ATOMIC_RELAXED);
}

static void fatal(void)
{
	CUpti_StateData data = {.notification = {.result = CUPTI_ERROR_UNKNOWN,
						 .message = "a fatal error of the fake"}};

	if (__atomic_load_n(&fake_cupti.states[CUPTI_CBID_STATE_FATAL_ERROR], __ATOMIC_RELAXED))
		call_back(CUPTI_CB_DOMAIN_STATE, CUPTI_CBID_STATE_FATAL_ERROR, &data);
	__atomic_store_n(&fake_cupti.is_dead, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&fake_cupti.driver->wanted_kinds, 0, __ATOMIC_RELAXED);
	fake_cupti_watch_all(FAKE_RUNTIME_API, 0, 0xff);
	fake_cupti_watch_all(FAKE_DRIVER_API, 0, 0xff);
	fake_cupti_unsubscribe();
}

static void enter(struct fake_api *api)
{
	api->correlation = number(api);
	if (api->watch & FAKE_WATCH_CALLBACK)
		call_back_api(api, CUPTI_API_ENTER, NULL);
	api->start_ns = api->said && api->said->start_ns ? api->said->start_ns : fake_cupti_now();
}

/* A call of the driver's that one of the runtime's makes has no record, where that one has; but for those
 * that the program tells of. */
static bool is_recorded(const struct fake_api *api)
{
	if (!(api->watch & FAKE_WATCH_RECORD))
		return false;
	if (api->said || fake_cupti.has_nested)
		return true;
	for (const struct fake_api *outer = api->outer; outer; outer = outer->outer)
		if (api->domain == FAKE_DRIVER_API && outer->domain == FAKE_RUNTIME_API &&
		    outer->watch & FAKE_WATCH_RECORD)
			return false;
	return true;
}

static void leave(struct fake_api *api, const void *returned)
{
	uint64_t end = api->said && api->said->end_ns ? api->said->end_ns : fake_cupti_now();

	if (is_recorded(api))
		fake_cupti_put_call(api, end, *(const uint32_t *)returned);
	if (api->watch & FAKE_WATCH_CALLBACK)
		call_back_api(api, CUPTI_API_EXIT, returned);
	if (api->watch & FAKE_WATCH_RECORD && fake_cupti.fatal_after &&
	    __atomic_sub_fetch(&fake_cupti.fatal_after, 1, __ATOMIC_RELAXED) == 0)
		fatal();
}

static void resource(CUpti_CallbackIdResource what, CUcontext context, uint32_t id, void *handle)
{
	CUpti_ModuleResourceData module = {.moduleId = id};
	CUpti_ResourceData data = {.context = context};

	if (what == CUPTI_CBID_RESOURCE_CONTEXT_CREATED) {
		if (fake_wants(fake_cupti.driver, CUPTI_ACTIVITY_KIND_DEVICE))
			fake_cupti_put_device(context->device);
		if (fake_wants(fake_cupti.driver, CUPTI_ACTIVITY_KIND_CONTEXT))
			fake_cupti_put_context(context);
	}
	if (what == CUPTI_CBID_RESOURCE_STREAM_CREATED &&
	    fake_wants(fake_cupti.driver, CUPTI_ACTIVITY_KIND_STREAM))
		fake_cupti_put_stream(context->number, id);
	if (!__atomic_load_n(&fake_cupti.resources[what], __ATOMIC_RELAXED))
		return;
	if (what == CUPTI_CBID_RESOURCE_STREAM_CREATED ||
	    what == CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING)
		data.resourceHandle.stream = handle;
	if (what == CUPTI_CBID_RESOURCE_MODULE_LOADED ||
	    what == CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING)
		data.resourceDescriptor = &module;
	call_back(CUPTI_CB_DOMAIN_RESOURCE, what, &data);
}

const struct fake_tool fake_cupti_tool = {
	.enter = enter,
	.exit = leave,
	.number = number,
	.work = fake_cupti_work,
	.memory = fake_cupti_memory,
	.event = fake_cupti_event,
	.resource = resource,
	.unload = fake_cupti_unload,
	.deliver = fake_cupti_deliver_full,
	.fatal = fatal,
};
