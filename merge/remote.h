/* SPDX-License-Identifier: Apache-2.0 */
/*
 * remote.h - input that lies in a store: REMOTE:PATH of rclone, fetched into a folder of ours
 *
 * What processes leave in a run folder is fetched, not what was made of it. The folder is in TMPDIR
 * and gone when the program ends, by a signal, too, as far as files are known by then.
 */
#ifndef TP_MERGE_REMOTE_H
#define TP_MERGE_REMOTE_H

#include <stdbool.h>

/* "s3:bucket/run", ":local:/run"; false for a file or folder that is there. */
bool tp_remote_is(const char *path);
/* The folder with what was fetched; to be freed with tp_remote_free. NULL: it failed, and that is said; so
 * is what was fetched, unless quiet. */
char *tp_remote_fetch(const char *path, bool is_quiet);
void tp_remote_free(char *folder);

#endif
