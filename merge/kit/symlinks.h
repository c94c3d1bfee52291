/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symlinks.h - what a name leads to, in folders where others write, too
 */
#ifndef TP_MERGE_SYMLINKS_H
#define TP_MERGE_SYMLINKS_H

#include <stdbool.h>
#include <sys/stat.h>

/*
 * Follows a name in a folder (a descriptor, or AT_FDCWD and a path) link by link: what is asked whose it
 * is, and what it leads to, is the link that was found, whatever has its name by now. A link may lead
 * to what its owner has; root's and the caller's to anything. Nothing is opened but as a place (O_PATH).
 *
 * A descriptor of O_PATH that the caller closes, and its stat(2), never a link's; or -errno; -EPERM: a link
 * on the way is of a user who has not what it leads to. Folders in `name` itself are the caller's word. Any
 * thread.
 */
int tp_symlinks_follow(int folder, const char *name, struct stat *st);

/*
 * Opens a file to append to, makes it where there is none: by the same rules, so that no link of another
 * user leads to what is the caller's. A link of the caller's or of root's is simply followed. A descriptor
 * that the caller closes, or -errno; -EPERM as above.
 */
int tp_symlinks_append(const char *name);

#endif
