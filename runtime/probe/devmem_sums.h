/* SPDX-License-Identifier: Apache-2.0 */
/*
 * devmem_sums.h - sums of device memory as counters, and what they leave unexplained
 *
 * Drain thread only. In windows, when they change and once at the begin:
 *
 *	group          counter (B)                   link
 *	device memory  KIND LIBRARY                  device; alive, by kind and by who asked for it
 *	device         GPU memory known              device; sum of the kinds that take memory of it
 *	device         GPU memory unattributed       device; what this process uses there as the
 *	                                             driver says (all processes, where it does not
 *	                                             say), less what is known: contexts, code,
 *	                                             CUPTI's buffers, what was allocated unheard
 *
 * and both of the latter once more at the window's end.
 */
#ifndef TP_PROBE_DEVMEM_SUMS_H
#define TP_PROBE_DEVMEM_SUMS_H

#include <stdbool.h>
#include <stdint.h>

struct tp_config;

void tp_devmem_sums_open(const struct tp_config *config);
uint32_t tp_devmem_sums_period_ms(void);
void tp_devmem_sums_tick(uint64_t now);
bool tp_devmem_sums_settle(uint64_t end, bool is_closing);

#endif
