/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_memory_oom.c - part of the view of memory: allocations that failed, and who held what then
 */
#include <stdio.h>

#include "merge/kit/sum.h"
#include "merge/view/memory/view_tensors.h"

enum { LABEL = TP_VIEW_MEMORY_LABEL };

static const struct tp_pinned *find_pin(const struct tp_tensors_shown *shown,
					const struct tp_allocator_oom *oom)
{
	uint32_t n;
	const struct tp_mempeak_track *track = tp_tensormem_by_step(shown->mem, &n);

	for (uint32_t i = 0; i < n; i++)
		if (track[i].proc == oom->proc && track[i].device == oom->device)
			return oom->pin < track[i].n_pins ? &track[i].pin[oom->pin] : NULL;
	return NULL;
}

static void print_what_was_there(const struct tp_tensors_shown *shown,
				 const struct tp_allocator_oom *oom)
{
	char a[32], b[32], c[32], others[64] = "", total[64] = "";

	if (oom->reserved < 0)
		return;
	if (oom->others_bytes > 0)
		snprintf(others, sizeof(others), ", %s used by others",
			 tp_show_bytes(a, oom->others_bytes));
	if (oom->total_bytes > 0)
		snprintf(total, sizeof(total), " of %s", tp_show_bytes(a, oom->total_bytes));
	tp_out_item(shown->out, "", LABEL, "then", "%s in tensors, %s%s reserved: %s not in use%s",
		    tp_show_bytes(a, oom->allocated), tp_show_bytes(b, oom->reserved), total,
		    tp_show_bytes(c, tp_sub(oom->reserved, oom->allocated)), others);
	if (tp_sub(oom->reserved, oom->allocated) >= oom->asked_bytes)
		tp_out_item(shown->out, "yellow", LABEL, "fragmented",
			    "the reserved, unused memory would have been enough, but not in one piece: try "
			    "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True");
}

static void print_oom(const struct tp_tensors_shown *shown, const struct tp_allocator_oom *oom)
{
	const struct tp_pinned *pin = find_pin(shown, oom);
	char place[128], a[32], step[48] = "", module[TP_TENSORS_TEXT], line[TP_TENSORS_TEXT];
	int64_t all = 0;

	tp_out_title(shown->out, "Out of memory: %s",
		     tp_tensors_place(place, shown, oom->proc, oom->device));
	if (oom->step != TP_NO_STEP)
		snprintf(step, sizeof(step), " in step %lu", (unsigned long)oom->step);
	tp_out_item(shown->out, "red", LABEL, "requested", "%s,%s",
		    tp_show_bytes(a, oom->asked_bytes), *step ? step : " outside steps");
	tp_tensors_show_origin(shown, oom->origin, module, line);
	tp_out_item(shown->out, "", LABEL, "by", "%s%s%s%s%s",
		    oom->name == TP_NO_NAME ? "no operator"
					    : tp_names_at(shown->names, oom->name)->bytes,
		    *module ? " in " : "", module, *line ? " at " : "", line);
	print_what_was_there(shown, oom);
	for (uint32_t c = 0; pin && c < TP_TENSOR_N; c++)
		all = tp_add(all, pin->bytes[c]);
	if (all)
		tp_view_tensors_holders(shown, oom->proc, oom->device,
					&tp_table_tensor_oom_holders, pin->holder, pin->n_holders, all);
}

static void put_oom_origin(struct tp_row *r, const struct tp_tensors_shown *shown,
			   const struct tp_allocator_oom *of, bool is_module)
{
	char module[TP_TENSORS_TEXT], line[TP_TENSORS_TEXT];

	tp_tensors_show_origin(shown, of->origin, module, line);
	tp_row_text(r, "%s", is_module ? module : line);
}

static void put_oom(struct tp_row *r, const void *ctx, const void *row)
{
	static const struct tp_allocator_oom none;
	const struct tp_allocator_oom *of = row ? row : &none;

	tp_tensors_put_place(r, ctx, of->proc, of->device);
	TP_NS(r, "time_ns", "at", 0, "time of the failure", of->ns);
	TP_CELL(r, "step", "step", TP_UNIT_NUMBER, 0, "number of the step", tp_tensors_put_step(r, of->step));
	TP_BYTES(r, "asked_bytes", "requested", 0, "bytes requested", of->asked_bytes);
	TP_BYTES(r, "allocated_bytes", "allocated", 0, "bytes in tensors at that time",
		 of->allocated > 0 ? of->allocated : 0);
	TP_BYTES(r, "reserved_bytes", "reserved", 0, "bytes reserved at that time",
		 of->reserved > 0 ? of->reserved : 0);
	TP_CELL(r, "operator", "by", TP_UNIT_TEXT, 0, "operator that requested it",
		tp_tensors_put_operator(r, ctx, of->name, ""));
	TP_CELL(r, "module", "module", TP_UNIT_TEXT, 0, "nn.Module that it belongs to",
		put_oom_origin(r, ctx, of, true));
	TP_CELL(r, "line", "line", TP_UNIT_PLACE, 0, "source line",
		put_oom_origin(r, ctx, of, false));
}

const struct tp_table_def tp_table_tensor_oom = {
	.name = "tensor_oom", .columns = put_oom, .help = "allocations that failed",
};

void tp_view_tensors_ooms(const struct tp_tensors_shown *shown)
{
	uint32_t n;
	uint64_t n_all;
	const struct tp_allocator_oom *oom =
		tp_allocator_ooms(tp_tensormem_allocator(shown->mem), &n, &n_all);
	char a[32];

	if (!n)
		return;
	print_oom(shown, &oom[0]);
	if (tp_out_is_full(shown->out))
		tp_table_show(&tp_table_tensor_oom, shown, oom, n, sizeof(*oom), TP_TOP_ASKED,
			      shown->out);
	if (n_all > 1)
		tp_out_line(shown->out, "dim", "It was out of memory %s times; this was the first.",
			    tp_show_count(a, n_all));
}
