/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_hold.h - who calls CUPTI for us, and what we hold of it: nothing, itself, its records
 *
 * Any thread says what is wanted (a window is armed, another user has come) and calls
 * tp_cupti_follow. One thread has the turn and brings CUPTI to what is wanted; the others do not
 * wait for it: it looks again before it leaves. So no lock is held while CUPTI is called, and
 * the last word is the newest. Only who must have CUPTI free of us waits, for a second at most.
 */
#ifndef TP_PROBE_CUPTI_HOLD_H
#define TP_PROBE_CUPTI_HOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/engine/config/config.h"

enum tp_cupti_state {
	TP_CUPTI_AWAY = 0,	/* it was not taken yet, or another user has it */
	TP_CUPTI_HELD = 1,	/* subscribed, buffers registered, no records asked for */
	TP_CUPTI_ON = 2,	/* kinds are enabled */
	TP_CUPTI_OFF = 3,	/* it cannot be had */
};

/* Before anything else; `config` stays valid. */
void tp_cupti_hold_init(const struct tp_config *config);
/* NULL: not initialised, or CUDA is not to be recorded. */
const struct tp_config *tp_cupti_hold_config(void);

enum tp_cupti_state tp_cupti_hold_state(void);
/* CUDA is initialised in this process, or is being so. */
bool tp_cupti_cuda_is_here(void);
/* Was CUDA initialised without our being told? Cheap where nothing was loaded since the last
 * look. */
void tp_cupti_look_for_cuda(void);
/* The driver says that it initialises. */
void tp_cupti_cuda_came(void);
/* CUPTI must not be called again: CUDA is being torn down. */
void tp_cupti_hold_end(void);
/* CUPTI belongs to another; `path` as in CUDA_INJECTION64_PATH. */
void tp_cupti_hold_taken(const char *path);

void tp_cupti_want_records(bool is_wanted);
/* Another user: NULL, or what to call him. Stays valid. */
void tp_cupti_want_none(const char *other);
void tp_cupti_follow(void);
/* Follows until nothing is held, or `ms` have passed. */
void tp_cupti_leave(uint32_t ms);

/* Why it is off, once, where CUDA has devices; from the session's threads. */
void tp_cupti_say_off(void);

/* Drain thread: asks CUPTI for its buffers; with `is_forced` also for those with unfinished
 * records. False: another thread has the turn. */
bool tp_cupti_flush(bool is_forced);
uint64_t tp_cupti_dropped(void);	/* records, by CUPTI itself */

/* Lets go of CUPTI for good, at the end of the session. */
void tp_cupti_hold_close(void);
void tp_cupti_hold_forked(void);

#endif
