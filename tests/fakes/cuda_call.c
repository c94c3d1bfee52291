/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_call.c - the way into and out of each call of the stand-in for libcuda
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/fakes/cuda_state.h"
#include "tests/fakes/faults.h"

__thread struct fake_call_state fake_here __attribute__((tls_model("initial-exec")));

static struct fake_faults faults;
static uint32_t is_forked;	/* atomic */

static const char *const runtime_names[FAKE_N_CBIDS] = {
#include "runtime_names.inc"
};
static const char *const driver_names[FAKE_N_CBIDS] = {
#include "driver_names.inc"
};

const struct fake_tool *fake_tool(void)
{
	return __atomic_load_n(&fake_gpu_driver.tool, __ATOMIC_ACQUIRE);
}

uint64_t fake_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

const struct fake_api *fake_outermost(void)
{
	const struct fake_api *traced = NULL;

	for (const struct fake_api *api = fake_here.api; api; api = api->outer)
		if (api->watch & (FAKE_WATCH_RECORD | FAKE_WATCH_NUMBER))
			traced = api;
	return traced;
}

uint32_t fake_identify(void)
{
	const struct fake_api *traced = fake_outermost();

	return traced ? traced->correlation : fake_tool()->number(NULL);
}

const struct fake_call *fake_said(void)
{
	for (const struct fake_api *api = fake_here.api; api; api = api->outer)
		if (api->said)
			return api->said;
	return NULL;
}

bool fake_is_forked(void)
{
	return __atomic_load_n(&is_forked, __ATOMIC_RELAXED);
}

/* Of it and its work; freed as one. */
static struct fake_call *copy_call(const struct fake_call *call)
{
	struct fake_call *copy = malloc(sizeof(*copy) + call->n_work * sizeof(*call->work));
	struct fake_work *work = (struct fake_work *)(copy + 1);

	*copy = *call;
	copy->work = work;
	for (uint32_t i = 0; i < call->n_work; i++) {
		work[i] = call->work[i];
		work[i].name = work[i].name ? fake_intern(work[i].name) : NULL;
	}
	return copy;
}

FAKE_EXPORT void fake_gpu_next(const struct fake_call *call)
{
	if (fake_here.said)
		free(fake_here.said);
	else	/* calls must look from now on */
		__atomic_add_fetch(&fake_gpu_driver.attention, 1, __ATOMIC_RELAXED);
	fake_here.said = copy_call(call);
}

static bool enter(struct fake_api *api)
{
	const struct fake_tool *tool = fake_tool();

	api->outer = fake_here.api;
	if (fake_here.said) {
		api->said = fake_here.said;
		fake_here.said = NULL;
		__atomic_sub_fetch(&fake_gpu_driver.attention, 1, __ATOMIC_RELAXED);
	}
	api->watch = __atomic_load_n(&fake_gpu_driver.watch[api->domain][api->cbid],
				     __ATOMIC_RELAXED);
	api->failed = api->said ? api->said->returned : 0;
	if (!api->failed)
		api->failed = fake_faults_take(&faults, api->name, -1);
	if (fake_is_forked())
		api->failed = CUDA_ERROR_NOT_INITIALIZED;
	else if (tool && api->watch)
		tool->enter(api);
	fake_here.api = api;
	return !api->failed;
}

static void leave(struct fake_api *api, const void *returned)
{
	const struct fake_tool *tool = fake_tool();

	if (api->said)
		for (uint32_t i = 0; i < api->said->n_work; i++) {
			struct fake_work work = api->said->work[i];

			fake_work(&work, NULL, 0);
		}
	fake_here.api = api->outer;
	if (tool && api->watch && !fake_is_forked())
		tool->exit(api, returned);
	free((void *)api->said);
	api->said = NULL;
}

static void memory(const struct fake_memory *what)
{
	const struct fake_tool *tool = fake_tool();
	const struct fake_api *api;

	if (!tool || !fake_wants(&fake_gpu_driver, what->is_pool ? CUPTI_ACTIVITY_KIND_MEMORY_POOL :
						       CUPTI_ACTIVITY_KIND_MEMORY2))
		return;
	api = fake_outermost();
	tool->memory(what, api ? api->correlation : 0);
}

