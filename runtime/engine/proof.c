/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proof.c - the seam between those who see a training at work and the one who decides
 */
#include "runtime/engine/proof.h"

#include <stddef.h>

static const struct tp_proof *decides;	/* NULL: nobody */

void tp_proof_by(const struct tp_proof *proof)
{
	decides = proof;
}

bool tp_proof_training_seen(void)
{
	return decides && decides->training_seen();
}

bool tp_proof_may_find_torch(void)
{
	return !decides || decides->may_find_torch();
}

void tp_proof_forked(void)
{
	if (decides)
		decides->forked();
}
