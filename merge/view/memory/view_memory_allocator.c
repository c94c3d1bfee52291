/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_memory_allocator.c - part of the view of memory: what the caching allocator keeps beside
 * what is in tensors, and what others have of the device
 */
#include <stdio.h>

#include "merge/kit/sum.h"
#include "merge/view/memory/view_tensors.h"

enum { LABEL = TP_VIEW_MEMORY_LABEL };

static int64_t idle_of(const struct tp_allocator_moment *moment)
{
	return tp_sub(moment->reserved, moment->allocated);
}

static const char *show_when(char buf[80], const struct tp_allocator_moment *moment)
{
	char a[32];

	if (moment->step == TP_NO_STEP)
		snprintf(buf, 80, "%s after recording began", tp_show_ns(a, moment->ns));
	else
		snprintf(buf, 80, "in step %lu", (unsigned long)moment->step);
	return buf;
}

static void print_growth(const struct tp_allocator_device *of, struct tp_out *out)
{
	char a[32], b[32], c[32], d[32];

	if (of->n_grown || of->n_shrunk)
		tp_out_item(out, of->n_shrunk ? "yellow" : "", LABEL, "in windows",
			    "requested from the driver %s times, %s, and returned %s times, %s%s",
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
		    "%s of %s reserved, %s, at the peak of tensors",
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

static void put_columns(struct tp_row *r, const void *ctx, const void *row)
{
	static const struct tp_allocator_device none;
	const struct tp_allocator_device *of = row ? row : &none;

	tp_tensors_put_place(r, ctx, of->proc, of->device);
	TP_BYTES(r, "allocated_bytes", "in tensors", 0, "highest bytes in tensors", of->fullest.allocated);
	TP_BYTES(r, "reserved_then_bytes", "bytes reserved at that time", 0, "bytes reserved at that time", of->fullest.reserved);
	TP_NS(r, "peak_ns", "at", 0, "time of that", of->fullest.ns);
	TP_BYTES(r, "reserved_bytes", "reserved", 0, "highest bytes reserved", of->largest.reserved);
	TP_BYTES(r, "idle_bytes", "not in use", 0, "highest bytes reserved and in no tensor",
		 idle_of(&of->widest));
	TP_NS(r, "idle_ns", "at", 0, "time of that", of->widest.ns);
	TP_COUNT(r, "growths", "grown", 0, "requests to the driver for more memory", of->n_grown);
	TP_BYTES(r, "grown_bytes", "by", 0, "bytes of these requests", of->grown_bytes);
	TP_COUNT(r, "returns", "given back", 0, "number of times that it returned memory to the driver", of->n_shrunk);
	TP_BYTES(r, "returned_bytes", "bytes", 0, "bytes returned", of->shrunk_bytes);
	TP_CELL(r, "others_bytes", "others", TP_UNIT_BYTES, 0, "device memory used by others",
		of->others_bytes >= 0 ? tp_row_integer(r, of->others_bytes) : (void)0);
}

const struct tp_table_def tp_table_tensor_allocator = {
	.name = "tensor_allocator", .columns = put_columns,
	.help = "caching allocator of each device",
};

void tp_view_tensors_allocators(const struct tp_tensors_shown *shown)
{
	uint32_t n;
	const struct tp_allocator_device *of =
		tp_allocator_devices(tp_tensormem_allocator(shown->mem), &n);

	if (!n || !tp_out_is_full(shown->out))
		return;
	tp_out_title(shown->out, "What allocators kept");
	tp_table_show(&tp_table_tensor_allocator, shown, of, n, sizeof(*of), TP_TOP_ASKED,
		      shown->out);
}
