/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kineto_stacks.c - calls of Python in the order of time -> stacks of what they call
 *
 * Each thread has the calls that go on. A stack gets a number, and its FRAMEs are put, when the
 * first operator or module is called from it: most calls of Python call neither. STACKs stand a
 * nanosecond before what they are for, which would else come first where times are equal.
 */
#include "merge/kineto/kineto_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "merge/kineto/kineto_state.h"
#include "merge/kit/grow.h"

enum {
	DEPTH_MOST = 4096,		/* calls in one another; the interpreter allows 1000 */
	NODES_MOST = TP_KINETO_IDS,
	TEXT_MOST = 4096,
};

#define NODE_UNKNOWN UINT32_MAX

/* What a raw string calls. */
struct tp_kineto_place {
	bool is_known;
	uint32_t module;	/* number of an nn.Module; 0: it is a function */
	uint32_t name;		/* string NNMODULE or PYFRAME */
	uint32_t line;
};

struct tp_kineto_node {
	uint32_t outer, place;	/* node; raw string */
	uint32_t number;	/* of the stack, as records have it */
};

struct open_call {
	uint64_t end;
	uint32_t place, node;
};

struct tp_kineto_on {
	struct open_call *call;
	uint32_t n, cap;
	uint32_t said;		/* node of its last STACK */
	uint64_t said_until;	/* end of the operator whose own stack it is; 0: none */
};

void tp_kineto_stacks_init(struct tp_kineto_stacks *s, const char *path)
{
	memset(s, 0, sizeof(*s));
	tp_kineto_order_init(&s->order, path);
	s->n_nodes = 1;
}

void tp_kineto_stacks_free(struct tp_kineto_stacks *s)
{
	for (uint32_t i = 0; i < s->cap_threads; i++)
		free(s->thread[i].call);
	free(s->thread);
	free(s->place);
	free(s->node);
	free(s->stack_of);
	tp_keyed_free(&s->nodes);
	tp_kineto_order_free(&s->order);
}

/* ---- events ---- */

static bool begins(const char *text, uint32_t n, const char *with)
{
	return n >= strlen(with) && !memcmp(text, with, strlen(with));
}

/* "train.py(17): main" -> where the line begins; NULL: it is not of this form. */
static const char *find_line(const char *text, uint32_t n, uint32_t *line)
{
	const char *end = text + n;

	for (const char *open = text; (open = memchr(open, '(', (size_t)(end - open))); open++) {
		const char *p = open + 1;
		uint64_t number = 0;

		while (p < end && *p >= '0' && *p <= '9' && number <= UINT32_MAX)
			number = number * 10 + (uint64_t)(*p++ - '0');
		if (p > open + 1 && end - p >= 3 && !memcmp(p, "): ", 3)) {
			*line = number > UINT32_MAX ? 0 : (uint32_t)number;
			return open;
		}
	}
	return NULL;
}

bool tp_kineto_stacks_call(struct tp_kineto_records *r, const struct tp_kineto_event *event,
			   uint16_t slot, uint64_t begin, uint64_t len)
{
	struct tp_kineto_item item = {.begin = begin, .len_slot = len << 16 | slot};
	uint32_t line;

	if (!event->name.n)
		return false;
	/* "<built-in method add of Tensor object at 0x7f...>": of C. */
	if (event->name.bytes[0] == '<' && !find_line(event->name.bytes, event->name.n, &line))
		return true;
	item.what = tp_kineto_raw(&r->strings, event->name.bytes, event->name.n);
	item.order = event->python_id > 0 && event->python_id < TP_KINETO_ASKS
			     ? (uint32_t)event->python_id
			     : 0;
	if (!item.what)
		return true;
	r->stacks.is_wanted = true;
	tp_kineto_order_add(&r->stacks.order, &item);
	return true;
}

void tp_kineto_stacks_ask(struct tp_kineto_records *r, const struct tp_kineto_event *event,
			  const struct tp_rec *rec, uint16_t slot)
{
	struct tp_kineto_item item = {
		.begin = rec->time, .len_slot = tp_rec_len(rec) << 16 | slot,
		.order = TP_KINETO_ASKS,
	};

	if (event->call_stack.n) {
		item.what = tp_kineto_raw(&r->strings, event->call_stack.bytes,
					  event->call_stack.n);
		r->stacks.is_wanted |= item.what != 0;
	}
	tp_kineto_order_add(&r->stacks.order, &item);
}

/* ---- places ---- */

