/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_kernel.h - the parts of the view of kernels
 */
#ifndef TP_MERGE_VIEW_KERNEL_H
#define TP_MERGE_VIEW_KERNEL_H

#include "merge/facts/time/copies.h"
#include "merge/facts/time/launch_times.h"
#include "merge/model/view.h"

extern const struct tp_table_def tp_table_copies, tp_table_launches;

/* The kind, the call that took longest first; nothing when there are none. */
void tp_view_copies(const struct tp_copies *copies, struct tp_out *out);
void tp_view_launches(const struct tp_launch_times *times, struct tp_out *out);

#endif
