/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_spans.h - a stretch of a process's time as spans in rows, few enough for a page
 *
 * Spans come in order of begin. A row holds spans that do not overlap. Time is cut into TP_PAGE_SLOTS
 * slots; spans that share one cannot be told apart and become one that knows how many it stands for,
 * and the longest of them. When there are twice as many spans as wanted, those shorter than `fine` slots
 * that follow each other are joined, and `fine` doubles until they fit: memory is bounded by `most`, not
 * by the events. When no more come they are packed: some seven bytes each.
 */
#ifndef TP_MERGE_PAGE_SPANS_H
#define TP_MERGE_PAGE_SPANS_H

#include <stdbool.h>
#include <stdint.h>

#include "merge/page/html.h"

enum {
	TP_PAGE_SLOTS = 1 << 16,
	TP_PAGE_ROWS = 24,		/* of a lane; what lies deeper is drawn in the last one */
	TP_PAGE_NO_LANE = 0xffff,
};

/* Numbers are the caller's: of its words (name and kind), details, lanes. */
struct tp_page_span {
	int64_t longest_ns;	/* of the longest that it stands for, as are word and detail */
	uint32_t begin, end;	/* slots: [begin, end) */
	uint32_t n;		/* it stands for so many */
	uint32_t word, detail;	/* detail: 0: none */
	uint32_t from;		/* slot at which `from_lane` started it */
	uint32_t next;		/* of its row, plus one; 0: it is the last */
	uint16_t lane, from_lane;	/* as of tp_page_spans_lane; from_lane may be TP_PAGE_NO_LANE */
	uint8_t row;
};

/* A lane of rows: of a thread each span lies in the row below the one that it lies in; where spans
 * may cross each is in the first free row. */
struct tp_page_lane {
	const void *of;			/* the caller's, by which it is found */
	uint32_t number;		/* the caller's, 0 at first */
	bool may_cross;
	uint32_t depth;
	int64_t open_end[TP_PAGE_ROWS];
	uint32_t first[TP_PAGE_ROWS], last[TP_PAGE_ROWS];	/* spans of the row, plus one */
};

struct tp_page_spans {
	int64_t begin_ns, end_ns;	/* the stretch, end > begin */
	uint32_t most;			/* spans wanted */
	uint32_t fine;			/* slots in which short ones are one, 1 at first */
	struct tp_page_span *span;
	struct tp_page_lane *lane;
	uint32_t n_spans, cap_spans, n_lanes, cap_lanes;
	uint64_t n_events;
	uint8_t *packed;		/* ended ones */
	uint32_t n_packed;		/* bytes */
	bool is_incomplete;		/* out of memory */
};

/* Its lane of that and that sort, made now if need be; TP_PAGE_NO_LANE: out of memory, or too many. */
uint32_t tp_page_spans_lane(struct tp_page_spans *spans, const void *of, bool may_cross);
uint32_t tp_page_spans_slot(const struct tp_page_spans *spans, int64_t ns);
/*
 * One more span of [begin_ns, end_ns) in a lane. The span that it is now, or the one that it was joined to
 * as its longest (n > 1): the caller fills in word and detail before the next, of a new one (n 1) from and
 * from_lane, too, where it has such. NULL: it was joined to one that knows a longer one.
 */
struct tp_page_span *tp_page_spans_take(struct tp_page_spans *spans, uint32_t lane, int64_t begin_ns,
					int64_t end_ns);
/* No more will come: at most `most` of them (or slots are as wide as the stretch), by lane and row. */
void tp_page_spans_end(struct tp_page_spans *spans);
/*
 * Ended ones as varints, whose room as spans is given back. Rows: lane's number, row, spans in it; each
 * span: slots since the begin of the one before; four times its word, with 1: it stands for several, 2: it is
 * known what started it; of several: slots, how many; then longest_ns, detail; of what started it: number
 * of from_lane, slots from there to its begin.
 */
void tp_page_spans_pack(struct tp_page_spans *spans);
/* Packed ones, as base64. */
void tp_page_spans_put(const struct tp_page_spans *spans, struct tp_html *html, const char *key);
void tp_page_spans_free(struct tp_page_spans *spans);

#endif
