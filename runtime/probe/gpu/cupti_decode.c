/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_decode.c - each activity record becomes a record of ours, is noted for others, or is counted
 *
 * Records come in no order. Names are looked up before there is room in the ring, and for records
 * of no window, too: so a warm-up warms the caches, and nothing is called between reserve and commit.
 */
#include "runtime/probe/gpu/cupti_decode.h"

#include <string.h>

#include "runtime/base/sync.h"
#include "runtime/engine/intern.h"
#include "runtime/engine/ring/ring.h"
#include "runtime/probe/gpu/cupti_clock.h"
#include "runtime/probe/gpu/cupti_facts.h"
#include "runtime/probe/gpu/cupti_layout.h"
#include "runtime/probe/gpu/cupti_lib.h"
#include "runtime/probe/gpu/cupti_names.h"
#include "runtime/probe/gpu/cupti_queue.h"
#include "runtime/trace/kinds.h"

enum { RING_LOOK = 512 };	/* records between two looks at how full the ring is */

struct tp_cupti_counts tp_cupti_counts[TP_REC_N];
uint64_t tp_cupti_unknown_kinds;

static struct {
	uint32_t version;
} decode;

int tp_cupti_decode_init(uint32_t version)
{
	decode.version = version;
	return 0;
}

void tp_cupti_decode_forked(void)
{
	memset(&decode, 0, sizeof(decode));
	memset(tp_cupti_counts, 0, sizeof(tp_cupti_counts));
	tp_cupti_unknown_kinds = 0;
	tp_cupti_place_forked();
	tp_cupti_names_reset();
	tp_cupti_facts_reset();
}

/* The record, and what only the driver tells. */
static void note_device(const void *bytes, uint32_t n_bytes)
{
	char lines[1024];
	struct tp_text text;
	uint32_t id, n, optin;

	n = tp_cupti_read_device(decode.version, bytes, n_bytes, &id, lines, sizeof(lines));
	if (!n)
		return;
	tp_text_init(&text, lines + n, sizeof(lines) - n);
	optin = tp_cupti_block_shared_optin(id);
	if (optin)
		tp_text_fmt(&text, "block_shared_optin=%u\n", optin);
	tp_intern(TP_STRING_DEVICE, lines, n + (uint32_t)text.len);
}

/* ---- records ---- */

static inline void fill(struct tp_rec *rec, uint8_t kind, const struct tp_cupti_record *from, uint32_t name,
			uint64_t arg)
{
	rec->kind = kind;
	rec->name = name;
	rec->link = kind == TP_REC_OVERHEAD ? 0 : from->correlation;
	rec->arg = arg;
}

/* Work whose times are missing: a loss, but not in a warm-up. */
static TP_COLD void count_untimed(uint8_t kind, const struct tp_cupti_record *from, uint32_t name,
				  uint64_t arg)
{
	struct tp_rec rec = {.time = 0};

	if (tp_kind_is_work(kind) && kind != TP_REC_GRAPH)
		tp_cupti_queue_note(kind, from);
	switch (tp_cupti_place_untimed(kind, from->correlation)) {
	case TP_CUPTI_OUTSIDE:
		tp_cupti_counts[kind].outside++;
		break;
	case TP_CUPTI_ASIDE:
		fill(&rec, kind, from, name, arg);
		tp_cupti_place_keep(&rec);
		break;
	default:
		tp_cupti_counts[kind].no_time++;
	}
}

static void keep(uint8_t kind, const struct tp_cupti_record *from, uint32_t name, uint64_t arg,
		 uint64_t begin, uint64_t end)
{
	struct tp_rec rec = {.time = begin};

	tp_rec_set_len(&rec, end - begin);
	fill(&rec, kind, from, name, arg);
	tp_cupti_place_keep(&rec);
}

