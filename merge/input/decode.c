/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decode.c - blocks of files and rings -> slices of records in order (radix on the bits that
 * differ), and these -> events
 *
 * Decoding changes nothing of the run: any number of threads do it at a time.
 */
#include "merge/input/decode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "merge/kit/sum.h"

enum {
	INDEX_BITS = 14, /* of an event in its block */
	DIGIT_BITS = 11,
	TIES_FEW = 32,
};
#define TICKS_END (UINT64_C(1) << 62)	/* of records: later ones are none */
_Static_assert(TP_BLOCK_EVENTS_MAX == 1 << INDEX_BITS, "an index fits its bits");

/* At equal begin times, within a block: is event a handed out before event b? */
static bool comes_first(const struct tp_rec *rec, uint32_t a, uint32_t b, bool is_kineto)
{
	int64_t end_a = tp_decode_end(&rec[a]), end_b = tp_decode_end(&rec[b]);
	uint32_t order_a = tp_decode_kind_order(rec[a].kind),
		 order_b = tp_decode_kind_order(rec[b].kind);

	if (end_a != end_b)
		return end_a > end_b;
	if (order_a != order_b)
		return order_a < order_b;
	/* Spans are recorded when they end: of two equal ones the later is the parent. Torch's
	 * profiler writes them as they began, and in whole microseconds many are equal. */
	return tp_kind_is_span[rec[a].kind] && !is_kineto ? a > b : a < b;
}

struct ties {
	const struct tp_rec *rec;
	bool is_kineto;
};

static int compare_ties(const void *a, const void *b, void *ctx)
{
	const uint32_t one = *(const uint64_t *)a & (TP_BLOCK_EVENTS_MAX - 1);
	const uint32_t other = *(const uint64_t *)b & (TP_BLOCK_EVENTS_MAX - 1);
	const struct ties *ties = ctx;

	if (one == other)
		return 0;
	return comes_first(ties->rec, one, other, ties->is_kineto) ? -1 : 1;
}

/* By insertion where they are few, as nearly everywhere; a whole block of ties would take a
 * hundred million steps. */
static void order_tie(const struct ties *ties, uint64_t *key, uint32_t n)
{
	if (n > TIES_FEW) {
		qsort_r(key, n, sizeof(*key), compare_ties, (void *)ties);
		return;
	}
	for (uint32_t i = 1; i < n; i++) {
		uint64_t one = key[i];
		uint32_t k = i;

		for (; k && compare_ties(&one, &key[k - 1], (void *)ties) < 0; k--)
			key[k] = key[k - 1];
		key[k] = one;
	}
}

static void order_ties(const struct tp_rec *rec, uint64_t *key, uint32_t n, bool is_kineto)
{
	const struct ties ties = {rec, is_kineto};

	for (uint32_t from = 0, to; from < n; from = to) {
		to = from + 1;
		while (to < n && key[to] >> INDEX_BITS == key[from] >> INDEX_BITS)
			to++;
		if (to - from > 1)
			order_tie(&ties, key + from, to - from);
	}
}

/* Stable; the low INDEX_BITS are in order already. Returns where they are now: key or scratch. */
static uint64_t *sort_keys(uint64_t *key, uint64_t *scratch, uint32_t n, uint64_t most)
{
	uint64_t *from = key, *to = scratch;
	uint32_t count[1 << DIGIT_BITS];

	for (uint32_t shift = INDEX_BITS; shift < 64 && most >> shift;
	     shift += DIGIT_BITS) {
		const uint64_t mask = (1 << DIGIT_BITS) - 1;
		uint64_t *swap = from;
		uint32_t sum = 0;

		memset(count, 0, sizeof(count));
		for (uint32_t i = 0; i < n; i++)
			count[from[i] >> shift & mask]++;
		for (uint32_t i = 0; i <= mask; i++) {
			uint32_t many = count[i];

			count[i] = sum;
			sum += many;
		}
		for (uint32_t i = 0; i < n; i++)
			to[count[from[i] >> shift & mask]++] = from[i];
		from = to;
		to = swap;
	}
	return from;
}

/* A piece of the process's map in which all is well: ticks of a record, a time of the run. n 0: of none. */
static struct tp_align_piece sound_piece(const struct tp_proc_in *proc, uint32_t knot)
{
	struct tp_align_piece piece = tp_align_piece(&proc->map, knot, proc->to_run_ns);
	uint64_t most = piece.from < TICKS_END ? TICKS_END - piece.from : 0;

