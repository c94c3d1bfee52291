/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_memory_tables.c - part of the view of memory: the host's by step, by kind of mapping, by size
 */
#include "merge/view/memory/view_memory.h"

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

/* Of several processes a row says of which it is; in rows for programs always. */
static bool shows_who(struct tp_row *r, const struct tp_run *run)
{
	return run->n_procs > 1 || tp_row_is_for_programs(r);
}

struct mapping {
	const struct tp_hostmem_proc *host;
	uint32_t kind;
};

static void put_mapping(struct tp_row *r, const void *ctx, const void *of)
{
	const struct mapping *row = of;
	char who[64];

	TP_WHEN(r, shows_who(r, ctx))
		TP_TEXT(r, "process", "process", 0, "rank", "%s",
			tp_label_proc(who, ctx, row->host->proc));
	TP_TEXT(r, "kind", "mapped", 0, "kind of mapping", "%s", kind_word(row->kind));
	TP_COUNT(r, "calls", "calls", 0, "number of calls", row->host->n_maps[row->kind]);
	TP_BYTES(r, "most_bytes", "at most", 0, "highest bytes", row->host->mapped_peak[row->kind]);
	TP_BYTES(r, "at_peak_bytes", "at the peak", 0, "bytes when host memory was at its peak",
		 row->host->mapped_at_peak[row->kind]);
	TP_BYTES(r, "end_bytes", "at the end", 0, "bytes when the last window ended",
		 row->host->mapped[row->kind]);
}

const struct tp_table_def tp_table_host_mappings = {
	.name = "host_mappings", .columns = put_mapping, .row_bytes = sizeof(struct mapping),
	.help = "host memory that the program mapped directly",
};

static void print_mappings(const struct tp_run *run, const struct tp_hostmem_proc *host,
			   uint32_t n, struct tp_out *out)
{
	bool has_any = false;
	struct tp_table *table;
	char a[32];
	uint64_t unknown = 0;

	for (uint32_t i = 0; i < n; i++) {
		unknown += host[i].unknown_unmap_bytes;
		for (uint32_t kind = 0; kind < TP_MAPPING_N; kind++)
			has_any |= host[i].n_maps[kind] != 0;
	}
	if (!has_any)
		return;
	tp_out_title(out, "Which host memory the program mapped itself");
	table = tp_table_begin(&tp_table_host_mappings, run, TP_TOP_ASKED, out);
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t kind = 0; kind < TP_MAPPING_N; kind++)
			if (host[i].n_maps[kind])
				tp_table_add(table, &(struct mapping){&host[i], kind});
	tp_table_end(table);
	if (unknown)
		tp_out_line(out, "dim", "%s were unmapped that had been mapped before the windows.",
			    tp_show_bytes(a, (int64_t)unknown));
}

/* ---- sizes ---- */

struct size {
	uint32_t class;
	uint64_t count, bytes;
};

static void put_sizes(struct tp_row *r, uint32_t class)
{
	char from[32], to[32];

	if (tp_row_is_for_programs(r))
		tp_row_integer(r, class ? (int64_t)1 << class : 0);
	else
		tp_row_text(r, "%s to %s", tp_show_bytes(from, class ? 1ll << class : 0),
			    tp_show_bytes(to, (2ll << class) - 1));
}

static void put_size(struct tp_row *r, const void *ctx, const void *of)
{
	const struct size *all = ctx, *row = of;

	TP_CELL(r, "least_bytes", "bytes", TP_UNIT_BYTES, 0, "sizes from this one to twice it",
		put_sizes(r, row->class));
	TP_COUNT(r, "allocations", "allocs", 0, "number of allocations", row->count);
	TP_PERCENT(r, "percent", "%", 0, "share of all", row->count, all->count);
	TP_BYTES(r, "allocated_bytes", "allocated", 0, "sum of their bytes", row->bytes);
	TP_PERCENT(r, "allocated_percent", "%", 0, "share of all", row->bytes, all->bytes);
}

