/* SPDX-License-Identifier: Apache-2.0 */
/*
 * naming_sweep.h - removes what dead processes of a rank left in a run folder
 */
#ifndef TP_ENGINE_NAMING_SWEEP_H
#define TP_ENGINE_NAMING_SWEEP_H

#include "runtime/engine/naming/naming.h"

/*
 * Ledgers, traces (known by their heads, whatever their names) and rings of naming's rank, from its
 * restart on. Only of processes that are proved to be dead; how many files of others stay is said.
 * But for the ledger `own`: that the caller removes, who holds it.
 */
void tp_naming_sweep(const struct tp_naming *naming, const char *dir, const char *pattern,
		     const char *own);

#endif
