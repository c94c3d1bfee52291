/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ledger_file.h - the step ledger on disk: rows of finished steps, from the ring to the file
 *
 * Drain thread only. A file that cannot be written is said once; rows then wait in the ring
 * (the last TP_RING_STEPS of them) and are written when it works again. A file that was
 * removed is made anew with the rows that the ring still has; what somebody else put in its place
 * is left alone.
 */
#ifndef TP_ENGINE_LEDGER_FILE_H
#define TP_ENGINE_LEDGER_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/clock.h"
#include "runtime/base/folder.h"
#include "runtime/trace/ledger.h"

enum { TP_LEDGER_NOTES = 6144 };

struct tp_ledger_file {
	char path[512];
	struct tp_folder *folder;	/* of the run */
	struct tp_ledger_head head;
	struct tp_clock_anchor start;	/* with a newer one, turns ticks into ns */
	struct tp_own_fd file;		/* .fd -1: not open */
	uint64_t good_bytes;		/* end of the last whole line that we wrote */
	uint64_t virtual_said;		/* in the last row that has any */
	uint64_t last_end_ns;		/* of the last row's step, by CLOCK_MONOTONIC; 0: there is none */
	uint64_t n_lost;		/* rows that were overwritten before they could be written */
	bool is_failing;		/* said; said again only after it worked in between */
};

/* `claimed`: the file, empty, as tp_naming_claim made it; closed: it is created. Writes the
 * head. 0 or -errno, said. */
int tp_ledger_file_open(struct tp_ledger_file *ledger, struct tp_folder *folder,
			const char *path, const struct tp_own_fd *claimed,
			const struct tp_ledger_head *head, const struct tp_clock_anchor *start);
/* Writes the rows of the steps that ended since the last call. */
void tp_ledger_file_drain(struct tp_ledger_file *ledger, const struct tp_clock_anchor *now);
/* Appends a line "#fact key=value" for each line of `facts`, which end by '\n'; at most TP_LEDGER_NOTES bytes
 * with their end. Lost where the file cannot be written. */
void tp_ledger_file_note(struct tp_ledger_file *ledger, const char *facts);
/* Everything is written, here and in the traces: says so. */
void tp_ledger_file_end(struct tp_ledger_file *ledger);
void tp_ledger_file_close(struct tp_ledger_file *ledger);

#endif
