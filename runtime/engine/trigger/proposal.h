/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proposal.h - windows that ranks propose to each other, a small file each in the run folder
 *
 * "trigger.0", the next one "trigger.1" ("trigger.restart2.0" after two restarts). A file appears whole
 * and under a name that was free (link(2)), so of several proposals made at the same time one
 * stands, and the ranks that lost take it for theirs. One line:
 * "trainprof trigger FROM TO STEP REAL_NS PID WHY". Drain thread.
 */
#ifndef TP_ENGINE_PROPOSAL_H
#define TP_ENGINE_PROPOSAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/folder.h"

enum { TP_PROPOSAL_WHY = 120 };

struct tp_proposal {
	uint64_t from, to;	/* steps of the run; equal: windows of the schedule end with `from` */
	uint64_t step;		/* where its rank stood */
	uint64_t real_ns;
	uint64_t pid;
	char why[TP_PROPOSAL_WHY];	/* words; "": not said */
};

struct tp_proposals {
	struct tp_folder folder;	/* of all ranks */
	uint32_t restart, pid;
};

/* 0; -ENOENT: there is none of this number; another -errno; -EBADMSG: it makes no sense. */
int tp_proposal_read(const struct tp_proposals *proposals, uint32_t number,
		     struct tp_proposal *proposal);
/* 0, -EEXIST: another rank was faster, or another -errno. */
int tp_proposal_write(const struct tp_proposals *proposals, uint32_t number,
		      const struct tp_proposal *proposal);

#endif
