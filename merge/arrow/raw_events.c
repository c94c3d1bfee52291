/* SPDX-License-Identifier: Apache-2.0 */
/*
 * raw_events.c - every record, as it was recorded: some events at a time, put column by column
 *
 * The dictionary of names is made of all strings of the run before the first event, so that a name is
 * found by its string's number and all batches have the same words.
 */
#include <stdlib.h>
#include <string.h>

#include "merge/arrow/raw.h"
#include "merge/input/fuse.h"
#include "runtime/trace/kinds.h"

struct state {
	int32_t kind[256];	/* words */
	int32_t nameless;
	uint32_t n_names;
	int32_t name[];		/* by tp_string.same */
};

struct row {
	struct tp_raw_head head;
	int64_t device, stream, arg, bytes;
};

static const struct tp_raw_column columns[] = {
	TP_RAW_HEAD(struct row),
	TP_RAW(struct row, device, TP_UNIT_NUMBER, "device, by its process's numbering"),
	TP_RAW(struct row, stream, TP_UNIT_NUMBER, "stream of the device"),
	TP_RAW(struct row, arg, TP_UNIT_NUMBER, "as in the record: trainprof-trace(5)"),
	TP_RAW(struct row, bytes, TP_UNIT_BYTES, "of memory records: as in the record"),
	{.field = NULL},
};

/* ---- columns ---- */

enum { SOME_MOST = 256 };

/* Some events, and a bit of each: has its cell a value? */
struct some {
	const struct state *state;
	const struct tp_event *event;
	uint32_t n, n_on_device;
	bool is_of_one;		/* they are of one process and window */
	uint64_t on_device[SOME_MOST / 64], mask[SOME_MOST / 64];
};

typedef void put_column(struct some *some, struct tp_cells *cells);

/* Cells of which those of the mask are there; others are to be zero. */
static int64_t *more_masked(struct some *some, struct tp_cells *cells, const uint64_t *mask)
{
	int64_t *to = cells->integer + cells->n;

	if (!cells->valid)
		tp_cells_first_null(cells);
	tp_cells_mask(cells, some->n, mask);
	cells->n += some->n;
	return to;
}

#define PUT_INTEGERS(name, value)                                                                  \
	static void name(struct some *some, struct tp_cells *cells)                                \
	{                                                                                          \
		const struct tp_event *event = some->event;                                        \
		const uint32_t n = some->n;                                                        \
		int64_t *to = tp_cells_more(cells, n);                                             \
                                                                                                   \
		for (uint32_t i = 0; i < n; i++)                                                   \
			to[i] = (int64_t)(value);                                                  \
	}

PUT_INTEGERS(put_processes, event[i].proc->at)
PUT_INTEGERS(put_pids, event[i].proc->pid)
PUT_INTEGERS(put_windows, event[i].window)
PUT_INTEGERS(put_begin, event[i].begin_ns)
PUT_INTEGERS(put_dur, event[i].end_ns - event[i].begin_ns)
PUT_INTEGERS(put_arg, event[i].arg)

/* What is the same of events of one process and window. */
#define PUT_COMMON(name, value, put_each)                                                          \
	static void name(struct some *some, struct tp_cells *cells)                                \
	{                                                                                          \
		const int64_t common = (int64_t)(some->event[0].value);                            \
		const uint32_t n = some->n;                                                        \
		int64_t *to;                                                                       \
                                                                                                   \
		if (!some->is_of_one) {                                                            \
			put_each(some, cells);                                                     \
			return;                                                                    \
		}                                                                                  \
		to = tp_cells_more(cells, n);                                                      \
		for (uint32_t i = 0; i < n; i++)                                                   \
			to[i] = common;                                                            \
	}

PUT_COMMON(put_process, proc->at, put_processes)
PUT_COMMON(put_pid, proc->pid, put_pids)
PUT_COMMON(put_window, window, put_windows)

static inline bool has_rank(const struct tp_event *event)
{
	return event->proc->rank >= 0;
}

static inline bool has_thread(const struct tp_event *event)
{
	return !event->queue && event->thread->tid;
}

static inline bool has_bytes(const struct tp_event *event)
{
	return event->begin_ns == event->end_ns;
}

/* Values and their mask together. */
#define PUT_MASKED(name, is_there, value)                                                          \
	static void name(struct some *some, struct tp_cells *cells)                                \
	{                                                                                          \
		const struct tp_event *event = some->event;                                        \
		const uint32_t n = some->n;                                                        \
		int64_t *to = cells->integer + cells->n;                                           \
                                                                                                   \
		for (uint32_t from = 0; from < n; from += 64) {                                    \
			uint32_t end = n - from < 64 ? n : from + 64;                              \
			uint64_t word = 0;                                                         \
                                                                                                   \
			for (uint32_t i = from; i < end; i++) {                                    \
				bool is = is_there(&event[i]);                                     \
                                                                                                   \
				word |= (uint64_t)is << (i - from);                                \
				to[i] = is ? (int64_t)(value) : 0;                                 \
			}                                                                          \
			some->mask[from / 64] = word;                                              \
		}                                                                                  \
		more_masked(some, cells, some->mask);                                              \
	}

