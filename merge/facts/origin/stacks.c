/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stacks.c - FRAME events -> places and stacks, each once for the whole run
 *
 * A place is a frame without what is outside it; a stack is (outer stack, place). Both are
 * rows found by hash, 8 and 16 bytes each beside it. Numbers of the files are kept for the newest
 * two windows of each process: threads pass from one to the next at slightly different times.
 */
#include "merge/facts/origin/stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "merge/facts/origin/stacks_in.h"
#include "merge/kit/grow.h"
#include "merge/kit/need.h"

static void begin_stacks(void *state, struct tp_facts *facts, const void *params)
{
	const struct tp_run *run = tp_facts_run(facts);
	struct tp_stacks *stacks = state;

	stacks->run = run;
	stacks->n_nodes = 1;
	stacks->proc = tp_need(run->n_procs, sizeof(*stacks->proc));
	stacks->symbols = tp_symbols_new("");
	if (!stacks->symbols)
		tp_need_failed();
	tp_need_room(&stacks->node, &stacks->cap_nodes, 1, sizeof(*stacks->node));
	if (run->is_quiet)
		tp_symbols_quiet(stacks->symbols);
}

static void free_stacks(void *state)
{
	struct tp_stacks *stacks = state;

	for (uint32_t i = 0; i < stacks->run->n_procs; i++) {
		tp_numbers_free(&stacks->proc[i].numbers);
		free(stacks->proc[i].module_of);
	}
	free(stacks->proc);
	free(stacks->module);
	tp_keyed_free(&stacks->modules);
	free(stacks->place);
	tp_keyed_free(&stacks->places);
	free(stacks->node);
	tp_keyed_free(&stacks->nodes);
	free(stacks->python);
	tp_stacks_names_free(stacks);
	tp_symbols_free(stacks->symbols);
}

/* ---- files of code ---- */

static bool is_same_file(const struct tp_symbols_module *a, const struct tp_module_at *b)
{
	return a->build_id_bytes == b->build_id_bytes && !strcmp(a->path, b->path) &&
	       (!a->build_id_bytes || !memcmp(a->build_id, b->build_id, a->build_id_bytes));
}

/* Number plus one of the run's file of code; 0: out of memory. */
static uint32_t find_module(struct tp_stacks *stacks, const struct tp_module_at *of)
{
	uint32_t hash = (uint32_t)(tp_hash_bytes(of->path, strlen(of->path),
						 tp_hash_bytes(of->build_id ? of->build_id
									    : (const uint8_t *)"",
							       of->build_id_bytes, 0)) >> 32);
	uint32_t at, row;

	for (row = tp_keyed_first(&stacks->modules, hash, &at); row != TP_NO_KEYED;
	     row = tp_keyed_next(&stacks->modules, hash, &at))
		if (is_same_file(&stacks->module[row], of))
			return row + 1;
	if (!tp_grow(&stacks->module, &stacks->cap_modules, (uint64_t)stacks->n_modules + 1,
		     sizeof(*stacks->module)) ||
	    !tp_keyed_add(&stacks->modules, hash, stacks->n_modules))
		return 0;
	stacks->module[stacks->n_modules++] = (struct tp_symbols_module){
		.path = of->path, .build_id = of->build_id, .build_id_bytes = of->build_id_bytes,
	};
	return stacks->n_modules;
}

/* The file of code of the process's module `at`; MODULE_NONE: out of memory. */
static uint32_t module_of(struct tp_stacks *stacks, const struct tp_proc *proc, uint32_t at)
{
	struct stacks_proc *own = &stacks->proc[proc->at];

	if (!own->module_of) {
		own->module_of = calloc(proc->n_modules, sizeof(*own->module_of));
		if (!own->module_of)
			return MODULE_NONE;
	}
	if (!own->module_of[at])
		own->module_of[at] = find_module(stacks, &proc->module[at]);
	return own->module_of[at] ? own->module_of[at] - 1 : MODULE_NONE;
}

/* ---- places and stacks ---- */

/* NO_PLACE: out of memory, or too many. */
static uint32_t find_place(struct tp_stacks *stacks, const struct place *key)
{
	uint32_t hash = tp_keyed_hash(key->value * 0x9e3779b97f4a7c15ull ^
				      ((uint64_t)key->of << 32 | key->flags));
	uint32_t at, row;

	for (row = tp_keyed_first(&stacks->places, hash, &at); row != TP_NO_KEYED;
	     row = tp_keyed_next(&stacks->places, hash, &at)) {
		const struct place *place = &stacks->place[row];

		if (place->value == key->value && place->of == key->of &&
		    place->flags == key->flags)
			return row;
	}
	if (stacks->n_places >= PLACE_MAX ||
	    !tp_grow(&stacks->place, &stacks->cap_places, (uint64_t)stacks->n_places + 1,
		     sizeof(*stacks->place)) ||
	    !tp_keyed_add(&stacks->places, hash, stacks->n_places))
		return NO_PLACE;
	stacks->place[stacks->n_places] = *key;
	return stacks->n_places++;
}

