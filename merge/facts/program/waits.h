/* SPDX-License-Identifier: Apache-2.0 */
/*
 * waits.h - what of PyTorch made a call of CUDA wait for the device, by the spans around it
 */
#ifndef TP_MERGE_WAITS_H
#define TP_MERGE_WAITS_H

#include "merge/facts/time/names.h"
#include "merge/facts/time/nest.h"

enum tp_wait {
	TP_WAIT_VALUE,		/* .item(), print: a value is read */
	TP_WAIT_CONDITION,	/* a tensor as a condition */
	TP_WAIT_SHAPE,		/* nonzero and its like: how large the result is depends on values */
	TP_WAIT_COPY,		/* between host and device */
	TP_WAIT_BARRIER,
	TP_WAIT_COLLECTIVE,
	TP_WAIT_CALLED,		/* no operator: the program synchronises */
	TP_WAIT_N
};

/* Of a call that waits, in `names`; the spans around it stand before it. */
enum tp_wait tp_wait_of(const struct tp_names *names, const struct tp_nest_span *call);

#endif
