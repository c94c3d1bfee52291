/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kineto_event.h - one event of a torch.profiler trace, as far as the merge uses it
 *
 * Key names of all versions since 1.8; keys that are not listed are passed over. Texts stand
 * in the file's own bytes and live as long as these do.
 */
#ifndef TP_MERGE_KINETO_EVENT_H
#define TP_MERGE_KINETO_EVENT_H

#include "merge/kit/json_in.h"

/* What was there; a number that is not one was not. _(bit, "key", field, units per 1) */
#define TP_KINETO_NUMBERS(_)                                                               \
	_(TS, "ts", ts_ns, 1000)                                                           \
	_(DUR, "dur", dur_ns, 1000)                                                        \
	_(PID, "pid", pid, 1)                                                              \
	_(TID, "tid", tid, 1)

#define TP_KINETO_ARGS(_)                                                                  \
	_(CORRELATION, "correlation", correlation, 1)                                      \
	_(SEQUENCE, "Sequence number", sequence, 1)                                        \
	_(FORWARD, "Fwd thread id", forward, 1)                                            \
	_(DEVICE, "device", device, 1)                                                     \
	_(CONTEXT, "context", context, 1)                                                  \
	_(STREAM, "stream", stream, 1)                                                     \
	_(REGISTERS, "registers per thread", registers, 1)                                 \
	_(SHARED, "shared memory", shared, 1)                                              \
	_(BLOCKS_PER_SM, "blocks per SM", blocks_per_sm, 1000000)                          \
	_(WARPS_PER_SM, "warps per SM", warps_per_sm, 1000000)                             \
	_(OCCUPANCY, "est. achieved occupancy %", occupancy, 1)                            \
	_(GRAPH, "graph id", graph, 1)                                                     \
	_(NODE, "graph node id", node, 1)                                                  \
	_(COPIED, "bytes", copied, 1)                                                      \
	_(ADDRESS, "Addr", address, 1)                                                     \
	_(BYTES, "Bytes", bytes, 1)                                                        \
	_(DEVICE_TYPE, "Device Type", device_type, 1)                                      \
	_(DEVICE_ID, "Device Id", device_id, 1)                                            \
	_(ALLOCATED, "Total Allocated", allocated, 1)                                      \
	_(RESERVED, "Total Reserved", reserved, 1)                                         \
	_(WAIT_EVENT, "wait_on_cuda_event_id", wait_event, 1)                              \
	_(WAIT_CALL, "wait_on_cuda_event_record_corr_id", wait_call, 1)                    \
	_(WAIT_STREAM, "wait_on_stream", wait_stream, 1)                                   \
	_(PYTHON, "Python id", python_id, 1)                                               \
	_(IN_ELEMENTS, "In msg nelems", in_elements, 1)                                    \
	_(OUT_ELEMENTS, "Out msg nelems", out_elements, 1)                                 \
	_(GROUP_SIZE, "Group size", group_size, 1)                                         \
	_(GROUP_ID, "Process Group ID", group_id, 1)                                       \
	_(RANK_START, "Global rank start", rank_start, 1)                                  \
	_(RANK_STRIDE, "Global rank stride", rank_stride, 1)                               \
	_(FROM_RANK, "Src Rank", from_rank, 1)                                             \
	_(TO_RANK, "Dst Rank", to_rank, 1)

/* Those that are kept when they are texts. _("key", field) */
#define TP_KINETO_TEXTS(_)                                                                 \
	_("name", inner_name)                                                              \
	_("labels", inner_name)                                                            \
	_("Call stack", call_stack)                                                        \
	_("Collective name", collective)                                                   \
	_("In split size", in_split)                                                       \
	_("Out split size", out_split)                                                     \
	_("dtype", element_type)                                                           \
	_("Process Group Name", group_name)                                                \
	_("Process Group Description", group_description)                                  \
	_("Process Group Ranks", group_ranks)

enum tp_kineto_bit {
#define _(bit, key, field, scale) TP_KINETO_BIT_##bit,
	TP_KINETO_NUMBERS(_) TP_KINETO_ARGS(_)
#undef _
	TP_KINETO_BIT_GRID,
	TP_KINETO_BIT_BLOCK,
};
#define TP_KINETO_HAS(event, bit) (((event)->has >> TP_KINETO_BIT_##bit) & 1)
_Static_assert(TP_KINETO_BIT_BLOCK < 64, "tp_kineto_event.has");

struct tp_kineto_event {
	char phase;		/* "ph"; 0: none */
	uint64_t has;		/* bits of tp_kineto_bit */
	struct tp_json_text name, category, tid_text, inner_name;	/* n 0: none */
	struct tp_json_text dims, types;	/* the arrays as they stand there */
	struct tp_json_text call_stack;
	/* Of a collective. */
	struct tp_json_text collective, element_type, group_name, group_description, group_ranks;
	struct tp_json_text in_split, out_split;
#define _(bit, key, field, scale) int64_t field;
	TP_KINETO_NUMBERS(_) TP_KINETO_ARGS(_)
#undef _
	int64_t grid[3], block[3];
};

/* The object at in->at. False: it is no object, or in->is_short, or in->is_bad. */
bool tp_kineto_event(struct tp_json_in *in, struct tp_kineto_event *event);

#endif
