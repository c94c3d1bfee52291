/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_device.c - the devices: what they are, and when which work is done on them
 *
 * Work is not executed by anybody: a stream knows until when it is busy, and a piece of work
 * is done when that time has come.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/fakes/cuda_state.h"

enum { WORK_NS = 5000, N_KEYS = 32, N_NAMES = 4096 };
#define FOR_EVER_NS (86400 * 1000000000ull)	/* a kernel with "for_ever" in its name */

static const char *const defaults[][2] = {
	{ "name", "NVIDIA A100-SXM4-40GB" }, { "sms", "108" }, { "cc", "8.0" },
	{ "mem", "42505273344" }, { "clock_khz", "1410000" }, { "warp", "32" },
	{ "max_threads_sm", "2048" }, { "max_regs_sm", "65536" }, { "max_smem_sm", "167936" },
	{ "max_threads_block", "1024" }, { "max_regs_block", "65536" },
	{ "max_smem_block", "49152" }, { "max_smem_optin", "166912" },
};

static struct {
	pthread_mutex_t lock;
	uint32_t n_devices;
	struct {
		struct {
			char key[32], value[96];
		} said[N_KEYS];
		uint32_t n;
	} device[FAKE_DEVICES_MAX];
	struct name {
		struct name *next;
		char text[];
	} *names[N_NAMES];
	uint64_t busy_until;	/* atomic: of everything */
	uint64_t lag_ns;	/* between a call and its work */
} gpu = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct CUstream_st null_stream[FAKE_DEVICES_MAX];

const char *fake_device_value(uint32_t device, const char *key)
{
	for (uint32_t i = 0; device < FAKE_DEVICES_MAX && i < gpu.device[device].n; i++)
		if (!strcmp(gpu.device[device].said[i].key, key))
			return gpu.device[device].said[i].value;
	for (size_t i = 0; i < sizeof(defaults) / sizeof(*defaults); i++)
		if (!strcmp(defaults[i][0], key))
			return defaults[i][1];
	return "";
}

uint64_t fake_device_number(uint32_t device, const char *key)
{
	return strtoull(fake_device_value(device, key), NULL, 10);
}

FAKE_EXPORT void fake_gpu_device(uint32_t id, const char *key, const char *value)
{
	uint32_t i;

	if (id >= FAKE_DEVICES_MAX)
		return;
	pthread_mutex_lock(&gpu.lock);
	for (i = 0; i < gpu.device[id].n; i++)
		if (!strcmp(gpu.device[id].said[i].key, key))
			break;
	if (i < N_KEYS) {
		snprintf(gpu.device[id].said[i].key, sizeof(gpu.device[id].said[i].key), "%s", key);
		snprintf(gpu.device[id].said[i].value, sizeof(gpu.device[id].said[i].value), "%s",
			 value);
		if (i == gpu.device[id].n)
			gpu.device[id].n++;
	}
	if (id >= gpu.n_devices)
		gpu.n_devices = id + 1;
	pthread_mutex_unlock(&gpu.lock);
}

uint32_t fake_n_devices(void)
{
	const char *set = getenv("FAKE_GPU_DEVICES");
	uint32_t n = set && *set ? (uint32_t)atoi(set) : 1;

	if (n < gpu.n_devices)
		n = gpu.n_devices;
	return n < FAKE_DEVICES_MAX ? n : FAKE_DEVICES_MAX;
}

const char *fake_intern(const char *text)
{
	uint64_t hash = 14695981039346656037u;
	struct name *name;
	size_t n = strlen(text);

	for (size_t i = 0; i < n; i++)
		hash = (hash ^ (uint8_t)text[i]) * 1099511628211u;
	pthread_mutex_lock(&gpu.lock);
	for (name = gpu.names[hash % N_NAMES]; name; name = name->next)
		if (!strcmp(name->text, text))
			break;
	if (!name) {
		name = malloc(sizeof(*name) + n + 1);
		memcpy(name->text, text, n + 1);
		name->next = gpu.names[hash % N_NAMES];
		gpu.names[hash % N_NAMES] = name;
	}
	pthread_mutex_unlock(&gpu.lock);
	return name->text;
}

