/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hang_file.h - hang reports in the run folder: this process's, and those of the others
 *
 * "rank0.1234.hang" beside the ledger "rank0.steps"; of a process that hung before, with the number
 * of the hang: "rank0.1234.2.hang". A file is there whole or not at all. Drain thread. No allocation.
 */
#ifndef TP_PROBE_HANG_FILE_H
#define TP_PROBE_HANG_FILE_H

#include "runtime/base/text.h"
#include "runtime/trace/hang.h"

enum { TP_HANG_PATH = 640, TP_HANG_PEERS = 512 };	/* PEERS: more are not read */

/* The name of this process's report number `n`, from 1. */
void tp_hang_file_name(uint32_t n, char path[TP_HANG_PATH]);
/* The file is these bytes from now on. 0 or -errno. */
int tp_hang_file_write(const char *path, const struct tp_text *text);
void tp_hang_file_remove(const char *path);

/* What processes say of themselves, this one too, that was written at `since_real_ns` or later: how
 * many. Valid until the next call. */
uint32_t tp_hang_file_peers(uint64_t since_real_ns, const struct tp_hang **peer);

#endif
