/* SPDX-License-Identifier: Apache-2.0 */
/*
 * input.c - finding traces, rings, ledgers and torch.profiler's files below the paths of a
 * command line
 *
 * Nothing here trusts the folder: links may form loops, files may vanish or be unreadable, the same
 * file may be reached by several names, a folder may become a link: each stays open while what lies
 * in it is looked at. Names are taken in sorted order, so that two runs over one folder say the
 * same.
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
#include "runtime/base/begins.h"
#include "runtime/base/file.h"
#include "runtime/trace/hang.h"
#include "runtime/trace/ledger.h"
#include "runtime/trace/oom.h"
#include "runtime/trace/ring_layout.h"

static const char gone[] = "gone since its folder was listed; not read";
static const char ended[] = "gone since its folder was listed: its process has ended; what that wrote last is "
			    "in files that are read when all is merged again";
static const char replaced[] = "another file has this name since the folder was listed; that one is read";
static const char changed[] = "another file has this name since the folder was listed; not read";

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
	if (tp_begins(bytes, (size_t)n, TP_HANG_FIRST_LINE "\n") ||
	    tp_begins(bytes, (size_t)n, TP_OOM_FIRST_LINE "\n")) {
		*kind = TP_INPUT_REPORT;
		return true;
	}
	eol = memchr(bytes, '\n', (size_t)n);
	*kind = TP_INPUT_LEDGER;
	return eol && tp_ledger_parse_head(bytes, (size_t)(eol - bytes), &ledger);
}

static const struct tp_input *find_file(const struct tp_input_list *list, const struct stat *st)
{
	for (uint32_t i = 0; i < list->n_items; i++)
		if (list->item[i].dev == st->st_dev && list->item[i].ino == st->st_ino)
			return &list->item[i];
	return NULL;
}

/* Where `path` lies: in a folder that is kept open while it is walked, under this name there. */
struct place {
	int folder;		/* AT_FDCWD: name is a path that was given */
	struct tp_input_dir in;	/* which folder that is */
	const char *name;
	const char *path;
	uint32_t depth;
};

static int add_file(struct tp_input_list *list, const struct place *at, int fd, const struct stat *st)
{
	const char *path = at->path;
	bool is_given = at->depth == 0;
	enum tp_input_kind kind;
	struct tp_input *item;
	char again[40];

	/* That very file, whatever has the name by now. */
	snprintf(again, sizeof(again), "/proc/self/fd/%d", fd);
	if (!sniff(fd, &kind)) {
		bool is_kineto = tp_ends(path, ".pt.trace.json") ||
				 tp_ends(path, ".pt.trace.json.gz");

		if (is_kineto && !is_given && tp_kineto_is_ours(again))
			return 0;
		/* A damaged file is still worth a word: its reader will say what it looks like. */
		if (tp_ends(path, ".ring"))
			kind = TP_INPUT_RING;
		else if (tp_ends(path, ".tpn"))
			kind = TP_INPUT_NODE;
		else if (is_kineto || (is_given && tp_kineto_is_one(again)))
			kind = TP_INPUT_KINETO;
		else if (is_given || tp_ends(path, ".tpt") || tp_ends(path, ".tpt.part"))
			kind = TP_INPUT_TRACE;
		else
			return 0;
	}
	if (find_file(list, st))
		return 0;
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
	item->folder = at->in;
	list->n_items++;
	return 0;
}

static int add_place(struct tp_input_list *list, const struct place *place);

/* False: it was walked before. */
static bool is_new_folder(const struct tp_input_list *list, const struct stat *st)
{
	for (uint32_t i = 0; i < list->n_seen; i++)
		if (list->seen[i].dev == st->st_dev && list->seen[i].ino == st->st_ino)
			return false;
	return true;
}

/* What lies in the folder that is open as `fd`; links that are put in its place by now lead nowhere. */
static int add_entries(struct tp_input_list *list, int fd, const struct stat *st,
		       const struct place *at)
{
	struct dirent **entry;
	int n = scandirat(fd, ".", &entry, NULL, alphasort), err = 0;

	if (n < 0) {
		list->complain(list->ctx, at->path, strerror(errno));
		return 0;
	}
	for (int i = 0; i < n; i++) {
		const char *name = entry[i]->d_name;
		char *path;

		if (!err && strcmp(name, ".") && strcmp(name, "..")) {
			if (asprintf(&path, "%s%s%s", at->path, tp_ends(at->path, "/") ? "" : "/",
				     name) < 0) {
				err = -ENOMEM;
			} else {
				err = add_place(list, &(struct place){fd, {st->st_dev, st->st_ino},
								      name, path, at->depth + 1});
				free(path);
			}
		}
		free(entry[i]);
	}
	free(entry);
	return err;
}

