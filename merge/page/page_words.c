/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_words.c - what the spans of the page's timeline are called
 */
#include "merge/page/page_words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/facts/origin/hostmem_frames.h"
#include "merge/facts/origin/module_origin.h"
#include "merge/kit/demangle.h"
#include "merge/kit/grow.h"
#include "merge/kit/keyed.h"
#include "merge/kit/show.h"
#include "merge/model/coll.h"
#include "merge/model/label.h"
#include "merge/model/shapes.h"
#include "merge/model/title.h"
#include "runtime/trace/kinds.h"

enum { FRAMES_MAX = 64, FRAMES_SHOWN = 16, TEXT_MAX = 400 };

/* Distinct keys, each with what it stands for and, once it is used, its number there. */
struct set {
	struct set_item {
		uint64_t key;
		const void *of;
		uint32_t used;		/* its number among those written, plus one */
	} *item;
	uint32_t n, cap;
	struct tp_keyed keyed;
	uint32_t *order;		/* used ones */
	uint32_t n_used, cap_used;
};

static const char *const lane_names[] = {
	[TP_LANE_THREAD] = "thread", [TP_LANE_ASYNC] = "async", [TP_LANE_COLL] = "collectives",
	[TP_LANE_QUEUE] = "stream",
};

struct lane {
	enum tp_step_lane sort;
	const struct tp_proc *proc;
	const void *of;		/* the thread, stream or process that it is of */
};

struct tp_page_words {
	struct tp_origins *origins;
	struct lane *lane;
	uint32_t n_lanes, cap_lanes;
	struct set names;	/* by tp_string.same and kind */
	struct set details;	/* by origin and shapes; number 0 is none */
	struct set origin;	/* by stack and path */
	struct set shapes, stacks, paths, frames;
	bool is_incomplete;
};

/* ---- sets ---- */

/* Its index; UINT32_MAX: out of memory. */
static uint32_t set_add(struct tp_page_words *words, struct set *set, uint64_t key, const void *of)
{
	uint32_t hash = tp_keyed_hash(key), at, i;

	for (i = tp_keyed_first(&set->keyed, hash, &at); i != TP_NO_KEYED;
	     i = tp_keyed_next(&set->keyed, hash, &at))
		if (set->item[i].key == key)
			return i;
	if (!tp_grow(&set->item, &set->cap, (uint64_t)set->n + 1, sizeof(*set->item)) ||
	    !tp_keyed_add(&set->keyed, hash, set->n)) {
		words->is_incomplete = true;
		return UINT32_MAX;
	}
	set->item[set->n] = (struct set_item){.key = key, .of = of};
	return set->n++;
}

/* The number it is written by. */
static uint32_t set_use(struct tp_page_words *words, struct set *set, uint32_t i)
{
	if (i >= set->n)
		return 0;
	if (set->item[i].used)
		return set->item[i].used - 1;
	if (!tp_grow(&set->order, &set->cap_used, (uint64_t)set->n_used + 1, sizeof(*set->order))) {
		words->is_incomplete = true;
		return 0;
	}
	set->order[set->n_used++] = i;
	set->item[i].used = set->n_used;
	return set->n_used - 1;
}

static void set_free(struct set *set)
{
	tp_keyed_free(&set->keyed);
	free(set->item);
	free(set->order);
}

struct tp_page_words *tp_page_words_new(struct tp_facts *facts)
{
	struct tp_page_words *words = calloc(1, sizeof(*words));

	if (!words)
		return NULL;
	words->origins = tp_facts_want(facts, &tp_fact_origins_cut, NULL);
	set_use(words, &words->details, set_add(words, &words->details, UINT64_MAX, NULL));
	return words;
}

void tp_page_words_free(struct tp_page_words *words)
{
	if (!words)
		return;
	set_free(&words->names);
	set_free(&words->details);
	set_free(&words->origin);
	set_free(&words->shapes);
	set_free(&words->stacks);
	set_free(&words->paths);
	set_free(&words->frames);
	free(words->lane);
	free(words);
}

bool tp_page_words_is_incomplete(const struct tp_page_words *words)
{
	return words->is_incomplete;
}

/* ---- while events come ---- */

uint32_t tp_page_words_lane(struct tp_page_words *words, const struct tp_proc *proc, enum tp_step_lane sort,
			    const void *of)
{
	for (uint32_t i = 0; i < words->n_lanes; i++)
		if (words->lane[i].of == of && words->lane[i].sort == sort)
			return i;
	if (!tp_grow(&words->lane, &words->cap_lanes, (uint64_t)words->n_lanes + 1,
		     sizeof(*words->lane))) {
		words->is_incomplete = true;
		return 0;
	}
	words->lane[words->n_lanes] = (struct lane){sort, proc, of};
	return words->n_lanes++;
}

