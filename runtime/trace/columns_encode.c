/* SPDX-License-Identifier: Apache-2.0 */
/*
 * columns_encode.c - events of one block -> columns
 *
 * Runs on the drain thread in the guest, so its time is the training's: about what the
 * compression after it takes. A training repeats itself, so most of an event is said by the
 * number of its form; what is left are times, and those are small when they are measured
 * from the event before, or from what a span has inside.
 */
#include "runtime/base/hash.h"
#include "runtime/trace/columns_scratch.h"
#include "runtime/trace/kinds.h"

size_t tp_columns_scratch_bytes(void)
{
	return sizeof(struct tp_columns_scratch);
}

size_t tp_columns_bound(uint32_t n_events)
{
	return HEAD_BYTES + BITS_SLACK + 8 + (size_t)n_events * EVENT_BYTES_MAX;
}

_Static_assert(HEAD_BYTES + BITS_SLACK + 8 + TP_BLOCK_EVENTS_MAX * EVENT_BYTES_MAX <=
		   TP_BLOCK_RAW_MAX,
	       "any block's columns are a block");

/* How the fields of each kind are best given. 0: a kind not known here. */
enum { MODEL_ANY = TIME_POINT | LEN_DELTA | LINK_DELTA | ARG_DELTA };
static const uint8_t kind_model[256] = {
    [TP_REC_OP] = TIME_SPAN | LEN_CONST | LINK_LAST | ARG_CONST,
    [TP_REC_RANGE] = TIME_SPAN | LEN_CONST | LINK_LAST | ARG_CONST,
    [TP_REC_STEP] = TIME_SPAN | LEN_CONST | LINK_DELTA | ARG_DELTA,
    [TP_REC_ALLOC] = TIME_POINT | LEN_CONST | LINK_CONST | ARG_ALLOC,
    [TP_REC_FREE] = TIME_POINT | LEN_CONST | LINK_CONST | ARG_FREE,
    [TP_REC_TOTALS] = TIME_POINT | LEN_DELTA | LINK_CONST | ARG_DELTA,
    [TP_REC_COUNTER] = TIME_POINT | LEN_CONST | LINK_CONST | ARG_DELTA,
    [TP_REC_MARK] = TIME_POINT | LEN_CONST | LINK_CONST | ARG_DELTA,
    [TP_REC_CALL] = TIME_SPAN | LEN_CONST | LINK_LAST | ARG_CONST,
    [TP_REC_KERNEL] = TIME_SPAN | LEN_CONST | LINK_LAST | ARG_CONST,
    [TP_REC_MEMCPY] = TIME_SPAN | LEN_CONST | LINK_LAST | ARG_DELTA,
    [TP_REC_MEMSET] = TIME_SPAN | LEN_CONST | LINK_LAST | ARG_DELTA,
    [TP_REC_SYNC] = TIME_SPAN | LEN_CONST | LINK_LAST | ARG_DELTA,
    [TP_REC_GRAPH] = TIME_SPAN | LEN_CONST | LINK_LAST | ARG_CONST,
    [TP_REC_OVERHEAD] = TIME_SPAN | LEN_CONST | LINK_CONST | ARG_CONST,
    [TP_REC_COLL] = TIME_SPAN | LEN_CONST | LINK_DELTA | ARG_DELTA,
    [TP_REC_XFER] = TIME_SPAN | LEN_CONST | LINK_DELTA | ARG_DELTA,
    [TP_REC_DEVALLOC] = TIME_POINT | LEN_DELTA | LINK_DELTA | ARG_DELTA,
    [TP_REC_DEVFREE] = TIME_POINT | LEN_DELTA | LINK_DELTA | ARG_DELTA,
    [TP_REC_SAMPLE] = TIME_POINT | LEN_DELTA | LINK_DELTA | ARG_DELTA,
};

/* Rank of the address among the recent ones, 0 the newest; RECENT_N: not there. */
static unsigned find_recent(const struct recent *recent, uint64_t address)
{
	unsigned n = recent->n < RECENT_N ? recent->n : RECENT_N;
	const uint64_t *newest = recent->address + recent->n - 1;

	for (unsigned rank = 0; rank < n; rank++) {
		if (newest[-(int)rank] == address)
			return rank;
	}
	return RECENT_N;
}

struct encoder {
	struct tp_columns_scratch *scratch;
	const struct tp_rec *rec;
	struct output out;
	uint32_t n_forms, table_mask;
	uint64_t present;	/* end of the latest event of the run */
	uint64_t link, address; /* last ones given */
};

