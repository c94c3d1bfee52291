/* SPDX-License-Identifier: Apache-2.0 */
/*
 * waste.c - operators in steps whose work could be saved: see waste.h
 */
#include "merge/facts/program/waste.h"

#include <stdlib.h>
#include <string.h>

#include "merge/facts/code/sites.h"
#include "merge/facts/origin/module_origin.h"
#include "merge/facts/program/learned.h"
#include "merge/facts/program/unused.h"
#include "merge/kit/need.h"
#include "merge/kit/sum.h"
#include "runtime/base/begins.h"
#include "runtime/trace/torch_names.h"

enum class {
	PLAIN,
	COPY,		/* called by itself: into another layout, or type */
	FACTORY,	/* of a tensor from nothing but numbers */
	LEARNED,	/* uses parameters: no constant comes of it */
	CHECK,		/* for NaN */
	NODE,		/* of the backward pass */
	ONE_HOT,	/* whoever has numbers of rows needs no products to find them */
	DENSE,		/* makes a gradient for each row of a table, few of which were used */
	DECOMPOSED,	/* a matrix, in a time that grows with the cube of its size, or back from that */
	ACCUMULATE,	/* a gradient is kept, or added to the one that is kept */
	ADD,
};

static const struct {
	const char *name;
	enum class class;
} classes[] = {
	{NULL, PLAIN}, {NULL, NODE},	/* all other names; those that begin as nodes do */
	{"aten::contiguous", COPY}, {"aten::reshape", COPY}, {"aten::flatten", COPY},
	{"aten::to", COPY}, {"aten::clone", COPY},
	{"aten::arange", FACTORY}, {"aten::linspace", FACTORY}, {"aten::logspace", FACTORY},
	{"aten::eye", FACTORY}, {"aten::full", FACTORY}, {"aten::ones", FACTORY},
	{"aten::zeros", FACTORY}, {"aten::hann_window", FACTORY}, {"aten::tril_indices", FACTORY},
	{"aten::triu_indices", FACTORY}, {"aten::range", FACTORY},
	{"aten::linear", LEARNED}, {"aten::embedding", LEARNED}, {"aten::conv1d", LEARNED},
	{"aten::conv2d", LEARNED}, {"aten::conv3d", LEARNED}, {"aten::layer_norm", LEARNED},
	{"aten::batch_norm", LEARNED}, {"aten::lstm", LEARNED}, {"aten::gru", LEARNED},
	{"aten::_transformer_encoder_layer_fwd", LEARNED}, {"aten::_native_multi_head_attention", LEARNED},
	{"aten::embedding_dense_backward", DENSE}, {"aten::_embedding_bag_dense_backward", DENSE},
	{"aten::_linalg_svd", DECOMPOSED}, {"aten::_linalg_eigh", DECOMPOSED},
	{"aten::linalg_eig", DECOMPOSED}, {"aten::linalg_eigvals", DECOMPOSED}, {"aten::linalg_qr", DECOMPOSED},
	{"aten::linalg_matrix_exp", DECOMPOSED},
	{"LinalgSvdBackward0", DECOMPOSED}, {"LinalgEighBackward0", DECOMPOSED},
	{"LinalgEigBackward0", DECOMPOSED}, {"LinalgQrBackward0", DECOMPOSED},
	{"LinalgMatrixExpBackward0", DECOMPOSED},
	{"aten::one_hot", ONE_HOT}, {"aten::isnan", CHECK}, {TP_NAME_NODE TP_NAME_ACCUMULATE, ACCUMULATE},
	{"aten::add_", ADD},
};

enum {
	OTHERS, NODES,	/* rows of classes */
	N_CLASSES = sizeof(classes) / sizeof(classes[0]),
	MADE_OF = 2,	/* operators after ONE_HOT that work on its vectors: a conversion, a product */
	ZEROED_PART = 8,	/* of steps, at most: a run's first one has none to add to */
	TIMES_PART = 8,	/* a window may end within a step: so much more, or less, is the same */
};

/* What a thread computes from constants. Whether an operator recorded a gradient is known when the next
 * one comes: the number of the next node of autograd is then another one. */
