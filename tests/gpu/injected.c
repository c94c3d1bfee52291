/* SPDX-License-Identifier: Apache-2.0 */
/*
 * injected.c - a library for CUDA_INJECTION64_PATH that writes down how it was called
 *
 * Into the file that MANNERS_SEEN names; manners.c shows it.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

__attribute__((visibility("default"))) int InitializeInjection(void);

int InitializeInjection(void)
{
	static int n_calls;
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	__typeof__(&cuCtxGetCurrent) current =
		driver ? (__typeof__(&cuCtxGetCurrent))dlsym(driver, "cuCtxGetCurrent") : NULL;
	const char *path = getenv("MANNERS_SEEN");
	FILE *file = path ? fopen(path, "w") : NULL;

	n_calls++;
	if (file) {
		fprintf(file, "called %d times, on %s thread, libcuda %s", n_calls,
			syscall(SYS_gettid) == getpid() ? "the calling" : "another",
			current ? "is mapped" : "is not found");
		fclose(file);
	}
	return 1;
}
