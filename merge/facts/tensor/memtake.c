/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memtake.c - when a block of the backward pass became a parameter's gradient
 *
 * Births and nodes, in order of time, are brackets that open and close. They can be matched only when
 * it is known which blocks stay, so both are kept until then.
 */
#include "merge/facts/tensor/memtake.h"

#include <stdlib.h>
#include <string.h>

#include "merge/kit/grow.h"

/* A block that is alive. In order of birth, in its process. */
struct block {
	uint32_t older, newer;
	uint32_t proc;
	const struct tp_thread *thread;
	int64_t born_ns, taken_ns;
	bool is_known, is_listed;	/* listed: until it is settled */
};

struct node {
	int64_t ns;
	const struct tp_thread *thread;
};

struct group {
	int64_t ns;
	const char *name;
};

struct proc {
	uint32_t oldest, newest;
	struct node *node;
	struct group *group;
	uint32_t n_nodes, cap_nodes, n_groups, cap_groups;
};

struct tp_memtake {
	struct block *block;		/* by tag */
	uint32_t cap_blocks;
	struct proc *proc;
	uint32_t n_procs;
	uint32_t *open;			/* tags: born, not taken */
	uint32_t cap_open;
};

struct tp_memtake *tp_memtake_new(uint32_t n_procs)
{
	struct tp_memtake *take = calloc(1, sizeof(*take));

	if (!take)
		return NULL;
	take->n_procs = n_procs;
	take->proc = calloc(n_procs + 1, sizeof(*take->proc));
	if (take->proc)
		return take;
	free(take);
	return NULL;
}

void tp_memtake_free(struct tp_memtake *take)
{
	if (!take)
		return;
	for (uint32_t i = 0; i < take->n_procs; i++) {
		free(take->proc[i].node);
		free(take->proc[i].group);
	}
	free(take->proc);
	free(take->block);
	free(take->open);
	free(take);
}

bool tp_memtake_born(struct tp_memtake *take, uint32_t tag, const struct tp_event *alloc)
{
	struct proc *proc = &take->proc[alloc->proc->at];

	if (!tp_grow(&take->block, &take->cap_blocks, (uint64_t)tag + 1, sizeof(*take->block)))
		return false;
	take->block[tag] = (struct block){
		.older = proc->newest, .proc = alloc->proc->at, .thread = alloc->thread,
		.born_ns = alloc->begin_ns, .taken_ns = TP_NOT_TAKEN, .is_known = true, .is_listed = true,
	};
	if (proc->newest)
		take->block[proc->newest].newer = tag;
	else
		proc->oldest = tag;
	proc->newest = tag;
	return true;
}

bool tp_memtake_node(struct tp_memtake *take, const struct tp_event *node)
{
	struct proc *proc = &take->proc[node->proc->at];

	if (!tp_grow(&proc->node, &proc->cap_nodes, (uint64_t)proc->n_nodes + 1,
		     sizeof(*proc->node)))
		return false;
	proc->node[proc->n_nodes++] = (struct node){node->begin_ns, node->thread};
	return true;
}

bool tp_memtake_group(struct tp_memtake *take, uint32_t proc, int64_t ns, const char *group)
{
	struct proc *of = &take->proc[proc];

	if (!tp_grow(&of->group, &of->cap_groups, (uint64_t)of->n_groups + 1, sizeof(*of->group)))
		return false;
	of->group[of->n_groups++] = (struct group){ns, group};
	return true;
}

void tp_memtake_copy(struct tp_memtake *take, const struct tp_event *alloc)
{
	struct proc *proc = &take->proc[alloc->proc->at];

	for (uint32_t i = proc->n_nodes; i-- > 0;)
		if (proc->node[i].thread == alloc->thread) {
			/* It takes no other one: no block has this thread. */
			proc->node[i].thread = NULL;
			return;
		}
}

int64_t tp_memtake_group_ns(const struct tp_memtake *take, uint32_t proc, const char *group,
			    int64_t after_ns)
{
	const struct proc *of = &take->proc[proc];

	for (uint32_t i = 0; i < of->n_groups; i++)
		if (of->group[i].ns >= after_ns && strcmp(of->group[i].name, group) == 0)
			return of->group[i].ns;
	return TP_NOT_TAKEN;
}

/* The newest that is open on the node's thread. */
static void close_one(struct tp_memtake *take, uint32_t *n_open, const struct node *node)
{
	for (uint32_t i = *n_open; i-- > 0;) {
		struct block *block = &take->block[take->open[i]];

		if (block->thread != node->thread)
			continue;
		block->taken_ns = node->ns;
		(*n_open)--;
		memmove(&take->open[i], &take->open[i + 1], (*n_open - i) * sizeof(*take->open));
		return;
	}
}

static void match(struct tp_memtake *take, struct proc *proc)
{
	uint32_t tag = proc->oldest, n_open = 0;

	for (uint32_t i = 0; i < proc->n_nodes; i++) {
		for (; tag && take->block[tag].born_ns <= proc->node[i].ns;
		     tag = take->block[tag].newer)
			if (tp_grow(&take->open, &take->cap_open, (uint64_t)n_open + 1,
				    sizeof(*take->open)))
				take->open[n_open++] = tag;
		close_one(take, &n_open, &proc->node[i]);
	}
}

static void delist(struct tp_memtake *take, struct block *block)
{
	struct proc *proc = &take->proc[block->proc];

	*(block->older ? &take->block[block->older].newer : &proc->oldest) = block->newer;
	*(block->newer ? &take->block[block->newer].older : &proc->newest) = block->older;
	block->is_listed = false;
}

void tp_memtake_settle(struct tp_memtake *take, uint32_t proc, bool is_all)
{
	struct proc *of = &take->proc[proc];

	match(take, of);
	for (uint32_t tag = of->oldest; tag; tag = take->block[tag].newer)
		if (is_all || take->block[tag].taken_ns != TP_NOT_TAKEN)
			delist(take, &take->block[tag]);
	of->n_nodes = of->n_groups = 0;
}

int64_t tp_memtake_gone(struct tp_memtake *take, uint32_t tag)
{
	struct block *block;

	if (tag >= take->cap_blocks || !take->block[tag].is_known)
		return TP_NOT_TAKEN;
	block = &take->block[tag];
	block->is_known = false;
	if (block->is_listed)
		delist(take, block);
	return block->taken_ns;
}