/* The record with that name and arg, if it has a place now: 1, else 0, and why is counted. */
static uint32_t make(uint8_t kind, const struct tp_cupti_record *from, uint32_t name, uint64_t arg)
{
	struct tp_cupti_counts *counts = &tp_cupti_counts[kind];
	enum tp_cupti_place place;
	struct tp_rec *rec;
	uint64_t begin, end;

	counts->seen++;
	if (tp_unlikely(!from->start || from->end < from->start)) {
		count_untimed(kind, from, name, arg);
		return 0;
	}
	begin = tp_cupti_clock_ticks(from->start);
	end = tp_cupti_clock_ticks(from->end);
	if (end < begin)
		end = begin;
	place = tp_cupti_place(kind, begin, end, from->correlation);
	if (tp_unlikely(place < TP_CUPTI_NOW)) {
		counts->outside += place == TP_CUPTI_OUTSIDE;
		counts->late += place == TP_CUPTI_LATE;
		return 0;
	}
	if (tp_unlikely(place == TP_CUPTI_ASIDE)) {
		keep(kind, from, name, arg, begin, end);
		return 0;
	}
	rec = tp_ring_reserve();
	if (tp_unlikely(!rec)) {
		counts->no_room++;
		return 0;
	}
	rec->time = begin;
	tp_rec_set_len(rec, end - begin);
	rec->flags = from->kind == CUPTI_ACTIVITY_KIND_DRIVER ? TP_F_DRIVER :
		     place == TP_CUPTI_AFTER ? TP_F_AFTER : 0;
	fill(rec, kind, from, name, arg);
	tp_ring_commit();
	tp_cupti_count_made(kind, name, arg);
	return 1;
}

static uint32_t make_call(const struct tp_cupti_record *from)
{
	bool is_driver = from->kind == CUPTI_ACTIVITY_KIND_DRIVER;

	return make(TP_REC_CALL, from, tp_cupti_call_name(is_driver, from->cbid),
		    TP_ARG_CALL(from->tid, from->returned));
}

static uint32_t make_kernel(const struct tp_cupti_record *from)
{
	uint32_t name = tp_cupti_kernel_name(from->name);

	tp_cupti_note_context(from->launch.place.context, from->launch.place.device);
	/* Last: its words were stored in halves, and cannot be loaded before that is through. */
	return make(TP_REC_KERNEL, from, name, tp_cupti_launch(&from->launch));
}

static uint32_t make_transfer(uint8_t kind, const struct tp_cupti_record *from)
{
	tp_cupti_note_context(from->transfer.place.context, from->transfer.place.device);
	return make(kind, from, tp_cupti_transfer(&from->transfer), from->bytes);
}

static uint32_t make_sync(struct tp_cupti_record *from)
{
	const struct tp_cupti_event *event = tp_cupti_find_event(from);
	uint64_t arg = from->event;

	from->sync.place.device = tp_cupti_device_of(from->sync.place.context);
	if (event) {
		from->sync.recorded_stream = event->stream + 1;
		arg |= (uint64_t)event->correlation << 32;
	}
	return make(TP_REC_SYNC, from, tp_cupti_sync(&from->sync), arg);
}

/* Returns how many records it made: 0 or 1. */
static uint32_t decode_one(const struct tp_cupti_wanted *wanted, const void *bytes, uint32_t n_bytes)
{
	struct tp_cupti_record from;

	if (tp_unlikely(!tp_cupti_read(decode.version, bytes, n_bytes, &from))) {
		tp_cupti_unknown_kinds++;
		return 0;
	}
	switch (from.kind) {
	case CUPTI_ACTIVITY_KIND_RUNTIME:
	case CUPTI_ACTIVITY_KIND_DRIVER:
		return make_call(&from);
	case CUPTI_ACTIVITY_KIND_KERNEL:
	case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
		return make_kernel(&from);
	case CUPTI_ACTIVITY_KIND_MEMCPY:
	case CUPTI_ACTIVITY_KIND_MEMCPY2:
		return make_transfer(TP_REC_MEMCPY, &from);
	case CUPTI_ACTIVITY_KIND_MEMSET:
		return make_transfer(TP_REC_MEMSET, &from);
	case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
		return make_sync(&from);
	case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
		return make(TP_REC_GRAPH, &from, tp_cupti_launch(&from.launch), from.graph);
	case CUPTI_ACTIVITY_KIND_OVERHEAD:
		return make(TP_REC_OVERHEAD, &from,
			    tp_cupti_overhead_name(from.overhead_kind), from.tid);
	case CUPTI_ACTIVITY_KIND_CUDA_EVENT:
		tp_cupti_note_event(&from);
		return 0;
	case CUPTI_ACTIVITY_KIND_CONTEXT:
		tp_cupti_note_context(from.place.context, from.place.device);
		return 0;
	case CUPTI_ACTIVITY_KIND_MEMORY2:
		if (wanted->has_window)
			tp_cupti_note_memory(&from);
		return 0;
	case CUPTI_ACTIVITY_KIND_DEVICE:
		note_device(bytes, n_bytes);
		return 0;
	default:
		return 0;
	}
}

