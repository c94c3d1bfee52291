/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_memory_host_rows.c - part of the view of memory: the figures of each process of the host, for
 * programs
 */
#include "merge/view/memory/view_memory.h"

#include "merge/model/label.h"

static void put_host(struct tp_row *r, const void *ctx, const void *of)
{
	const struct tp_hostmem_proc *p = of;
	char who[64];

	TP_TEXT(r, "process", NULL, 0, "rank", "%s", tp_label_proc(who, ctx, p->proc));
	TP_NUMBER(r, "pid", NULL, 0, "process id", p->proc->pid);
	TP_BYTES(r, "peak_bytes", NULL, 0, "peak of live bytes", p->peak_bytes);
	TP_COUNT(r, "peak_blocks", NULL, 0, "blocks at that time", p->peak_blocks);
	TP_NS(r, "peak_ns", NULL, 0, "time of that", p->peak_ns);
	TP_CELL(r, "peak_step", NULL, TP_UNIT_NUMBER, 0, "number of the step",
		p->is_peak_in_step ? tp_row_count(r, p->peak_step) : (void)0);
	TP_BYTES(r, "end_bytes", NULL, 0, "live bytes when the last window ended", p->live_bytes);
	TP_COUNT(r, "end_blocks", NULL, 0, "blocks at that time", p->live_blocks);
	TP_COUNT(r, "allocations", NULL, 0, "number of allocations", p->n_allocs);
	TP_COUNT(r, "reallocations", NULL, 0, "allocations by realloc", p->n_reallocs);
	TP_COUNT(r, "frees", NULL, 0, "number of frees", p->n_frees);
	TP_COUNT(r, "unknown_frees", NULL, 0, "frees of blocks from before the window", p->n_unknown_frees);
	TP_BYTES(r, "allocated_bytes", NULL, 0, "bytes of all allocations", p->alloc_bytes);
	TP_BYTES(r, "error_bytes", NULL, 0, "standard error of an estimate", p->error_bytes);
	TP_COUNT(r, "temporary", NULL, 0, "allocations freed before the next one of their thread",
		 p->n_temporary);
	TP_BYTES(r, "stayed_bytes", NULL, 0, "bytes allocated in a step, live two steps later and at the end",
		 p->leaked_bytes);
	TP_COUNT(r, "stayed_blocks", NULL, 0, "number of these blocks", p->leaked_blocks);
}

const struct tp_table_def tp_table_host_memory = {
	.name = "host_memory", .columns = put_host, .help = "host memory of each process",
};

/* What the processes count of themselves; a counter that they have not is left out. */
struct counted {
	const struct tp_proc *proc;
	const struct tp_hostmem_counted *counted;
	uint32_t counter;
};

static void put_counted(struct tp_row *r, const void *ctx, const void *of)
{
	static const char *const names[TP_HOSTMEM_COUNTERS] = {
		[TP_HOSTMEM_RSS] = "rss",	  [TP_HOSTMEM_PSS] = "pss",
		[TP_HOSTMEM_PRIVATE] = "private", [TP_HOSTMEM_SHARED] = "shared",
		[TP_HOSTMEM_LIVE] = "heap",
	};
	const struct counted *row = of;
	char who[64];

	TP_TEXT(r, "process", NULL, 0, "rank", "%s", tp_label_proc(who, ctx, row->proc));
	TP_TEXT(r, "counter", NULL, 0, "rss, pss, private, shared or heap", "%s", names[row->counter]);
	TP_BYTES(r, "first_bytes", NULL, 0, "first value", row->counted->first);
	TP_BYTES(r, "at_peak_bytes", NULL, 0, "value at the peak of live bytes", row->counted->at_peak);
	TP_BYTES(r, "most_bytes", NULL, 0, "highest value", row->counted->most);
	TP_BYTES(r, "last_bytes", NULL, 0, "last value", row->counted->last);
}

const struct tp_table_def tp_table_host_counted = {
	.name = "host_counted", .columns = put_counted, .row_bytes = sizeof(struct counted),
	.help = "memory counters of each process",
};

void tp_view_memory_host_rows(const struct tp_run *run, const struct tp_hostmem_proc *host,
			      uint32_t n, struct tp_out *out)
{
	struct tp_table *table;

	tp_table_show(&tp_table_host_memory, run, host, n, sizeof(*host), TP_TOP_ASKED, out);
	table = tp_table_begin(&tp_table_host_counted, run, TP_TOP_ASKED, out);
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t c = 0; c < TP_HOSTMEM_COUNTERS; c++)
			if (host[i].counted[c].first >= 0)
				tp_table_add(table, &(struct counted){host[i].proc,
								      &host[i].counted[c], c});
	tp_table_end(table);
}
