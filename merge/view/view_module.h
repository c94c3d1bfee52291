/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_module.h - the parts of the view of modules
 */
#ifndef TP_MERGE_VIEW_MODULE_H
#define TP_MERGE_VIEW_MODULE_H

#include "merge/facts/tensor/module_memory.h"
#include "merge/facts/time/module_times.h"
#include "merge/model/view.h"

/* A cell: the last part of the qualified name, or what it is called without one. */
void tp_view_module_put(struct tp_row *r, const struct tp_module_path *path);
extern const struct tp_table_def tp_table_module_memory;
/* Paths that are shown, in their order: *n, of *n_all; to be freed. */
uint32_t *tp_view_module_tree(const struct tp_module_times *times, const struct tp_view_options *options,
			      uint32_t *n, uint32_t *n_all);
/* Memory by category of these paths, n of them. */
void tp_view_module_memory(const struct tp_module_memories *memories,
			   const struct tp_module_paths *paths, const uint32_t *path, uint32_t n,
			   const struct tp_view_options *options, struct tp_out *out);

#endif
