/* SPDX-License-Identifier: Apache-2.0 */
/*
 * columns_decode.c - columns -> events of one block
 *
 * The bytes come from a file and may be anything. Each read is checked against the end of
 * its column; a read past it gives 0 and marks the input bad. Every loop is bounded by
 * n_events.
 */
#include <errno.h>

#include "runtime/trace/columns_scratch.h"

struct decoder {
	struct tp_columns_scratch *scratch;
	struct tp_rec *rec;
	struct input in;
	uint32_t n_forms;
	uint64_t present;
	uint64_t link, address;
};

/* A new form: its constants go into the event itself, which becomes its last one. */
static void get_definition(struct decoder *dec, struct form *form, uint32_t i)
{
	struct tp_rec *rec = &dec->rec[i];
	struct input *in = &dec->in;
	unsigned model;

	memset(rec, 0, sizeof(*rec));
	memset(form, 0, sizeof(*form));
	rec->kind = get_byte(in, TP_COLUMN_DEFINITIONS);
	rec->flags = get_byte(in, TP_COLUMN_DEFINITIONS);
	model = form->model = get_byte(in, TP_COLUMN_DEFINITIONS);
	if (!is_valid_model(model))
		in->is_bad = true;
	rec->name = (uint32_t)get_varint(in, TP_COLUMN_DEFINITIONS);
	if ((model & TIME_MASK) == TIME_SPAN)
		form->inner = (uint16_t)get_varint(in, TP_COLUMN_DEFINITIONS);
	if (!is_span_model(model) && (model & LEN_MASK) == LEN_CONST)
		tp_rec_set_len(rec, get_varint(in, TP_COLUMN_DEFINITIONS));
	if ((model & LINK_MASK) == LINK_CONST)
		rec->link = (uint32_t)get_varint(in, TP_COLUMN_DEFINITIONS);
	if ((model & ARG_MASK) == ARG_CONST)
		rec->arg = get_varint(in, TP_COLUMN_DEFINITIONS);
	form->last = (uint16_t)i;
	dec->n_forms++;
}

static void get_times(struct decoder *dec, struct form *form, struct tp_rec *rec)
{
	struct stack *stack = &dec->scratch->stack;
	struct input *in = &dec->in;
	uint64_t gap = get_near(in, TP_COLUMN_GAP, &form->gap_class), size;

	switch (form->model & TIME_MASK) {
	case TIME_POINT:
		rec->time = dec->present += gap;
		push_begin(stack, rec->time);
		break;
	case TIME_SPAN:
		size = get_near(in, TP_COLUMN_SIZE, &form->size_class);
		if (form->inner) {
			if (form->inner > stack->n) {
				in->is_bad = true;
				return;
			}
			rec->time =
			    stack->begin[(stack->top - form->inner) % STACK_N] - size;
			dec->present += gap;
			stack->top -= form->inner;
			stack->n -= form->inner;
		} else {
			rec->time = dec->present + gap;
			dec->present = rec->time + size;
		}
		tp_rec_set_len(rec, dec->present - rec->time);
		push_begin(stack, rec->time);
		break;
	default:
		rec->time = dec->present + unzigzag(gap);
		if (is_span_model(form->model))
			tp_rec_set_len(rec,
				       get_near(in, TP_COLUMN_SIZE, &form->size_class));
	}
}

static void get_address(struct decoder *dec, struct form *form, struct tp_rec *rec)
{
	struct tp_columns_scratch *scratch = dec->scratch;
	bool is_free = (form->model & ARG_MASK) == ARG_FREE;
	struct recent *from = is_free ? &scratch->live : &scratch->freed;
	uint64_t rank = get_number(&dec->in, TP_COLUMN_ARG);
	uint64_t len;

	if (rank > from->n) {
		dec->in.is_bad = true;
		return;
	}
	if (rank) {
		unsigned at = from->n - (unsigned)rank;

		rec->arg = from->address[at];
		len = from->len[at];
		if ((form->model & LEN_MASK) == LEN_OF_ALLOC)
			tp_rec_set_len(rec, len);
		remove_recent(from, at);
	} else {
		/* The size of a block that is not told. */
		if ((form->model & LEN_MASK) == LEN_OF_ALLOC)
			dec->in.is_bad = true;
		rec->arg = dec->address += unzigzag(get_number(&dec->in, TP_COLUMN_ARG));
	}
	add_recent(is_free ? &scratch->freed : &scratch->live, rec->arg, tp_rec_len(rec));
}

