/* SPDX-License-Identifier: Apache-2.0 */
/*
 * range_taker.c - a library that comes before us and has torch's constructor of ranges for itself
 *
 * Preloaded first; what it was called for is printed at the end, as a number.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define RANGE_MADE "_ZN2at14RecordFunctionC1ENS_11RecordScopeE"

static unsigned long n_made;

void take_range(void *range, uint8_t scope) __asm__(RANGE_MADE);

__attribute__((visibility("default"))) void take_range(void *range, uint8_t scope)
{
	void (*real)(void *range, uint8_t scope);
	void *torch = dlopen("libtorch_cpu.so", RTLD_NOLOAD | RTLD_LAZY);

	*(void **)&real = torch ? dlsym(torch, RANGE_MADE) : NULL;
	if (!real)
		abort();
	n_made++;
	real(range, scope);
}

static __attribute__((destructor)) void say(void)
{
	if (n_made)
		printf("%lu taken\n", n_made);
}
