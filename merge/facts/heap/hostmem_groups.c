/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hostmem_groups.c - host memory by the place in the program that is to blame for it
 */
#include "merge/facts/heap/hostmem_groups.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "merge/kit/grow.h"
#include "merge/kit/keyed.h"

struct grouping {
	struct tp_hostmem_group *group;
	uint32_t n, cap;
	struct tp_keyed keyed;
	enum tp_hostmem_frame by;
};

static bool is_same(const struct grouping *of, const struct tp_hostmem_group *group,
		    const struct tp_hostmem_group *key)
{
	const struct tp_frame *a = &group->frame, *b = &key->frame;

	if (group->sum.proc != key->sum.proc || group->is_known != key->is_known)
		return false;
	if (of->by == TP_HOSTMEM_NATIVE)
		return !strcmp(a->module, b->module);
	return a->function_id == b->function_id && a->line == b->line &&
	       (a->function_id || !strcmp(a->module, b->module));
}

/* NULL: out of memory. */
static struct tp_hostmem_group *find_group(struct grouping *of, const struct tp_hostmem_group *key)
{
	uint32_t hash = of->by == TP_HOSTMEM_NATIVE
				? (uint32_t)strlen(key->frame.module) * 31
				: key->frame.function_id * 31 + key->frame.line;
	uint32_t at, row;

	hash = tp_keyed_hash((uint64_t)key->sum.proc << 32 | hash);
	for (row = tp_keyed_first(&of->keyed, hash, &at); row != TP_NO_KEYED;
	     row = tp_keyed_next(&of->keyed, hash, &at))
		if (is_same(of, &of->group[row], key))
			return &of->group[row];
	if (!tp_grow(&of->group, &of->cap, (uint64_t)of->n + 1, sizeof(*of->group)) ||
	    !tp_keyed_add(&of->keyed, hash, of->n))
		return NULL;
	of->group[of->n] = *key;
	return &of->group[of->n++];
}

static void add_row(struct tp_hostmem_group *group, const struct tp_hostmem_row *row)
{
	struct tp_hostmem_row *sum = &group->sum;
	bool is_first = !sum->n_allocs;

	if (is_first || row->peak_bytes > group->most_peak ||
	    (row->peak_bytes == group->most_peak && row->alloc_bytes > group->most_alloc)) {
		sum->stack = row->stack;
		group->most_peak = row->peak_bytes;
		group->most_alloc = row->alloc_bytes;
	}
	sum->n_allocs += row->n_allocs;
	sum->alloc_bytes += row->alloc_bytes;
	sum->peak_blocks += row->peak_blocks;
	sum->peak_bytes += row->peak_bytes;
	sum->end_blocks += row->end_blocks;
	sum->end_bytes += row->end_bytes;
	sum->leaked_blocks += row->leaked_blocks;
	sum->leaked_bytes += row->leaked_bytes;
	if (row->n_leaked_steps > sum->n_leaked_steps)
		sum->n_leaked_steps = row->n_leaked_steps;
	sum->n_temporary += row->n_temporary;
	sum->temporary_bytes += row->temporary_bytes;
	/* Errors of independent samples: their squares add up, and stay squares until the end. */
	sum->error_bytes += row->error_bytes * row->error_bytes;
}

struct tp_hostmem_group *tp_hostmem_groups(const struct tp_hostmem *mem,
					   const struct tp_hostmem_choice *choice,
					   enum tp_hostmem_frame by, uint32_t *n)
{
	static const struct tp_frame nowhere = {.function = "", .file = "", .module = ""};
	uint32_t n_rows;
	const struct tp_hostmem_row *row = tp_hostmem_rows(mem, &n_rows);
	struct grouping of = {.by = by};
	bool is_good = true;

	for (uint32_t i = 0; i < n_rows && is_good; i++) {
		struct tp_hostmem_group key = {
			.sum = {.proc = row[i].proc}, .frame = nowhere}, *group;

		key.is_known = tp_hostmem_choose(choice, row[i].stack, by, &key.frame);
		group = find_group(&of, &key);
		is_good = group != NULL;
		if (group)
			add_row(group, &row[i]);
	}
	tp_keyed_free(&of.keyed);
	if (!is_good) {
		free(of.group);
		return NULL;
	}
	for (uint32_t i = 0; i < of.n; i++)
		of.group[i].sum.error_bytes = sqrt(of.group[i].sum.error_bytes);
	*n = of.n;
	return of.group ? of.group : calloc(1, sizeof(*of.group));
}
