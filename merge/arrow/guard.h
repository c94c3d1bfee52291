/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guard.h - the rooms below, called from a library
 *
 * They are for one thread, say what is wrong on stderr, and end the program when memory is out. Behind the
 * guard they are one at a time, what they say is kept, and memory that is out is an error: what was being
 * made is then left as it is, and lost.
 */
#ifndef TP_MERGE_ARROW_GUARD_H
#define TP_MERGE_ARROW_GUARD_H

#include "runtime/base/text.h"

/* `what` returns 0 or an errno, and so does this; ENOMEM. What was said goes to `said`. */
int tp_guard(int (*what)(void *ctx), void *ctx, struct tp_text *said);
/* `what`, alone: it asks for no memory. */
void tp_guard_quiet(void (*what)(void *ctx), void *ctx);

#endif
