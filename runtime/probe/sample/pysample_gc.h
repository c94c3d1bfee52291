/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pysample_gc.h - is the interpreter collecting garbage, and how often has it: read from outside
 *
 * CPython 3.9 to 3.14 keep it in one structure of the interpreter's: figures of three generations, whether
 * a collection runs, and the lists gc.garbage and gc.callbacks. These two are searched for, and the figures
 * compared with gc.get_stats(). Nothing is run when it is read.
 */
#ifndef TP_PROBE_PYSAMPLE_GC_H
#define TP_PROBE_PYSAMPLE_GC_H

#include <stdbool.h>
#include <stdint.h>

enum { TP_PYSAMPLE_GENERATIONS = 3 };

struct tp_pysample_gc {
	bool is_collecting;
	uint64_t collections[TP_PYSAMPLE_GENERATIONS];	/* that have ended; the last is the full ones */
};

/* With the interpreter's lock held, once. NULL, or why it cannot be read. `interpreter`: its state. */
const char *tp_pysample_gc_init(const char *interpreter);

/* Any thread. False, and all zero: it is not known. */
bool tp_pysample_gc_read(struct tp_pysample_gc *gc);

#endif
