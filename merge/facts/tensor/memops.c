/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memops.c - tensor memory by operator
 */
#include "merge/facts/tensor/memops.h"

#include <stdlib.h>

#include "merge/kit/grow.h"
#include "merge/kit/sum.h"

void tp_memops_free(struct tp_memops_each *each)
{
	for (uint32_t i = 0; i < each->n; i++)
		free(each->of[i].op);
	free(each->of);
}

struct tp_memops *tp_memops_of(struct tp_memops_each *each, uint32_t proc, uint32_t device)
{
	for (uint32_t i = 0; i < each->n; i++)
		if (each->of[i].proc == proc && each->of[i].device == device)
			return &each->of[i];
	if (!tp_grow(&each->of, &each->cap, (uint64_t)each->n + 1, sizeof(*each->of))) {
		each->n_lost++;
		return NULL;
	}
	each->of[each->n] = (struct tp_memops){.proc = proc, .device = device};
	return &each->of[each->n++];
}

/* NULL: out of memory. */
static struct tp_memop *find_op(struct tp_memops *ops, uint32_t name)
{
	if (!tp_grow(&ops->op, &ops->cap, (uint64_t)name + 1, sizeof(*ops->op))) {
		ops->is_incomplete = true;
		return NULL;
	}
	for (; ops->n <= name; ops->n++)
		ops->op[ops->n].name = ops->n;
	return &ops->op[name];
}

void tp_memops_change(struct tp_memops *ops, const uint32_t *name, uint32_t n, int64_t bytes)
{
	const bool is_alloc = bytes > 0;

	for (uint32_t i = 0; i < n; i++) {
		struct tp_memop *op = find_op(ops, name[i]);
		bool is_again = false;

		/* What encloses itself counts once. */
		for (uint32_t k = i + 1; k < n; k++)
			is_again |= name[k] == name[i];
		if (!op || is_again)
			continue;
		op->bytes = tp_add(op->bytes, bytes);
		op->allocs += is_alloc;
		op->alloc_bytes = tp_add(op->alloc_bytes, is_alloc ? bytes : 0);
		if (i + 1 < n)
			continue;
		op->self_bytes = tp_add(op->self_bytes, bytes);
		op->self_allocs += is_alloc;
		op->self_alloc_bytes = tp_add(op->self_alloc_bytes, is_alloc ? bytes : 0);
	}
}

static int compare_ops(const void *a, const void *b)
{
	const struct tp_memop *x = a, *y = b;

	if (x->self_alloc_bytes != y->self_alloc_bytes)
		return x->self_alloc_bytes < y->self_alloc_bytes ? 1 : -1;
	if (x->alloc_bytes != y->alloc_bytes)
		return x->alloc_bytes < y->alloc_bytes ? 1 : -1;
	return (x->name > y->name) - (x->name < y->name);
}

void tp_memops_end(struct tp_memops *ops, const uint64_t *calls, uint32_t n_calls)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < ops->n; i++)
		if (ops->op[i].allocs || ops->op[i].bytes) {
			ops->op[n] = ops->op[i];
			ops->op[n++].calls = i < n_calls ? calls[i] : 0;
		}
	ops->n = n;
	if (n)
		qsort(ops->op, n, sizeof(*ops->op), compare_ops);
}