static uint64_t hash_form(const struct tp_rec *rec, unsigned model, unsigned inner)
{
	uint64_t h = rec->name | (uint64_t)inner << 32 | (uint64_t)model << 48 |
		     (uint64_t)rec->kind << 56;

	h *= 0x9e3779b97f4a7c15ull;
	h ^= rec->flags;
	if ((model & TIME_MASK) != TIME_SPAN && (model & LEN_MASK) == LEN_CONST)
		h ^= tp_rec_len(rec) << 8;
	if ((model & LINK_MASK) == LINK_CONST)
		h += (uint64_t)rec->link << 24;
	if ((model & ARG_MASK) == ARG_CONST)
		h += rec->arg * 0xc4ceb9fe1a85ec53ull;
	h ^= h >> 32;
	h *= 0xff51afd7ed558ccdull;
	return h >> 40;
}

static bool is_of_form(const struct tp_rec *rec, unsigned model, unsigned inner,
		       const struct form *form, const struct tp_rec *last)
{
	if (form->model != model || form->inner != inner || last->name != rec->name ||
	    last->kind != rec->kind || last->flags != rec->flags)
		return false;
	if (!is_span_model(model) && (model & LEN_MASK) == LEN_CONST &&
	    (last->len_lo != rec->len_lo || last->len_hi != rec->len_hi))
		return false;
	if ((model & LINK_MASK) == LINK_CONST && last->link != rec->link)
		return false;
	return (model & ARG_MASK) != ARG_CONST || last->arg == rec->arg;
}

static void put_definition(struct encoder *enc, const struct tp_rec *rec, unsigned model,
			   unsigned inner)
{
	uint8_t *p = enc->out.at[TP_COLUMN_DEFINITIONS];

	*p++ = rec->kind;
	*p++ = rec->flags;
	*p++ = (uint8_t)model;
	p = tp_varint_put(p, rec->name);
	if ((model & TIME_MASK) == TIME_SPAN)
		p = tp_varint_put(p, inner);
	if (!is_span_model(model) && (model & LEN_MASK) == LEN_CONST)
		p = tp_varint_put(p, tp_rec_len(rec));
	if ((model & LINK_MASK) == LINK_CONST)
		p = tp_varint_put(p, rec->link);
	if ((model & ARG_MASK) == ARG_CONST)
		p = tp_varint_put(p, rec->arg);
	enc->out.at[TP_COLUMN_DEFINITIONS] = p;
}

/* The event's form, defined now if it is the first of it, and its number in the column. */
static struct form *put_form(struct encoder *enc, const struct tp_rec *rec, unsigned model,
			     unsigned inner, bool *is_new)
{
	struct tp_columns_scratch *scratch = enc->scratch;
	uint64_t slot = hash_form(rec, model, inner);
	unsigned id;

	for (;; slot++) {
		uint16_t *entry = &scratch->form_table[slot & enc->table_mask];
		struct form *form;

		*is_new = !*entry;
		if (*is_new) {
			id = enc->n_forms++;
			*entry = (uint16_t)(id + 1);
			scratch->form[id] = (struct form){.model = (uint8_t)model,
							  .inner = (uint16_t)inner};
			put_definition(enc, rec, model, inner);
			break;
		}
		id = *entry - 1u;
		form = &scratch->form[id];
		if (is_of_form(rec, model, inner, form, &enc->rec[form->last]))
			break;
	}
	*enc->out.at[TP_COLUMN_FORM]++ = (uint8_t)id;
	*enc->out.at[TP_COLUMN_FORM_HIGH]++ = (uint8_t)(id >> 8);
	return &scratch->form[id];
}

static void put_address(struct encoder *enc, unsigned rank, uint64_t address)
{
	if (rank < RECENT_N) {
		put_number(&enc->out, TP_COLUMN_ARG, rank + 1);
	} else {
		put_number(&enc->out, TP_COLUMN_ARG, 0);
		put_number(&enc->out, TP_COLUMN_ARG, zigzag(address - enc->address));
		enc->address = address;
	}
}

/* How many entries on top of the stack lie inside a span that begins at `begin`. */
static unsigned count_inner(const struct stack *stack, uint64_t begin)
{
	unsigned inner = 0;

	while (inner < stack->n &&
	       stack->begin[(stack->top - 1 - inner) % STACK_N] >= begin)
		inner++;
	return inner;
}

