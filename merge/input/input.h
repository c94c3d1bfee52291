/* SPDX-License-Identifier: Apache-2.0 */
/*
 * input.h - which files a command line's paths mean
 *
 * A folder is walked (templates make folders); what a file is comes from its first bytes,
 * not from its name, because file names come from the user's templates.
 */
#ifndef TP_MERGE_INPUT_H
#define TP_MERGE_INPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

enum tp_input_kind {
	TP_INPUT_TRACE,
	TP_INPUT_RING,
	TP_INPUT_LEDGER,
	TP_INPUT_REPORT,	/* runtime/trace/report.h */
	TP_INPUT_KINETO,	/* a trace of torch.profiler */
	TP_INPUT_NODE,		/* many files in one: node.h */
};

struct tp_input_dir {
	dev_t dev;
	ino_t ino;
};

struct tp_input {
	char *path;
	enum tp_input_kind kind;
	bool is_given;			/* by name, not found in a folder */
	bool is_of_other_job;		/* see jobs.h: not read */
	dev_t dev;
	ino_t ino;
	struct tp_input_dir folder;	/* that it was found in */
};

struct tp_input_list {
	struct tp_input *item;
	uint32_t n_items, cap;
	struct tp_input_dir *seen;	/* folders walked: a loop of links ends there */
	uint32_t n_seen, cap_seen;
	/* Says what cannot be read and why. */
	void (*complain)(void *ctx, const char *path, const char *what);
	/* Says what was not looked at on purpose. */
	void (*note)(void *ctx, const char *path, const char *what);
	void *ctx;
};

enum {
	TP_INPUT_DEPTH = 8,		/* of folders below a path given */
	TP_INPUT_FILES = 1000000,
};

/* Adds what `path` means; trouble is complained about and passed over. 0 or -ENOMEM. */
int tp_input_add(struct tp_input_list *list, const char *path);
/*
 * Opens input `at` again, to be read: the file that was found, or another one of the same kind that has
 * its name in the same folder by now (a process that still runs renames what is whole), which is noted.
 * Descriptor, or -1: not read, and complained about.
 */
int tp_input_open(struct tp_input_list *list, uint32_t at);
void tp_input_free(struct tp_input_list *list);

#endif
