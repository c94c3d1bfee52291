/* SPDX-License-Identifier: Apache-2.0 */
/*
 * node.h - node files: read as the files that were fused into them, and written (node_write.c: the format "tpn")
 *
 * Nothing is decoded on the way: a node file has the very bytes that the readers of traces,
 * ledgers and rings had when it was made, so that everything comes out of it as it comes out
 * of these files. See trainprof_trace.h and trainprof-trace(5), "Node files".
 */
#ifndef TP_MERGE_NODE_H
#define TP_MERGE_NODE_H

#include "merge/input/run.h"

/* A member of a node file. */
struct tp_node_part {
	struct tp_node_member head;
	char *path;			/* the file that it was, as it was known then */
	uint32_t first, n_own, n;	/* its blocks in reader.block: MEMBER to RING, then a trace's */
	struct tp_proc_in *proc;	/* once it was read; NULL: it was not */
};

struct tp_node {
	struct tp_reader reader;	/* blocks by member */
	struct tp_infile *file;
	struct tp_node_part *part;
	uint32_t n_parts;
	uint32_t n_told;		/* members that are given by other files too */
};

/* A new one in run.node: fd (its own from now on), which is opened again at `path`. 0; -1: it cannot be
 * read, an issue says why; -ENOMEM. */
int tp_node_open(struct tp_run_in *run, int fd, const char *path);
/* Its members of that kind become the run's. 0 or -ENOMEM. */
int tp_node_read(struct tp_run_in *run, uint32_t node_at, enum tp_member_kind kind);
/* After all members of all were read: says how many were given by other files too. */
void tp_node_tell(struct tp_run_in *run, const struct tp_node *node);
void tp_node_free(struct tp_node *node);

/* The blocks of a trace that is a member, as if its file had been opened; the reader shares
 * what it has with the node's: tp_node_give_back instead of tp_reader_close. */
void tp_node_view(struct tp_node *node, uint32_t part, struct tp_reader *reader);
void tp_node_give_back(struct tp_node *node, struct tp_reader *reader);

#endif
