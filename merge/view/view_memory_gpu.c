/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_memory_gpu.c - part of the view of memory: what filled the devices, who asked for it, what
 * PyTorch does not know
 *
 * For each process and device: the peak and its step; the driver's figures beside PyTorch's and
 * ours; then, over all, kinds and libraries at the peak, and what each step allocated.
 */
#include "merge/view/view_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/kit/sum.h"
#include "merge/model/device.h"
#include "merge/model/label.h"

enum { LABEL = TP_VIEW_MEMORY_LABEL };

/* "GPU 1", with "rank 3, " before it where there are several processes. */
static const char *show_gpu(char buf[128], const struct tp_run *run,
			    const struct tp_gpumem_device *gpu)
{
	char who[64], number[16] = "?";

	if (gpu->device != UINT32_MAX)
		snprintf(number, sizeof(number), "%u", gpu->device);
	if (run->n_procs > 1)
		snprintf(buf, 128, "%s, GPU %s", tp_label_proc(who, run, gpu->proc), number);
	else
		snprintf(buf, 128, "GPU %s", number);
	return buf;
}

/* ---- a device ---- */

static void print_peak(const struct tp_gpumem_device *gpu, struct tp_out *out)
{
	char peak[32], total[40] = "", step[64] = "", at[32], b[32];

	if (gpu->total_bytes > 0)
		snprintf(total, sizeof(total), " of %s", tp_show_bytes(b, gpu->total_bytes));
	if (gpu->is_peak_in_step)
		snprintf(step, sizeof(step), " in step %lu", (unsigned long)gpu->peak_step);
	if (gpu->has_peak)
		tp_out_item(out, "", LABEL, "most at a time", "%s%s%s, %s after the run's begin",
			    tp_show_bytes(peak, gpu->peak_bytes), total, step,
			    tp_show_ns(at, gpu->peak_ns));
	else
		tp_out_item(out, "", LABEL, "most at a time",
			    "%s more than when the window began; what was there then is not known",
			    tp_show_bytes(peak, gpu->peak_bytes));
}

static void print_torch(const struct tp_gpumem_device *gpu, struct tp_out *out)
{
	int64_t used = gpu->own_bytes >= 0 ? gpu->own_bytes : gpu->used_bytes;
	char a[32], b[32], c[64] = "";

	if (gpu->torch_reserved < 0)
		return;
	tp_out_item(out, "", LABEL, "PyTorch", "%s reserved, %s of it in tensors",
		    tp_show_bytes(a, gpu->torch_reserved), tp_show_bytes(b, gpu->torch_allocated));
	if (used < 0)
		return;
	if (gpu->unattributed_bytes > 0)
		snprintf(c, sizeof(c), "; %s nobody was heard to ask for",
			 tp_show_bytes(b, gpu->unattributed_bytes));
	tp_out_item(out, "", LABEL, "not PyTorch's", "%s %s%s",
		    tp_show_bytes(a, tp_sub(used, gpu->torch_reserved)),
		    gpu->own_bytes >= 0 ? "of this process" : "of this and other processes", c);
}

static void print_driver(const struct tp_gpumem_device *gpu, struct tp_out *out)
{
	char a[32], b[32], c[32];

	if (gpu->own_bytes >= 0)
		tp_out_item(out, "", LABEL, "in use",
			    "%s by this process, %s by others, as the driver says",
			    tp_show_bytes(a, gpu->own_bytes),
			    tp_show_bytes(b, tp_sub(gpu->used_bytes, gpu->own_bytes)));
	else if (gpu->used_bytes >= 0)
		tp_out_item(out, "", LABEL, "in use", "%s by all processes, as the driver says",
			    tp_show_bytes(a, gpu->used_bytes));
	if (gpu->unattributed_bytes >= 0)
		tp_out_item(out, "", LABEL, "not attributed",
			    "%s: %s%s",
			    tp_show_bytes(c, gpu->unattributed_bytes),
			    "CUDA's context and code, CUPTI's buffers, what was allocated unheard",
			    gpu->own_bytes >= 0 ? "" : ", other processes");
}

static void print_device(const struct tp_run *run, const struct tp_gpumem_device *gpu,
			 struct tp_out *out)
{
	char name[128], a[32], b[32], c[32];

