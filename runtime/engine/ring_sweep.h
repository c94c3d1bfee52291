/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring_sweep.h - removes rings of the dead that nobody will ever ask for
 */
#ifndef TP_ENGINE_RING_SWEEP_H
#define TP_ENGINE_RING_SWEEP_H

/*
 * In `dir`, a place that many runs share: removes each ring of this user whose process is dead
 * and to which no link in a run folder leads any more (the folder was deleted).
 * Each would hold its memory until the next boot.
 */
void tp_ring_sweep(const char *dir);

#endif
