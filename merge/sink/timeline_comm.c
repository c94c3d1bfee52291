/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timeline_comm.c - what torch.profiler says of a collective, for its range, its operator and the kernels
 * that these start: name, elements, type, group
 *
 * HTA reads it there. Of a trace of torch.profiler it is what stood there (an item COLL); of live
 * records what follows from the range's name, its inputs and its group.
 */
#include <string.h>

#include "merge/kit/keyed.h"
#include "merge/kit/need.h"
#include "merge/model/comm_kind.h"
#include "merge/model/scalar.h"
#include "merge/model/shapes.h"
#include "merge/sink/timeline_in.h"
#include "runtime/trace/torch_names.h"

enum { COMM_TEXT = 1024 };

struct comm {
	const struct tp_string *name, *shapes;	/* of the span; live as long as the run */
};

/* The newest span of a thread. */
struct comm_span {
	int64_t end_ns;
	uint32_t comm;			/* 0: none yet */
};

struct tp_timeline_comms {
	struct comm *comm;		/* from 1 on */
	uint32_t n, cap;
	struct tp_keyed keyed;
	struct proc_comms {
		struct comm_span *span;	/* by thread */
		uint32_t cap;
	} *proc;			/* by tp_proc.at */
	char name[64], group[COMM_TEXT], description[COMM_TEXT];
};

void tp_timeline_comms_init(struct tp_timeline *t)
{
	t->comms = tp_need(1, sizeof(*t->comms));
	t->comms->proc = tp_need(t->run->n_procs + 1, sizeof(*t->comms->proc));
}

void tp_timeline_comms_free(struct tp_timeline *t)
{
	for (uint32_t i = 0; i < t->run->n_procs; i++)
		free(t->comms->proc[i].span);
	free(t->comms->proc);
	free(t->comms->comm);
	tp_keyed_free(&t->comms->keyed);
	free(t->comms);
}

static uint32_t find_comm(struct tp_timeline_comms *comms, const struct tp_event *event)
{
	const uint32_t hash =
		tp_keyed_hash((uint64_t)event->name->same << 32 | event->shapes->same);
	uint32_t row, at;

	for (row = tp_keyed_first(&comms->keyed, hash, &at); row != TP_NO_KEYED;
	     row = tp_keyed_next(&comms->keyed, hash, &at))
		if (comms->comm[row].name->same == event->name->same &&
		    comms->comm[row].shapes->same == event->shapes->same)
			return row;
	row = comms->n ? comms->n : 1;
	tp_need_room(&comms->comm, &comms->cap, (uint64_t)row + 1, sizeof(*comms->comm));
	comms->comm[row] = (struct comm){event->name, event->shapes};
	comms->n = row + 1;
	tp_need_keyed(&comms->keyed, hash, row);
	return row;
}

uint32_t tp_timeline_comm_span(struct tp_timeline *t, const struct tp_event *event)
{
	struct proc_comms *proc = &t->comms->proc[event->proc->at];
	const uint32_t thread = tp_thread_at(event), comm = find_comm(t->comms, event);

	tp_need_room(&proc->span, &proc->cap, (uint64_t)thread + 1, sizeof(*proc->span));
	/* What its thread starts in the time of an asynchronous one is not its own. */
	if (!(event->flags & TP_F_ASYNC))
		proc->span[thread] = (struct comm_span){event->end_ns, comm};
	return comm;
}

uint32_t tp_timeline_comm_at(const struct tp_timeline *t, const struct tp_event *call)
{
	const struct proc_comms *proc = &t->comms->proc[call->proc->at];
	const uint32_t thread = tp_thread_at(call);

	if (thread >= proc->cap || call->begin_ns > proc->span[thread].end_ns)
		return 0;
	return proc->span[thread].comm;
}

