/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_file.h - reports in the run folder: this process's, and what others say of a hang
 *
 * "rank0.1234.hang" beside the ledger "rank0.steps"; the second of a process and later ones with
 * their number: "rank0.1234.2.hang". A file is there whole or not at all. Drain thread. No allocation.
 */
#ifndef TP_PROBE_REPORT_FILE_H
#define TP_PROBE_REPORT_FILE_H

#include "runtime/base/text.h"
#include "runtime/trace/hang.h"

enum { TP_REPORT_PATH = 640, TP_REPORT_PEERS = 512 };	/* PEERS: more are not read */

/* The name of this process's report number `n`, from 1. */
void tp_report_file_name(uint32_t n, const char *suffix, char path[TP_REPORT_PATH]);
/* The file is these bytes from now on. 0 or -errno. */
int tp_report_file_write(const char *path, const struct tp_text *text);
void tp_report_file_remove(const char *path);

/* What processes say of themselves, this one too, that was written at `since_real_ns` or later: how
 * many. Valid until the next call. */
uint32_t tp_report_file_peers(uint64_t since_real_ns, const struct tp_hang **peer);

#endif
