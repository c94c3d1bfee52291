/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kineto_records.h - events of a torch.profiler trace -> records of a trace file of ours
 *
 * Operators become OP, annotations RANGE, ProfilerStep#N a STEP, CUDA calls CALL, device work
 * KERNEL, MEMCPY, MEMSET, SYNC, [memory] ALLOC or FREE and TOTALS. One thread.
 */
#ifndef TP_MERGE_KINETO_RECORDS_H
#define TP_MERGE_KINETO_RECORDS_H

#include "merge/kineto/kineto_event.h"
#include "merge/kineto/kineto_in.h"

struct tp_kineto_records;

/* Of a file at `path` that is known as `called`. NULL: *err says why (-errno). `report` is kept up to
 * date. */
struct tp_kineto_records *tp_kineto_records_new(const char *path, const char *called, const char *to,
						struct tp_kineto_report *report, int *err);
void tp_kineto_records_event(struct tp_kineto_records *records,
			     const struct tp_kineto_event *event);
/* A member of the file's outer object: its key, its value as it stands there. */
void tp_kineto_records_fact(struct tp_kineto_records *records, const char *key,
			    const char *value, const char *end);
/* Finishes the file and frees. 0 or -errno. */
int tp_kineto_records_end(struct tp_kineto_records *records);

#endif
