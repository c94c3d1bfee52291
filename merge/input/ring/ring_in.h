/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring_in.h - a ring being read: shared by recover.c and ring_records.c only
 *
 * The file is read by pread, never mapped: it may shrink, and its owner may be alive.
 * Nothing in it is believed unchecked.
 */
#ifndef TP_MERGE_RING_IN_H
#define TP_MERGE_RING_IN_H

#include "merge/input/run.h"

/* A ring being read. */
struct tp_ring_in {
	struct tp_run_in *run;
	const char *path;
	int fd;
	struct tp_own_fd file;		/* which one it is */
	uid_t uid;			/* whose */
	struct tp_ring_head head;
	struct tp_ring_slot *slot;
	struct tp_chunk *chunk;		/* one, with its records */
	struct tp_chunk_ref {
		uint64_t sequence;
		uint32_t at;
	} *order;
	uint32_t n_order;
	struct tp_proc_in *proc;
	int64_t source[TP_RING_WINDOWS];	/* -1: none yet */
	uint64_t n_records;
	bool is_live;
	bool is_read;			/* as far as it goes */
	bool is_kept;			/* by a node file: fd is open, its process is dead */
};

/* What the slot says of thread `tid`. */
struct tp_thread_entry tp_ring_entry(const struct tp_ring_in *r, uint32_t slot, uint32_t tid);
/* Records that no file holds become sources of the run; of a live process only when its drain
 * stood still meanwhile. After the slots were read. 0 or -errno. */
int tp_ring_records(struct tp_ring_in *r);

#endif
