/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sites_in.h - the inside of sites.h: sites.c has rows by process and stack, sites_lines.c sums them
 * by line, sites_between.c says where a gap is
 */
#ifndef TP_MERGE_SITES_IN_H
#define TP_MERGE_SITES_IN_H

#include "merge/facts/code/sites.h"
#include "merge/kit/keyed.h"

struct tp_origins;
struct tp_sites_process;	/* sites.c's own */

/* What a process's operators with one stack cost. */
struct tp_sites_row {
	uint32_t proc, stack;
	uint32_t line;		/* at the end: plus one, 0 none */
	uint32_t step;		/* of its process, counted, when bytes were charged last */
	int64_t figure[TP_SITE_N]; /* KEPT: of the last step only */
	int64_t kept, kept_before; /* bytes alive; the same at the end of the step before */
	uint32_t before;	/* row plus one of what came before the longest gap, 0: none */
	int64_t longest_ns;
	uint32_t n_held;	/* gaps as long as Python's lock is kept */
};

struct tp_sites {
	struct tp_origins *origins;
	struct tp_sites_process *proc;
	uint32_t n_procs;
	struct tp_sites_row *row;
	uint32_t n_rows, cap_rows;
	struct tp_keyed keyed;
	char **place;		/* of lines */
	uint32_t n_lines, cap_lines;
	uint32_t n_with_rows;	/* processes that have any */
	bool is_incomplete;
};

#endif