/* torch's own word for what the range is called: "nccl:all_reduce" is "allreduce" there. */
static const char *name_of(struct tp_timeline_comms *comms, const struct tp_string *range)
{
	static const char *const other[][2] = {
		{"all_reduce", "allreduce"}, {"_all_gather_base", "_allgather_base"}};
	const char *colon = memchr(range->bytes, ':', range->n_bytes);
	const char *name = colon ? colon + 1 : range->bytes;
	size_t n = strcspn(name, " ");

	/* "send 0->1" */
	n = n < sizeof(comms->name) ? n : sizeof(comms->name) - 1;
	memcpy(comms->name, name, n);
	comms->name[n] = '\0';
	for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++)
		if (!strcmp(comms->name, other[i][0]))
			return other[i][1];
	return comms->name;
}

/* Of live records: of the elements that go in, how many come out. */
static uint64_t out_of(const struct tp_string *range, uint64_t in, uint32_t size)
{
	switch (tp_comm_kind_of(range->bytes, range->n_bytes)) {
	case TP_COMM_ALL_GATHER:
		return size && in <= UINT64_MAX / size ? in * size : 0;
	case TP_COMM_REDUCE_SCATTER:
		return size ? in / size : 0;
	case TP_COMM_ALL_REDUCE:
	case TP_COMM_BROADCAST:
	case TP_COMM_REDUCE:
	case TP_COMM_ALL_TO_ALL:
	case TP_COMM_SEND:
	case TP_COMM_RECV:
		return in;
	default:
		return 0;
	}
}

static void add_text(struct tp_args *args, enum tp_key key, const char *text)
{
	if (text && *text)
		tp_arg_text(args, key, TP_ARG_TEXT, text, strlen(text));
}

static const char *copy(char to[COMM_TEXT], const char *from, uint32_t n)
{
	n = n < COMM_TEXT ? n : COMM_TEXT - 1;
	memcpy(to, from, n);
	to[n] = '\0';
	return to;
}

void tp_timeline_add_comm(struct tp_timeline *t, struct tp_args *args, uint32_t comm)
{
	struct tp_timeline_comms *comms = t->comms;
	struct tp_shapes_group group = {.size = 0};
	struct tp_shapes_coll coll = {.in_split = "", .out_split = "", .ranks = ""};
	uint8_t dtype = TP_SCALAR_UNKNOWN;
	const struct comm *of;

	if (!comm)
		return;
	of = &comms->comm[comm];
	tp_shapes_group(of->shapes->bytes, of->shapes->n_bytes, &group);
	if (!tp_shapes_coll(of->shapes->bytes, of->shapes->n_bytes, &coll)) {
		coll.name = name_of(comms, of->name);
		coll.in_elements =
			tp_shapes_elements(of->shapes->bytes, of->shapes->n_bytes, &dtype);
		coll.out_elements = out_of(of->name, coll.in_elements, group.size);
		coll.type = tp_scalar_torch(dtype);
	}
	add_text(args, TP_KEY_COLLECTIVE, coll.name);
	/* A barrier has none. */
	if (coll.in_elements || coll.out_elements) {
		tp_arg_uint(args, TP_KEY_IN_ELEMENTS, coll.in_elements);
		tp_arg_uint(args, TP_KEY_OUT_ELEMENTS, coll.out_elements);
	}
	if (group.size)
		tp_arg_uint(args, TP_KEY_GROUP_SIZE, group.size);
	add_text(args, TP_KEY_ELEMENT_TYPE, coll.type);
	add_text(args, TP_KEY_IN_SPLIT, coll.in_split);
	add_text(args, TP_KEY_OUT_SPLIT, coll.out_split);
	add_text(args, TP_KEY_GROUP_NAME, copy(comms->group, group.name ? group.name : "", group.n_name));
	add_text(args, TP_KEY_GROUP_DESCRIPTION,
		 copy(comms->description, group.description ? group.description : "",
		      group.n_description));
	add_text(args, TP_KEY_GROUP_RANKS, coll.ranks);
}
