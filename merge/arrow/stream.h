/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream.h - batches as a stream of Arrow's C interface, nothing copied
 */
#ifndef TP_MERGE_ARROW_STREAM_H
#define TP_MERGE_ARROW_STREAM_H

#include "merge/arrow/batch.h"
#include "merge/arrow/trainprof_read.h"

/* Where batches come from. */
struct tp_source {
	struct tp_shape shape;
	/* The next one, the taker's; NULL: there are no more, or an errno in *err, and what it means, which
	 * lives until the next call. */
	struct tp_batch *(*next)(struct tp_source *source, int *err, const char **why);
	void (*free)(struct tp_source *source);
};

/* The stream owns the source, and each array of it its batch. 0, or ENOMEM: the source is freed. */
int tp_arrow_stream(struct ArrowArrayStream *stream, struct tp_source *source);

#endif
