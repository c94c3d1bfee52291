/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_names.h - strings of activity records -> ids, through small caches
 *
 * Drain thread only. 0: there is no room among the names.
 */
#ifndef TP_PROBE_CUPTI_NAMES_H
#define TP_PROBE_CUPTI_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/trace/trainprof_trace.h"

/* "cudaLaunchKernel": without the suffixes by which CUPTI tells versions and variants apart
 * ("cudaLaunchKernel_ptsz_v7000"), as torch.profiler has them. */
uint32_t tp_cupti_call_name(bool is_driver, uint32_t cbid);
/* Its length without those suffixes. */
uint32_t tp_cupti_call_length(const char *name);
/* CUPTI's memory, which may hold another name later. */
uint32_t tp_cupti_kernel_name(const char *name);
/* Words as torch.profiler has them: "Lazy Function Loading". */
uint32_t tp_cupti_overhead_name(uint32_t overhead_kind);

/* Of the structures LAUNCH, TRANSFER and SYNC. */
uint32_t tp_cupti_launch(const struct tp_launch *launch);
uint32_t tp_cupti_transfer(const struct tp_transfer *transfer);
uint32_t tp_cupti_sync(const struct tp_sync_what *sync);

/* Ids are another ring's now. */
void tp_cupti_names_reset(void);

#endif
