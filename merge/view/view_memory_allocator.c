/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_memory_allocator.c - part of the view of memory: what the caching allocator keeps beside
 * what is in tensors, and what others have of the device
 */
#include <stdio.h>

#include "merge/kit/sum.h"
#include "merge/view/view_tensors.h"

enum { LABEL = TP_VIEW_MEMORY_LABEL };

static int64_t idle_of(const struct tp_allocator_moment *moment)
{
	return tp_sub(moment->reserved, moment->allocated);
}

static const char *show_when(char buf[80], const struct tp_allocator_moment *moment)
{
	char a[32];

	if (moment->step == TP_NO_STEP)
		snprintf(buf, 80, "%s after the run's begin", tp_show_ns(a, moment->ns));
	else
		snprintf(buf, 80, "in step %lu", (unsigned long)moment->step);
	return buf;
}

static void print_growth(const struct tp_allocator_device *of, struct tp_out *out)
{
	char a[32], b[32], c[32], d[32];

	if (of->n_grown || of->n_shrunk)
		tp_out_item(out, of->n_shrunk ? "yellow" : "", LABEL, "in windows",
			    "asked the driver %s times, for %s, and gave back %s times, %s%s",
			    tp_show_count(a, of->n_grown), tp_show_bytes(b, of->grown_bytes),
			    tp_show_count(c, of->n_shrunk), tp_show_bytes(d, of->shrunk_bytes),
			    of->n_shrunk ? ": each time the device was waited for" : "");
}

static void print_device(const struct tp_allocator_device *of, struct tp_out *out)
{
	const struct tp_allocator_moment *full = &of->fullest;
	char a[32], b[32], c[32], total[48] = "", when[80];

	if (of->total_bytes > 0)
		snprintf(total, sizeof(total), " of %s", tp_show_bytes(a, of->total_bytes));
	tp_out_item(out, "", LABEL, "reserved", "%s%s at most, %s",
		    tp_show_bytes(a, of->largest.reserved), total, show_when(when, &of->largest));
	tp_out_item(out, "", LABEL, "not in use",
		    "%s of %s reserved, %s, when tensors were most",
		    tp_show_bytes(a, idle_of(full)), tp_show_bytes(b, full->reserved),
		    tp_show_percent(c, (double)idle_of(full), (double)full->reserved));
	if (idle_of(&of->widest) > idle_of(full))
		tp_out_item(out, "", LABEL, "", "%s of %s at most, %s",
			    tp_show_bytes(a, idle_of(&of->widest)),
			    tp_show_bytes(b, of->widest.reserved), show_when(when, &of->widest));
	print_growth(of, out);
	if (of->others_bytes >= 0)
		tp_out_item(out, "", LABEL, "used by others", "%s at most: %s",
			    tp_show_bytes(a, of->others_bytes),
			    of->is_exact ? "other processes"
					 : "other processes, and CUDA and NCCL of this one");
}

void tp_view_tensors_allocator(const struct tp_tensors_shown *shown, const struct tp_proc *proc,
			       uint32_t device)
{
	uint32_t n;
	const struct tp_allocator_device *of =
		tp_allocator_devices(tp_tensormem_allocator(shown->mem), &n);

	for (uint32_t i = 0; i < n; i++)
		if (of[i].proc == proc && of[i].device == device)
			print_device(&of[i], shown->out);
}

void tp_view_tensors_allocators(const struct tp_tensors_shown *shown)
{
	static const struct tp_old_column column[] = {
		{.title = "process", .field = "process"},
		{.title = "device", .field = "device"},
		{.title = "in tensors", .align = TP_RIGHT, .field = "allocated_bytes"},
		{.title = "reserved then", .align = TP_RIGHT, .field = "reserved_then_bytes"},
		{.title = "at", .align = TP_RIGHT, .field = "peak_ns"},
		{.title = "reserved", .align = TP_RIGHT, .field = "reserved_bytes"},
		{.title = "not in use", .align = TP_RIGHT, .field = "idle_bytes"},
		{.title = "at", .align = TP_RIGHT, .field = "idle_ns"},
		{.title = "grown", .align = TP_RIGHT, .field = "growths"},
		{.title = "by", .align = TP_RIGHT, .field = "grown_bytes"},
		{.title = "given back", .align = TP_RIGHT, .field = "returns"},
		{.title = "bytes", .align = TP_RIGHT, .field = "returned_bytes"},
		{.title = "others", .align = TP_RIGHT, .field = "others_bytes"},
	};
	uint32_t n;
	const struct tp_allocator_device *of =
		tp_allocator_devices(tp_tensormem_allocator(shown->mem), &n);
	struct tp_old_table *table;

	if (!n || !tp_out_is_full(shown->out))
		return;
	tp_out_title(shown->out, "What allocators kept");
	table = tp_table_new(column, sizeof(column) / sizeof(column[0]));
	tp_table_name(table, "tensor_allocator");
	for (uint32_t i = 0; i < n; i++) {
		tp_tensors_cell_place(table, shown, of[i].proc, of[i].device);
		tp_cell_bytes(table, of[i].fullest.allocated);
		tp_cell_bytes(table, of[i].fullest.reserved);
		tp_cell_ns(table, of[i].fullest.ns);
		tp_cell_bytes(table, of[i].largest.reserved);
		tp_cell_bytes(table, idle_of(&of[i].widest));
		tp_cell_ns(table, of[i].widest.ns);
		tp_cell_count(table, of[i].n_grown);
		tp_cell_bytes(table, of[i].grown_bytes);
		tp_cell_count(table, of[i].n_shrunk);
		tp_cell_bytes(table, of[i].shrunk_bytes);
		if (of[i].others_bytes >= 0)
			tp_cell_bytes(table, of[i].others_bytes);
		else
			tp_table_cell(table, "%s", "");
	}
	tp_table_print(table, shown->out);
}