struct chain {
	uint32_t outer;		/* where the function was called that does it */
	uint32_t sequence;	/* of its operators; TP_NO_SEQ: none has told */
	uint32_t tag;		/* of the last operator, which is charged with the next one; 0: none */
	int64_t ns;
	bool is_open;
	int64_t dense_end_ns;	/* of the last DENSE */
	uint32_t hot, n_hot;	/* line of the last ONE_HOT, and how many operators may be made of it yet */
	/* Plus one: where a function was called that computed, without a gradient, what may come of inputs;
	 * where that of the operator before was, if it may have been one. 0: none. */
	uint32_t with_inputs, plain;
	uint32_t plain_sequence;	/* of that operator */
};

struct process {
	struct chain *chain;		/* by thread */
	struct tp_unused *unused;	/* the same */
	struct tp_learned *learned;
	uint32_t n_threads;
	int64_t step_end_ns;
};

struct tp_waste {
	struct tp_origins *origins;
	struct tp_sites *sites;
	struct process *proc;	/* by tp_proc.at */
	uint32_t n_procs;
	uint8_t *row;		/* of classes, plus one, by tp_string.same; 0: not looked at */
	uint32_t n_names;
	uint64_t n_checked, n_nodes;
	struct tp_learned_calls calls[N_CLASSES];
};

static void begin_waste(void *state, struct tp_facts *facts, const void *params)
{
	const struct tp_run *run = tp_facts_run(facts);
	struct tp_waste *waste = state;

	waste->sites = tp_facts_want(facts, &tp_fact_sites, NULL);
	waste->origins = tp_facts_want(facts, &tp_fact_origins_cut, NULL);
	waste->n_procs = run->n_procs;
	waste->proc = tp_need(run->n_procs, sizeof(*waste->proc));
	for (uint32_t i = 0; i < run->n_procs; i++) {
		/* Behind the threads stands the nobody of events without a known one. */
		waste->proc[i].n_threads = run->proc[i]->n_threads + 1;
		waste->proc[i].chain = tp_need(waste->proc[i].n_threads, sizeof(struct chain));
		waste->proc[i].unused = tp_unused_make(waste->proc[i].n_threads);
		waste->proc[i].learned = tp_learned_make();
	}
}

static void free_waste(void *state)
{
	struct tp_waste *waste = state;

	for (uint32_t i = 0; i < waste->n_procs; i++) {
		tp_unused_free(waste->proc[i].unused);
		tp_learned_free(waste->proc[i].learned);
		free(waste->proc[i].chain);
	}
	free(waste->proc);
	free(waste->row);
}

/* The row of classes. */
static uint32_t row_of(struct tp_waste *waste, const struct tp_string *name)
{
	tp_need_room(&waste->row, &waste->n_names, (uint64_t)name->same + 1, sizeof(*waste->row));
	if (!waste->row[name->same]) {
		uint32_t found = tp_begins(name->bytes, name->n_bytes, TP_NAME_NODE) ? NODES : OTHERS;

		for (uint32_t i = NODES + 1; name->bytes && i < N_CLASSES; i++)
			if (!strcmp(name->bytes, classes[i].name))
				found = i;
		waste->row[name->same] = (uint8_t)(found + 1);
	}
	return waste->row[name->same] - 1;
}

static void close_chain(struct chain *chain)
{
	chain->is_open = false;
	chain->tag = 0;
}

static void open_chain(struct chain *chain, uint32_t outer)
{
	close_chain(chain);
	chain->outer = outer;
	chain->is_open = outer + 1 != chain->with_inputs;
}

/* A plain operator before this one, which recorded no gradient, and was of no constant that is known. */
static void note_inputs(struct chain *chain, const struct tp_event *event, enum class class, uint32_t outer)
{
	if (chain->plain && (event->link == TP_NO_SEQ || event->link == chain->plain_sequence))
		chain->with_inputs = chain->plain;
	chain->plain = class == PLAIN && !(chain->is_open && outer == chain->outer) ? outer + 1 : 0;
	chain->plain_sequence = event->link;
}

/* An operator of the function; `tag`: who is charged for it. */
static void follow_chain(struct tp_waste *waste, struct chain *chain, const struct tp_event *event,
			 enum class class, uint32_t tag)
{
	bool has_told = event->link != TP_NO_SEQ;

