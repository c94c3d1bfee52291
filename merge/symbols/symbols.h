/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbols.h - names and lines for addresses in files of code
 *
 * By elfutils' libdwfl: the file itself when its build id is the one that was recorded, else a
 * separate debug file of that build id (.gnu_debuglink, /usr/lib/debug/.build-id, debuginfod where
 * DEBUGINFOD_URLS is set). A file that was deleted or replaced since is not read: its places stay
 * unnamed, and tp_symbols_trouble says why. Inlined functions and lines come from DWARF where there
 * is some, else the nearest symbol, else nothing.
 *
 * Memory is bounded: one file of code at a time for each thread that reads, and what is found.
 * Threads: tp_symbols_resolve uses as many as there are processors, up to 8; the caller is one.
 */
#ifndef TP_MERGE_SYMBOLS_H
#define TP_MERGE_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tp_symbols_module {
	const char *path;
	const uint8_t *build_id;	/* NULL: none was recorded: the file at `path` is believed when
					 * it has none either */
	uint32_t build_id_bytes;
};

/* An address of a module, in the numbering of its file's headers. */
struct tp_symbols_place {
	uint32_t module;		/* index */
	bool is_exact;			/* else it is a return address: the call before it is meant */
	uint64_t offset;
};

/* One function at a place; the innermost inlined one first. */
struct tp_symbol {
	const char *function;		/* demangled; "" : not known */
	const char *file;		/* "" : not known */
	uint32_t line;			/* 0: not known */
	bool is_inlined;
};

struct tp_symbols;

/* `root`: prefix put before every path (a copy of another machine's files); "" : none. */
struct tp_symbols *tp_symbols_new(const char *root);
void tp_symbols_free(struct tp_symbols *symbols);
/* No progress line. */
void tp_symbols_quiet(struct tp_symbols *symbols);

/*
 * Looks all places up, grouped by module, with a progress line on a terminal. `modules` and
 * `places` are kept by the caller until free. May be called again with more. 0 or -ENOMEM.
 */
int tp_symbols_resolve(struct tp_symbols *symbols, const struct tp_symbols_module *module,
		       uint32_t n_modules, const struct tp_symbols_place *place, size_t n_places);
/* What was found for place `at` of the last call: n of them; never fewer than one. */
const struct tp_symbol *tp_symbols_at(const struct tp_symbols *symbols, size_t at, uint32_t *n);

/* Why places of a module are unnamed; NULL: they are named, or none was asked for. */
const char *tp_symbols_trouble(const struct tp_symbols *symbols, uint32_t module);

#endif
