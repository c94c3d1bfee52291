/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stacks_names.c - stacks -> frames with names, Python's in the places of the interpreter's own
 *
 * A run of Python frames ends with the one that native code called; the evaluation function that
 * it called is one native frame. When there are not as many of the one as of the other, the two
 * are laid side by side from the end that is known, and what is left over stays: no frame is
 * dropped.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/facts/origin/stacks_in.h"
#include "merge/kit/grow.h"
#include "merge/kit/show.h"

void tp_stacks_names_free(struct tp_stacks *stacks)
{
	free(stacks->named);
	free(stacks->asked);
	free(stacks->first_function);
	free(stacks->is_eval);
	free(stacks->function_of);
	free(stacks->function);
	tp_keyed_free(&stacks->functions);
	for (uint32_t i = 0; i < stacks->n_troubles; i++)
		free(stacks->trouble[i]);
	free(stacks->trouble);
}

/* ---- which places are asked for ---- */

/* False: out of memory. */
static bool ask(struct tp_stacks *stacks, uint32_t at)
{
	const struct place *place = &stacks->place[at];

	if (stacks->named[at] || (place->flags & TP_FRAME_PYTHON) || place->of == MODULE_NONE)
		return true;
	if (!tp_grow(&stacks->asked, &stacks->cap_asked, (uint64_t)stacks->n_asked + 1,
		     sizeof(*stacks->asked)))
		return false;
	stacks->asked[stacks->n_asked++] = (struct tp_symbols_place){
		.module = place->of, .is_exact = place->flags & TP_FRAME_EXACT,
		.offset = place->value,
	};
	stacks->named[at] = stacks->n_asked;
	return true;
}

/* Outer stacks have lower numbers: one way down marks all that the wanted ones need. */
static int ask_wanted(struct tp_stacks *stacks, const uint8_t *wanted)
{
	uint8_t *is_needed = calloc(stacks->n_nodes, 1);
	bool is_good = is_needed != NULL;

	for (uint32_t i = stacks->n_nodes; i-- > 1 && is_good;) {
		const struct node *node = &stacks->node[i];

		if (!is_needed[i] && wanted && !wanted[i])
			continue;
		is_needed[node->outer] = 1;
		if (node->inner & NODE_JOINED)
			is_needed[node->inner & INNER_MASK] = 1;
		else
			is_good = ask(stacks, node->inner & INNER_MASK);
	}
	free(is_needed);
	return is_good ? 0 : -ENOMEM;
}

/* ---- what was found ---- */

/* Number of the function; UINT32_MAX: out of memory. */
static uint32_t find_function(struct tp_stacks *stacks, const struct function *key)
{
	uint32_t hash = (uint32_t)(tp_hash_bytes(key->name, strlen(key->name),
						 key->offset * 31 + key->module) >> 32);
	uint32_t at, row;

	for (row = tp_keyed_first(&stacks->functions, hash, &at); row != TP_NO_KEYED;
	     row = tp_keyed_next(&stacks->functions, hash, &at)) {
		const struct function *function = &stacks->function[row];

		if (function->module == key->module && function->offset == key->offset &&
		    !strcmp(function->name, key->name))
			return row;
	}
	if (!tp_grow(&stacks->function, &stacks->cap_functions,
		     (uint64_t)stacks->n_functions + 1, sizeof(*stacks->function)) ||
	    !tp_keyed_add(&stacks->functions, hash, stacks->n_functions))
		return UINT32_MAX;
	stacks->function[stacks->n_functions] = *key;
	return stacks->n_functions++;
}

/* CPython's; the same name in 3.9 to 3.14, with suffixes of the compiler (".cold"). */
static bool is_eval_name(const char *name)
{
	static const char eval[] = "_PyEval_EvalFrameDefault";

	return !strncmp(name, eval, sizeof(eval) - 1) &&
	       (!name[sizeof(eval) - 1] || name[sizeof(eval) - 1] == '.');
}

static int note_functions(struct tp_stacks *stacks, uint32_t at)
{
	const struct tp_symbols_place *place = &stacks->asked[at];
	uint32_t n;
	const struct tp_symbol *symbol = tp_symbols_at(stacks->symbols, at, &n);

	stacks->first_function[at] = stacks->n_function_of;
	stacks->is_eval[at] = is_eval_name(symbol[n - 1].function);
	if (!tp_grow(&stacks->function_of, &stacks->cap_function_of,
		     (uint64_t)stacks->n_function_of + n, sizeof(*stacks->function_of)))
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		struct function key = {
			.module = place->module, .name = symbol[i].function,
			.offset = symbol[i].function[0] ? 0 : place->offset,
		};
		uint32_t id = find_function(stacks, &key);

		if (id == UINT32_MAX)
			return -ENOMEM;
		stacks->function_of[stacks->n_function_of++] = id;
	}
	return 0;
}

