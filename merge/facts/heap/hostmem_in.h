/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hostmem_in.h - the inside of the accounts of host memory
 *
 * hostmem.c takes events, hostmem_alive.c keeps what is alive, its peak and the steps,
 * hostmem_end.c closes the accounts.
 */
#ifndef TP_MERGE_HOSTMEM_IN_H
#define TP_MERGE_HOSTMEM_IN_H

#include "merge/facts/heap/hostmem.h"
#include "merge/facts/heap/hostmem_blocks.h"
#include "merge/facts/heap/hostmem_maps.h"
#include "merge/kit/grow.h"
#include "merge/kit/keyed.h"

enum {
	SHARE = 1024,		/* of a block: a sampled one counts for more than one */
	DUE_MAX = 256,
};

struct row {
	struct tp_hostmem_row pub;	/* blocks in shares until the end */
	int64_t live_bytes, live_shares;
	uint64_t epoch;		/* of the account's peaks, when it last changed */
	double variance;
};

/* A free that has not come yet. */
struct due {
	uint64_t address;
	int64_t until_ns;
	const struct tp_thread *other;	/* than this one, which has the address now */
};

/* Of a process. */
struct account {
	struct tp_hostmem_proc pub;
	int64_t live_bytes, live_shares, peak_shares;
	uint64_t epoch;		/* how often the peak moved */
	struct tp_hostmem_blocks blocks;
	struct tp_hostmem_maps maps;
	struct row *row;
	uint32_t n_rows, cap_rows;
	struct tp_keyed rows;	/* hash: of the stack, one to one */
	uint32_t *n_of_thread;	/* allocations; by index in proc->thread */
	uint8_t *moved_of_thread;	/* kind of what its last mremap took away */
	struct due due[DUE_MAX];
	uint32_t n_due;
	uint32_t window;
	bool has_window, has_any;
	uint32_t step;		/* of this process, from 1 on; 0: none yet */
	uint32_t step_at;	/* in hostmem.step, plus one; 0: not in one */
	uint32_t n_ended;	/* steps that are over */
	int64_t step_end_ns;
	double variance;
};

struct tp_hostmem {
	const struct tp_run *run;
	struct tp_stacks *stacks;	/* NULL: plain */
	bool is_plain;
	struct account *account;	/* by tp_proc.at */
	struct tp_hostmem_proc *proc;	/* at the end: of those that have any */
	uint32_t n_procs, cap_procs;
	struct tp_hostmem_row *row;
	uint32_t n_rows, cap_rows;
	struct tp_hostmem_step *step;
	uint32_t n_steps, cap_steps;
	bool is_incomplete, is_ended;
};

/* What a block counts for. */
struct weight {
	int64_t bytes, shares;
	double variance;
};

/* ---- hostmem_alive.c ---- */

struct weight tp_hostmem_weigh(const struct account *account, uint64_t bytes, bool is_sampled);
/* Before the row changes: what it had at the peak. */
static inline void tp_hostmem_keep_peak(const struct account *account, struct row *row)
{
	if (row->epoch == account->epoch)
		return;
	row->pub.peak_bytes = (uint64_t)row->live_bytes;
	row->pub.peak_blocks = (uint64_t)row->live_shares;
	row->epoch = account->epoch;
}
void tp_hostmem_take_step(struct tp_hostmem *mem, struct account *account,
			  const struct tp_event *event);
void tp_hostmem_end_step(struct tp_hostmem *mem, struct account *account);
void tp_hostmem_take_alloc(struct tp_hostmem *mem, struct account *account,
			   const struct tp_event *event);
void tp_hostmem_take_free(struct tp_hostmem *mem, struct account *account,
			  const struct tp_event *event);
/* Counts of its threads can be kept. False: out of memory. */
bool tp_hostmem_has_threads(struct tp_hostmem *mem, struct account *account);

static inline uint64_t tp_hostmem_blocks_of(uint64_t shares)
{
	return (shares + SHARE / 2) / SHARE;
}

/* hostmem_end.c: no more events; what stayed, rows. */
void tp_hostmem_end(struct tp_hostmem *mem);

#endif
