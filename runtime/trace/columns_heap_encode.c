/* SPDX-License-Identifier: Apache-2.0 */
/*
 * columns_heap_encode.c - records of host memory and stacks -> columns
 *
 * Runs on the drain thread in the guest. A busy program makes millions of these a second, so what
 * is expected of a record costs a load or two; addresses and places are found by hash.
 */
#include "runtime/base/hash.h"
#include "runtime/trace/columns_heap.h"
#include "runtime/trace/columns_scratch.h"

struct encoder {
	struct heap_model *m;
	struct heap_index *index;
	const struct tp_rec *rec;
	struct output out;
	uint32_t slot_mask;
};

static inline void put_difference(struct encoder *enc, unsigned column, uint64_t d)
{
	put_number(&enc->out, column, zigzag(d));
}

static void put_gap(struct encoder *enc, uint64_t time)
{
	uint64_t gap = time - enc->m->present;
	unsigned class = class_of(gap);

	enc->m->present = time;
	if (__builtin_expect(class > GAP_MOST, 0)) {
		*enc->out.at[HEAP_GAP]++ = GAP_ANY;
		put_difference(enc, HEAP_GAP, gap);
		return;
	}
	*enc->out.at[HEAP_GAP]++ = (uint8_t) class;
	put_bits(&enc->out, gap - class_base(class), class_bits(class));
}

/* A difference of addresses; the code says whether it is told in units of 16. */
static void put_address(struct encoder *enc, uint64_t d)
{
	bool is_any = d & 15;

	put_number(&enc->out, HEAP_ADDRESS, is_any ? ADDRESS_ANY : ADDRESS_SIXTEENTH);
	put_difference(enc, HEAP_ADDRESS, is_any ? d : (uint64_t)((int64_t)d >> 4));
}

/* Where in the index the newest HEAPALLOC of this address stands, or belongs. */
static uint16_t *find_address(struct encoder *enc, uint64_t address)
{
	uint32_t at = (uint32_t)(address >> 4 ^ address >> 20) * 0x9e3779b1u >> 16;

	for (;; at++) {
		uint16_t *slot = &enc->index->address[at & enc->slot_mask];

		if (!*slot || enc->rec[*slot - 1].arg == address)
			return slot;
	}
}

static void put_given_address(struct encoder *enc, const struct tp_rec *rec)
{
	struct heap_model *m = enc->m;
	uint16_t *at = heap_freed(m, tp_rec_len(rec));

	for (unsigned rank = 0; rank < FREED_WALK && *at; rank++) {
		if (enc->rec[*at - 1].arg == rec->arg) {
			put_number(&enc->out, HEAP_ADDRESS, ADDRESS_FREED + rank);
			heap_take_freed(m, at);
			return;
		}
		at = &m->older[*at - 1];
	}
	if (m->last_free && enc->rec[m->last_free - 1].arg == rec->arg) {
		put_number(&enc->out, HEAP_ADDRESS, ADDRESS_LAST);
		heap_take_last(m);
		return;
	}
	put_address(enc, rec->arg - m->fresh);
	m->fresh = rec->arg + (heap_units(tp_rec_len(rec)) << 4);
}

static void put_alloc(struct encoder *enc, uint32_t i)
{
	const struct tp_rec *rec = &enc->rec[i];
	struct heap_model *m = enc->m;
	uint64_t *len = &m->len_of[heap_link_slot(rec->link)];

	if (rec->link == heap_expected_stack(m))
		put_number(&enc->out, HEAP_LINK, 0);
	else
		put_number(&enc->out, HEAP_LINK,
			   1 + zigzag(heap_difference(rec->link, m->stack)));
	heap_note_stack(m, rec->link);
	put_difference(enc, HEAP_SIZE, tp_rec_len(rec) - *len);
	*len = tp_rec_len(rec);
	put_given_address(enc, rec);
	*find_address(enc, rec->arg) = (uint16_t)(i + 1);
	enc->index->alloc_number[i] = (uint16_t)m->n_allocs;
	heap_note_alloc(m, i);
}

static void put_free(struct encoder *enc, uint32_t i)
{
	const struct tp_rec *rec = &enc->rec[i], *alloc = NULL;
	struct heap_model *m = enc->m;
	uint16_t at = *find_address(enc, rec->arg);

	if (at) {
		alloc = &enc->rec[at - 1];
		put_number(&enc->out, HEAP_ADDRESS,
			   1 + m->n_allocs - enc->index->alloc_number[at - 1]);
	} else {
		put_address(enc, rec->arg - m->freed_address);
		m->freed_address = rec->arg;
	}
	heap_note_free(m, i, alloc);
}

static bool is_place(const struct tp_rec *a, const struct tp_rec *b)
{
	return a->arg == b->arg && a->name == b->name;
}

static uint16_t *find_place(struct encoder *enc, const struct tp_rec *rec)
{
	uint64_t h = (rec->arg ^ (uint64_t)rec->name << 40) * 0x9e3779b97f4a7c15ull;

	for (h >>= 40;; h++) {
		uint16_t *slot = &enc->index->place[h & enc->slot_mask];

		if (!*slot || is_place(&enc->rec[enc->m->place_at[*slot - 1]], rec))
			return slot;
	}
}

