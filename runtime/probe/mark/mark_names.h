/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mark_names.h - what a program registers before it marks anything: domains, categories,
 * strings; and how they become the one interned name of a record
 *
 * A registered thing is never forgotten: programs keep the handles for ever. Equal things are
 * kept once, so a program that registers the same in each step needs no more room. In its own
 * memory, up to a cap; beyond it handles are good, and have no name.
 *
 * Threads: any. Finding takes no lock, adding a short one. Before a session and outside
 * windows too: libraries register when they are loaded.
 */
#ifndef TP_PROBE_MARK_NAMES_H
#define TP_PROBE_MARK_NAMES_H

#include <stdint.h>

/* A domain, a category or a string. The address is the handle that the program gets. */
struct tp_mark_entry;

struct tp_mark_name {
	const struct tp_mark_entry *domain;	/* NULL: the program's own */
	const char *category;			/* NULL: none */
	const char *text;			/* not ended by NUL; NULL: no name */
	uint32_t n_category, n_text;
	struct tp_mark_entry *registered;	/* the one that `text` is from, or NULL */
};

/* Never NULL: the program may take that for a failure. */
struct tp_mark_entry *tp_mark_domain(const char *text, uint32_t n_bytes);
struct tp_mark_entry *tp_mark_string(const char *text, uint32_t n_bytes);

/* Gives a number of a domain (NULL: of the program's own) a name, or a new one. */
void tp_mark_category(const void *domain, uint32_t number, const char *text, uint32_t n_bytes);

/* What a handle stands for; nothing when it is none of ours. */
const struct tp_mark_entry *tp_mark_find_domain(const void *handle);
void tp_mark_find_string(struct tp_mark_name *name, void *handle);
void tp_mark_find_category(struct tp_mark_name *name, uint32_t number);

/* "text", "category: text", "domain: text" or "domain/category: text", interned. 0: no name. */
uint32_t tp_mark_intern(const struct tp_mark_name *name);

/* In the child of fork. */
void tp_mark_names_forked(void);

#endif
