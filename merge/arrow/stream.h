/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream.h - columns as a stream of Arrow's C interface, nothing copied
 */
#ifndef TP_MERGE_ARROW_STREAM_H
#define TP_MERGE_ARROW_STREAM_H

#include "merge/arrow/columns.h"
#include "merge/arrow/trainprof_read.h"

/* The stream, and each array that comes of it, holds the columns. 0 or ENOMEM. */
int tp_arrow_stream(struct ArrowArrayStream *stream, struct tp_columns *columns);

#endif
