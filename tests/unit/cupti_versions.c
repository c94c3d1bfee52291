/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_versions.c - the same work, recorded by the stand-ins of CUPTI 11.8 to 13.0 and of a
 * future one, gives the same records: found, opened, stepped through and read as the product does
 */
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <stdlib.h>

#include "runtime/engine/intern.h"
#include "runtime/probe/gpu/cupti_clock.h"
#include "runtime/probe/gpu/cupti_decode.h"
#include "runtime/probe/gpu/cupti_lib.h"
#include "tests/fakes/fake.h"
#include "tests/unit/ring_rig.h"

enum { BUFFER = 1 << 16, N_BUFFERS = 8, SLACK_NS = 1000000 };

static struct tp_arena arena;
static uint8_t buffer[N_BUFFERS][BUFFER] __attribute__((aligned(8)));
static struct {
	uint8_t *bytes;
	size_t n;
} full[N_BUFFERS];
static uint32_t n_given, n_full;
static struct tp_rec out[100];
static uint32_t n_out;

static void CUPTIAPI give(uint8_t **bytes, size_t *size, size_t *most)
{
	cr_assert_lt(n_given, N_BUFFERS);
	*bytes = buffer[n_given++];
	*size = BUFFER;
	*most = 0;
}

static void CUPTIAPI take_back(CUcontext context, uint32_t stream, uint8_t *bytes, size_t size,
			       size_t valid)
{
	full[n_full].bytes = bytes;
	full[n_full++].n = valid;
}

static uint32_t take(void *ctx, uint32_t slot, const struct tp_rec *rec, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		out[n_out++] = rec[i];
	return n;
}

static const struct tp_rec *find(uint8_t kind, uint32_t link)
{
	const struct tp_rec *found = NULL;

	for (uint32_t i = 0; i < n_out; i++) {
		if (out[i].kind == kind && out[i].link == link) {
			cr_assert_null(found, "two of kind %u, link %u", kind, link);
			found = &out[i];
		}
	}
	cr_assert_not_null(found, "none of kind %u, link %u", kind, link);
	return found;
}

static void check_string(uint32_t id, uint32_t wanted_kind, const void *wanted, uint32_t n_wanted)
{
	const char *bytes;
	uint32_t kind, n;

	cr_assert(tp_intern_get(NULL, id, &kind, &bytes, &n));
	cr_assert_eq(kind, wanted_kind);
	cr_assert(n == n_wanted && !memcmp(bytes, wanted, n), "string %u of kind %u", id, kind);
}

static void *function(const char *name)
{
	void *found = dlsym(RTLD_DEFAULT, name);

	cr_assert_not_null(found, "%s", name);
	return found;
}

static void record_work(uint64_t now)
{
	struct fake_work kernel = {
		.kind = FAKE_KERNEL, .start_ns = now + 10000, .end_ns = now + 12000, .device = 0,
		.context = 1, .stream = 7, .name = "_Z3addPf", .grid = {100, 2, 1},
		.block = {256, 1, 1}, .cluster = {2, 4, 3}, .registers = 64, .shared_static = 1024,
		.shared_dynamic = 4096, .local_per_thread = 16, .graph = 6, .graph_node = 1ull << 33,
	};
	struct fake_work copy = {
		.kind = FAKE_MEMCPY, .start_ns = now + 13000, .end_ns = now + 14000, .context = 1,
		.stream = 9, .copy_kind = 1, .from_kind = 1, .to_kind = 3, .is_async = 1,
		.bytes = 1 << 20,
	};
	struct fake_work set = {
		.kind = FAKE_MEMSET, .start_ns = now + 15000, .end_ns = now + 16000, .context = 1,
		.stream = 9, .to_kind = 3, .value = 255, .bytes = 64,
	};
	struct fake_work overhead = {
		.kind = FAKE_OVERHEAD, .start_ns = now + 20000, .end_ns = now + 21000,
		.overhead_kind = 5 << 16, .thread = 4711,
	};
	const struct fake_call launch = {.correlation = 100, .work = &kernel, .n_work = 1};
	const struct fake_call copying = {.correlation = 101, .work = &copy, .n_work = 1};
	const struct fake_call setting = {.correlation = 102, .work = &set, .n_work = 1};
	int (*begin)(uint32_t, const char *, const struct fake_call *) = function("fake_gpu_begin");
	void (*end)(void) = function("fake_gpu_end");

	cr_assert_eq(begin(2, "cudaLaunchKernel", &launch), 0);
	end();
	cr_assert_eq(begin(2, "cudaMemcpyAsync", &copying), 0);
	end();
	cr_assert_eq(begin(1, "cuMemsetD8Async", &setting), 0);
	end();
	((void (*)(const struct fake_work *))function("fake_gpu_work"))(&overhead);
	((void (*)(void))function("fake_gpu_finish"))();
}

