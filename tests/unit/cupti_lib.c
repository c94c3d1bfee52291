/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_lib.c - which CUPTI is opened, and what is said when none can be: with stand-ins that are
 * compiled here, and with NVIDIA's own, which opens without a GPU or a driver
 */
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/probe/gpu/cupti_lib.h"
#include "tests/unit/ring_rig.h"

static char why[400];

static void set_up(void)
{
	rig_make_dir();
	unsetenv("CUDA_HOME");
	why[0] = '\0';
}

static void run(const char *format, const char *a, const char *b, const char *c)
{
	char command[4000];

	snprintf(command, sizeof(command), format, a, b, c);
	cr_assert_eq(system(command), 0, "%s", command);
}

static const char *in_dir(const char *below)
{
	static char path[4][600];
	static int at;

	at = (at + 1) % 4;
	snprintf(path[at], sizeof(path[at]), "%s/%s", rig_dir, below);
	return path[at];
}

static const char *compiler(void)
{
	return getenv("CC") ? getenv("CC") : "cc";
}

/* A library of that name that exports the functions of one line of C. */
static void make_library(const char *below, const char *soname, const char *source)
{
	char folder[600];

	snprintf(folder, sizeof(folder), "%s", in_dir(below));
	*strrchr(folder, '/') = '\0';
	run("mkdir -p '%s'%s%s", folder, "", "");
	cr_assert_lt(snprintf(folder, sizeof(folder), "-Wl,-soname,%s -o '%s'", soname, in_dir(below)),
		     (int)sizeof(folder));
	run("echo '%s' | %s -w -shared -fPIC %s -xc -", source, compiler(), folder);
}

