/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_memory_tables.c - part of the view of memory: the host's by step, by kind of mapping, by size
 */
#include "merge/view/view_memory.h"

#include "merge/kit/sum.h"
#include "merge/model/label.h"

/* ---- mappings ---- */

static const char *kind_word(uint32_t kind)
{
	static const char *const word[TP_MAPPING_N] = {
		[0] = "unknown",
		[TP_MAPPING_ANON] = "private",
		[TP_MAPPING_SHARED] = "shared",
		[TP_MAPPING_SHM] = "shared memory (tmpfs, memfd)",
		[TP_MAPPING_FILE] = "files",
		[TP_MAPPING_RESERVED] = "reserved addresses",
	};

	return word[kind];
}

static void print_mappings(const struct tp_run *run, const struct tp_hostmem_proc *host,
			   uint32_t n, struct tp_out *out)
{
	static const struct tp_old_column column[] = {
		{.title = "process", .field = "process"},
		{.title = "mapped", .field = "kind"},
		{.title = "calls", .align = TP_RIGHT, .field = "calls"},
		{.title = "at most", .align = TP_RIGHT, .field = "most_bytes"},
		{.title = "at the peak", .align = TP_RIGHT, .field = "at_peak_bytes"},
		{.title = "at the end", .align = TP_RIGHT, .field = "end_bytes"},
	};
	bool has_any = false, shows_who = run->n_procs > 1 || out->rows;
	struct tp_old_table *table;
	char who[64], a[32];
	uint64_t unknown = 0;

	for (uint32_t i = 0; i < n; i++) {
		unknown += host[i].unknown_unmap_bytes;
		for (uint32_t kind = 0; kind < TP_MAPPING_N; kind++)
			has_any |= host[i].n_maps[kind] != 0;
	}
	if (!has_any)
		return;
	tp_out_title(out, "Host memory that the program mapped itself");
	table = tp_table_new(column + !shows_who, sizeof(column) / sizeof(column[0]) - !shows_who);
	tp_table_name(table, "host_mappings");
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t kind = 0; kind < TP_MAPPING_N; kind++) {
			if (!host[i].n_maps[kind])
				continue;
			if (shows_who)
				tp_table_cell(table, "%s",
					      tp_label_proc(who, run, host[i].proc));
			tp_table_cell(table, "%s", kind_word(kind));
			tp_cell_count(table, host[i].n_maps[kind]);
			tp_cell_bytes(table, (int64_t)host[i].mapped_peak[kind]);
			tp_cell_bytes(table, (int64_t)host[i].mapped_at_peak[kind]);
			tp_cell_bytes(table, (int64_t)host[i].mapped[kind]);
		}
	tp_table_print(table, out);
	if (unknown)
		tp_out_line(out, "dim", "%s were unmapped that had been mapped before the windows.",
			    tp_show_bytes(a, (int64_t)unknown));
}

/* ---- sizes ---- */

static void print_sizes(const struct tp_run *run, const struct tp_hostmem_proc *host,
			uint32_t n, struct tp_out *out)
{
	static const struct tp_old_column column[] = {
		{.title = "bytes", .align = TP_RIGHT, .field = "least_bytes"},
		{.title = "allocs", .align = TP_RIGHT, .field = "allocations"},
		{.title = "%", .align = TP_RIGHT, .field = "percent"},
		{.title = "allocated", .align = TP_RIGHT, .field = "allocated_bytes"},
		{.title = "%", .align = TP_RIGHT, .field = "allocated_percent"},
	};
	uint64_t count[TP_HOSTMEM_SIZES] = {0}, bytes[TP_HOSTMEM_SIZES] = {0}, all_count = 0,
		 all_bytes = 0;
	struct tp_old_table *table;
	char from[32], to[32];

	for (uint32_t i = 0; i < n; i++)
		for (uint32_t c = 0; c < TP_HOSTMEM_SIZES; c++) {
			count[c] += host[i].size_count[c];
			bytes[c] += host[i].size_bytes[c];
			all_count += host[i].size_count[c];
			all_bytes += host[i].size_bytes[c];
		}
	if (!all_count)
		return;
	tp_out_title(out, "Host allocations by size%s", n > 1 ? ", all processes" : "");
	table = tp_table_new(column, sizeof(column) / sizeof(column[0]));
	tp_table_name(table, "host_sizes");
	for (uint32_t c = 0; c < TP_HOSTMEM_SIZES; c++) {
		if (!count[c])
			continue;
		if (out->rows)
			tp_cell_bytes(table, c ? (int64_t)1 << c : 0);
		else
			tp_table_cell(table, "%s to %s", tp_show_bytes(from, c ? 1ll << c : 0),
				      tp_show_bytes(to, (2ll << c) - 1));
		tp_cell_count(table, count[c]);
		tp_cell_percent(table, (double)count[c], (double)all_count);
		tp_cell_bytes(table, (int64_t)bytes[c]);
		tp_cell_percent(table, (double)bytes[c], (double)all_bytes);
	}
	tp_table_print(table, out);
}

