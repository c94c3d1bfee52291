/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decode.c - blocks of files and rings -> events in order (radix on the bits that differ)
 *
 * Files are not trusted: a block whose events lie outside the bounds of its head would
 * break the order of the run and is left out.
 */
#include "merge/decode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	INDEX_BITS = 14, /* of an event in its block */
	DIGIT_BITS = 11,
	POOLED_EVENTS = TP_BLOCK_EVENTS_MAX / 2,
};
_Static_assert(TP_BLOCK_EVENTS_MAX == 1 << INDEX_BITS, "an index fits its bits");

const bool tp_decode_is_span[256] = {
#define _(id, NAME, text, span, since) [id] = span,
#include "runtime/trace/records.def"
#undef _
};

void tp_decode_release(struct tp_decoder *decoder, struct tp_decoded *d)
{
	if (d->is_pooled && decoder->n_pool < TP_DECODE_POOL) {
		decoder->pool[decoder->n_pool++] = d;
		return;
	}
	free(d->rec);
	free(d->thread);
	free(d->key);
	free(d);
}

static struct tp_decoded *take_block(struct tp_decoder *decoder, uint32_t n)
{
	bool is_pooled = n > POOLED_EVENTS;
	uint32_t room = is_pooled ? TP_BLOCK_EVENTS_MAX : n;
	struct tp_decoded *d;

	if (is_pooled && decoder->n_pool)
		return decoder->pool[--decoder->n_pool];
	d = calloc(1, sizeof(*d));
	if (!d)
		return NULL;
	d->is_pooled = is_pooled;
	d->rec = malloc(room * sizeof(d->rec[0]));
	d->thread = malloc(room * sizeof(d->thread[0]));
	d->key = malloc(room * sizeof(d->key[0]));
	if (d->rec && d->thread && d->key)
		return d;
	d->is_pooled = false;
	tp_decode_release(decoder, d);
	return NULL;
}

/* At equal begin times, within a block: is event a handed out before event b? */
static bool comes_first(const struct tp_rec *rec, uint32_t a, uint32_t b)
{
	int64_t end_a = tp_decode_end(&rec[a]), end_b = tp_decode_end(&rec[b]);
	uint32_t order_a = tp_decode_kind_order(rec[a].kind),
		 order_b = tp_decode_kind_order(rec[b].kind);

	if (end_a != end_b)
		return end_a > end_b;
	if (order_a != order_b)
		return order_a < order_b;
	/* Spans are recorded when they end: of two equal ones the later is the parent. */
	return tp_decode_is_span[rec[a].kind] ? a > b : a < b;
}

static void order_ties(struct tp_decoded *d)
{
	const uint64_t mask = TP_BLOCK_EVENTS_MAX - 1;

	for (uint32_t i = 1; i < d->n; i++) {
		uint64_t key = d->key[i];
		uint32_t k = i;

		while (k && d->key[k - 1] >> INDEX_BITS == key >> INDEX_BITS &&
		       comes_first(d->rec, key & mask, d->key[k - 1] & mask)) {
			d->key[k] = d->key[k - 1];
			k--;
		}
		d->key[k] = key;
	}
}

/* Stable; the low INDEX_BITS are in order already. */
static void sort_keys(struct tp_decoded *d, uint64_t *scratch, uint64_t most)
{
	uint64_t *from = d->key, *to = scratch;
	uint32_t count[1 << DIGIT_BITS];

	for (uint32_t shift = INDEX_BITS; shift < 64 && most >> shift;
	     shift += DIGIT_BITS) {
		const uint64_t mask = (1 << DIGIT_BITS) - 1;
		uint64_t *swap = from;
		uint32_t sum = 0;

		memset(count, 0, sizeof(count));
		for (uint32_t i = 0; i < d->n; i++)
			count[from[i] >> shift & mask]++;
		for (uint32_t i = 0; i <= mask; i++) {
			uint32_t n = count[i];

			count[i] = sum;
			sum += n;
		}
		for (uint32_t i = 0; i < d->n; i++)
			to[count[from[i] >> shift & mask]++] = from[i];
		from = to;
		to = swap;
	}
	if (from != d->key)
		memcpy(d->key, from, d->n * sizeof(from[0]));
}

