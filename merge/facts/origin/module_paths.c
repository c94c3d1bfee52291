/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module_paths.c - which nn.Modules call which
 *
 * Numbers of stacks are those of one file; as in stacks.c, those of the newest two windows of
 * each process are kept. Numbers of modules are their process's; the newest name counts.
 */
#include "merge/facts/origin/module_paths.h"

#include <stdlib.h>
#include <string.h>

#include "merge/kit/grow.h"
#include "merge/kit/keyed.h"
#include "merge/kit/show.h"
#include "merge/facts/origin/numbers.h"
#include "runtime/base/text.h"

struct named {
	uint32_t proc, number;
	const struct tp_string *name;
};

struct tp_module_paths {
	struct tp_numbers *numbers;	/* of paths; by tp_proc.at */
	uint32_t n_procs;
	struct tp_module_path *path;
	uint32_t n, cap;
	struct tp_keyed keyed;		/* by outer path and module */
	struct named *named;
	uint32_t n_named, cap_named;
	struct tp_keyed by_number;
	bool is_incomplete;
};

struct tp_module_paths *tp_module_paths_new(const struct tp_run *run)
{
	struct tp_module_paths *paths = calloc(1, sizeof(*paths));

	if (!paths)
		return NULL;
	paths->n_procs = run->n_procs;
	paths->numbers = calloc(run->n_procs + 1, sizeof(paths->numbers[0]));
	paths->n = 1;
	if (!paths->numbers || !tp_grow(&paths->path, &paths->cap, 1, sizeof(paths->path[0]))) {
		tp_module_paths_free(paths);
		return NULL;
	}
	return paths;
}

void tp_module_paths_free(struct tp_module_paths *paths)
{
	if (!paths)
		return;
	for (uint32_t i = 0; paths->numbers && i < paths->n_procs; i++)
		tp_numbers_free(&paths->numbers[i]);
	free(paths->numbers);
	free(paths->path);
	tp_keyed_free(&paths->keyed);
	free(paths->named);
	tp_keyed_free(&paths->by_number);
	free(paths);
}

/* ---- names ---- */

static struct named *find_named(struct tp_module_paths *paths, uint32_t proc, uint32_t number)
{
	uint32_t hash = tp_keyed_hash((uint64_t)proc << 32 | number), at, row;

	for (row = tp_keyed_first(&paths->by_number, hash, &at); row != TP_NO_KEYED;
	     row = tp_keyed_next(&paths->by_number, hash, &at))
		if (paths->named[row].proc == proc && paths->named[row].number == number)
			return &paths->named[row];
	return NULL;
}

static void take_name(struct tp_module_paths *paths, const struct tp_event *event)
{
	uint32_t proc = event->proc->at;
	struct named *named = find_named(paths, proc, event->link);

	if (event->name->kind != TP_STRING_NNMODULE)
		return;
	if (named) {
		named->name = event->name;
		return;
	}
	if (!tp_grow(&paths->named, &paths->cap_named, (uint64_t)paths->n_named + 1,
		     sizeof(*named)) ||
	    !tp_keyed_add(&paths->by_number, tp_keyed_hash((uint64_t)proc << 32 | event->link),
			  paths->n_named)) {
		paths->is_incomplete = true;
		return;
	}
	paths->named[paths->n_named++] = (struct named){proc, event->link, event->name};
}

/* ---- paths ---- */

/* Strings of a run that are equal have equal `same`, from 1 on; others are told by process. */
static uint64_t key_of(const struct tp_module_path *path)
{
	if (path->name)
		return path->name->same;
	return (uint64_t)(path->proc + 1) << 32 | path->number;
}

static uint32_t hash_path(const struct tp_module_path *path)
{
	return tp_keyed_hash(key_of(path) * 0x9e3779b97f4a7c15ull + path->outer);
}

/* 0: out of memory. */
static uint32_t find_path(struct tp_module_paths *paths, uint32_t outer,
			  const struct tp_event *event)
{
	uint32_t number = TP_MODULE_NUMBER(event->arg), at, row, hash;
	const struct named *named = find_named(paths, event->proc->at, number);
	struct tp_module_path key = {
		.outer = outer, .depth = paths->path[outer].depth + 1,
		.name = named ? named->name : NULL, .proc = event->proc->at, .number = number,
	};

	hash = hash_path(&key);
	for (row = tp_keyed_first(&paths->keyed, hash, &at); row != TP_NO_KEYED;
	     row = tp_keyed_next(&paths->keyed, hash, &at))
		if (paths->path[row].outer == outer && key_of(&paths->path[row]) == key_of(&key))
			return row;
	if (!tp_grow(&paths->path, &paths->cap, (uint64_t)paths->n + 1, sizeof(key)) ||
	    !tp_keyed_add(&paths->keyed, hash, paths->n))
		return 0;
	paths->path[paths->n] = key;
	paths->path[outer].has_inner = true;
	return paths->n++;
}

