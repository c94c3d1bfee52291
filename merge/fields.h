/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fields.h - the fields of the views' tables: --help-columns, and what --sort may name
 */
#ifndef TP_MERGE_FIELDS_H
#define TP_MERGE_FIELDS_H

#include "merge/model/view.h"

enum { TP_FIELDS_MAX = 1024 };	/* of all views */

/* The field of one of these views that a word of --sort stands for; NULL: none has it. */
const char *tp_fields_find(const struct tp_view *const *view, uint32_t n, const char *word);
/* To `file`: what --sort takes for these views, for a message. */
void tp_fields_list(const struct tp_view *const *view, uint32_t n, FILE *file);
/* Each field of the tables of these views once, "process" first: the header of one file of CSV.
 * Returns their number; at most `cap` are in `field`. */
uint32_t tp_fields_all(const struct tp_view *const *view, uint32_t n, const char **field, uint32_t cap);
/* To standard output: all tables of all views, their fields, units and what they say. */
void tp_fields_help(const struct tp_view *const *view);

#endif
