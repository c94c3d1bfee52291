/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_share.c - full buffers, ours and those of another user of CUPTI
 */
#include "runtime/probe/gpu/cupti_share.h"

#include <string.h>

#include "runtime/probe/gpu/cupti_buffers.h"
#include "runtime/probe/gpu/cupti_lib.h"

/* All atomic. */
static struct {
	CUpti_BuffersCallbackRequestFunc requested;
	CUpti_BuffersCallbackCompleteFunc completed;	/* NULL: there is nobody */
	bool is_current;	/* CUPTI asks him for buffers, not us */
	uint64_t kinds;		/* that he wants, by number */
	uint64_t n_lost;
} other;

/* A buffer of his that is being filled with what CUPTI wrote to one of ours. */
struct copy {
	CUcontext context;
	uint32_t stream;
	uint8_t *bytes;		/* NULL: none yet */
	size_t size, most, used, n;	/* most: records, 0: as many as fit */
};

uint64_t tp_cupti_share_lost(void)
{
	return __atomic_load_n(&other.n_lost, __ATOMIC_RELAXED);
}

static void give_copy(struct copy *copy)
{
	CUpti_BuffersCallbackCompleteFunc completed = __atomic_load_n(&other.completed, __ATOMIC_ACQUIRE);

	if (copy->bytes && completed)
		completed(copy->context, copy->stream, copy->bytes, copy->size, copy->used);
	copy->bytes = NULL;
}

static bool has_room(const struct copy *copy, size_t n_bytes)
{
	return copy->bytes && copy->used + n_bytes <= copy->size && (!copy->most || copy->n < copy->most);
}

static void request(struct copy *copy)
{
	CUpti_BuffersCallbackRequestFunc requested = __atomic_load_n(&other.requested, __ATOMIC_ACQUIRE);

	copy->size = copy->most = copy->used = copy->n = 0;
	if (requested)
		requested(&copy->bytes, &copy->size, &copy->most);
}

static bool is_wanted(const CUpti_Activity *record)
{
	const uint64_t kinds = __atomic_load_n(&other.kinds, __ATOMIC_RELAXED);

	return (uint32_t)record->kind < 64 && kinds >> record->kind & 1;
}

static void copy_record(struct copy *copy, const uint8_t *record, size_t n_bytes)
{
	if (is_wanted((const CUpti_Activity *)record) && !has_room(copy, n_bytes)) {
		give_copy(copy);
		request(copy);
	}
	if (!is_wanted((const CUpti_Activity *)record) || !has_room(copy, n_bytes)) {
		__atomic_fetch_add(&other.n_lost, 1, __ATOMIC_RELAXED);
		return;
	}
	memcpy(copy->bytes + copy->used, record, n_bytes);
	copy->used += n_bytes;
	copy->n++;
}

/* All records of a buffer of ours. */
static void hand_over(struct copy *copy, uint8_t *memory, size_t valid)
{
	CUpti_Activity *record = NULL;
	const uint8_t *at = NULL;

	while (tp_cupti.cuptiActivityGetNextRecord(memory, valid, &record) == CUPTI_SUCCESS) {
		if (at)
			copy_record(copy, at, (size_t)((const uint8_t *)record - at));
		at = (const uint8_t *)record;
	}
	if (at)
		copy_record(copy, at, (size_t)(memory + valid - at));
	give_copy(copy);
}

static void CUPTIAPI take_completed(CUcontext context, uint32_t stream, uint8_t *memory, size_t size,
				    size_t valid)
{
	CUpti_BuffersCallbackCompleteFunc completed = __atomic_load_n(&other.completed, __ATOMIC_ACQUIRE);
	struct copy copy = {.context = context, .stream = stream};

	if (!tp_cupti_buffer_is_own(memory)) {
		if (completed)
			completed(context, stream, memory, size, valid);
		return;
	}
	if (__atomic_load_n(&other.is_current, __ATOMIC_ACQUIRE)) {
		hand_over(&copy, memory, valid);
		memset(memory, 0, valid);
		valid = 0;
	}
	tp_cupti_buffer_completed(context, stream, memory, size, valid);
}

CUpti_BuffersCallbackCompleteFunc tp_cupti_share_with(CUpti_BuffersCallbackRequestFunc requested,
						      CUpti_BuffersCallbackCompleteFunc completed)
{
	if (!requested || !completed || completed == take_completed)
		return completed;
	__atomic_store_n(&other.requested, requested, __ATOMIC_RELEASE);
	__atomic_store_n(&other.completed, completed, __ATOMIC_RELEASE);
	__atomic_store_n(&other.is_current, true, __ATOMIC_RELEASE);
	return tp_cupti_buffers_are_open() ? take_completed : completed;
}

void tp_cupti_share_kind(CUpti_ActivityKind kind)
{
	uint64_t kinds = (uint32_t)kind < 64 ? UINT64_C(1) << kind : 0;

	/* Copies between devices come as another kind. */
	if (kind == CUPTI_ACTIVITY_KIND_MEMCPY)
		kinds |= UINT64_C(1) << CUPTI_ACTIVITY_KIND_MEMCPY2;
	__atomic_fetch_or(&other.kinds, kinds, __ATOMIC_RELAXED);
}

CUpti_BuffersCallbackCompleteFunc tp_cupti_share_ours(void)
{
	__atomic_store_n(&other.is_current, false, __ATOMIC_RELEASE);
	__atomic_store_n(&other.kinds, 0, __ATOMIC_RELAXED);
	return take_completed;
}

void tp_cupti_share_forget(void)
{
	__atomic_store_n(&other.is_current, false, __ATOMIC_RELEASE);
	__atomic_store_n(&other.completed, NULL, __ATOMIC_RELEASE);
}