uint32_t tp_page_words_name(struct tp_page_words *words, const struct tp_string *name, char kind)
{
	uint32_t i = set_add(words, &words->names, (uint64_t)name->same << 8 | (uint8_t)kind, name);

	return i == UINT32_MAX ? 0 : i;
}

uint32_t tp_page_words_detail(struct tp_page_words *words, const struct tp_event *event)
{
	struct tp_origin origin = {0};
	bool has_shapes = event->shapes && event->shapes->n_bytes;
	uint32_t i;

	if (event->kind == TP_REC_OP)
		origin = tp_origins_of(words->origins, event);
	if (!origin.stack && !origin.path && !has_shapes)
		return 0;
	i = set_add(words, &words->origin, (uint64_t)origin.stack << 32 | origin.path, NULL);
	if (i == UINT32_MAX)
		return 0;
	i = set_add(words, &words->details, (uint64_t)i << 32 | (has_shapes ? event->shapes->same : 0),
		    has_shapes ? event->shapes : NULL);
	return i == UINT32_MAX ? 0 : i;
}

/* ---- writing ---- */

void tp_page_words_use(struct tp_page_words *words, struct tp_page_spans *spans)
{
	for (uint32_t i = 0; i < spans->n_spans; i++) {
		struct tp_page_span *span = &spans->span[i];

		span->word = set_use(words, &words->names, span->word);
		span->detail = set_use(words, &words->details, span->detail);
	}
}

static void put_lane(const struct lane *lane, struct tp_html *html)
{
	const struct tp_queue *queue = lane->sort == TP_LANE_QUEUE ? lane->of : NULL;
	const struct tp_thread *thread =
		lane->sort == TP_LANE_THREAD || lane->sort == TP_LANE_ASYNC ? lane->of : NULL;
	char title[TP_TITLE_MAX], label[64];

	if (queue)
		tp_title_stream(title, lane->proc, queue, 0, false);
	else
		snprintf(title, sizeof(title), "%.64s%s", thread ? tp_label_thread(label, thread) : "collectives",
			 lane->sort == TP_LANE_ASYNC ? ", asynchronous" : "");
	tp_html_open(html, NULL, '{');
	tp_html_text(html, "title", title);
	tp_html_text(html, "kind", lane_names[lane->sort]);
	if (queue)
		tp_html_integer(html, "device", queue->device);
	if (lane->proc->worker)
		tp_html_integer(html, "worker", lane->proc->worker);
	if (thread && thread->is_main)
		tp_html_integer(html, "is_main", 1);
	tp_html_close(html, '}');
}

static void put_lanes(const struct tp_page_words *words, struct tp_html *html)
{
	tp_html_open(html, "lanes", '[');
	for (uint32_t i = 0; i < words->n_lanes; i++)
		put_lane(&words->lane[i], html);
	tp_html_close(html, ']');
}

/* As tables call it: kernels without their parameters. */
static void put_name(struct tp_html *html, const struct tp_string *name, char kind, char *readable)
{
	const char *bytes = name->bytes ? name->bytes : "", *better = NULL;
	uint32_t n = (uint32_t)strnlen(bytes, name->n_bytes);
	char title[TP_COLL_TITLE];

	if (name->kind == TP_STRING_COLL || name->kind == TP_STRING_XFER) {
		tp_html_text(html, NULL, tp_coll_title(title, name));
		return;
	}
	if (readable)
		better = tp_demangle(bytes, n, readable, &n);
	bytes = better ? better : bytes;
	if (kind == 'k' || kind == 'n')
		bytes = tp_short_function(bytes, &n);
	tp_html_bytes(html, NULL, bytes, n);
}

static void put_names(const struct tp_page_words *words, struct tp_html *html)
{
	char *readable = malloc(TP_DEMANGLE_TO);
	const struct set *set = &words->names;

	tp_html_open(html, "names", '[');
	for (uint32_t i = 0; i < set->n_used; i++) {
		const struct set_item *item = &set->item[set->order[i]];

		put_name(html, item->of, (char)(item->key & 0xff), readable);
	}
	tp_html_close(html, ']');
	free(readable);
	tp_html_open(html, "kinds", '[');
	for (uint32_t i = 0; i < set->n_used; i++) {
		char kind[2] = {(char)(set->item[set->order[i]].key & 0xff), 0};

		tp_html_text(html, NULL, kind);
	}
	tp_html_close(html, ']');
}

