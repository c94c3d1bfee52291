/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring_left.h - what a dead process's ring has that is in no file, and the memory of the rest
 */
#ifndef TP_ENGINE_RING_LEFT_H
#define TP_ENGINE_RING_LEFT_H

#include <stdbool.h>
#include <stdint.h>

struct tp_ring_left {
	uint64_t n_records;	/* published, not in a trace file */
	uint64_t n_steps;	/* finished, not in the ledger */
	uint32_t n_windows;	/* begun, their files not finished */
	uint32_t n_spans;	/* that threads were inside */
};

/* By read(2) alone: the file may be cut short at any moment. False: it cannot be told, because
 * it is not whole, or not of this version. */
bool tp_ring_left(int fd, struct tp_ring_left *left);
bool tp_ring_left_is_none(const struct tp_ring_left *left);

/*
 * Gives back the memory of all records that are in files, of chunks and names that were not used: the pages
 * stay in the file, empty. No reader of the dead looks at them. The process is dead, and the caller has the
 * ring's lock; once per ring (TP_RING_TRIMMED).
 */
void tp_ring_trim(int fd);

#endif
