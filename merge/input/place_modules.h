/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place_modules.h - which files of code each process had mapped, where and when
 */
#ifndef TP_MERGE_PLACE_MODULES_H
#define TP_MERGE_PLACE_MODULES_H

struct tp_run_in;

/* Fills tp_proc.module of all processes from their MODULE strings. After the clocks were
 * aligned; 0 or -ENOMEM. Strings that cannot be are left out, which is an issue of the run. */
int tp_run_place_modules(struct tp_run_in *run);

#endif
