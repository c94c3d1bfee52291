/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pystack_check.h - are the offsets right? Asked of the public API, in this process
 */
#ifndef TP_PROBE_PYSTACK_CHECK_H
#define TP_PROBE_PYSTACK_CHECK_H

#include "runtime/probe/python/pyframe_layout.h"

/*
 * Every frame of this thread, outermost included: code, name, file, line; more lines of each code;
 * strings of each width. NULL: all agree, else what does not. Lock held, a Python frame on the
 * stack; leaves no exception behind.
 */
const char *tp_pystack_check(const struct tp_pyframe_layout *layout);

#endif
