/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch_files.c - which finished files there are, and which of them were delivered
 */
#include "merge/live/watch_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "merge/kit/grow.h"
#include "runtime/base/begins.h"
#include "runtime/base/hash.h"

static uint32_t hash_of(const char *name)
{
	return tp_keyed_hash(tp_hash_bytes(name, strlen(name), 0));
}

struct tp_watch_file *tp_watch_file_find(struct tp_watch_files *files, const char *name)
{
	uint32_t hash = hash_of(name), at, row;

	for (row = tp_keyed_first(&files->known, hash, &at); row != TP_NO_KEYED;
	     row = tp_keyed_next(&files->known, hash, &at))
		if (!strcmp(files->file[row].name, name))
			return &files->file[row];
	return NULL;
}

/* False: memory is out. A name that is too long is no file of ours. */
static bool note_file(struct tp_watch_files *files, const struct tp_journal *journal, const char *name,
		      const struct tp_watch_window *window)
{
	struct tp_watch_file *file = tp_watch_file_find(files, name);
	size_t n = strlen(name);

	if (n >= sizeof(file->name))
		return true;
	if (!file) {
		if (!tp_grow(&files->file, &files->cap, files->n + 1ull, sizeof(*file)) ||
		    !tp_keyed_add(&files->known, hash_of(name), files->n))
			return false;
		file = &files->file[files->n++];
		*file = (struct tp_watch_file){.restart = window->restart, .window = window->number};
		memcpy(file->name, name, n + 1);
		file->is_delivered = tp_journal_has(journal, TP_JOURNAL_DELIVERED, name);
	}
	file->is_there = true;
	return true;
}

void tp_watch_output(char name[256], const struct tp_follow *follow,
		     const struct tp_watch_window *window, const struct tp_sink *sink)
{
	int32_t first = INT32_MAX, last = 0;
	char node[32], shown[64];

	for (uint32_t i = 0; i < follow->n_ranks; i++) {
		int32_t at = follow->rank[i].head.node_rank;

		if (!follow->rank[i].is_of_job)
			continue;
		at = at < 0 ? 0 : at;
		first = at < first ? at : first;
		last = at > last ? at : last;
	}
	if (first >= last)
		snprintf(node, sizeof(node), "node%d", last);
	else
		snprintf(node, sizeof(node), "nodes%d-%d", first, last);
	snprintf(name, 256, "%s.%s%s%s", node, tp_watch_name(shown, window),
		 sink->is_whole_name ? "." : "", sink->suffix);
}

static bool note_outputs(struct tp_watch_files *files, const struct tp_follow *follow,
			 const struct tp_watch_window *window, const struct tp_journal *journal,
			 const struct tp_watch_options *options)
{
	for (uint32_t i = 0; i < options->n_sinks; i++) {
		char name[256];
		struct stat st;

		tp_watch_output(name, follow, window, options->sink[i]);
		if (!fstatat(follow->dir, name, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode) &&
		    !note_file(files, journal, name, window))
			return false;
	}
	return true;
}

bool tp_watch_files_update(struct tp_watch_files *files, const struct tp_follow *follow,
			   const struct tp_watch_windows *windows, const struct tp_journal *journal,
			   const struct tp_watch_options *options)
{
	for (uint32_t i = 0; i < files->n; i++)
		files->file[i].is_there = false;
	for (uint32_t i = 0; i < follow->n_traces; i++) {
		const struct tp_follow_trace *trace = &follow->trace[i];
		const struct tp_watch_window window = {
			.restart = trace->of == UINT32_MAX ? 0 : follow->rank[trace->of].head.restart,
			.number = trace->window,
		};

		if (tp_watch_is_of(&window, follow, trace) &&
		    !note_file(files, journal, trace->name, &window))
			return false;
	}
	for (uint32_t i = 0; i < windows->n; i++)
		if (windows->window[i].is_merged &&
		    !note_outputs(files, follow, &windows->window[i], journal, options))
			return false;
	return true;
}

void tp_watch_files_free(struct tp_watch_files *files)
{
	free(files->file);
	tp_keyed_free(&files->known);
	*files = (struct tp_watch_files){0};
}

bool tp_watch_file_is_of(const struct tp_watch_file *file, const struct tp_watch_window *window)
{
	return file->restart == window->restart && file->window == window->number;
}

bool tp_watch_files_are_delivered(const struct tp_watch_files *files,
				  const struct tp_watch_window *window)
{
	for (uint32_t i = 0; i < files->n; i++)
		if (files->file[i].is_there && !files->file[i].is_delivered &&
		    tp_watch_file_is_of(&files->file[i], window))
			return false;
	return true;
}

/* "node0.window3.json.gz.tmp-a1B2c3", the name of outfile.c. */
static bool is_left(const char *name)
{
	const char *temp = strstr(name, ".tmp-");

	return temp && strlen(temp) == strlen(".tmp-XXXXXX") && tp_begins(name, strlen(name), "node") &&
	       strstr(name, "window") != NULL;
}

void tp_watch_files_sweep(int dir)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *name;

	while (list && (name = readdir(list)))
		if (is_left(name->d_name))
			unlinkat(dir, name->d_name, 0);
	if (list)
		closedir(list);
	else if (fd >= 0)
		close(fd);
}
