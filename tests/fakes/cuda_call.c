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

FAKE_EXPORT void fake_gpu_next(const struct fake_call *call)
{
	struct fake_work *copy = NULL;

	if (fake_here.has_said) {
		free((void *)fake_here.said.work);
		__atomic_sub_fetch(&fake_gpu_driver.attention, 1, __ATOMIC_RELAXED);
	}
	fake_here.said = *call;
	if (call->n_work) {
		copy = malloc(call->n_work * sizeof(*copy));
		memcpy(copy, call->work, call->n_work * sizeof(*copy));
		for (uint32_t i = 0; i < call->n_work; i++)
			copy[i].name = copy[i].name ? fake_intern(copy[i].name) : NULL;
	}
	fake_here.said.work = copy;
	fake_here.has_said = true;
	__atomic_add_fetch(&fake_gpu_driver.attention, 1, __ATOMIC_RELAXED);
}

static bool enter(struct fake_api *api)
{
	const struct fake_tool *tool = fake_tool();

	api->outer = fake_here.api;
	if (fake_here.has_said && !api->outer) {
		api->said = &fake_here.said;
		api->failed = fake_here.said.returned;
	}
	api->watch = __atomic_load_n(&fake_gpu_driver.watch[api->domain][api->cbid],
				     __ATOMIC_RELAXED);
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
	if (api->said) {
		free((void *)fake_here.said.work);
		memset(&fake_here.said, 0, sizeof(fake_here.said));
		fake_here.has_said = false;
		__atomic_sub_fetch(&fake_gpu_driver.attention, 1, __ATOMIC_RELAXED);
	}
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

FAKE_EXPORT int fake_gpu_call(uint32_t domain, const char *name)
{
	static const char no_params[512];
	const char *known = NULL;
	struct fake_api api = {
		.domain = domain, .cbid = find_cbid(domain, name, &known),
		.name = known ? fake_intern(name) : "unknown", .params = no_params,
	};
	int result = 0;

	if (!enter(&api))
		result = api.failed;
	leave(&api, &result);
	return api.cbid ? 0 : -1;
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
	.version = 13000,
};

static __attribute__((constructor)) void begin(void)
{
	const char *version = getenv("FAKE_CUDA_DRIVER");

	if (version && *version)
		fake_gpu_driver.version = (uint32_t)atoi(version);
	fake_faults_read(&faults, "FAKE_CUDA_FAIL");
	fake_gpu_driver.attention = faults.n != 0;
	pthread_atfork(NULL, NULL, forked);
}
