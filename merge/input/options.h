/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options.h - what of which files was asked for
 */
#ifndef TP_MERGE_OPTIONS_H
#define TP_MERGE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct tp_fuse_options {
	const char *const *path;	/* run folders, *.tpt, *.tpt.part, ring files */
	uint32_t n_paths;
	const char *ranks, *windows, *steps;	/* "0,2,5-7"; NULL: all */
	const char *job;		/* by name, or "all"; NULL: the newest */
	bool is_quiet;			/* no progress */
};

#endif