/* Ticks -> ns, slots -> threads, and the keys. False: times that cannot be. */
static bool place_events(struct tp_decoded *d, const struct tp_slots *slots)
{
	struct tp_proc_in *proc = d->source->proc;
	uint32_t hint = 0, n_threads = proc->pub.n_threads;
	int64_t least = INT64_MAX, most = INT64_MIN;

	for (uint32_t i = 0; i < d->n; i++) {
		struct tp_rec *rec = &d->rec[i];
		uint16_t slot = d->thread[i];
		uint16_t thread = slot < slots->n ? slots->thread[slot] : TP_NO_THREAD;
		int64_t begin;

		if (rec->time >> 62)
			return false;
		begin = tp_run_ns(proc, &hint, rec->time);
		if (tp_decode_is_span[rec->kind]) {
			int64_t end = tp_run_ns(proc, &hint, rec->time + tp_rec_len(rec));

			tp_rec_set_len(rec, (uint64_t)(end - begin));
		}
		rec->time = (uint64_t)begin;
		d->thread[i] = thread < n_threads ? thread : (uint16_t)n_threads;
		if (begin < least)
			least = begin;
		if (begin > most)
			most = begin;
	}
	if (!d->n)
		return true;
	if (most - least >= 1ll << (64 - INDEX_BITS - 1))
		return false;
	d->base = least;
	for (uint32_t i = 0; i < d->n; i++)
		d->key[i] = (uint64_t)((int64_t)d->rec[i].time - least) << INDEX_BITS | i;
	return true;
}

static uint64_t greatest_key(const struct tp_decoded *d)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < d->n; i++)
		most |= d->key[i];
	return most;
}

static void leave_out(struct tp_decoder *decoder, const struct tp_block_ref *ref,
		      const char *why)
{
	const struct tp_source *source = &decoder->run->source[ref->source];

	tp_run_issue(&decoder->run->pub, &source->proc->pub, true,
		     "'%s': %u events of a block are left out: %s", source->path,
		     ref->n_events, why);
}

/* A complaint of the reader while events are read; the run counts it. */
static void complain_events(void *ctx, const char *path, uint64_t offset, const char *what)
{
	struct tp_decoder *decoder = ctx;

	tp_run_issue(&decoder->run->pub, NULL, true, "'%s': offset %llu: %s", path,
		     (unsigned long long)offset, what);
}

/* Decoded and in order; NULL: left out (said), or out of memory (decoder->err). */
struct tp_decoded *tp_decode_block(struct tp_decoder *decoder,
				   const struct tp_block_ref *ref, int64_t present)
{
	struct tp_source *source = &decoder->run->source[ref->source];
	struct tp_decoded *d = take_block(decoder, ref->n_events);
	struct tp_reader *reader;
	int err;

	if (!d) {
		decoder->err = -ENOMEM;
		return NULL;
	}
	d->source = source;
	d->window = decoder->run->pub.window[source->window].window;
	d->block = ref->at;
	d->n = ref->n_events;
	d->at = 0;
	if (source->rest) {
		err = tp_recover_events(source->rest, ref->at, d->rec, d->thread, d->n);
		if (err)
			leave_out(decoder, ref, strerror(-err));
	} else {
		reader = tp_run_reader(decoder->run, source);
		err = reader ? 0 : -EIO;
		if (reader) {
			reader->complain = complain_events;
			reader->complain_ctx = decoder;
			if (ref->at >= reader->n_blocks ||
			    reader->block[ref->at].head.n_items != ref->n_events)
				err = -ESTALE;
			else
				err = tp_reader_events(reader, ref->at, d->rec, d->thread);
		}
	}
	if (!err && !place_events(d, &source->slots[ref->slots])) {
		err = -EBADMSG;
		leave_out(decoder, ref, "their times cannot be");
	}
	if (!err && d->base < present) {
		err = -EBADMSG;
		leave_out(decoder, ref, "they lie before the block says it begins");
	}
	if (err) {
		tp_decode_release(decoder, d);
		return NULL;
	}
	sort_keys(d, decoder->scratch, greatest_key(d));
	order_ties(d);
	return d;
}

int tp_decoder_init(struct tp_decoder *decoder, struct tp_run_in *run)
{
	*decoder = (struct tp_decoder){.run = run};
	decoder->scratch = malloc(TP_BLOCK_EVENTS_MAX * sizeof(decoder->scratch[0]));
	return decoder->scratch ? 0 : -ENOMEM;
}

void tp_decoder_free(struct tp_decoder *decoder)
{
	while (decoder->n_pool) {
		struct tp_decoded *d = decoder->pool[--decoder->n_pool];

		d->is_pooled = false;
		tp_decode_release(decoder, d);
	}
	free(decoder->scratch);
}
