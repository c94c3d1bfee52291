/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ranks.h - which ranks of the job are there: starts after a restart, missing ones, ranks whose
 * step numbers do not agree
 *
 * A job whose ranks were started again (elastic restarts) is told by its last start: what came
 * before is marked tp_proc.is_past. One pass over processes and ledgers, no memory kept.
 */
#ifndef TP_MERGE_RANKS_H
#define TP_MERGE_RANKS_H

#include "merge/model/model.h"

enum { TP_RANKS_TEXT = 160 };

/* "rank 3", "ranks 3, 17-20"; a long list is cut and says so. `is_in` has `n` entries. */
const char *tp_ranks_list(char buf[TP_RANKS_TEXT], const bool *is_in, uint32_t n);

/* Marks what belongs to earlier starts; call when processes stand in their order. */
void tp_ranks_mark(struct tp_run *run);
/* The number of the last start; 0: there was one only. */
uint32_t tp_ranks_restart(const struct tp_run *run);

struct tp_ranks_missing {
	uint32_t world;			/* as the last start's ranks say; 0: not known, or only some
					 * were asked for */
	uint32_t n_here, n_missing;	/* ranks with and without a trace, of the nodes that are here */
	uint32_t n_elsewhere;		/* of nodes from which there is nothing at all */
	char here[TP_RANKS_TEXT], elsewhere[TP_RANKS_TEXT]; /* lists of these, "" if none */
};
void tp_ranks_missing(const struct tp_run *run, struct tp_ranks_missing *missing);

/* Says as issues of the run which ranks' steps have other numbers at the same time, and whose
 * windows are of other steps. */
void tp_ranks_check(struct tp_run *run);

#endif
