/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_memory_keepers.c - part of the view of memory: containers of the program that grow from step to step
 */
#include "merge/view/memory/view_memory.h"

#include "merge/facts/code/keepers.h"
#include "merge/model/label.h"

struct row {
	const struct tp_proc *proc;
	struct tp_keeper keeper;
};

static void put_columns(struct tp_row *r, const void *ctx, const void *of)
{
	const struct tp_run *run = ctx;
	const struct row *row = of;
	const struct tp_keeper *keeper = &row->keeper;
	char who[64];

	TP_WHEN(r, tp_row_is_for_programs(r) || tp_label_is_needed(run))
		TP_TEXT(r, "process", "process", 0, "rank, or process", "%s", tp_label_proc(who, run, row->proc));
	TP_TEXT(r, "container", "container", TP_CUT, "its name in the program", "%s", keeper->name);
	TP_TEXT(r, "kind", "kind", 0, "list, dict, set, deque, or cache: of functools.lru_cache", "%s", keeper->kind);
	TP_COUNT(r, "items", "items", 0, "items when it was looked at last", keeper->last);
	TP_COUNT(r, "step", "at step", 0, "steps that had ended then", keeper->last_step);
	TP_REAL(r, "items_per_step", "a step", 0, "items added per step, since it was first seen to grow",
		tp_keeper_rate(keeper), 2);
	TP_BYTES(r, "item_bytes", "an item", 0, "size of an item, estimated, without tensors",
		 (int64_t)keeper->item_bytes);
	TP_TEXT(r, "tensors", "tensors", 0, "whether there are tensors in its items", "%s",
		keeper->has_tensor ? "yes" : "no");
	TP_PLACE(r, "file", "file", TP_LESS(1), "file that its name is in", "%s", keeper->file);
}

const struct tp_table_def tp_table_memory_containers = {
	.name = "memory_containers", .columns = put_columns, .row_bytes = sizeof(struct row),
	.help = "lists, dicts, sets, deques and caches of the program that grow from step to step",
};

void tp_view_memory_keepers(const struct tp_run *run, struct tp_out *out)
{
	struct tp_table *table = NULL;

	for (uint32_t i = 0; i < run->n_procs; i++) {
		struct tp_keeper keeper[TP_KEEPERS];
		const uint32_t n = tp_keepers_of(run->proc[i], keeper);

		for (uint32_t k = 0; k < n; k++) {
			if (!table) {
				tp_out_title(out, "Containers that grow");
				table = tp_table_begin(&tp_table_memory_containers, run, TP_TOP_NONE, out);
			}
			tp_table_add(table, &(struct row){.proc = run->proc[i], .keeper = keeper[k]});
		}
	}
	if (table)
		tp_table_end(table);
}
