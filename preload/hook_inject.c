/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook_inject.c - the function that the CUDA driver looks for in CUDA_INJECTION64_PATH
 *
 * The driver opens that library inside cuInit and calls InitializeInjection in it: before
 * there is a context, when everything about CUPTI may still be set. So the variable is set to
 * our own path, in processes in which a training may come to be, and only where it is not set: its
 * owner has reasons (Nsight sets it).
 *
 * The driver tears CUDA down in an exit handler of its own. Handlers run newest first, and the
 * driver's is older than those that are registered here: at the end the session is closed
 * while CUPTI still works, and then CUPTI is left alone.
 */
#include "preload/hook_inject.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "preload/export.h"
#include "preload/hook_proc.h"
#include "runtime/engine/config/config.h"
#include "runtime/probe/gpu/cupti.h"

#define VARIABLE "CUDA_INJECTION64_PATH"

int InitializeInjection(void);

static bool is_allowed;

TP_EXPORT int InitializeInjection(void)
{
	int kept_errno = errno;

	if (is_allowed) {
		(void)atexit(tp_cupti_end);
		tp_hook_proc_at_exit();
		tp_cupti_inject();
	}
	errno = kept_errno;
	return 1;
}

void tp_hook_inject_init(const struct tp_config *config)
{
	const char *set = getenv(VARIABLE);
	int kept_errno = errno;
	char path[PATH_MAX];
	Dl_info info;

	if (!(config->record & (TP_RECORD_CUDA | TP_RECORD_DEVMEM)))
		return;
	tp_cupti_allow(config);
	/* The guest may change its folder before the driver reads it. */
	if (dladdr((void *)InitializeInjection, &info) && info.dli_fname &&
	    realpath(info.dli_fname, path)) {
		if (!set)
			setenv(VARIABLE, path, 0);
		else if (*set && strcmp(set, path))
			tp_cupti_injection_taken(set);
	}
	is_allowed = true;
	errno = kept_errno;
}