/* 0: out of memory. */
static uint32_t find_node(struct tp_stacks *stacks, struct node key)
{
	uint32_t hash = tp_keyed_hash((uint64_t)key.outer << 32 | key.inner);
	uint32_t at, row;

	for (row = tp_keyed_first(&stacks->nodes, hash, &at); row != TP_NO_KEYED;
	     row = tp_keyed_next(&stacks->nodes, hash, &at))
		if (stacks->node[row].outer == key.outer && stacks->node[row].inner == key.inner)
			return row;
	if (stacks->n_nodes == UINT32_MAX ||
	    !tp_grow(&stacks->node, &stacks->cap_nodes, (uint64_t)stacks->n_nodes + 1,
		     sizeof(*stacks->node)) ||
	    !tp_keyed_add(&stacks->nodes, hash, stacks->n_nodes))
		return 0;
	stacks->node[stacks->n_nodes] = key;
	return stacks->n_nodes++;
}

static uint32_t native_place(struct tp_stacks *stacks, const struct tp_event *event)
{
	struct stacks_proc *own = &stacks->proc[event->proc->at];
	const struct tp_module_at *module = NULL;
	uint32_t at = tp_stacks_module(event->proc, event->arg, event->begin_ns);
	struct place key = {
		.value = event->arg, .of = MODULE_NONE,
		.flags = event->flags & TP_FRAME_EXACT,
	};

	own->n_homeless += at == UINT32_MAX;
	if (at != UINT32_MAX) {
		module = &event->proc->module[at];
		key.of = module_of(stacks, event->proc, at);
		if (key.of == MODULE_NONE)
			return NO_PLACE;
		key.value = event->arg - module->bias;
	}
	return find_place(stacks, &key);
}

static uint32_t python_place(struct tp_stacks *stacks, const struct tp_event *event)
{
	const struct tp_string *name = event->name;
	struct place key = {
		.value = event->arg > UINT32_MAX ? 0 : event->arg, .flags = TP_FRAME_PYTHON,
	};

	/* 0 is the name that is not known. */
	if (name->kind == TP_STRING_PYFRAME) {
		if (!tp_grow(&stacks->python, &stacks->cap_python, (uint64_t)name->same + 1,
			     sizeof(*stacks->python)))
			return NO_PLACE;
		stacks->python[name->same] = name;
		key.of = name->same;
	}
	return find_place(stacks, &key);
}

/* ---- numbers of the files ---- */

static struct tp_numbers_file *file_of(struct tp_stacks *stacks, const struct tp_event *event)
{
	return tp_numbers_of(&stacks->proc[event->proc->at].numbers, event->window);
}

static void take_frame(void *state, const struct tp_event *event)
{
	struct tp_stacks *stacks = state;
	struct tp_numbers_file *file;
	struct node key = {0};
	uint32_t outer, place, stack;

	if (event->kind != TP_REC_FRAME || !event->link)
		return;
	file = file_of(stacks, event);
	if (!file)
		return;
	outer = tp_numbers_get(file, event->len);
	/* No frame. */
	if ((event->flags & TP_FRAME_MODULE) == TP_FRAME_MODULE) {
		if (outer && !tp_numbers_set(file, event->link, outer))
			stacks->is_incomplete = true;
		return;
	}
	if (event->flags & TP_FRAME_JOINED) {
		key.outer = outer;
		key.inner = tp_numbers_get(file, event->arg);
		if (!key.outer || !key.inner)
			stack = key.outer ? key.outer : key.inner;
		else if (key.inner <= INNER_MASK)
			stack = find_node(stacks, (struct node){key.outer,
								key.inner | NODE_JOINED});
		else
			stack = 0;
	} else {
		place = event->flags & TP_FRAME_PYTHON ? python_place(stacks, event)
						       : native_place(stacks, event);
		if (place == NO_PLACE) {
			stacks->is_incomplete = true;
			return;
		}
		key.outer = outer;
		key.inner = place;
		if (event->flags & TP_FRAME_ENTRY)
			key.inner |= NODE_ENTRY;
		if ((event->flags & TP_FRAME_CUT) || (event->len && !outer))
			key.inner |= NODE_CUT;
		stacks->n_orphans += event->len && !outer;
		stack = find_node(stacks, key);
	}
	if (!stack || !tp_numbers_set(file, event->link, stack))
		stacks->is_incomplete = true;
}

uint32_t tp_stacks_of(struct tp_stacks *stacks, const struct tp_event *event)
{
	struct tp_numbers_file *file;
	uint32_t stack;

	if (!event->link)
		return 0;
	file = file_of(stacks, event);
	stack = file ? tp_numbers_get(file, event->link) : 0;
	stacks->n_unknown += !stack;
	return stack;
}

uint32_t tp_stacks_count(const struct tp_stacks *stacks)
{
	return stacks->n_nodes;
}

uint64_t tp_stacks_unknown(const struct tp_stacks *stacks)
{
	return stacks->n_unknown;
}

uint64_t tp_stacks_orphans(const struct tp_stacks *stacks)
{
	return stacks->n_orphans;
}

bool tp_frame_is_called(const struct tp_frame *frame, const char *name)
{
	const char *dot = strrchr(frame->function, '.');

	return !strcmp(dot ? dot + 1 : frame->function, name);
}

const struct tp_fact tp_fact_stacks = {
	.name = "stacks",
	.bytes = sizeof(struct tp_stacks),
	.kinds = TP_FACT_KIND(TP_REC_FRAME),
	.begin = begin_stacks,
	.event = take_frame,
	.free = free_stacks,
};
