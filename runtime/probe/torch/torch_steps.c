/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torch_steps.c - user ranges: those of optimizers and data loaders tell the engine where
 * steps begin and end; all become records while a window is open
 *
 * A window may open and close, and with it the callbacks come and go (torch_ranges.c), inside the
 * end of a range: that is where the boundary of a step lies. So a range's own record is made before
 * the engine is told of it.
 */
#include <string.h>

#include "runtime/base/clock.h"
#include "runtime/base/hash.h"
#include "runtime/engine/facts.h"
#include "runtime/engine/proof.h"
#include "runtime/engine/intern.h"
#include "runtime/engine/range_memory.h"
#include "runtime/engine/session.h"
#include "runtime/engine/step/step.h"
#include "runtime/probe/python/frameworks.h"
#include "runtime/probe/python/pyframe.h"
#include "runtime/probe/python/pyplace.h"
#include "runtime/probe/torch/category.h"
#include "runtime/probe/torch/torch_flight.h"
#include "runtime/probe/torch/torch_group.h"
#include "runtime/probe/torch/torch_ranges.h"
#include "runtime/probe/torch/torch_state.h"
#include "runtime/trace/torch_names.h"

static const struct {
	const char *prefix;
	enum tp_pyframe_function function;	/* whose first argument tells who */
} sources[TP_TORCH_SOURCE_OTHER] = {
	[TP_TORCH_SOURCE_STEP] = { TP_NAME_OPTIMIZER, TP_PYFRAME_STEP },
	[TP_TORCH_SOURCE_ZERO_GRAD] = { TP_NAME_ZERO_GRAD, TP_PYFRAME_ZERO_GRAD },
	[TP_TORCH_SOURCE_LOADER] = { TP_NAME_LOADER, TP_PYFRAME_NEXT },
};

static enum tp_torch_source find_source(const char *text, uint32_t n_bytes)
{
	for (uint32_t i = 0; i < TP_TORCH_SOURCE_OTHER; i++) {
		size_t n = strlen(sources[i].prefix);

		if (n_bytes > n && memcmp(text, sources[i].prefix, n) == 0)
			return (enum tp_torch_source)i;
	}
	return TP_TORCH_SOURCE_OTHER;
}

/* Which optimizer: the object, or where that cannot be seen, its class's name. */
static uint64_t find_optimizer(enum tp_torch_source source, const char *text, uint32_t n_bytes)
{
	uint64_t who = tp_pyframe_object(sources[source].function);
	const char *hash;

	if (who)
		return who;
	/* "Optimizer.step#Adam.step" and "Optimizer.zero_grad#Adam.zero_grad" are one. */
	hash = memchr(text, '#', n_bytes);
	if (hash) {
		const char *class = hash + 1;
		size_t n_left = n_bytes - (size_t)(class - text);
		const char *dot = memchr(class, '.', n_left);

		return tp_hash_bytes(class, dot ? (size_t)(dot - class) : n_left, 0);
	}
	return tp_hash_bytes(text, n_bytes, 0);
}

/* For who wonders why a loader is slow. Once a pass; known ones are not noted again. */
static void note_dataset(void)
{
	char text[512];

	if (tp_pyframe_dataset(text, sizeof(text)))
		tp_facts_add("dataset", text);
}

static enum tp_step_call find_call(int32_t n_yielded)
{
	if (n_yielded)
		return TP_STEP_CALL_FURTHER;
	return tp_torch.abi.has_gradients && !tp_torch.abi.has_gradients() ? TP_STEP_CALL_NO_GRAD
									   : TP_STEP_CALL_FIRST;
}

static void tell_begin(struct tp_torch_span *span, const char *text, uint32_t n_bytes)
{
	if (span->source != TP_TORCH_SOURCE_OTHER) {
		tp_frameworks_seen();
		if (tp_unlikely(__atomic_load_n(&tp_torch.is_version_due, __ATOMIC_RELAXED)))
			tp_torch_note_version(true);
	}
	switch ((enum tp_torch_source)span->source) {
	case TP_TORCH_SOURCE_STEP:
		span->who = find_optimizer(TP_TORCH_SOURCE_STEP, text, n_bytes);
		tp_step_optimizer_begin(span->who, span->begin);
		break;
	case TP_TORCH_SOURCE_ZERO_GRAD:
		span->who = find_optimizer(TP_TORCH_SOURCE_ZERO_GRAD, text, n_bytes);
		break;
	case TP_TORCH_SOURCE_LOADER:
		span->who = tp_pyframe_loader(&span->n_yielded);
		if (span->n_yielded == 0)
			note_dataset();
		tp_step_loader_begin(span->who, find_call(span->n_yielded), span->begin);
		break;
	case TP_TORCH_SOURCE_OTHER:
		break;
	}
}

