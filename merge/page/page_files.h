/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_files.h - the sources of the page, as they were when the program was built
 *
 * page.html with its styles and scripts, and the chart library. The page allows no other script
 * and no other style than these: it knows them by their SHA-256.
 */
#ifndef TP_MERGE_PAGE_FILES_H
#define TP_MERGE_PAGE_FILES_H

#include <stddef.h>

enum tp_page_file {
	TP_PAGE_HTML,
	TP_PAGE_CSS,
	TP_PAGE_JS,
	TP_PAGE_CHARTS_CSS,	/* of the chart library; empty: built without it */
	TP_PAGE_CHARTS_JS,
	TP_PAGE_FILES
};

const char *tp_page_file(enum tp_page_file file, size_t *n);
/* "sha256-" and the hash in base 64, as Content-Security-Policy has it. */
const char *tp_page_hash(enum tp_page_file file, char buf[64]);

#endif
