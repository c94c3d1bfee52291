/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heapbook.h - the books of host memory that several formats write from: kept once a run
 *
 * Whoever wants them takes them when the run begins and leaves them at its end; events are
 * counted once, symbols are read once. One thread.
 */
#ifndef TP_MERGE_HEAPBOOK_H
#define TP_MERGE_HEAPBOOK_H

#include "merge/facts/heap/heapcost.h"

struct tp_heapbook;

/* NULL: out of memory. */
struct tp_heapbook *tp_heapbook_take(const struct tp_run *run);
/* `who` is the same in all calls of one taker; every taker may give every event. */
void tp_heapbook_event(struct tp_heapbook *book, const void *who, const struct tp_event *event);
/* No more events. With names of functions; no rows: none were recorded, or memory is out. */
const struct tp_heap_rows *tp_heapbook_rows(struct tp_heapbook *book);
void tp_heapbook_leave(struct tp_heapbook *book);

#endif