	if (piece.n > most)
		piece.n = most;
	if (!tp_run_is_time(piece.ns) ||
	    !tp_run_is_time(piece.ns + (int64_t)((unsigned __int128)piece.n * piece.rate >> 32)))
		piece.n = 0;
	return piece;
}

/* As tp_run_ns(), most times by the piece that the last one lay in. False: none of the run. */
static inline bool place_time(const struct tp_proc_in *proc, struct tp_align_piece *piece, uint32_t *hint,
			      uint64_t ticks, int64_t *ns)
{
	uint64_t behind = ticks - piece->from;

	if (__builtin_expect(behind < piece->n, 1)) {
		*ns = piece->ns + (int64_t)((unsigned __int128)behind * piece->rate >> 32);
		return true;
	}
	*ns = tp_run_ns(proc, hint, ticks);
	*piece = sound_piece(proc, *hint);
	return ticks < TICKS_END && tp_run_is_time(*ns);
}

/* Ticks -> ns. False: times that cannot be. */
static bool place_times(struct tp_rec *rec, uint32_t n, const struct tp_proc_in *proc, int64_t *least,
			int64_t *most)
{
	struct tp_align_piece piece = {.n = 0};
	int64_t first = INT64_MAX, last = INT64_MIN;
	uint32_t hint = 0;

	for (uint32_t i = 0; i < n; i++) {
		const uint64_t ticks = rec[i].time;
		int64_t begin, end;

		if (!place_time(proc, &piece, &hint, ticks, &begin))
			return false;
		if (tp_kind_is_span[rec[i].kind]) {
			place_time(proc, &piece, &hint, ticks + tp_rec_len(&rec[i]), &end);
			tp_rec_set_len(&rec[i], (uint64_t)(end - begin));
		}
		rec[i].time = (uint64_t)begin;
		first = begin < first ? begin : first;
		last = begin > last ? begin : last;
	}
	*least = first;
	*most = last;
	return true;
}

/* Slots -> threads. They come in long runs. */
static void place_threads(uint16_t *thread, uint32_t n, const struct tp_slots *slots, uint32_t n_threads)
{
	uint16_t slot = 0, found = (uint16_t)n_threads;

	for (uint32_t i = 0; i < n; i++) {
		if (!i || thread[i] != slot) {
			slot = thread[i];
			found = slot < slots->n ? slots->thread[slot] : TP_NO_THREAD;
			found = found < n_threads ? found : (uint16_t)n_threads;
		}
		thread[i] = found;
	}
}

static bool place_events(struct tp_decoder *decoder, const struct tp_block_ref *ref, int64_t *least,
			 int64_t *most)
{
	const struct tp_source *source = &decoder->run->source[ref->source];

	place_threads(decoder->thread, ref->n_events, &source->slots[ref->slots],
		      source->proc->pub.n_threads);
	return place_times(decoder->rec, ref->n_events, source->proc, least, most);
}

/* By begin, then as recorded. False: times too far apart for a key. */
static bool make_keys(struct tp_decoder *decoder, uint32_t n, int64_t least, int64_t most)
{
	if (most - least >= 1ll << (64 - INDEX_BITS - 1))
		return false;
	for (uint32_t i = 0; i < n; i++)
		decoder->key[i] = (uint64_t)((int64_t)decoder->rec[i].time - least) << INDEX_BITS |
				  i;
	return true;
}

int tp_decode_read(struct tp_run_in *run, struct tp_reader_room *room,
		   const struct tp_block_ref *ref, struct tp_rec *rec, uint16_t *thread,
		   enum tp_decode_trouble *trouble)
{
	const struct tp_source *source = &run->source[ref->source];
	int fd, err;

	if (source->rest) {
		*trouble = TP_DECODE_RING;
		return tp_recover_events(source->rest, ref->at, rec, thread, ref->n_events);
	}
	*trouble = TP_DECODE_NO_FILE;
	fd = tp_infile_open(&run->files, source->file);
	if (fd < 0)
		return fd;
	*trouble = TP_DECODE_BLOCK;
	err = tp_reader_events_at(room, fd, ref->lies_at, ref->n_events, ref->stored_bytes, rec,
				  thread);
	tp_infile_done(&run->files, source->file, fd);
	return err;
}

