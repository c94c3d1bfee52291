/* SPDX-License-Identifier: Apache-2.0 */
/*
 * columns_heap_decode.c - columns -> records of host memory and stacks
 *
 * The bytes come from a file and may be anything: every rank and number is checked before it is
 * used, every loop is bounded by n_events.
 */
#include <errno.h>

#include "runtime/trace/columns_heap.h"
#include "runtime/trace/columns_scratch.h"

struct decoder {
	struct heap_model *m;
	struct tp_rec *rec;
	struct input in;
};

static inline uint64_t get_difference(struct decoder *dec, unsigned column)
{
	return unzigzag(get_number(&dec->in, column));
}

static uint64_t get_time(struct decoder *dec)
{
	unsigned class = get_byte(&dec->in, HEAP_GAP);

	if (class == GAP_ANY)
		return dec->m->present += get_difference(dec, HEAP_GAP);
	if (class > GAP_MOST)
		dec->in.is_bad = true;
	return dec->m->present += get_of_class(&dec->in, class);
}

/* The rest of an address that is told as a difference. */
static uint64_t get_address(struct decoder *dec, uint64_t code)
{
	uint64_t d = get_difference(dec, HEAP_ADDRESS);

	return code == ADDRESS_SIXTEENTH ? d << 4 : d;
}

/* The address of a HEAPALLOC whose len is known already. */
static void get_given_address(struct decoder *dec, struct tp_rec *rec)
{
	struct heap_model *m = dec->m;
	uint64_t code = get_number(&dec->in, HEAP_ADDRESS);
	uint16_t *at = heap_freed(m, tp_rec_len(rec));

	if (code <= ADDRESS_SIXTEENTH) {
		rec->arg = m->fresh + get_address(dec, code);
		m->fresh = rec->arg + (heap_units(tp_rec_len(rec)) << 4);
	} else if (code == ADDRESS_LAST) {
		if (!m->last_free) {
			dec->in.is_bad = true;
			return;
		}
		rec->arg = dec->rec[m->last_free - 1].arg;
		heap_take_last(m);
	} else {
		for (uint64_t rank = code - ADDRESS_FREED; rank && *at; rank--)
			at = &m->older[*at - 1];
		if (code >= ADDRESS_FREED + FREED_WALK || !*at) {
			dec->in.is_bad = true;
			return;
		}
		rec->arg = dec->rec[*at - 1].arg;
		heap_take_freed(m, at);
	}
}

static void get_alloc(struct decoder *dec, uint32_t i)
{
	struct tp_rec *rec = &dec->rec[i];
	struct heap_model *m = dec->m;
	uint64_t link = get_number(&dec->in, HEAP_LINK), *len;

	rec->kind = TP_REC_HEAPALLOC;
	rec->link = link ? m->stack + (uint32_t)unzigzag(link - 1) : heap_expected_stack(m);
	heap_note_stack(m, rec->link);
	len = &m->len_of[heap_link_slot(rec->link)];
	tp_rec_set_len(rec, *len + get_difference(dec, HEAP_SIZE));
	*len = tp_rec_len(rec);
	get_given_address(dec, rec);
	heap_note_alloc(m, i);
}

static void get_free(struct decoder *dec, uint32_t i)
{
	struct tp_rec *rec = &dec->rec[i];
	const struct tp_rec *alloc = NULL;
	struct heap_model *m = dec->m;
	uint64_t code = get_number(&dec->in, HEAP_ADDRESS);

	rec->kind = TP_REC_HEAPFREE;
	if (code <= ADDRESS_SIXTEENTH) {
		rec->arg = m->freed_address += get_address(dec, code);
	} else if (code - 1 <= m->n_allocs) {
		alloc = &dec->rec[m->alloc_at[m->n_allocs - (code - 1)]];
		rec->arg = alloc->arg;
	} else {
		dec->in.is_bad = true;
		return;
	}
	heap_note_free(m, i, alloc);
}