	if (has_told && chain->sequence == TP_NO_SEQ)
		chain->sequence = event->link;
	if (class == LEARNED || (has_told && event->link != chain->sequence)) {
		close_chain(chain);
		return;
	}
	tp_sites_charge(waste->sites, chain->tag, TP_SITE_CONSTANTS, chain->ns);
	chain->tag = tag;
	chain->ns = tp_sub(event->end_ns, event->begin_ns);
}

/* ONE_HOT, or made of one. */
static bool take_one_hot(struct tp_waste *waste, struct chain *chain, const struct tp_event *event,
			 enum class class)
{
	const uint32_t tag = tp_sites_now(waste->sites, event);

	if (class == ONE_HOT) {
		chain->hot = tag;
		chain->n_hot = MADE_OF;
	} else if (!chain->n_hot || tag != chain->hot || class == LEARNED) {
		chain->n_hot = 0;
		return false;
	} else {
		chain->n_hot--;
	}
	tp_sites_charge(waste->sites, tag, TP_SITE_ONE_HOT, tp_sub(event->end_ns, event->begin_ns));
	return true;
}

/* Zeros inside DENSE are what a sparse gradient does without. */
static void take_dense(struct tp_waste *waste, struct chain *chain, const struct tp_event *event,
		       enum class class)
{
	if (class == DENSE)
		chain->dense_end_ns = event->end_ns;
	else if (class == FACTORY && event->begin_ns < chain->dense_end_ns)
		tp_sites_charge(waste->sites, tp_sites_now(waste->sites, event), TP_SITE_DENSE,
				tp_sub(event->end_ns, event->begin_ns));
}

/* Whoever asks for it may be inside: what is called by name is no matter. Without a gradient it is not part
 * of what is learned by: extra-operators has that. */
static void take_decomposed(struct tp_waste *waste, const struct tp_event *event)
{
	if (event->link != TP_NO_SEQ)
		tp_sites_charge(waste->sites, tp_sites_now(waste->sites, event), TP_SITE_DECOMPOSED,
				tp_sub(event->end_ns, event->begin_ns));
}

/* Nodes of a pass come one after another: whatever else is outermost ends it. Where devices do the work the
 * time of an operator says little. */
static void take_pass(struct tp_waste *waste, const struct tp_event *event, enum class class,
		      bool is_outermost)
{
	struct process *proc = &waste->proc[event->proc->at];
	struct tp_unused *unused = proc->unused;
	const uint32_t thread = tp_thread_at(event);

	if (event->proc->n_devices)
		return;
	if (event->flags & TP_F_BACKWARD)
		tp_learned_node(proc->learned, event);
	if (class == ACCUMULATE || class == NODE)
		tp_unused_node(unused, thread, event, class == ACCUMULATE, is_outermost,
			       tp_sites_now(waste->sites, event));
	else if (is_outermost)
		tp_unused_other(unused, thread, waste->sites);
	else if (class == ADD)
		tp_unused_add(unused, thread);
	else if (event->flags & TP_F_BACKWARD)
		tp_unused_line(unused, thread, tp_sites_now(waste->sites, event));
}