/* A block that is opened: whose it is; its records, placed in time. False: its trouble is told. */
static bool open_block(struct tp_decoder *decoder, const struct tp_block_ref *ref, struct tp_decoded *d,
		       int64_t *least, int64_t *most)
{
	struct tp_run_in *run = decoder->run;
	struct tp_proc_in *proc;

	d->source = &run->source[ref->source];
	proc = d->source->proc;
	d->window = run->pub.window[d->source->window].window;
	d->making = (struct tp_making){
		.run = run, .proc = proc, .window = &run->pub.window[d->source->window],
		.none = &run->strings.none, .thread = proc->pub.thread, .ids = proc->ids,
		.window_number = d->window,
	};
	d->ref = ref;
	d->n = d->at = 0;
	d->err = tp_decode_read(run, &decoder->room, ref, decoder->rec, decoder->thread,
				&d->trouble);
	if (!d->err && !place_events(decoder, ref, least, most)) {
		d->trouble = TP_DECODE_TIMES;
		d->err = -EBADMSG;
	}
	return !d->err;
}

void tp_decode_slice(struct tp_decoder *decoder, const struct tp_block_ref *ref, uint32_t from,
		     struct tp_decoded *d)
{
	const uint64_t mask = TP_BLOCK_EVENTS_MAX - 1;
	int64_t least, most;
	uint64_t *key;

	d->from = from;
	if (!open_block(decoder, ref, d, &least, &most))
		return;
	if (!make_keys(decoder, ref->n_events, least, most)) {
		d->trouble = TP_DECODE_TIMES;
		d->err = -EBADMSG;
		return;
	}
	d->trouble = TP_DECODE_FINE;
	key = sort_keys(decoder->key, decoder->scratch, ref->n_events,
			(uint64_t)(most - least) << INDEX_BITS);
	order_ties(decoder->rec, key, ref->n_events, decoder->run->n_kineto != 0);
	d->n = ref->n_events - from < d->room ? ref->n_events - from : d->room;
	for (uint32_t i = 0; i < d->n; i++) {
		d->rec[i] = decoder->rec[key[from + i] & mask];
		d->thread[i] = decoder->thread[key[from + i] & mask];
	}
	if (from + d->n < ref->n_events)
		d->next_ns = (int64_t)decoder->rec[key[from + d->n] & mask].time;
}

void tp_decode_block(struct tp_decoder *decoder, const struct tp_block_ref *ref, struct tp_decoded *d)
{
	int64_t least, most;

	d->from = 0;
	d->rec = decoder->rec;
	d->thread = decoder->thread;
	if (!open_block(decoder, ref, d, &least, &most))
		return;
	d->trouble = TP_DECODE_FINE;
	d->n = ref->n_events;
}

void tp_decode_complain(struct tp_run_in *run, const struct tp_decoded *d)
{
	const char *path = d->source->path;

	switch (d->trouble) {
	case TP_DECODE_NO_FILE:
		if (d->source->is_lost)
			return;
		d->source->is_lost = true;
		tp_run_issue(&run->pub, &d->source->proc->pub, true,
			     d->err == -ESTALE ? "'%s' changed while it was read; its events are "
						 "left out"
					       : "'%s' cannot be opened any more; its events are "
						 "left out", path);
		return;
	case TP_DECODE_BLOCK:
		tp_run_issue(&run->pub, NULL, true, "'%s': offset %llu: %s", path,
			     (unsigned long long)d->ref->offset, tp_reader_trouble(d->err));
		return;
	case TP_DECODE_RING:
		tp_run_issue(&run->pub, &d->source->proc->pub, true,
			     "'%s': %u events of a block are left out: %s", path, d->ref->n_events,
			     strerror(-d->err));
		return;
	case TP_DECODE_TIMES:
		tp_run_issue(&run->pub, &d->source->proc->pub, true,
			     "'%s': %u events of a block are left out: their times cannot be", path,
			     d->ref->n_events);
		return;
	case TP_DECODE_EARLY:
		tp_run_issue(&run->pub, &d->source->proc->pub, true,
			     "'%s': %u events of a block are left out: they lie before the block "
			     "says it begins", path, d->ref->n_events);
		return;
	default:
		return;
	}
}

int tp_decoder_init(struct tp_decoder *decoder, struct tp_run_in *run)
{
	*decoder = (struct tp_decoder){.run = run};
	decoder->rec = malloc(TP_BLOCK_EVENTS_MAX * sizeof(decoder->rec[0]));
	decoder->thread = malloc(TP_BLOCK_EVENTS_MAX * sizeof(decoder->thread[0]));
	decoder->key = malloc(TP_BLOCK_EVENTS_MAX * sizeof(decoder->key[0]));
	decoder->scratch = malloc(TP_BLOCK_EVENTS_MAX * sizeof(decoder->scratch[0]));
	if (!decoder->rec || !decoder->thread || !decoder->key || !decoder->scratch)
		return -ENOMEM;
	return tp_reader_room_init(&decoder->room);
}

