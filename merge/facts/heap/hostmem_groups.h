/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hostmem_groups.h - host memory by the place in the program that is to blame for it
 *
 * Memory: groups.
 */
#ifndef TP_MERGE_HOSTMEM_GROUPS_H
#define TP_MERGE_HOSTMEM_GROUPS_H

#include "merge/facts/heap/hostmem.h"
#include "merge/facts/origin/hostmem_frames.h"

/* Sums of rows of one process. */
struct tp_hostmem_group {
	struct tp_hostmem_row sum;	/* .stack: the one that held most at the peak, of equals the
					 * one that allocated most */
	uint64_t most_peak, most_alloc;	/* its bytes */
	struct tp_frame frame;		/* what they have in common */
	bool is_known;			/* else: no stack was recorded, or no such frame is in it */
};

/* By that frame; TP_HOSTMEM_NATIVE: by its file of code only. NULL: out of memory; *n groups in no
 * order. To be freed. */
struct tp_hostmem_group *tp_hostmem_groups(const struct tp_hostmem *mem,
					   const struct tp_hostmem_choice *choice,
					   enum tp_hostmem_frame by, uint32_t *n);

#endif
