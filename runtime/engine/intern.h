/* SPDX-License-Identifier: Apache-2.0 */
/*
 * intern.h - byte strings -> small ids, in the ring's `names` area, append-only
 *
 * Equal kind and bytes give equal ids. The string is whole in the shared file before its id
 * is returned, so no published record can name a string that a reader of the dead cannot
 * find. Threads: any; a hit takes no lock, a miss takes TP_LOCK_INTERN.
 */
#ifndef TP_ENGINE_INTERN_H
#define TP_ENGINE_INTERN_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/arena.h"
#include "runtime/trace/trainprof_trace.h"

enum {
	TP_INTERN_MAX = 8190,	/* longest string kept; longer ones are cut, and counted */
	TP_INTERN_TEXT = 4096,	/* of one that is put together on a stack of the guest */
	TP_INTERN_LOOSE = 8192,	/* that no event names; more are not in files */
};

int tp_intern_init(struct tp_arena *arena);
/* 0 when the names area is full (counted in head->names_lost). */
uint32_t tp_intern(enum tp_string_kind kind, const void *bytes, uint32_t n_bytes);
uint32_t tp_intern_text(const char *text);
/* Half of the names area is used: names that may be new each time should not take the rest. */
bool tp_intern_is_half_full(void);
/* How many strings were cut, so far. */
uint32_t tp_intern_cut(void);
/* Of an id that tp_intern returned. Signature of tp_writer_string_fn (ctx unused). */
bool tp_intern_get(void *ctx, uint32_t id, uint32_t *kind, const char **bytes, uint32_t *n_bytes);
/* Strings that no event names and each file has nevertheless, of kinds DEVICE, MODULE and COMM: how
 * many, and their ids, which stay where they are. */
uint32_t tp_intern_loose(const uint32_t **id);
/* In the child of fork, after a new ring was opened: ids start anew. */
void tp_intern_reset(void);

#endif
