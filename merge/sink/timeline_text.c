/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timeline_text.c - what follows from a string of the run, made when it is first met: what its name
 * means, input shapes, arguments of a launch; and Python stacks of operators
 *
 * A launch that repeats has one LAUNCH string: its arguments, occupancy included, are encoded once.
 */
#include <stdlib.h>

#include "merge/facts/origin/hostmem_frames.h"
#include "merge/facts/time/names.h"
#include "merge/facts/time/occupancy.h"
#include "merge/kit/need.h"
#include "merge/model/device.h"
#include "merge/sink/kineto_args.h"
#include "merge/model/shapes.h"
#include "merge/sink/timeline_in.h"
#include "runtime/base/text.h"
#include "runtime/trace/torch_names.h"

enum {
	SHAPES_MAX = 8 * 1024 - 27, /* bytes of shapes and types, 8 KiB with their keys; longer
				     * ones are left out */
	FRAMES_MAX = 64,	/* of a stack, the innermost */
	STACK_MAX = 4848,	/* bytes of a stack, but for the last frame */
	FRAME_TEXT_MAX = 100,	/* bytes of a path, of a function's name */
};

/* ---- names ---- */

static bool begins_with(const struct tp_string *s, const char *text)
{
	size_t n = strlen(text);

	return s->n_bytes >= n && !memcmp(s->bytes, text, n);
}

#define OP_CATEGORY "cpu_op: "

/*
 * Operators have a namespace, nodes of the backward pass end in "Backward" and a number.
 * Programs that replay a recorded run, or mark what they do themselves, give ranges such names, or
 * the category cpu_op.
 */
static bool is_op_name(const struct tp_string *s)
{
	static const char backward[] = "Backward";
	size_t n = s->n_bytes;

	if (begins_with(s, OP_CATEGORY) || memmem(s->bytes, n, "::", 2))
		return true;
	while (n && s->bytes[n - 1] >= '0' && s->bytes[n - 1] <= '9')
		n--;
	return n >= sizeof(backward) - 1 &&
	       !memcmp(s->bytes + n - (sizeof(backward) - 1), backward, sizeof(backward) - 1);
}

/* torch-tb-profiler 0.4.3 knows these of two libraries. */
static bool is_collective_name(const struct tp_string *s)
{
	static const char *const known[] = {"broadcast", "reduce", "all_reduce", "all_gather",
					    "reduce_scatter"};
	const uint32_t skip = sizeof(TP_NAME_NCCL) - 1;

	if (!tp_comm_is_range(s->bytes, s->n_bytes))
		return false;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (s->n_bytes - skip == strlen(known[i]) &&
		    !memcmp(s->bytes + skip, known[i], strlen(known[i])))
			return true;
	}
	return false;
}

static void make_name(const struct tp_timeline *t, struct tp_fragment *name,
		      const struct tp_string *s)
{
	size_t n = s->kind == TP_STRING_OP || s->kind == TP_STRING_COUNTER
			   ? strnlen(s->bytes, s->n_bytes)
			   : s->n_bytes;
	size_t skip = begins_with(s, OP_CATEGORY) ? sizeof(OP_CATEGORY) - 1 : 0;

	name->is_loader = tp_name_is_loader(s);
	name->is_op = is_op_name(s);
	name->is_collective = is_collective_name(s);
	if (t->encoder->make_name)
		t->encoder->make_name(name, s->bytes + skip, n - skip);
}

/* ---- arguments ---- */

static void make_shapes(struct tp_fragment *shapes, const struct tp_string *s)
{
	struct tp_shapes_group group;
	char *dims, *types;
	size_t n, n_types;

	shapes->has_group = tp_shapes_group(s->bytes, s->n_bytes, &group);
	if (!tp_kineto_shapes(s, &dims, &types))
		return;
	n = strlen(dims);
	n_types = strlen(types);
	if (n + n_types <= SHAPES_MAX) {
		shapes->bytes = tp_need(1, n + n_types);
		memcpy(shapes->bytes, dims, n);
		memcpy(shapes->bytes + n, types, n_types);
		shapes->n = (uint32_t)n;
		shapes->n_second = (uint32_t)n_types;
	}
	free(dims);
	free(types);
}

