/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hostmem_groups.h - host memory by the place in the program that is to blame for it
 */
#ifndef TP_MERGE_HOSTMEM_GROUPS_H
#define TP_MERGE_HOSTMEM_GROUPS_H

#include "merge/hostmem.h"

enum { TP_HOSTMEM_FRAMES_MAX = 1024 };	/* of a stack that are looked at */

enum tp_hostmem_by {
	TP_HOSTMEM_BY_CODE,	/* the frame that tells most */
	TP_HOSTMEM_BY_PYTHON,	/* the innermost line of Python; stacks without are one group */
	TP_HOSTMEM_BY_MODULE,	/* the file of the innermost native code that is no allocator */
};

/* Sums of rows of one process. */
struct tp_hostmem_group {
	struct tp_hostmem_row sum;	/* .stack: the one that held most at the peak, of equals the
					 * one that allocated most */
	uint64_t most_peak, most_alloc;	/* its bytes */
	struct tp_frame frame;		/* what they have in common */
	struct tp_frame native;		/* what asked, of .stack; module "": none */
	bool is_known;			/* else: no stack was recorded, or no such frame is in it */
};

/* Names have been read. NULL: out of memory; *n groups in no order. To be freed. */
struct tp_hostmem_group *tp_hostmem_groups(const struct tp_hostmem *mem, enum tp_hostmem_by by,
					   uint32_t *n);

#endif
