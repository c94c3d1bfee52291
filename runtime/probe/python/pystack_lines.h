/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pystack_lines.h - the line of an instruction, from a code object's table
 *
 * Pure: reads `n` bytes of the table at most, whatever they are.
 */
#ifndef TP_PROBE_PYSTACK_LINES_H
#define TP_PROBE_PYSTACK_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/probe/python/pyframe_layout.h"

/*
 * `at`: byte of the code; below 0 (nothing has run yet): `first`, which is co_firstlineno.
 * 0: the instruction belongs to no line.
 */
uint32_t tp_pystack_line(enum tp_pylines kind, const uint8_t *table, size_t n, int32_t first,
			 int64_t at);

#endif
