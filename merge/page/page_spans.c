/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_spans.c - a stretch of a process's time as spans in rows, few enough for a page
 */
#include "merge/page/page_spans.h"

#include <stdlib.h>
#include <string.h>

#include "merge/kit/grow.h"
#include "runtime/base/varint.h"

uint32_t tp_page_spans_lane(struct tp_page_spans *spans, uint32_t number, bool may_cross)
{
	for (uint32_t i = 0; i < spans->n_lanes; i++)
		if (spans->lane[i].number == number)
			return i;
	if (spans->n_lanes == TP_PAGE_NO_LANE ||
	    !tp_grow(&spans->lane, &spans->cap_lanes, (uint64_t)spans->n_lanes + 1,
		     sizeof(*spans->lane))) {
		spans->is_incomplete = true;
		return TP_PAGE_NO_LANE;
	}
	spans->lane[spans->n_lanes] = (struct tp_page_lane){.number = number, .may_cross = may_cross};
	return spans->n_lanes++;
}

uint32_t tp_page_spans_slot(const struct tp_page_spans *spans, int64_t ns)
{
	return (uint32_t)((double)(ns - spans->begin_ns) * TP_PAGE_SLOTS /
			  (double)(spans->end_ns - spans->begin_ns));
}

static uint8_t find_row(struct tp_page_lane *lane, int64_t begin_ns, int64_t end_ns)
{
	uint32_t row = 0;

	while (lane->may_cross && row + 1 < TP_PAGE_ROWS && lane->open_end[row] > begin_ns)
		row++;
	if (lane->may_cross) {
		lane->open_end[row] = end_ns;
		return (uint8_t)row;
	}
	while (lane->depth && lane->open_end[lane->depth - 1] <= begin_ns)
		lane->depth--;
	if (lane->depth < TP_PAGE_ROWS)
		lane->open_end[lane->depth++] = end_ns;
	return (uint8_t)(lane->depth - 1);
}

/* Both are small, or they share a slot: they cannot be told apart on a screen. */
static bool are_one(const struct tp_page_span *last, const struct tp_page_span *next, uint32_t slots)
{
	bool are_small = next->end - next->begin <= slots &&
			 (last->n > 1 || last->end - last->begin <= slots);

	return next->begin < last->end || (are_small && next->begin <= last->end + slots - 1);
}

static void join(struct tp_page_span *span, const struct tp_page_span *more)
{
	span->end = more->end > span->end ? more->end : span->end;
	span->n += more->n;
	span->from_lane = TP_PAGE_NO_LANE;
	if (more->longest_ns <= span->longest_ns)
		return;
	span->longest_ns = more->longest_ns;
	span->word = more->word;
	span->detail = more->detail;
}

static int compare_spans(const void *a, const void *b)
{
	const struct tp_page_span *x = a, *y = b;

	if (x->lane != y->lane)
		return x->lane < y->lane ? -1 : 1;
	if (x->row != y->row)
		return x->row < y->row ? -1 : 1;
	return (x->begin > y->begin) - (x->begin < y->begin);
}

static void coarsen(struct tp_page_spans *spans)
{
	if (!spans->n_spans)
		return;
	qsort(spans->span, spans->n_spans, sizeof(*spans->span), compare_spans);
	while (spans->n_spans > spans->most && spans->fine < TP_PAGE_SLOTS) {
		uint32_t n = 0;

		spans->fine *= 2;
		for (uint32_t i = 0; i < spans->n_spans; i++) {
			const struct tp_page_span *span = &spans->span[i];
			struct tp_page_span *last = n ? &spans->span[n - 1] : NULL;

			if (last && last->lane == span->lane && last->row == span->row &&
			    are_one(last, span, spans->fine))
				join(last, span);
			else
				spans->span[n++] = *span;
		}
		spans->n_spans = n;
	}
	for (uint32_t i = 0; i < spans->n_spans; i++)
		spans->lane[spans->span[i].lane].last[spans->span[i].row] = i + 1;
}

