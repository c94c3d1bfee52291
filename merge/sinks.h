/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks.h - the lists of -f and -v, and the names of the files that sinks write
 */
#ifndef TP_MERGE_SINKS_H
#define TP_MERGE_SINKS_H

#include "merge/model/sink.h"
#include "merge/model/view.h"

enum { TP_LIST_MAX = TP_VIEWS_MAX };

extern const struct tp_sink *const tp_sinks[];	/* NULL-terminated */
extern const struct tp_view *const tp_views[];

/* What -o names: standard output, "-"; a folder, which is there or is called "new/". */
bool tp_sink_is_stdout(const char *given);
bool tp_sink_is_folder(const char *given);
/* Makes the folder "new/" of -o; nothing for other names. 0, or -errno. */
int tp_sink_make_folder(const char *given);

/*
 * Where a sink writes: `given` (-o) when it is a file name or "-"; inside it when it is a folder;
 * NULL: in the run's folder, "node{node_rank}", what was chosen of the run ("-steps12") and the
 * suffix; a run of several nodes: "nodes{first}-{last}". A sink that writes a folder takes `given`
 * itself, unless others write into it too (is_shared) or it is NULL: then one of its own in there.
 * chosen may be NULL: all. 0, or -ENAMETOOLONG.
 */
int tp_sink_path(const struct tp_run *run, const struct tp_sink *sink, const char *given,
		 bool is_shared, const struct tp_fuse_options *chosen, char *path, uint32_t cap);

#endif
