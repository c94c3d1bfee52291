/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ledger.h - the step ledger: one text line for every step of the run, appended as steps end
 *
 * Specified in trainprof-trace(5), "Step ledger". Text, so that `tail -f` and awk read it; a
 * cut last line is ignored. Pure functions, no allocation; threads: any.
 */
#ifndef TP_TRACE_LEDGER_H
#define TP_TRACE_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TP_JOB_WORD = 72 };	/* bytes of a job's word and its end */

struct tp_ledger_head {
	uint64_t run_id, boot_id[2];
	uint64_t mono_ns, real_ns;	/* the same moment, at the start of the run */
	int32_t rank, local_rank, world_size, node_rank;
	uint32_t pid, restart;
	uint32_t pid_ns;		/* in which the pid is one; 0: not known */
	/* What tells jobs apart; zero, "": not known, as in ledgers of older builds. */
	uint32_t parent_pid;
	uint64_t fork_ns;		/* CLOCK_REALTIME of its program's first fork */
	char job[TP_JOB_WORD];		/* see runtime/engine/config/job.h */
	char host[65];
};

/* Times in ns; begin on CLOCK_MONOTONIC of the host. */
struct tp_ledger_row {
	uint64_t index;			/* of the step in the run, from 0 */
	uint32_t epoch, in_epoch, batches;
	uint8_t phase, source, flags;	/* enum tp_phase, enum tp_step_source, TP_F_* */
	uint64_t begin_ns, dur_ns, data_wait_ns, optimizer_ns;
	uint64_t live_bytes, peak_bytes, device_live, device_peak;
	uint64_t dropped;
	uint64_t heap_bytes;		/* alive at the end of the step; 0: not known */
	/* Of the process when the line was written; 0: not known. virtual is 0, too, when it is that of the
	 * last line that has it. */
	uint64_t resident, virtual;
};

enum { TP_LEDGER_LINE_MAX = 384 };

/* Facts of steps: where a slow one stood, and those without a core (trainprof-trace(5)). */
#define TP_LEDGER_SLOW "slow."
#define TP_LEDGER_CROWDED "crowded."
/* The last word of a fact slow.STEP: half of the step's samples or more met the interpreter collecting. */
#define TP_LEDGER_GARBAGE "garbage collection"

/* Both write whole lines with '\n' and return their length (<= cap, which is at least
 * 2 * TP_LEDGER_LINE_MAX for the head, TP_LEDGER_LINE_MAX for a row). */
size_t tp_ledger_format_head(char *out, size_t cap, const struct tp_ledger_head *head);
size_t tp_ledger_format_row(char *out, size_t cap, const struct tp_ledger_row *row);

/* The last line of a process that ended in order: all that it writes is written. */
#define TP_LEDGER_END "#end\n"
/* The fact `end` of a process that did not: the merge wrote it, with what its ring held. */
#define TP_LEDGER_KILLED "killed"
/* The same, where it was its own exec that ended it. */
#define TP_LEDGER_REPLACED "replaced"

/* Of one line without its '\n'. False: it is not such a line. */
bool tp_ledger_parse_head(const char *line, size_t n, struct tp_ledger_head *head);
bool tp_ledger_parse_row(const char *line, size_t n, struct tp_ledger_row *row);

#endif
