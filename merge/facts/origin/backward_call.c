/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backward_call.c - see the header
 */
#include "merge/facts/origin/backward_call.h"

#include "merge/facts/origin/hostmem_frames.h"
#include "runtime/base/begins.h"
#include "runtime/trace/torch_names.h"

enum { FRAMES = 64 };

bool tp_backward_is_node(const struct tp_event *event)
{
	return event->flags & TP_F_BACKWARD ||
	       tp_begins(event->name->bytes, event->name->n_bytes, TP_NAME_ENGINE);
}

/* Python's way from the program's backward() into the engine. */
static bool is_call_of_backward(const struct tp_frame *frame)
{
	return frame->is_python && (tp_ends(frame->file, "/torch/autograd/graph.py") ||
				    tp_ends(frame->file, "/torch/autograd/__init__.py") ||
				    tp_ends(frame->file, "/torch/_tensor.py"));
}

bool tp_backward_is_inside(const struct tp_stacks *stacks, uint32_t stack)
{
	struct tp_frame frame[FRAMES];
	uint32_t n = tp_stacks_frames(stacks, stack, frame, FRAMES), telling;

	n = n < FRAMES ? n : FRAMES;
	telling = tp_hostmem_telling_frame(frame, n);
	for (uint32_t i = 0; i < telling && i < n; i++)
		if (is_call_of_backward(&frame[i]))
			return false;
	return telling < n;
}
