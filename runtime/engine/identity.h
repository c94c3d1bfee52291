/* SPDX-License-Identifier: Apache-2.0 */
/*
 * identity.h - who this process is, and where it writes: its rank and job, the folder of its run, the
 * path of its ledger
 *
 * Set by the thread that opens the session, read afterwards. In a child of fork it is read anew.
 */
#ifndef TP_ENGINE_IDENTITY_H
#define TP_ENGINE_IDENTITY_H

#include <stdint.h>

#include "runtime/engine/config/config.h"
#include "runtime/engine/config/job.h"
#include "runtime/engine/naming/naming.h"

struct tp_identity {
	struct tp_naming naming;
	struct tp_folder folder;	/* of this run; its path is `dir` */
	char dir[512], host[65], job[TP_JOB_WORD], ledger_path[512];
	char shared_dir[512];	/* of all ranks */
	uint64_t run_id;
};
extern struct tp_identity tp_identity __attribute__((visibility("hidden")));

/* fork_ns: when this program forked first, CLOCK_REALTIME; 0: it has not. */
void tp_identity_read(const struct tp_config *config, uint64_t fork_ns);
/* META's lines of it, and of the options. */
void tp_identity_describe(const struct tp_config *config, const char *program);
/* Makes the folder, opens it, and takes the names in it; a worker takes its rank's. 0 or -errno, said in one
 * line. */
int tp_identity_take_folder(const struct tp_config *config);

#endif
