/* SPDX-License-Identifier: Apache-2.0 */
/*
 * follow.h - a run folder that is being written: its ranks, their steps, rings and traces
 *
 * Each look reads what is new: lines that were appended to ledgers, the first page of rings, heads
 * of traces that were not there before. Of a ledger that is there already only its last
 * TP_FOLLOW_TAIL bytes are read, unless all of it is wanted. Files are those in the folder itself, by
 * their names (*.steps, *.ring, *.tpt, *.hang, *.oom); links are followed to rings only. Input is not
 * trusted.
 *
 * Costs, of a look at 512 ranks: see `make bench T=live`. Memory: some 3 KiB a rank, 40 bytes a file.
 * One thread.
 */
#ifndef TP_MERGE_FOLLOW_H
#define TP_MERGE_FOLLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "merge/kit/keyed.h"
#include "runtime/trace/ledger.h"
#include "runtime/trace/ring_layout.h"

enum {
	TP_FOLLOW_TAIL = 64 << 10,
	TP_FOLLOW_LOOKS = 60,	/* of which a rank's figures are kept one by one */
};

/* What a rank did between two looks; or in several of these. */
struct tp_follow_part {
	uint64_t steps, step_ns, data_wait_ns, optimizer_ns, most_ns;
};

struct tp_follow_rank {
	char *name;			/* of its ledger, in the folder */
	struct tp_ledger_head head;
	uint64_t inode, at;		/* of the ledger; bytes of it that were read */
	struct tp_ledger_row last;	/* the newest */
	bool has_step, has_ended;	/* ended: in order */
	bool is_alive;
	bool is_of_job;			/* the newest */
	bool is_shown;			/* and the newest restart of its rank */
	struct tp_follow_part all;	/* of all that was read */
	uint64_t dropped;
	struct tp_follow_part part[TP_FOLLOW_LOOKS];	/* of look n at [n % TP_FOLLOW_LOOKS] */
	/* Of its ring, as far as it can be read here. */
	char *ring;			/* name; NULL: none seen */
	bool has_ring;			/* it was read at the last look */
	uint32_t phase, windows_begun, windows_written;
	char schedule[128];
	uint32_t n_traces;		/* whole ones that are there */
};

/* A trace in the folder. */
struct tp_follow_trace {
	char *name;
	uint64_t run_id;		/* of its rank */
	uint32_t of;			/* number of that; UINT32_MAX: its ledger was not seen */
	bool is_of_worker;		/* `of` is its rank all the same */
	uint32_t window;
	uint32_t seen;			/* the look that saw it last */
	uint64_t bytes;
	int64_t real_ns;		/* when it was made whole: its file's time */
};

struct tp_follow {
	const char *folder;
	int dir;
	bool is_whole;			/* all lines of ledgers are wanted */
	uint32_t look;			/* number of the last */
	uint64_t look_ns, before_ns;	/* CLOCK_MONOTONIC of it, and of the one before */
	struct tp_follow_rank *rank;
	uint32_t n_ranks, cap_ranks, n_shown, n_jobs;
	struct tp_follow_trace *trace;	/* those of older looks stay, see `seen` */
	uint32_t n_traces, cap_traces;
	uint32_t n_removed;		/* traces that are no longer there */
	uint32_t n_reports;		/* of hangs and of memory that ran out: *.hang, *.oom */
	const char *report;		/* the name of one that came last; NULL: none */
	struct tp_keyed known;		/* names of the folder, to `entry` */
	struct tp_follow_entry *entry;
	uint32_t n_entries, cap_entries;
	bool is_cut;			/* memory was out: something is left out */
	bool has_new;			/* a process came: which job is shown is to be seen again */

	/* Each step that is read; NULL: nobody wants them. */
	void (*step)(void *ctx, const struct tp_follow_rank *rank, const struct tp_ledger_row *row);
	void *ctx;
};

/* 0 or -errno. */
int tp_follow_open(struct tp_follow *follow, const char *folder);
void tp_follow_close(struct tp_follow *follow);
/* Looks again. 0, or -errno: the folder cannot be read. */
int tp_follow_look(struct tp_follow *follow);
/* All ranks that are shown have ended or are dead; false as long as there is none. */
bool tp_follow_is_over(const struct tp_follow *follow);
/* Of the last `n` looks (at most TP_FOLLOW_LOOKS) together. */
struct tp_follow_part tp_follow_recent(const struct tp_follow *follow,
				       const struct tp_follow_rank *rank, uint32_t n);

/* ---- follow_ledger.c, for follow.c ---- */

/* The head of a new ledger, and where its first line of interest begins. False: it is none, or not
 * yet. */
bool tp_follow_begin_ledger(const struct tp_follow *follow, struct tp_follow_rank *rank);
/* Lines that were appended since. Another file that has its name by now is a new ledger. */
void tp_follow_read_ledger(struct tp_follow *follow, struct tp_follow_rank *rank);
/* The first page of its ring. */
void tp_follow_read_ring(const struct tp_follow *follow, struct tp_follow_rank *rank);

#endif