static void get_event(struct decoder *dec, uint32_t i)
{
	struct input *in = &dec->in;
	struct tp_rec *rec = &dec->rec[i];
	uint32_t id = get_byte(in, TP_COLUMN_FORM);
	struct form *form;

	if (in->at[TP_COLUMN_FORM_HIGH] != in->end[TP_COLUMN_FORM_HIGH])
		id |= (uint32_t)get_byte(in, TP_COLUMN_FORM_HIGH) << 8;
	if (id >= dec->n_forms) {
		if (id > dec->n_forms || id >= TP_BLOCK_EVENTS_MAX) {
			in->is_bad = true;
			return;
		}
		form = &dec->scratch->form[id];
		get_definition(dec, form, i);
	} else {
		form = &dec->scratch->form[id];
		*rec = dec->rec[form->last];
		form->last = (uint16_t)i;
	}

	get_times(dec, form, rec);
	if ((form->model & LEN_MASK) == LEN_DELTA)
		tp_rec_set_len(rec,
			       tp_rec_len(rec) + unzigzag(get_number(in, TP_COLUMN_SIZE)));
	if ((form->model & LINK_MASK) == LINK_LAST) {
		dec->link += unzigzag(get_number(in, TP_COLUMN_LINK));
		rec->link = (uint32_t)dec->link;
	} else if ((form->model & LINK_MASK) == LINK_DELTA) {
		rec->link += (uint32_t)unzigzag(get_number(in, TP_COLUMN_LINK));
	}
	if ((form->model & ARG_MASK) >= ARG_ALLOC)
		get_address(dec, form, rec);
	else if ((form->model & ARG_MASK) == ARG_DELTA)
		rec->arg += unzigzag(get_number(in, TP_COLUMN_ARG));
}

/* Reads one run. Returns the number of the event after it. */
static uint32_t get_run(struct decoder *dec, uint16_t *thread, uint32_t i,
			uint32_t n_events, uint64_t *base)
{
	struct input *in = &dec->in;
	uint16_t slot = (uint16_t)get_varint(in, TP_COLUMN_RUNS);
	uint64_t n = get_varint(in, TP_COLUMN_RUNS);

	dec->present = *base += unzigzag(get_varint(in, TP_COLUMN_RUNS));
	dec->scratch->stack.n = 0;
	if (n > n_events - i || !n)
		in->is_bad = true;
	if (in->is_bad)
		return i;
	for (uint32_t end = i + (uint32_t)n; i < end; i++) {
		thread[i] = slot;
		get_event(dec, i);
		if (in->is_bad)
			break;
	}
	return i;
}

int tp_columns_decode(struct tp_columns_scratch *scratch, const uint8_t *payload,
		      size_t n_bytes, uint32_t n_events, struct tp_rec *rec,
		      uint16_t *thread, uint32_t *bad_at)
{
	struct decoder dec = {.scratch = scratch, .rec = rec};
	uint64_t base = 0;
	uint32_t i = 0;

	*bad_at = 0;
	if (n_events > TP_BLOCK_EVENTS_MAX || !find_columns(&dec.in, payload, n_bytes))
		return -EBADMSG;
	scratch->live.n = scratch->freed.n = 0;
	scratch->stack.top = 0;
	while (i < n_events && !dec.in.is_bad)
		i = get_run(&dec, thread, i, n_events, &base);
	*bad_at = i;
	return dec.in.is_bad || !is_used_up(&dec.in) ? -EBADMSG : 0;
}
