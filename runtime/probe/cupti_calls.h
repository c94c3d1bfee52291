/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_calls.h - CUPTI's callbacks: the subscriber, and the few calls that are heard
 *
 * Heard are, one by one and never a whole domain: allocations and frees of device memory
 * (driver API), contexts made and destroyed, cudaProfilerStart and Stop, fatal errors. A
 * callback costs the guest under a microsecond; disarmed there are none.
 */
#ifndef TP_PROBE_CUPTI_CALLS_H
#define TP_PROBE_CUPTI_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Subscribes. 0; -EBUSY: someone else has CUPTI (`why` names him where CUPTI does); other
 * -errno. */
int tp_cupti_calls_open(char *why, size_t cap);
void tp_cupti_calls_close(void);	/* disables and unsubscribes */
/* Allocation callbacks on or off. Serialised inside. */
void tp_cupti_calls_memory(bool is_on);
/* CUPTI says that it is dead (CUPTI_CBID_STATE_FATAL_ERROR): never call it again. */
bool tp_cupti_calls_is_dead(void);
void tp_cupti_calls_forked(void);

#endif