/* "Linear_0", of the class Linear. */
static void read_module(struct tp_kineto_records *r, struct tp_kineto_place *place,
			const char *name, uint32_t n)
{
	char text[2 * TEXT_MOST + 1];
	uint32_t n_class = n;

	while (n_class && name[n_class - 1] >= '0' && name[n_class - 1] <= '9')
		n_class--;
	n_class = n_class > 1 && n_class < n && name[n_class - 1] == '_' ? n_class - 1 : n;
	memcpy(text, name, n);
	text[n] = 0;
	memcpy(text + n + 1, name, n_class);
	place->module = ++r->stacks.n_modules;
	place->name = tp_kineto_id(&r->strings, TP_STRING_NNMODULE, text, n + 1 + n_class);
}

static void read_place(struct tp_kineto_records *r, struct tp_kineto_place *place, uint32_t raw)
{
	static const char module[] = "nn.Module: ";
	char plain[TEXT_MOST], text[TEXT_MOST + 1];
	uint32_t n = tp_kineto_plain(&r->strings, raw, plain, sizeof(plain)), n_function = n;
	const char *function = plain, *open;

	place->is_known = true;
	if (begins(plain, n, module)) {
		read_module(r, place, plain + sizeof(module) - 1, n - (uint32_t)sizeof(module) + 1);
		return;
	}
	open = find_line(plain, n, &place->line);
	if (open) {
		function = (const char *)memchr(open, ' ', (size_t)(plain + n - open)) + 1;
		n_function = (uint32_t)(plain + n - function);
	}
	memcpy(text, function, n_function);
	text[n_function] = 0;
	if (open)
		memcpy(text + n_function + 1, plain, (size_t)(open - plain));
	place->name = tp_kineto_id(&r->strings, TP_STRING_PYFRAME, text,
				   n_function + 1 + (open ? (uint32_t)(open - plain) : 0));
}

/* NULL: out of memory. */
static const struct tp_kineto_place *place_of(struct tp_kineto_records *r, uint32_t raw)
{
	struct tp_kineto_stacks *s = &r->stacks;

	if (!tp_grow(&s->place, &s->cap_places, (uint64_t)raw + 1, sizeof(*s->place)))
		return NULL;
	if (!s->place[raw].is_known)
		read_place(r, &s->place[raw], raw);
	return &s->place[raw];
}

/* ---- nodes ---- */

static void put_frames(struct tp_kineto_records *r, struct tp_kineto_node *node,
		       const struct tp_kineto_place *place, uint64_t time, uint16_t slot)
{
	struct tp_kineto_stacks *s = &r->stacks;
	struct tp_rec rec = {
		.time = time, .kind = TP_REC_FRAME, .link = ++s->n_numbers,
		.len_lo = s->node[node->outer].number,
	};

	if (place->module) {
		/* Before the frame: in another block it has no other order. */
		struct tp_rec named = {
			.time = time - 1, .kind = TP_REC_NNMODULE, .name = place->name,
			.link = place->module,
		};

		tp_kineto_put(r, &named, slot);
		rec.flags = TP_FRAME_MODULE;
		rec.arg = TP_ARG_MODULE(place->module);
	} else {
		rec.flags = TP_FRAME_PYTHON;
		rec.name = place->name;
		rec.arg = place->line;
	}
	tp_kineto_put(r, &rec, slot);
	node->number = rec.link;
}

/* 0: there is no room. */
static uint32_t find_node(struct tp_kineto_records *r, uint32_t outer, uint32_t raw, uint64_t time,
			  uint16_t slot)
{
	struct tp_kineto_stacks *s = &r->stacks;
	uint32_t hash = tp_keyed_hash((uint64_t)outer << 32 | raw), at, row;
	const struct tp_kineto_place *place;

	for (row = tp_keyed_first(&s->nodes, hash, &at); row != TP_NO_KEYED;
	     row = tp_keyed_next(&s->nodes, hash, &at))
		if (s->node[row].outer == outer && s->node[row].place == raw)
			return row;
	place = place_of(r, raw);
	if (!place || s->n_nodes >= NODES_MOST ||
	    !tp_grow(&s->node, &s->cap_nodes, (uint64_t)s->n_nodes + 1, sizeof(*s->node)) ||
	    !tp_keyed_add(&s->nodes, hash, s->n_nodes)) {
		s->n_lost++;
		return 0;
	}
	row = s->n_nodes++;
	s->node[row] = (struct tp_kineto_node){.outer = outer, .place = raw};
	put_frames(r, &s->node[row], place, time, slot);
	return row;
}

