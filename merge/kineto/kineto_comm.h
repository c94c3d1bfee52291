/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kineto_comm.h - what a torch.profiler trace knows of collectives: their group and bytes
 *
 * The operator record_param_comms, around NCCL's ranges ("nccl:all_reduce"), has them among its
 * arguments; kernels repeat these. Of gloo's ranges the group is known where the job has only one.
 */
#ifndef TP_MERGE_KINETO_COMM_H
#define TP_MERGE_KINETO_COMM_H

#include "merge/kineto/kineto_event.h"
#include "merge/kineto/kineto_strings.h"

enum { TP_KINETO_GROUP_TEXT = 128 };	/* bytes of a name that are kept */

/* The group of all collectives of the job, if it is the only one. */
struct tp_kineto_group {
	uint32_t n_groups;
	char name[TP_KINETO_GROUP_TEXT], description[TP_KINETO_GROUP_TEXT];
	uint32_t n_name, n_description, size;
	int32_t at;		/* our rank in it; -1: not known */
};

/* pg_config of distributedInfo. */
void tp_kineto_groups(struct tp_json_in *in, int32_t own_rank, struct tp_kineto_group *group);

/* SHAPES of a range that a record_param_comms is around; 0: it says nothing. own_rank: -1 is not
 * known. With `shapes` (0: none): those inputs, and then the same. */
uint32_t tp_kineto_comm_id(struct tp_kineto_strings *strings, const struct tp_kineto_event *event,
			   int32_t own_rank, uint32_t shapes);
/* SHAPES `shapes` (0: none) with the only group; as it was where there are several. */
uint32_t tp_kineto_group_id(struct tp_kineto_strings *strings, uint32_t shapes,
			    const struct tp_kineto_group *group);

#endif
