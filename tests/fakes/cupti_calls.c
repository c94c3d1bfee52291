/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_calls.c - the functions of CUPTI that set and ask, and the start of the library
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tests/fakes/cupti_state.h"

struct fake_cupti fake_cupti = {.log = -1, .all_syncs = true};
static pthread_mutex_t connecting = PTHREAD_MUTEX_INITIALIZER;

static uint64_t real_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t fake_cupti_now(void)
{
	return fake_cupti.timestamp ? fake_cupti.timestamp() : real_now();
}

/* As the real one does: what begins after the callback is there is told in the callback's unit. */
uint64_t fake_cupti_in_clock(uint64_t real_ns)
{
	if (!fake_cupti.timestamp || real_ns <= fake_cupti.timestamp_real)
		return real_ns;
	return fake_cupti.timestamp_first + (uint64_t)(fake_cupti.timestamp_rate *
						       (double)(real_ns - fake_cupti.timestamp_real));
}

/* Both clocks at one moment, of some tries the one that was disturbed least. */
static void read_both(CUpti_TimestampCallbackFunc function, uint64_t *real, uint64_t *theirs)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < 50; i++) {
		uint64_t before = real_now(), now = function(), after = real_now();

		if (after - before >= least)
			continue;
		least = after - before;
		*real = before + least / 2;
		*theirs = now;
	}
}

uint32_t fake_cupti_thread(void)
{
	static __thread uint32_t tid __attribute__((tls_model("initial-exec")));

	if (fake_cupti.thread_id_type == CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT)
		return (uint32_t)(uintptr_t)pthread_self();
	if (!tid)
		tid = (uint32_t)syscall(SYS_gettid);
	return tid;
}

static void write_line(int fd, const char *line, int n)
{
	if (n > 0 && write(fd, line, (size_t)n) < 0)
		return;
}

void fake_cupti_log(const char *call, int64_t argument, CUptiResult result)
{
	char line[160];

	/* Hundreds at a time: a line each would take longer than a step of the tests' programs. */
	if (!strcmp(call, "cuptiActivityEnableDriverApi"))
		return;
	/* Who reads two clocks takes the middle of the time that this took, which would be in the write. */
	if (!strcmp(call, "cuptiGetTimestamp"))
		return;
	write_line(fake_cupti.log, line,
		   snprintf(line, sizeof(line), "%s %ld -> %d tid %ld\n", call, argument, result,
			    syscall(SYS_gettid)));
}

_Noreturn void fake_cupti_die(const char *why)
{
	char line[160];
	int n = snprintf(line, sizeof(line), "fake libcupti: %s\n", why);

	write_line(2, line, n);
	if (fake_cupti.log >= 0)
		write_line(fake_cupti.log, line, n);
	abort();
}

