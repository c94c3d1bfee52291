/* SPDX-License-Identifier: Apache-2.0 */
/*
 * folder.h - files in a folder in which others may write, too
 *
 * A name in such a folder may be anybody's: a link to a file elsewhere, or another file a moment
 * later. So the folder is opened once and kept; files in it are reached from its descriptor, no
 * link is followed on the way or at its end, new files are new (O_EXCL), and a file is removed only
 * while the name still is the file that was opened.
 *
 * `folder` NULL, or a path that does not lie in it: the folder of the path stands for it. All
 * return 0 or -errno. Threads: one at a time for one folder. No allocation.
 */
#ifndef TP_BASE_FOLDER_H
#define TP_BASE_FOLDER_H

#include "runtime/base/own_fd.h"

struct tp_folder {
	struct tp_own_fd own;
	char path[512];
};

/* Opens a folder that exists. Its own path may lead through links: it is the user's. */
int tp_folder_open(struct tp_folder *folder, const char *path);
/* The folder at its path again, made when it was removed, and the folders above `path`. True in
 * `is_gone`: it was. */
int tp_folder_make(struct tp_folder *folder, const char *path, bool *is_gone);
void tp_folder_close(struct tp_folder *folder);

/* A new file at `path`. `flags`: O_WRONLY or O_RDWR. */
int tp_folder_create(const struct tp_folder *folder, const char *path, int flags, mode_t mode,
		     struct tp_own_fd *own);
/* One that is there. */
int tp_folder_open_file(const struct tp_folder *folder, const char *path, int flags,
			struct tp_own_fd *own);
/* The file at `path` is `own`, else -ESTALE. Of a closed file some file systems forget the number. */
int tp_folder_check(const struct tp_folder *folder, const char *path,
		    const struct tp_own_fd *own);
/* `from` becomes `to` in the same folder. */
int tp_folder_rename(const struct tp_folder *folder, const char *from, const char *to);
/* `to` in the same folder is the same file, too. */
int tp_folder_link(const struct tp_folder *folder, const char *from, const char *to);
/* A link at `path` that leads to `target`. */
int tp_folder_symlink(const struct tp_folder *folder, const char *target, const char *path);
/* If it is `own`, as above. NULL: whatever has the name, but for a folder. */
int tp_folder_unlink(const struct tp_folder *folder, const char *path,
		     const struct tp_own_fd *own);

#endif