static int add_folder(struct tp_input_list *list, const struct place *at)
{
	struct stat st;
	int fd, err = 0;

	if (at->depth > TP_INPUT_DEPTH) {
		list->complain(list->ctx, at->path, "too many folders deep; not read");
		return 0;
	}
	/* What it is now: it may have become a link. */
	fd = openat(at->folder, at->name,
		    O_RDONLY | O_DIRECTORY | O_CLOEXEC | (at->depth ? O_NOFOLLOW : 0));
	if (fd < 0 || fstat(fd, &st)) {
		list->complain(list->ctx, at->path, strerror(errno));
	} else if (is_new_folder(list, &st)) {
		if (tp_grow(&list->seen, &list->cap_seen, list->n_seen + 1, sizeof(list->seen[0]))) {
			list->seen[list->n_seen++] = (struct tp_input_dir){st.st_dev, st.st_ino};
			err = add_entries(list, fd, &st, at);
		} else {
			err = -ENOMEM;
		}
	}
	if (fd >= 0)
		close(fd);
	return err;
}

static int add_place(struct tp_input_list *list, const struct place *at)
{
	const char *path = at->path;
	bool is_given = at->depth == 0;
	struct stat st;
	int fd, err;

	if (fstatat(at->folder, at->name, &st, 0)) {
		/* In a folder only a ring's link matters: what it led to is gone, or loops. */
		if (is_given || tp_ends(path, ".ring"))
			list->complain(list->ctx, path,
				       !is_given && errno == ENOENT ?
					       "the buffer file this link led to is gone (a reboot?); "
					       "what was only in it is lost" :
					       strerror(errno));
		return 0;
	}
	if (S_ISDIR(st.st_mode)) {
		struct stat link;

		/* It may lead out of the run's folder: whoever wants that names it. */
		if (!is_given && !fstatat(at->folder, at->name, &link, AT_SYMLINK_NOFOLLOW) &&
		    S_ISLNK(link.st_mode)) {
			list->note(list->ctx, path, "a link to a folder: not followed");
			return 0;
		}
		return add_folder(list, at);
	}
	if (!S_ISREG(st.st_mode)) {
		if (is_given)
			list->complain(list->ctx, path, "neither a file nor a folder; not read");
		return 0;
	}
	fd = tp_infile_find(at->folder, at->name, &st);
	if (fd < 0) {
		if (is_given || strstr(path, ".tpt") || strstr(path, ".tpn") || tp_ends(path, ".ring"))
			list->complain(list->ctx, path,
				       fd == -EPERM ? "a link to a file of another user; not read"
						    : tp_file_error(fd));
		return 0;
	}
	err = add_file(list, at, fd, &st);
	close(fd);
	return err;
}

int tp_input_add(struct tp_input_list *list, const char *path)
{
	return add_place(list, &(struct place){.folder = AT_FDCWD, .name = path, .path = path});
}

/* ---- opened again ---- */

/* What has the name by now, in the folder where it was found. */
static int open_other(const struct tp_input *item, struct stat *st)
{
	const char *slash = strrchr(item->path, '/');
	struct stat in;
	char *path;
	int folder, fd = -ESTALE;

	if (item->is_given)
		return tp_infile_find(AT_FDCWD, item->path, st);
	path = strndup(item->path, (size_t)(slash + 1 - item->path));
	if (!path)
		return -ENOMEM;
	folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	free(path);
	if (folder < 0)
		return -errno;
	if (!fstat(folder, &in) && in.st_dev == item->folder.dev && in.st_ino == item->folder.ino)
		fd = tp_infile_find(folder, slash + 1, st);
	close(folder);
	return fd;
}

int tp_input_open(struct tp_input_list *list, uint32_t at)
{
	struct tp_input *item = &list->item[at];
	enum tp_input_kind kind;
	struct stat st;
	int fd = tp_infile_again(item->path, item->dev, item->ino);

	if (fd != -ESTALE) {
		if (fd < 0)
			list->complain(list->ctx, item->path,
				       fd != -ENOENT		      ? tp_file_error(fd)
				       : item->kind == TP_INPUT_RING ? ended : gone);
		return fd < 0 ? -1 : fd;
	}
	fd = open_other(item, &st);
	if (fd >= 0 && sniff(fd, &kind) && kind == item->kind) {
		/* Under its earlier name it is an input, too. */
		if (!find_file(list, &st)) {
			list->note(list->ctx, item->path, replaced);
			item->dev = st.st_dev;
			item->ino = st.st_ino;
			return fd;
		}
	} else {
		list->complain(list->ctx, item->path, changed);
	}
	if (fd >= 0)
		close(fd);
	return -1;
}

void tp_input_free(struct tp_input_list *list)
{
	for (uint32_t i = 0; i < list->n_items; i++)
		free(list->item[i].path);
	free(list->item);
	free(list->seen);
	memset(list, 0, sizeof(*list));
}
