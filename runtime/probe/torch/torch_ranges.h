/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torch_ranges.h - who gets our callback for user ranges: all threads, or each range its own
 *
 * Threads: any; what says nothing else takes a lock for a microsecond, and torch's own.
 */
#ifndef TP_PROBE_TORCH_RANGES_H
#define TP_PROBE_TORCH_RANGES_H

#include <stdbool.h>
#include <stdint.h>

/* Between the two calls around a constructor. */
struct tp_torch_range_made {
	uint64_t own;	/* handle of the range's own callback, 0: it has none */
	uint32_t turn;
};

/*
 * Around torch's constructor of a user range, on its thread. False: the callback for all came meanwhile, and
 * the range was destroyed: it is to be made anew, with these calls around it. Some 100 ns where the range is
 * given its own callback, else 10.
 */
struct tp_torch_range_made tp_torch_range_enter(const void *range);
bool tp_torch_range_leave(void *range, struct tp_torch_range_made entered);

/* ---- torch_steps.c ---- */

/* A user range begins; it has ended: perhaps the callback for all goes now. */
void tp_torch_range_came(const void *range, bool is_async);
void tp_torch_range_ended(void);

/* ---- torch.c ---- */

/* Before there is a session: also of autograd nodes. */
void tp_torch_ranges_watch(void);
/* From now on of ranges only. */
void tp_torch_ranges_open(void);
/* A window begins, or the flight recorder's time; it ends. */
void tp_torch_ranges_arm(void);
void tp_torch_ranges_disarm(void);
/* Nothing is wanted any more. may_call: torch may be called. */
void tp_torch_ranges_end(bool may_call);
/* On the thread that forks; the second in the parent. */
void tp_torch_ranges_before_fork(void);
void tp_torch_ranges_after_fork(void);
/* In the child; false: it has no callback that it could be watched by, and may not call torch for one. */
bool tp_torch_ranges_forked(void);

#endif
