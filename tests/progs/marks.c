/* SPDX-License-Identifier: Apache-2.0 */
/*
 * marks.c - a program with marks of its own, in five steps: ranges in ranges, a counter, an
 * instant, and with -DWITH_NVTX the same by NVTX: domains, categories, registered strings,
 * wide characters, a range that ends on another thread
 *
 * usage: marks [nvtx|own|fork|none] [STEPS]. Prints "done". An executable, or with -shared
 * -DAS_LIBRARY a library for ctypes.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "preload/trainprof.h"

#ifdef WITH_NVTX
#include <nvtx3/nvToolsExt.h>

static nvtxDomainHandle_t domain, other;
static nvtxStringHandle_t registered;

static nvtxEventAttributes_t attributes(uint32_t category)
{
	nvtxEventAttributes_t a;

	memset(&a, 0, sizeof(a));
	a.version = NVTX_VERSION;
	a.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
	a.category = category;
	return a;
}

static void *end_range(void *id)
{
	usleep(1000);
	nvtxRangeEnd(*(nvtxRangeId_t *)id);
	return NULL;
}

static void use_nvtx(int step)
{
	nvtxEventAttributes_t a = attributes(7);
	nvtxRangeId_t across;
	pthread_t thread;
	char text[32];

	if (!domain) {
		domain = nvtxDomainCreateA("io");
		other = nvtxDomainCreateW(L"w\u00efde");
		nvtxDomainNameCategoryA(domain, 7, "disk");
		nvtxNameCategoryA(7, "plain");
		registered = nvtxDomainRegisterStringA(domain, "kept");
	}
	across = nvtxRangeStartA("across");
	nvtxRangePushA("nvtx outer");
	a.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
	a.message.registered = registered;
	nvtxDomainRangePushEx(domain, &a);
	nvtxRangePushW(L"nvtx \u00fcnner");
	/* Of another domain, and ended out of order: neither is the other's business. */
	a = attributes(0);
	a.messageType = NVTX_MESSAGE_TYPE_ASCII;
	a.message.ascii = "crossing";
	nvtxDomainRangePushEx(other, &a);
	usleep(500);
	nvtxRangePop();
	usleep(500);
	nvtxDomainRangePop(other);
	nvtxDomainRangePop(domain);
	nvtxRangePop();
	a.category = 7;
	a.message.ascii = "nvtx mark";
	a.payloadType = NVTX_PAYLOAD_TYPE_INT32;
	a.payload.iValue = -step - 1;
	nvtxMarkEx(&a);
	a.category = 0;
	a.message.ascii = "nvtx half";
	a.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
	a.payload.dValue = step + 0.5;
	nvtxMarkEx(&a);
	snprintf(text, sizeof(text), "iteration %d", step);
	nvtxMarkA(text);
	pthread_create(&thread, NULL, end_range, &across);
	pthread_join(thread, NULL);
}
#endif

static void use_own(int step)
{
	trainprof_begin("own outer", NULL);
	trainprof_begin("inner", "own");
	usleep(500);
	trainprof_counter("queue", "items", step * 1.5);
	trainprof_end();
	trainprof_instant("tick", "own");
	trainprof_end();
	trainprof_end();	/* one too many */
}

int marks_run(const char *what, int n_steps);
int marks_run(const char *what, int n_steps)
{
	for (int step = 0; step < n_steps; step++) {
		if (strcmp(what, "none") == 0)
			continue;
#ifdef WITH_NVTX
		if (strcmp(what, "nvtx") == 0) {
			nvtxRangePushA("a step");
			use_nvtx(step);
			nvtxRangePop();
			nvtxRangePop();	/* one too many */
		}
#endif
		if (strcmp(what, "fork") == 0 && step == 2) {
			trainprof_begin("over the fork", NULL);
			if (fork() == 0) {
				trainprof_end();
				use_own(step);
				_exit(0);
			}
			wait(NULL);
			trainprof_end();
		}
		if (strcmp(what, "nvtx") != 0) {
			use_own(step);
			trainprof_step();
		}
	}
	return 0;
}

#ifndef AS_LIBRARY
int main(int argc, char **argv)
{
	marks_run(argc > 1 ? argv[1] : "own", argc > 2 ? atoi(argv[2]) : 5);
	puts("done");
	return 0;
}
#endif
