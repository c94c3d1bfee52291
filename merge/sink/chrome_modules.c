/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chrome_modules.c - calls of nn.Modules as slices, Python stacks of operators as arguments
 *
 * As torch.profiler writes them with with_stack and with_modules: TensorBoard's plugin makes its
 * view of modules of "Python id", "Python parent id" and "Python module id", and splits a
 * "Call stack", innermost first, at semicolons; a timeline for people has the line that tells most
 * instead. A call's slice ends with its last operator or
 * range, so that it never crosses one; it is written when the call is known to be over. Operators
 * inside of operators have no stack of their own.
 */
#include <stdio.h>
#include <stdlib.h>

#include "merge/facts/origin/hostmem_frames.h"
#include "merge/kit/grow.h"
#include "merge/sink/chrome.h"

enum {
	FRAMES_MAX = 64,	/* of a stack, the innermost */
	STACK_ROOM = 6 * 1024,	/* bytes of its JSON */
	FRAME_ROOM = 640,	/* of one frame of it: 100 bytes of each text, each six in JSON */
	TEXT_MOST = 100,
};

struct tp_chrome_stacks {
	struct text {
		char *bytes;
		uint32_t n;
	} *text;		/* by stack */
	uint32_t cap;
};

static char *put_text(char *p, const char *text)
{
	size_t n = strlen(text);

	/* The end of a path tells more than its begin. */
	return n > TEXT_MOST ? tp_json_text(p, text + n - TEXT_MOST, TEXT_MOST)
			     : tp_json_text(p, text, n);
}

/* "train.py:42 step" */
static char *make_line(const struct tp_frame *frame, uint32_t n, char *p)
{
	uint32_t at = tp_hostmem_telling_frame(frame, n);
	char shown[2 * TEXT_MOST];

	if (at == n)
		return p;
	tp_hostmem_show_frame(shown, sizeof(shown), &frame[at], TP_HOSTMEM_SHORT);
	return tp_json_text(p, shown, strlen(shown));
}

static char *make_stack(const struct tp_chrome *c, uint32_t stack, char *p)
{
	const struct tp_stacks *stacks = tp_origins_stacks(tp_module_times_origins(c->modules));
	struct tp_frame frame[FRAMES_MAX];
	const char *end = p + STACK_ROOM - 2 * FRAME_ROOM - 16;
	uint32_t n = tp_stacks_frames(stacks, stack, frame, FRAMES_MAX);

	if (n > FRAMES_MAX)
		n = FRAMES_MAX;
	if (!c->style->has_stacks)
		return make_line(frame, n, p);
	for (uint32_t i = 0; i < n && p < end; i++) {
		if (i)
			*p++ = ';';
		p = put_text(p, frame[i].file);
		*p++ = '(';
		p = tp_json_u64(p, frame[i].line);
		p = tp_json_lit(p, "): ");
		p = put_text(p, frame[i].function);
	}
	return p;
}

/* JSON of a stack, made when it is first met; NULL: it has none. */
static const struct text *text_of(struct tp_chrome *c, uint32_t stack)
{
	struct tp_chrome_stacks *all = c->stacks;
	char made[STACK_ROOM];
	struct text *text;
	size_t n;

	if (!stack || !tp_grow(&all->text, &all->cap, (uint64_t)stack + 1, sizeof(*text)))
		return NULL;
	text = &all->text[stack];
	if (!text->bytes) {
		n = (size_t)(make_stack(c, stack, made) - made);
		text->bytes = malloc(n + 1);
		if (!text->bytes)
			return NULL;
		memcpy(text->bytes, made, n);
		text->n = (uint32_t)n;
	}
	return text;
}

uint32_t tp_chrome_stack_room(struct tp_chrome *c, const struct tp_event *event)
{
	struct tp_origins *origins = tp_module_times_origins(c->modules);
	const struct text *text;

	c->stack_of_event = 0;
	if (event->kind != TP_REC_OP || !tp_origins_has_any(origins) ||
	    !(event->flags & TP_F_BACKWARD || tp_origins_is_outermost(origins, event)))
		return 0;
	c->stack_of_event = tp_origins_of(origins, event).stack;
	text = text_of(c, c->stack_of_event);
	return text ? text->n + 32 : 0;
}

