/* SPDX-License-Identifier: Apache-2.0 */
/*
 * module_paths.h - which nn.Modules call which: paths from the outermost one in, from FRAME and
 * NNMODULE events
 *
 * A path is its outer path and one module more. Modules of one name and class below the same path
 * are one, whatever process or address they have; one whose name is not known is one of its
 * process's alone. Memory: distinct paths, never events.
 */
#ifndef TP_MERGE_MODULE_PATHS_H
#define TP_MERGE_MODULE_PATHS_H

#include "merge/model/model.h"

struct tp_module_path {
	uint32_t outer;			/* a lower number; 0: it is the outermost */
	uint32_t depth;			/* 1: outermost */
	const struct tp_string *name;	/* NNMODULE; NULL: not known (yet) */
	uint32_t proc, number;		/* of the first that had it */
	bool has_inner;
};

struct tp_module_paths;

struct tp_module_paths *tp_module_paths_new(const struct tp_run *run);
void tp_module_paths_free(struct tp_module_paths *paths);
/* Takes FRAME and NNMODULE; others are ignored. In the order of the run. */
void tp_module_paths_event(struct tp_module_paths *paths, const struct tp_event *event);
/* The path in the stack that an event names in `link`; 0: none. */
uint32_t tp_module_paths_of(struct tp_module_paths *paths, const struct tp_event *event);
uint32_t tp_module_paths_count(const struct tp_module_paths *paths);	/* numbers are below it */
const struct tp_module_path *tp_module_paths_at(const struct tp_module_paths *paths, uint32_t path);
bool tp_module_paths_is_incomplete(const struct tp_module_paths *paths);	/* out of memory */

/* `outer` is `inner` or one outside it. */
bool tp_module_paths_is_outside(const struct tp_module_paths *paths, uint32_t outer,
				uint32_t inner);

/* "GPT.blocks.3.mlp": class of the outermost one, then the name. like: numbers of modules that have
 * others inside become "*", so that the layers of a model are called the same. Not to be trusted. */
const char *tp_module_title(const struct tp_module_paths *paths, uint32_t path, bool like, char *buf,
			    uint32_t cap);

/* The last part of its name, of "blocks.0" both, for a number alone tells nobody what it is (is_short: the
 * number alone); without a name its class. Printable. */
enum { TP_MODULE_TEXT = 400 };
const char *tp_module_show(char text[TP_MODULE_TEXT], const struct tp_module_path *path, bool is_short);

/* Name (qualified, "" of an outermost one) and class of a path's module; not to be trusted. */
const char *tp_module_name(const struct tp_module_path *path, uint32_t *n_bytes);
const char *tp_module_class(const struct tp_module_path *path, uint32_t *n_bytes);

#endif
