/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sink.h - where the fused events go: one table of functions per output format
 *
 * Called by main.c's single pass over the run, on one thread, in this order: begin, event for
 * every event in time order, end. A sink keeps memory bounded by tracks, not by events.
 */
#ifndef TP_MERGE_SINK_H
#define TP_MERGE_SINK_H

#include "merge/model/fact.h"

struct tp_view_options;

struct tp_sink {
	const char *name;	/* of -f */
	const char *help;	/* one line of --help */
	const char *hint;	/* said when it was written: what to do with it */
	const char *suffix;	/* of the default file name: "node{node_rank}" + suffix; or the
				 * default name of the folder */
	bool is_whole_name;	/* `suffix` is the default name */
	bool is_folder;		/* it writes files of names of its own into a folder */
	bool has_views;		/* it shows the tables of views */
	const char *like;	/* the view whose options it takes, beside those of all; may be NULL */

	/* How views are to be shown, for formats that show them or are like one; before begin.
	 * May be NULL. */
	void (*prepare)(const struct tp_view_options *options);
	/* Opens `path` for writing; a folder is made. Returns the sink's own state, or NULL after
	 * a message. */
	void *(*begin)(struct tp_facts *facts, const char *path);
	/* After all facts; NULL: it writes at the end, of facts. */
	void (*event)(void *state, const struct tp_event *event);
	/* Trailing metadata; closes the file, frees state. 0, or -errno after a message. */
	int (*end)(void *state, const struct tp_run *run);
	/* Instead of these three: a format that takes no events but all that was read. 0, or
	 * -errno after a message. */
	int (*write)(struct tp_run *run, const char *path);
};

extern const struct tp_sink tp_sink_chrome, tp_sink_perfetto, tp_sink_torch, tp_sink_torch_tb,
	tp_sink_html, tp_sink_folded, tp_sink_speedscope, tp_sink_pprof, tp_sink_memviz,
	tp_sink_memprofiler, tp_sink_node, tp_sink_run;

#endif
