/* SPDX-License-Identifier: Apache-2.0 */
/*
 * range_memory.h - ranges at whose start and end memory is looked at: those of TRAINPROF_MEMORY_AT
 *
 * A thread of the program has no descriptor to read /proc with. So the one that starts or ends such a range
 * wakes the drain thread, which takes a sample at once (host.c), and sleeps until that is taken, 2 ms at
 * most: 20 to 100 us as a rule. Nothing where no range is named.
 */
#ifndef TP_ENGINE_RANGE_MEMORY_H
#define TP_ENGINE_RANGE_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

/* `names` as of range_names.h; "": none. They stay where they are. Before there are other threads. */
void tp_range_memory_open(const char *names);

extern bool tp_range_memory_is_on __attribute__((visibility("hidden")));
void tp_range_memory_tell_named(uint32_t name);

/* In windows, at the start and the end of each range that is recorded; `name` as interned. Threads: any. */
static inline void tp_range_memory_tell(uint32_t name)
{
	if (__builtin_expect(tp_range_memory_is_on, 0))
		tp_range_memory_tell_named(name);
}

/* Drain thread: a range has started or ended, and its sample is not taken yet. */
bool tp_range_memory_is_due(void);
/* The sample is taken. */
void tp_range_memory_done(void);

#endif