const struct tp_table_def tp_table_host_sizes = {
	.name = "host_sizes", .columns = put_size, .help = "host allocations by size",
};

static void print_sizes(const struct tp_hostmem_proc *host, uint32_t n, struct tp_out *out)
{
	struct size row[TP_HOSTMEM_SIZES], all = {.count = 0};
	uint32_t n_rows = 0;

	for (uint32_t c = 0; c < TP_HOSTMEM_SIZES; c++) {
		struct size of = {.class = c};

		for (uint32_t i = 0; i < n; i++) {
			of.count += host[i].size_count[c];
			of.bytes += host[i].size_bytes[c];
		}
		all.count += of.count;
		all.bytes += of.bytes;
		if (of.count)
			row[n_rows++] = of;
	}
	if (!all.count)
		return;
	tp_out_title(out, "How large host allocations are%s", n > 1 ? ", all processes" : "");
	tp_table_show(&tp_table_host_sizes, &all, row, n_rows, sizeof(row[0]), TP_TOP_ASKED, out);
}

/* ---- steps ---- */

static uint64_t rate_of(const struct tp_hostmem_step *step)
{
	int64_t ns = tp_sub(step->end_ns, step->begin_ns);

	return ns > 0 ? (uint64_t)((double)step->n_allocs * 1e9 / (double)ns) : 0;
}

static void put_step(struct tp_row *r, const void *ctx, const void *of)
{
	const struct tp_run *run = ctx;
	const struct tp_hostmem_step *step = of;
	char who[64];

	TP_WHEN(r, shows_who(r, run))
		TP_TEXT(r, "process", "process", 0, "rank", "%s",
			tp_label_proc(who, run, run->proc[step->proc]));
	TP_NUMBER(r, "step", "step", 0, "number of the step", step->step);
	TP_COUNT(r, "allocations", "allocs", 0, "number of allocations", step->n_allocs);
	TP_COUNT(r, "allocations_per_second", "per s", TP_LESS(3), "allocations per second", rate_of(step));
	TP_BYTES(r, "allocated_bytes", "allocated", 0, "sum of their bytes", step->alloc_bytes);
	TP_COUNT(r, "frees", "frees", TP_LESS(2), "number of frees", step->n_frees);
	TP_BYTES(r, "freed_bytes", "freed", TP_LESS(1), "sum of their bytes", step->free_bytes);
	TP_BYTES(r, "begin_bytes", "at start", 0, "live bytes at its start", step->begin_live);
	TP_BYTES(r, "peak_bytes", "most", 0, "peak of live bytes in it", step->peak_live);
	TP_BYTES(r, "growth_bytes", "grown by", 0, "live bytes at its end minus those at its start",
		 tp_sub(step->end_live, step->begin_live));
}

const struct tp_table_def tp_table_host_steps = {
	.name = "host_steps", .columns = put_step, .help = "host memory by step",
};

static void print_steps(const struct tp_run *run, const struct tp_view_options *options,
			const struct tp_hostmem *mem, struct tp_out *out)
{
	uint32_t n, n_left;
	const struct tp_hostmem_step *step = tp_hostmem_steps(mem, &n);

	if (!n)
		return;
	tp_out_title(out, "How host memory changes from step to step");
	n_left = tp_table_show(&tp_table_host_steps, run, step, n, sizeof(*step), options->top, out);
	tp_out_left(out, n_left, "steps");
}

void tp_view_memory_tables(const struct tp_run *run, const struct tp_view_options *options,
			   const struct tp_hostmem *mem, struct tp_out *out)
{
	uint32_t n;
	const struct tp_hostmem_proc *host = tp_hostmem_procs(mem, &n);

	print_steps(run, options, mem, out);
	print_mappings(run, host, n, out);
	print_sizes(host, n, out);
}
