/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torch_ops.c - operators and autograd nodes: from torch's two callbacks to one record
 *
 * A range's start and end are paired by the context object that torch hands from one to the
 * other, never by a stack: ranges may end on another thread, and in any order. Callbacks run
 * on guest threads without the interpreter's lock. Ranges in flight keep their callbacks, so
 * an end may come long after the window: it then makes no record.
 */
#include "runtime/probe/torch/torch_state.h"

#include <sys/mman.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/engine/session.h"
#include "runtime/probe/python/pyplace.h"

void tp_torch_populate(void *start, size_t n_bytes)
{
#ifdef MADV_POPULATE_WRITE
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t at = (uintptr_t)start & ~(page - 1);

	/* A kernel that does not know it leaves the faults to the first user: slower, no worse. */
	madvise((void *)at, (uintptr_t)start + n_bytes - at, MADV_POPULATE_WRITE);
#endif
}

/* The innermost range that is open on this thread is an operator. */
static bool is_inside(const struct tp_ring_slot *slot)
{
	uint32_t depth = __atomic_load_n(&slot->depth, __ATOMIC_RELAXED);

	return depth && depth <= TP_OPEN_SPANS && slot->open[depth - 1].kind == TP_REC_OP;
}

static TP_HOT void *begin_operator(void **ret, const void *rf, bool with_shapes)
{
	struct tp_torch_span *span;
	struct tp_ring_slot *slot;

	*ret = NULL;
	if (tp_unlikely(__atomic_load_n(&tp_torch.phase, __ATOMIC_RELAXED) != TP_TORCH_OPEN))
		return ret;
	slot = tp_ring_slot();
	span = tp_torch_span_take();
	if (tp_unlikely(!span))
		return ret;
	span->name = tp_torch_name(rf, false);
	span->shapes = with_shapes ? tp_torch_shapes(rf) : 0;
	span->windows = __atomic_load_n(&tp_torch.windows, __ATOMIC_RELAXED);
	span->thread = slot;
	span->thread_at = (uint16_t)tp_ring_self.slot_at;
	span->is_async = tp_torch.layout.record.is_async &&
			 tp_torch_u8(rf, tp_torch.layout.record.is_async);
	*ret = span;
	if (tp_unlikely(tp_pyplace_is_on) && slot && !span->is_async)
		span->begin = tp_pyplace_operator(is_inside(slot));
	else
		span->begin = tp_clock_now();
	if (tp_likely(slot != NULL && !span->is_async)) {
		tp_torch_note_thread(slot, rf);
		span->depth = tp_ring_span_begin(TP_REC_OP, span->name, span->begin);
	}
	return ret;
}

static TP_HOT TP_TORCH_CALLED_BY_TORCH void *start_operator(void **ret, const void *rf)
{
	return begin_operator(ret, rf, false);
}
TP_TORCH_DEFINE_START(start_operator);

static TP_TORCH_CALLED_BY_TORCH void *start_operator_shapes(void **ret, const void *rf)
{
	return begin_operator(ret, rf, true);
}
TP_TORCH_DEFINE_START(start_operator_shapes);

static TP_HOT void end_operator(const void *rf, void *observer)
{
	const struct tp_torch_record_layout *record = &tp_torch.layout.record;
	const uint64_t now = tp_clock_now();
	struct tp_torch_span *span = observer;
	uint64_t forward = 0;
	bool is_here;
	uint8_t scope;

	if (tp_unlikely(!span ||
			__atomic_load_n(&tp_torch.phase, __ATOMIC_RELAXED) != TP_TORCH_OPEN ||
			span->windows != __atomic_load_n(&tp_torch.windows, __ATOMIC_RELAXED)))
		return;
	is_here = span->thread == tp_ring_self.slot;
	if (tp_likely(tp_session_is_recording())) {
		struct tp_rec *rec = tp_ring_reserve();

		if (tp_likely(rec != NULL)) {
			scope = tp_torch_u8(rf, record->scope);
			if (scope == TP_SCOPE_BACKWARD && record->forward_thread)
				forward = tp_torch_u64(rf, record->forward_thread);
			rec->time = span->begin;
			tp_rec_set_len(rec, now - span->begin);
			rec->kind = TP_REC_OP;
			rec->flags = scope == TP_SCOPE_BACKWARD ? TP_F_BACKWARD : 0;
			if (tp_unlikely(span->is_async || !is_here)) {
				rec->flags |= TP_F_ASYNC;
				forward = span->thread_at;
			}
			rec->name = span->name;
			/* -1, no number, becomes TP_NO_SEQ. */
			rec->link = record->sequence ?
					    (uint32_t)tp_torch_u64(rf, record->sequence) :
					    TP_NO_SEQ;
			rec->arg = TP_ARG_OP(span->shapes, forward, scope);
			tp_ring_commit();
		}
	}
	/* After the record, so that a kill finds the operator in one of the two places. */
	if (tp_likely(is_here && !span->is_async && span->thread &&
		      span->thread->depth > span->depth))
		tp_ring_span_end(span->depth);
}

void tp_torch_operators_add(bool with_shapes)
{
	struct tp_torch_callback callback = {
		.start = with_shapes ? TP_TORCH_START(start_operator_shapes) :
				       TP_TORCH_START(start_operator),
		.end = (void *)end_operator,
		.probability = 1.0,
		.needs_inputs = with_shapes,
	};

	if (tp_torch.operators)
		return;
	callback.scopes[TP_SCOPE_FUNCTION] = 1;
	callback.scopes[TP_SCOPE_BACKWARD] = 1;
	callback.scopes[TP_SCOPE_TORCHSCRIPT] = 1;
	tp_torch.operators = tp_torch.abi.add(callback);
}

void tp_torch_operators_remove(void)
{
	if (!tp_torch.operators)
		return;
	tp_torch.abi.remove(tp_torch.operators);
	tp_torch.operators = 0;
}
