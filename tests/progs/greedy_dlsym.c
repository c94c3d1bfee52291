/* SPDX-License-Identifier: Apache-2.0 */
/*
 * greedy_dlsym.c - a dlsym that uses the heap, as some versions of the C library have it
 *
 * Preloaded after the library under test, which looks for the real malloc with it. Blocks of
 * that time are resized and given back later, when the real malloc is known.
 */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *kept[64];
static int n_kept, n_wrong;

static void use_heap(void)
{
	char *block = calloc(3, 50);
	void *aligned = NULL;

	if (!block || block[0] || block[149])
		n_wrong++;
	strcpy(block, "kept");
	block = realloc(block, 500);
	if (!block || strcmp(block, "kept") != 0 || malloc_usable_size(block) < 500)
		n_wrong++;
	if (n_kept < 64)
		kept[n_kept++] = block;
	else
		free(block);
	if (posix_memalign(&aligned, 256, 100) || (size_t)aligned % 256)
		n_wrong++;
	free(aligned);
	free(malloc(100));
}

void *dlsym(void *handle, const char *name)
{
	static const char *const versions[] = {
		"GLIBC_2.2.5", "GLIBC_2.17", "GLIBC_2.16", "GLIBC_2.24", "GLIBC_2.11", "GLIBC_2.10",
	};
	void *found = NULL;

	use_heap();
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]) && !found; i++)
		found = dlvsym(handle, name, versions[i]);
	return found;
}

static __attribute__((destructor)) void give_back(void)
{
	char path[64];

	for (int i = 0; i < n_kept; i++) {
		if (strcmp(kept[i], "kept") != 0)
			n_wrong++;
		kept[i] = realloc(kept[i], 100000);
		if (strcmp(kept[i], "kept") != 0)
			n_wrong++;
		free(kept[i]);
	}
	snprintf(path, sizeof(path), "%d kept, %d wrong\n", n_kept > 5, n_wrong);
	fputs(path, stdout);
	fflush(stdout);
}
