/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_calls.h - CUPTI's callbacks: the subscriber, and the few calls that are heard
 *
 * Heard are, one by one and never a whole domain: allocations and frees of device memory
 * (driver API), contexts made and destroyed, cudaProfilerStart and Stop, fatal errors. A
 * callback costs the guest under a microsecond; disarmed there are none.
 *
 * A library may call us at any time until tp_cupti_calls_close returned, and, where another
 * thread was in a callback just then, a moment longer: what callbacks use stays for ever.
 */
#ifndef TP_PROBE_CUPTI_CALLS_H
#define TP_PROBE_CUPTI_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Subscribes. 0; -EBUSY: someone else has CUPTI (`why` names him where CUPTI does); other
 * -errno, with the reason in `why`. */
int tp_cupti_calls_open(char *why, size_t cap);
void tp_cupti_calls_close(void);	/* disables and unsubscribes */

/*
 * Which allocation callbacks are on. RARE leaves out the stream-ordered ones, which a program
 * may call a thousand times a step: what remains are tens a second at most, mostly at the
 * start, and must be heard from the start on for the sums of live memory to be right.
 * Serialised inside: any thread; who comes while another one is at it leaves it to that one.
 */
enum tp_cupti_memory {
	TP_CUPTI_MEMORY_OFF = 0,
	TP_CUPTI_MEMORY_ALL = 1,
	TP_CUPTI_MEMORY_RARE = 2,
};
void tp_cupti_calls_memory(enum tp_cupti_memory which);

/* CUPTI says that it is dead (CUPTI_CBID_STATE_FATAL_ERROR): never call it again. */
bool tp_cupti_calls_is_dead(void);
void tp_cupti_calls_forked(void);

#endif
