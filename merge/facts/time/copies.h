/* SPDX-License-Identifier: Apache-2.0 */
/*
 * copies.h - copies and sets of devices, by kind: how many, how long, how fast
 *
 * The speed of one is its bytes by its own time, as traces show it; a kind's is that of all its
 * bytes in all their time. One thread. Memory: 1 KB and more for each kind.
 */
#ifndef TP_MERGE_COPIES_H
#define TP_MERGE_COPIES_H

#include "merge/facts/time/names.h"
#include "merge/kit/spread.h"
#include "merge/model/fact.h"

struct tp_copies_row {
	uint32_t name;		/* of names */
	int64_t bytes;
	int64_t timed_bytes, timed_ns; /* of those whose time is known, and not 0 */
	struct tp_spread ns;
	struct tp_spread rate;	/* bytes a second of each */
};

struct tp_copies {
	struct tp_names *names;	/* its own: a row each */
	struct tp_copies_row *row;
	uint32_t cap_rows;
	bool is_incomplete;	/* memory ran out */
};

/* A struct tp_copies, of MEMCPY and MEMSET, not cut to a window: bytes are those of all of it. */
extern const struct tp_fact tp_fact_copies;

#endif
