/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stacks_modules.h - which file of code an address of a process was in, at which time
 */
#ifndef TP_MERGE_STACKS_MODULES_H
#define TP_MERGE_STACKS_MODULES_H

#include "merge/model/model.h"

/*
 * Index in proc->module of the one that held the address then; UINT32_MAX: none, or one cannot
 * tell. Between the times for which it is certain, one that was alone at that address counts.
 */
uint32_t tp_stacks_module(const struct tp_proc *proc, uint64_t address, int64_t at_ns);

#endif
