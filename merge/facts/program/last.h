/* SPDX-License-Identifier: Apache-2.0 */
/*
 * last.h - what a process that did not exit cleanly did last
 *
 * A process that dies in an operator has an open span (struct tp_open_at_end). One that dies between
 * operators has none: then the last operator, its source line, and how long the process went on say where
 * it was. Memory: one entry for each process.
 */
#ifndef TP_MERGE_LAST_H
#define TP_MERGE_LAST_H

#include "merge/model/fact.h"

struct tp_last {
	const struct tp_string *name;	/* of the operator or range that ended last; NULL: none */
	int64_t end_ns;			/* its end */
	int64_t seen_ns;		/* end of the last event of any kind */
	char *line;			/* source line it was called from; NULL: not known */
};

/* Of each process of the run, by proc->at; only of those that are dead. */
const struct tp_last *tp_last_want(struct tp_facts *facts);

#endif
