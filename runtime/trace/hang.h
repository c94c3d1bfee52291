/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hang.h - the file in which a process says that it hangs, and where
 *
 * Specified in trainprof-trace(5), "Hang report"; text as report.h has it. Ranks read each other's while they hang, and the merge reads all of them.
 * Pure functions, no allocation; threads: any. What is read is not trusted.
 */
#ifndef TP_TRACE_HANG_H
#define TP_TRACE_HANG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/trace/report.h"

#define TP_HANG_FIRST_LINE "trainprof hang report 1"
#define TP_HANG_SUFFIX ".hang"
enum {
	TP_HANG_GROUPS = 16,
	TP_HANG_SAID_MAX = 2048,	/* of what tp_hang_say says */
};

enum tp_hang_state {
	TP_HANG_IS_LATE,	/* no step for long, but something goes on */
	TP_HANG_IS_QUIET,	/* not for long enough */
	TP_HANG_IS_STUCK,
	TP_HANG_IS_SPINNING,	/* computing at one place */
	TP_HANG_IS_OVER,	/* it hung, and goes on */
	TP_HANG_N_STATES,
};

/* A process group's collectives, each counted when it is asked for and when it ends. */
struct tp_hang_group {
	char name[64], last[48];	/* last: "gloo:all_reduce", the one that began last */
	uint64_t asked, ended;
};

struct tp_hang {
	uint64_t run_id;		/* of a worker: its rank's */
	int32_t rank, world_size;
	uint32_t restart;
	uint32_t worker, pid;		/* worker: of the rank; 0: the rank itself */
	enum tp_hang_state state;
	uint64_t real_ns;		/* CLOCK_REALTIME when this was written */
	uint64_t late_ns;		/* without a step */
	uint64_t steps, median_ns;	/* steps that ended, and their median */
	char host[65];
	char where[320];		/* "function (file:line)" of the program; "": not known */
	char within[256];		/* likewise, of a library that it has called; "": none */
	char waits[192];		/* "waits in read of pipe:[5]", "runs" */
	char other[320];		/* where another thread of Python stands in the program; "": none */
	char gpus[256];			/* "GPU 0 is 100 % busy, GPU 1 idle"; "": there is none, or not known */
	char queues[384];		/* "stream 7 of GPU 0 has 3 pieces of work that are not done, the first of
					 * them f"; "": not known: known is what a window has recorded */
	uint32_t is_idle;		/* a worker that waits for work */
	uint32_t is_joining;		/* not trained yet: it waits for others in init_process_group */
	uint32_t n_groups;
	struct tp_hang_group group[TP_HANG_GROUPS];
};

/* Appends the lines and the empty one. */
void tp_hang_put(const struct tp_hang *hang, struct tp_text *out);
/* Of n bytes. False: that is no hang report. */
bool tp_hang_parse(const char *text, size_t n, struct tp_hang *hang);

/* It hangs, or did. */
static inline bool tp_hang_is_report(const struct tp_hang *hang)
{
	return hang->state == TP_HANG_IS_STUCK || hang->state == TP_HANG_IS_SPINNING ||
	       hang->state == TP_HANG_IS_OVER;
}

/* It uses processor time beside a GPU that does nothing but work. */
bool tp_hang_may_wait_for_gpu(const struct tp_hang *hang);

/*
 * What the reports of a run's processes say together, of a hang of `of`: two lines with '\n'. The
 * first says since when nothing has ended, the second why: who has not come to a collective, a worker
 * that does not answer, or where the program stands.
 */
void tp_hang_say(const struct tp_hang *of, const struct tp_hang *hang, uint32_t n, struct tp_text *out);

#endif
