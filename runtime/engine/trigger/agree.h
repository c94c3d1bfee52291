/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agree.h - of the windows that ranks propose one stands, and all take it over
 *
 * Drain thread. What is taken over is said to the session at once (ops.h); a rank that is there
 * already says so and counts it.
 */
#ifndef TP_ENGINE_AGREE_H
#define TP_ENGINE_AGREE_H

#include "runtime/engine/trigger/ops.h"
#include "runtime/engine/trigger/proposal.h"

struct tp_agree {
	const struct tp_trigger_ops *ops;
	struct tp_proposals proposals;
	uint32_t next;			/* number of the next proposal */
	uint64_t start_real_ns;		/* of this process: older proposals are of another run */
	bool is_alone;			/* proposals cannot be written: said */
	uint32_t n_windows, n_late, n_missed;
	struct tp_proposal last;	/* window that was taken over */
	enum tp_sched_asked asked;	/* what became of it */
	struct tp_proposal stop;	/* likewise; from 0: none */
};

enum tp_agreed { TP_AGREED_NOTHING, TP_AGREED_WINDOW, TP_AGREED_STOP };

/* `dir`: of all ranks; where it cannot be opened the rank decides alone. */
void tp_agree_open(struct tp_agree *agree, const char *dir, uint32_t restart,
		   const struct tp_trigger_ops *ops);
void tp_agree_close(struct tp_agree *agree);
/* Takes over the next proposal, if there is one. */
enum tp_agreed tp_agree_next(struct tp_agree *agree);
/* Proposes steps [from, to); equal: windows of the schedule end with `from`. Another rank's
 * may stand instead of it, of the other sort even. */
enum tp_agreed tp_agree_propose(struct tp_agree *agree, uint64_t from, uint64_t to, const char *why);

#endif
