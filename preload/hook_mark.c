/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hook_mark.c - the functions behind preload/trainprof.h, and the one that NVTX looks for
 *
 * Each module that uses NVTX reads NVTX_INJECTION64_PATH when it first needs to, opens that
 * library and calls InitializeInjectionNvtx2 in it, or InitializeInjectionNvtx when it was built
 * for NVTX 2. So the variable is set to our own path, in processes in which a training may come to
 * be, and only where it is not set: its owner has reasons.
 */
#include "preload/hook_mark.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "preload/export.h"
#include "runtime/engine/config/config.h"
#include "runtime/engine/intern.h"
#include "runtime/probe/mark/mark.h"

#define VARIABLE "NVTX_INJECTION64_PATH"

void trainprof_v1_begin(const char *name, const char *category);
void trainprof_v1_end(void);
void trainprof_v1_instant(const char *name, const char *category);
void trainprof_v1_counter(const char *name, const char *unit, double value);
void trainprof_v1_step(void);
int InitializeInjectionNvtx(const void *(*get_table)(uint32_t id));
int InitializeInjectionNvtx2(const void *(*get_table)(uint32_t id));

static uint32_t length(const char *text)
{
	return text ? (uint32_t)strnlen(text, TP_INTERN_MAX) : 0;
}

static struct tp_mark_name read_name(const char *text, const char *category)
{
	return (struct tp_mark_name){
		.text = text, .n_text = length(text),
		.category = category, .n_category = length(category),
	};
}

TP_EXPORT void trainprof_v1_begin(const char *text, const char *category)
{
	if (tp_mark_is_nesting()) {
		struct tp_mark_name name = read_name(text, category);

		tp_mark_push(&name);
	}
}

TP_EXPORT void trainprof_v1_end(void)
{
	if (tp_unlikely(tp_mark_depth != 0))
		tp_mark_pop(NULL);
}

TP_EXPORT void trainprof_v1_instant(const char *text, const char *category)
{
	if (tp_mark_is_on()) {
		struct tp_mark_name name = read_name(text, category);

		tp_mark_instant(&name, 0, false);
	}
}

TP_EXPORT void trainprof_v1_counter(const char *name, const char *unit, double value)
{
	if (tp_mark_is_on())
		tp_mark_counter(name ? name : "", unit ? unit : "", value);
}

TP_EXPORT void trainprof_v1_step(void)
{
	int kept_errno = errno;

	tp_mark_step();
	errno = kept_errno;
}

TP_EXPORT int InitializeInjectionNvtx2(const void *(*get_table)(uint32_t id))
{
	return tp_mark_nvtx_attach(get_table);
}

TP_EXPORT int InitializeInjectionNvtx(const void *(*get_table)(uint32_t id))
{
	return tp_mark_nvtx_attach(get_table);
}

bool tp_hook_mark_is_preloaded(void)
{
	/* RTLD_DEFAULT would find us in our own scope, too. */
	void *program = dlopen(NULL, RTLD_LAZY);
	bool is_ours = !program ||
		       dlsym(program, "trainprof_v1_step") == (void *)trainprof_v1_step;

	dlerror();
	return is_ours;
}

void tp_hook_mark_init(const struct tp_config *config)
{
	const char *set = getenv(VARIABLE);
	int kept_errno = errno;
	char path[PATH_MAX];
	Dl_info info;

	if (!(config->record & TP_RECORD_MARKS) && config->step.source != TP_STEP_RANGE)
		return;
	tp_mark_nvtx_allow();
	/* The guest may change its folder before a module reads it. */
	if (dladdr((void *)InitializeInjectionNvtx2, &info) && info.dli_fname &&
	    realpath(info.dli_fname, path)) {
		if (!set)
			setenv(VARIABLE, path, 0);
		else if (*set && strcmp(set, path))
			tp_mark_nvtx_taken(set);
	}
	errno = kept_errno;
}
