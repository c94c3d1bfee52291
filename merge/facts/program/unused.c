/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unused.c - work of the backward pass for gradients that no optimizer uses: see unused.h
 */
#include "merge/facts/program/unused.h"

#include <stdlib.h>

#include "merge/facts/code/sites.h"
#include "merge/kit/need.h"
#include "merge/kit/sum.h"
#include "merge/model/model.h"

/* Whether a gradient was added to another one is known when the next node comes. */
struct pass {
	struct node {
		uint32_t tag;
		int64_t ns;
	} *after;		/* the last new gradient */
	uint32_t n_after, cap;
	uint32_t n_new, n_added;	/* gradients */
	struct node kept;	/* the last one, if it is the last node */
	bool is_kept, is_added;
	bool is_nested;		/* gradients were kept inside of other nodes, too: in no order */
};

struct tp_unused {
	bool has_new;		/* a pass of this step that is over had new gradients */
	uint64_t n_with, n_without;
	uint32_t n_threads;
	struct pass pass[];
};

struct tp_unused *tp_unused_make(uint32_t n_threads)
{
	struct tp_unused *unused = tp_need(1, sizeof(*unused) + n_threads * sizeof(unused->pass[0]));

	unused->n_threads = n_threads;
	return unused;
}

void tp_unused_free(struct tp_unused *unused)
{
	for (uint32_t i = 0; i < unused->n_threads; i++)
		free(unused->pass[i].after);
	free(unused);
}

static void add_node(struct pass *pass, struct node node)
{
	tp_need_room(&pass->after, &pass->cap, (uint64_t)pass->n_after + 1, sizeof(*pass->after));
	pass->after[pass->n_after++] = node;
}

static void close_kept(struct pass *pass)
{
	if (!pass->is_kept)
		return;
	pass->is_kept = false;
	if (pass->is_added) {
		pass->n_added++;
		add_node(pass, pass->kept);
	} else {
		pass->n_new++;
		pass->n_after = 0;
	}
}

void tp_unused_node(struct tp_unused *unused, uint32_t thread, const struct tp_event *event, bool is_kept,
		    bool is_outermost, uint32_t tag)
{
	struct pass *pass = &unused->pass[thread];
	const struct node node = {tag, tp_sub(event->end_ns, event->begin_ns)};

	if (!is_outermost) {
		pass->is_nested |= is_kept;
		return;
	}
	close_kept(pass);
	if (is_kept) {
		pass->kept = node;
		pass->is_kept = true;
		pass->is_added = false;
	} else {
		add_node(pass, node);
	}
}

void tp_unused_line(struct tp_unused *unused, uint32_t thread, uint32_t tag)
{
	struct pass *pass = &unused->pass[thread];

	if (tag && !pass->is_kept && pass->n_after)
		pass->after[pass->n_after - 1].tag = tag;
}

void tp_unused_add(struct tp_unused *unused, uint32_t thread)
{
	unused->pass[thread].is_added = true;
}

/* Of a pass with new gradients. */
static void judge_pass(struct tp_unused *unused, const struct pass *pass, struct tp_sites *sites)
{
	if (!pass->n_added) {
		unused->n_without++;
		return;
	}
	unused->n_with++;
	for (uint32_t i = 0; !pass->is_nested && i < pass->n_after; i++)
		tp_sites_charge(sites, pass->after[i].tag, TP_SITE_UNUSED, pass->after[i].ns);
}

/* Passes for several losses add to the gradients of the first one. */
void tp_unused_other(struct tp_unused *unused, uint32_t thread, struct tp_sites *sites)
{
	struct pass *pass = &unused->pass[thread];

	close_kept(pass);
	if (pass->n_new && !unused->has_new)
		judge_pass(unused, pass, sites);
	unused->has_new |= pass->n_new > 0;
	pass->n_new = pass->n_added = pass->n_after = 0;
	pass->is_nested = false;
}

void tp_unused_step(struct tp_unused *unused, struct tp_sites *sites)
{
	for (uint32_t i = 0; i < unused->n_threads; i++)
		tp_unused_other(unused, i, sites);
	unused->has_new = false;
}

void tp_unused_count(const struct tp_unused *unused, uint64_t *n_with, uint64_t *n_without)
{
	*n_with = unused->n_with;
	*n_without = unused->n_without;
}
