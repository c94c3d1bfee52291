/* SPDX-License-Identifier: Apache-2.0 */
/*
 * excerpt_show.h - what rows and nodes of an excerpt are called
 *
 * Texts are made printable; what is cut is cut at its end.
 */
#ifndef TP_MERGE_EXCERPT_SHOW_H
#define TP_MERGE_EXCERPT_SHOW_H

#include "merge/facts/program/excerpt_tree.h"

enum { TP_EXCERPT_TEXT = 400, TP_EXCERPT_WHAT = 4 * TP_EXCERPT_TEXT };

struct tp_excerpt_show {
	const struct tp_excerpt *excerpt;
	char *readable;		/* for names of C++; NULL: they stay as they are */
};

void tp_excerpt_show_init(struct tp_excerpt_show *show, const struct tp_excerpt *excerpt);
void tp_excerpt_show_fini(struct tp_excerpt_show *show);

/* Into `text`, returned. is_full: of kernels all, not only what people look at. */
const char *tp_excerpt_name(const struct tp_excerpt_show *show, char text[TP_EXCERPT_TEXT],
			    const struct tp_excerpt_row *row, bool is_full);
/* "blocks.0 (Block)", of an outermost one its class; "" of no path. */
const char *tp_excerpt_module(const struct tp_excerpt_show *show, char text[TP_EXCERPT_TEXT],
			      uint32_t path);
/* "train.py:42 step"; "" when it is not known. */
const char *tp_excerpt_line(const struct tp_excerpt_show *show, char text[TP_EXCERPT_TEXT],
			    uint32_t stack);
/* "main thread", "GPU 0 stream 7" */
const char *tp_excerpt_place(char text[TP_EXCERPT_TEXT], const struct tp_proc *proc,
			     const struct tp_excerpt_row *row);
/* A line of the tree, without its times: what it is, how often. */
const char *tp_excerpt_what(const struct tp_excerpt_show *show, char text[TP_EXCERPT_WHAT],
			    const struct tp_excerpt_tree *tree, const struct tp_excerpt_node *node);
/* "train.py:42", where it was called; "" when that is not known, or where what it lies in was. */
const char *tp_excerpt_where(const struct tp_excerpt_show *show, char text[TP_EXCERPT_TEXT],
			     const struct tp_excerpt_tree *tree, const struct tp_excerpt_node *node);
/* The last of those that are joined to a node: what is below it is below this one. */
const struct tp_excerpt_node *tp_excerpt_innermost(const struct tp_excerpt_tree *tree,
						   const struct tp_excerpt_node *node);

#endif