void tp_timeline_make_room(struct tp_timeline *t, const struct tp_event *event)
{
	uint32_t most = event->name->same;

	if (event->shapes->same > most)
		most = event->shapes->same;
	if (event->detail && event->detail->same > most)
		most = event->detail->same;
	if (most >= t->n_strings)
		tp_need_room(&t->of_string, &t->n_strings, (uint64_t)most + 1,
			     sizeof(*t->of_string));
}

const struct tp_fragment *tp_timeline_make(struct tp_timeline *t, const struct tp_string *s)
{
	static const struct tp_fragment none;

	if (s->same >= t->n_strings)
		return &none;
	t->of_string[s->same].is_made = true;
	if (s->kind == TP_STRING_SHAPES)
		make_shapes(&t->of_string[s->same], s);
	else if (s->kind)
		make_name(t, &t->of_string[s->same], s);
	return &t->of_string[s->same];
}

/* The arguments as bytes of the format. */
static void encode(const struct tp_timeline *t, struct tp_fragment *fragment,
		   const struct tp_args *args)
{
	char *bytes = tp_need(1, args->n * 64u + args->n_text + 1), *fitted;

	fragment->n = (uint32_t)(t->encoder->put_args(bytes, args) - bytes);
	fitted = realloc(bytes, fragment->n + 1);
	free(fragment->bytes);
	fragment->bytes = fitted ? fitted : bytes;
}

static void add_graph(struct tp_args *args, uint32_t graph, uint64_t node)
{
	if (graph)
		tp_arg_uint(args, TP_KEY_GRAPH, graph);
	if (node)
		tp_arg_uint(args, TP_KEY_GRAPH_NODE, node);
}

static void add_launch(struct tp_args *args, const struct tp_launch *launch,
		       const struct tp_device *device, const struct tp_event *event)
{
	struct tp_occupancy occupancy = tp_occupancy_kernel(device, event);

	if (launch->block[0]) {
		tp_arg_uint(args, TP_KEY_REGISTERS, launch->registers);
		tp_arg_uint(args, TP_KEY_SHARED,
			    (uint64_t)launch->shared_static + launch->shared_dynamic);
		if (occupancy.blocks > 0) {
			tp_arg_double(args, TP_KEY_BLOCKS, TP_ARG_DOUBLE, occupancy.blocks);
			if (occupancy.warps > 0)
				tp_arg_double(args, TP_KEY_WARPS, TP_ARG_DOUBLE, occupancy.warps);
		}
		tp_arg_list(args, TP_KEY_GRID, launch->grid);
		tp_arg_list(args, TP_KEY_BLOCK, launch->block);
		if (launch->cluster[0])
			tp_arg_list(args, TP_KEY_CLUSTER, launch->cluster);
		if (occupancy.is_known)
			tp_arg_uint(args, TP_KEY_OCCUPANCY,
				    tp_kineto_percent(occupancy.estimated));
	}
	add_graph(args, launch->graph, launch->graph_node);
}

static void add_transfer(struct tp_args *args, const struct tp_transfer *transfer)
{
	if (transfer->copy_kind && transfer->from_device != transfer->to_device) {
		tp_arg_uint(args, TP_KEY_FROM_DEVICE, transfer->from_device);
		tp_arg_uint(args, TP_KEY_TO_DEVICE, transfer->to_device);
	}
	if (!transfer->copy_kind)
		tp_arg_uint(args, TP_KEY_VALUE, transfer->value);
	add_graph(args, transfer->graph, transfer->graph_node);
}

static void make_detail(const struct tp_timeline *t, struct tp_fragment *fragment,
			const struct tp_event *event)
{
	const struct tp_queue *queue = event->queue;
	struct tp_launch launch = tp_device_launch(event);
	struct tp_transfer transfer = tp_device_transfer(event);
	struct tp_args args = {.in = t->dialect->bit};

	tp_arg_int(&args, TP_KEY_DEVICE, (int32_t)queue->device);
	tp_arg_uint(&args, TP_KEY_CONTEXT, queue->context);
	tp_arg_int(&args, TP_KEY_STREAM,
		   queue->stream ? (int32_t)queue->stream : t->dialect->stream_0);
	if (event->detail->kind == TP_STRING_LAUNCH)
		add_launch(&args, &launch, fragment->device, event);
	else if (event->detail->kind == TP_STRING_TRANSFER)
		add_transfer(&args, &transfer);
	encode(t, fragment, &args);
}