PUT_MASKED(put_some_ranks, has_rank, event[i].proc->rank)
PUT_MASKED(put_some_tids, has_thread, event[i].thread->tid)
PUT_MASKED(put_bytes, has_bytes, event[i].len)

PUT_COMMON(put_common_rank, proc->rank, put_some_ranks)

static void put_rank(struct some *some, struct tp_cells *cells)
{
	(has_rank(some->event) ? put_common_rank : put_some_ranks)(some, cells);
}

/* Those of the host have a thread, nearly always. */
static void put_tid(struct some *some, struct tp_cells *cells)
{
	const struct tp_event *event = some->event;
	const uint32_t n = some->n;
	int64_t *to = cells->integer + cells->n;
	uint32_t n_without = some->n_on_device;

	for (uint32_t i = 0; i < n; i++) {
		to[i] = event[i].thread->tid;
		n_without += !to[i];
	}
	if (n_without)
		put_some_tids(some, cells);
	else
		tp_cells_more(cells, n);
}

#define PUT_QUEUE(name, value)                                                                     \
	static void name(struct some *some, struct tp_cells *cells)                                \
	{                                                                                          \
		const struct tp_event *event = some->event;                                        \
		int64_t *to = more_masked(some, cells, some->on_device);                           \
                                                                                                   \
		memset(to, 0, some->n * sizeof(*to));                                              \
		for (uint32_t i = 0; some->n_on_device && i < some->n; i++)                        \
			if (event[i].queue)                                                        \
				to[i] = (int64_t)(value);                                          \
	}

PUT_QUEUE(put_device, event[i].queue->device)
PUT_QUEUE(put_stream, event[i].queue->stream)

static void put_kind(struct some *some, struct tp_cells *cells)
{
	int32_t *to = cells->word + cells->n;

	for (uint32_t i = 0; i < some->n; i++)
		to[i] = some->state->kind[some->event[i].kind];
	cells->n += some->n;
}

static void put_name(struct some *some, struct tp_cells *cells)
{
	int32_t *to = cells->word + cells->n;

	for (uint32_t i = 0; i < some->n; i++) {
		uint32_t same = some->event[i].name->same;

		to[i] = same < some->state->n_names ? some->state->name[same] : some->state->nameless;
	}
	cells->n += some->n;
}

/* In the order of the columns. */
static put_column *const put[] = {
	put_process, put_rank, put_pid, put_tid, put_window, put_kind, put_name, put_begin, put_dur,
	put_device, put_stream, put_arg, put_bytes,
};
enum { N_COLUMNS = sizeof(put) / sizeof(put[0]), KIND = 5, NAME = 6 };
_Static_assert(sizeof(columns) / sizeof(columns[0]) == N_COLUMNS + 1, "a column has what puts it");

/* ---- events ---- */

static void *begin_events(struct tp_run *run, struct tp_raw_rows *rows)
{
	uint32_t n;
	const struct tp_string **string = tp_run_strings(run, &n);
	struct state *state;

	if (!string)
		tp_need_failed();
	state = tp_need(1, sizeof(*state) + n * sizeof(*state->name));
	state->n_names = n;
	state->nameless = tp_words_number(&rows->words[NAME], "");
	for (uint32_t i = 0; i < n; i++)
		state->name[i] = tp_words_shown(&rows->words[NAME], tp_raw_name(string[i]));
	free(string);
	for (uint32_t kind = 0; kind < 256; kind++)
		state->kind[kind] = tp_words_number(&rows->words[KIND], tp_raw_kind((uint8_t)kind));
	return state;
}

static void find_on_device(struct some *some)
{
	const struct tp_event *event = some->event;

	if (some->is_of_one && !event[0].proc->n_queues)
		return;
	for (uint32_t i = 0; i < some->n; i++) {
		some->on_device[i / 64] |= (uint64_t)(event[i].queue != NULL) << i % 64;
		some->n_on_device += event[i].queue != NULL;
	}
}

static void put_events(void *state, struct tp_raw_rows *rows, const struct tp_event *event, uint32_t n,
		       bool is_of_one)
{
	struct tp_batch *batch = tp_raw_rows_batch(rows, n);
	struct some some = {.state = state, .event = event, .n = n, .is_of_one = is_of_one};

	find_on_device(&some);
	for (uint32_t i = 0; i < rows->shape.n_picked; i++) {
		uint32_t c = rows->shape.picked[i];

		put[c](&some, &batch->cells[c]);
	}
	batch->n_rows += n;
}

const struct tp_raw tp_raw_events = {
	.name = "events", .help = "every record, as it was recorded, in no order of time",
	.column = columns, .begin_some = begin_events, .some = put_events,
};