static enum tp_step_got find_got(const struct tp_torch_span *span)
{
	int32_t n_yielded;

	if (span->n_yielded < 0)
		return TP_STEP_GOT_UNKNOWN;
	tp_pyframe_loader(&n_yielded);
	if (n_yielded < 0)
		return TP_STEP_GOT_UNKNOWN;
	return n_yielded > span->n_yielded ? TP_STEP_GOT_BATCH : TP_STEP_GOT_NONE;
}

static void tell_end(const void *rf, const struct tp_torch_span *span, uint64_t now)
{
	const char *text;
	uint32_t n_bytes;

	switch ((enum tp_torch_source)span->source) {
	case TP_TORCH_SOURCE_STEP:
		tp_step_optimizer_end(span->who, span->begin, now);
		tp_category_step_end(span->who);
		break;
	case TP_TORCH_SOURCE_ZERO_GRAD:
		tp_step_zero_grad_end(span->who, now);
		break;
	case TP_TORCH_SOURCE_LOADER:
		tp_step_loader_end(span->who, span->begin, now, find_got(span));
		break;
	case TP_TORCH_SOURCE_OTHER:
		if (!span->is_async) {
			text = tp_torch_text(rf, &n_bytes);
			tp_step_range_end(text, n_bytes, now);
		}
		break;
	}
}

/* What a child process does only when it trains: loaders may run in workers, too. */
static bool is_training(enum tp_torch_source source)
{
	return source == TP_TORCH_SOURCE_STEP || source == TP_TORCH_SOURCE_ZERO_GRAD;
}

/*
 * Nothing is open yet: is this what only a training does? True: now the session is open. A
 * child of fork is a worker until an optimizer steps in it: loaders may run in workers.
 */
static bool prove_training(const void *rf, bool is_child)
{
	enum tp_torch_source source;
	const char *text;
	uint32_t n_bytes;

	if (tp_torch_u8(rf, tp_torch.layout.record.scope) == TP_SCOPE_USER) {
		text = tp_torch_text(rf, &n_bytes);
		source = find_source(text, n_bytes);
		if (source == TP_TORCH_SOURCE_OTHER || (is_child && !is_training(source)))
			return false;
	} else if (is_child) {
		return false;
	}
	return tp_proof_training_seen();
}

/* Counted from the start, so that all ranks agree on the numbers, whenever their sessions open. */
static void count_early(const void *rf)
{
	const char *text;
	uint32_t n_bytes;

	if (tp_torch_u8(rf, tp_torch.layout.record.scope) != TP_SCOPE_USER)
		return;
	text = tp_torch_text(rf, &n_bytes);
	if (tp_torch_is_collective(text, n_bytes))
		tp_torch_group_begin(text, n_bytes, false);
}

/* The flight recorder is on for the whole run: a range that has another name each time ("step 17") would fill
 * the table of names, which is for operators, too. */
static uint32_t range_name(const void *rf, enum tp_torch_source source)
{
	if (tp_unlikely(tp_session_level() == TP_LEVEL_RECORDER && source == TP_TORCH_SOURCE_OTHER &&
			tp_intern_is_half_full()))
		return tp_intern_text("a range (the table of names is half full)");
	return tp_torch_name(rf, true);
}

/* There is a session, perhaps by this, and it is a range of the user's. */
static bool is_wanted(const void *rf)
{
	const uint32_t phase = __atomic_load_n(&tp_torch.phase, __ATOMIC_ACQUIRE);

	if (tp_unlikely(phase == TP_TORCH_WATCH || phase == TP_TORCH_FORKED)) {
		if (!prove_training(rf, phase == TP_TORCH_FORKED)) {
			count_early(rf);
			return false;
		}
	} else if (phase != TP_TORCH_OPEN || !tp_session_is_open()) {
		return false;
	}
	return tp_torch_u8(rf, tp_torch.layout.record.scope) == TP_SCOPE_USER;
}

