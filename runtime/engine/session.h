/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session.h - the run of one profiled process, as its training sees it: step boundaries become
 * phases and windows, probes are armed and disarmed
 *
 * It owns what a window is: number, bounds, what its end cost, how many were lost. How a session
 * begins and ends is in life.h; who writes its windows (window.h) asks it.
 *
 * A worker process of a rank (worker.h) follows: its windows are the rank's, steps of its own
 * count for nothing, until it shows to train itself (tp_session_lead).
 */
#ifndef TP_ENGINE_SESSION_H
#define TP_ENGINE_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/own_words.h"
#include "runtime/base/sync.h"
#include "runtime/engine/biased_sum.h"
#include "runtime/engine/config/config.h"
#include "runtime/engine/probe.h"

enum { TP_SESSION_WHY = 160 };	/* bytes of a reason */

enum tp_session_level {
	TP_LEVEL_NONE,
	TP_LEVEL_RECORDER,	/* the flight recorder: sources with tp_probe.is_for_recorder, without
				 * shapes and modules */
	TP_LEVEL_WINDOW,	/* warm-up or active */
};

static inline enum tp_session_level tp_session_level(void)
{
	return (enum tp_session_level)__atomic_load_n(&tp_own_words.level, __ATOMIC_RELAXED);
}

/* True while a window (warm-up or active) is open: hooks may make records. One relaxed load. */
static inline bool tp_session_is_armed(void)
{
	return tp_session_level() == TP_LEVEL_WINDOW;
}

/* The same, or the flight recorder keeps what hooks of its sources record. */
static inline bool tp_session_is_recording(void)
{
	return tp_session_level() != TP_LEVEL_NONE;
}

/* Between tp_session_open and tp_session_close (life.h). */
bool tp_session_is_open(void);

struct tp_step_facts;	/* step.h */

/*
 * The step in progress ended now, the next one begins. On the thread that runs the training
 * loop. Does what the schedule says: arms or disarms the probes, wakes the drain thread.
 * Cost: well under a microsecond when nothing changes.
 */
void tp_session_step(uint64_t now, const struct tp_step_facts *facts);

/*
 * An epoch begins: the step in progress began `now` (what lay before it, since the last
 * boundary, belongs to no step: evaluation, checkpoints), its number in the epoch is 0 and
 * the schedule starts over. The first call starts the run's first step.
 * A call with no finished step since the last one does not raise the epoch's number: only
 * the start of the step in progress moves (what was taken for an epoch was none, for
 * instance the check of the evaluation loop that some trainers run first).
 * `now` may lie in the past, but not before the last boundary.
 */
void tp_session_epoch(uint64_t now);

/*
 * What was counted as steps so far was not the training (the source of steps was a guess and
 * a better one came up): the schedule starts over as at the start of the run, also with
 * per=run, and the step in progress began `now`. Numbers of steps, epochs and windows go on.
 */
void tp_session_restart(uint64_t now);

/* This is a worker's session: its windows are those of its rank. */
bool tp_session_is_follower(void);
/*
 * Of a follower, on its drain thread, often (TP_SESSION_FOLLOW_MS): windows begin and end where
 * the rank's do, probes are armed and disarmed with its. True: something changed.
 */
enum { TP_SESSION_FOLLOW_MS = 10 };
bool tp_session_follow(void);
/* The follower trains itself, from now on: the schedule starts, with steps of its own. */
void tp_session_lead(uint64_t now);

/* A window that was asked for from outside: steps [from, to) of the run, beside the schedule's. */
enum tp_sched_asked tp_session_ask(uint64_t from, uint64_t to);
/* From this step on only windows that are asked for later; one that is open ends before it. */
void tp_session_stop(uint64_t from);
/* The window that was asked for last is over, or there was none. */
bool tp_session_is_asked_over(void);
/* Steps that have ended; the next number is that of the step in progress. */
uint64_t tp_session_steps(void);

/* The kernel's number of the thread that ended the last step; 0: none did. */
uint32_t tp_session_step_tid(void);
/* Bytes of tensors on the host alive, and the most in this step. */
void tp_session_tensor_bytes(uint64_t *live, uint64_t *peak);
/* Another value when tensors came or went, also as many bytes as before. */
uint64_t tp_session_tensor_turn(void);

/*
 * Something happened, in a few words: the flight recorder's steps become a window of their own, and
 * it starts anew. False: it is off, a window is open, or it was fired before and no step has ended since.
 */
bool tp_session_fire(const char *why);
/* Drain thread: why a window of the flight recorder was opened. */
const char *tp_session_fired_why(uint32_t window);
/*
 * Drain thread, when all windows that have begun are written: gives back what the flight recorder
 * need not hold. False: it does not stand.
 */
bool tp_session_recorder_trim(void);

/* Windows that were due, but TP_RING_WINDOWS earlier ones were not written yet. */
uint32_t tp_session_windows_lost(void);
/* Ticks that the boundary which ended the window cost the training thread. */
uint64_t tp_session_stall(uint32_t window);

/* Tensor bytes; apart from the rest because any thread writes them at any time. */
struct tp_session_tensors {
	struct tp_biased_sum live;	/* the peak is the step's */
	uint64_t device_live, device_peak;
	uint64_t turn;			/* atomic: of what came or went, but for some at the same time */
} __attribute__((aligned(TP_CACHE_LINE)));
extern struct tp_session_tensors tp_session_tensors __attribute__((visibility("hidden")));

static inline void tp_session_tensors_turn(void)
{
	uint64_t before = __atomic_load_n(&tp_session_tensors.turn, __ATOMIC_RELAXED);

	__atomic_store_n(&tp_session_tensors.turn, before + 1, __ATOMIC_RELAXED);
}

/* Tensor bytes alive, for the ledger: the tensor probe calls these (any thread, any time). Host;
 * is_owner: on one thread, see biased_sum.h. */
static inline void tp_session_live(bool is_owner, int64_t change)
{
	tp_session_tensors_turn();
	tp_biased_add(&tp_session_tensors.live, is_owner, change);
}
/* What lives on the host is not known any more. */
void tp_session_live_forget(void);
void tp_session_device_live(uint64_t total_bytes);		/* devices, as reported */

/* The ring is lost: recording ends, nothing more is written. On the drain thread. */
void tp_session_lose(void);

#endif
