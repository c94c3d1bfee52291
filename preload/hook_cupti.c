/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook_cupti.c - the functions of CUPTI by which another tool in the process takes it and lets go
 *
 * torch.profiler and others are linked against CUPTI and find these first. Each goes on to the real
 * one: the next in the program's own scope, else that of the CUPTI that is mapped (Python opens
 * torch's libraries apart from that scope). Who looks functions up in the library itself, by
 * dlsym, is not seen here; of those that do so tp_cupti_look_for_bindings knows two.
 *
 * What CUPTI calls by name inside a call of ours passes. cuptiActivityRegisterCallbacks_v2
 * is newer than the headers that this is built with and has no hook.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cupti.h>

#include "preload/export.h"
#include "preload/real.h"
#include "runtime/probe/gpu/cupti_share.h"
#include "runtime/probe/gpu/cupti_yield.h"

#define REAL_CALLS(_)                                                                      \
	_(cuptiSubscribe) _(cuptiSubscribe_v2) _(cuptiUnsubscribe)                         \
	_(cuptiActivityRegisterCallbacks) _(cuptiActivityRegisterTimestampCallback)        \
	_(cuptiActivityEnable) _(cuptiActivityDisable) _(cuptiActivityEnableAndDump)       \
	_(cuptiActivityFlushAll) _(cuptiFinalize)

static struct {
#define _(fn) __typeof__(fn) *fn;
	REAL_CALLS(_)
#undef _
} real;

/* libcupti.so.13, or libcupti-1a2b3c.so.13 of a repaired wheel. */
static int find_cupti(struct dl_phdr_info *info, size_t size, void *path)
{
	const char *slash = strrchr(info->dlpi_name, '/'), *name = slash ? slash + 1 : info->dlpi_name;
	const size_t n = strlen("libcupti");

	if (strncmp(name, "libcupti", n) || (name[n] != '.' && name[n] != '-') ||
	    strlen(info->dlpi_name) >= PATH_MAX)
		return 0;
	strcpy(path, info->dlpi_name);
	return 1;
}

/* NULL: no CUPTI has it. */
static void *find_real(const char *name)
{
	void *function = tp_real_next(name), *library;
	char path[PATH_MAX];

	if (function || !dl_iterate_phdr(find_cupti, path))
		return function;
	library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
	if (library)
		function = dlsym(library, name);
	if (!function)
		dlerror();
	return function;
}

/* The real one is looked up once; the other user's call is told before and after it. */
#define PASS(fn, args, ...)                                                                \
	do {                                                                               \
		const struct tp_cupti_call call = {__VA_ARGS__, .who = find_caller(        \
						   __builtin_return_address(0))};          \
		int kept_errno = errno;                                                    \
		CUptiResult result;                                                        \
                                                                                           \
		if (!real.fn)                                                              \
			real.fn = (__typeof__(real.fn))find_real(#fn);                     \
		if (!real.fn)                                                              \
			return CUPTI_ERROR_NOT_INITIALIZED;                                \
		if (tp_cupti_inside)                                                       \
			return real.fn args;                                               \
		tp_cupti_other_begins(&call);                                              \
		errno = kept_errno;                                                        \
		result = real.fn args;                                                     \
		kept_errno = errno;                                                        \
		tp_cupti_other_did(&call, result == CUPTI_SUCCESS);                        \
		errno = kept_errno;                                                        \
		return result;                                                             \
	} while (0)

static const char *find_caller(const void *address)
{
	Dl_info info;

	return dladdr(address, &info) && info.dli_fname ? info.dli_fname : "";
}

TP_EXPORT CUptiResult CUPTIAPI cuptiSubscribe(CUpti_SubscriberHandle *subscriber,
					      CUpti_CallbackFunc callback, void *userdata)
{
	PASS(cuptiSubscribe, (subscriber, callback, userdata), .act = TP_CUPTI_SUBSCRIBE);
}

TP_EXPORT CUptiResult CUPTIAPI cuptiSubscribe_v2(CUpti_SubscriberHandle *subscriber,
						 CUpti_CallbackFunc callback, void *userdata,
						 CUpti_SubscriberParams *params)
{
	PASS(cuptiSubscribe_v2, (subscriber, callback, userdata, params),
	     .act = TP_CUPTI_SUBSCRIBE);
}

TP_EXPORT CUptiResult CUPTIAPI cuptiUnsubscribe(CUpti_SubscriberHandle subscriber)
{
	PASS(cuptiUnsubscribe, (subscriber), .act = TP_CUPTI_UNSUBSCRIBE);
}

TP_EXPORT CUptiResult CUPTIAPI
cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc requested,
			       CUpti_BuffersCallbackCompleteFunc completed)
{
	PASS(cuptiActivityRegisterCallbacks,
	     (requested, tp_cupti_inside ? completed : tp_cupti_share_with(requested, completed)),
	     .act = TP_CUPTI_REGISTER, .requested = requested, .completed = completed);
}

TP_EXPORT CUptiResult CUPTIAPI cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc timestamp)
{
	PASS(cuptiActivityRegisterTimestampCallback, (timestamp), .act = TP_CUPTI_TIMESTAMP);
}

TP_EXPORT CUptiResult CUPTIAPI cuptiActivityEnable(CUpti_ActivityKind kind)
{
	PASS(cuptiActivityEnable, (kind), .act = TP_CUPTI_ENABLE, .kind = kind);
}

TP_EXPORT CUptiResult CUPTIAPI cuptiActivityEnableAndDump(CUpti_ActivityKind kind)
{
	PASS(cuptiActivityEnableAndDump, (kind), .act = TP_CUPTI_ENABLE, .kind = kind);
}

TP_EXPORT CUptiResult CUPTIAPI cuptiActivityDisable(CUpti_ActivityKind kind)
{
	PASS(cuptiActivityDisable, (kind), .act = TP_CUPTI_DISABLE, .kind = kind);
}

TP_EXPORT CUptiResult CUPTIAPI cuptiActivityFlushAll(uint32_t flag)
{
	PASS(cuptiActivityFlushAll, (flag), .act = TP_CUPTI_FLUSH);
}

TP_EXPORT CUptiResult CUPTIAPI cuptiFinalize(void)
{
	PASS(cuptiFinalize, (), .act = TP_CUPTI_FINALIZE);
}
