/* SPDX-License-Identifier: Apache-2.0 */
/*
 * manners_costs.c - what CUPTI costs on this machine: figures, which are not compared with the stand-ins
 */
#include <stdio.h>
#include <time.h>

#include "tests/gpu/manners.h"

enum { N_COST = 20000 };

/* In rounds that the device's queue holds: a launch that waits for the device tells of the device. */
static double ns_of_launch(void)
{
	enum { ROUND = 200 };
	struct timespec a, b;
	double ns = 0;

	for (uint32_t n = 0; n < N_COST; n += ROUND) {
		cu.cuCtxSynchronize();
		clock_gettime(CLOCK_MONOTONIC, &a);
		for (uint32_t i = 0; i < ROUND; i++)
			manners_launch();
		clock_gettime(CLOCK_MONOTONIC, &b);
		if (n)
			ns += (double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec);
	}
	cu.cuCtxSynchronize();
	return ns / (N_COST - ROUND);
}

static void cost_launch(void)
{
	double alone, heard, after;

	manners_device();
	alone = ns_of_launch();
	manners_listen(manners_usual, MANNERS_USUAL);
	heard = ns_of_launch();
	for (uint32_t i = 0; i < MANNERS_USUAL; i++)
		cu.cuptiActivityDisable(manners_usual[i]);
	manners_flush(true);
	after = ns_of_launch();
	printf("ns a launch: %.0f before CUPTI, %.0f recorded, %.0f after it was disabled", alone,
	       heard, after);
}

static const struct {
	CUpti_ActivityKind kind;
	const char *name;
} costly[] = {
	{CUPTI_ACTIVITY_KIND_OVERHEAD, "overhead"},
	{CUPTI_ACTIVITY_KIND_CUDA_EVENT, "events"},
	{CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, "syncs"},
	{CUPTI_ACTIVITY_KIND_MEMORY2, "memory"},
	{CUPTI_ACTIVITY_KIND_MEMSET, "sets"},
	{CUPTI_ACTIVITY_KIND_MEMCPY, "copies"},
	{CUPTI_ACTIVITY_KIND_DRIVER, "driver"},
	{CUPTI_ACTIVITY_KIND_RUNTIME, "runtime"},
	{CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, "kernels"},
};
enum { N_COSTLY = sizeof(costly) / sizeof(costly[0]) };

static double us_since(const struct timespec *a)
{
	struct timespec b;

	clock_gettime(CLOCK_MONOTONIC, &b);
	return (double)(b.tv_sec - a->tv_sec) * 1e6 + (double)(b.tv_nsec - a->tv_nsec) / 1e3;
}

/* What a kind costs to switch on and off, by itself, and again. */
static void cost_switch(void)
{
	struct timespec a;

	manners_device();
	manners_launch();
	cu.cuCtxSynchronize();
	manners_listen(NULL, 0);
	printf("us on/off:");
	for (int round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < N_COSTLY; i++) {
			double on;

			clock_gettime(CLOCK_MONOTONIC, &a);
			cu.cuptiActivityEnable(costly[i].kind);
			on = us_since(&a);
			manners_launch();
			clock_gettime(CLOCK_MONOTONIC, &a);
			cu.cuptiActivityDisable(costly[i].kind);
			printf(" %s %.0f/%.0f", costly[i].name, on, us_since(&a));
		}
		printf(round ? "" : "; again:");
	}
}

static void nothing(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
		    const void *data)
{
}

/* What stays of a launch's cost when a kind was on and is off; each stays for those after it. */
static void cost_after(void)
{
	CUpti_SubscriberHandle subscriber;

	manners_device();
	printf("ns a launch: %.0f", ns_of_launch());
	manners_listen(NULL, 0);
	for (uint32_t i = 0; i < N_COSTLY; i++) {
		double on;

		cu.cuptiActivityEnable(costly[i].kind);
		on = ns_of_launch();
		cu.cuptiActivityDisable(costly[i].kind);
		printf(", %s %.0f then %.0f", costly[i].name, on, ns_of_launch());
	}
	manners_flush(true);
	printf(", flushed %.0f", ns_of_launch());
	cu.cuptiFinalize();
	printf(", finalized %.0f", ns_of_launch());
	cu.cuptiSubscribe(&subscriber, nothing, NULL);
	manners_listen(NULL, 0);
	printf(", subscribed anew %.0f", ns_of_launch());
}

/* What it takes to have all of the driver's calls but a few, at each window's beginning. */
static void cost_driver_calls(void)
{
	struct timespec a, b;

	if (!cu.cuptiActivityEnableDriverApi) {
		printf("no call for that");
		return;
	}
	manners_listen(manners_usual, MANNERS_USUAL);
	manners_device();
	clock_gettime(CLOCK_MONOTONIC, &a);
	for (CUpti_CallbackId i = 1; i < CUPTI_DRIVER_TRACE_CBID_SIZE; i++)
		cu.cuptiActivityEnableDriverApi(i, 0);
	clock_gettime(CLOCK_MONOTONIC, &b);
	printf("ns to switch each of %d calls of the driver: %.0f in all", CUPTI_DRIVER_TRACE_CBID_SIZE,
	       (double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec));
}

static void cost_callback(void)
{
	CUpti_SubscriberHandle subscriber;
	double alone, heard;

	manners_device();
	alone = ns_of_launch();
	cu.cuptiSubscribe(&subscriber, nothing, NULL);
	cu.cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
			       CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
	heard = ns_of_launch();
	printf("ns a launch: %.0f, with two callbacks %.0f", alone, heard);
}

static void cost_versions(void)
{
	uint32_t version = 0;
	int driver = 0;
	char name[128] = "";

	cu.cuptiGetVersion(&version);
	cu.cuDriverGetVersion(&driver);
	cu.cuDeviceGetName(name, sizeof(name), 0);
	printf("CUPTI %u, driver %d, %s", version, driver, name);
}

const struct manners_point manners_costs[] = {
	{"cost.versions", cost_versions},
	{"cost.launch", cost_launch},
	{"cost.callback", cost_callback},
	{"cost.driver-calls", cost_driver_calls},
	{"cost.switch", cost_switch},
	{"cost.after", cost_after},
	{NULL, NULL},
};
