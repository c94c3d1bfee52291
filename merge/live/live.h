/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live.h - beside a running job: the page, metrics, a line for each step
 *
 * Looks at the run folder again and again until all ranks have ended, or SIGINT or SIGTERM comes.
 */
#ifndef TP_MERGE_LIVE_H
#define TP_MERGE_LIVE_H

#include <stdbool.h>
#include <stdint.h>

struct tp_live_options {
	const char *folder;
	bool has_page;			/* a page on a terminal; elsewhere lines */
	const char *metrics;		/* a file, or ":PORT", "ADDRESS:PORT"; NULL: none */
	const char *step_lines;		/* a file or "-"; NULL: none */
	uint32_t period_ms;		/* 0: a second, for lines ten */
};

/* True: where metrics go is an address. */
bool tp_live_is_address(const char *metrics);
/* False: it could not, which was said. */
bool tp_live_run(const struct tp_live_options *options);

#endif