static int note_troubles(struct tp_stacks *stacks)
{
	for (uint32_t i = 0; i < stacks->n_troubles; i++)
		free(stacks->trouble[i]);
	stacks->n_troubles = 0;
	for (uint32_t i = 0; i < stacks->n_modules; i++) {
		const char *why = tp_symbols_trouble(stacks->symbols, i);
		char *line;

		if (!why)
			continue;
		if (!tp_grow(&stacks->trouble, &stacks->cap_troubles,
			     (uint64_t)stacks->n_troubles + 1, sizeof(*stacks->trouble)) ||
		    asprintf(&line, "'%s': %s", stacks->module[i].path, why) < 0)
			return -ENOMEM;
		stacks->trouble[stacks->n_troubles++] = line;
	}
	return 0;
}

int tp_stacks_resolve(struct tp_stacks *stacks, const uint8_t *wanted)
{
	int err;

	if (!tp_grow(&stacks->named, &stacks->cap_named, (uint64_t)stacks->n_places + 1,
		     sizeof(*stacks->named)))
		return -ENOMEM;
	err = ask_wanted(stacks, wanted);
	if (err || !stacks->n_asked)
		return err;
	err = tp_symbols_resolve(stacks->symbols, stacks->module, stacks->n_modules, stacks->asked,
				 stacks->n_asked);
	if (err)
		return err;
	free(stacks->first_function);
	free(stacks->is_eval);
	stacks->first_function = calloc(stacks->n_asked, sizeof(*stacks->first_function));
	stacks->is_eval = calloc(stacks->n_asked, sizeof(*stacks->is_eval));
	if (!stacks->first_function || !stacks->is_eval)
		return -ENOMEM;
	stacks->n_function_of = 0;
	for (uint32_t i = 0; i < stacks->n_asked && !err; i++)
		err = note_functions(stacks, i);
	return err ? err : note_troubles(stacks);
}

const char *tp_stacks_trouble(const struct tp_stacks *stacks, uint32_t at)
{
	return at < stacks->n_troubles ? stacks->trouble[at] : "";
}

/* ---- frames ---- */

struct listing {
	const struct tp_stacks *stacks;
	struct tp_frame *frame;
	uint32_t n, max;
};

static void add_frame(struct listing *list, struct tp_frame frame)
{
	if (list->n < list->max)
		list->frame[list->n] = frame;
	list->n++;
}

/* Index in `asked` of the node's place; UINT32_MAX: it was not asked for. */
static uint32_t asked_of(const struct tp_stacks *stacks, const struct node *node)
{
	uint32_t place = node->inner & INNER_MASK;

	return place < stacks->cap_named && stacks->named[place] ? stacks->named[place] - 1
								 : UINT32_MAX;
}

/* Of functions that have no name: numbers of Python's are odd, others even. */
static uint32_t python_id(const struct place *place)
{
	return place->of * 2 + 1;
}

static void add_python(struct listing *list, const struct place *place, bool is_cut)
{
	const struct tp_string *name = place->of ? list->stacks->python[place->of] : NULL;
	size_t n = name ? strlen(name->bytes) : 0;

	add_frame(list, (struct tp_frame){
		.function = name ? name->bytes : "",
		.file = name && n < name->n_bytes ? name->bytes + n + 1 : "",
		.module = "",
		.line = (uint32_t)place->value,
		.function_id = python_id(place),
		.is_python = true,
		.is_cut = is_cut,
	});
}

static void add_native(struct listing *list, const struct node *node, const struct place *place)
{
	const struct tp_stacks *stacks = list->stacks;
	uint32_t asked = asked_of(stacks, node), n = 0;
	const struct tp_symbol *symbol =
		asked == UINT32_MAX ? NULL : tp_symbols_at(stacks->symbols, asked, &n);
	struct tp_frame frame = {
		.function = "", .file = "", .offset = place->value,
		.module = place->of == MODULE_NONE ? "" : stacks->module[place->of].path,
		.function_id = 0,
	};

	for (uint32_t i = 0; i < n; i++) {
		frame.function = symbol[i].function;
		frame.file = symbol[i].file;
		frame.line = symbol[i].line;
		frame.is_inlined = symbol[i].is_inlined;
		frame.function_id =
			2 * (stacks->function_of[stacks->first_function[asked] + i] + 1);
		frame.is_cut = i + 1 == n && (node->inner & NODE_CUT);
		add_frame(list, frame);
	}
	if (!n) {
		frame.is_cut = node->inner & NODE_CUT;
		add_frame(list, frame);
	}
}

static const struct node *node_of(const struct tp_stacks *stacks, uint32_t stack)
{
	return &stacks->node[stack];
}

static void add_node(struct listing *list, const struct node *node)
{
	const struct place *place = &list->stacks->place[node->inner & INNER_MASK];

	if (place->flags & TP_FRAME_PYTHON)
		add_python(list, place, node->inner & NODE_CUT);
	else
		add_native(list, node, place);
}

/* The frames of `stack` up to one that was called from native code; the stack outside it. */
static uint32_t add_run(struct listing *list, uint32_t stack)
{
	while (stack) {
		const struct node *node = node_of(list->stacks, stack);

		if (node->inner & NODE_JOINED)
			return 0;
		add_node(list, node);
		stack = node->outer;
		if (node->inner & NODE_ENTRY)
			break;
	}
	return stack;
}

