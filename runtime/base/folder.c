/* SPDX-License-Identifier: Apache-2.0 */
/*
 * folder.c - files in a folder in which others may write, too
 */
#include "runtime/base/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h> /* renameat */
#include <string.h>
#include <unistd.h>

#include "runtime/base/file.h"
#include "runtime/base/own_table.h"
#include "runtime/base/text.h"

struct call {
	const struct tp_folder *folder;
	const char *path, *to;
	int flags;
	mode_t mode;
	bool is_made;		/* folders on the way that are missing */
	bool is_beside;		/* the old name stays */
	struct tp_own_fd *own;
	const struct tp_own_fd *file;
};

/* The part of `path` below the folder; NULL: it does not lie there. */
static const char *find_below(const struct tp_folder *folder, const char *path)
{
	size_t n = folder ? strlen(folder->path) : 0;

	if (!folder || folder->own.fd < 0 || strncmp(path, folder->path, n) || path[n] != '/')
		return NULL;
	return path + n + 1;
}

/* The folder of the n bytes at `path`; of a file in the working folder there are none. */
static int open_by_path(const char *path, size_t n)
{
	char parent[PATH_MAX];

	if (n >= sizeof(parent))
		return -ENAMETOOLONG;
	memcpy(parent, n ? path : ".", n ? n : 1);
	parent[n ? n : 1] = '\0';
	return tp_file_open(parent, O_RDONLY | O_DIRECTORY, 0);
}