char *tp_chrome_put_stack(struct tp_chrome *c, char *p)
{
	const struct text *text = text_of(c, c->stack_of_event);

	if (!text || !text->n)
		return p;
	if (c->style->has_stacks)
		p = tp_json_lit(p, ",\"Call stack\":\"");
	else
		p = tp_json_lit(p, ",\"Line\":\"");
	memcpy(p, text->bytes, text->n);
	p += text->n;
	*p++ = '"';
	return p;
}

/* "blocks.0.attention (Attention)"; of an outermost one its class. */
static char *put_module(char *p, const struct tp_module_path *path)
{
	uint32_t n, n_class;
	const char *name = tp_module_name(path, &n), *class = tp_module_class(path, &n_class);

	n = n < 4 * TEXT_MOST ? n : 4 * TEXT_MOST;
	n_class = n_class < TEXT_MOST ? n_class : TEXT_MOST;
	p = tp_json_lit(p, "nn.Module: ");
	if (!n)
		return tp_json_text(p, n_class ? class : "?", n_class ? n_class : 1);
	p = tp_json_text(p, name, n);
	p = tp_json_lit(p, " (");
	p = tp_json_text(p, class, n_class);
	*p++ = ')';
	return p;
}

static void put_call(void *ctx, const struct tp_module_call *call)
{
	struct tp_chrome *c = ctx;
	struct tp_module_paths *paths = tp_origins_paths(tp_module_times_origins(c->modules));
	const struct tp_event at = {
		.proc = call->proc, .thread = call->thread, .kind = TP_REC_OP,
		.begin_ns = call->begin_ns, .end_ns = call->end_ns,
	};
	const struct tp_chrome_track *numbers;
	struct tp_track *track;
	char *p;

	if (c->file_of)
		c->file = &c->file_of[call->proc->at];
	if (!c->file->out)
		return;
	track = tp_tracks_main(&c->book, &at);
	numbers = track ? tp_chrome_thread(c, &at, track) : NULL;
	if (!numbers)
		return;
	p = tp_chrome_begin_event(c, 6 * 5 * TEXT_MOST);
	p = tp_json_lit(p, "{\"ph\":\"X\",\"cat\":\"python_function\",\"name\":\"");
	p = put_module(p, tp_module_paths_at(paths, call->path));
	*p++ = '"';
	p = tp_chrome_put_place(p, numbers, call->begin_ns);
	p = tp_json_lit(p, ",\"dur\":");
	p = tp_json_us(p, call->end_ns - call->begin_ns);
	p = tp_json_lit(p, ",\"args\":{\"Python id\":");
	p = tp_json_u64(p, call->id);
	p = tp_json_lit(p, ",\"Python parent id\":");
	p = call->outer_id ? tp_json_u64(p, call->outer_id) : tp_json_lit(p, "null");
	p = tp_json_lit(p, ",\"Python module id\":");
	p = tp_json_u64(p, call->path);
	p = tp_json_lit(p, "}}");
	c->file->out->at = p;
}

int tp_chrome_modules_init(struct tp_chrome *c)
{
	c->facts = tp_facts_new(c->run);
	c->modules = tp_facts_want(c->facts, &tp_fact_module_times, NULL);
	c->stacks = calloc(1, sizeof(*c->stacks));
	if (!c->stacks)
		return -1;
	tp_module_times_read(c->modules, put_call, c);
	return 0;
}

void tp_chrome_modules_event(struct tp_chrome *c, const struct tp_event *event)
{
	bool is_told = event->kind == TP_REC_FRAME || event->kind == TP_REC_STACK ||
		       event->kind == TP_REC_NNMODULE;

	/* Most runs have none: nothing is kept then. Memory and devices are the views' business. */
	if (is_told || (tp_module_times_has_any(c->modules) &&
			(event->kind == TP_REC_OP || event->kind == TP_REC_RANGE)))
		tp_facts_event(c->facts, event);
}

void tp_chrome_modules_end(struct tp_chrome *c)
{
	tp_facts_end(c->facts);
}

void tp_chrome_modules_fini(struct tp_chrome *c)
{
	for (uint32_t i = 0; c->stacks && i < c->stacks->cap; i++)
		free(c->stacks->text[i].bytes);
	if (c->stacks)
		free(c->stacks->text);
	free(c->stacks);
	tp_facts_free(c->facts);
}
