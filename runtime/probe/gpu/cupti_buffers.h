/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_buffers.h - the memory that CUPTI writes activity records to
 *
 * One mapping of TRAINPROF_CUPTI_BUFFER bytes, pre-faulted at warm-up, cut into buffers that
 * wander: free -> held by CUPTI -> full (queue) -> drain thread -> zeroed -> free. requested
 * runs on guest threads in the middle of a CUDA call, completed on CUPTI's: neither allocates,
 * waits or calls out; when nothing is free, CUPTI gets none (>= 12.9) or one whose records are
 * thrown away and counted (older CUPTI crashes without one).
 */
#ifndef TP_PROBE_CUPTI_BUFFERS_H
#define TP_PROBE_CUPTI_BUFFERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cupti.h>

/* Maps them, once: later calls change nothing. 0 or -ENOMEM. */
int tp_cupti_buffers_open(uint64_t bytes, uint32_t version);
void tp_cupti_buffers_warm(void);	/* pre-faults; drain thread; once */

/* For cuptiActivityRegisterCallbacks. */
void CUPTIAPI tp_cupti_buffer_requested(uint8_t **buffer, size_t *size, size_t *max_records);
void CUPTIAPI tp_cupti_buffer_completed(CUcontext context, uint32_t stream, uint8_t *buffer,
					size_t size, size_t valid);

bool tp_cupti_buffers_are_open(void);
bool tp_cupti_buffer_is_own(const uint8_t *buffer);	/* the beginning of one */

/* Drain thread: the oldest full buffer, or NULL; give it back when it is decoded. */
uint8_t *tp_cupti_buffer_take(size_t *n_bytes);
void tp_cupti_buffer_give(uint8_t *buffer);

uint32_t tp_cupti_buffers_held(void);	/* by CUPTI now */
/* Of them, how many CUPTI has had since `time` (ticks) or longer: they may hold records of then. */
uint32_t tp_cupti_buffers_held_since(uint64_t time);
uint32_t tp_cupti_buffers_full(void);	/* waiting for the drain */
uint64_t tp_cupti_buffers_refused(void);
uint64_t tp_cupti_buffers_trashed_bytes(void);	/* valid bytes thrown away */
void tp_cupti_buffers_forked(void);

#endif