static int open_inner(int dir, const char *name, bool is_made)
{
	int inner = tp_file_open_at(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);

	if (inner != -ENOENT || !is_made)
		return inner;
	if (mkdirat(dir, name, 0755) < 0 && errno != EEXIST)
		return -errno;
	return tp_file_open_at(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
}

/* From the folder's descriptor through every folder of `below` but its last name. */
static int walk(const struct tp_folder *folder, const char *below, bool is_made)
{
	char name[NAME_MAX + 1];
	const char *slash;
	int fd = tp_own_fd_is_ours(&folder->own)
			 ? tp_file_open_at(folder->own.fd, ".", O_RDONLY | O_DIRECTORY, 0)
			 : -EBADF;

	for (; fd >= 0 && (slash = strchr(below, '/')); below = slash + 1) {
		size_t n = (size_t)(slash - below);
		int inner = -ENAMETOOLONG;

		if (!n)
			continue;
		if (n < sizeof(name)) {
			memcpy(name, below, n);
			name[n] = '\0';
			inner = open_inner(fd, name, is_made);
		}
		close(fd);
		fd = inner;
	}
	return fd;
}

/* Within a call: the folder that `path` lies in, to be closed; `name`: its last part. */
static int enter(const struct call *call, const char **name)
{
	const char *path = call->path, *slash = strrchr(path, '/');
	const char *below = find_below(call->folder, path);
	int fd = below ? walk(call->folder, below, call->is_made)
		       : open_by_path(path, !slash ? 0 : slash == path ? 1 : (size_t)(slash - path));

	/* Closed by the program where there is no table of our own: it is still at its path. */
	if (fd == -EBADF && below)
		fd = open_by_path(path, (size_t)(slash - path));
	*name = slash ? slash + 1 : path;
	return fd;
}

int tp_folder_open(struct tp_folder *folder, const char *path)
{
	struct tp_text text;

	folder->own = TP_OWN_FD_NONE;
	tp_text_init(&text, folder->path, sizeof(folder->path));
	tp_text_str(&text, path);
	while (text.len > 1 && folder->path[text.len - 1] == '/')
		folder->path[--text.len] = '\0';
	if (text.is_cut)
		return -ENAMETOOLONG;
	return tp_own_fd_open(&folder->own, folder->path, O_RDONLY | O_DIRECTORY, 0);
}

void tp_folder_close(struct tp_folder *folder)
{
	tp_own_fd_close(&folder->own);
}

static int do_make(void *arg)
{
	const char *name;
	int dir = enter(arg, &name);

	if (dir >= 0)
		close(dir);
	return dir < 0 ? dir : 0;
}

int tp_folder_make(struct tp_folder *folder, const char *path, bool *is_gone)
{
	struct call call = {.folder = folder, .path = path, .is_made = true};
	struct tp_own_fd again;
	struct stat st;
	int err;

	/* A folder that was removed has no link any more; one that was moved is still it. */
	*is_gone = tp_own_fd_stat(&folder->own, &st) || !st.st_nlink;
	if (*is_gone) {
		err = tp_file_make_dirs(folder->path, 0755);
		if (!err)
			err = tp_own_fd_open(&again, folder->path,
					     O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
		if (err)
			return err;
		tp_own_fd_close(&folder->own);
		folder->own = again;
	}
	return tp_own_table_call(do_make, &call);
}

static int do_open(void *arg)
{
	struct call *call = arg;
	const char *name;
	int dir = enter(call, &name), fd;

	if (dir < 0)
		return dir;
	fd = tp_file_open_at(dir, name, call->flags | O_NOFOLLOW, call->mode);
	close(dir);
	return fd < 0 ? fd : tp_own_fd_take(call->own, fd);
}

int tp_folder_create(const struct tp_folder *folder, const char *path, int flags, mode_t mode,
		     struct tp_own_fd *own)
{
	struct call call = {.folder = folder, .path = path, .own = own, .mode = mode,
			    .flags = flags | O_CREAT | O_EXCL};

	*own = TP_OWN_FD_NONE;
	return tp_own_table_call(do_open, &call);
}

int tp_folder_open_file(const struct tp_folder *folder, const char *path, int flags,
			struct tp_own_fd *own)
{
	struct call call = {.folder = folder, .path = path, .own = own, .flags = flags};

	*own = TP_OWN_FD_NONE;
	return tp_own_table_call(do_open, &call);
}

/* `name` in `dir` is the file that was opened. */
static int check_file(int dir, const char *name, const struct tp_own_fd *file)
{
	struct stat st;

	if (!file)
		return 0;
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	return tp_own_fd_is_file(file, &st) ? 0 : -ESTALE;
}

static int do_check(void *arg)
{
	const struct call *call = arg;
	const char *name;
	int dir = enter(call, &name), err;

	if (dir < 0)
		return dir;
	err = check_file(dir, name, call->file);
	close(dir);
	return err;
}

int tp_folder_check(const struct tp_folder *folder, const char *path, const struct tp_own_fd *own)
{
	struct call call = {.folder = folder, .path = path, .file = own};

	return tp_own_table_call(do_check, &call);
}

/* The file gets the name `to` in the same folder: instead of its own, or beside it. */
static int do_name(void *arg)
{
	const struct call *call = arg;
	const char *name, *slash = strrchr(call->to, '/');
	const char *to = slash ? slash + 1 : call->to;
	int dir = enter(call, &name), err;

	if (dir < 0)
		return dir;
	err = call->is_beside ? linkat(dir, name, dir, to, 0) : renameat(dir, name, dir, to);
	err = err < 0 ? -errno : 0;
	close(dir);
	return err;
}

int tp_folder_rename(const struct tp_folder *folder, const char *from, const char *to)
{
	struct call call = {.folder = folder, .path = from, .to = to};

	return tp_own_table_call(do_name, &call);
}

int tp_folder_link(const struct tp_folder *folder, const char *from, const char *to)
{
	struct call call = {.folder = folder, .path = from, .to = to, .is_beside = true};

	return tp_own_table_call(do_name, &call);
}

static int do_symlink(void *arg)
{
	const struct call *call = arg;
	const char *name;
	int dir = enter(call, &name), err;

	if (dir < 0)
		return dir;
	err = symlinkat(call->to, dir, name) < 0 ? -errno : 0;
	close(dir);
	return err;
}

int tp_folder_symlink(const struct tp_folder *folder, const char *target, const char *path)
{
	struct call call = {.folder = folder, .path = path, .to = target};

	return tp_own_table_call(do_symlink, &call);
}

static int do_unlink(void *arg)
{
	const struct call *call = arg;
	const char *name;
	int dir = enter(call, &name), err;

	if (dir < 0)
		return dir;
	err = check_file(dir, name, call->file);
	if (!err && unlinkat(dir, name, 0) < 0)
		err = -errno;
	close(dir);
	return err;
}

int tp_folder_unlink(const struct tp_folder *folder, const char *path, const struct tp_own_fd *own)
{
	struct call call = {.folder = folder, .path = path, .file = own};

	return tp_own_table_call(do_unlink, &call);
}