void tp_decoder_free(struct tp_decoder *decoder)
{
	tp_reader_room_free(&decoder->room);
	free(decoder->rec);
	free(decoder->thread);
	free(decoder->key);
	free(decoder->scratch);
}

/* ---- events ---- */

static inline const struct tp_string *string_of(const struct tp_making *m, uint32_t id)
{
	const struct tp_string *s;

	if (!id)
		return m->none;
	s = tp_ids_get(&m->ids, id);
	if (__builtin_expect(s != NULL, 1))
		return s;
	m->run->n_unknown_ids++;
	return m->none;
}

static void place_device(const struct tp_making *m, struct tp_event *event)
{
	const struct tp_string *launch = m->none;

	if (event->kind == TP_REC_KERNEL)
		launch = string_of(m, (uint32_t)event->arg);
	tp_queues_place(&m->proc->queues, event, m->none, event->name, launch);
}

/* A collective of gloo begins on a thread of its own, some time after it was asked for: when that
 * was before the window, other ranks may have done it by then, and have no record of it. */
static inline bool is_asked_early(const struct tp_making *m, const struct tp_event *event)
{
	return event->kind == TP_REC_RANGE && event->flags & TP_F_ASYNC && event->link != TP_NO_SEQ &&
	       m->window->is_whole && tp_sub(event->begin_ns, event->link) < m->window->begin_ns;
}

/* A step of torch.profiler's that the process's own trace has, too. */
static bool is_told_twice(const struct tp_run_in *run, const struct tp_proc_in *proc, int64_t ns)
{
	for (uint32_t i = 0; i < run->pub.n_windows; i++) {
		const struct tp_window *window = &run->pub.window[i];

		if (window->proc == &proc->twin->pub && ns >= window->begin_ns && ns <= window->end_ns)
			return true;
	}
	return false;
}

static inline void make_event(const struct tp_making *m, const struct tp_rec *rec, uint16_t thread,
			      struct tp_event *event)
{
	uint8_t kind = rec->kind;
	uint64_t len = tp_rec_len(rec);

	event->begin_ns = (int64_t)rec->time;
	event->len = len;
	event->end_ns = (int64_t)rec->time + (tp_kind_is_span[kind] ? (int64_t)len : 0);
	event->proc = &m->proc->pub;
	event->thread = &m->thread[thread];
	event->window = m->window_number;
	event->kind = kind;
	event->flags = rec->flags;
	event->link = rec->link;
	event->arg = rec->arg;
	event->name = string_of(m, rec->name);
	event->shapes = tp_kind_has_shapes(kind) ? string_of(m, TP_ARG_SHAPES(rec->arg)) : m->none;
	event->queue = NULL;
	event->detail = m->none;
	if (is_asked_early(m, event))
		event->flags |= TP_F_EARLY;
	if (tp_kind_is_cuda(kind))
		place_device(m, event);
}

static inline bool is_left_out(const struct tp_making *m, const struct tp_rec *rec)
{
	return __builtin_expect(rec->kind == TP_REC_STEP && m->proc->twin != NULL, 0) &&
	       is_told_twice(m->run, m->proc, (int64_t)rec->time);
}

uint32_t tp_events_make(const struct tp_decoded *d, uint32_t at, uint32_t n, struct tp_event *event)
{
	/* A copy, of which the compiler sees that nothing changes it. */
	const struct tp_making m = d->making;
	uint32_t n_made = 0;

	for (uint32_t i = at; i < at + n; i++)
		if (!is_left_out(&m, &d->rec[i]))
			make_event(&m, &d->rec[i], d->thread[i], &event[n_made++]);
	return n_made;
}

bool tp_events_make_one(const struct tp_decoded *d, uint32_t at, struct tp_event *event)
{
	if (is_left_out(&d->making, &d->rec[at]))
		return false;
	make_event(&d->making, &d->rec[at], d->thread[at], event);
	return true;
}

void tp_events_end(struct tp_run_in *run)
{
	if (run->n_unknown_ids)
		tp_run_issue(&run->pub, NULL, true, "%llu events name strings that no file holds",
			     (unsigned long long)run->n_unknown_ids);
}
