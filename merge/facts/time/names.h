/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names.h - rows by operator name: what the strings of a run are called, and what they mean
 *
 * The overloads of an operator (and a range of the same name) share a row. Looking a string
 * up costs an array access from its second time on. Memory: distinct strings.
 */
#ifndef TP_MERGE_NAMES_H
#define TP_MERGE_NAMES_H

#include "merge/facts/time/breakdown.h"
#include "merge/model/fact.h"

struct tp_name {
	const char *bytes;	/* NUL-terminated, without the overload; not to be trusted */
	uint32_t n_bytes;
	uint8_t category;	/* enum tp_category of a range of this name; TP_CAT_OTHER: none */
	bool is_private;	/* the framework's own profiling calls: torch.profiler hides them */
	bool uses_tensor_cores;	/* a kernel of this name (tensor_cores.h); */
	bool is_float32_product;	/* one that could */
};

/* The range of a data loader's __next__. */
bool tp_name_is_loader(const struct tp_string *name);

struct tp_names;

struct tp_names *tp_names_new(void);
void tp_names_free(struct tp_names *names);
/* Those of a run, for all who ask nothing of which names are among them. */
extern const struct tp_fact tp_fact_names;

enum { TP_NO_NAME = 0xffffffff };

/* Row of the event's name; TP_NO_NAME when memory is out. */
uint32_t tp_names_row(struct tp_names *names, const struct tp_event *event);
const struct tp_name *tp_names_at(const struct tp_names *names, uint32_t row);
/* Of the event's name; memory that is out ends the program. */
const struct tp_name *tp_names_of(struct tp_names *names, const struct tp_event *event);
uint32_t tp_names_count(const struct tp_names *names);

/* The category of a span: of its name, else CPU Exec for operators, else none. */
enum tp_category tp_names_category(const struct tp_names *names, uint32_t row,
				   const struct tp_event *event);

#endif