/* The stack of what the thread does now. */
static uint32_t node_of(struct tp_kineto_records *r, struct tp_kineto_on *on, uint64_t time,
			uint16_t slot)
{
	uint32_t at = on->n, node;

	while (at && on->call[at - 1].node == NODE_UNKNOWN)
		at--;
	node = at ? on->call[at - 1].node : 0;
	for (; at < on->n; at++) {
		node = find_node(r, node, on->call[at].place, time, slot);
		on->call[at].node = node;
	}
	return node;
}

/* "train.py(9): inner;train.py(17): main": innermost first. */
static uint32_t node_of_text(struct tp_kineto_records *r, uint32_t raw, uint64_t time,
			     uint16_t slot)
{
	struct tp_kineto_stacks *s = &r->stacks;
	const struct tp_string *text = tp_kineto_string(&r->strings, raw);
	const char *end;
	uint32_t node = 0, depth = 0;

	if (!text || !tp_grow(&s->stack_of, &s->cap_stacks, (uint64_t)raw + 1,
			      sizeof(*s->stack_of)))
		return 0;
	if (s->stack_of[raw])
		return s->stack_of[raw] - 1;
	end = text->bytes + text->n_bytes;
	while (end > text->bytes && depth++ < DEPTH_MOST) {
		const char *semicolon = memrchr(text->bytes, ';', (size_t)(end - text->bytes));
		const char *begin = semicolon ? semicolon + 1 : text->bytes;
		uint32_t what = begin < end ? tp_kineto_raw(&r->strings, begin,
							    (uint32_t)(end - begin))
					    : 0;

		if (what)
			node = find_node(r, node, what, time, slot);
		end = semicolon ? semicolon : text->bytes;
	}
	/* It may have grown meanwhile, but not shrunk. */
	s->stack_of[raw] = node + 1;
	return node;
}

/* ---- in the order of time ---- */

static void say(struct tp_kineto_records *r, struct tp_kineto_on *on, uint32_t node, uint64_t time,
		uint16_t slot, uint8_t flags)
{
	struct tp_rec rec = {
		.time = time, .kind = TP_REC_STACK, .flags = flags,
		.link = r->stacks.node[node].number,
	};

	tp_kineto_put(r, &rec, slot);
	on->said = node;
}

static void take_call(struct tp_kineto_records *r, struct tp_kineto_on *on,
		      const struct tp_kineto_item *item, uint64_t before, uint16_t slot)
{
	const struct tp_kineto_place *place = place_of(r, item->what);

	if (!place || on->n == DEPTH_MOST ||
	    !tp_grow(&on->call, &on->cap, (uint64_t)on->n + 1, sizeof(*on->call))) {
		r->stacks.n_lost++;
		return;
	}
	on->call[on->n++] = (struct open_call){
		.end = item->begin + (item->len_slot >> 16), .place = item->what,
		.node = NODE_UNKNOWN,
	};
	if (place->module)
		say(r, on, node_of(r, on, before, slot), before, slot, TP_STACK_CALL);
}

static void take_item(void *ctx, const struct tp_kineto_item *item)
{
	struct tp_kineto_records *r = ctx;
	struct tp_kineto_stacks *s = &r->stacks;
	uint16_t slot = (uint16_t)item->len_slot;
	uint64_t before = item->begin - 1;
	struct tp_kineto_on *on;
	uint32_t node;

	if (!tp_grow(&s->thread, &s->cap_threads, (uint64_t)slot + 1, sizeof(*s->thread))) {
		s->n_lost++;
		return;
	}
	on = &s->thread[slot];
	while (on->n && on->call[on->n - 1].end <= item->begin)
		on->n--;
	if (!(item->order & TP_KINETO_ASKS)) {
		take_call(r, on, item, before, slot);
		return;
	}
	if (item->what) {
		node = node_of_text(r, item->what, before, slot);
		on->said_until = item->begin + (item->len_slot >> 16);
	} else if (item->begin < on->said_until) {
		return;
	} else {
		node = node_of(r, on, before, slot);
	}
	if (node != on->said)
		say(r, on, node, before, slot, 0);
}

int tp_kineto_stacks_end(struct tp_kineto_records *r)
{
	struct tp_kineto_stacks *s = &r->stacks;

	/* Number 0, without a stack. */
	if (!s->is_wanted)
		return 0;
	if (!tp_grow(&s->node, &s->cap_nodes, 1, sizeof(*s->node)))
		return -ENOMEM;
	return tp_kineto_order_each(&s->order, take_item, r);
}
