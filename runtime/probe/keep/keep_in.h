/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keep_in.h - the inside of keep_walk.h: keep_walk.c goes on from what is there, keep_roots.c says where
 * it begins
 */
#ifndef TP_PROBE_KEEP_IN_H
#define TP_PROBE_KEEP_IN_H

#include "runtime/probe/keep/keep_walk.h"

/* How a node is named after its parent. */
enum tp_keep_way {
	TP_WAY_VARIABLE, TP_WAY_LOCAL, TP_WAY_ATTRIBUTE, TP_WAY_KEY, TP_WAY_ITEM, TP_WAY_CLOSURE, TP_WAY_SAME
};

struct tp_keep_node {
	void *object, *key;	/* held; key: a text, of a local variable the function's too; NULL: none */
	const char *file;	/* of a variable; NULL: the parent's */
	void *function;		/* of a local variable: a text, held */
	uint32_t parent, index;
	uint8_t way, depth;
	bool is_others;		/* a library's: it is not told, only what it has of the program's own */
};

static inline bool tp_keep_is_dunder(const char *name)
{
	return name[0] == '_' && name[1] == '_';
}

/* What may hold something, once, as long as there is room; NULL: not so. */
struct tp_keep_node *tp_keep_add(void *object, enum tp_keep_way way, void *key,
				 const struct tp_keep_node *parent);

/* Variables of the program's modules that are functions and classes, or that are none. */
void tp_keep_add_modules(bool are_code);
void tp_keep_add_locals(void);
/* The objects of libraries whose functions this thread runs. */
void tp_keep_add_libraries(void);
/* A library's object of a class of the program's own, as a callback or a model, becomes one that is named
 * after its class. */
void tp_keep_claim(struct tp_keep_node *node);

#endif