/* Attaches to libcuda, as the first call that needs it does. */
static bool connect_driver(void)
{
	struct fake_driver *driver = __atomic_load_n(&fake_cupti.driver, __ATOMIC_ACQUIRE);
	void *lib;

	if (driver)
		return true;
	pthread_mutex_lock(&connecting);
	lib = dlopen("libcuda.so.1", RTLD_NOW);
	driver = lib ? dlsym(lib, FAKE_DRIVER_SYMBOL) : NULL;
	if (driver) {
		__atomic_store_n(&fake_cupti.driver, driver, __ATOMIC_RELEASE);
		__atomic_store_n(&driver->tool, &fake_cupti_tool, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&connecting);
	return driver != NULL;
}

bool fake_cupti_begin(const char *call, int64_t argument, int needs, CUptiResult *result)
{
	if (__atomic_load_n(&fake_cupti.is_forked, __ATOMIC_RELAXED)) {
		char why[96];

		snprintf(why, sizeof(why), "%s called in a forked child", call);
		fake_cupti_die(why);
	}
	if (fake_cupti.faults.n) {
		*result = (CUptiResult)fake_faults_take(&fake_cupti.faults, call, argument);
		if (*result)
			return false;
	}
	if (needs == FAKE_ALONE)
		return true;
	*result = fake_cupti.release < 1300 ? CUPTI_ERROR_NOT_INITIALIZED : CUPTI_ERROR_UNKNOWN;
	if (!connect_driver())
		return false;
	*result = CUPTI_ERROR_NOT_INITIALIZED;
	return !__atomic_load_n(&fake_cupti.is_dead, __ATOMIC_RELAXED);
}

/* ---- what works without a driver ---- */

FAKE_CUPTI(cuptiGetVersion, (uint32_t *version), (version), 0, FAKE_ALONE)
{
	if (!version)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*version = fake_cupti.version;
	return CUPTI_SUCCESS;
}

FAKE_CUPTI(cuptiGetTimestamp, (uint64_t *timestamp), (timestamp), 0, FAKE_ALONE)
{
	if (!timestamp)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*timestamp = fake_cupti_now();
	return CUPTI_SUCCESS;
}

FAKE_CUPTI(cuptiGetResultString, (CUptiResult code, const char **str), (code, str), code, FAKE_ALONE)
{
	static const char *const names[1000] = {
#include "result_names.inc"
	};

	*str = "<unknown>";
	if ((uint32_t)code >= 1000 || !names[code])
		return CUPTI_ERROR_INVALID_PARAMETER;
	*str = names[code];
	return CUPTI_SUCCESS;
}

#if FAKE_RELEASE >= 1204
FAKE_CUPTI(cuptiGetErrorMessage, (CUptiResult code, const char **str), (code, str), code, FAKE_ALONE)
{
	return do_cuptiGetResultString(code, str);
}
#endif

FAKE_CUPTI(cuptiGetCallbackName, (CUpti_CallbackDomain domain, uint32_t cbid, const char **name),
	   (domain, cbid, name), cbid, FAKE_ALONE)
{
	static const char *const runtime[FAKE_N_CBIDS] = {
#include "runtime_names.inc"
	};
	static const char *const driver[FAKE_N_CBIDS] = {
#include "driver_names.inc"
	};
	const char *const *names = domain == CUPTI_CB_DOMAIN_RUNTIME_API ? runtime : driver;

	*name = NULL;
	if ((domain != CUPTI_CB_DOMAIN_RUNTIME_API && domain != CUPTI_CB_DOMAIN_DRIVER_API) ||
	    cbid >= FAKE_N_CBIDS || !names[cbid])
		return CUPTI_ERROR_INVALID_PARAMETER;
	*name = names[cbid];
	return CUPTI_SUCCESS;
}

FAKE_CUPTI(cuptiActivityRegisterCallbacks,
	   (CUpti_BuffersCallbackRequestFunc requested, CUpti_BuffersCallbackCompleteFunc completed),
	   (requested, completed), 0, FAKE_ALONE)
{
	if (!requested || !completed)
		return CUPTI_ERROR_INVALID_PARAMETER;
	__atomic_store_n(&fake_cupti.requested, requested, __ATOMIC_RELEASE);
	__atomic_store_n(&fake_cupti.completed, completed, __ATOMIC_RELEASE);
	return CUPTI_SUCCESS;
}

FAKE_CUPTI(cuptiActivityGetNextRecord,
	   (uint8_t *buffer, size_t valid, CUpti_Activity **record), (buffer, valid, record), valid,
	   FAKE_ALONE)
{
	CUptiResult unknown = fake_cupti.release < 1204 ? CUPTI_ERROR_UNKNOWN :
							  CUPTI_ERROR_INVALID_KIND;
	uint8_t *at = buffer;

	if (!buffer || !record)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (*record) {
		uint32_t n = fake_cupti_record_bytes((*record)->kind);

		if (!n)
			return unknown;
		at = (uint8_t *)*record + n;
	}
	if (at + sizeof((*record)->kind) > buffer + valid)
		return CUPTI_ERROR_MAX_LIMIT_REACHED;
	if (!fake_cupti_record_bytes(((CUpti_Activity *)at)->kind))
		return unknown;
	if (at + fake_cupti_record_bytes(((CUpti_Activity *)at)->kind) > buffer + valid)
		return CUPTI_ERROR_MAX_LIMIT_REACHED;
	*record = (CUpti_Activity *)at;
	return CUPTI_SUCCESS;
}

/* ---- activities ---- */

static uint32_t domain_of(CUpti_ActivityKind kind)
{
	return kind == CUPTI_ACTIVITY_KIND_RUNTIME ? FAKE_RUNTIME_API :
	       kind == CUPTI_ACTIVITY_KIND_DRIVER  ? FAKE_DRIVER_API : 0;
}

static CUptiResult unknown_kind(void)
{
	return fake_cupti.release < 1300 ? CUPTI_ERROR_INVALID_KIND : CUPTI_ERROR_NOT_COMPATIBLE;
}

static CUptiResult enable(CUpti_ActivityKind kind)
{
	if (!fake_cupti_record_bytes(kind))
		return unknown_kind();
	if (domain_of(kind))
		fake_cupti_watch_all(domain_of(kind), FAKE_WATCH_RECORD | FAKE_WATCH_NUMBER, 0);
	__atomic_or_fetch(&fake_cupti.driver->wanted_kinds, 1ull << kind, __ATOMIC_RELAXED);
	if (kind == CUPTI_ACTIVITY_KIND_MEMCPY)	/* as version 1 of the interface does */
		__atomic_or_fetch(&fake_cupti.driver->wanted_kinds,
				  1ull << CUPTI_ACTIVITY_KIND_MEMCPY2, __ATOMIC_RELAXED);
	if (fake_cupti.deliver != FAKE_NOW)
		fake_cupti_start_worker();
	return CUPTI_SUCCESS;
}

FAKE_CUPTI(cuptiActivityEnable, (CUpti_ActivityKind kind), (kind), kind, FAKE_NEEDS_DRIVER)
{
	return enable(kind);
}

FAKE_CUPTI(cuptiActivityEnableAndDump, (CUpti_ActivityKind kind), (kind), kind, FAKE_NEEDS_DRIVER)
{
	CUptiResult result = enable(kind);
	struct CUctx_st context[16];
	uint32_t n;

	if (result)
		return result;
	if (kind == CUPTI_ACTIVITY_KIND_DEVICE)
		for (uint32_t i = 0; i < fake_cupti.driver->n_devices(); i++)
			fake_cupti_put_device(i);
	if (kind == CUPTI_ACTIVITY_KIND_CONTEXT) {
		n = fake_cupti.driver->contexts(context, 16);
		for (uint32_t i = 0; i < n; i++)
			fake_cupti_put_context(&context[i]);
	}
	return CUPTI_SUCCESS;
}

static void disable(CUpti_ActivityKind kind)
{
	uint64_t mask = 1ull << kind;

	if (kind == CUPTI_ACTIVITY_KIND_MEMCPY)
		mask |= 1ull << CUPTI_ACTIVITY_KIND_MEMCPY2;
	if (domain_of(kind))
		fake_cupti_watch_all(domain_of(kind), 0, FAKE_WATCH_RECORD | FAKE_WATCH_NUMBER);
	__atomic_and_fetch(&fake_cupti.driver->wanted_kinds, ~mask, __ATOMIC_RELAXED);
}

FAKE_CUPTI(cuptiActivityDisable, (CUpti_ActivityKind kind), (kind), kind, FAKE_NEEDS_DRIVER)
{
	if (!fake_cupti_record_bytes(kind))
		return unknown_kind();
	disable(kind);
	return CUPTI_SUCCESS;
}

/* One call's records, and, where its kind is off, its kind for that call alone. */
static __attribute__((unused)) CUptiResult filter(uint32_t domain, uint32_t cbid, uint8_t on)
{
	if (!cbid || cbid >= FAKE_N_CBIDS)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (on)
		fake_cupti_watch(domain, cbid, FAKE_WATCH_RECORD | FAKE_WATCH_NUMBER, 0);
	else
		fake_cupti_watch(domain, cbid, 0, FAKE_WATCH_RECORD);
	return CUPTI_SUCCESS;
}

#if FAKE_RELEASE >= 1205
FAKE_CUPTI(cuptiActivityEnableRuntimeApi, (CUpti_CallbackId cbid, uint8_t on), (cbid, on), cbid,
	   FAKE_NEEDS_DRIVER)
{
	return filter(FAKE_RUNTIME_API, cbid, on);
}

FAKE_CUPTI(cuptiActivityEnableDriverApi, (CUpti_CallbackId cbid, uint8_t on), (cbid, on), cbid,
	   FAKE_NEEDS_DRIVER)
{
	struct CUctx_st context;

	/* Documented as enough by itself; on an H200, CUPTI 13.0, it is not where there is a context. */
	if (on && !fake_wants(fake_cupti.driver, CUPTI_ACTIVITY_KIND_DRIVER) &&
	    fake_cupti.driver->contexts(&context, 1))
		return CUPTI_SUCCESS;
	return filter(FAKE_DRIVER_API, cbid, on);
}
#endif

#if FAKE_RELEASE >= 1208
FAKE_CUPTI(cuptiActivityEnableAllSyncRecords, (uint8_t on), (on), on, FAKE_NEEDS_DRIVER)
{
	fake_cupti.all_syncs = on;
	return CUPTI_SUCCESS;
}

FAKE_CUPTI(cuptiActivityEnableAllocationSource, (uint8_t on), (on), on, FAKE_NEEDS_DRIVER)
{
	return CUPTI_SUCCESS;
}

FAKE_CUPTI(cuptiActivityEnableHWTrace, (uint8_t on), (on), on, FAKE_NEEDS_DRIVER)
{
	return on ? CUPTI_ERROR_NOT_SUPPORTED : CUPTI_SUCCESS;
}
#endif

#if FAKE_RELEASE >= 1300
FAKE_CUPTI(cuptiActivityEnableCudaEventDeviceTimestamps, (uint8_t on), (on), on, FAKE_NEEDS_DRIVER)
{
	return CUPTI_SUCCESS;
}
#endif

FAKE_CUPTI(cuptiActivityFlushAll, (uint32_t flag), (flag), flag, FAKE_NEEDS_DRIVER)
{
	uint32_t flush = __atomic_add_fetch(&fake_cupti.flushes, 1, __ATOMIC_RELAXED);

	if (fake_cupti.stale_flushes)
		fake_cupti_names_flush(flush);
	fake_cupti_flush(flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	return CUPTI_SUCCESS;
}

FAKE_CUPTI(cuptiActivityFlush, (CUcontext context, uint32_t stream, uint32_t flag),
	   (context, stream, flag), flag, FAKE_NEEDS_DRIVER)
{
	fake_cupti_flush(flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	return CUPTI_SUCCESS;
}

FAKE_CUPTI(cuptiActivityFlushPeriod, (uint32_t ms), (ms), ms, FAKE_NEEDS_DRIVER)
{
	return CUPTI_SUCCESS;
}

FAKE_CUPTI(cuptiActivityGetNumDroppedRecords, (CUcontext context, uint32_t stream, size_t *dropped),
	   (context, stream, dropped), stream, FAKE_NEEDS_DRIVER)
{
	if (!dropped)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*dropped = __atomic_exchange_n(&fake_cupti.dropped, 0, __ATOMIC_RELAXED);
	return CUPTI_SUCCESS;
}

/* 9: CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, which has no number in the header. */
static bool is_attribute(CUpti_ActivityAttribute attribute, size_t *bytes)
{
	static const size_t sizes[] = { 8, 8, 8, 8, 8, 1, 8, 8, 1, 1 };

	if ((uint32_t)attribute > 9 || (attribute == 9 && fake_cupti.release < 1203))
		return false;
	*bytes = sizes[attribute];
	return true;
}

FAKE_CUPTI(cuptiActivitySetAttribute, (CUpti_ActivityAttribute attr, size_t *bytes, void *value),
	   (attr, bytes, value), attr, FAKE_NEEDS_DRIVER)
{
	size_t n;

	if (!bytes || !value || !is_attribute(attr, &n))
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (*bytes < n)
		return CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT;
	if (attr == CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER)
		fake_cupti.is_zeroed = *(uint8_t *)value;
	if (attr == 9) {
		if (__atomic_load_n(&fake_cupti.driver->wanted_kinds, __ATOMIC_RELAXED))
			return CUPTI_ERROR_INVALID_OPERATION;
		fake_cupti.is_per_thread = *(uint8_t *)value;
	}
	return CUPTI_SUCCESS;
}

FAKE_CUPTI(cuptiActivityGetAttribute, (CUpti_ActivityAttribute attr, size_t *bytes, void *value),
	   (attr, bytes, value), attr, FAKE_NEEDS_DRIVER)
{
	size_t n;

	if (!bytes || !value || !is_attribute(attr, &n))
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (*bytes < n)
		return CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT;
	memset(value, 0, n);
	if (attr == CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER)
		*(uint8_t *)value = fake_cupti.is_zeroed;
	if (attr == 9)
		*(uint8_t *)value = fake_cupti.is_per_thread;
	*bytes = n;
	return CUPTI_SUCCESS;
}

FAKE_CUPTI(cuptiActivityRegisterTimestampCallback, (CUpti_TimestampCallbackFunc function),
	   (function), 0, FAKE_NEEDS_DRIVER)
{
	const struct timespec enough_for_a_rate = {.tv_nsec = 5000000};
	uint64_t real, theirs;

	if (function) {
		fake_cupti.timestamp_again = fake_cupti.timestamp ? function() : 0;
		read_both(function, &real, &theirs);
		nanosleep(&enough_for_a_rate, NULL);
		read_both(function, &fake_cupti.timestamp_real, &fake_cupti.timestamp_first);
		fake_cupti.timestamp_rate = (double)(fake_cupti.timestamp_first - theirs) /
					    (double)(fake_cupti.timestamp_real - real);
	}
	fake_cupti.timestamp = function;
	return CUPTI_SUCCESS;
}

FAKE_CUPTI(cuptiActivityEnableLatencyTimestamps, (uint8_t on), (on), on, FAKE_NEEDS_DRIVER)
{
	return CUPTI_SUCCESS;
}

FAKE_CUPTI(cuptiSetThreadIdType, (CUpti_ActivityThreadIdType type), (type), type, FAKE_NEEDS_DRIVER)
{
	if (type >= CUPTI_ACTIVITY_THREAD_ID_TYPE_SIZE)
		return CUPTI_ERROR_INVALID_PARAMETER;
	fake_cupti.thread_id_type = type;
	return CUPTI_SUCCESS;
}

FAKE_CUPTI(cuptiGetThreadIdType, (CUpti_ActivityThreadIdType *type), (type), 0, FAKE_ALONE)
{
	*type = fake_cupti.thread_id_type;
	return CUPTI_SUCCESS;
}

FAKE_CUPTI(cuptiGetContextId, (CUcontext context, uint32_t *id), (context, id), 0,
	   FAKE_NEEDS_DRIVER)
{
	if (!context)
		return CUPTI_ERROR_INVALID_CONTEXT;
	*id = context->number;
	return CUPTI_SUCCESS;
}

FAKE_CUPTI(cuptiGetDeviceId, (CUcontext context, uint32_t *id), (context, id), 0,
	   FAKE_NEEDS_DRIVER)
{
	if (!context)
		return CUPTI_ERROR_INVALID_CONTEXT;
	*id = context->device;
	return CUPTI_SUCCESS;
}

FAKE_CUPTI(cuptiGetStreamIdEx, (CUcontext context, CUstream stream, uint8_t per_thread, uint32_t *id),
	   (context, stream, per_thread, id), 0, FAKE_NEEDS_DRIVER)
{
	*id = stream ? stream->number : FAKE_DEFAULT_STREAM;
	return CUPTI_SUCCESS;
}

FAKE_CUPTI(cuptiFinalize, (void), (), 0, FAKE_NEEDS_DRIVER)
{
	for (uint32_t kind = 1; kind < FAKE_N_KINDS; kind++)
		disable(kind);
	fake_cupti_unsubscribe();
	fake_cupti_flush(true);
	return CUPTI_SUCCESS;
}

/* ---- the start ---- */

static const struct { uint32_t version, release; } versions[] = {
	{ 18, 1108 }, { 19, 1200 }, { 20, 1202 }, { 21, 1203 }, { 22, 1204 }, { 23, 1205 },
	{ 24, 1206 }, { 26, 1208 }, { 27, 1209 }, { 28, 1209 }, { 130000, 1300 },
	{ 130001, 1300 }, { 999999, 9999 },
};

static void set_version(void)
{
	const char *set = getenv("FAKE_CUPTI_VERSION");
	uint32_t wanted = set && *set ? (uint32_t)atoi(set) : 0;

	fake_cupti.release = FAKE_RELEASE;
	for (size_t i = 0; i < sizeof(versions) / sizeof(*versions); i++) {
		if (!wanted && versions[i].release == FAKE_RELEASE)
			fake_cupti.version = versions[i].version;
		if (wanted && versions[i].version == wanted)
			fake_cupti.release = versions[i].release;
	}
	if (wanted)
		fake_cupti.version = wanted;
	else if (FAKE_RELEASE == 1200)
		fake_cupti.version = 18;	/* what 12.0's own library says */
}

static void forked(void)
{
	if (fake_cupti.driver)
		__atomic_store_n(&fake_cupti.is_forked, 1, __ATOMIC_RELAXED);
}

static uint32_t number_of(const char *variable)
{
	const char *set = getenv(variable);

	return set ? (uint32_t)strtoul(set, NULL, 0) : 0;
}

static __attribute__((constructor)) void begin(void)
{
	const char *deliver = getenv("FAKE_CUPTI_DELIVER"), *log = getenv("FAKE_CUPTI_LOG");

	set_version();
	fake_cupti_records_init();
	fake_cupti.is_per_thread = fake_cupti.release >= 1300;
	if (deliver && !strcmp(deliver, "now"))
		fake_cupti.deliver = FAKE_NOW;
	else if (deliver && !strcmp(deliver, "shuffled"))
		fake_cupti.deliver = FAKE_SHUFFLED;
	fake_cupti.owner = getenv("FAKE_CUPTI_OWNER");
	fake_cupti.stale_flushes = number_of("FAKE_CUPTI_STALE");
	fake_cupti.has_nested = number_of("FAKE_CUPTI_NESTED");
	fake_cupti.flushes_here = number_of("FAKE_CUPTI_FLUSH_HERE");
	fake_cupti.fatal_after = number_of("FAKE_CUPTI_FATAL");
	fake_cupti.next_correlation = number_of("FAKE_CUPTI_CORRELATION");
	fake_cupti.next_correlation -= fake_cupti.next_correlation != 0;
	fake_faults_read(&fake_cupti.faults, "FAKE_CUPTI_FAIL");
	if (log && *log)
		fake_cupti.log = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	pthread_atfork(NULL, NULL, forked);
}
