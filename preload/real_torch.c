/* SPDX-License-Identifier: Apache-2.0 */
/*
 * real_torch.c - finding torch's own functions
 */
#include "preload/real_torch.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>

#include "preload/real.h"
#include "runtime/probe/torch/torch_abi.h"

/* Of a program that torch is a part of the handle has what is preloaded, too. */
static bool is_ours(const void *function)
{
	Dl_info its, ours;

	return dladdr(function, &its) && dladdr((const void *)is_ours, &ours) &&
	       its.dli_fbase == ours.dli_fbase;
}

static void *find_in(void *library, const char *symbol)
{
	void *real = library ? dlsym(library, symbol) : NULL;

	if (!real)
		dlerror();
	return real && !is_ours(real) ? real : NULL;
}

void *tp_real_torch_find(const char *stem, const char *symbol, const void *caller)
{
	int saved = errno;
	void *real = find_in(tp_torch_library(stem), symbol);
	Dl_info info;

	if (!real && dladdr(caller, &info))
		real = find_in(dlopen(info.dli_fname, RTLD_NOLOAD | RTLD_LAZY), symbol);
	if (!real)
		real = tp_real_next(symbol);
	errno = saved;
	return real;
}
