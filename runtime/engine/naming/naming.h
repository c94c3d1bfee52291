/* SPDX-License-Identifier: Apache-2.0 */
/*
 * naming.h - file names from templates, which traces to keep, and what may be overwritten
 *
 * Fields: {run_name} {rank} {local_rank} {world_size} {local_world_size} {node_rank} {epoch}
 * {batch} {batch_in_epoch} {window} {timestamp} {host} {pid} {restart} {worker}. An unknown rank is
 * 0, an unknown world one process; an unknown field is left as it is and reported once. Slashes in
 * a name make folders; ".." and a leading "/" in TRACE_NAME are refused (the default is used,
 * said once). Two processes, or two windows, never get the same name: what a pattern does not
 * tell apart is added before the suffix (".rank3", ".window1", ".restart1", ".pid77"). Of a worker
 * process {rank} is "3.worker1", unless the pattern has {worker} (0: the rank itself).
 * Drain thread and session start only.
 */
#ifndef TP_ENGINE_NAMING_H
#define TP_ENGINE_NAMING_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/folder.h"
#include "runtime/base/text.h"
#include "runtime/engine/config/rank.h"

struct tp_naming {
	const char *run_name, *host, *job;	/* job: see config/job.h */
	struct tp_rank rank;
	uint32_t pid, window, epoch;
	uint32_t worker;		/* of a worker process: its number; 0: a rank itself */
	uint64_t batch, batch_in_epoch;	/* number of the window's first active step */
	uint64_t real_ns;		/* for {timestamp}: UTC, YYYYMMDD-hhmmss */
	uint64_t fork_ns;		/* CLOCK_REALTIME of the program's first fork; 0: none */
	uint64_t start_ns;		/* the same of the start of this process */
	uint32_t parent_pid;
	bool add_pid;			/* another living process has this rank, see claim */
	uint32_t twin;			/* with add_pid: others of this pid, in other namespaces, were
					 * here before: ".pid77-1" */
	struct tp_folder *folder;	/* of the run, where files are made; NULL: by their paths */
	struct tp_own_fd ledger;	/* that claim created, open and locked */
};

/* ".pid77", when another process has the name without. */
void tp_naming_put_pid(const struct tp_naming *naming, struct tp_text *out);
/* Of a worker: what its rank's ledger has of that. */
void tp_naming_take_pid(struct tp_naming *naming, const char *ledger_path);

void tp_naming_expand(const struct tp_naming *naming, const char *pattern, struct tp_text *out);

/* Full path of a window's trace, dir/name with the additions named above. 0, or -ENAMETOOLONG. */
int tp_naming_trace_path(const struct tp_naming *naming, const char *dir, const char *pattern,
			 char *path, uint32_t cap);

/* Full path of the ledger, whose name without the suffix stands for the process in that of its
 * ring. 0, or -ENAMETOOLONG. */
int tp_naming_ledger_path(const struct tp_naming *naming, const char *dir, char *path,
			  uint32_t cap);

/*
 * May this process write its traces into `dir` (which exists)? The ledger of the same rank and
 * restart marks a used folder: "rank3.steps", "rank3.restart1.steps". 0: yes, and the ledger
 * was created, empty, is open and locked in naming->ledger, and its path stored. -EEXIST: used, and
 * overwrite is off (said in one line that names both ways out); with overwrite what dead processes
 * of this rank left is removed first: ledgers, traces (known by their heads, whatever their names) and rings.
 * `pattern` says how many folders deep traces may lie.
 * Dead is who is proved to be (naming_owner.h). Of whom nothing can be told, on another machine
 * for instance, everything stays when overwrite is on, and this process takes another name (said).
 * When the process that owns the ledger is alive (children of multiprocessing without a
 * rank, an evaluation script that the training starts) nothing is removed or refused:
 * add_pid is set and all names of this process carry ".pidN". The same when it has ended
 * since this process began (two children, of which one still imports torch), and when the
 * ledger is younger than the program's first fork: its owner was a sister or a child of this process
 * (folds that are trained one after the other). Other -errno: said in one line.
 */
int tp_naming_claim(struct tp_naming *naming, const char *dir, const char *pattern,
		    bool overwrite, char *ledger_path, uint32_t cap);

/* A window's trace is complete: remembers it, removes the oldest when more than `keep` have steps (0,
 * TP_KEEP_ALL: all stay). One without steps takes no place, and goes with the one before it. */
void tp_naming_keep(const struct tp_naming *naming, const char *path, uint64_t keep, bool has_steps);
/* How many it has removed in this process. */
uint64_t tp_naming_removed(void);

/*
 * Within a call of own_table.h: does `dir` hold what another run left? A ledger of a process that is dead,
 * or that cannot be seen from here, and has not written since this process started; it is of this
 * very run when its restart is an earlier one of the same job, or when this program forked before it
 * began. As long as a process lives that writes there it is the folder of this run, too: ranks and
 * what they start do not part.
 */
bool tp_naming_is_used(const struct tp_naming *naming, const char *dir);

#endif
