/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sites.h - what the lines of the user's own code cost
 *
 * A line is charged with the operators, waits and launches that it asked for, by the Python stacks
 * that were recorded (RECORD=pystacks), what the backward pass does to those of the forward pass
 * (module_origin.h): the innermost frame of a stack that is neither the standard library's nor
 * installed. Only the outermost operators count, so the times of a thread add up; of a node of the
 * backward pass in which the program's own Python runs, what that asks for is its own. Without such
 * stacks there are no lines.
 *
 * Memory: distinct stacks of each process, TP_SITES_MAX at most; what is beyond is charged to
 * nobody. Time of each stack in each step, 4 MiB of it at most, else none.
 */
#ifndef TP_MERGE_SITES_H
#define TP_MERGE_SITES_H

#include "merge/model/fact.h"

enum { TP_SITES_MAX = 1 << 18 };

enum tp_site_figure {
	TP_SITE_TIME,		/* ns in operators */
	TP_SITE_GAP,		/* ns without an operator before those of the line, in steps */
	TP_SITE_LONG,		/* ns of gaps that are too long to be the cost of asking for an operator, */
	TP_SITE_LONG_GAPS,	/* and how many they are */
	TP_SITE_CALLS,		/* operators, */
	TP_SITE_NODES,		/* and how many of these are nodes of the backward pass */
	TP_SITE_LAYERS,		/* how many of the others layers of a torch.nn container ask for */
	TP_SITE_INSIDE,		/* operators that these ask for */
	TP_SITE_WAIT,		/* ns that its calls of CUDA waited for the device */
	TP_SITE_LAUNCHES,	/* calls of CUDA that launch kernels */
	TP_SITE_IDLE,		/* ns for which a device was idle, waiting for work that it launches, after
				 * the run's first step */
	TP_SITE_PAGEABLE,	/* ns of copies between the device and memory that is not pinned */
	TP_SITE_TRANSFER,	/* ns of other copies of devices */
	TP_SITE_FLOAT32,	/* ns of products that do without tensor cores (device_use.h) */
	TP_SITE_FEW_BLOCKS,	/* ns that are lost by kernels of few blocks (device_use.h) */
	TP_SITE_ALLOCS,		/* ns of its calls of CUDA that take memory or give it back */
	TP_SITE_FAILED,		/* allocations of device memory that failed */
	TP_SITE_KEPT,		/* bytes of tensors alive at the end of a step, more than a step before */
	TP_SITE_COPIES,		/* ns of its copies into another layout or type (waste.h) and of deepcopy() */
	TP_SITE_CONSTANTS,	/* ns of what it computes from constants only (waste.h) */
	TP_SITE_DENSE,		/* ns in which gradients of whole embedding tables are zeroed (waste.h) */
	TP_SITE_ONE_HOT,	/* ns of its one-hot vectors and of what it makes of them at once (waste.h) */
	TP_SITE_DECOMPOSED,	/* ns of its decompositions of matrices that record a gradient (waste.h) */
	TP_SITE_UNUSED,		/* ns of its backward pass for gradients that nobody uses (unused.h) */
	TP_SITE_NO_GRAD,	/* ns of layers that no backward pass goes back to (learned.h), */
	TP_SITE_NO_GRAD_CALLS,	/* how many these are, */
	TP_SITE_GRAD_CALLS,	/* and those that one goes back to */
	TP_SITE_TRAINER,	/* ns in operators, in steps, of the process's first thread, without those
				 * that make tensors of random numbers */
	TP_SITE_WORKER,		/* ns in operators of a data loader's workers */
	TP_SITE_EPOCHS,		/* orders of samples that its loader made */
	TP_SITE_COLLECTIVES,	/* collectives that it calls itself, not in the backward pass */
	TP_SITE_LEARNING,	/* ns of its nodes of the backward pass, and of operators inside optimizers */
	TP_SITE_N
};

struct tp_site {
	const char *place;	/* "train.py:42 forward"; lives as long as the sites */
	const char *before;	/* what the longest gap before it came after; NULL: not known */
	int64_t longest_ns;	/* that gap; 0: there is none of which that is known */
	uint32_t stack, before_stack;	/* at its end and before it */
	uint32_t of_stack;	/* one of those whose line it is */
	int64_t least_calls;	/* that a stack through a library has, to count (tp_sites_keep_loops()) */
	int64_t figure[TP_SITE_N];
};

struct tp_sites;
struct tp_stacks;
struct tp_frame;

extern const struct tp_fact tp_fact_sites;

