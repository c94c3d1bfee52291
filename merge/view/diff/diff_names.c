/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff_names.c - operators and kernels of two runs, name by name
 */
#include "merge/view/diff/diff.h"

#include <stdlib.h>
#include <string.h>

static int compare_names(const void *a, const void *b)
{
	const struct tp_diff_row *x = a, *y = b;
	uint32_t n = x->n_name < y->n_name ? x->n_name : y->n_name;
	int order = memcmp(x->name, y->name, n);

	return order ? order : (x->n_name > y->n_name) - (x->n_name < y->n_name);
}

/* Rows of one side behind those that are there; returns how many there are then. */
static uint32_t add_side(struct tp_diff_row *row, uint32_t n, const struct tp_names *names,
			 const struct tp_overview_row *figures, uint32_t cap, bool is_base)
{
	for (uint32_t i = 0; i < tp_names_count(names) && i < cap; i++) {
		const struct tp_name *name = tp_names_at(names, i);

		if (!figures[i].calls)
			continue;
		row[n] = (struct tp_diff_row){.name = name->bytes, .n_name = name->n_bytes};
		*(is_base ? &row[n].base : &row[n].now) = figures[i];
		n++;
	}
	return n;
}

static struct tp_diff_row *join(const struct tp_diff_side *base, const struct tp_diff_side *now,
				bool is_kernels, uint32_t *n_rows)
{
	const struct tp_diff_side *side[2] = {base, now};
	struct tp_diff_row *row;
	uint32_t n = 0, kept = 0;

	*n_rows = 0;
	for (int i = 0; i < 2; i++)
		n += tp_names_count(is_kernels ? side[i]->kernels->names : side[i]->overview->names);
	row = malloc((n + 1) * sizeof(row[0]));
	if (!row)
		return NULL;
	n = 0;
	for (int i = 0; i < 2; i++)
		n = is_kernels ? add_side(row, n, side[i]->kernels->names, side[i]->kernels->row,
					  side[i]->kernels->cap, !i)
			       : add_side(row, n, side[i]->overview->names,
					  side[i]->overview->row, side[i]->overview->cap_rows, !i);
	if (n)
		qsort(row, n, sizeof(row[0]), compare_names);
	for (uint32_t i = 0; i < n; i++) {
		if (kept && !compare_names(&row[kept - 1], &row[i])) {
			if (row[i].base.calls)
				row[kept - 1].base = row[i].base;
			else
				row[kept - 1].now = row[i].now;
			continue;
		}
		row[kept++] = row[i];
	}
	for (uint32_t i = 0; i < kept; i++) {
		row[i].change_ns = tp_diff_per_step(now, row[i].now.self_ns) -
				   tp_diff_per_step(base, row[i].base.self_ns);
		row[i].device_change_ns = tp_diff_per_step(now, row[i].now.device_ns) -
					  tp_diff_per_step(base, row[i].base.device_ns);
	}
	*n_rows = kept;
	return row;
}

struct tp_diff_row *tp_diff_operators(const struct tp_diff_side *base,
				      const struct tp_diff_side *now, uint32_t *n)
{
	return join(base, now, false, n);
}

struct tp_diff_row *tp_diff_kernels(const struct tp_diff_side *base,
				    const struct tp_diff_side *now, uint32_t *n)
{
	return join(base, now, true, n);
}

static int by_change(double x, double y)
{
	x = x < 0 ? -x : x;
	y = y < 0 ? -y : y;
	return (x < y) - (x > y);
}

static int compare_changes(const void *a, const void *b)
{
	const struct tp_diff_row *x = a, *y = b;
	int order = by_change(x->change_ns, y->change_ns);

	if (!order)
		order = by_change(x->device_change_ns, y->device_change_ns);
	return order ? order : compare_names(a, b);
}

static int compare_device_changes(const void *a, const void *b)
{
	const struct tp_diff_row *x = a, *y = b;
	int order = by_change(x->device_change_ns, y->device_change_ns);

	return order ? order : compare_changes(a, b);
}

void tp_diff_sort(struct tp_diff_row *row, uint32_t n, bool is_by_device)
{
	if (n)
		qsort(row, n, sizeof(row[0]), is_by_device ? compare_device_changes : compare_changes);
}