	/* What was freed without having been known belongs to no device. */
	if (gpu->device == UINT32_MAX)
		return;
	tp_out_title(out, "Device memory: %s", show_gpu(name, run, gpu));
	if (gpu->has_peak || gpu->peak_bytes > 0)
		print_peak(gpu, out);
	if (gpu->has_base)
		tp_out_item(out, "", LABEL, "at the end", "%s known", tp_show_bytes(a, gpu->live_bytes));
	print_driver(gpu, out);
	print_torch(gpu, out);
	if (gpu->n_allocs || gpu->n_frees)
		tp_out_item(out, "", LABEL, "in windows", "%s allocations, %s frees",
			    tp_show_count(b, gpu->n_allocs), tp_show_count(c, gpu->n_frees));
}

/* ---- kinds and libraries ---- */

static const struct tp_gpumem_row *rows_to_sort;

static int compare_rows(const void *a, const void *b)
{
	const struct tp_gpumem_row *x = &rows_to_sort[*(const uint32_t *)a];
	const struct tp_gpumem_row *y = &rows_to_sort[*(const uint32_t *)b];

	if (x->gpu != y->gpu)
		return x->gpu < y->gpu ? -1 : 1;
	if (x->at_peak != y->at_peak)
		return x->at_peak < y->at_peak ? 1 : -1;
	if (x->live_bytes != y->live_bytes)
		return x->live_bytes < y->live_bytes ? 1 : -1;
	return (x > y) - (x < y);
}

static void print_rows(const struct tp_run *run, const struct tp_view_options *options,
		       const struct tp_gpumem *mem, struct tp_out *out)
{
	static const struct tp_old_column column[] = {
		{.title = "device"},
		{.title = "kind"},
		{.title = "asked for by", .may_cut = true},
		{.title = "at the peak", .align = TP_RIGHT},
		{.title = "at the end", .align = TP_RIGHT},
		{.title = "allocs", .align = TP_RIGHT, .is_extra = 1},
		{.title = "frees", .align = TP_RIGHT, .is_extra = 2},
		{.title = "allocated", .align = TP_RIGHT, .is_extra = 3},
	};
	uint32_t n_rows, n_gpus, n;
	const struct tp_gpumem_row *rows = tp_gpumem_rows(mem, &n_rows);
	const struct tp_gpumem_device *gpus = tp_gpumem_devices(mem, &n_gpus);
	uint32_t *order = malloc((n_rows + 1) * sizeof(*order));
	struct tp_old_table *table;
	char name[128], count[32];

	if (!order) {
		tp_out_line(out, "red", "out of memory");
		return;
	}
	for (uint32_t i = 0; i < n_rows; i++)
		order[i] = i;
	rows_to_sort = rows;
	qsort(order, n_rows, sizeof(*order), compare_rows);
	n = options->top && options->top < n_rows ? options->top : n_rows;
	tp_out_title(out, "Device memory by kind and library");
	table = tp_table_new(column, sizeof(column) / sizeof(column[0]));
	for (uint32_t i = 0; i < n; i++) {
		const struct tp_gpumem_row *row = &rows[order[i]];

		tp_table_cell(table, "%s", show_gpu(name, run, &gpus[row->gpu]));
		tp_table_cell(table, "%s", tp_device_memory_kind(row->kind));
		tp_table_cell(table, "%s", row->library[0] ? row->library : "(unknown)");
		tp_cell_bytes(table, row->at_peak);
		tp_cell_bytes(table, row->live_bytes);
		tp_cell_count(table, row->n_allocs);
		tp_cell_count(table, row->n_frees);
		tp_cell_bytes(table, (int64_t)row->alloc_bytes);
		if (!tp_gpumem_is_on_device(row->kind))
			tp_table_style(table, "dim");
	}
	tp_table_print(table, out);
	if (n < n_rows)
		tp_out_line(out, "dim", "%s more rows: --top 0 shows all.",
			    tp_show_count(count, n_rows - n));
	tp_out_line(out, "dim", "Which library asked is an estimate. Mapped and reserved addresses, "
				"host memory and memory of other processes take none of the device.");
	free(order);
}

/* ---- steps ---- */