const struct tp_fragment *tp_timeline_detail(struct tp_timeline *t, const struct tp_event *event)
{
	const struct tp_device *device = tp_device_of(event->proc, event->queue->device);
	struct tp_fragment *fragment = &t->no_detail;

	/* What has no string of its own differs from event to event. */
	if (event->detail->kind && event->detail->same < t->n_strings)
		fragment = &t->of_string[event->detail->same];
	/* Another process may call another device by the same id. */
	if (fragment != &t->no_detail && fragment->is_made &&
	    (fragment->device == device ||
	     (fragment->device && device && !memcmp(fragment->device, device, sizeof(*device)))))
		return fragment;
	fragment->is_made = true;
	fragment->device = device;
	make_detail(t, fragment, event);
	return fragment;
}

/* ---- stacks ---- */

/* The end of a path tells more than its start. */
static void add_end(struct tp_text *text, const char *s)
{
	size_t n = strlen(s);

	tp_text_str(text, n > FRAME_TEXT_MAX ? s + n - FRAME_TEXT_MAX : s);
}

/* Innermost first: TensorBoard's plugin splits it at semicolons. */
static void write_stack(struct tp_text *text, const struct tp_frame *frame, uint32_t n)
{
	for (uint32_t i = 0; i < n && text->len < STACK_MAX; i++) {
		tp_text_str(text, i ? ";" : "");
		add_end(text, frame[i].file);
		tp_text_char(text, '(');
		tp_text_u64(text, frame[i].line);
		tp_text_str(text, "): ");
		add_end(text, frame[i].function);
	}
}

/* Whole, as torch.profiler writes it; for people the line that tells most: "train.py:42 step". */
static void make_stack(const struct tp_timeline *t, struct tp_fragment *fragment, uint32_t stack)
{
	const struct tp_stacks *stacks = tp_origins_stacks(tp_module_times_origins(t->modules));
	struct tp_args args = {.in = t->dialect->bit};
	char bytes[STACK_MAX + 4 * FRAME_TEXT_MAX];
	struct tp_frame frame[FRAMES_MAX];
	struct tp_text text;
	uint32_t n = tp_stacks_frames(stacks, stack, frame, FRAMES_MAX), at;

	n = n < FRAMES_MAX ? n : FRAMES_MAX;
	tp_text_init(&text, bytes, sizeof(bytes));
	at = t->dialect->stack == TP_KEY_LINE ? tp_hostmem_telling_frame(frame, n) : n;
	if (t->dialect->stack != TP_KEY_LINE) {
		write_stack(&text, frame, n);
	} else if (at < n) {
		tp_hostmem_show_frame(bytes, 2 * FRAME_TEXT_MAX, &frame[at], TP_HOSTMEM_SHORT);
		text.len = strlen(bytes);
	}
	if (text.len)
		tp_arg_text(&args, t->dialect->stack, TP_ARG_TEXT, bytes, text.len);
	encode(t, fragment, &args);
}

const struct tp_fragment *tp_timeline_stack(struct tp_timeline *t, const struct tp_event *event)
{
	struct tp_origins *origins = tp_module_times_origins(t->modules);
	struct tp_fragment *fragment;
	uint32_t stack;

	/* Operators inside operators have none of their own. */
	if (!t->dialect->stack || event->kind != TP_REC_OP || !tp_origins_has_any(origins) ||
	    !(event->flags & TP_F_BACKWARD || tp_origins_is_outermost(origins, event)))
		return NULL;
	stack = tp_origins_of(origins, event).stack;
	if (!stack)
		return NULL;
	tp_need_room(&t->of_stack, &t->n_stacks, (uint64_t)stack + 1, sizeof(*t->of_stack));
	fragment = &t->of_stack[stack];
	if (!fragment->bytes)
		make_stack(t, fragment, stack);
	return fragment->n ? fragment : NULL;
}
