/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_tensors.h - what the parts of the view of tensor memory share
 */
#ifndef TP_MERGE_VIEW_TENSORS_H
#define TP_MERGE_VIEW_TENSORS_H

#include "merge/view/memory/view_memory.h"

struct tp_tensors_shown {
	const struct tp_run *run;
	const struct tp_view_options *options;
	const struct tp_tensormem *mem;
	const struct tp_names *names;
	struct tp_origins *origins;
	bool shows_who;			/* process and device stand in each row */
	bool has_modules, has_lines;	/* somebody is said to be of one */
	struct tp_out *out;
};

enum { TP_TENSORS_TEXT = 400 };

/* "GPU 1", "rank 3, CPU" where there are several processes. */
const char *tp_tensors_device(char buf[32], uint32_t device);
const char *tp_tensors_place(char buf[128], const struct tp_tensors_shown *shown,
			     const struct tp_proc *proc, uint32_t device);
/* Columns: process and device, where rows have them; module and line, where any are known. like:
 * module_paths.h. */
void tp_tensors_put_place(struct tp_row *r, const struct tp_tensors_shown *shown,
			  const struct tp_proc *proc, uint32_t device);
void tp_tensors_put_origin(struct tp_row *r, const struct tp_tensors_shown *shown,
			   struct tp_origin origin, bool like);
/* Cells: a step; an operator, else what stands for it in text. */
void tp_tensors_put_step(struct tp_row *r, uint64_t step);
void tp_tensors_put_operator(struct tp_row *r, const struct tp_tensors_shown *shown, uint32_t name,
			     const char *none);
/* name: the operator that allocated it; TP_NO_NAME: not known. What is kept for no known reason, but
 * was seen to be made, is "kept across steps" for people. */
void tp_tensors_put_category(struct tp_row *r, enum tp_tensor_category category, uint32_t name);
/* Both "" where they are not known. */
void tp_tensors_show_origin(const struct tp_tensors_shown *shown, struct tp_origin origin,
			    char module[TP_TENSORS_TEXT], char line[TP_TENSORS_TEXT]);
/* Equal for those that are called the same in text, for the same in rows. */
uint64_t tp_tensors_kind(const struct tp_tensors_shown *shown, struct tp_origin origin);

extern const struct tp_table_def tp_table_tensor_categories, tp_table_tensor_holders,
	tp_table_tensor_oom_holders, tp_table_tensor_oom, tp_table_tensor_allocator,
	tp_table_tensor_steps, tp_table_tensor_curve, tp_table_tensor_blocks,
	tp_table_tensor_operators;

/* A sentence: how much at most, and what of it is kept across steps, else who allocated most of it. */
void tp_view_tensors_answer(const struct tp_tensors_shown *shown, const struct tp_mempeak_track *track);
/* The track with the highest peak; n: of none anything was seen. */
uint32_t tp_view_tensors_largest(const struct tp_mempeak_track *track, uint32_t n);
/* The others, for people. */
void tp_view_tensors_devices(const struct tp_tensors_shown *shown, const struct tp_mempeak_track *track,
			     uint32_t n, const struct tp_mempeak_track *largest);
/* What is kept across steps, by who allocated it; nothing where none is. For people. */
void tp_view_tensors_kept(const struct tp_tensors_shown *shown, const struct tp_mempeak_track *track);
/* Its bytes at the peak. */
int64_t tp_view_tensors_kept_bytes(const struct tp_mempeak_track *track);
/* Who held it. all: bytes of all. */
void tp_view_tensors_holders(const struct tp_tensors_shown *shown, const struct tp_proc *proc,
			     uint32_t device, const struct tp_table_def *table,
			     const struct tp_holder *holder, uint32_t n, int64_t all);
/* What the caching allocator of a device of a process keeps, in lines; of all in rows. */
void tp_view_tensors_allocator(const struct tp_tensors_shown *shown, const struct tp_proc *proc,
			       uint32_t device);
void tp_view_tensors_allocators(const struct tp_tensors_shown *shown);
/* Step by step, or stretch by stretch of time, of these tracks; on a terminal the curve of one. */
void tp_view_tensors_stretches(const struct tp_tensors_shown *shown,
			       const struct tp_mempeak_track *track, uint32_t n, bool is_steps);
void tp_view_tensors_curve(const struct tp_tensors_shown *shown,
			   const struct tp_mempeak_track *track);
/* Allocations that failed. */
void tp_view_tensors_ooms(const struct tp_tensors_shown *shown);
/* The largest blocks of all; operators, in text of a device of a process. */
void tp_view_tensors_blocks(const struct tp_tensors_shown *shown);
void tp_view_tensors_operators(const struct tp_tensors_shown *shown, const struct tp_proc *proc,
			       uint32_t device);

#endif
