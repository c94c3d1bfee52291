/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks.c - which formats and views there are, and where results go
 */
#include "merge/sinks.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "merge/input/options.h"
#include "runtime/base/text.h"

const struct tp_sink *const tp_sinks[] = {
	&tp_sink_chrome, &tp_sink_perfetto, &tp_sink_html, &tp_sink_torch, &tp_sink_torch_tb,
	&tp_sink_folded, &tp_sink_speedscope, &tp_sink_pprof, &tp_sink_memviz, &tp_sink_memprofiler,
	&tp_sink_node, &tp_sink_run,
	NULL,
};
const struct tp_view *const tp_views[] = {
	/* In the order in which one looks. */
	&tp_view_overview, &tp_view_steps, &tp_view_operator, &tp_view_averages,
	&tp_view_module, &tp_view_kernel, &tp_view_memory, &tp_view_comm, &tp_view_trace, &tp_view_hot,
	&tp_view_memory_at, &tp_view_diff, &tp_view_health, NULL,
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

/* "-steps12-ranks0,3": a part of a run is not written over the whole. */
static void put_selection(struct tp_text *name, const struct tp_fuse_options *chosen)
{
	const struct {
		const char *what, *list;
	} part[] = {{"steps", chosen ? chosen->steps : NULL},
		    {"ranks", chosen ? chosen->ranks : NULL},
		    {"windows", chosen ? chosen->windows : NULL}};

	for (size_t i = 0; i < sizeof(part) / sizeof(part[0]); i++)
		if (part[i].list)
			tp_text_fmt(name, "-%s%s", part[i].what, part[i].list);
}

/* "node0-steps12.json.gz", "nodes0-3.html", "torch-steps12" */
static void put_name(struct tp_text *name, const struct tp_run *run, const struct tp_sink *sink,
		     const struct tp_fuse_options *chosen)
{
	int32_t first = INT32_MAX, last = 0;

	if (sink->is_folder || sink->is_whole_name) {
		tp_text_str(name, sink->suffix);
		put_selection(name, chosen);
		return;
	}
	for (uint32_t i = 0; i < run->n_procs; i++) {
		int32_t node = node_of(run->proc[i]);

		first = node < first ? node : first;
		last = node > last ? node : last;
	}
	if (first >= last)
		tp_text_fmt(name, "node%d", last);
	else
		tp_text_fmt(name, "nodes%d-%d", first, last);
	put_selection(name, chosen);
	tp_text_str(name, sink->suffix);
}

bool tp_sink_is_stdout(const char *given)
{
	return given && !strcmp(given, "-");
}

bool tp_sink_is_folder(const char *given)
{
	size_t n = strlen(given);

	return (n && given[n - 1] == '/') || is_folder(given);
}

int tp_sink_make_folder(const char *given)
{
	if (!tp_sink_is_folder(given) || is_folder(given))
		return 0;
	return mkdir(given, 0777) ? -errno : 0;
}

int tp_sink_path(const struct tp_run *run, const struct tp_sink *sink, const char *given,
		 bool is_shared, const struct tp_fuse_options *chosen, char *path, uint32_t cap)
{
	const char *folder = given ? given : run->path;
	size_t n = strlen(folder);
	struct tp_text text;

	tp_text_init(&text, path, cap);
	if (tp_sink_is_stdout(given) || (given && (sink->is_folder ? !is_shared : !is_folder(given)))) {
		tp_text_str(&text, given);
		return text.is_cut ? -ENAMETOOLONG : 0;
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
	tp_text_fmt(&text, "%.*s/", (int)n, folder);
	put_name(&text, run, sink, chosen);
	return text.is_cut ? -ENAMETOOLONG : 0;
}
