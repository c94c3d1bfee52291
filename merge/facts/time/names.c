/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names.c - rows by operator name
 *
 * Two levels: tp_string.same -> row (an array), and name -> row (a hash table), used once
 * for each distinct string.
 */
#include "merge/facts/time/names.h"

#include <stdlib.h>
#include <string.h>

#include "merge/facts/time/tensor_cores.h"
#include "merge/kit/grow.h"
#include "merge/kit/keyed.h"
#include "merge/kit/need.h"
#include "runtime/base/begins.h"
#include "runtime/base/hash.h"
#include "runtime/trace/torch_names.h"

struct tp_names {
	struct tp_name *name;
	uint32_t n, cap;
	uint32_t *row_of; /* by tp_string.same; row + 1, 0: not seen yet */
	uint32_t cap_row_of;
	struct tp_keyed names; /* by the name itself */
};

/* What the beginning of a name says. The first that fits counts. */
static const struct {
	const char *begin;
	uint8_t category;
} meanings[] = {
    {TP_NAME_GLOO, TP_CAT_COMM},
    {TP_NAME_NCCL, TP_CAT_COMM},
    {"mpi:", TP_CAT_COMM},
    {"ucc:", TP_CAT_COMM},
    {TP_NAME_C10D, TP_CAT_COMM},
    {"c10d_functional::", TP_CAT_COMM},
    {TP_NAME_FUNCTIONAL, TP_CAT_COMM},
    {TP_NAME_LOADER, TP_CAT_DATA},
    {TP_NAME_PIPE, TP_CAT_DATA},
};

/* torch.autograd.profiler leaves these out of its tables. */
static const char *const private_names[] = {
    "profiler::_record_function_enter",
    "profiler::_record_function_enter_new",
    "profiler::_record_function_exit",
    "aten::is_leaf",
    "aten::output_nr",
    "aten::_version",
};

bool tp_name_is_loader(const struct tp_string *name)
{
	static const char loader[] = "enumerate(Data";

	return name->n_bytes >= sizeof(loader) - 1 &&
	       !memcmp(name->bytes, loader, sizeof(loader) - 1);
}

struct tp_names *tp_names_new(void)
{
	return tp_need(1, sizeof(struct tp_names));
}

static void release_all(void *state)
{
	struct tp_names *names = state;

	free(names->name);
	free(names->row_of);
	tp_keyed_free(&names->names);
}

void tp_names_free(struct tp_names *names)
{
	if (names)
		release_all(names);
	free(names);
}

/* There are none yet. */
static void begin_names(void *state, struct tp_facts *facts, const void *params)
{
}

const struct tp_fact tp_fact_names = {
	.name = "names",
	.bytes = sizeof(struct tp_names),
	.begin = begin_names,
	.free = release_all,
};

static void explain(struct tp_name *name)
{
	name->category = TP_CAT_OTHER;
	name->uses_tensor_cores = tp_tensor_cores_used(name->bytes, name->n_bytes);
	name->is_float32_product = tp_tensor_cores_missed(name->bytes, name->n_bytes);
	for (uint32_t i = 0; i < sizeof(meanings) / sizeof(meanings[0]); i++) {
		if (tp_begins(name->bytes, name->n_bytes, meanings[i].begin)) {
			name->category = meanings[i].category;
			break;
		}
	}
	for (uint32_t i = 0; i < sizeof(private_names) / sizeof(private_names[0]); i++)
		name->is_private |= strlen(private_names[i]) == name->n_bytes &&
				    tp_begins(name->bytes, name->n_bytes, private_names[i]);
}

static uint32_t find_or_add(struct tp_names *names, const char *bytes, uint32_t n)
{
	uint32_t hash = (uint32_t)(tp_hash_bytes(bytes, n, 0) >> 32), at, row;

	for (row = tp_keyed_first(&names->names, hash, &at); row != TP_NO_KEYED;
	     row = tp_keyed_next(&names->names, hash, &at))
		if (names->name[row].n_bytes == n && !memcmp(names->name[row].bytes, bytes, n))
			return row;
	if (!tp_grow(&names->name, &names->cap, (uint64_t)names->n + 1,
		     sizeof(*names->name)) ||
	    !tp_keyed_add(&names->names, hash, names->n))
		return TP_NO_NAME;
	names->name[names->n].bytes = bytes;
	names->name[names->n].n_bytes = n;
	explain(&names->name[names->n]);
	return names->n++;
}

uint32_t tp_names_row(struct tp_names *names, const struct tp_event *event)
{
	const struct tp_string *string = event->name;
	uint32_t row;

	/* A name that is not known (lost, or none given) is a name too. */
	if (!string->kind || !string->bytes)
		return find_or_add(names, "(no name)", 9);
	if (string->same < names->cap_row_of && names->row_of[string->same])
		return names->row_of[string->same] - 1;
	row = find_or_add(names, string->bytes,
			  (uint32_t)strnlen(string->bytes, string->n_bytes));
	if (row == TP_NO_NAME)
		return row;
	if (tp_grow(&names->row_of, &names->cap_row_of, (uint64_t)string->same + 1,
		    sizeof(*names->row_of)))
		names->row_of[string->same] = row + 1;
	return row;
}

const struct tp_name *tp_names_at(const struct tp_names *names, uint32_t row)
{
	return &names->name[row];
}

const struct tp_name *tp_names_of(struct tp_names *names, const struct tp_event *event)
{
	uint32_t row = tp_names_row(names, event);

	if (row == TP_NO_NAME)
		tp_need_failed();
	return &names->name[row];
}

uint32_t tp_names_count(const struct tp_names *names)
{
	return names->n;
}

enum tp_category tp_names_category(const struct tp_names *names, uint32_t row,
				   const struct tp_event *event)
{
	uint8_t category = names->name[row].category;

	if (category != TP_CAT_OTHER)
		return category;
	return event->kind == TP_REC_OP ? TP_CAT_CPU : TP_CAT_OTHER;
}
