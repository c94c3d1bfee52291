/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cores.h - how busy the cores were that the run may use, by the host's counters (RECORD=host)
 */
#ifndef TP_MERGE_CORES_H
#define TP_MERGE_CORES_H

#include "merge/model/fact.h"

enum { TP_CORES_FULL_PERCENT = 85 };

struct tp_cores {
	uint64_t n;		/* values; 0: not known */
	double percent_sum;	/* of them, of one core each, or of the machine where cores are too many */
};

/* Of all processes and windows; filled when the pass is over. */
const struct tp_cores *tp_cores_want(struct tp_facts *facts);

/* 0 to 100; 0 where it is not known. */
static inline double tp_cores_busy(const struct tp_cores *cores)
{
	return cores->n ? cores->percent_sum / (double)cores->n : 0;
}

/* What is more takes from something else. */
static inline bool tp_cores_are_full(const struct tp_cores *cores)
{
	return tp_cores_busy(cores) >= TP_CORES_FULL_PERCENT;
}

/* And it is known. */
static inline bool tp_cores_are_idle(const struct tp_cores *cores)
{
	return cores->n && !tp_cores_are_full(cores);
}

#endif
