/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics.h - a running job in Prometheus' text format, version 0.0.4
 *
 * "trainprof_" and the names of metrics.def, with the labels rank, host and job. A rank is in it
 * once, however often it was restarted.
 */
#ifndef TP_MERGE_METRICS_H
#define TP_MERGE_METRICS_H

#include <stdio.h>

#include "merge/live/now.h"

void tp_metrics_write(const struct tp_live *live, FILE *file);
/* The same into a file, whole or not at all. False: it cannot be written, which was said. */
bool tp_metrics_save(const struct tp_live *live, const char *path);

#endif
