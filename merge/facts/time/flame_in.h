/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flame_in.h - the inside of flame.h: flame.c makes the tree, flame_each.c walks it
 */
#ifndef TP_MERGE_FLAME_IN_H
#define TP_MERGE_FLAME_IN_H

#include "merge/facts/time/flame.h"
#include "merge/facts/time/paths.h"
#include "merge/kit/keyed.h"
#include "merge/model/title.h"

enum { PLACE_OTHER, PLACE_REST, PLACE_CUT, N_FIXED_PLACES };

struct tp_flame {
	enum tp_flame_by by;
	uint32_t n_costs, nodes_max;
	struct tp_flame_place *place;
	uint32_t n_places, cap_places;
	struct tp_keyed by_place;
	uint32_t *process;	/* by proc: its place; NULL: there is only one */
	char (*process_title)[TP_TITLE_MAX];
	struct tp_paths paths;
	uint64_t *total;	/* by node, then cost: of it and all nodes below it */
	uint32_t n_nodes;
	double percent;		/* of the whole: branches below it may be folded; 0: none was */
	char other[96];
};

#endif
