/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proof.h - the seam between those who see a training at work and the one who decides that this
 * process trains
 *
 * The engine hands over and judges nothing. Who decides (runtime/probe/entry) is above all
 * probes, which tell what they saw.
 */
#ifndef TP_ENGINE_PROOF_H
#define TP_ENGINE_PROOF_H

#include <stdbool.h>

struct tp_proof {
	/* A training event was seen, on any thread. True: the session is open. */
	bool (*training_seen)(void);
	/* torch is not there yet, and may still come. */
	bool (*may_find_torch)(void);
	/* In the child of fork, when the parent was proved: the child has to prove itself. */
	void (*forked)(void);
};

/* From the constructor; `proof` stays valid. */
void tp_proof_by(const struct tp_proof *proof);

/* True when the session is open, and then what was seen may be told to the engine. */
bool tp_proof_training_seen(void);
/* Also true when nobody decides: then nobody has looked for it. */
bool tp_proof_may_find_torch(void);
void tp_proof_forked(void);

#endif