/* "cudaMalloc" is "cudaMalloc_v3020"; of several the newest. */
static bool is_name(const char *known, const char *name)
{
	size_t n = strlen(name);

	if (strncmp(known, name, n))
		return false;
	known += n;
	if (*known == '_' && known[1] == 'v')
		known += 2 + strspn(known + 2, "0123456789");
	return !*known;
}

static uint32_t find_cbid(uint32_t domain, const char *name, const char **known)
{
	const char *const *names = domain == FAKE_RUNTIME_API ? runtime_names : driver_names;
	uint32_t found = 0;

	for (uint32_t i = 1; i < FAKE_N_CBIDS; i++) {
		if (!names[i])
			continue;
		if (!strcmp(names[i], name)) {
			found = i;
			break;
		}
		if (domain == FAKE_RUNTIME_API && is_name(names[i], name))
			found = i;
	}
	*known = names[found];
	return found;
}

/* find_cbid once a name, of which there are few. */
static uint32_t find_cbid_once(uint32_t domain, const char *name, const char **known)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static struct { const char *name; uint32_t domain, cbid; } seen[4096];
	const char *kept = fake_intern(name);
	uint32_t i = (uint32_t)((uintptr_t)kept >> 4) % 4096, cbid;

	pthread_mutex_lock(&lock);
	while (seen[i].name && (seen[i].name != kept || seen[i].domain != domain))
		i = (i + 1) % 4096;
	if (!seen[i].name) {
		seen[i].name = kept;
		seen[i].domain = domain;
		seen[i].cbid = find_cbid(domain, name, known);
	}
	cbid = seen[i].cbid;
	pthread_mutex_unlock(&lock);
	*known = cbid ? kept : "INVALID";
	return cbid;
}

struct fake_begun {
	struct fake_begun *outer;
	struct fake_api api;
	char no_params[512];
};

FAKE_EXPORT int fake_gpu_begin(uint32_t domain, const char *name, const struct fake_call *call)
{
	struct fake_begun *begun = calloc(1, sizeof(*begun));
	const struct fake_tool *tool;
	const char *known = NULL;

	begun->outer = fake_here.begun;
	fake_here.begun = begun;
	begun->api.domain = domain;
	begun->api.cbid = find_cbid_once(domain, name, &known);
	begun->api.name = known;
	begun->api.params = begun->no_params;
	if (call)
		fake_gpu_next(call);
	enter(&begun->api);
	tool = fake_tool();
	if (call && call->event && tool && !fake_is_forked() &&
	    fake_wants(&fake_gpu_driver, CUPTI_ACTIVITY_KIND_CUDA_EVENT))
		tool->event(begun->api.correlation, 1, call->stream, call->event);
	return begun->api.cbid ? 0 : -1;
}

FAKE_EXPORT void fake_gpu_end(void)
{
	struct fake_begun *begun = fake_here.begun;

	leave(&begun->api, &begun->api.failed);
	fake_here.begun = begun->outer;
	free(begun);
}

FAKE_EXPORT int fake_gpu_call(uint32_t domain, const char *name)
{
	int result = fake_gpu_begin(domain, name, NULL);

	fake_gpu_end();
	return result;
}

FAKE_EXPORT void fake_gpu_fatal(void)
{
	const struct fake_tool *tool = fake_tool();

	if (tool)
		tool->fatal();
}

FAKE_EXPORT void fake_gpu_unload(void)
{
	const struct fake_tool *tool = fake_tool();

	if (tool)
		tool->unload(~0u);
}

static void forked(void)
{
	if (__atomic_load_n(&fake_gpu_driver.is_initialised, __ATOMIC_RELAXED)) {
		__atomic_store_n(&is_forked, 1, __ATOMIC_RELAXED);
		__atomic_add_fetch(&fake_gpu_driver.attention, 1, __ATOMIC_RELAXED);
	}
}

FAKE_EXPORT struct fake_driver fake_gpu_driver = {
	.enter = enter,
	.exit = leave,
	.memory = memory,
	.now = fake_now,
	.find_cbid = find_cbid,
	.names = { NULL, driver_names, runtime_names },
	.used_bytes = fake_used_bytes,
	.device_value = fake_device_value,
	.n_devices = fake_n_devices,
	.current = fake_current,
	.contexts = fake_contexts,
};

static __attribute__((constructor)) void begin(void)
{
	fake_faults_read(&faults, "FAKE_CUDA_FAIL");
	fake_gpu_driver.attention = faults.n != 0;
	pthread_atfork(NULL, NULL, forked);
}
