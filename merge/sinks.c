/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks.c - which formats and views there are, and where results go
 */
#include "merge/model/view.h"
#include "merge/sinks.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

const struct tp_sink *const tp_sinks[] = {
	&tp_sink_chrome, &tp_sink_perfetto, &tp_sink_html, &tp_sink_torch, &tp_sink_torch_tb,
	&tp_sink_folded, &tp_sink_speedscope, &tp_sink_pprof, &tp_sink_memviz, &tp_sink_node,
	NULL,
};
const struct tp_view *const tp_views[] = {
	&tp_view_overview, &tp_view_operator, &tp_view_kernel, &tp_view_memory,
	&tp_view_comm, &tp_view_module, &tp_view_steps, &tp_view_trace, &tp_view_health,
	&tp_view_diff, NULL,
};

static bool is_folder(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

/* Not every launcher tells a process its node: an unknown one is the only one, 0. */
static int32_t node_of(const struct tp_proc *proc)
{
	return proc->node_rank < 0 ? 0 : proc->node_rank;
}

int tp_sink_path(const struct tp_run *run, const struct tp_sink *sink, const char *given,
		 bool is_shared, char *path, uint32_t cap)
{
	const char *folder = given ? given : run->path;
	int32_t first = INT32_MAX, last = 0;
	size_t n = strlen(folder);
	int written;

	if (given && (sink->is_folder ? !is_shared : !is_folder(given))) {
		written = snprintf(path, cap, "%s", given);
		return written < 0 || (uint32_t)written >= cap ? -ENAMETOOLONG : 0;
	}
	if (!is_folder(folder)) {
		/* A file was given: its folder. */
		while (n && folder[n - 1] != '/')
			n--;
		if (!n) {
			folder = ".";
			n = 1;
		}
	}
	while (n > 1 && folder[n - 1] == '/')
		n--;
	if (sink->is_folder) {
		written = snprintf(path, cap, "%.*s/%s", (int)n, folder, sink->suffix);
		return written < 0 || (uint32_t)written >= cap ? -ENAMETOOLONG : 0;
	}
	for (uint32_t i = 0; i < run->n_procs; i++) {
		int32_t node = node_of(run->proc[i]);

		first = node < first ? node : first;
		last = node > last ? node : last;
	}
	if (first >= last)
		written = snprintf(path, cap, "%.*s/node%d%s", (int)n, folder, last, sink->suffix);
	else
		written = snprintf(path, cap, "%.*s/nodes%d-%d%s", (int)n, folder, first, last,
				   sink->suffix);
	return written < 0 || (uint32_t)written >= cap ? -ENAMETOOLONG : 0;
}
