/* SPDX-License-Identifier: Apache-2.0 */
/*
 * raw_events.c - every record, as it was recorded: a part of them at a time, column by column
 *
 * The dictionary of names is made of all strings of the run before the first event, so that a name is
 * found by its string's number and all batches have the same words.
 */
#include <stdlib.h>
#include <string.h>

#include "merge/arrow/raw.h"
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

/* A part, and a bit of each of its events: has its cell a value? */
struct some {
	const struct state *state;
	const struct tp_block_part *part;
	uint32_t n_on_device;
	uint64_t on_device[TP_PART_MOST / 64], mask[TP_PART_MOST / 64];
};

typedef void put_column(struct some *some, struct tp_cells *cells);

/* Cells of which those of the mask are there; others are to be zero. */
static int64_t *more_masked(const struct some *some, struct tp_cells *cells, const uint64_t *mask)
{
	int64_t *to = cells->integer + cells->n;

	if (!cells->valid)
		tp_cells_first_null(cells);
	tp_cells_mask(cells, some->part->n, mask);
	cells->n += some->part->n;
	return to;
}

/* In to[i], of i from `from` on, what `rec`, a record, or `event` has. */
#define EACH(part, from, end, to, of_record, of_event)                                             \
	do {                                                                                       \
		for (uint32_t i = (from); (part)->rec && i < (end); i++) {                         \
			const struct tp_rec *const rec = &(part)->rec[i];                          \
                                                                                                   \
			(to)[i] = of_record;                                                       \
		}                                                                                  \
		for (uint32_t i = (from); !(part)->rec && i < (end); i++) {                        \
			const struct tp_event *const event = &(part)->event[i];                    \
                                                                                                   \
			(to)[i] = of_event;                                                        \
		}                                                                                  \
	} while (0)

#define PUT_INTEGERS(name, of_record, of_event)                                                    \
	static void name(struct some *some, struct tp_cells *cells)                                \
	{                                                                                          \
		const struct tp_block_part *const part = some->part;                                     \
		int64_t *to = tp_cells_more(cells, part->n);                                       \
                                                                                                   \
		EACH(part, 0, part->n, to, (int64_t)(of_record), (int64_t)(of_event));             \
	}

PUT_INTEGERS(put_begin, rec->time, event->begin_ns)
PUT_INTEGERS(put_dur, tp_kind_is_span[rec->kind] ? tp_rec_len(rec) : 0, event->end_ns - event->begin_ns)
PUT_INTEGERS(put_arg, rec->arg, event->arg)

/* The first of n > 0 cells has been put: so are the others. */
static void put_alike(int64_t *to, uint32_t n)
{
	for (uint32_t done = 1; done < n; done *= 2)
		memcpy(to + done, to, (done < n - done ? done : n - done) * sizeof(*to));
}

/* What is the same of events of one process and window; otherwise they are no records. */
#define PUT_COMMON(name, of_part, of_event)                                                        \
	static void name(struct some *some, struct tp_cells *cells)                                \
	{                                                                                          \
		const struct tp_block_part *const part = some->part;                                     \
		int64_t *to = tp_cells_more(cells, part->n);                                       \
                                                                                                   \
		for (uint32_t i = 0; !part->proc && i < part->n; i++)                              \
			to[i] = part->event[i].of_event;                                           \
		if (part->proc) {                                                                  \
			to[0] = of_part;                                                           \
			put_alike(to, part->n);                                                    \
		}                                                                                  \
	}

PUT_COMMON(put_process, part->proc->at, proc->at)
PUT_COMMON(put_pid, part->proc->pid, proc->pid)
PUT_COMMON(put_window, part->window, window)
PUT_COMMON(put_known_rank, part->proc->rank, proc->rank)

/* Cells that were put already, of which zeros are not there. */
static void more_but_zeros(struct some *some, struct tp_cells *cells)
{
	const int64_t *to = cells->integer + cells->n;

	memset(some->mask, 0, sizeof(some->mask));
	for (uint32_t i = 0; i < some->part->n; i++)
		some->mask[i / 64] |= (uint64_t)(to[i] != 0) << i % 64;
	more_masked(some, cells, some->mask);
}

/* Those of events of several processes as one more, so that rank 0 is there. */
static void put_rank(struct some *some, struct tp_cells *cells)
{
	const struct tp_block_part *part = some->part;
	int64_t *to = cells->integer + cells->n;

	if (part->proc && part->proc->rank >= 0) {
		put_known_rank(some, cells);
		return;
	}
	for (uint32_t i = 0; i < part->n; i++)
		to[i] = part->proc || part->event[i].proc->rank < 0 ? 0 : part->event[i].proc->rank + 1;
	more_but_zeros(some, cells);
	for (uint32_t i = 0; i < part->n; i++)
		to[i] -= to[i] != 0;
}

