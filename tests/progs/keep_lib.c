/* SPDX-License-Identifier: Apache-2.0 */
/* keep_lib.c - the walk over containers alone, as a library for ctypes: keep_check.py */
#include <time.h>

#include "runtime/base/text.h"
#include "runtime/base/thread.h"
#include "runtime/probe/keep/keep_walk.h"
#include "runtime/probe/python/pyapi.h"
#include "runtime/probe/python/pyframe.h"

#define EXPORTED __attribute__((visibility("default")))

static char lines[1 << 18];
static struct tp_text out;

/* Frames have tests of their own: there is one variable of one function. */
static struct tp_pyframe_local local;

void tp_pyframe_each_local(void (*each)(void *ctx, const struct tp_pyframe_local *local), void *ctx)
{
	if (local.object)
		each(ctx, &local);
}

EXPORTED void keep_local(void *code, void *name, void *object)
{
	local = (struct tp_pyframe_local){.code = code, .name = name, .object = object};
}

uint64_t tp_thread_cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void take(const struct tp_keep_found *found)
{
	bool has_tensor;
	const enum tp_keep_kind kind = found->kind == TP_KEEP_CACHE ? TP_KEEP_DICT : found->kind;
	const size_t bytes = tp_keep_item_bytes(found->object, kind, &has_tensor);

	tp_text_fmt(&out, "%u %lu %lu %s: ", (unsigned)found->kind, (unsigned long)found->size,
		    (unsigned long)bytes, tp_keep_file(found));
	tp_keep_name(found, &out);
	tp_text_char(&out, '\n');
}

/* NULL, or why this interpreter cannot be read. */
EXPORTED const char *keep_init(void)
{
	const char *why = tp_pyapi_find();

	return why ? why : tp_keep_api_find() ? NULL : "it lacks functions";
}

/* Lines "KIND SIZE BYTES FILE: NAME"; NULL: given up. */
EXPORTED const char *keep_walk(void)
{
	bool is_whole;

	tp_text_init(&out, lines, sizeof(lines));
	tp_keep_begin();
	is_whole = tp_keep_walk(take);
	tp_keep_end();
	return is_whole && !out.is_cut ? lines : NULL;
}
