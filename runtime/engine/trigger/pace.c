/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pace.c - steps a time, of the fastest of the last stretches
 */
#include "runtime/engine/trigger/pace.h"

void tp_pace_note(struct tp_pace *pace, uint64_t steps, uint64_t mono_ns)
{
	if (steps == pace->steps)
		return;
	if (pace->steps)
		pace->pace[pace->n++ % TP_PACES] = (double)(steps - pace->steps) /
						   (double)(mono_ns - pace->ns + 1);
	pace->steps = steps;
	pace->ns = mono_ns;
}

uint64_t tp_pace_steps_in(const struct tp_pace *pace, uint32_t ms)
{
	double most = 0;

	for (uint32_t i = 0; i < TP_PACES; i++)
		if (pace->pace[i] > most)
			most = pace->pace[i];
	return (uint64_t)(most * (double)ms * 1e6);
}
