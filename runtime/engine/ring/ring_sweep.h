/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring_sweep.h - removes rings of the dead that have nothing to give, takes from the others the memory of
 * what is in files, and names them once
 */
#ifndef TP_ENGINE_RING_SWEEP_H
#define TP_ENGINE_RING_SWEEP_H

#include <stdbool.h>

/*
 * In `dir`, a place that many runs share: removes each ring of this user whose process is dead,
 * to which no link in a run folder leads any more, and which has nothing that is not in a file.
 * Of all others of the dead the memory of what is in files is given back. Those to which no link leads
 * stay, until trainprof-merge --recover or the next boot: one line says so when `may_say`, once for each.
 */
void tp_ring_sweep(const char *dir, bool may_say);

#endif
