/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_old.h - tables whose cells are matched by position, until the last view has typed columns
 */
#ifndef TP_MERGE_TABLE_OLD_H
#define TP_MERGE_TABLE_OLD_H

#include "merge/model/out.h"

enum tp_align { TP_LEFT, TP_RIGHT };

struct tp_old_column {
	const char *title;
	enum tp_align align;
	bool may_cut;
	uint8_t is_extra;
	const char *field;
};

struct tp_old_table *tp_table_new(const struct tp_old_column *column, uint32_t n_columns);
void tp_table_name(struct tp_old_table *table, const char *name);
void tp_table_cell(struct tp_old_table *table, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void tp_cell_ns(struct tp_old_table *table, int64_t ns);
void tp_cell_bytes(struct tp_old_table *table, int64_t bytes);
void tp_cell_count(struct tp_old_table *table, uint64_t n);
void tp_cell_percent(struct tp_old_table *table, double part, double whole);
void tp_table_style(struct tp_old_table *table, const char *style);
void tp_table_print(struct tp_old_table *table, struct tp_out *out);
void tp_table_flush(struct tp_old_table *table, struct tp_out *out);

#endif
