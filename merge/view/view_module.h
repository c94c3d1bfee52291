/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_module.h - the parts of the view of modules
 */
#ifndef TP_MERGE_VIEW_MODULE_H
#define TP_MERGE_VIEW_MODULE_H

#include "merge/facts/tensor/module_memory.h"
#include "merge/model/view.h"

enum { TP_VIEW_MODULE_TEXT = 400 };

/* In the tree: the last part of the qualified name, or what it is called without one; indented in
 * text for people. */
void tp_view_module_cell(struct tp_old_table *table, const struct tp_module_path *path, bool is_rows);
/* Memory by category of these paths, n of them. */
void tp_view_module_memory(const struct tp_module_memories *memories,
			   const struct tp_module_paths *paths, const uint32_t *path, uint32_t n,
			   const struct tp_view_options *options, struct tp_out *out);

#endif