/* `at` becomes at least `value`. */
static void raise_to(uint64_t *at, uint64_t value)
{
	uint64_t seen = __atomic_load_n(at, __ATOMIC_RELAXED);

	while (seen < value && !__atomic_compare_exchange_n(at, &seen, value, true,
							    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

struct CUstream_st *fake_stream_of(CUstream stream)
{
	CUcontext context;

	if ((uintptr_t)stream > 2)	/* 1, 2: the legacy and the per-thread one */
		return stream;
	context = fake_context();
	return &null_stream[context->device];
}

/* When one piece more of work is done by the stream: begins when the one before has ended. */
static void take_turn(struct CUstream_st *stream, struct fake_work *work)
{
	uint64_t now = fake_now(), busy = __atomic_load_n(&stream->busy_until, __ATOMIC_RELAXED);

	now += gpu.lag_ns;
	do {
		work->start_ns = busy > now ? busy : now;
		work->end_ns = work->start_ns + WORK_NS;
	} while (!__atomic_compare_exchange_n(&stream->busy_until, &busy, work->end_ns, true,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}

static bool is_wanted(const struct fake_work *work)
{
	static const uint8_t kinds[] = {
		[FAKE_KERNEL] = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
		[FAKE_MEMCPY] = CUPTI_ACTIVITY_KIND_MEMCPY,
		[FAKE_MEMSET] = CUPTI_ACTIVITY_KIND_MEMSET,
		[FAKE_SYNC] = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
		[FAKE_GRAPH] = CUPTI_ACTIVITY_KIND_GRAPH_TRACE,
		[FAKE_OVERHEAD] = CUPTI_ACTIVITY_KIND_OVERHEAD,
	};

	if (work->kind == FAKE_MEMCPY && work->copy_kind == CUPTI_ACTIVITY_MEMCPY_KIND_PTOP)
		return fake_wants(&fake_gpu_driver, CUPTI_ACTIVITY_KIND_MEMCPY2);
	return fake_wants(&fake_gpu_driver, kinds[work->kind]);
}

void fake_work(struct fake_work *work, struct CUstream_st *stream, uint32_t module)
{
	const struct fake_tool *tool = fake_tool();

	if (work->end_ns)
		raise_to(&gpu.busy_until, work->end_ns);
	/* Also where nobody looks. */
	if (work->name && strstr(work->name, "for_ever"))
		raise_to(&(stream ? stream : &null_stream[0])->busy_until, fake_now() + FOR_EVER_NS);
	if (!tool || fake_is_forked() || !is_wanted(work))
		return;
	if (stream) {
		work->device = stream->device;
		work->context = stream->context;
		work->stream = stream->number;
	}
	if (!work->end_ns && !work->has_no_time) {
		take_turn(stream ? stream : &null_stream[0], work);
		raise_to(&gpu.busy_until, work->end_ns);
	}
	if (!work->correlation)
		work->correlation = fake_identify();
	tool->work(work, module);
}

FAKE_EXPORT void fake_gpu_work(const struct fake_work *given)
{
	struct fake_work work = *given;

	if (work.name)
		work.name = fake_intern(work.name);
	fake_work(&work, NULL, 0);
}

uint64_t fake_busy_until(void)
{
	return __atomic_load_n(&gpu.busy_until, __ATOMIC_RELAXED);
}

void fake_wait_until(uint64_t ns)
{
	uint64_t now;

	while ((now = fake_now()) < ns) {
		struct timespec rest = { (time_t)((ns - now) / 1000000000),
					 (long)((ns - now) % 1000000000) };

		nanosleep(&rest, NULL);
	}
}

FAKE_EXPORT void fake_gpu_finish(void)
{
	const struct fake_tool *tool = fake_tool();

	fake_wait_until(fake_busy_until());
	if (tool && !fake_is_forked())
		tool->deliver();
}

static __attribute__((constructor)) void begin(void)
{
	const char *lag = getenv("FAKE_GPU_LAG_US");

	gpu.lag_ns = lag ? strtoull(lag, NULL, 10) * 1000 : 0;
	for (uint32_t i = 0; i < FAKE_DEVICES_MAX; i++)
		null_stream[i] = (struct CUstream_st){FAKE_DEFAULT_STREAM, i + 1, i, 0};
}