static void take_operator(struct tp_waste *waste, const struct tp_event *event)
{
	struct process *proc = &waste->proc[event->proc->at];
	uint32_t at = tp_thread_at(event);
	struct tp_origin origin;
	struct chain *chain;
	enum class class;
	bool is_outermost;
	uint32_t outer, row;

	if (at >= proc->n_threads || event->flags & TP_F_ASYNC || event->begin_ns >= proc->step_end_ns)
		return;
	row = row_of(waste, event->name);
	class = classes[row].class;
	is_outermost = tp_origins_is_outermost(waste->origins, event);
	take_pass(waste, event, class, is_outermost);
	waste->n_nodes += class == NODE;
	waste->n_checked += class == CHECK && !is_outermost;
	take_dense(waste, &proc->chain[at], event, class);
	if (class == DECOMPOSED)
		take_decomposed(waste, event);
	if (class >= DECOMPOSED)
		class = PLAIN;
	if (!is_outermost)
		return;
	origin = tp_origins_of(waste->origins, event);
	if (!origin.stack || origin.is_backward)
		return;
	chain = &proc->chain[at];
	outer = tp_stacks_outer(tp_origins_stacks(waste->origins), origin.stack);
	if (!take_one_hot(waste, chain, event, class) && class == COPY) {
		tp_sites_charge(waste->sites, tp_sites_now(waste->sites, event), TP_SITE_COPIES,
				tp_sub(event->end_ns, event->begin_ns));
		return;
	}
	if (class == LEARNED)
		tp_learned_layer(proc->learned, event, row, tp_sites_now(waste->sites, event));
	note_inputs(chain, event, class, outer);
	if (class == FACTORY && (!chain->is_open || outer != chain->outer))
		open_chain(chain, outer);
	/* The same function may be called again from the same place: numbers have gone on. */
	if (class == FACTORY)
		chain->sequence = TP_NO_SEQ;
	if (chain->is_open && outer == chain->outer)
		follow_chain(waste, chain, event, class, tp_sites_now(waste->sites, event));
}

static void end_step(struct tp_waste *waste, struct process *proc)
{
	tp_unused_step(proc->unused, waste->sites);
	tp_learned_step(proc->learned, waste->sites, waste->calls);
}

/* A chain does not go on into the next step. */
static void take_step(struct tp_waste *waste, const struct tp_event *event)
{
	struct process *proc = &waste->proc[event->proc->at];

	proc->step_end_ns = event->end_ns;
	end_step(waste, proc);
	for (uint32_t i = 0; i < proc->n_threads; i++) {
		close_chain(&proc->chain[i]);
		proc->chain[i].with_inputs = proc->chain[i].plain = 0;
	}
}

static void take_event(void *state, const struct tp_event *event)
{
	if (event->kind == TP_REC_OP)
		take_operator(state, event);
	else
		take_step(state, event);
}

void tp_waste_checks(const struct tp_waste *waste, uint64_t *n_checked, uint64_t *n_nodes)
{
	*n_checked = waste->n_checked;
	*n_nodes = waste->n_nodes;
}

static void end_waste(void *state)
{
	struct tp_waste *waste = state;

	for (uint32_t i = 0; i < waste->n_procs; i++)
		end_step(waste, &waste->proc[i]);
}

/* So it is with layers of one name where the same modules are called with and without gradients. */
static bool is_times(const struct tp_learned_calls *calls, uint64_t times)
{
	const uint64_t n = calls->n_with * times;

	return calls->n_without <= n + n / TIMES_PART && calls->n_without + n / TIMES_PART >= n;
}

uint64_t tp_waste_times(const struct tp_waste *waste, bool *is_forgotten)
{
	struct tp_learned_calls all = {0};
	uint64_t times;

	for (uint32_t row = 0; row < N_CLASSES; row++) {
		all.n_with += waste->calls[row].n_with;
		all.n_without += waste->calls[row].n_without;
		all.n_forgotten += waste->calls[row].n_forgotten;
	}
	*is_forgotten = all.n_forgotten > all.n_without / 2;
	times = all.n_with ? (all.n_without + all.n_with / 2) / all.n_with : 0;
	for (uint32_t row = 0; times && row < N_CLASSES; row++)
		if (!is_times(&waste->calls[row], times))
			return 0;
	return times;
}

bool tp_waste_is_unused(const struct tp_waste *waste)
{
	uint64_t with = 0, without = 0;

	for (uint32_t i = 0; i < waste->n_procs; i++) {
		uint64_t n_with, n_without;

		tp_unused_count(waste->proc[i].unused, &n_with, &n_without);
		with += n_with;
		without += n_without;
	}
	return without <= with / ZEROED_PART;
}

const struct tp_fact tp_fact_waste = {
	.name = "waste",
	.bytes = sizeof(struct tp_waste),
	.kinds = TP_FACT_KIND(TP_REC_OP) | TP_FACT_KIND(TP_REC_STEP),
	.is_cut = true,
	.begin = begin_waste,
	.event = take_event,
	.end = end_waste,
	.free = free_waste,
};