/* How an event is told. */
struct plan {
	unsigned model;
	unsigned inner;		/* spans on the stack that lie inside it */
	unsigned rank;		/* its address's in `from`; RECENT_N: not there */
	struct recent *from;	/* NULL: no address of a heap */
};

static void plan_time(const struct encoder *enc, const struct tp_rec *rec, struct plan *plan)
{
	uint64_t begin = rec->time, end;

	if ((plan->model & TIME_MASK) != TIME_SPAN) {
		if (begin < enc->present)
			plan->model = (plan->model & ~TIME_MASK) | TIME_LOOSE;
		return;
	}
	end = begin + tp_rec_len(rec);
	/* An asynchronous span crosses those of its thread: it would take them apart. */
	if (rec->flags & TP_F_ASYNC || end < begin || end < enc->present)
		plan->model = (plan->model & ~TIME_MASK) | TIME_LOOSE_SPAN;
	else
		plan->inner = count_inner(&enc->scratch->stack, begin);
	if (!plan->inner && begin < enc->present)
		plan->model = (plan->model & ~TIME_MASK) | TIME_LOOSE_SPAN;
}

static void plan_address(struct tp_columns_scratch *scratch, const struct tp_rec *rec,
			 struct plan *plan)
{
	const unsigned arg = plan->model & ARG_MASK;

	if (arg < ARG_ALLOC)
		return;
	plan->from = arg == ARG_FREE ? &scratch->live : &scratch->freed;
	plan->rank = find_recent(plan->from, rec->arg);
	if (arg == ARG_FREE && plan->rank < RECENT_N &&
	    plan->from->len[plan->from->n - 1 - plan->rank] == tp_rec_len(rec))
		plan->model = (plan->model & ~LEN_MASK) | LEN_OF_ALLOC;
}

static void put_span(struct encoder *enc, const struct tp_rec *rec, unsigned inner,
		     struct form *form)
{
	struct stack *stack = &enc->scratch->stack;
	uint64_t begin = rec->time, len = tp_rec_len(rec);

	if (inner) {
		uint64_t first = stack->begin[(stack->top - inner) % STACK_N];

		put_near(&enc->out, TP_COLUMN_GAP, begin + len - enc->present, &form->gap_class);
		put_near(&enc->out, TP_COLUMN_SIZE, first - begin, &form->size_class);
		stack->top -= inner;
		stack->n -= inner;
	} else {
		put_near(&enc->out, TP_COLUMN_GAP, begin - enc->present, &form->gap_class);
		put_near(&enc->out, TP_COLUMN_SIZE, len, &form->size_class);
	}
	push_begin(stack, begin);
	enc->present = begin + len;
}

static void put_time(struct encoder *enc, const struct tp_rec *rec, const struct plan *plan,
		     struct form *form)
{
	uint64_t begin = rec->time;

	switch (plan->model & TIME_MASK) {
	case TIME_POINT:
		put_near(&enc->out, TP_COLUMN_GAP, begin - enc->present, &form->gap_class);
		push_begin(&enc->scratch->stack, begin);
		enc->present = begin;
		break;
	case TIME_SPAN:
		put_span(enc, rec, plan->inner, form);
		break;
	default:
		put_near(&enc->out, TP_COLUMN_GAP, zigzag(begin - enc->present),
			 &form->gap_class);
		if (is_span_model(plan->model))
			put_near(&enc->out, TP_COLUMN_SIZE, tp_rec_len(rec), &form->size_class);
	}
}

/* The argument, or the address of a block, which is in the other list from now on. */
static void put_arg(struct encoder *enc, const struct tp_rec *rec, const struct tp_rec *before,
		    const struct plan *plan)
{
	struct tp_columns_scratch *scratch = enc->scratch;

	if (plan->from) {
		put_address(enc, plan->rank, rec->arg);
		if (plan->rank < RECENT_N)
			remove_recent(plan->from, plan->from->n - 1 - plan->rank);
		add_recent(plan->from == &scratch->live ? &scratch->freed : &scratch->live,
			   rec->arg, tp_rec_len(rec));
	} else if ((plan->model & ARG_MASK) == ARG_DELTA) {
		put_number(&enc->out, TP_COLUMN_ARG, zigzag(rec->arg - before->arg));
	}
}

