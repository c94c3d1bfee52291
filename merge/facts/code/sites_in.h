/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sites_in.h - the inside of sites.h: sites.c has rows by process and stack, sites_lines.c finds their
 * lines and sums them up, sites_between.c says where a gap is, sites_steps.c what takes longer in some
 * steps, sites_inner.c what Python does inside nodes of the backward pass, sites_inside.c
 * what a line calls
 */
#ifndef TP_MERGE_SITES_IN_H
#define TP_MERGE_SITES_IN_H

#include "merge/facts/code/sites.h"
#include "merge/kit/keyed.h"

struct tp_origins;
struct tp_sites_process;	/* sites.c's own */

/* From one operator to the next takes some microseconds: a gap that is longer is no dispatch. */
enum { TP_SITES_DISPATCH_NS = 200000 };

/* What a process's operators with one stack cost. */
struct tp_sites_row {
	uint32_t proc, stack;
	uint32_t line;		/* at the end: plus one, 0 none */
	uint32_t step;		/* of its process, counted, when bytes were charged last */
	int64_t figure[TP_SITE_N]; /* KEPT: of the last step only */
	int64_t kept, kept_before; /* bytes alive; the same at the end of the step before */
	uint32_t before;	/* row plus one of what came before the longest gap, 0: none */
	int64_t longest_ns;
	uint32_t n_held;	/* gaps as long as Python's lock is kept */
	uint32_t cell;		/* of the newest step that it ran in, plus one; 0: none */
};

/* Recorded steps in the order in which they came; their own index, as the ledger has it. */
struct tp_sites_step {
	uint64_t index;
	uint32_t proc;
};

/* The outermost operator of a thread, and what it was charged with. */
struct tp_sites_outer {
	uint32_t row;		/* plus one; 0: none */
	bool is_node;		/* of the backward pass, */
	bool is_moved;		/* charged to the forward line that made it */
	bool is_trainers;	/* of TP_SITE_TRAINER too */
	uint32_t step_at;	/* plus one; 0: outside steps */
	int64_t begin_ns, ns, gap_ns;
	uint32_t inner;		/* last found inside it, plus one; 0: none */
	int64_t inner_end_ns;
};

/* Operators of one row inside nodes that are charged to another. */
struct tp_sites_inner {
	uint32_t row, outer;	/* plus one */
	int64_t calls, inside, ns, gap_ns, trainer_ns;
	int64_t learning_ns;	/* that the outer one has been charged with as such */
};

/* Time of a row's operators in a step. */
struct tp_sites_cell {
	uint32_t row;
	uint32_t step;		/* plus one */
	int64_t ns;
};

struct tp_sites {
	struct tp_origins *origins;
	struct tp_sites_process *proc;
	uint32_t n_procs;
	struct tp_sites_row *row;
	uint32_t n_rows, cap_rows;
	struct tp_keyed keyed;
	char **place;		/* of lines */
	uint32_t n_lines, cap_lines;
	uint32_t n_with_rows;	/* processes that have any */
	bool has_optimizer;	/* one of torch's stepped */
	struct tp_sites_step *step;
	uint32_t n_steps, cap_steps;
	struct tp_sites_cell *cell;
	uint32_t n_cells, cap_cells;
	struct tp_sites_inner *inner;
	uint32_t n_inner, cap_inner;
	struct tp_keyed inner_keyed;
	bool is_full;		/* there was no room for all cells: they say nothing */
	bool is_incomplete;
};

/* The fact's end: the lines of all rows. */
void tp_sites_find_lines(void *state);
/* So much of a figure goes from one row to another, each plus one. */
void tp_sites_move(struct tp_sites *sites, uint32_t from, uint32_t to, enum tp_site_figure figure, int64_t n);
/* An operator inside `outer`, a node of the backward pass, that Python has asked for: it is kept until lines
 * are known. False: it is none. */
bool tp_sites_take_inner(struct tp_sites *sites, struct tp_sites_outer *outer,
			 const struct tp_event *event);
/* Names have been read: what the program's own Python asked for inside nodes is charged to its lines. */
void tp_sites_charge_inner(struct tp_sites *sites);
/* A STEP has come: its number plus one; 0: no room. */
uint32_t tp_sites_add_step(struct tp_sites *sites, const struct tp_event *event);
void tp_sites_add_time(struct tp_sites *sites, struct tp_sites_row *row, uint32_t step, int64_t ns);

#endif