/* rec->arg and its name; the place's number. */
static uint32_t get_place(struct decoder *dec, uint32_t i)
{
	struct tp_rec *rec = &dec->rec[i];
	struct heap_model *m = dec->m;
	uint16_t *way = heap_ways(m, dec->rec, rec->len_lo);
	uint64_t at = get_number(&dec->in, HEAP_FRAMES), back = 0;
	bool is_python = rec->flags & TP_FRAME_PYTHON;
	uint32_t place;

	if (!at)
		back = get_number(&dec->in, HEAP_FRAMES);
	if (at > WAYS || (at && !way[at - 1]) || back > m->n_places) {
		dec->in.is_bad = true;
		return 0;
	}
	place = at ? way[at - 1] - 1u : m->n_places - (uint32_t)back;
	if (place < m->n_places) {
		rec->arg = dec->rec[m->place_at[place]].arg;
		rec->name = dec->rec[m->place_at[place]].name;
	} else {
		m->place_at[m->n_places++] = (uint16_t)i;
		rec->arg = m->last_arg[is_python] += get_difference(dec, HEAP_ADDRESS);
		if (is_python)
			rec->name = m->last_name +=
				(uint32_t)get_difference(dec, HEAP_SIZE);
	}
	heap_note_way(way, at ? (unsigned)at - 1 : WAYS, place);
	return place;
}

static void get_frame(struct decoder *dec, uint32_t i)
{
	struct tp_rec *rec = &dec->rec[i];
	struct heap_model *m = dec->m;
	uint32_t place = 0;

	rec->kind = TP_REC_FRAME;
	rec->link = m->last_frame + 1 + (uint32_t)get_difference(dec, HEAP_LINK);
	rec->len_lo = rec->link - 1 - (uint32_t)get_difference(dec, HEAP_FRAMES);
	if (rec->flags & TP_FRAME_JOINED)
		rec->arg = m->python + get_difference(dec, HEAP_ADDRESS);
	else
		place = get_place(dec, i);
	heap_note_frame(m, i, rec, place);
}

static void get_other(struct decoder *dec, struct tp_rec *rec)
{
	struct input *in = &dec->in;

	rec->kind = get_byte(in, HEAP_OTHERS);
	rec->flags = get_byte(in, HEAP_OTHERS);
	tp_rec_set_len(rec, get_varint(in, HEAP_OTHERS));
	rec->name = (uint32_t)get_varint(in, HEAP_OTHERS);
	rec->link = (uint32_t)get_varint(in, HEAP_OTHERS);
	rec->arg = get_varint(in, HEAP_OTHERS);
	dec->m->is_after_frame = false;
}

static inline void get_record(struct decoder *dec, uint32_t i)
{
	struct tp_rec *rec = &dec->rec[i];
	unsigned kind = get_byte(&dec->in, HEAP_KIND);

	memset(rec, 0, sizeof(*rec));
	rec->flags = (uint8_t)(kind >> FLAGS_SHIFT);
	rec->time = get_time(dec);
	switch (kind & ((1 << FLAGS_SHIFT) - 1)) {
	case HEAP_ALLOC:
		get_alloc(dec, i);
		break;
	case HEAP_FREE:
		get_free(dec, i);
		break;
	case HEAP_FRAME:
		get_frame(dec, i);
		break;
	case HEAP_OTHER:
		if (!rec->flags) {
			get_other(dec, rec);
			break;
		}
		/* fall through */
	default:
		dec->in.is_bad = true;
	}
}

int tp_columns_decode_heap(struct tp_columns_scratch *scratch, const uint8_t *payload,
			   size_t n_bytes, uint32_t n_events, struct tp_rec *rec, uint16_t *thread,
			   uint32_t *bad_at)
{
	struct decoder dec = {.m = &scratch->heap.model, .rec = rec};
	struct input *in = &dec.in;
	uint64_t base = 0;
	uint32_t i = 0;

	*bad_at = 0;
	if (n_events > TP_BLOCK_EVENTS_MAX || !find_columns(in, payload, n_bytes))
		return -EBADMSG;
	heap_begin(dec.m);
	while (i < n_events && !in->is_bad) {
		uint16_t slot = (uint16_t)get_varint(in, HEAP_RUNS);
		uint64_t n = get_varint(in, HEAP_RUNS);

		dec.m->present = base += unzigzag(get_varint(in, HEAP_RUNS));
		if (n > n_events - i || !n)
			in->is_bad = true;
		for (uint32_t end = i + (uint32_t)n; i < end && !in->is_bad; i++) {
			thread[i] = slot;
			get_record(&dec, i);
			/* The number of the first that is bad. */
			if (in->is_bad)
				break;
		}
	}
	*bad_at = i;
	return in->is_bad || !is_used_up(in) ? -EBADMSG : 0;
}