/* Numbers of module, shapes and stack of each; 0: none. */
static void put_details(struct tp_page_words *words, struct tp_html *html)
{
	/* What is not known is the first of each. */
	set_use(words, &words->paths, set_add(words, &words->paths, 0, NULL));
	set_use(words, &words->shapes, set_add(words, &words->shapes, 0, NULL));
	set_use(words, &words->stacks, set_add(words, &words->stacks, 0, NULL));
	tp_html_open(html, "details", '[');
	for (uint32_t i = 0; i < words->details.n_used; i++) {
		const struct set_item *item = &words->details.item[words->details.order[i]];
		uint64_t from = i ? words->origin.item[item->key >> 32].key : 0;
		const struct tp_string *shapes = item->of;

		tp_html_integer(html, NULL, set_use(words, &words->paths,
				set_add(words, &words->paths, from & UINT32_MAX, NULL)));
		tp_html_integer(html, NULL, set_use(words, &words->shapes,
				set_add(words, &words->shapes, shapes ? shapes->same : 0, shapes)));
		tp_html_integer(html, NULL, set_use(words, &words->stacks,
				set_add(words, &words->stacks, from >> 32, NULL)));
	}
	tp_html_close(html, ']');
}

static void put_modules(const struct tp_page_words *words, struct tp_html *html)
{
	char text[TEXT_MAX];

	tp_html_open(html, "modules", '[');
	for (uint32_t i = 0; i < words->paths.n_used; i++) {
		uint32_t path = (uint32_t)words->paths.item[words->paths.order[i]].key;

		tp_html_text(html, NULL, path ? tp_module_title(tp_origins_paths(words->origins), path,
								false, text, sizeof(text)) : "");
	}
	tp_html_close(html, ']');
	tp_html_open(html, "shapes", '[');
	for (uint32_t i = 0; i < words->shapes.n_used; i++) {
		const struct tp_string *shapes = words->shapes.item[words->shapes.order[i]].of;

		tp_html_text(html, NULL, shapes ? tp_show_shapes(text, sizeof(text), shapes->bytes,
								 shapes->n_bytes) : "");
	}
	tp_html_close(html, ']');
}

/* Names of the frames of those stacks that are written, of no others: symbols take long to read. */
static void resolve(struct tp_page_words *words)
{
	struct tp_stacks *stacks = tp_origins_stacks(words->origins);
	uint8_t *wanted = calloc((size_t)tp_stacks_count(stacks) + 1, 1);

	for (uint32_t i = 0; wanted && i < words->stacks.n_used; i++)
		wanted[words->stacks.item[words->stacks.order[i]].key] = 1;
	words->is_incomplete |= !wanted || tp_stacks_resolve(stacks, wanted);
	free(wanted);
}

/* Each stack as numbers of frames, innermost first; frames as texts. */
static void put_stacks(struct tp_page_words *words, struct tp_html *html)
{
	struct tp_stacks *stacks = tp_origins_stacks(words->origins);
	struct tp_frame *frames = NULL, frame[FRAMES_MAX];
	uint32_t cap = 0;
	char text[TEXT_MAX];

	tp_html_open(html, "stacks", '[');
	for (uint32_t i = 0; i < words->stacks.n_used; i++) {
		uint32_t stack = (uint32_t)words->stacks.item[words->stacks.order[i]].key, n = 0;

		if (stack)
			n = tp_stacks_frames(stacks, stack, frame, FRAMES_MAX);
		tp_html_open(html, NULL, '[');
		for (uint32_t k = 0; k < n && k < FRAMES_SHOWN; k++) {
			uint32_t at = set_use(words, &words->frames, set_add(words, &words->frames,
					      (uint64_t)frame[k].function_id << 32 | frame[k].line, NULL));

			if (tp_grow(&frames, &cap, (uint64_t)at + 1, sizeof(*frames)))
				frames[at] = frame[k];
			tp_html_integer(html, NULL, at);
		}
		tp_html_close(html, ']');
	}
	tp_html_close(html, ']');
	tp_html_open(html, "frames", '[');
	for (uint32_t i = 0; i < words->frames.n_used; i++) {
		text[0] = '\0';
		if (i < cap)
			tp_hostmem_show_frame(text, sizeof(text), &frames[i], TP_HOSTMEM_LONG);
		tp_html_text(html, NULL, tp_show_paths(text));
	}
	tp_html_close(html, ']');
	free(frames);
}

void tp_page_words_put(struct tp_page_words *words, struct tp_html *html)
{
	put_lanes(words, html);
	put_names(words, html);
	put_details(words, html);
	put_modules(words, html);
	resolve(words);
	put_stacks(words, html);
}
