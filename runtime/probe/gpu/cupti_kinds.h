/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_kinds.h - which kinds of records are asked of CUPTI in a window, and of which calls
 *
 * One thread at a time: the one that has the turn (cupti.c). A kind that CUPTI refuses is off
 * from then on, said once; the others go on.
 */
#ifndef TP_PROBE_CUPTI_KINDS_H
#define TP_PROBE_CUPTI_KINDS_H

#include <stdbool.h>
#include <stdint.h>

#include <cupti.h>

#include "runtime/engine/config/config.h"

void tp_cupti_kinds_on(const struct tp_config *config);
void tp_cupti_kinds_off(void);

/* Is it well? Else it is counted. */
bool tp_cupti_is_ok(CUptiResult result);
uint64_t tp_cupti_errors(void);
/* Nothing is refused any more: another CUPTI, or another process. */
void tp_cupti_kinds_forget(void);

#endif
