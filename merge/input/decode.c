/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decode.c - blocks of files and rings -> slices of events in order (radix on the bits that
 * differ)
 *
 * Nothing here changes the run: any number of threads decode at a time.
 */
#include "merge/input/decode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	INDEX_BITS = 14, /* of an event in its block */
	DIGIT_BITS = 11,
	TIES_FEW = 32,
};
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

/* Ticks -> ns, slots -> threads, and the keys. False: times that cannot be. */
static bool place_events(struct tp_decoder *decoder, const struct tp_block_ref *ref,
			 uint64_t *greatest)
{
	const struct tp_source *source = &decoder->run->source[ref->source];
	const struct tp_slots *slots = &source->slots[ref->slots];
	const struct tp_proc_in *proc = source->proc;
	uint32_t hint = 0, n_threads = proc->pub.n_threads;
	int64_t least = INT64_MAX, most = INT64_MIN;

	for (uint32_t i = 0; i < ref->n_events; i++) {
		struct tp_rec *rec = &decoder->rec[i];
		uint16_t slot = decoder->thread[i];
		uint16_t thread = slot < slots->n ? slots->thread[slot] : TP_NO_THREAD;
		int64_t begin;

		if (rec->time >> 62)
			return false;
		begin = tp_run_ns(proc, &hint, rec->time);
		if (tp_kind_is_span[rec->kind]) {
			int64_t end = tp_run_ns(proc, &hint, rec->time + tp_rec_len(rec));

			tp_rec_set_len(rec, (uint64_t)(end - begin));
		}
		if (!tp_run_is_time(begin))
			return false;
		rec->time = (uint64_t)begin;
		decoder->thread[i] = thread < n_threads ? thread : (uint16_t)n_threads;
		if (begin < least)
			least = begin;
		if (begin > most)
			most = begin;
	}
	if (most - least >= 1ll << (64 - INDEX_BITS - 1))
		return false;
	*greatest = (uint64_t)(most - least) << INDEX_BITS;
	for (uint32_t i = 0; i < ref->n_events; i++)
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

void tp_decode_slice(struct tp_decoder *decoder, const struct tp_block_ref *ref, uint32_t from,
		     struct tp_decoded *d)
{
	const uint64_t mask = TP_BLOCK_EVENTS_MAX - 1;
	uint64_t *key, greatest;

	d->source = &decoder->run->source[ref->source];
	d->window = decoder->run->pub.window[d->source->window].window;
	d->ref = ref;
	d->from = from;
	d->n = d->at = 0;
	d->err = tp_decode_read(decoder->run, &decoder->room, ref, decoder->rec, decoder->thread,
				&d->trouble);
	if (!d->err && !place_events(decoder, ref, &greatest)) {
		d->trouble = TP_DECODE_TIMES;
		d->err = -EBADMSG;
	}
	if (d->err)
		return;
	d->trouble = TP_DECODE_FINE;
	key = sort_keys(decoder->key, decoder->scratch, ref->n_events, greatest);
	order_ties(decoder->rec, key, ref->n_events, decoder->run->n_kineto != 0);
	d->n = ref->n_events - from < d->room ? ref->n_events - from : d->room;
	for (uint32_t i = 0; i < d->n; i++) {
		d->rec[i] = decoder->rec[key[from + i] & mask];
		d->thread[i] = decoder->thread[key[from + i] & mask];
	}
	if (from + d->n < ref->n_events)
		d->next_ns = (int64_t)decoder->rec[key[from + d->n] & mask].time;
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