/* A place by one of the ways known, by how many places came since, or in full. */
static uint32_t put_place(struct encoder *enc, uint32_t i)
{
	const struct tp_rec *rec = &enc->rec[i];
	struct heap_model *m = enc->m;
	uint16_t *way = heap_ways(m, enc->rec, rec->len_lo), *slot;
	bool is_python = rec->flags & TP_FRAME_PYTHON;
	unsigned at;
	uint32_t place;

	for (at = 0; at < WAYS && way[at]; at++)
		if (is_place(&enc->rec[m->place_at[way[at] - 1]], rec))
			break;
	if (at < WAYS && way[at]) {
		place = way[at] - 1u;
		put_number(&enc->out, HEAP_FRAMES, at + 1);
		heap_note_way(way, at, place);
		return place;
	}
	put_number(&enc->out, HEAP_FRAMES, 0);
	slot = find_place(enc, rec);
	place = *slot ? *slot - 1u : m->n_places;
	put_number(&enc->out, HEAP_FRAMES, m->n_places - place);
	if (!*slot) {
		*slot = (uint16_t)(place + 1);
		m->place_at[m->n_places++] = (uint16_t)i;
		put_difference(enc, HEAP_ADDRESS, rec->arg - m->last_arg[is_python]);
		m->last_arg[is_python] = rec->arg;
		if (is_python) {
			put_difference(enc, HEAP_SIZE, heap_difference(rec->name, m->last_name));
			m->last_name = rec->name;
		}
	}
	heap_note_way(way, WAYS, place);
	return place;
}

static void put_frame(struct encoder *enc, uint32_t i)
{
	const struct tp_rec *rec = &enc->rec[i];
	struct heap_model *m = enc->m;
	uint32_t place = 0;

	put_difference(enc, HEAP_LINK, heap_difference(rec->link, m->last_frame + 1));
	put_difference(enc, HEAP_FRAMES, heap_difference(rec->link - 1, rec->len_lo));
	if (rec->flags & TP_FRAME_JOINED)
		put_difference(enc, HEAP_ADDRESS, rec->arg - m->python);
	else
		place = put_place(enc, i);
	heap_note_frame(m, i, rec, place);
}

static void put_other(struct encoder *enc, const struct tp_rec *rec)
{
	uint8_t *p = enc->out.at[HEAP_OTHERS];

	*p++ = rec->kind;
	*p++ = rec->flags;
	p = tp_varint_put(p, tp_rec_len(rec));
	p = tp_varint_put(p, rec->name);
	p = tp_varint_put(p, rec->link);
	p = tp_varint_put(p, rec->arg);
	enc->out.at[HEAP_OTHERS] = p;
	enc->m->is_after_frame = false;
}

/* HEAP_OTHER also where a field has what it never has. */
static unsigned code_of(const struct tp_rec *rec)
{
	if (__builtin_expect(rec->flags > FLAGS_MOST, 0))
		return HEAP_OTHER;
	switch (rec->kind) {
	case TP_REC_HEAPALLOC:
		return rec->name ? HEAP_OTHER : HEAP_ALLOC;
	case TP_REC_HEAPFREE:
		return rec->name || rec->link || rec->len_lo || rec->len_hi ? HEAP_OTHER : HEAP_FREE;
	case TP_REC_FRAME:
		if (rec->len_hi || (rec->name && (rec->flags & (TP_FRAME_PYTHON | TP_FRAME_JOINED)) !=
							 TP_FRAME_PYTHON))
			return HEAP_OTHER;
		return HEAP_FRAME;
	default:
		return HEAP_OTHER;
	}
}

static inline void put_record(struct encoder *enc, uint32_t i)
{
	const struct tp_rec *rec = &enc->rec[i];
	unsigned code = code_of(rec);

	*enc->out.at[HEAP_KIND]++ =
		(uint8_t)(code == HEAP_OTHER ? HEAP_OTHER : code | rec->flags << FLAGS_SHIFT);
	put_gap(enc, rec->time);
	switch (code) {
	case HEAP_ALLOC:
		put_alloc(enc, i);
		break;
	case HEAP_FREE:
		put_free(enc, i);
		break;
	case HEAP_FRAME:
		put_frame(enc, i);
		break;
	default:
		put_other(enc, rec);
	}
}

static const uint8_t bytes_max[TP_COLUMN_N] = {
    [HEAP_RUNS] = RUN_BYTES_MAX,
    [HEAP_OTHERS] = DEFINITION_BYTES_MAX,
    [HEAP_KIND] = 1,
    [HEAP_FRAMES] = 3,
    [HEAP_GAP] = 2,
    [HEAP_SIZE] = 1,
    [HEAP_LINK] = 1,
    [HEAP_ADDRESS] = 2,
};

size_t tp_columns_encode_heap(struct tp_columns_scratch *scratch, const struct tp_rec *rec,
			      const uint16_t *thread, uint32_t n_events, uint8_t *payload,
			      uint32_t part_bytes[TP_COLUMN_N])
{
	struct encoder enc = {
	    .m = &scratch->heap.model, .index = &scratch->heap.index, .rec = rec};
	uint64_t base = 0;
	uint32_t n_slots = 64;

	while (n_slots < 2 * n_events)
		n_slots *= 2;
	enc.slot_mask = n_slots - 1;
	memset(enc.index->address, 0, n_slots * sizeof(enc.index->address[0]));
	memset(enc.index->place, 0, n_slots * sizeof(enc.index->place[0]));
	heap_begin(enc.m);
	place_columns(&enc.out, payload, n_events, bytes_max);

	for (uint32_t i = 0, end; i < n_events; i = end) {
		uint8_t *p = enc.out.at[HEAP_RUNS];

		for (end = i + 1; end < n_events && thread[end] == thread[i]; end++)
			;
		p = tp_varint_put(p, thread[i]);
		p = tp_varint_put(p, end - i);
		p = tp_varint_put(p, zigzag(rec[i].time - base));
		enc.out.at[HEAP_RUNS] = p;
		base = enc.m->present = rec[i].time;
		for (uint32_t at = i; at < end; at++)
			put_record(&enc, at);
	}
	end_bits(&enc.out);
	return join_columns(&enc.out, payload, part_bytes);
}
