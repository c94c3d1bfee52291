/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clocks_find.h - what the traces of several hosts say about the order of events on them
 *
 * A pass over all events before anything is placed; only for runs with more than one host.
 */
#ifndef TP_MERGE_CLOCKS_FIND_H
#define TP_MERGE_CLOCKS_FIND_H

#include "merge/clock/clocks.h"
#include "merge/input/run.h"

struct tp_clocks_found {
	uint64_t n_collectives, n_exchanges;
	bool has_no_groups;	/* some of the collectives do not say whose they are */
};

/* Orders and needs of all hosts (tp_proc_in.host) go to `clocks`. 0 or -ENOMEM. */
int tp_clocks_find(struct tp_run_in *run, uint32_t n_hosts, struct tp_clocks *clocks,
		   struct tp_clocks_found *found);

#endif
