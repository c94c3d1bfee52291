/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hangs.h - the hangs of a run, each told once for all of its processes; allocations that failed
 */
#ifndef TP_MERGE_HANGS_H
#define TP_MERGE_HANGS_H

#include "merge/model/model.h"

/* What happened and why, a line each. `say`: a line, without its end. */
typedef void (*tp_hangs_say_fn)(void *ctx, const char *line);
/* Returns how many hangs there were. */
uint32_t tp_hangs_say(const struct tp_run *run, tp_hangs_say_fn say, void *ctx);
/* The same of `most` of the allocations that failed, with what the process knew of who held the memory
 * or without; how many there were. */
uint32_t tp_ooms_say(const struct tp_run *run, uint32_t most, bool with_holders, tp_hangs_say_fn say,
		     void *ctx);

#endif