/* Of records; calls tell theirs, others come in long runs of a thread. */
static void put_tids(const struct tp_block_part *part, int64_t *to)
{
	const struct tp_thread *thread = part->proc->thread;
	uint32_t end;

	for (uint32_t i = 0; i < part->n; i = end) {
		for (end = i + 1; end < part->n && part->thread[end] == part->thread[i]; end++)
			;
		to[i] = thread[part->thread[i]].tid;
		put_alike(to + i, end - i);
	}
	for (uint32_t i = 0; part->has_calls && i < part->n; i++)
		if (tp_kind_is_cuda(part->rec[i].kind))
			to[i] = TP_ARG_TID(part->rec[i].arg);
}

static void put_tid(struct some *some, struct tp_cells *cells)
{
	const struct tp_block_part *const part = some->part;
	int64_t *to = cells->integer + cells->n;
	uint32_t n_none = 0;

	if (part->rec)
		put_tids(part, to);
	for (uint32_t i = 0; !part->rec && i < part->n; i++)
		to[i] = part->event[i].queue ? 0 : part->event[i].thread->tid;
	for (uint32_t i = 0; i < part->n; i++)
		n_none += !to[i];
	if (n_none)
		more_but_zeros(some, cells);
	else
		tp_cells_more(cells, part->n);
}

/* A bit of those that have any: what takes no time. */
static inline uint64_t has_bytes(const struct tp_rec *rec)
{
	return !tp_kind_is_span[rec->kind] | !tp_rec_len(rec);
}

static void put_bytes(struct some *some, struct tp_cells *cells)
{
	const struct tp_block_part *const part = some->part;
	int64_t *to = cells->integer + cells->n;

	for (uint32_t from = 0; from < part->n; from += 64) {
		uint32_t end = part->n - from < 64 ? part->n : from + 64;
		uint64_t word = 0;

		EACH(part, from, end, to,
		     (word |= has_bytes(rec) << (i - from), (int64_t)(tp_rec_len(rec) & -has_bytes(rec))),
		     (word |= (uint64_t)(event->begin_ns == event->end_ns) << (i - from),
		      event->begin_ns == event->end_ns ? (int64_t)event->len : 0));
		some->mask[from / 64] = word;
	}
	more_masked(some, cells, some->mask);
}

/* On records there is none. */
#define PUT_QUEUE(name, value)                                                                     \
	static void name(struct some *some, struct tp_cells *cells)                                \
	{                                                                                          \
		const struct tp_block_part *const part = some->part;                                     \
		int64_t *to = more_masked(some, cells, some->on_device);                           \
                                                                                                   \
		memset(to, 0, part->n * sizeof(*to));                                              \
		for (uint32_t i = 0; some->n_on_device && i < part->n; i++)                        \
			if (part->event[i].queue)                                                  \
				to[i] = (int64_t)part->event[i].queue->value;                      \
	}

PUT_QUEUE(put_device, device)
PUT_QUEUE(put_stream, stream)

static void put_kind(struct some *some, struct tp_cells *cells)
{
	const struct tp_block_part *const part = some->part;
	const int32_t *kind = some->state->kind;
	int32_t *to = cells->word + cells->n;

	EACH(part, 0, part->n, to, kind[rec->kind], kind[event->kind]);
	cells->n += part->n;
}

static inline int32_t word_of(const struct state *state, const struct tp_string *name)
{
	return name && name->same < state->n_names ? state->name[name->same] : state->nameless;
}

static void put_name(struct some *some, struct tp_cells *cells)
{
	const struct tp_block_part *const part = some->part;
	const struct tp_ids ids = part->rec ? *part->ids : (struct tp_ids){0};
	const struct state *state = some->state;
	int32_t *to = cells->word + cells->n;

	EACH(part, 0, part->n, to, word_of(state, tp_ids_get(&ids, rec->name)), word_of(state, event->name));
	cells->n += part->n;
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
	const struct tp_block_part *part = some->part;

	for (uint32_t i = 0; part->event && i < part->n; i++) {
		some->on_device[i / 64] |= (uint64_t)(part->event[i].queue != NULL) << i % 64;
		some->n_on_device += part->event[i].queue != NULL;
	}
}

static void put_part(void *state, struct tp_raw_rows *rows, const struct tp_block_part *part)
{
	struct tp_batch *batch = tp_raw_rows_batch(rows, part->n);
	struct some some = {.state = state, .part = part};

	find_on_device(&some);
	for (uint32_t i = 0; i < rows->shape.n_picked; i++) {
		uint32_t c = rows->shape.picked[i];

		put[c](&some, &batch->cells[c]);
	}
	batch->n_rows += part->n;
}

const struct tp_raw tp_raw_events = {
	.name = "events", .help = "every record as it was written, in no order of time",
	.column = columns, .begin_parts = begin_events, .part = put_part,
};
