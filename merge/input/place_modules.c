/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place_modules.c - MODULE strings -> what was mapped where and when, by process
 *
 * Each window's file lists all modules again, so equal ones are dropped. Strings are bytes of a
 * file: lengths and bounds are checked.
 */
#include "merge/input/place_modules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "merge/input/run.h"
#include "merge/kit/grow.h"

enum { BUILD_ID_MAX = 64 };

static int64_t time_of(const struct tp_proc_in *proc, uint64_t ticks, int64_t otherwise)
{
	uint32_t hint = 0;

	return ticks && !(ticks >> 62) && proc->map.n_knots ? tp_run_ns(proc, &hint, ticks)
							    : otherwise;
}

/* False: it cannot be. */
static bool parse(struct tp_module_at *module, const struct tp_proc_in *proc,
		  const struct tp_string *s)
{
	struct tp_module raw;

	if (s->n_bytes < sizeof(raw))
		return false;
	memcpy(&raw, s->bytes, sizeof(raw));
	if (raw.build_id_bytes > BUILD_ID_MAX ||
	    raw.build_id_bytes > s->n_bytes - sizeof(raw) || raw.begin >= raw.end)
		return false;
	*module = (struct tp_module_at){
		.path = s->bytes + sizeof(raw) + raw.build_id_bytes,
		.build_id = raw.build_id_bytes ? (const uint8_t *)s->bytes + sizeof(raw) : NULL,
		.build_id_bytes = raw.build_id_bytes,
		.bias = raw.bias, .begin = raw.begin, .end = raw.end,
		.from_ns = time_of(proc, raw.from, INT64_MIN),
		.to_ns = time_of(proc, raw.to, INT64_MAX),
	};
	return true;
}

/* Of two that differ in their ends only, the one that has an end comes first. */
static int compare_modules(const void *a, const void *b)
{
	const struct tp_module_at *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	if (x->from_ns != y->from_ns)
		return x->from_ns < y->from_ns ? -1 : 1;
	return (x->to_ns > y->to_ns) - (x->to_ns < y->to_ns);
}

static int place_modules(struct tp_run_in *run, struct tp_proc_in *proc)
{
	uint32_t n = 0, cap = 0, n_bad = 0, kept = 0;
	struct tp_module_at *module = NULL;

	for (uint32_t i = 0; i < proc->n_loose_ids; i++) {
		const struct tp_string *s = tp_ids_get(&proc->ids, proc->loose_id[i]);

		if (!s || s->kind != TP_STRING_MODULE)
			continue;
		if (!tp_grow(&module, &cap, (uint64_t)n + 1, sizeof(*module))) {
			free(module);
			return -ENOMEM;
		}
		if (parse(&module[n], proc, s))
			n++;
		else
			n_bad++;
	}
	if (n)
		qsort(module, n, sizeof(*module), compare_modules);
	for (uint32_t i = 0; i < n; i++) {
		struct tp_module_at *last = kept ? &module[kept - 1] : NULL;

		if (!last || last->begin != module[i].begin || last->from_ns != module[i].from_ns)
			module[kept++] = module[i];
	}
	if (n_bad)
		tp_run_issue(&run->pub, &proc->pub, true,
			     "%u descriptions of loaded libraries are damaged; frames in them "
			     "have no names", n_bad);
	proc->pub.module = module;
	proc->pub.n_modules = kept;
	return 0;
}

int tp_run_place_modules(struct tp_run_in *run)
{
	int err = 0;

	for (uint32_t i = 0; i < run->pub.n_procs && !err; i++)
		err = place_modules(run, (struct tp_proc_in *)run->pub.proc[i]);
	return err;
}
