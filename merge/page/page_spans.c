/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_spans.c - a stretch of a process's time as spans in rows, few enough for a page
 */
#include "merge/page/page_spans.h"

#include <stdlib.h>
#include <string.h>

#include "merge/kit/grow.h"
#include "runtime/base/varint.h"

uint32_t tp_page_spans_lane(struct tp_page_spans *spans, const void *of, bool may_cross)
{
	for (uint32_t i = 0; i < spans->n_lanes; i++)
		if (spans->lane[i].of == of && spans->lane[i].may_cross == may_cross)
			return i;
	if (spans->n_lanes == TP_PAGE_NO_LANE ||
	    !tp_grow(&spans->lane, &spans->cap_lanes, (uint64_t)spans->n_lanes + 1,
		     sizeof(*spans->lane))) {
		spans->is_incomplete = true;
		return TP_PAGE_NO_LANE;
	}
	spans->lane[spans->n_lanes] = (struct tp_page_lane){.of = of, .may_cross = may_cross};
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

/* Whether the longest of both is the new one's. */
static bool join(struct tp_page_span *span, const struct tp_page_span *more)
{
	bool is_longer = more->longest_ns > span->longest_ns;

	span->end = more->end > span->end ? more->end : span->end;
	span->n += more->n;
	span->from_lane = TP_PAGE_NO_LANE;
	if (!is_longer)
		return false;
	span->longest_ns = more->longest_ns;
	span->word = more->word;
	span->detail = more->detail;
	return true;
}

/* ---- rows ---- */

static void link_span(struct tp_page_spans *spans, uint32_t at)
{
	struct tp_page_span *span = &spans->span[at];
	struct tp_page_lane *lane = &spans->lane[span->lane];

	if (lane->last[span->row])
		spans->span[lane->last[span->row] - 1].next = at + 1;
	else
		lane->first[span->row] = at + 1;
	lane->last[span->row] = at + 1;
	span->next = 0;
}

/* Spans by lane, row and begin. False: out of memory. */
static bool order(struct tp_page_spans *spans)
{
	struct tp_page_span *ordered = malloc(((size_t)spans->n_spans + 1) * sizeof(*ordered));
	uint32_t n = 0;

	if (!ordered)
		return false;
	for (uint32_t i = 0; i < spans->n_lanes; i++)
		for (uint32_t row = 0; row < TP_PAGE_ROWS; row++)
			for (uint32_t at = spans->lane[i].first[row]; at; at = spans->span[at - 1].next)
				ordered[n++] = spans->span[at - 1];
	if (n)
		memcpy(spans->span, ordered, (size_t)n * sizeof(*ordered));
	free(ordered);
	return true;
}

static void join_short(struct tp_page_spans *spans)
{
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

/* By lane and row, and no more than are wanted. */
static void coarsen(struct tp_page_spans *spans)
{
	if (!order(spans)) {
		spans->is_incomplete = true;
		return;
	}
	while (spans->n_spans > spans->most && spans->fine < TP_PAGE_SLOTS)
		join_short(spans);
	for (uint32_t i = 0; i < spans->n_lanes; i++) {
		memset(spans->lane[i].first, 0, sizeof(spans->lane[i].first));
		memset(spans->lane[i].last, 0, sizeof(spans->lane[i].last));
	}
	for (uint32_t i = 0; i < spans->n_spans; i++)
		link_span(spans, i);
}

struct tp_page_span *tp_page_spans_take(struct tp_page_spans *spans, uint32_t at, int64_t begin_ns,
					int64_t end_ns)
{
	struct tp_page_lane *lane = &spans->lane[at];
	struct tp_page_span span, *last;

	if (begin_ns < spans->begin_ns)
		begin_ns = spans->begin_ns;
	if (end_ns > spans->end_ns)
		end_ns = spans->end_ns;
	spans->n_events++;
	span = (struct tp_page_span){
		.longest_ns = end_ns - begin_ns, .n = 1, .lane = (uint16_t)at,
		.begin = tp_page_spans_slot(spans, begin_ns),
		.end = tp_page_spans_slot(spans, end_ns),
		.from_lane = TP_PAGE_NO_LANE, .row = find_row(lane, begin_ns, end_ns),
	};
	span.end += span.end == span.begin;
	last = lane->last[span.row] ? &spans->span[lane->last[span.row] - 1] : NULL;
	if (last && are_one(last, &span, spans->fine))
		return join(last, &span) ? last : NULL;
	if (spans->n_spans >= 2 * (uint64_t)spans->most && spans->fine < TP_PAGE_SLOTS)
		coarsen(spans);
	if (!tp_grow(&spans->span, &spans->cap_spans, (uint64_t)spans->n_spans + 1, sizeof(span))) {
		spans->is_incomplete = true;
		return NULL;
	}
	spans->span[spans->n_spans++] = span;
	link_span(spans, spans->n_spans - 1);
	return &spans->span[spans->n_spans - 1];
}

void tp_page_spans_end(struct tp_page_spans *spans)
{
	coarsen(spans);
}

/* ---- as bytes ---- */

static uint8_t *pack_span(const struct tp_page_spans *spans, uint8_t *p, uint32_t before,
			  const struct tp_page_span *span)
{
	bool is_started = span->from_lane != TP_PAGE_NO_LANE;

	p = tp_varint_put(p, span->begin > before ? span->begin - before : 0);
	p = tp_varint_put(p, (uint64_t)span->word << 2 | (uint64_t)is_started << 1 | (span->n > 1));
	if (span->n > 1) {
		p = tp_varint_put(p, span->end - span->begin);
		p = tp_varint_put(p, span->n);
	}
	p = tp_varint_put(p, (uint64_t)span->longest_ns);
	p = tp_varint_put(p, span->detail);
	if (!is_started)
		return p;
	p = tp_varint_put(p, spans->lane[span->from_lane].number);
	/* A device's clock may be off: what seems to run before its call is drawn at once. */
	return tp_varint_put(p, span->begin > span->from ? span->begin - span->from : 0);
}

static uint8_t *pack_row(const struct tp_page_spans *spans, uint8_t *p, const struct tp_page_span *first,
			 uint32_t n)
{
	uint32_t before = 0;

	p = tp_varint_put(p, spans->lane[first->lane].number);
	p = tp_varint_put(p, first->row);
	p = tp_varint_put(p, n);
	for (uint32_t i = 0; i < n; i++) {
		p = pack_span(spans, p, before, &first[i]);
		before = first[i].begin;
	}
	return p;
}

void tp_page_spans_pack(struct tp_page_spans *spans)
{
	enum { SPAN_MOST = 10 * 5 + 10 };	/* bytes: a row's head and a span */
	uint8_t *bytes = malloc((size_t)spans->n_spans * SPAN_MOST + 1), *p = bytes;

	for (uint32_t i = 0, n; bytes && i < spans->n_spans; i += n) {
		const struct tp_page_span *first = &spans->span[i];

		for (n = 1; i + n < spans->n_spans && first[n].lane == first->lane &&
			    first[n].row == first->row; n++)
			;
		p = pack_row(spans, p, first, n);
	}
	tp_page_spans_free(spans);
	spans->is_incomplete |= !bytes;
	spans->n_packed = (uint32_t)(p - bytes);
	spans->packed = bytes ? realloc(bytes, spans->n_packed + 1u) : NULL;
	if (!spans->packed)
		spans->packed = bytes;
}

void tp_page_spans_put(const struct tp_page_spans *spans, struct tp_html *html, const char *key)
{
	tp_html_base64(html, key, spans->packed, spans->n_packed);
}

void tp_page_spans_free(struct tp_page_spans *spans)
{
	free(spans->span);
	free(spans->lane);
	free(spans->packed);
	spans->span = NULL;
	spans->lane = NULL;
	spans->packed = NULL;
	spans->n_spans = spans->cap_spans = spans->n_lanes = spans->cap_lanes = spans->n_packed = 0;
}