static void check_records(uint64_t begin_ticks)
{
	const struct tp_rec *call = find(TP_REC_CALL, 100), *kernel = find(TP_REC_KERNEL, 100);
	const struct tp_rec *copy = find(TP_REC_MEMCPY, 101), *set = find(TP_REC_MEMSET, 102);

	check_string(call->name, TP_STRING_TEXT, "cudaLaunchKernel", 16);
	cr_assert_eq(call->flags, 0);
	cr_assert_eq(find(TP_REC_CALL, 102)->flags, TP_F_DRIVER);
	check_string(kernel->name, TP_STRING_TEXT, "_Z3addPf", 8);
	check_string((uint32_t)kernel->arg, TP_STRING_LAUNCH, &(struct tp_launch){
		.place = {0, 1, 7}, .graph = 6, .graph_node = 1ull << 33, .grid = {100, 2, 1},
		.block = {256, 1, 1}, .cluster = {2, 4, 3}, .registers = 64, .shared_static = 1024,
		.shared_dynamic = 4096, .local_per_thread = 16,
	}, sizeof(struct tp_launch));
	/* Ticks are ns here. */
	cr_assert(tp_rec_len(kernel) >= 1998 && tp_rec_len(kernel) <= 2002, "%lu",
		  (unsigned long)tp_rec_len(kernel));
	cr_assert(kernel->time + SLACK_NS >= begin_ticks && kernel->time <= begin_ticks + SLACK_NS);
	check_string(copy->name, TP_STRING_TRANSFER, &(struct tp_transfer){
		.place = {0, 1, 9}, .copy_kind = 1, .from_kind = 1, .to_kind = 3, .is_async = 1,
	}, sizeof(struct tp_transfer));
	cr_assert_eq(copy->arg, 1 << 20);
	check_string(set->name, TP_STRING_TRANSFER, &(struct tp_transfer){
		.place = {0, 1, 9}, .to_kind = 3, .value = 255,
	}, sizeof(struct tp_transfer));
	check_string(find(TP_REC_OVERHEAD, 0)->name, TP_STRING_TEXT, "Lazy Function Loading", 21);
	cr_assert_eq(find(TP_REC_OVERHEAD, 0)->arg, 4711);
	cr_assert_eq(n_out, 7);
	cr_assert_eq(tp_cupti_unknown_kinds, 0);
}

static void check_version(const char *below, uint32_t version, uint32_t release)
{
	static const CUpti_ActivityKind kinds[] = {
		CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_DRIVER,
		CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
		CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_OVERHEAD,
	};
	static const struct tp_cupti_wanted whole = {.begin = 1, .has_window = true};
	char path[600], why[300] = "";
	const char *fakes = getenv("FAKES");
	uint64_t now;

	snprintf(path, sizeof(path), "%s/libcuda.so.1", fakes ? fakes : "build/tests/fakes");
	if (!dlopen(path, RTLD_NOW | RTLD_GLOBAL))
		cr_skip_test("no stand-ins: %s", dlerror());
	snprintf(path, sizeof(path), "%s/%s", fakes ? fakes : "build/tests/fakes", below);
	rig_make_dir();
	cr_assert(!rig_open_ring(4 << 20) && !tp_arena_init(&arena, 16 << 20) &&
		  !tp_intern_init(&arena));
	tp_clock_init(TP_CLOCK_MONOTONIC);
	cr_assert_eq(tp_cupti_lib_open(path, why, sizeof(why)), 0, "%s", why);
	cr_assert_eq(tp_cupti.version, version, "%u", tp_cupti.version);
	cr_assert_eq(tp_cupti.release, release, "%u", tp_cupti.release);
	cr_assert_eq(tp_cupti_decode_init(tp_cupti.version), 0);
	cr_assert_eq(tp_cupti.cuptiActivityRegisterCallbacks(give, take_back), CUPTI_SUCCESS);
	cr_assert_eq(((int (*)(unsigned))function("cuInit"))(0), 0);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		cr_assert_eq(tp_cupti.cuptiActivityEnable(kinds[i]), CUPTI_SUCCESS, "kind %d", kinds[i]);
	tp_cupti_clock_read();
	now = tp_clock_real_ns();
	record_work(now);
	cr_assert_eq(tp_cupti.cuptiActivityFlushAll(1), CUPTI_SUCCESS);
	tp_cupti_clock_read();
	for (uint32_t i = 0; i < n_full; i++) {
		struct tp_cupti_batch batch = {full[i].bytes, full[i].n, 0};

		cr_assert(tp_cupti_decode(&batch, &whole, UINT32_MAX));
	}
	tp_ring_take(take, NULL);
	tp_ring_release(0, 0);
	check_records(tp_cupti_clock_ticks(now + 10000));
	rig_remove_dir();
}

Test(cupti_versions, of_11_8)
{
	check_version("11.8/libcupti.so.11.8", 18, 110800);
}

/* It says that it is 11.8's, and is not. */
Test(cupti_versions, of_12_0)
{
	check_version("12.0/libcupti.so.12", 18, 110800);
}

Test(cupti_versions, of_12_4)
{
	check_version("12.4/libcupti.so.12", 22, 120400);
}

Test(cupti_versions, of_12_8)
{
	check_version("12.8/libcupti.so.12", 26, 120800);
}

Test(cupti_versions, of_13_0)
{
	check_version("13.0/libcupti.so.13", 130001, 130001);
}

Test(cupti_versions, of_the_future)
{
	check_version("future/libcupti.so.13", 999999, 999999);
}