static void print_steps(const struct tp_run *run, const struct tp_view_options *options,
		       const struct tp_gpumem *mem, struct tp_out *out)
{
	static const struct tp_old_column column[] = {
		{.title = "device"},
		{.title = "step", .align = TP_RIGHT},
		{.title = "most", .align = TP_RIGHT},
		{.title = "allocs", .align = TP_RIGHT},
		{.title = "allocated", .align = TP_RIGHT},
		{.title = "frees", .align = TP_RIGHT},
		{.title = "freed", .align = TP_RIGHT},
	};
	uint32_t n_steps, n_gpus, n;
	const struct tp_gpumem_step *steps = tp_gpumem_steps(mem, &n_steps);
	const struct tp_gpumem_device *gpus = tp_gpumem_devices(mem, &n_gpus);
	struct tp_old_table *table;
	char name[128], bytes[32];

	if (!n_steps)
		return;
	n = options->top && options->top < n_steps ? options->top : n_steps;
	tp_out_title(out, "Steps that allocated or freed");
	table = tp_table_new(column, sizeof(column) / sizeof(column[0]));
	for (uint32_t i = 0; i < n; i++) {
		const struct tp_gpumem_step *step = &steps[i];

		tp_table_cell(table, "%s", show_gpu(name, run, &gpus[step->gpu]));
		tp_table_cell(table, "%lu", (unsigned long)step->step);
		tp_table_cell(table, "%s%s", step->is_relative ? "+" : "",
			      tp_show_bytes(bytes, step->peak_bytes));
		tp_cell_count(table, step->n_allocs);
		tp_cell_bytes(table, (int64_t)step->alloc_bytes);
		tp_cell_count(table, step->n_frees);
		tp_cell_bytes(table, (int64_t)step->free_bytes);
	}
	tp_table_print(table, out);
	if (n < n_steps)
		tp_out_line(out, "dim", "%s more steps: --top 0 shows all.",
			    tp_show_count(bytes, n_steps - n));
}

/* Losses, which make the figures above wrong. */
static void print_doubts(const struct tp_run *run, const struct tp_gpumem *mem, struct tp_out *out)
{
	uint64_t n_not_kept = 0, n_unknown = 0;
	uint32_t n_gpus;
	const struct tp_gpumem_device *gpus = tp_gpumem_devices(mem, &n_gpus);
	char a[32];

	for (uint32_t i = 0; i < n_gpus; i++)
		n_unknown += gpus[i].n_unknown;
	for (uint32_t i = 0; i < run->n_windows; i++) {
		uint64_t n = tp_fact_u64(run->window[i].totals, "devmem.not_kept", 0);

		n_not_kept = n > n_not_kept ? n : n_not_kept;
	}
	if (n_unknown)
		tp_out_line(out, "yellow",
			    "%s frees were of blocks that had been allocated unheard, before the "
			    "profiler or while others had CUPTI: their size is not known.",
			    tp_show_count(a, n_unknown));
	if (n_not_kept)
		tp_out_line(out, "yellow",
			    "%s blocks were too many to keep: they are missing in what is alive.",
			    tp_show_count(a, n_not_kept));
	if (tp_gpumem_is_incomplete(mem))
		tp_out_line(out, "red", "out of memory: some of it is missing here");
}

/* Why there is nothing: the first reason that the trace gives. */
static void print_nothing(const struct tp_run *run, struct tp_out *out)
{
	const char *meta = run->n_procs ? tp_label_meta(run, run->proc[0]) : "";
	static const char *const keys[] = {"off.devmem", "off.cuda", "off.cupti"};
	char why[200];

	for (uint32_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (tp_fact(meta, keys[i], why, sizeof(why))) {
			tp_out_line(out, "", "no device memory was recorded: %s", why);
			return;
		}
	tp_out_line(out, "",
		    "no device memory was recorded: the program allocated none, no step lay inside "
		    "a window, or TRAINPROF_RECORD has no 'devmem'");
}

void tp_view_memory_gpu(const struct tp_run *run, const struct tp_view_options *options,
			const struct tp_gpumem *mem, struct tp_out *out)
{
	const struct tp_gpumem_device *gpus;
	uint32_t n_gpus, n_rows;

	gpus = tp_gpumem_devices(mem, &n_gpus);
	tp_gpumem_rows(mem, &n_rows);
	for (uint32_t i = 0; i < n_gpus; i++)
		print_device(run, &gpus[i], out);
	if (n_rows) {
		print_rows(run, options, mem, out);
	} else if (!tp_label_is_kineto(run)) {
		tp_out_title(out, "Device memory by kind and library");
		print_nothing(run, out);
	}
	print_steps(run, options, mem, out);
	print_doubts(run, mem, out);
}
