/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pass.h - one pass over the events of a run: facts, then the sinks and views that stand on them
 */
#ifndef TP_MERGE_PASS_H
#define TP_MERGE_PASS_H

#include "merge/sinks.h"

/* Filled by the caller up to the states; then begin, run, end once each, in this order. */
struct tp_pass {
	struct tp_run *run;
	const struct tp_sink *sink[TP_LIST_MAX];
	char (*path)[4096];			/* of each sink */
	uint32_t n_sinks;
	const struct tp_view *view[TP_LIST_MAX];
	uint32_t n_views;
	const struct tp_view_options *options;	/* how views are shown */
	bool needs_all;				/* events are to be read even if nobody wants them */
	struct tp_facts *facts;
	void *sink_state[TP_LIST_MAX], *view_state[TP_LIST_MAX];
	uint32_t n_begun;			/* of the sinks */
	bool is_bad;				/* a result was not written, said why */
};

void tp_pass_begin(struct tp_pass *pass);
void tp_pass_run(struct tp_pass *pass);
/* Ends the sinks; then views may be printed, each once. */
void tp_pass_end(struct tp_pass *pass);
void tp_pass_free(struct tp_pass *pass);

/* All of it for one sink that takes events, with views as they are by default: 0, or -errno after a
 * message. */
int tp_pass_write(struct tp_run *run, const struct tp_sink *sink, const char *path);

#endif