static void put_event(struct encoder *enc, uint32_t i)
{
	const struct tp_rec *rec = &enc->rec[i];
	struct output *out = &enc->out;
	struct plan plan = {
		.model = kind_model[rec->kind] ? kind_model[rec->kind] : MODEL_ANY,
		.rank = RECENT_N,
	};
	struct tp_rec before;
	struct form *form;
	bool is_new;

	plan_time(enc, rec, &plan);
	if ((plan.model & LINK_MASK) == LINK_LAST && rec->link == TP_NO_SEQ)
		plan.model = (plan.model & ~LINK_MASK) | LINK_CONST;
	plan_address(enc->scratch, rec, &plan);

	form = put_form(enc, rec, plan.model, plan.inner, &is_new);
	memset(&before, 0, sizeof(before));
	if (!is_new)
		before = enc->rec[form->last];
	form->last = (uint16_t)i;

	put_time(enc, rec, &plan, form);
	if ((plan.model & LEN_MASK) == LEN_DELTA)
		put_number(out, TP_COLUMN_SIZE, zigzag(tp_rec_len(rec) - tp_rec_len(&before)));
	if ((plan.model & LINK_MASK) == LINK_LAST) {
		put_number(out, TP_COLUMN_LINK, zigzag(rec->link - enc->link));
		enc->link = rec->link;
	} else if ((plan.model & LINK_MASK) == LINK_DELTA) {
		put_number(out, TP_COLUMN_LINK, zigzag((uint64_t)rec->link - before.link));
	}
	put_arg(enc, rec, &before, &plan);
}

/*
 * The drain thread's records of a device come in bunches: of a thread's calls, of a stream's
 * kernels, each from the same stretch of time. Where one begins that lies before the present
 * (the event after it, too), a new run says so once, instead of each event.
 */
static bool starts_bunch(const struct encoder *enc, uint32_t i, uint32_t end)
{
	const struct tp_rec *rec = &enc->rec[i];

	return tp_kind_is_cuda(rec->kind) && rec->time < enc->present && i + 1 < end &&
	       tp_kind_is_cuda(rec[1].kind) && rec[1].time < enc->present;
}

static const uint8_t bytes_max[TP_COLUMN_N] = {
    [TP_COLUMN_RUNS] = RUN_BYTES_MAX,
    [TP_COLUMN_DEFINITIONS] = DEFINITION_BYTES_MAX,
    [TP_COLUMN_FORM] = 1,
    [TP_COLUMN_FORM_HIGH] = 1,
    [TP_COLUMN_GAP] = 1,
    [TP_COLUMN_SIZE] = 1,
    [TP_COLUMN_LINK] = 1,
    [TP_COLUMN_ARG] = 2,
};

size_t tp_columns_encode(struct tp_columns_scratch *scratch, const struct tp_rec *rec,
			 const uint16_t *thread, uint32_t n_events, uint8_t *payload,
			 uint32_t part_bytes[TP_COLUMN_N])
{
	struct encoder enc = {.scratch = scratch, .rec = rec};
	uint64_t base = 0;
	uint32_t n_slots = 64;

	while (n_slots < 2 * n_events)
		n_slots *= 2;
	enc.table_mask = n_slots - 1;
	memset(scratch->form_table, 0, n_slots * sizeof(scratch->form_table[0]));
	scratch->live.n = scratch->freed.n = 0;
	scratch->stack.top = 0;
	place_columns(&enc.out, payload, n_events, bytes_max);

	for (uint32_t i = 0, end = 0, at; i < n_events; i = at) {
		uint8_t *p;

		while (end < n_events && (end <= i || thread[end] == thread[i]))
			end++;
		enc.present = rec[i].time;
		scratch->stack.n = 0;
		put_event(&enc, i);
		for (at = i + 1; at < end && !starts_bunch(&enc, at, end); at++)
			put_event(&enc, at);
		p = enc.out.at[TP_COLUMN_RUNS];
		p = tp_varint_put(p, thread[i]);
		p = tp_varint_put(p, at - i);
		p = tp_varint_put(p, zigzag(rec[i].time - base));
		enc.out.at[TP_COLUMN_RUNS] = p;
		base = rec[i].time;
	}
	if (enc.n_forms <= 256)
		enc.out.at[TP_COLUMN_FORM_HIGH] = enc.out.start[TP_COLUMN_FORM_HIGH];
	end_bits(&enc.out);
	return join_columns(&enc.out, payload, part_bytes);
}
