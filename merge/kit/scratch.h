/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scratch.h - files that are there only while the program works: gone when a signal ends it, too
 *
 * SIGINT, SIGTERM and SIGHUP, where nobody else has a say in what they do.
 */
#ifndef TP_MERGE_SCRATCH_H
#define TP_MERGE_SCRATCH_H

/* Both take the six X at the end of `path`: a file (descriptor, or -errno), a folder (0 or -errno). */
int tp_scratch_file(char *path);
int tp_scratch_folder(char *path);
/* One that is made by somebody else, from now on; before its folder is forgotten. */
void tp_scratch_add(const char *path);
/* It is gone, or stays. */
void tp_scratch_forget(const char *path);

#endif
