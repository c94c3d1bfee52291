/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chrome.h - a timeline as trace-event JSON
 *
 * One event a line, times relative to the run's begin in microseconds with three decimals
 * (absolute ones lose nanoseconds in a double). Viewers say nothing about what they do not
 * understand, so the rules that keep them content stand beside the code that keeps them.
 */
#ifndef TP_MERGE_CHROME_H
#define TP_MERGE_CHROME_H

#include "merge/kit/outfile.h"
#include "merge/sink/timeline.h"

/* A file being written. */
struct tp_chrome_file {
	struct tp_outfile *out;
	uint64_t n_events;
};

struct tp_chrome {
	const struct tp_run *run;
	const struct tp_dialect *dialect;
	struct tp_chrome_head {
		char text[64];		/* {"ph":"X","cat":"cpu_op","name":" */
		uint32_t n;
	} head[TP_SLICE_CATEGORIES];
	struct tp_chrome_file **file_of;	/* by tp_proc.at */
};

void tp_chrome_init(struct tp_chrome *chrome, const struct tp_run *run,
		    const struct tp_dialect *dialect);
/* Its ctx is a struct tp_chrome. */
extern const struct tp_encoder tp_chrome_encoder;

/* ---- chrome_head.c: what stands around the events ---- */

/* proc: whom the file is about; NULL: several ranks. */
void tp_chrome_put_head(const struct tp_chrome *chrome, struct tp_chrome_file *file,
			const struct tp_proc *proc);
void tp_chrome_put_tail(struct tp_chrome_file *file);

#endif