struct tp_page_span *tp_page_spans_take(struct tp_page_spans *spans, uint32_t at,
					int64_t begin_ns, int64_t end_ns, uint32_t word)
{
	struct tp_page_lane *lane = &spans->lane[at];
	struct tp_page_span span, *last;

	if (begin_ns < spans->begin_ns)
		begin_ns = spans->begin_ns;
	if (end_ns > spans->end_ns)
		end_ns = spans->end_ns;
	spans->n_events++;
	span = (struct tp_page_span){
		.longest_ns = end_ns - begin_ns, .n = 1, .word = word, .lane = (uint16_t)at,
		.begin = tp_page_spans_slot(spans, begin_ns),
		.end = tp_page_spans_slot(spans, end_ns),
		.from_lane = TP_PAGE_NO_LANE, .row = find_row(lane, begin_ns, end_ns),
	};
	span.end += span.end == span.begin;
	last = lane->last[span.row] ? &spans->span[lane->last[span.row] - 1] : NULL;
	if (last && are_one(last, &span, spans->fine)) {
		join(last, &span);
		return NULL;
	}
	if (spans->n_spans >= 2 * (uint64_t)spans->most && spans->fine < TP_PAGE_SLOTS)
		coarsen(spans);
	if (!tp_grow(&spans->span, &spans->cap_spans, (uint64_t)spans->n_spans + 1, sizeof(span))) {
		spans->is_incomplete = true;
		return NULL;
	}
	spans->span[spans->n_spans++] = span;
	lane->last[span.row] = spans->n_spans;
	return &spans->span[spans->n_spans - 1];
}

/* Gives back the room behind the last item. */
static void shrink(void *array, uint32_t *cap, uint32_t n, size_t item)
{
	void *old, *smaller;

	if (!n || n == *cap)
		return;
	memcpy(&old, array, sizeof(old));
	smaller = realloc(old, n * item);
	if (!smaller)
		return;
	memcpy(array, &smaller, sizeof(smaller));
	*cap = n;
}

void tp_page_spans_end(struct tp_page_spans *spans)
{
	coarsen(spans);
	shrink(&spans->span, &spans->cap_spans, spans->n_spans, sizeof(*spans->span));
	shrink(&spans->lane, &spans->cap_lanes, spans->n_lanes, sizeof(*spans->lane));
}

static uint8_t *put_span(const struct tp_page_spans *spans, uint8_t *p, uint32_t end,
			 const struct tp_page_span *span)
{
	p = tp_varint_put(p, span->begin > end ? span->begin - end : 0);
	p = tp_varint_put(p, span->end - span->begin);
	p = tp_varint_put(p, span->word);
	p = tp_varint_put(p, span->n);
	p = tp_varint_put(p, (uint64_t)span->longest_ns);
	p = tp_varint_put(p, span->detail);
	if (span->from_lane == TP_PAGE_NO_LANE)
		return tp_varint_put(p, 0);
	p = tp_varint_put(p, (uint64_t)spans->lane[span->from_lane].number + 1);
	return tp_varint_put(p, span->from);
}

void tp_page_spans_put(const struct tp_page_spans *spans, struct tp_html *html, const char *key)
{
	enum { SPAN_MOST = 11 * 10 };	/* bytes: a row's head and a span */
	uint8_t *bytes = malloc((size_t)spans->n_spans * SPAN_MOST + 1), *p = bytes;

	for (uint32_t i = 0, n; bytes && i < spans->n_spans; i += n) {
		const struct tp_page_span *first = &spans->span[i];
		uint32_t end = 0;

		for (n = 1; i + n < spans->n_spans && first[n].lane == first->lane &&
			    first[n].row == first->row; n++)
			;
		p = tp_varint_put(p, spans->lane[first->lane].number);
		p = tp_varint_put(p, first->row);
		p = tp_varint_put(p, n);
		for (uint32_t k = 0; k < n; k++) {
			p = put_span(spans, p, end, &first[k]);
			end = first[k].end;
		}
	}
	tp_html_base64(html, key, bytes, (size_t)(p - bytes));
	free(bytes);
}

void tp_page_spans_free(struct tp_page_spans *spans)
{
	free(spans->span);
	free(spans->lane);
	spans->span = NULL;
	spans->lane = NULL;
	spans->n_spans = spans->cap_spans = spans->n_lanes = spans->cap_lanes = 0;
}
