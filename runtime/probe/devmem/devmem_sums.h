/* SPDX-License-Identifier: Apache-2.0 */
/*
 * devmem_sums.h - sums of device memory as counters, and what they leave unexplained
 *
 * Drain thread only, but for keep. In windows, when they change and once at the begin; and
 * once more as they were at the window's end:
 *
 *	group          counter (B)                   link
 *	device memory  KIND LIBRARY                  device; alive, by kind and by who asked for it
 *	device         GPU memory known              device; sum of the kinds that take memory of it
 *	device         GPU memory unattributed       device; what this process uses there as the
 *	                                             driver says (all processes, where it does not
 *	                                             say), less what is known: contexts, code,
 *	                                             CUPTI's buffers, what was allocated unheard
 *
 * Counters of one sample are of one moment, and stand in the order of the records: what was
 * recorded before it is in them, what was recorded after is not.
 */
#ifndef TP_PROBE_DEVMEM_SUMS_H
#define TP_PROBE_DEVMEM_SUMS_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/text.h"

struct tp_config;

void tp_devmem_sums_open(const struct tp_config *config);
uint32_t tp_devmem_sums_period_ms(void);
void tp_devmem_sums_tick(uint64_t now);
/* A window ends: these are its last sums. On the thread that ends it, a microsecond. */
void tp_devmem_sums_keep(void);
bool tp_devmem_sums_settle(uint64_t end, bool is_closing);
/* "devmem.live.DEVICE=...\ndevmem.peak.DEVICE=...\n", as kept. */
void tp_devmem_sums_report(struct tp_text *totals);
void tp_devmem_sums_forked(void);

#endif
