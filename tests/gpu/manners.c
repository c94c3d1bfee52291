/* SPDX-License-Identifier: Apache-2.0 */
/*
 * manners.c - asks the CUDA and the CUPTI that the loader finds how they behave, point by point
 *
 * usage: manners [POINT]	all points, or one; MANNERS_CUPTI: path of the CUPTI to ask
 *
 * Prints "point<TAB>answer" lines; exit status 77 and the reason on standard error where there
 * is no device. A point that crashes or hangs is its answer.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/gpu/manners.h"

enum { BUFFER_BYTES = 256 << 10, MOST_SECONDS = 60 };

struct manners cu;
struct manners_seen seen;
volatile bool manners_in_call;

const CUpti_ActivityKind manners_usual[MANNERS_USUAL] = {
	CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_DRIVER,
	CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMSET,
	CUPTI_ACTIVITY_KIND_MEMORY2,
};

/* One thread adds one: nothing that a device could do wrong. */
static const char ptx[] =
	".version 6.0\n.target sm_50\n.address_size 64\n"
	".visible .entry manners_kernel(.param .u64 where)\n"
	"{\n.reg .b32 %r<2>;\n.reg .b64 %rd<3>;\n"
	"ld.param.u64 %rd1, [where];\ncvta.to.global.u64 %rd2, %rd1;\n"
	"ld.global.u32 %r1, [%rd2];\nadd.s32 %r1, %r1, 1;\nst.global.u32 [%rd2], %r1;\nret;\n}\n";

static void *first_of(const char *const *names)
{
	for (; *names; names++) {
		void *lib = dlopen(*names, RTLD_NOW | RTLD_LOCAL);

		if (lib)
			return lib;
	}
	return NULL;
}

