/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pyframe_lib.c - the frame reader as a library of its own, for pyframe_check.py to call
 *
 * Built by tests/flow/300-pyframe.sh together with runtime/probe/python/pyframe.c. Never shipped.
 */
#include "runtime/probe/python/pyframe.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT const char *init(void);
EXPORT const char *init(void)
{
	const char *why = tp_pyframe_init();

	return why ? why : "";
}

EXPORT uint64_t object(int function);
EXPORT uint64_t object(int function)
{
	return tp_pyframe_object((enum tp_pyframe_function)function);
}

EXPORT uint64_t loader(int32_t *n_yielded);
EXPORT uint64_t loader(int32_t *n_yielded)
{
	return tp_pyframe_loader(n_yielded);
}