/* How many runs; *is_whole: the outermost one ends with an entry. */
static uint32_t count_runs(const struct tp_stacks *stacks, uint32_t stack, bool *is_whole)
{
	uint32_t n = 0;
	bool is_open = false;

	*is_whole = true;
	while (stack && !(node_of(stacks, stack)->inner & NODE_JOINED)) {
		const struct node *node = node_of(stacks, stack);

		n += !is_open;
		is_open = !(node->inner & NODE_ENTRY);
		*is_whole = !is_open && !(node->inner & NODE_CUT);
		stack = node->outer;
	}
	return n;
}

static bool is_eval(const struct tp_stacks *stacks, const struct node *node)
{
	uint32_t asked = asked_of(stacks, node);

	return asked != UINT32_MAX && stacks->is_eval[asked];
}

static uint32_t count_evals(const struct tp_stacks *stacks, uint32_t stack, bool *is_whole)
{
	uint32_t n = 0;

	*is_whole = true;
	while (stack && !(node_of(stacks, stack)->inner & NODE_JOINED)) {
		const struct node *node = node_of(stacks, stack);

		n += is_eval(stacks, node);
		*is_whole = !(node->inner & NODE_CUT);
		stack = node->outer;
	}
	return n;
}

/* Part of the interpreter, whose functions may have no names. */
static bool is_interpreter(const struct tp_stacks *stacks, const struct node *node)
{
	const struct place *place = &stacks->place[node->inner & INNER_MASK];
	const char *name;

	if ((place->flags & TP_FRAME_PYTHON) || place->of == MODULE_NONE)
		return false;
	name = tp_show_base(stacks->module[place->of].path);
	return !strncmp(name, "python", 6) || !strncmp(name, "libpython", 9);
}

static void add_joined(struct listing *list, uint32_t native, uint32_t python)
{
	const struct tp_stacks *stacks = list->stacks;
	bool is_native_whole, is_python_whole;
	uint32_t n_evals = count_evals(stacks, native, &is_native_whole),
		 n_runs = count_runs(stacks, python, &is_python_whole);
	uint32_t n_skipped = 0, n_more = 0;

	/* From the outer end when both reach the thread's start, else from the inner one. */
	if (is_native_whole && is_python_whole) {
		n_skipped = n_evals > n_runs ? n_evals - n_runs : 0;
		n_more = n_runs > n_evals ? n_runs - n_evals : 0;
	}
	while (native && !(node_of(stacks, native)->inner & NODE_JOINED)) {
		const struct node *node = node_of(stacks, native);
		bool is_it = is_eval(stacks, node);

		if (!n_evals && is_interpreter(stacks, node))
			while (python)
				python = add_run(list, python);
		if (is_it && !n_skipped && python) {
			for (uint32_t i = 0; i <= n_more; i++)
				python = add_run(list, python);
			n_more = 0;
		} else {
			n_skipped -= is_it && n_skipped;
			add_node(list, node);
		}
		native = node->outer;
	}
	while (python)
		python = add_run(list, python);
}

uint32_t tp_stacks_frames(const struct tp_stacks *stacks, uint32_t stack, struct tp_frame *frame,
			  uint32_t max)
{
	struct listing list = {.stacks = stacks, .frame = frame, .max = max};

	if (!stack || stack >= stacks->n_nodes)
		return 0;
	if (node_of(stacks, stack)->inner & NODE_JOINED) {
		add_joined(&list, node_of(stacks, stack)->outer,
			   node_of(stacks, stack)->inner & INNER_MASK);
		return list.n;
	}
	while (stack) {
		const struct node *node = node_of(stacks, stack);

		if (node->inner & NODE_JOINED)
			break;
		add_node(&list, node);
		stack = node->outer;
	}
	return list.n;
}

/* ---- the tree ---- */

bool tp_stacks_joined(const struct tp_stacks *stacks, uint32_t stack, uint32_t *native,
		      uint32_t *python)
{
	const struct node *node = node_of(stacks, stack);

	if (!(node->inner & NODE_JOINED))
		return false;
	*native = node->outer;
	*python = node->inner & INNER_MASK;
	return true;
}

uint32_t tp_stacks_outer(const struct tp_stacks *stacks, uint32_t stack)
{
	return node_of(stacks, stack)->outer;
}

uint32_t tp_stacks_place(const struct tp_stacks *stacks, uint32_t stack)
{
	return node_of(stacks, stack)->inner & INNER_MASK;
}

uint32_t tp_stacks_places(const struct tp_stacks *stacks)
{
	return stacks->n_places;
}

uint32_t tp_stacks_innermost(const struct tp_stacks *stacks, uint32_t stack,
			     struct tp_frame *frame, uint32_t max)
{
	struct listing list = {.stacks = stacks, .frame = frame, .max = max};

	add_node(&list, node_of(stacks, stack));
	return list.n;
}

bool tp_stacks_is_eval(const struct tp_stacks *stacks, uint32_t stack)
{
	return is_eval(stacks, node_of(stacks, stack));
}