const char *manners_open(void)
{
	static const char *const drivers[] = {"libcuda.so.1", NULL};
	static const char *const cuptis[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8",
					     "libcupti.so", NULL};
	static const char *const runtimes[] = {"libcudart.so.13", "libcudart.so.12",
					       "libcudart.so.11.0", "libcudart.so", NULL};
	const char *by_name[] = {getenv("MANNERS_CUPTI"), NULL};
	void *driver = first_of(drivers), *cupti = first_of(*by_name ? by_name : cuptis);
	void *runtime = first_of(runtimes);
	int n = 0;

	if (!driver)
		return "no GPU here: libcuda.so.1 is not there";
#define _(name, type)                                                                              \
	if (!(cu.name = (__typeof__(&type))dlsym(driver, #name)))                                  \
		return "no GPU here that this can use: libcuda.so.1 lacks " #name;
	MANNERS_CUDA(_)
#undef _
	if (cu.cuInit(0) || cu.cuDeviceGetCount(&n) || !n)
		return "no GPU here: cuInit finds none";
	cu.has_cupti = cupti;
	cu.has_runtime = runtime;
#define _(name, type) cu.name = cupti ? (__typeof__(&type))dlsym(cupti, #name) : NULL;
	MANNERS_CUPTI(_)
#undef _
#define _(name, type) cu.name = runtime ? (__typeof__(&type))dlsym(runtime, #name) : NULL;
	MANNERS_RUNTIME(_)
#undef _
	return cupti ? "" : "no CUPTI here: put its folder into LD_LIBRARY_PATH";
}

bool manners_device(void)
{
	CUmodule module;

	if (cu.cuDevicePrimaryCtxRetain(&cu.context, 0) || cu.cuCtxSetCurrent(cu.context) ||
	    cu.cuModuleLoadData(&module, ptx) ||
	    cu.cuModuleGetFunction(&cu.kernel, module, "manners_kernel")) {
		fprintf(stderr, "manners: the device takes no kernel\n");
		return false;
	}
	return true;
}

void manners_launch(void)
{
	static CUdeviceptr where;
	void *arguments[] = {&where};

	if (!where)
		cu.cuMemAlloc_v2(&where, 4096);
	manners_in_call = true;
	cu.cuLaunchKernel(cu.kernel, 2, 1, 1, 32, 1, 1, 0, NULL, arguments, NULL);
	manners_in_call = false;
}

static void CUPTIAPI requested(uint8_t **buffer, size_t *size, size_t *most)
{
	*buffer = aligned_alloc(8, BUFFER_BYTES);
	memset(*buffer, 0, BUFFER_BYTES);
	*size = BUFFER_BYTES;
	*most = 0;
	seen.n_asked++;
	seen.asked_on = (int)syscall(SYS_gettid);
	seen.is_inside = manners_in_call;
}

static void note(const CUpti_Activity *any)
{
	__typeof__(&seen.record[0]) to = &seen.record[seen.n];

	to->kind = any->kind;
	switch ((uint32_t)any->kind) {
	case CUPTI_ACTIVITY_KIND_RUNTIME:
	case CUPTI_ACTIVITY_KIND_DRIVER: {
		const CUpti_ActivityAPI *api = (const void *)any;

		to->correlation = api->correlationId;
		to->thread = api->threadId;
		to->cbid = api->cbid;
		to->start = api->start;
		to->end = api->end;
		break;
	}
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
		const CUpti_ActivityKernel9 *kernel = (const void *)any;

		to->correlation = kernel->correlationId;
		to->start = kernel->start;
		to->end = kernel->end;
		to->stream = kernel->streamId;
		break;
	}
	case CUPTI_ACTIVITY_KIND_MEMSET: {
		const CUpti_ActivityMemset4 *set = (const void *)any;

		to->correlation = set->correlationId;
		to->stream = set->streamId;
		break;
	}
	case CUPTI_ACTIVITY_KIND_MEMORY2: {
		const CUpti_ActivityMemory3 *memory = (const void *)any;

		to->operation = memory->memoryOperationType;
		to->address = memory->address;
		to->correlation = memory->correlationId;
		break;
	}
	}
}

static void CUPTIAPI completed(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
			       size_t valid)
{
	CUpti_Activity *record = NULL, *before = NULL;

	seen.n_returned++;
	seen.returned_on = (int)syscall(SYS_gettid);
	for (;;) {
		seen.at_end = cu.cuptiActivityGetNextRecord(buffer, valid, &record);
		if (seen.at_end != CUPTI_SUCCESS)
			break;
		if (before && seen.n)
			seen.record[seen.n - 1].bytes = (uint32_t)((uint8_t *)record - (uint8_t *)before);
		before = record;
		if (seen.n < MANNERS_MOST) {
			note(record);
			seen.n++;
		}
	}
	free(buffer);
}

void manners_listen(const CUpti_ActivityKind *kinds, uint32_t n)
{
	cu.cuptiActivityRegisterCallbacks(requested, completed);
	for (uint32_t i = 0; i < n; i++)
		cu.cuptiActivityEnable(kinds[i]);
}

void manners_flush(bool is_forced)
{
	cu.cuCtxSynchronize();
	cu.cuptiActivityFlushAll(is_forced ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0);
}

uint32_t manners_count(uint32_t kind)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < seen.n; i++)
		n += seen.record[i].kind == kind;
	return n;
}

int manners_find(uint32_t kind)
{
	for (uint32_t i = 0; i < seen.n; i++)
		if (seen.record[i].kind == kind)
			return (int)i;
	return -1;
}

/* The device is opened in the child only: no process that used CUDA may fork. */
static int ask_in_child(const struct manners_point *point)
{
	int status = 0;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (!child) {
		const char *why = manners_open();

		if (*why) {
			fprintf(stderr, "manners: %s\n", why);
			_exit(77);
		}
		alarm(MOST_SECONDS);
		printf("%s\t", point->name);
		point->ask();
		printf("\n");
		fflush(stdout);
		_exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		return 1;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		return 77;
	if (WIFSIGNALED(status))
		printf("%s\t%s\n", point->name,
		       WTERMSIG(status) == SIGALRM ? "hangs" : strsignal(WTERMSIG(status)));
	return 0;
}

int main(int argc, char **argv)
{
	const struct manners_point *const tables[] = {manners_points, manners_costs};

	for (size_t t = 0; t < sizeof(tables) / sizeof(tables[0]); t++)
		for (const struct manners_point *p = tables[t]; p->name; p++) {
			if (argc > 1 && strcmp(argv[1], p->name))
				continue;
			if (ask_in_child(p) == 77)
				return 77;
		}
	return 0;
}
