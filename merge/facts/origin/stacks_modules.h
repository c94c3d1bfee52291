/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stacks_modules.h - which file of code an address of a process was in, at which time
 */
#ifndef TP_MERGE_STACKS_MODULES_H
#define TP_MERGE_STACKS_MODULES_H

#include "merge/model/model.h"

struct tp_run_in;

/* Fills tp_proc.module of all processes from their MODULE strings. After the clocks were
 * aligned; 0 or -ENOMEM. Strings that cannot be are left out, which is an issue of the run. */
int tp_stacks_place_modules(struct tp_run_in *run);

/*
 * Index in proc->module of the one that held the address then; UINT32_MAX: none, or one cannot
 * tell. Between the times for which it is certain, one that was alone at that address counts.
 */
uint32_t tp_stacks_module(const struct tp_proc *proc, uint64_t address, int64_t at_ns);

#endif
