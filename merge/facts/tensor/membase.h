/* SPDX-License-Identifier: Apache-2.0 */
/*
 * membase.h - what was alive on a device when a window began, by what is said of it later
 *
 * The totals (or the ledger of steps) say it somewhere inside the window: less what has changed since
 * its start. What of it has a name is known as blocks are named or freed.
 *
 * Memory: devices of processes.
 */
#ifndef TP_MERGE_MEMBASE_H
#define TP_MERGE_MEMBASE_H

#include <stdbool.h>
#include <stdint.h>

struct tp_membase {
	uint32_t proc, device;
	bool is_known;
	int64_t bytes;			/* by totals */
	int64_t named_bytes;		/* of it */
	int64_t change_bytes;		/* since the window's start, until it is known */
};

/* All zero: none. */
struct tp_membases {
	struct tp_membase *base;
	uint32_t n, cap;
};

void tp_membases_free(struct tp_membases *bases);
/* Valid until the next call; NULL: out of memory. The three below ignore NULL. */
struct tp_membase *tp_membases_of(struct tp_membases *bases, uint32_t proc, uint32_t device);
void tp_membase_name(struct tp_membase *base, int64_t bytes);
void tp_membase_change(struct tp_membase *base, int64_t change);
/* So much is alive now. False: it was known already. */
bool tp_membase_know(struct tp_membase *base, int64_t bytes);
/* The window is over. Bytes that nobody named, 0 where it is not known. */
int64_t tp_membase_end(struct tp_membase *base);

#endif
