/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbols_in.h - what the parts of symbols.c share: one file of code, and what is asked of it
 *
 * symbols_file.c opens the file, symbols_dwarf.c reads inlined functions and lines,
 * symbols_table.c the names of its symbol table. A job is one thread's; texts are everybody's.
 */
#ifndef TP_MERGE_SYMBOLS_IN_H
#define TP_MERGE_SYMBOLS_IN_H

#include "merge/symbols/symbols.h"

#include <pthread.h>

#include <elfutils/libdwfl.h>

/* ---- texts: each one once, for as long as the names are wanted ---- */

struct tp_symbols_texts {
	pthread_mutex_t lock;		/* of all below */
	struct tp_text_block *block;
	const char **slot;		/* hash table; NULL: empty */
	uint32_t n, n_slots;
};

int tp_symbols_texts_init(struct tp_symbols_texts *texts);
void tp_symbols_texts_fini(struct tp_symbols_texts *texts);
/* The n bytes as a text of their own; "" when memory is out. */
const char *tp_symbols_text(struct tp_symbols_texts *texts, const char *bytes, size_t n);
/* The same of a function's name, readable. NULL and "" are "". */
const char *tp_symbols_function(struct tp_symbols_texts *texts, const char *name);

/* ---- one file ---- */

struct tp_symbols_file {
	Dwfl *dwfl;
	Dwfl_Module *mod;
	Dwarf *dwarf;			/* NULL: there is no DWARF */
	/* Less the address in the file's headers: the address in libdwfl's numbering, in DWARF's. */
	Dwarf_Addr bias, dwarf_bias;
	Dwfl_Callbacks callbacks;	/* libdwfl keeps their addresses */
	char *debug_path;
	bool is_missing;		/* a debug file: servers were asked */
	bool has_shared;		/* libdwfl found the DWARF that it shares with others */
	Dwarf *shared;			/* we did */
	int shared_fd;
};

/* Opens the file that `module` was, or a debug file of its build id. False: `trouble` says why. */
bool tp_symbols_file_open(struct tp_symbols_file *file, const struct tp_symbols_module *module,
			  const char *root, char *trouble, size_t trouble_bytes);
void tp_symbols_file_close(struct tp_symbols_file *file);
/* libdw may be asked for the file (.dwo) that a unit names, compiled in folder `within`: wherever it
 * would look is a file or nothing. */
bool tp_symbols_may_split(const struct tp_symbols_file *file, const char *name, const char *within);

/* ---- what is asked of it ---- */

struct tp_symbols_lookup {
	uint64_t pc;			/* in the numbering of the file's headers */
	uint32_t first, n;		/* in found */
	bool is_short;			/* the outermost function's name says not in what it is:
					 * a mangled one of the symbol table is better */
};

struct tp_symbols_job {
	struct tp_symbols *symbols;
	const struct tp_symbols_module *module;
	struct tp_symbols_lookup *lookup;	/* by pc, each once */
	uint32_t n_lookups, n_done;
	struct tp_symbol *found;	/* [0]: nothing known */
	uint32_t n_found, cap_found;
	char *trouble;			/* NULL: none */
	size_t lines_most;		/* libdw keeps lines that it has read: when they are so many
					 * the file is opened anew */
	bool is_out_of_memory;
};

/* One more symbol behind those found; false: out of memory. */
bool tp_symbols_job_add(struct tp_symbols_job *job, struct tp_symbol symbol);
struct tp_symbols_texts *tp_symbols_texts_of(struct tp_symbols *symbols);
/* So many more lookups were done: for the progress line. */
void tp_symbols_job_did(struct tp_symbols_job *job, uint32_t n);

/* Answers the lookups by DWARF: chains without a function's name are left for the symbol table,
 * lookups of which nothing is known are left at n = 0. `file` may be closed and opened again. */
void tp_symbols_dwarf(struct tp_symbols_job *job, struct tp_symbols_file *file, const char *root);

/* ---- symbol table ---- */

struct tp_symbols_table;

/* NULL: it has none, or memory is out. */
struct tp_symbols_table *tp_symbols_table_new(const struct tp_symbols_file *file);
void tp_symbols_table_free(struct tp_symbols_table *table);
/* The name of the function around `pc`, as it stands in the file; NULL: not known. */
const char *tp_symbols_table_find(const struct tp_symbols_table *table, uint64_t pc);

#endif
