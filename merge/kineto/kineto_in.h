/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kineto_in.h - a trace of torch.profiler, read and written again as a trace of ours
 *
 * So every view, format and comparison serves people who have such traces already. The file is
 * read once, from begin to end, in the memory of a window over it and of its distinct names;
 * all dialects since torch 1.8: old and new category names, times in us with and without
 * fractions, with or without baseTimeNanoseconds and distributedInfo, a bare array of events,
 * plain and gzip. A damaged or cut file is read as far as it goes.
 *
 * Times are CLOCK_REALTIME of the host that wrote the file. Not read: annotations repeated for
 * the GPU, flows (they follow from what they connect), functions of C.
 */
#ifndef TP_MERGE_KINETO_IN_H
#define TP_MERGE_KINETO_IN_H

#include <stdbool.h>
#include <stdint.h>

struct tp_kineto_report {
	uint64_t n_read;	/* events that became records */
	uint64_t n_seen;	/* calls of Python, and what repeats others: no records of their own */
	uint64_t n_left;	/* of kinds that are not read */
	char left[64];		/* the first such kind */
	uint64_t n_bad;		/* that lack what they need: a time, a name */
	uint64_t n_other;	/* of another process than the first: read as its own */
	uint64_t n_no_address;	/* memory events of old versions, which cannot be paired: read all the same */
	char trouble[160];	/* why it was not read to its end; "": it was */
	uint64_t offset;	/* where, in the text */
};

/* Does the text look like one? From its first bytes, decompressed. */
bool tp_kineto_is_one(const char *path);

/* Did trainprof-merge write it itself? Its own results lie in the run's folder (format torch):
 * they are no second truth about it. The line stands at the start of its files. */
#define TP_KINETO_OURS "\n\"trainprof\": 1,\n"
bool tp_kineto_is_ours(const char *path);

/*
 * `path`, a file that is called `name`, becomes the trace file `to`, and, when it has steps, `to`.steps,
 * a step ledger. 0; -ENODATA: no event in it; -errno: `to` cannot be written, or out of memory.
 */
int tp_kineto_convert(const char *path, const char *name, const char *to,
		      struct tp_kineto_report *report);

/* What a converted trace has for the first half of a boot id (the second is 0), which torch.profiler does
 * not tell: equal hosts have one clock. */
uint64_t tp_kineto_boot_id(const char *host);

#endif