bool tp_cupti_is_ring_half_full(void)
{
	return tp_ring.head && tp_ring_chunks_used() > tp_ring.head->n_chunks / 2;
}

/* Sets batch->at to the record after the one there; false: there is none. */
static bool step(struct tp_cupti_batch *batch, CUpti_Activity *record)
{
	const uint8_t *next;

	if (tp_cupti.cuptiActivityGetNextRecord((uint8_t *)batch->bytes, batch->n_bytes, &record) !=
	    CUPTI_SUCCESS)
		return false;
	next = (const uint8_t *)record;
	/* Forward and inside, whatever CUPTI says. */
	if (next < batch->bytes + batch->at || next >= batch->bytes + batch->n_bytes)
		return false;
	batch->at = (size_t)(next - batch->bytes);
	return true;
}

bool tp_cupti_decode(struct tp_cupti_batch *batch, const struct tp_cupti_wanted *wanted,
		     uint32_t most)
{
	uint32_t n_made = 0, n_seen = 0;

	if (!tp_cupti.cuptiActivityGetNextRecord)
		return true;
	if (batch->at >= batch->n_bytes)
		return tp_cupti_place_kept(wanted, false, true);
	tp_cupti_place_begin(wanted);
	if (batch->at == 0 && !step(batch, NULL))
		return true;
	do {
		const uint8_t *record = batch->bytes + batch->at;

		if (n_made >= most || (n_seen++ % RING_LOOK == 0 && tp_cupti_is_ring_half_full()))
			return false;
		n_made += decode_one(wanted, record, (uint32_t)(batch->n_bytes - batch->at));
		if (!step(batch, (CUpti_Activity *)record) ||
		    batch->bytes + batch->at == record)
			break;
	} while (batch->at < batch->n_bytes);
	batch->at = batch->n_bytes;
	return tp_cupti_place_kept(wanted, false, true);
}

void tp_cupti_decode_report(struct tp_text *totals)
{
	for (uint8_t kind = TP_REC_CALL; kind <= TP_REC_OVERHEAD; kind++) {
		const struct tp_cupti_counts *counts = &tp_cupti_counts[kind];
		const struct {
			const char *name;
			uint64_t value;
		} part[] = {
			{"", counts->emitted}, {".no_time", counts->no_time},
			{".outside", counts->outside}, {".late", counts->late},
			{".no_room", counts->no_room}, {".no_name", counts->no_name},
		};

		for (size_t p = 0; p < sizeof(part) / sizeof(part[0]); p++)
			if (part[p].value)
				tp_text_fmt(totals, "cupti.%s%s=%lu\n", tp_kind_text(kind),
					    part[p].name, (unsigned long)part[p].value);
	}
	if (tp_cupti_unknown_kinds)
		tp_text_fmt(totals, "cupti.unknown=%lu\n", (unsigned long)tp_cupti_unknown_kinds);
	if (tp_cupti_clock_steps())
		tp_text_fmt(totals, "cupti.clock_steps=%lu\n",
			    (unsigned long)tp_cupti_clock_steps());
	tp_cupti_report_memory(totals);
}