static struct tp_numbers_file *file_of(struct tp_module_paths *paths, const struct tp_event *event)
{
	return tp_numbers_of(&paths->numbers[event->proc->at], event->window);
}

static void take_frame(struct tp_module_paths *paths, const struct tp_event *event)
{
	struct tp_numbers_file *file = file_of(paths, event);
	uint32_t path;

	if (!file || !event->link)
		return;
	path = tp_numbers_get(file, event->len);
	if ((event->flags & TP_FRAME_MODULE) == TP_FRAME_MODULE) {
		path = find_path(paths, path, event);
		paths->is_incomplete |= !path;
	} else if (event->flags & TP_FRAME_JOINED) {
		path = tp_numbers_get(file, event->arg);
	}
	if (path && !tp_numbers_set(file, event->link, path))
		paths->is_incomplete = true;
}

void tp_module_paths_event(struct tp_module_paths *paths, const struct tp_event *event)
{
	if (event->kind == TP_REC_FRAME)
		take_frame(paths, event);
	else if (event->kind == TP_REC_NNMODULE)
		take_name(paths, event);
}

uint32_t tp_module_paths_of(struct tp_module_paths *paths, const struct tp_event *event)
{
	struct tp_numbers_file *file = event->link ? file_of(paths, event) : NULL;

	return file ? tp_numbers_get(file, event->link) : 0;
}

uint32_t tp_module_paths_count(const struct tp_module_paths *paths)
{
	return paths->n;
}

const struct tp_module_path *tp_module_paths_at(const struct tp_module_paths *paths, uint32_t path)
{
	return &paths->path[path];
}

bool tp_module_paths_is_incomplete(const struct tp_module_paths *paths)
{
	return paths->is_incomplete;
}

bool tp_module_paths_is_outside(const struct tp_module_paths *paths, uint32_t outer, uint32_t inner)
{
	while (inner > outer)
		inner = paths->path[inner].outer;
	return inner == outer;
}

const char *tp_module_name(const struct tp_module_path *path, uint32_t *n_bytes)
{
	*n_bytes = path->name ? (uint32_t)strnlen(path->name->bytes, path->name->n_bytes) : 0;
	return path->name ? path->name->bytes : "";
}

const char *tp_module_class(const struct tp_module_path *path, uint32_t *n_bytes)
{
	uint32_t n;

	tp_module_name(path, &n);
	*n_bytes = path->name && path->name->n_bytes > n ? path->name->n_bytes - n - 1 : 0;
	return *n_bytes ? path->name->bytes + n + 1 : "";
}

/* A part of a name, "*" for a number where like. */
static void put_part(struct tp_text *text, const char *part, uint32_t n, bool like)
{
	bool is_number = n != 0;

	for (uint32_t i = 0; i < n; i++)
		is_number &= part[i] >= '0' && part[i] <= '9';
	if (like && is_number)
		tp_text_char(text, '*');
	else
		tp_text_bytes(text, part, n);
}

const char *tp_module_title(const struct tp_module_paths *paths, uint32_t path, bool like,
			    char *buf, uint32_t cap)
{
	const struct tp_module_path *at = &paths->path[path];
	uint32_t outermost = path, n, n_class, n_part;
	const char *name = tp_module_name(at, &n), *class;
	struct tp_text text;

	tp_text_init(&text, buf, cap);
	while (paths->path[outermost].outer)
		outermost = paths->path[outermost].outer;
	class = tp_module_class(n ? &paths->path[outermost] : at, &n_class);
	tp_text_bytes(&text, class, n_class);
	for (; n; name += n_part, n -= n_part) {
		const char *dot = memchr(name, '.', n);

		n_part = dot ? (uint32_t)(dot - name) : n;
		if (text.len)
			tp_text_char(&text, '.');
		put_part(&text, name, n_part, like && (dot || at->has_inner));
		n_part += dot != NULL;
	}
	return buf;
}

const char *tp_module_show(char text[TP_MODULE_TEXT], const struct tp_module_path *path, bool is_short)
{
	uint32_t n, n_class, begin;
	const char *name = tp_module_name(path, &n), *class = tp_module_class(path, &n_class);

	for (begin = n; begin && name[begin - 1] != '.';)
		begin--;
	if (!is_short && begin && begin < n && strspn(name + begin, "0123456789") == n - begin)
		for (begin--; begin && name[begin - 1] != '.';)
			begin--;
	if (n == begin)
		return tp_show_text(text, TP_MODULE_TEXT, n_class ? class : "(not known)",
				    n_class ? n_class : 11);
	return tp_show_text(text, TP_MODULE_TEXT, name + begin, n - begin);
}
