/* SPDX-License-Identifier: Apache-2.0 */
/*
 * first_trace.h - a program that is recorded waits until its run folder has a trace, even a part of one
 *
 * Until then the thread that records may have got no processor: what a program does and how it ends is not
 * in its trace.
 */
#ifndef FIRST_TRACE_H
#define FIRST_TRACE_H

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int has_a_trace(const char *path)
{
	DIR *folder = opendir(path);
	const struct dirent *entry;
	int found = 0;

	if (!folder)
		return 0;
	while (!found && (entry = readdir(folder)))
		found = strstr(entry->d_name, ".tpt") != NULL;
	closedir(folder);
	return found;
}

/* Ten seconds at most; not at all where TRAINPROF_PROGRAM names no program to record. */
static void await_first_trace(void)
{
	const char *folder = getenv("TRAINPROF_PROGRAM") ? getenv("TRAINPROF_DIR") : NULL;

	for (int tries = 1000; folder && tries && !has_a_trace(folder); tries--)
		usleep(10000);
}

#endif
