/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memviz.h - lives of tensor blocks as a memory snapshot of PyTorch: what torch.cuda._memory_viz
 * and pytorch.org/memory_viz read
 */
#ifndef TP_MERGE_MEMVIZ_H
#define TP_MERGE_MEMVIZ_H

#include "merge/facts/tensor/memcat.h"

/* An allocation that failed. */
struct tp_memviz_oom {
	uint32_t device;
	int64_t bytes, ns;
	uint32_t name;			/* of tp_memcat_names: the operator that requested it; TP_NO_NAME */
	struct tp_origin origin;
};

/* A device of a process. */
struct tp_memviz_device {
	uint32_t device;		/* TP_DEVICE */
	struct tp_life *life;		/* in any order; is changed */
	uint32_t n;
};

/* The devices of one process into `path`; names of stacks have been read. 0, or -errno after a
 * message. */
int tp_memviz_write(const char *path, const struct tp_memcat *cat,
		    struct tp_memviz_device *device, uint32_t n_devices,
		    const struct tp_memviz_oom *oom, uint32_t n_ooms);

#endif
