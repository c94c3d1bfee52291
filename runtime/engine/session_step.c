/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_step.c - a step that ends: its tensors, its record, its place in the ring of steps
 */
#include "runtime/engine/ring/ring.h"
#include "runtime/engine/session_state.h"
#include "runtime/engine/step/step.h"

static struct tp_session_state *const session = &tp_session_state;

struct tp_session_tensors tp_session_tensors;

static struct tp_session_tensors *const tensors = &tp_session_tensors;

/* ---- tensors ---- */

void tp_session_live_forget(void)
{
	tp_biased_forget(&tensors->live);
}

void tp_session_device_live(uint64_t total_bytes)
{
	tp_session_tensors_turn();
	__atomic_store_n(&tensors->device_live, total_bytes, __ATOMIC_RELAXED);
	tp_raise(&tensors->device_peak, total_bytes);
}

uint64_t tp_session_tensor_turn(void)
{
	return __atomic_load_n(&tensors->turn, __ATOMIC_RELAXED);
}

void tp_session_tensor_bytes(uint64_t *live, uint64_t *peak)
{
	int64_t now = tp_biased_read(&tensors->live);
	int64_t most = __atomic_load_n(&tensors->live.peak, __ATOMIC_RELAXED);

	*live = now > 0 ? (uint64_t)now : 0;
	*peak = most > now && most > 0 ? (uint64_t)most : *live;
}

uint32_t tp_session_step_tid(void)
{
	return __atomic_load_n(&session->step_tid, __ATOMIC_RELAXED);
}

/* ---- steps ---- */

static void count_tensors(struct tp_ring_step *step)
{
	int64_t live, peak = tp_biased_take_peak(&tensors->live, &live);

	/* Blocks that were made before we looked may be freed later: never below nothing. */
	step->live_bytes = live > 0 ? (uint64_t)live : 0;
	step->peak_bytes = peak > live ? (uint64_t)(peak > 0 ? peak : 0) : step->live_bytes;
	step->device_live = __atomic_load_n(&tensors->device_live, __ATOMIC_RELAXED);
	step->device_peak = __atomic_exchange_n(&tensors->device_peak, step->device_live,
						__ATOMIC_RELAXED);
	if (step->device_peak < step->device_live)
		step->device_peak = step->device_live;
}

/* Into the ring of steps, word by word: the drain may be reading the entry of 1,024 steps ago. */
static void keep_step(const struct tp_ring_step *step, uint64_t index)
{
	uint64_t *to = (uint64_t *)&tp_ring.steps[index % TP_RING_STEPS];
	const uint64_t *from = (const uint64_t *)step;

	__atomic_store_n(&to[0], 0, __ATOMIC_RELAXED);
	/* Release: who sees a new word sees that the old entry is gone. */
	for (uint32_t i = 1; i < sizeof(*step) / 8; i++)
		__atomic_store_n(&to[i], from[i], __ATOMIC_RELEASE);
	__atomic_store_n(&to[0], index + 1, __ATOMIC_RELEASE);
	__atomic_store_n(&tp_ring.head->steps_done, index + 1, __ATOMIC_RELEASE);
}

static void record_step(const struct tp_ring_step *step, uint64_t index)
{
	struct tp_rec *rec = tp_ring_reserve();
	const uint64_t end = step->begin + step->duration;
	/* A window may have begun in the middle of its first step. */
	const uint64_t opened =
		session->is_window ? tp_ring_window_at(tp_ring.head->windows_begun - 1)->begin : 0;
	const uint64_t begin = step->begin > opened ? step->begin : opened;

	if (!rec)
		return;
	rec->time = begin;
	/* A window of the flight recorder begins with a step: the one before is to lie outside of it. */
	tp_rec_set_len(rec, end > begin ? end - begin - !session->is_window : 0);
	rec->kind = TP_REC_STEP;
	rec->flags = step->flags & (TP_F_CLOCK | TP_F_SKIPPED);
	rec->name = session->step_name;
	rec->link = (uint32_t)index;
	rec->arg = (uint64_t)step->epoch << 32 | step->in_epoch;
	tp_ring_commit();
}

static uint64_t count_heap(void)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; session->probes[i]; i++)
		if (session->probes[i]->live)
			bytes += session->probes[i]->live();
	return bytes;
}

void tp_session_finish_step(uint64_t now, const struct tp_step_facts *facts)
{
	uint64_t dropped = tp_ring_dropped();
	struct tp_ring_step step = {
		.begin = session->step_begin,
		.duration = now > session->step_begin ? now - session->step_begin : 0,
		.data_wait = facts->data_wait,
		.optimizer = facts->optimizer,
		.dropped = dropped - session->dropped,
		.epoch = session->epoch,
		.in_epoch = (uint32_t)session->in_epoch,
		.batches = facts->batches,
		.phase = (uint8_t)session->action.phase,
		.source = (uint8_t)facts->source,
		.flags = facts->flags,
	};

	session->dropped = dropped;
	if (tp_ring_self.slot && tp_ring_self_is_of_ring())
		__atomic_store_n(&session->step_tid, tp_ring_self.slot->tid, __ATOMIC_RELAXED);
	count_tensors(&step);
	step.heap_bytes = count_heap();
	if (session->is_window || tp_session_recorder_is_on())
		record_step(&step, session->steps);
	keep_step(&step, session->steps);
	session->steps++;
	session->in_epoch++;
	session->at++;
	/* Steps shorter than a millisecond: rows must not be overwritten before they are written. */
	if (session->steps - __atomic_load_n(&tp_ring.head->steps_drained, __ATOMIC_RELAXED) ==
	    TP_RING_STEPS / 2)
		session->is_bell_due = true;
}
