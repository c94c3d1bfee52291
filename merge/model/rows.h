/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rows.h - tables as rows for programs: CSV or a JSON object a line, numbers as they are
 *
 * Times are nanoseconds, sizes bytes, shares percent. Only tables with a name and columns with a
 * field name are in them; these names never change. trainprof-merge(1), "Rows".
 */
#ifndef TP_MERGE_ROWS_H
#define TP_MERGE_ROWS_H

struct tp_out;
struct tp_table;

void tp_rows_print(const struct tp_table *table, struct tp_out *out);

#endif
