/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pace.h - how many steps a run does in a time, at its fastest
 *
 * Pure: numbers of steps and times in, steps out. One thread.
 */
#ifndef TP_ENGINE_PACE_H
#define TP_ENGINE_PACE_H

#include <stdint.h>

enum { TP_PACES = 16 };

struct tp_pace {
	double pace[TP_PACES];	/* steps a ns, of the last looks at which any had ended */
	uint32_t n;
	uint64_t steps, ns;	/* at the last of them */
};

/* So many steps have ended until now. */
void tp_pace_note(struct tp_pace *pace, uint64_t steps, uint64_t mono_ns);
/* That the fastest stretch would do in so long; 0: no step was seen. */
uint64_t tp_pace_steps_in(const struct tp_pace *pace, uint32_t ms);

#endif
