/* SPDX-License-Identifier: Apache-2.0 */
/*
 * journal.h - what trainprof-merge --watch has done in a run folder: a line each, for ever
 *
 * "watch.journal": "WORD NAME[ TEXT]" with the words of enum tp_journal_word; a line is on the disk before
 * anything follows from it. What a kill cut off at the end is no line, and is taken back. The file
 * is locked (flock(2)) by the watcher and by what it starts, so that nothing of an earlier watcher is
 * still writing when the next one begins.
 */
#ifndef TP_MERGE_JOURNAL_H
#define TP_MERGE_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "merge/kit/keyed.h"

enum tp_journal_word {
	TP_JOURNAL_MERGED,	/* window; its files are there under their final names */
	TP_JOURNAL_FAILED,	/* file: a delivery did not succeed */
	TP_JOURNAL_DELIVERED,	/* file */
	TP_JOURNAL_REMOVED,	/* file: retention, after delivery where that is wanted */
	TP_JOURNAL_WORDS
};

struct tp_journal {
	int fd;
	uint64_t n_bytes;		/* of whole lines */
	uint32_t n[TP_JOURNAL_WORDS];	/* how many there are */
	char **name;			/* "WORD NAME" that was noted */
	uint32_t n_names, cap;
	struct tp_keyed known;
};

/*
 * In the folder `dir`, which is called `shown`. Waits up to wait_s seconds for another one who holds it.
 * False: that one goes on, or the file cannot be written; said.
 */
bool tp_journal_open(struct tp_journal *journal, int dir, const char *shown, uint32_t wait_s);
void tp_journal_close(struct tp_journal *journal);
bool tp_journal_has(const struct tp_journal *journal, enum tp_journal_word word, const char *name);
/* False: it could not be written, which was said; nothing may follow from it. */
bool tp_journal_note(struct tp_journal *journal, enum tp_journal_word word, const char *name,
		     const char *text);

#endif
