/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring_sweep.h - removes rings of the dead that have nothing to give, and names the others
 */
#ifndef TP_ENGINE_RING_SWEEP_H
#define TP_ENGINE_RING_SWEEP_H

#include <stdbool.h>

/*
 * In `dir`, a place that many runs share: removes each ring of this user whose process is dead,
 * to which no link in a run folder leads any more, and which has nothing that is not in a file.
 * Others to which no link leads stay, until trainprof-merge --recover or the next boot: one
 * line says so when `may_say`.
 */
void tp_ring_sweep(const char *dir, bool may_say);

#endif
