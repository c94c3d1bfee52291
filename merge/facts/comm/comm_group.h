/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comm_group.h - the process groups and communicators of a run, and which ranks are in them
 *
 * A group is known by what its ranks call it, equal on all of them: PyTorch's name and description,
 * or the hash of an NCCL communicator. Calls of which no group is known belong to one of all ranks.
 */
#ifndef TP_MERGE_COMM_GROUP_H
#define TP_MERGE_COMM_GROUP_H

#include <stdbool.h>
#include <stdint.h>

struct tp_comm_member {
	uint32_t rank;			/* tp_comm's */
	int32_t at;			/* its rank in the group; -1: not known */
	uint64_t n_calls;
};

struct tp_comm_group {
	char label[48];			/* "default", "tp", "group 3"; "?": no group is known */
	bool is_known, is_nccl;
	bool is_default;		/* all ranks of the job */
	uint32_t restart;
	uint32_t family;		/* of groups with the same label: the first one's number */
	uint32_t size;			/* at least n_members; more: of some there is no call */
	struct tp_comm_member *member;	/* as they are met */
	uint32_t n_members, cap_members;
	uint64_t n_calls, n_matched, bytes; /* bytes: of matched ones, each once */
	int64_t wait_ns, move_ns;	/* of matched ones: sum over calls; of collectives */
	double bus_bytes;		/* those that crossed the slowest link in move_ns */
	int64_t bus_ns;
};

/* What a file tells of a group. Texts need not end with a zero byte. */
struct tp_comm_said {
	const char *name, *description;
	uint32_t n_name, n_description;
	uint64_t hash;			/* NCCL's, with is_nccl */
	bool is_nccl;
	uint32_t size, restart;
	int32_t at;
};

struct tp_comm_groups;

struct tp_comm_groups *tp_comm_groups_new(void);
void tp_comm_groups_free(struct tp_comm_groups *groups);
/* Number of the group; said NULL: that of which nothing is known, with n_ranks members.
 * UINT32_MAX: out of memory. */
uint32_t tp_comm_groups_find(struct tp_comm_groups *groups, const struct tp_comm_said *said,
			     uint32_t restart, uint32_t n_ranks);
/* Index of the member that this rank is. UINT32_MAX: out of memory, or the group is full. */
uint32_t tp_comm_groups_member(struct tp_comm_groups *groups, uint32_t group, uint32_t rank,
			       int32_t at);
struct tp_comm_group *tp_comm_groups_at(const struct tp_comm_groups *groups, uint32_t group);
uint32_t tp_comm_groups_count(const struct tp_comm_groups *groups);

#endif