/* ---- steps ---- */

static void print_steps(const struct tp_run *run, const struct tp_view_options *options,
			const struct tp_hostmem *mem, struct tp_out *out)
{
	static const struct tp_old_column column[] = {
		{.title = "process", .field = "process"},
		{.title = "step", .align = TP_RIGHT, .field = "step"},
		{.title = "allocs", .align = TP_RIGHT, .field = "allocations"},
		{.title = "per s", .align = TP_RIGHT, .is_extra = 3,
		 .field = "allocations_per_second"},
		{.title = "allocated", .align = TP_RIGHT, .field = "allocated_bytes"},
		{.title = "frees", .align = TP_RIGHT, .is_extra = 2, .field = "frees"},
		{.title = "freed", .align = TP_RIGHT, .is_extra = 1, .field = "freed_bytes"},
		{.title = "at begin", .align = TP_RIGHT, .field = "begin_bytes"},
		{.title = "most", .align = TP_RIGHT, .field = "peak_bytes"},
		{.title = "grown by", .align = TP_RIGHT, .field = "growth_bytes"},
	};
	bool shows_who = run->n_procs > 1 || out->rows;
	uint32_t n_steps, n;
	const struct tp_hostmem_step *step = tp_hostmem_steps(mem, &n_steps);
	struct tp_old_table *table;
	char who[64], a[32];

	if (!n_steps)
		return;
	n = options->top && options->top < n_steps ? options->top : n_steps;
	tp_out_title(out, "Host memory by step");
	table = tp_table_new(column + !shows_who, sizeof(column) / sizeof(column[0]) - !shows_who);
	tp_table_name(table, "host_steps");
	for (uint32_t i = 0; i < n; i++) {
		int64_t ns = tp_sub(step[i].end_ns, step[i].begin_ns);

		if (shows_who)
			tp_table_cell(table, "%s",
				      tp_label_proc(who, run, run->proc[step[i].proc]));
		tp_table_cell(table, "%lu", (unsigned long)step[i].step);
		tp_cell_count(table, step[i].n_allocs);
		tp_cell_count(table, ns > 0 ? (uint64_t)((double)step[i].n_allocs * 1e9 /
							 (double)ns) : 0);
		tp_cell_bytes(table, (int64_t)step[i].alloc_bytes);
		tp_cell_count(table, step[i].n_frees);
		tp_cell_bytes(table, (int64_t)step[i].free_bytes);
		tp_cell_bytes(table, step[i].begin_live);
		tp_cell_bytes(table, step[i].peak_live);
		tp_cell_bytes(table, tp_sub(step[i].end_live, step[i].begin_live));
	}
	tp_table_print(table, out);
	if (n < n_steps)
		tp_out_line(out, "dim", "%s more steps: --top 0 shows all.",
			    tp_show_count(a, n_steps - n));
}

void tp_view_memory_tables(const struct tp_run *run, const struct tp_view_options *options,
			   const struct tp_hostmem *mem, struct tp_out *out)
{
	uint32_t n;
	const struct tp_hostmem_proc *host = tp_hostmem_procs(mem, &n);

	print_steps(run, options, mem, out);
	print_mappings(run, host, n, out);
	print_sizes(run, host, n, out);
}
