/* SPDX-License-Identifier: Apache-2.0 */
/*
 * devmem.c - what an allocation callback costs the guest: cuMemAlloc and cuMemFree of the
 * stand-ins with our callbacks on, in a window and outside, beside the floor, which is the same
 * calls with an empty callback, and beside no subscriber at all
 *
 * usage: devmem		(O: the build folder, whose tests/fakes are used)
 *
 * Figures are of one call (which is two callbacks, before and after), medians of bursts of 64 that
 * are measured in turn. The calls go through a pointer, as in a runtime that is linked statically:
 * the owner's search finds nothing certain and reads all that it may read.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

#include <cupti.h>

#include "runtime/engine/config/config.h"
#include "runtime/engine/intern.h"
#include "runtime/probe/gpu/cupti_calls.h"
#include "runtime/probe/gpu/cupti_lib.h"
#include "runtime/probe/devmem/devmem.h"
#include "runtime/probe/devmem/devmem_calls.h"
#include "runtime/probe/devmem/owner_objects.h"
#include "tests/unit/ring_rig.h"

enum { BURST = 64, N_BURSTS = 400, GOAL_NS = 1000 };

static double ns_per_tick;
static struct tp_arena arena;
static __typeof__(&cuMemAlloc) alloc;
static __typeof__(&cuMemFree) release;
static CUpti_SubscriberHandle subscriber;

static void *load(const char *name)
{
	const char *build = getenv("O");
	char path[4096];
	void *library;

	snprintf(path, sizeof(path), "%s/tests/fakes/%s", build ? build : "build", name);
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		printf("no stand-in at '%s': run make fakes\n", path);
		exit(0);
	}
	return library;
}

static void CUPTIAPI do_nothing(void *ctx, CUpti_CallbackDomain domain, CUpti_CallbackId id,
				const void *data)
{
}

static void floor_on(void)
{
	tp_cupti.cuptiSubscribe(&subscriber, do_nothing, NULL);
	for (uint32_t i = 0, id; (id = tp_devmem_call_id(false, i)); i++)
		tp_cupti.cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, id);
}

static void floor_off(void)
{
	tp_cupti.cuptiUnsubscribe(subscriber);
}

static void ours_on(void)
{
	char why[200];

	if (tp_cupti_calls_open(why, sizeof(why))) {
		printf("%s\n", why);
		exit(1);
	}
	tp_cupti_calls_memory(TP_CUPTI_MEMORY_ALL);
}

static void window_on(void)
{
	tp_devmem_probe.arm();
	ours_on();
}

static void window_off(void)
{
	tp_cupti_calls_close();
	tp_devmem_probe.disarm();
}

static void nothing(void)
{
}

static const struct {
	const char *name;
	void (*on)(void), (*off)(void);
} way[] = {
	{"nobody listens", nothing, nothing},
	{"empty callback (floor)", floor_on, floor_off},
	{"outside of windows", ours_on, tp_cupti_calls_close},
	{"in a window", window_on, window_off},
};
enum { WAYS = sizeof(way) / sizeof(way[0]) };

static uint32_t take(void *ctx, uint32_t slot, const struct tp_rec *rec, uint32_t n)
{
	return n;
}

static double burst(void)
{
	static CUdeviceptr block[BURST];
	uint64_t begin = tp_clock_now();

	for (int i = 0; i < BURST; i++)
		alloc(&block[i], 4096);
	for (int i = 0; i < BURST; i++)
		release(block[i]);
	return (double)(tp_clock_now() - begin) * ns_per_tick / (2 * BURST);
}

/* Under a stack as a training has it: frames full of addresses, of code too. */
static __attribute__((noinline)) double burst_below(int depth)
{
	volatile uintptr_t frame[64];

	for (int i = 0; i < 64; i++)
		frame[i] = i % 4 ? (uintptr_t)&frame[i] : (uintptr_t)strtoul + (uintptr_t)(i * depth);
	return depth ? burst_below(depth - 1) + (double)(frame[0] & 0) : burst();
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(void)
{
	static const struct tp_config config = {.record = TP_RECORD_DEVMEM, .host_period_ms = 100};
	struct tp_ring_spec spec = {.bytes = 32 << 20, .dir = "/tmp", .buffer_dir = "/tmp", .run_id = 1};
	static double ns[WAYS][N_BURSTS];
	struct tp_clock_anchor a, b;
	char name[64], why[512], path[4096];
	void *cuda = load("libcuda.so.1");
	struct tp_devmem_counts counts;

	load("libcupti.so.13");
	snprintf(path, sizeof(path), "%s/tests/fakes/libcupti.so.13", getenv("O") ? getenv("O") : "build");
	snprintf(name, sizeof(name), "devmem-bench.%d.ring", (int)getpid());
	spec.name = name;
	tp_clock_init(TP_CLOCK_AUTO);
	if (tp_arena_init(&arena, 4 << 20) || tp_ring_open(&spec) || tp_intern_init(&arena) ||
	    tp_devmem_probe.open(&config))
		return 1;
	*(void **)&alloc = dlsym(cuda, "cuMemAlloc_v2");
	*(void **)&release = dlsym(cuda, "cuMemFree_v2");
	if (((__typeof__(&cuInit))dlsym(cuda, "cuInit"))(0) ||
	    tp_cupti_lib_open(path, why, sizeof(why))) {
		printf("the stand-ins do not work: %s\n", why);
		return 1;
	}
	tp_clock_take_anchor(&a);
	usleep(50000);
	tp_clock_take_anchor(&b);
	ns_per_tick = (double)(b.mono_ns - a.mono_ns) / (double)(b.ticks - a.ticks);
	tp_owner_refresh();
	for (int i = 0; i < N_BURSTS; i++)
		for (int w = 0; w < WAYS; w++) {
			way[w].on();
			burst_below(60);	/* caches as in a loop */
			ns[w][i] = burst_below(60);
			way[w].off();
			tp_ring_take(take, NULL);
			tp_ring_release(0, 0);
		}
	for (int w = 0; w < WAYS; w++) {
		double mine, least;

		qsort(ns[w], N_BURSTS, sizeof(ns[w][0]), compare);
		mine = ns[w][N_BURSTS / 2];
		least = w ? ns[1][N_BURSTS / 2] : mine;
		printf("%-24s %6.0f ns a call (middle half %.0f to %.0f)", way[w].name, mine,
		       ns[w][N_BURSTS / 4], ns[w][N_BURSTS * 3 / 4]);
		if (w > 1)
			printf(", ours %.0f%s", mine - least,
			       mine - least <= GOAL_NS ? "" : "   MISSED");
		printf("\n");
	}
	tp_devmem_counts(&counts);
	if (counts.n_unknown || tp_devmem_live(0, 0))
		printf("MISCOUNTED: %lu unknown, %lu alive\n", (unsigned long)counts.n_unknown,
		       (unsigned long)tp_devmem_live(0, 0));
	tp_ring_close();
	return 0;
}
