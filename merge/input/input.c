/* SPDX-License-Identifier: Apache-2.0 */
/*
 * input.c - finding traces, rings, ledgers and torch.profiler's files below the paths of a
 * command line
 *
 * Nothing here trusts the folder: links may form loops, files may vanish or be unreadable,
 * the same file may be reached by several names. Names are taken in sorted order, so that
 * two runs over one folder say the same.
 */
#include "merge/input/input.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "merge/input/infile.h"
#include "merge/kineto/kineto_in.h"
#include "merge/kit/grow.h"
#include "runtime/base/file.h"
#include "runtime/trace/ledger.h"
#include "runtime/trace/ring_layout.h"

static bool ends_with(const char *s, const char *suffix)
{
	size_t n = strlen(s), m = strlen(suffix);

	return n >= m && !strcmp(s + n - m, suffix);
}

/* False: nothing of ours, as far as its first bytes tell. */
static bool sniff(int fd, enum tp_input_kind *kind)
{
	char bytes[2 * TP_LEDGER_LINE_MAX];
	struct tp_ledger_head ledger;
	ssize_t n = pread(fd, bytes, sizeof(bytes), 0);
	uint64_t magic;
	const char *eol;

	if (n < 8)
		return false;
	memcpy(&magic, bytes, 8);
	if (magic == TP_FILE_MAGIC || magic == TP_RING_MAGIC || magic == TP_NODE_MAGIC) {
		*kind = magic == TP_FILE_MAGIC	 ? TP_INPUT_TRACE
			: magic == TP_RING_MAGIC ? TP_INPUT_RING
						 : TP_INPUT_NODE;
		return true;
	}
	eol = memchr(bytes, '\n', (size_t)n);
	*kind = TP_INPUT_LEDGER;
	return eol && tp_ledger_parse_head(bytes, (size_t)(eol - bytes), &ledger);
}

static int add_file(struct tp_input_list *list, const char *path, int fd, const struct stat *st,
		    bool is_given)
{
	enum tp_input_kind kind;
	struct tp_input *item;

	if (!sniff(fd, &kind)) {
		bool is_kineto = ends_with(path, ".pt.trace.json") ||
				 ends_with(path, ".pt.trace.json.gz");

		if (is_kineto && !is_given && tp_kineto_is_ours(path))
			return 0;
		/* A damaged file is still worth a word: its reader will say what it looks like. */
		if (ends_with(path, ".ring"))
			kind = TP_INPUT_RING;
		else if (ends_with(path, ".tpn"))
			kind = TP_INPUT_NODE;
		else if (is_kineto || (is_given && tp_kineto_is_one(path)))
			kind = TP_INPUT_KINETO;
		else if (is_given || ends_with(path, ".tpt") || ends_with(path, ".tpt.part"))
			kind = TP_INPUT_TRACE;
		else
			return 0;
	}
	for (uint32_t i = 0; i < list->n_items; i++) {
		if (list->item[i].dev == st->st_dev && list->item[i].ino == st->st_ino)
			return 0;
	}
	if (list->n_items >= TP_INPUT_FILES) {
		list->complain(list->ctx, path, "too many files; the rest is not read");
		return 0;
	}
	if (!tp_grow(&list->item, &list->cap, list->n_items + 1, sizeof(list->item[0])))
		return -ENOMEM;
	item = &list->item[list->n_items];
	item->path = strdup(path);
	if (!item->path)
		return -ENOMEM;
	item->kind = kind;
	item->is_given = is_given;
	item->dev = st->st_dev;
	item->ino = st->st_ino;
	list->n_items++;
	return 0;
}

static int add_path(struct tp_input_list *list, const char *path, uint32_t depth);

static int add_folder(struct tp_input_list *list, const char *path, const struct stat *st,
		      uint32_t depth)
{
	struct dirent **entry;
	int n, fd, err = 0;

	for (uint32_t i = 0; i < list->n_seen; i++) {
		if (list->seen[i].dev == st->st_dev && list->seen[i].ino == st->st_ino)
			return 0;
	}
	if (depth > TP_INPUT_DEPTH) {
		list->complain(list->ctx, path, "too many folders deep; not read");
		return 0;
	}
	if (!tp_grow(&list->seen, &list->cap_seen, list->n_seen + 1, sizeof(list->seen[0])))
		return -ENOMEM;
	list->seen[list->n_seen].dev = st->st_dev;
	list->seen[list->n_seen].ino = st->st_ino;
	list->n_seen++;

	/* What it is now: it may have become a link. */
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (depth ? O_NOFOLLOW : 0));
	n = fd < 0 ? -1 : scandirat(fd, ".", &entry, NULL, alphasort);
	if (fd >= 0)
		close(fd);
	if (n < 0) {
		list->complain(list->ctx, path, strerror(errno));
		return 0;
	}
	for (int i = 0; i < n; i++) {
		char *inner;

		if (!err && strcmp(entry[i]->d_name, ".") && strcmp(entry[i]->d_name, "..")) {
			if (asprintf(&inner, "%s%s%s", path, ends_with(path, "/") ? "" : "/",
				     entry[i]->d_name) < 0) {
				err = -ENOMEM;
			} else {
				err = add_path(list, inner, depth + 1);
				free(inner);
			}
		}
		free(entry[i]);
	}
	free(entry);
	return err;
}

static int add_path(struct tp_input_list *list, const char *path, uint32_t depth)
{
	bool is_given = depth == 0;
	struct stat st;
	int fd, err;

	if (stat(path, &st)) {
		/* In a folder only a ring's link matters: what it led to is gone, or loops. */
		if (is_given || ends_with(path, ".ring"))
			list->complain(list->ctx, path,
				       !is_given && errno == ENOENT ?
					       "the ring this link led to is gone (a reboot?); "
					       "what was only in it is lost" :
					       strerror(errno));
		return 0;
	}
	if (S_ISDIR(st.st_mode)) {
		struct stat link;

		/* It may lead out of the run's folder: whoever wants that names it. */
		if (!is_given && !lstat(path, &link) && S_ISLNK(link.st_mode)) {
			list->note(list->ctx, path, "a link to a folder: not followed");
			return 0;
		}
		return add_folder(list, path, &st, depth);
	}
	if (!S_ISREG(st.st_mode)) {
		if (is_given)
			list->complain(list->ctx, path, "neither a file nor a folder; not read");
		return 0;
	}
	fd = tp_infile_find(path, &st);
	if (fd < 0) {
		if (is_given || strstr(path, ".tpt") || strstr(path, ".tpn") || ends_with(path, ".ring"))
			list->complain(list->ctx, path,
				       fd == -EPERM ? "a link to a file of another user; not read"
						    : tp_file_error(fd));
		return 0;
	}
	err = add_file(list, path, fd, &st, is_given);
	close(fd);
	return err;
}

int tp_input_add(struct tp_input_list *list, const char *path)
{
	return add_path(list, path, 0);
}

void tp_input_free(struct tp_input_list *list)
{
	for (uint32_t i = 0; i < list->n_items; i++)
		free(list->item[i].path);
	free(list->item);
	free(list->seen);
	memset(list, 0, sizeof(*list));
}