static TP_TORCH_CALLED_BY_TORCH void *start_range(void **ret, const void *rf)
{
	const struct tp_torch_record_layout *record = &tp_torch.layout.record;
	struct tp_torch_span *span;
	struct tp_ring_slot *slot;
	const char *text;
	uint32_t n_bytes;
	bool is_async;

	*ret = NULL;
	if (!is_wanted(rf))
		return ret;
	is_async = record->is_async && tp_torch_u8(rf, record->is_async);
	tp_torch_range_came(rf, is_async);
	slot = tp_ring_slot();
	span = tp_torch_span_take();
	if (!span)
		return ret;
	text = tp_torch_text(rf, &n_bytes);
	span->source = (uint8_t)find_source(text, n_bytes);
	/* Names that may be different each time ("step 17") are kept inside windows only. */
	span->is_recorded = tp_session_is_recording();
	span->name = span->source != TP_TORCH_SOURCE_OTHER || span->is_recorded ?
			     range_name(rf, (enum tp_torch_source)span->source) : 0;
	span->shapes = 0;
	span->is_collective = tp_torch_is_collective(text, n_bytes);
	if (span->is_collective) {
		span->who = tp_torch_group_begin(text, n_bytes, true);
		if (span->is_recorded)
			span->shapes = tp_torch_group_shapes(rf, &span->waited_ns);
	}
	span->windows = __atomic_load_n(&tp_torch.windows, __ATOMIC_RELAXED);
	span->is_async = is_async;
	span->thread = NULL;
	span->thread_at = (uint16_t)tp_ring_self.slot_at;
	*ret = span;
	if (tp_unlikely(tp_pyplace_is_on) && span->is_recorded && slot && !span->is_async)
		span->begin = tp_pyplace_operator(false);
	else
		span->begin = tp_clock_now();
	if (span->is_recorded)
		tp_range_memory_tell(span->name);
	/* An asynchronous range is made on one thread, and may already begin on another. */
	if (slot && !span->is_async) {
		tp_torch_note_thread(slot, rf);
		if (span->name) {
			span->thread = slot;
			span->depth = tp_ring_span_begin(TP_REC_RANGE, span->name, span->begin);
		}
	}
	if (tp_unlikely(tp_session_is_follower()) && is_training(span->source))
		tp_session_lead(span->begin);
	if (tp_likely(!tp_session_is_follower()))
		tell_begin(span, text, n_bytes);
	return ret;
}
TP_TORCH_DEFINE_START(start_range);

static void record_range(const void *rf, const struct tp_torch_span *span, uint64_t now)
{
	struct tp_rec *rec;
	/* Interning may itself make the thread's slot; the record's room comes after. */
	uint32_t name = span->name ? span->name : range_name(rf, (enum tp_torch_source)span->source);
	uint32_t began_on = 0;

	rec = tp_ring_reserve();
	if (!rec)
		return;
	rec->time = span->begin;
	tp_rec_set_len(rec, now - span->begin);
	rec->kind = TP_REC_RANGE;
	rec->flags = span->begin < tp_torch.armed_at ? TP_F_EARLY : 0;
	if (span->is_async || (span->thread && span->thread != tp_ring_self.slot)) {
		rec->flags |= TP_F_ASYNC;
		began_on = span->thread_at;
	}
	rec->name = name;
	rec->link = span->shapes ? span->waited_ns : TP_NO_SEQ;
	rec->arg = TP_ARG_OP(span->shapes, began_on, TP_SCOPE_USER);
	tp_ring_commit();
	tp_range_memory_tell(name);
}

static void end_range(const void *rf, void *observer)
{
	const uint64_t now = tp_clock_now();
	struct tp_torch_span *span = observer;

	if (!span || __atomic_load_n(&tp_torch.phase, __ATOMIC_RELAXED) != TP_TORCH_OPEN)
		return;
	if (span->is_collective)
		tp_torch_flight_end((uint32_t)span->who);
	/* Also when the window ended inside of it: what lay in the window is written. */
	if (tp_session_is_recording() || span->is_recorded)
		record_range(rf, span, now);
	if (span->thread && span->thread == tp_ring_self.slot &&
	    span->thread->depth > span->depth)
		tp_ring_span_end(span->depth);
	/* A tick later: the range belongs to the step that ends with it, not to the next. */
	if (tp_likely(!tp_session_is_follower()))
		tell_end(rf, span, now + 1);
	tp_torch_types_range_ended();
	tp_torch_range_ended();
}

struct tp_torch_callback tp_torch_range_callback(void)
{
	struct tp_torch_callback callback = {
		.start = TP_TORCH_START(start_range),
		.end = (void *)end_range,
		.probability = 1.0,
	};

	callback.scopes[TP_SCOPE_USER] = 1;
	return callback;
}
