/* SPDX-License-Identifier: Apache-2.0 */
/*
 * screen.h - a running job as a page for a terminal, and as a line
 */
#ifndef TP_MERGE_SCREEN_H
#define TP_MERGE_SCREEN_H

#include "merge/live/now.h"

/* Of a screen of `rows` lines: how many rows of ranks the page has room for. */
uint32_t tp_live_page_room(uint32_t rows);
void tp_live_page(const struct tp_live *live, struct tp_out *out);
/* For what is no terminal: a line. */
void tp_live_line(const struct tp_live *live, struct tp_out *out);

#endif
