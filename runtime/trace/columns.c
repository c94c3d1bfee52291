/* SPDX-License-Identifier: Apache-2.0 */
/*
 * columns.c - events of one block <-> columns of varints
 *
 * Specified in trainprof-trace(5), "Columns". The decoder trusts nothing: each read is checked
 * against the end of the bytes, each loop is bounded by n_events.
 */
#include "runtime/trace/columns.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

enum { EVENT_BYTES_MAX = 2 + 3 + 10 + 7 + 5 + 5 + 10 };

size_t tp_columns_bound(uint32_t n_events)
{
	return (size_t)n_events * EVENT_BYTES_MAX;
}

static uint64_t zigzag(uint64_t v)
{
	return v << 1 ^ -(v >> 63);
}

static uint64_t unzigzag(uint64_t v)
{
	return v >> 1 ^ -(v & 1);
}

static uint8_t *put_varint(uint8_t *p, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		*p++ = (uint8_t)(v | 0x80);
	*p++ = (uint8_t)v;
	return p;
}

struct input {
	const uint8_t *at, *end;
	bool is_bad;
};

static uint64_t get_varint(struct input *in)
{
	uint64_t v = 0;

	for (int shift = 0; shift < 64; shift += 7) {
		if (in->at == in->end)
			break;
		v |= (uint64_t)(*in->at & 0x7f) << shift;
		if (!(*in->at++ & 0x80))
			return v;
	}
	in->is_bad = true;
	return 0;
}

size_t tp_columns_encode(const struct tp_rec *rec, const uint16_t *thread, uint32_t n_events,
			 uint8_t *out)
{
	uint8_t *p = out;
	uint64_t last = 0;

	for (uint32_t i = 0; i < n_events; i++)
		*p++ = rec[i].kind;
	for (uint32_t i = 0; i < n_events; i++)
		*p++ = rec[i].flags;
	for (uint32_t i = 0; i < n_events; i++)
		p = put_varint(p, thread[i]);
	for (uint32_t i = 0; i < n_events; last = rec[i++].time)
		p = put_varint(p, zigzag(rec[i].time - last));
	for (uint32_t i = 0; i < n_events; i++)
		p = put_varint(p, tp_rec_len(&rec[i]));
	for (uint32_t i = 0; i < n_events; i++)
		p = put_varint(p, rec[i].name);
	last = 0;
	for (uint32_t i = 0; i < n_events; last = rec[i++].link)
		p = put_varint(p, zigzag((uint64_t)rec[i].link - last));
	last = 0;
	for (uint32_t i = 0; i < n_events; last = rec[i++].arg)
		p = put_varint(p, zigzag(rec[i].arg - last));
	return (size_t)(p - out);
}

int tp_columns_decode(const uint8_t *in, size_t n_bytes, uint32_t n_events,
		      struct tp_rec *rec, uint16_t *thread, size_t *bad_at)
{
	struct input input = {.at = in, .end = in + n_bytes};
	uint64_t last = 0;

	*bad_at = 0;
	if (n_bytes / 2 < n_events)
		return -EBADMSG;
	for (uint32_t i = 0; i < n_events; i++)
		rec[i].kind = *input.at++;
	for (uint32_t i = 0; i < n_events; i++)
		rec[i].flags = *input.at++;
	for (uint32_t i = 0; i < n_events; i++)
		thread[i] = (uint16_t)get_varint(&input);
	for (uint32_t i = 0; i < n_events; i++)
		last = rec[i].time = last + unzigzag(get_varint(&input));
	for (uint32_t i = 0; i < n_events; i++)
		tp_rec_set_len(&rec[i], get_varint(&input));
	for (uint32_t i = 0; i < n_events; i++)
		rec[i].name = (uint32_t)get_varint(&input);
	last = 0;
	for (uint32_t i = 0; i < n_events; i++) {
		last += unzigzag(get_varint(&input));
		rec[i].link = (uint32_t)last;
	}
	last = 0;
	for (uint32_t i = 0; i < n_events; i++)
		last = rec[i].arg = last + unzigzag(get_varint(&input));
	*bad_at = (size_t)(input.at - in);
	return input.is_bad || input.at != input.end ? -EBADMSG : 0;
}
