/* SPDX-License-Identifier: Apache-2.0 */
/*
 * naming_owner.h - whose a file in a run folder is, and whether its process may still write to it
 *
 * A run folder may be shared by containers and by machines, so a process number alone says little.
 * Each process holds a lock on its ledger (hold.h) and ends it with a line that says so. What cannot
 * be told counts as alive.
 */
#ifndef TP_ENGINE_NAMING_OWNER_H
#define TP_ENGINE_NAMING_OWNER_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/folder.h"
#include "runtime/trace/ledger.h"

enum tp_owned_kind { TP_OWNED_OTHER, TP_OWNED_TRACE, TP_OWNED_RING, TP_OWNED_LEDGER, TP_OWNED_REPORT };

enum tp_owner_state {
	TP_OWNER_UNKNOWN,	/* on another machine, or it was; or nobody knows of locks here */
	TP_OWNER_ALIVE,
	TP_OWNER_DEAD,		/* or it has written all that it ever will */
};

struct tp_owned {
	enum tp_owned_kind kind;
	enum tp_owner_state owner;	/* by what is in the file; of a trace not the last word */
	int32_t rank;
	uint32_t restart, pid;
	uint64_t run_id, parent_run_id;
	uint64_t real_ns;	/* of a ledger: when it was begun */
	uint64_t written_ns;	/* CLOCK_REALTIME of the last write */
	uint32_t parent_pid;	/* of a ledger of this boot; 0: not known */
	char job[TP_JOB_WORD];	/* of a ledger; with world_size */
	int32_t world_size;
	bool is_empty;
	struct tp_own_fd own;	/* as long as it is open, others find a ledger or ring locked */
	char target[1024];	/* of a ring: where it lies, if not in the folder; "": there */
	bool is_locked;		/* by us, just now: nobody else may take it away */
};

/*
 * Within a call of own_table.h. `path` lies in `folder` (NULL: anywhere), and no link on the way is
 * followed but one of ours to a ring. 0 or -errno, as tp_folder_open_file. Close it when it is 0.
 */
int tp_owned_open(const struct tp_folder *folder, const char *path, struct tp_owned *owned);
void tp_owned_close(struct tp_owned *owned);
/* Removes what was opened, if it still has that name; of a ring that lies elsewhere also the link.
 * 0 or -errno, -ESTALE: it is another file now. */
int tp_owned_remove(const struct tp_folder *folder, const char *path, const struct tp_owned *owned);

/*
 * Is this ledger of a process that ran beside one that began at `start_ns` (it has written since), or
 * that a program forked which did so first at `fork_ns`? CLOCK_REALTIME, 0: not known.
 */
bool tp_owned_is_beside(const struct tp_owned *owned, uint64_t start_ns, uint64_t fork_ns);

#endif
