/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step.h - where training steps and epochs begin and end, found from what the program does
 *
 * A pure state machine: the torch probe tells it what it saw (optimizer steps, zero_grad,
 * data loader, user ranges) with the time; it answers through struct tp_step_out. No clock,
 * no environment, no torch.
 *
 * Rules (reference: torch.md 2; DESIGN 5): a step ends at the end of the leading optimizer's step();
 * the leader is the first optimizer seen (by identity), so several optimizers count once a
 * round, and gradient accumulation gives one step per optimizer step. zero_grad and ranges
 * inside an optimizer step (LBFGS closures) do not count. If zero_grad comes more often than
 * it ever does in a whole step, the optimizer was skipped (gradient scaler found inf): the
 * step ended there, flagged. If two rounds of zero_grad (else of the loader) pass and no
 * optimizer step was ever seen (compiled step), zero_grad (else the loader) becomes the
 * source. With none of them: the clock. A loader is the training loader once an optimizer
 * step followed one of its batches; the first batch of a new pass over it begins an epoch.
 * A pass over another loader is an evaluation and changes nothing.
 *
 * Threads: calls may come from any guest thread; a lock of rank TP_LOCK_STEP inside.
 */
#ifndef TP_ENGINE_STEP_H
#define TP_ENGINE_STEP_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/engine/config.h"
#include "runtime/engine/session.h"

struct tp_step_out {
	void (*step)(uint64_t now, const struct tp_step_facts *facts);	/* tp_session_step */
	void (*epoch)(uint64_t now);					/* tp_session_epoch */
	void (*restart)(uint64_t now);	/* tp_session_restart; NULL: epoch is called instead */
};

/* `out` is called with the lock NOT held. ticks_per_ms: for the clock source. */
void tp_step_init(const struct tp_step_spec *spec, const struct tp_step_out *out,
		  uint64_t ticks_per_ms);

/* who: identity of the optimizer object, or a hash of the range's name when unknown. */
void tp_step_optimizer_begin(uint64_t who, uint64_t now);
void tp_step_optimizer_end(uint64_t who, uint64_t begin, uint64_t now);
void tp_step_zero_grad_end(uint64_t who, uint64_t now);

/* What a call of the loader brought. The call that ends a pass (StopIteration) brings none;
 * where that cannot be told, UNKNOWN, and it counts as a batch. */
enum tp_step_got {
	TP_STEP_GOT_NONE = 0,
	TP_STEP_GOT_BATCH = 1,
	TP_STEP_GOT_UNKNOWN = 2,
};

/*
 * loader: identity of the loader (stable over its passes); 0: not known (then no epochs).
 * is_first: this call fetches the first batch of a pass.
 */
void tp_step_loader_begin(uint64_t loader, bool is_first, uint64_t now);
void tp_step_loader_end(uint64_t loader, uint64_t begin, uint64_t now, enum tp_step_got got);

/* Any user range that is none of the above ended. */
void tp_step_range_end(const char *name, uint32_t n_bytes, uint64_t now);

/* Drain thread, every tick, outside windows too: lets the clock end a step. */
void tp_step_clock(uint64_t now);

/* For META and messages: "optimizer (AdamW)", "zero_grad", "clock 1000 ms". */
const char *tp_step_source_text(void);

#endif
