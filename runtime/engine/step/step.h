/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step.h - where training steps and epochs begin and end, found from what the program does
 *
 * A pure state machine: the torch probe tells it what it saw (optimizer steps, zero_grad,
 * data loader, user ranges) with the time; it answers through struct tp_step_out. No clock,
 * no environment, no torch.
 *
 * Rules:
 * - A step ends at the end of the leading optimizer's step() (leader.h), so several
 *   optimizers count once a round, and gradient accumulation gives one step per update. An
 *   optimizer may take the place of another one, in each epoch or in each step.
 *   zero_grad, loaders and optimizers inside an optimizer's step (LBFGS closures, wrappers) do
 *   not count, nor loaders inside a loader.
 * - Two calls of zero_grad with a batch but no optimizer between them: the gradient scaler
 *   found inf and skipped it. The step ended there, flagged. Without a loader the usual number
 *   of zero_grad calls in a step tells the same.
 * - No optimizer seen: the third zero_grad, else the ninth batch of a loader, else ten
 *   seconds in which nothing happened make zero_grad, the loader (a step is a batch) or the
 *   clock the source. What comes first may be an evaluation: when an optimizer turns up
 *   after all, it is the source and the schedule starts over (out->restart).
 * - Where zero_grad ends steps and comes right after a batch (it begins the iteration), the
 *   boundary lies before that batch, and the call that ends a pass ends its last step.
 * - An optimizer that stops while its loader goes on, for eight times as many batches as were ever
 *   accumulated for a step and longer than any evaluation, or another loader for 16,384 batches,
 *   or while zero_grad goes on: these become the source until it comes back.
 * - Epochs: passes.h. An epoch of a single step is none (next(iter(loader)) in a loop; one batch
 *   a pass): its steps are counted on. An evaluation changes nothing.
 * - From the first tp_step_mark on only these end steps; steps that a guess had ended before
 *   are taken for no training, as above.
 * - spec->source other than TP_STEP_NONE is obeyed: no source is looked for.
 *
 * Threads: calls may come from any guest thread; a lock of rank TP_LOCK_STEP inside. Times of
 * loaders count on the process's first thread and on those that run optimizers: a thread that
 * fetches ahead makes nobody wait. In the child of fork, call tp_step_init again.
 */
#ifndef TP_ENGINE_STEP_H
#define TP_ENGINE_STEP_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/engine/config/config.h"

/* What a finished step looked like, as far as the step's source knows. Times in ticks. */
struct tp_step_facts {
	uint64_t data_wait, optimizer;
	uint32_t batches;
	enum tp_step_source source;
	uint8_t flags;			/* TP_F_CLOCK, TP_F_SKIPPED */
};

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

enum tp_step_call {
	TP_STEP_CALL_FURTHER,
	TP_STEP_CALL_FIRST,	/* it fetches the first batch of a pass, */
	TP_STEP_CALL_NO_GRAD,	/* and no gradients are computed there */
};

/*
 * loader: identity of the loader (stable over its passes); 0: not known (then no epochs). One that is made
 * anew may have that of one that is gone: a pass without gradients is one over another loader.
 */
void tp_step_loader_begin(uint64_t loader, enum tp_step_call call, uint64_t now);
void tp_step_loader_end(uint64_t loader, uint64_t begin, uint64_t now, enum tp_step_got got);

/* Any user range that is none of the above ended. */
void tp_step_range_end(const char *name, uint32_t n_bytes, uint64_t now);
/* The same in two parts: is that the range whose end ends a step; it ended. */
bool tp_step_is_range(const char *name, uint32_t n_bytes);
void tp_step_named_end(uint64_t now);

/* The program itself says that a step ended: nothing is more to be trusted. */
void tp_step_mark(uint64_t now);

/* Drain thread, every tick, outside windows too: lets the clock end a step. */
void tp_step_clock(uint64_t now);
/* After tp_step_init: this is no training yet. The clock becomes no source for want of others. */
void tp_step_forbid_clock(void);

/* For META and messages: "optimizer", "zero_grad (no optimizer step was seen)", "clock 1000 ms". */
const char *tp_step_source_text(void);

#endif