/* All functions of CUPTI but `missing`; each returns `result`, the version is `version`. */
static void make_cupti(const char *below, const char *version, const char *result,
		       const char *missing)
{
	char source[3000];
	int n = snprintf(source, sizeof(source),
			 "int cuptiGetVersion(unsigned *v) { *v = %s; return %s; } ", version, result);

#define _(name, since)                                                                     \
	if (strcmp(#name, "cuptiGetVersion") && strcmp(#name, missing))                    \
		n += snprintf(source + n, sizeof(source) - (size_t)n, "int " #name "(void) { return 0; } ");
#include "runtime/probe/gpu/cupti_calls.def"
#undef _
	make_library(below, strrchr(below, '/') ? strrchr(below, '/') + 1 : below, source);
}

static void make_driver(const char *version)
{
	char source[200];

	snprintf(source, sizeof(source), "int cuDriverGetVersion(int *v) { *v = %s; return 0; }",
		 version);
	make_library("driver/libcuda.so.1", "libcuda.so.1", source);
	cr_assert_not_null(dlopen(in_dir("driver/libcuda.so.1"), RTLD_NOW | RTLD_LOCAL), "%s",
			   dlerror());
}

/* ... and errno is as it was. */
static int open_lib(const char *wanted)
{
	int result;

	errno = ENFILE;
	result = tp_cupti_lib_open(wanted, why, sizeof(why));
	cr_assert_eq(errno, ENFILE);
	cr_assert_eq(result == 0, tp_cupti.version != 0);
	cr_assert_eq(result == 0, *why == '\0', "%s", why);
	cr_assert_null(strchr(why, '\n'));
	return result;
}

TestSuite(cupti_lib, .init = set_up, .fini = rig_remove_dir);

Test(cupti_lib, opens_the_one_that_is_asked_for)
{
	char path[600];

	make_cupti("mine/libcupti.so.12", "22", "0", "cuptiSubscribe_v2");
	strcpy(path, in_dir("mine/libcupti.so.12"));
	cr_assert_eq(open_lib(path), 0, "%s", why);
	cr_assert_eq(tp_cupti.version, 22);
	cr_assert_eq(tp_cupti.release, 120400);
	cr_assert_str_eq(tp_cupti.path, path);
	cr_assert_not_null(tp_cupti.cuptiActivityEnable);
	cr_assert_null(tp_cupti.cuptiSubscribe_v2, "CUDA 12 has none");
	cr_assert_eq(open_lib("/nowhere"), 0, "open is open");
	cr_assert_str_eq(tp_cupti.path, path);
}

Test(cupti_lib, says_that_the_one_asked_for_is_not_there)
{
	cr_assert_eq(open_lib("/nowhere/libcupti.so"), -ENOENT);
	cr_assert_not_null(strstr(why, "'/nowhere/libcupti.so' (TRAINPROF_CUPTI_LIB)"), "%s", why);
	cr_assert_not_null(strstr(why, "No such file"), "%s", why);
	cr_assert_str_eq(tp_cupti_error(CUPTI_ERROR_UNKNOWN), "an error without a name");
}

Test(cupti_lib, takes_the_one_that_is_mapped)
{
	char path[600];

	make_cupti("loaded/libcupti.so.12", "26", "0", "");
	make_cupti("home/lib64/libcupti.so.12", "27", "0", "");
	setenv("CUDA_HOME", in_dir("home"), 1);
	strcpy(path, in_dir("loaded/libcupti.so.12"));
	cr_assert_not_null(dlopen(path, RTLD_NOW | RTLD_LOCAL));
	cr_assert_eq(open_lib(""), 0, "%s", why);
	cr_assert_eq(tp_cupti.version, 26);
	cr_assert_str_eq(tp_cupti.path, path);
}

/* NVIDIA's wheels of CUDA 12 and of 13, and a toolkit, of which a runtime library is mapped. */
Test(cupti_lib, looks_beside_the_cuda_libraries)
{
	static const struct {
		const char *runtime, *cupti;
	} layout[] = {
		{"nvidia/cuda_runtime/lib/libcudart.so.12", "nvidia/cuda_cupti/lib/libcupti.so.12"},
		{"nvidia/cu13/lib/libcudart.so.13", "nvidia/cu13/lib/libcupti.so.13"},
		{"torch/lib/libtorch_cuda.so", "nvidia/cu13/lib/libcupti.so.13"},
		{"cuda/lib64/libcublas.so.12", "cuda/extras/CUPTI/lib64/libcupti.so.12"},
		{"cuda/targets/x/lib/libcudart.so.12", "cuda/extras/CUPTI/lib64/libcupti.so.12"},
	};

	for (size_t i = 0; i < sizeof(layout) / sizeof(layout[0]); i++) {
		char real[4096];
		void *runtime;

		memset(&tp_cupti, 0, sizeof(tp_cupti));
		run("rm -rf '%s'%s%s", in_dir("nvidia"), "", "");
		run("rm -rf '%s'%s%s", in_dir("cuda"), "", "");
		make_library(layout[i].runtime, "x", "int x;");
		make_cupti(layout[i].cupti, "20", "0", "");
		runtime = dlopen(in_dir(layout[i].runtime), RTLD_NOW | RTLD_LOCAL);
		cr_assert_not_null(runtime, "%s", dlerror());
		cr_assert_eq(open_lib(""), 0, "%s: %s", layout[i].runtime, why);
		cr_assert_not_null(realpath(tp_cupti.path, real));
		cr_assert_str_eq(real, in_dir(layout[i].cupti));
		cr_assert_eq(tp_cupti.release, 120200);
		dlclose(runtime);
		/* It is never closed by the product; here the next one must not find it. */
		runtime = dlopen(tp_cupti.path, RTLD_NOLOAD | RTLD_NOW);
		dlclose(runtime);
		dlclose(runtime);
	}
}

Test(cupti_lib, is_never_newer_than_the_driver)
{
	make_driver("12040");
	make_cupti("home/extras/CUPTI/lib64/libcupti.so.13", "130000", "0", "");
	make_cupti("home/extras/CUPTI/lib64/libcupti.so.12", "22", "0", "");
	setenv("CUDA_HOME", in_dir("home"), 1);
	cr_assert_eq(open_lib(""), 0, "%s", why);
	cr_assert_eq(tp_cupti.version, 22);
}

Test(cupti_lib, is_the_newest_of_a_toolkit)
{
	make_driver("13000");
	make_cupti("home/extras/CUPTI/lib64/libcupti.so.13", "130000", "0", "");
	make_cupti("home/extras/CUPTI/lib64/libcupti.so.12", "22", "0", "");
	setenv("CUDA_HOME", in_dir("home"), 1);
	cr_assert_eq(open_lib(""), 0, "%s", why);
	cr_assert_eq(tp_cupti.version, 130000);
	cr_assert_eq(tp_cupti.release, 130000);
}

/* A driver so old that none can be for it: whatever this machine has is not taken. */
Test(cupti_lib, says_that_there_is_none)
{
	make_driver("10020");
	cr_assert_eq(open_lib(""), -ENOENT);
	cr_assert_not_null(strstr(why, "TRAINPROF_CUPTI_LIB may name one"), "%s", why);
}

Test(cupti_lib, refuses_what_it_cannot_use)
{
	static const struct {
		const char *version, *result, *missing, *said;
		int error;
	} row[] = {
		{"17", "0", "", "older than CUDA 11.8's (CUPTI_API_VERSION 17)", -ENOTSUP},
		{"0", "0", "", "older than CUDA 11.8's (CUPTI_API_VERSION 0)", -ENOTSUP},
		{"0", "999", "", "does not tell its version (error 999)", -EIO},
		{"26", "0", "cuptiActivityFlushAll", "has no cuptiActivityFlushAll", -ENOSYS},
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		char name[40];

		snprintf(name, sizeof(name), "%zu/libcupti.so.12", i);
		make_cupti(name, row[i].version, row[i].result, row[i].missing);
		why[0] = '\0';
		cr_assert_eq(open_lib(in_dir(name)), row[i].error, "%zu: %s", i, why);
		cr_assert_not_null(strstr(why, row[i].said), "%s", why);
		cr_assert_not_null(strstr(why, name), "%s", why);
	}
}

Test(cupti_lib, puts_versions_on_one_scale)
{
	static const uint32_t row[][2] = {
		{0, 0}, {17, 0}, {18, 110800}, {19, 120000}, {20, 120200}, {21, 120300}, {22, 120400},
		{23, 120500}, {24, 120600}, {26, 120800}, {27, 120900}, {28, 120901}, {29, 120901},
		{130000, 130000}, {130001, 130001}, {999999, 999999},
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		cr_assert_eq(tp_cupti_release(row[i][0]), row[i][1], "%u", row[i][0]);
}

/* NVIDIA's own library, on a machine that may have no driver. */
Test(cupti_lib, opens_the_real_one)
{
	static const char path[] = "build/cuda/lib/libcupti.so.13";
	const char *name = NULL;
	uint64_t time = 0;
	char full[600];

	if (access(path, R_OK))
		cr_skip_test("no %s: make setup gets it, but not for every processor", path);
	cr_assert_not_null(realpath(path, full));
	cr_assert_eq(open_lib(path), 0, "%s", why);
	cr_assert(tp_cupti.version >= 130000 && tp_cupti.version < 140000, "%u", tp_cupti.version);
	cr_assert_eq(tp_cupti.cuptiGetTimestamp(&time), CUPTI_SUCCESS);
	cr_assert_neq(time, 0);
	cr_assert_str_eq(tp_cupti_error(CUPTI_ERROR_INVALID_PARAMETER),
			 "CUPTI_ERROR_INVALID_PARAMETER");
	cr_assert_str_eq(tp_cupti_error((CUptiResult)123456), "an error without a name");
	cr_assert_eq(tp_cupti.cuptiGetCallbackName(CUPTI_CB_DOMAIN_RUNTIME_API, 211, &name),
		     CUPTI_SUCCESS);
	cr_assert_str_eq(name, "cudaLaunchKernel_v7000");
}
