/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_memory_gpu.c - part of the view of memory: what filled the devices, who asked for it, what
 * PyTorch does not know
 *
 * For each process and device: the peak and its step; the driver's figures beside PyTorch's and
 * ours; then, over all, kinds and libraries at the peak, and what each step allocated.
 */
#include "merge/view/memory/view_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/kit/sum.h"
#include "merge/model/label.h"
#include "runtime/trace/kinds.h"

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
		tp_out_item(out, "", LABEL, "most at a time", "%s%s%s, %s after recording began",
			    tp_show_bytes(peak, gpu->peak_bytes), total, step,
			    tp_show_ns(at, gpu->peak_ns));
	else
		tp_out_item(out, "", LABEL, "most at a time",
			    "%s more than when the window started; what was there then is not known",
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
		snprintf(c, sizeof(c), "; %s whose request was not recorded",
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
			    "CUDA's context and code, CUPTI's buffers, what was not recorded",
			    gpu->own_bytes >= 0 ? "" : ", other processes");
}

static void print_device(const struct tp_run *run, const struct tp_gpumem_device *gpu,
			 struct tp_out *out)
{
	char name[128], a[32], b[32], c[32];

	/* What was freed without having been known belongs to no device. */
	if (gpu->device == UINT32_MAX)
		return;
	tp_out_title(out, "How much device memory is used: %s", show_gpu(name, run, gpu));
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

static int compare_rows(const void *a, const void *b)
{
	const struct tp_gpumem_row *x = *(const struct tp_gpumem_row *const *)a;
	const struct tp_gpumem_row *y = *(const struct tp_gpumem_row *const *)b;

	if (x->gpu != y->gpu)
		return x->gpu < y->gpu ? -1 : 1;
	if (x->at_peak != y->at_peak)
		return x->at_peak < y->at_peak ? 1 : -1;
	if (x->live_bytes != y->live_bytes)
		return x->live_bytes < y->live_bytes ? 1 : -1;
	return (x > y) - (x < y);
}

struct shown {
	const struct tp_run *run;
	const struct tp_gpumem_device *gpus;
};

/* Calls that allocate from pools are heard in windows only: one begins without knowing what is there. */
static bool is_known_at_end(const struct shown *shown, const struct tp_gpumem_row *row)
{
	uint32_t n_windows = 0;

	for (uint32_t i = 0; i < shown->run->n_windows; i++)
		n_windows += shown->run->window[i].proc == shown->gpus[row->gpu].proc;
	return row->kind != TP_DEVMEM_POOL || n_windows <= 1;
}

static void put_row(struct tp_row *r, const void *ctx, const void *of)
{
	const struct shown *shown = ctx;
	const struct tp_gpumem_row *row = of;
	char name[128];

	TP_TEXT(r, NULL, "device", 0, "", "%s", show_gpu(name, shown->run, &shown->gpus[row->gpu]));
	TP_TEXT(r, NULL, "kind", 0, "", "%s", tp_devmem_kind_name(row->kind));
	TP_TEXT(r, NULL, "requested by", TP_CUT, "", "%s",
		row->library[0] ? row->library : "(unknown)");
	TP_BYTES(r, NULL, "at the peak", 0, "", row->at_peak);
	TP_CELL(r, NULL, "at the end", TP_UNIT_BYTES, 0, "",
		is_known_at_end(shown, row) ? tp_row_integer(r, row->live_bytes) : tp_row_text(r, "?"));
	TP_COUNT(r, NULL, "allocs", TP_LESS(1), "", row->n_allocs);
	TP_COUNT(r, NULL, "frees", TP_LESS(2), "", row->n_frees);
	TP_BYTES(r, NULL, "allocated", TP_LESS(3), "", row->alloc_bytes);
	TP_STYLE(r, tp_gpumem_is_on_device(row->kind) ? NULL : "dim");
}

static const struct tp_table_def rows_def = {.columns = put_row};

static void print_rows(const struct shown *shown, const struct tp_view_options *options,
		       const struct tp_gpumem *mem, struct tp_out *out)
{
	uint32_t n, n_left;
	const struct tp_gpumem_row *row = tp_gpumem_rows(mem, &n), **sorted;
	struct tp_table *table;
	bool has_unknown = false;

	sorted = malloc((n + 1) * sizeof(*sorted));
	if (!sorted) {
		tp_out_line(out, "red", "out of memory");
		return;
	}
	for (uint32_t i = 0; i < n; i++) {
		sorted[i] = &row[i];
		has_unknown |= !is_known_at_end(shown, &row[i]);
	}
	qsort(sorted, n, sizeof(*sorted), compare_rows);
	tp_out_title(out, "Which libraries hold device memory, by kind");
	table = tp_table_begin(&rows_def, shown, options->top, out);
	for (uint32_t i = 0; i < n; i++)
		tp_table_add(table, sorted[i]);
	n_left = tp_table_end(table);
	tp_out_left(out, n_left, "rows");
	tp_out_line(out, "dim", "Which library requested it is an estimate. Mapped and reserved addresses, "
				"host memory and memory of other processes take none of the device.");
	if (has_unknown)
		tp_out_line(out, "dim", "Pools (cudaMallocAsync) are followed in windows only: what one had "
					"allocated before a window is in no figure.");
	free(sorted);
}

/* ---- steps ---- */

static void put_step(struct tp_row *r, const void *ctx, const void *of)
{
	const struct shown *shown = ctx;
	const struct tp_gpumem_step *step = of;
	char name[128], bytes[32];

	TP_TEXT(r, NULL, "device", 0, "", "%s", show_gpu(name, shown->run, &shown->gpus[step->gpu]));
	TP_NUMBER(r, NULL, "step", 0, "", step->step);
	TP_CELL(r, NULL, "most", TP_UNIT_BYTES, 0, "",
		step->is_relative ? tp_row_text(r, "+%s", tp_show_bytes(bytes, step->peak_bytes))
				  : tp_row_integer(r, step->peak_bytes));
	TP_COUNT(r, NULL, "allocs", 0, "", step->n_allocs);
	TP_BYTES(r, NULL, "allocated", 0, "", step->alloc_bytes);
	TP_COUNT(r, NULL, "frees", 0, "", step->n_frees);
	TP_BYTES(r, NULL, "freed", 0, "", step->free_bytes);
}

static const struct tp_table_def steps_def = {.columns = put_step};

static void print_steps(const struct shown *shown, const struct tp_view_options *options,
			const struct tp_gpumem *mem, struct tp_out *out)
{
	uint32_t n, n_left;
	const struct tp_gpumem_step *step = tp_gpumem_steps(mem, &n);

	if (!n)
		return;
	tp_out_title(out, "Which steps allocated or freed device memory");
	n_left = tp_table_show(&steps_def, shown, step, n, sizeof(*step), options->top, out);
	tp_out_left(out, n_left, "steps");
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
			    "%s frees were of blocks that had been allocated before the "
			    "profiler or while others had CUPTI: their size is not known.",
			    tp_show_count(a, n_unknown));
	if (n_not_kept)
		tp_out_line(out, "yellow",
			    "%s blocks were too many to keep: live bytes lack them.",
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
	struct shown shown;

	gpus = tp_gpumem_devices(mem, &n_gpus);
	shown = (struct shown){run, gpus};
	tp_gpumem_rows(mem, &n_rows);
	for (uint32_t i = 0; i < n_gpus; i++)
		print_device(run, &gpus[i], out);
	if (n_rows) {
		print_rows(&shown, options, mem, out);
	} else if (!tp_label_is_kineto(run)) {
		tp_out_title(out, "Which libraries hold device memory, by kind");
		print_nothing(run, out);
	}
	print_steps(&shown, options, mem, out);
	print_doubts(run, mem, out);
}
