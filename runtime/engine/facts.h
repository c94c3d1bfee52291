/* SPDX-License-Identifier: Apache-2.0 */
/*
 * facts.h - what META says about the process: "key=value" lines, gathered at any time
 *
 * Lines are only ever added, so that a reader needs no lock. The same text is kept in the
 * ring's head for files that are made after a death. Any thread. tp_probe_off,
 * declared where its callers look for it, is here, too.
 */
#ifndef TP_ENGINE_FACTS_H
#define TP_ENGINE_FACTS_H

#include "runtime/base/text.h"

/* Found whenever it is: before the session, or long after it was opened (torch's version).
 * A line whose key is there with the same value already is not added again. */
void tp_facts_add(const char *key, const char *value);
void tp_facts_add_i64(const char *key, int64_t value);
/* "key=value\n" lines of another module, as they are. */
void tp_facts_add_lines(const char *lines, size_t n);

/* Appends all lines. */
void tp_facts_describe(struct tp_text *out);
/* The ring is open: its head gets what was gathered so far, and what comes from here on. */
void tp_facts_to_ring(void);
/* Forgets all lines. */
void tp_facts_reset(void);
/* In the child of fork. */
void tp_facts_forked(void);

#endif