/* A CALL that is not inside another one. Who is charged for it; 0: nobody. */
uint32_t tp_sites_call(struct tp_sites *sites, const struct tp_event *event);
/* Who is charged for what the event's thread does now; 0: nobody. */
uint32_t tp_sites_now(struct tp_sites *sites, const struct tp_event *event);
/* So much more of a figure, charged to `tag`. */
void tp_sites_charge(struct tp_sites *sites, uint32_t tag, enum tp_site_figure figure, int64_t more);
/* So many bytes more (freed: negative) are alive of what was charged to `tag`. */
void tp_sites_kept(struct tp_sites *sites, uint32_t tag, int64_t bytes);
bool tp_sites_is_incomplete(const struct tp_sites *sites);	/* out of memory: there are no lines */

/* All lines of a process, or of all (NULL), in no order; to be freed. NULL: there are none. */
struct tp_site *tp_sites_lines(const struct tp_sites *sites, const struct tp_proc *proc, uint32_t *n);
struct tp_stacks *tp_sites_stacks(const struct tp_sites *sites);
/* Lines of a process, or of all (NULL), the largest of `by` first, at most `max`. How many. */
uint32_t tp_sites_top(const struct tp_sites *sites, const struct tp_proc *proc,
		      enum tp_site_figure by, struct tp_site *site, uint32_t max);
/* The innermost function of the program's that was in both stacks of the longest gap, where that is
 * further out than the lines: "train.py main, from line 17 to line 20". From a line back to one above it,
 * who called it is named, too: it may be two calls. False: there is none. */
bool tp_sites_between(const struct tp_sites *sites, const struct tp_site *site, char *text, size_t cap);

/* Takes from the line, of all processes, what code of libraries asks for less than so many times in each of
 * all n_steps steps by one stack: a model that it calls has as many operators, one after another; and what
 * torch's FSDP asks for. What is told of the line then, below, is of the rest. */
void tp_sites_keep_loops(const struct tp_sites *sites, struct tp_site *line, uint64_t n_steps,
			 uint32_t times);
/* Operators of the line in whose stack what it calls, frame[0] to frame[n - 1], innermost first, is such. */
typedef bool tp_sites_choose(const struct tp_frame *frame, uint32_t n);
int64_t tp_sites_calls_by(const struct tp_sites *sites, const struct tp_site *line, tp_sites_choose *choose);
/* An installed package around torch calls them. */
bool tp_sites_is_through_package(const struct tp_frame *frame, uint32_t n);
/* The library's function that has most of that figure of the line (inside.h), "peft/lora.py:7 forward", cut,
 * in buf. False: there is none. */
bool tp_sites_inside(const struct tp_sites *sites, const struct tp_proc *proc, const struct tp_site *line,
		     enum tp_site_figure by, char *buf, uint32_t cap);

/* The figure of all lines of all processes. */
int64_t tp_sites_sum(const struct tp_sites *sites, enum tp_site_figure figure);

/* Gaps in steps as long as Python's lock is kept from who asks for it (5 ms, its switch interval), and
 * the number of stacks that they came before. */
uint32_t tp_sites_held(const struct tp_sites *sites, uint32_t *n_stacks);

/* What the chosen ones of a process's recorded steps spend more time on, in operators, than its others do on
 * average: of the functions of the program's that have half of it the one with least of anything else, or a
 * line ("train.py:31 evaluate"), in `place`. *more_ns: of a step, of all operators.
 * False: none is known, or all that was recorded is of one kind. */
bool tp_sites_longer(const struct tp_sites *sites, const struct tp_proc *proc, tp_step_choose *choose,
		     const void *ctx, char *place, size_t cap, int64_t *more_ns);

/* Lines of one function, "train.py:22 Momentum.step" and "train.py:25 Momentum.step". */
bool tp_sites_is_same_function(const struct tp_site *site, const struct tp_site *other);

/* In steps, of functions with lines that record no gradient, run no layer and are no optimizer's: the one
 * with the line that takes most, all such lines of it together, "train.py:31 log" in `place`. Not a module's
 * forward() that runs layers. Returns their time, 0: there is none. */
int64_t tp_sites_extra(const struct tp_sites *sites, char *place, size_t cap);

/* As above: most of one figure, and least of the other. */
bool tp_sites_apart(const struct tp_sites *sites, enum tp_site_figure most, enum tp_site_figure none,
		    char *place, size_t cap);

/* The line on which the process spends more than the others do on average, operators and gaps
 * together. False: none. *more_ns: so much. */
bool tp_sites_excess(const struct tp_sites *sites, const struct tp_proc *proc,
		     struct tp_site *site, int64_t *more_ns);

#endif
