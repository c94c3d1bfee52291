/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_memory_cells.c - part of the view of memory: how places, operators and lines of tensors are
 * shown
 */
#include <stdio.h>
#include <string.h>

#include "merge/facts/origin/hostmem_frames.h"
#include "merge/model/label.h"
#include "merge/view/memory/view_tensors.h"
#include "runtime/base/hash.h"

const char *tp_tensors_device(char buf[32], uint32_t device)
{
	static const char *const type[] = {"CPU", "GPU"};
	const uint32_t t = device >> 8 & 0xff, index = device & 0xff;

	if (t < sizeof(type) / sizeof(type[0]))
		snprintf(buf, 32, index == 0xff ? "%s" : "%s %u", type[t], index);
	else
		snprintf(buf, 32, "device %u:%u", t, index);
	return buf;
}

const char *tp_tensors_place(char buf[128], const struct tp_tensors_shown *shown,
			     const struct tp_proc *proc, uint32_t device)
{
	char who[64], where[32];

	if (shown->run->n_procs > 1)
		snprintf(buf, 128, "%s, %s", tp_label_proc(who, shown->run, proc),
			 tp_tensors_device(where, device));
	else
		snprintf(buf, 128, "%s", tp_tensors_device(where, device));
	return buf;
}

void tp_tensors_put_place(struct tp_row *r, const struct tp_tensors_shown *shown,
			  const struct tp_proc *proc, uint32_t device)
{
	char who[64], where[32];

	TP_WHEN(r, shown->shows_who) {
		TP_TEXT(r, "process", "process", 0, "rank", "%s",
			tp_label_proc(who, shown->run, proc));
		TP_TEXT(r, "device", "device", 0, "CPU, or a GPU and its number", "%s",
			tp_tensors_device(where, device));
	}
}

void tp_tensors_put_step(struct tp_row *r, uint64_t step)
{
	if (step != TP_NO_STEP)
		tp_row_count(r, step);
}

void tp_tensors_put_operator(struct tp_row *r, const struct tp_tensors_shown *shown, uint32_t name,
			     const char *none)
{
	if (name == TP_NO_NAME)
		tp_row_text(r, "%s", tp_row_is_for_programs(r) ? "" : none);
	else
		tp_row_text(r, "%s", tp_names_at(shown->names, name)->bytes);
}

void tp_tensors_put_category(struct tp_row *r, enum tp_tensor_category category, uint32_t name)
{
	bool is_kept = category == TP_TENSOR_UNKNOWN && name != TP_NO_NAME;

	tp_row_text(r, "%s", tp_row_is_for_programs(r) ? tp_memcat_word(category)
			     : is_kept		       ? "kept across steps"
						       : tp_tensor_category_title(category));
}

static const char *show_module(char buf[TP_TENSORS_TEXT], const struct tp_tensors_shown *shown,
			       struct tp_origin origin, bool like)
{
	buf[0] = '\0';
	if (!origin.path)
		return buf;
	return tp_module_title(tp_origins_paths(shown->origins), origin.path, like, buf,
			       TP_TENSORS_TEXT);
}

static const char *show_line(char buf[TP_TENSORS_TEXT], const struct tp_tensors_shown *shown,
			     struct tp_origin origin)
{
	const bool is_rows = shown->out->rows != TP_ROWS_NONE;
	char *end;

	tp_hostmem_show_line(tp_origins_stacks(shown->origins), origin.stack,
			     is_rows ? TP_HOSTMEM_WHOLE : TP_HOSTMEM_SHORT, buf, TP_TENSORS_TEXT);
	/* "train.py:42 Block.forward": beside the module's name the function's says little. */
	end = shown->has_modules && !is_rows ? strrchr(buf, ':') : NULL;
	end = end ? strchr(end, ' ') : NULL;
	if (end)
		*end = '\0';
	return buf;
}

static void put_module(struct tp_row *r, const struct tp_tensors_shown *shown,
		       struct tp_origin origin, bool like)
{
	char text[TP_TENSORS_TEXT];

	tp_row_text(r, "%s", show_module(text, shown, origin, like));
}

static void put_line(struct tp_row *r, const struct tp_tensors_shown *shown,
		     struct tp_origin origin)
{
	char text[TP_TENSORS_TEXT];

	tp_row_text(r, "%s", show_line(text, shown, origin));
}

void tp_tensors_put_origin(struct tp_row *r, const struct tp_tensors_shown *shown,
			   struct tp_origin origin, bool like)
{
	TP_WHEN(r, shown->has_modules)
		TP_CELL(r, "module", "module", TP_UNIT_TEXT, TP_CUT, "nn.Module that it belongs to",
			put_module(r, shown, origin, like));
	TP_WHEN(r, shown->has_lines)
		TP_CELL(r, "line", "line", TP_UNIT_PLACE, TP_CUT, "source line",
			put_line(r, shown, origin));
}

void tp_tensors_show_origin(const struct tp_tensors_shown *shown, struct tp_origin origin,
			    char module[TP_TENSORS_TEXT], char line[TP_TENSORS_TEXT])
{
	show_module(module, shown, origin, false);
	show_line(line, shown, origin);
}

uint64_t tp_tensors_kind(const struct tp_tensors_shown *shown, struct tp_origin origin)
{
	char text[TP_TENSORS_TEXT];
	uint64_t kind = 0;

	if (shown->out->rows)
		return (uint64_t)origin.path << 32 | origin.stack;
	show_module(text, shown, origin, true);
	kind = tp_hash_bytes(text, strlen(text), kind);
	show_line(text, shown, origin);
	return tp_hash_bytes(text, strlen(text), kind);
}
