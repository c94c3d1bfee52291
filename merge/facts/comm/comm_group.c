/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comm_group.c - process groups by what their ranks call them
 */
#include "merge/facts/comm/comm_group.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/kit/grow.h"
#include "merge/kit/keyed.h"
#include "runtime/base/hash.h"

enum { SIZE_MAX_RANKS = 1 << 20 };	/* what is said is not trusted */

struct entry {
	struct tp_comm_group pub;
	uint64_t hash;
};

struct tp_comm_groups {
	struct entry **entry;		/* they stay where they are */
	uint32_t n, cap;
	struct tp_keyed by_hash, by_rank;	/* by_rank: member of a group and rank */
};

struct tp_comm_groups *tp_comm_groups_new(void)
{
	return calloc(1, sizeof(struct tp_comm_groups));
}

void tp_comm_groups_free(struct tp_comm_groups *groups)
{
	if (!groups)
		return;
	for (uint32_t i = 0; i < groups->n; i++) {
		free(groups->entry[i]->pub.member);
		free(groups->entry[i]);
	}
	free(groups->entry);
	tp_keyed_free(&groups->by_hash);
	tp_keyed_free(&groups->by_rank);
	free(groups);
}

static bool is_text(const char *text, uint32_t n, const char *what)
{
	return n == strlen(what) && !memcmp(text, what, n);
}

/* What PyTorch says of a group, in the words of who trains: "mesh_tp" is tp. */
static void name_group(struct tp_comm_group *group, const struct tp_comm_said *said)
{
	const char *text = said->description;
	uint32_t n = said->n_description;

	/* NCCL has the description, a colon and a number. */
	if (said->is_nccl) {
		const char *colon = n ? memchr(text, ':', n) : NULL;

		if (colon)
			n = (uint32_t)(colon - text);
	}
	if (is_text(text, n, "default_pg") || is_text(text, n, "mesh_default")) {
		group->is_default = true;
		snprintf(group->label, sizeof(group->label), "default");
	} else if (n > 5 && !memcmp(text, "mesh_", 5)) {
		snprintf(group->label, sizeof(group->label), "%.*s", (int)n - 5, text + 5);
	} else if (n && !is_text(text, n, "undefined")) {
		snprintf(group->label, sizeof(group->label), "%.*s", (int)n, text);
	} else if (said->n_name) {
		snprintf(group->label, sizeof(group->label), "group %.*s", (int)said->n_name, said->name);
	} else {
		snprintf(group->label, sizeof(group->label), "nccl %08" PRIx32, (uint32_t)said->hash);
	}
}

static uint64_t hash_said(const struct tp_comm_said *said)
{
	if (said->is_nccl)
		return tp_hash_bytes(&said->hash, sizeof(said->hash), 2);
	return tp_hash_bytes(said->description, said->n_description,
			     tp_hash_bytes(said->name, said->n_name, 1));
}

static uint32_t find_family(const struct tp_comm_groups *groups, const struct tp_comm_group *group)
{
	for (uint32_t i = 0; i < groups->n; i++)
		if (!strcmp(groups->entry[i]->pub.label, group->label))
			return groups->entry[i]->pub.family;
	return groups->n;
}

uint32_t tp_comm_groups_find(struct tp_comm_groups *groups, const struct tp_comm_said *said,
			     uint32_t restart, uint32_t n_ranks)
{
	uint64_t hash = (said ? hash_said(said) : 0) + restart;
	struct entry *entry;
	uint32_t at, row;

	for (row = tp_keyed_first(&groups->by_hash, tp_keyed_hash(hash), &at); row != TP_NO_KEYED;
	     row = tp_keyed_next(&groups->by_hash, tp_keyed_hash(hash), &at)) {
		struct tp_comm_group *found = &groups->entry[row]->pub;

		if (groups->entry[row]->hash != hash || found->restart != restart)
			continue;
		return row;
	}
	entry = calloc(1, sizeof(*entry));
	if (!entry || !tp_grow(&groups->entry, &groups->cap, (uint64_t)groups->n + 1,
			       sizeof(*groups->entry))) {
		free(entry);
		return UINT32_MAX;
	}
	entry->hash = hash;
	entry->pub.restart = restart;
	entry->pub.size = said && said->size && said->size < SIZE_MAX_RANKS ? said->size : n_ranks;
	if (said) {
		entry->pub.is_known = true;
		entry->pub.is_nccl = said->is_nccl;
		name_group(&entry->pub, said);
	} else {
		snprintf(entry->pub.label, sizeof(entry->pub.label), "?");
	}
	entry->pub.family = find_family(groups, &entry->pub);
	if (!tp_keyed_add(&groups->by_hash, tp_keyed_hash(hash), groups->n)) {
		free(entry);
		return UINT32_MAX;
	}
	groups->entry[groups->n] = entry;
	return groups->n++;
}

uint32_t tp_comm_groups_member(struct tp_comm_groups *groups, uint32_t group, uint32_t rank,
			       int32_t own)
{
	struct tp_comm_group *of = &groups->entry[group]->pub;
	uint32_t hash = tp_keyed_hash((uint64_t)group << 32 | rank), at, row;

	/* The table has the members of all groups: `row` is one's number in its own. */
	for (row = tp_keyed_first(&groups->by_rank, hash, &at); row != TP_NO_KEYED;
	     row = tp_keyed_next(&groups->by_rank, hash, &at))
		if (row < of->n_members && of->member[row].rank == rank)
			return row;
	if (of->n_members >= of->size ||
	    !tp_grow(&of->member, &of->cap_members, (uint64_t)of->n_members + 1,
		     sizeof(*of->member)) ||
	    !tp_keyed_add(&groups->by_rank, hash, of->n_members))
		return UINT32_MAX;
	of->member[of->n_members] = (struct tp_comm_member){.rank = rank, .at = own};
	return of->n_members++;
}

struct tp_comm_group *tp_comm_groups_at(const struct tp_comm_groups *groups, uint32_t group)
{
	return &groups->entry[group]->pub;
}

uint32_t tp_comm_groups_count(const struct tp_comm_groups *groups)
{
	return groups->n;
}
