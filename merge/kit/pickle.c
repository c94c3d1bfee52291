/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pickle.c - Python objects in a file: pickle, protocol 2
 */
#include "merge/kit/pickle.h"

#include <stdlib.h>
#include <string.h>

#include "merge/kit/grow.h"
#include "merge/kit/utf8.h"
#include "runtime/base/hash.h"

enum {
	PROTO = 0x80, STOP = '.', MARK = '(', EMPTY_DICT = '}', EMPTY_LIST = ']',
	APPENDS = 'e', SETITEMS = 'u', BININT = 'J', BININT1 = 'K', LONG1 = 0x8a,
	BINUNICODE = 'X', BINPUT = 'q', LONG_BINPUT = 'r', BINGET = 'h', LONG_BINGET = 'j',
	NEWTRUE = 0x88, NEWFALSE = 0x89,

	BATCH = 1000,		/* as pickle.py: readers take a batch as one call's arguments */
	TEXT_MAX = 4096,	/* bytes of a text; longer ones are cut */
};

static void put(struct tp_pickle *pickle, uint8_t byte)
{
	char *at = tp_outfile_room(pickle->out, 1);

	*at = (char)byte;
	pickle->out->at = at + 1;
}

static void put_u32(struct tp_pickle *pickle, uint8_t opcode, uint32_t value)
{
	char *at = tp_outfile_room(pickle->out, 5);

	*at++ = (char)opcode;
	for (uint32_t i = 0; i < 4; i++)
		*at++ = (char)(value >> 8 * i);
	pickle->out->at = at;
}

void tp_pickle_begin(struct tp_pickle *pickle, struct tp_outfile *out)
{
	*pickle = (struct tp_pickle){.out = out};
	put(pickle, PROTO);
	put(pickle, 2);
}

void tp_pickle_end(struct tp_pickle *pickle)
{
	put(pickle, STOP);
	for (uint32_t i = 0; i < pickle->memo.n; i++)
		free(pickle->memo.bytes[i]);
	free(pickle->memo.bytes);
	tp_keyed_free(&pickle->memo.keyed);
}

/* ---- containers ---- */

static void end_batch(struct tp_pickle *pickle)
{
	if (pickle->open[pickle->depth - 1].n_items)
		put(pickle, pickle->open[pickle->depth - 1].is_dict ? SETITEMS : APPENDS);
	pickle->open[pickle->depth - 1].n_items = 0;
}

/* An item of the innermost container comes. */
static void begin_item(struct tp_pickle *pickle)
{
	if (pickle->open[pickle->depth - 1].n_items == BATCH)
		end_batch(pickle);
	if (!pickle->open[pickle->depth - 1].n_items++)
		put(pickle, MARK);
}

/* A dictionary's items began with their keys. */
static void begin_value(struct tp_pickle *pickle)
{
	if (pickle->depth && !pickle->open[pickle->depth - 1].is_dict)
		begin_item(pickle);
}

static void open_container(struct tp_pickle *pickle, bool is_dict)
{
	begin_value(pickle);
	put(pickle, is_dict ? EMPTY_DICT : EMPTY_LIST);
	pickle->open[pickle->depth].is_dict = is_dict;
	pickle->open[pickle->depth++].n_items = 0;
}

void tp_pickle_dict(struct tp_pickle *pickle)
{
	open_container(pickle, true);
}

void tp_pickle_list(struct tp_pickle *pickle)
{
	open_container(pickle, false);
}

void tp_pickle_close(struct tp_pickle *pickle)
{
	end_batch(pickle);
	pickle->depth--;
}

/* ---- values ---- */

void tp_pickle_int(struct tp_pickle *pickle, int64_t value)
{
	char *at;

	begin_value(pickle);
	if (value >= 0 && value < 256) {
		put(pickle, BININT1);
		put(pickle, (uint8_t)value);
		return;
	}
	if (value >= INT32_MIN && value <= INT32_MAX) {
		put_u32(pickle, BININT, (uint32_t)value);
		return;
	}
	at = tp_outfile_room(pickle->out, 10);
	*at++ = (char)LONG1;
	*at++ = 8;
	for (uint32_t i = 0; i < 8; i++)
		*at++ = (char)((uint64_t)value >> 8 * i);
	pickle->out->at = at;
}

void tp_pickle_true(struct tp_pickle *pickle, bool value)
{
	begin_value(pickle);
	put(pickle, value ? NEWTRUE : NEWFALSE);
}

static void put_text(struct tp_pickle *pickle, const char *text)
{
	static const char replacement[] = "\xef\xbf\xbd";
	char clean[TEXT_MAX + 4];
	uint32_t n = (uint32_t)strnlen(text, TEXT_MAX), n_clean = 0, len;

	for (uint32_t i = 0; i < n; i += len) {
		const bool is_bad = tp_utf8_next(text + i, n - i, &len) == 0xfffd && len == 1;
		const uint32_t n_put = is_bad ? 3 : len;

		if (n_clean + n_put > TEXT_MAX)
			break;
		memcpy(clean + n_clean, is_bad ? replacement : text + i, n_put);
		n_clean += n_put;
	}
	put_u32(pickle, BINUNICODE, n_clean);
	tp_outfile_bytes(pickle->out, clean, n_clean);
}

/* Without memory for the memo it is written in full. */
static void remember(struct tp_pickle *pickle, uint32_t hash, const char *text)
{
	const uint32_t number = pickle->memo.n;
	char *copy = strdup(text);

	if (!copy || !tp_grow(&pickle->memo.bytes, &pickle->memo.cap, (uint64_t)number + 1,
			      sizeof(copy)) ||
	    !tp_keyed_add(&pickle->memo.keyed, hash, number)) {
		free(copy);
		return;
	}
	pickle->memo.bytes[pickle->memo.n++] = copy;
	if (number < 256) {
		put(pickle, BINPUT);
		put(pickle, (uint8_t)number);
	} else {
		put_u32(pickle, LONG_BINPUT, number);
	}
}

static void put_remembered(struct tp_pickle *pickle, const char *text)
{
	const uint32_t hash = tp_keyed_hash(tp_hash_bytes(text, strlen(text), 0));
	uint32_t at, i;

	for (i = tp_keyed_first(&pickle->memo.keyed, hash, &at); i != TP_NO_KEYED;
	     i = tp_keyed_next(&pickle->memo.keyed, hash, &at)) {
		if (strcmp(pickle->memo.bytes[i], text) != 0)
			continue;
		if (i < 256) {
			put(pickle, BINGET);
			put(pickle, (uint8_t)i);
		} else {
			put_u32(pickle, LONG_BINGET, i);
		}
		return;
	}
	put_text(pickle, text);
	remember(pickle, hash, text);
}

void tp_pickle_text(struct tp_pickle *pickle, const char *text)
{
	begin_value(pickle);
	put_remembered(pickle, text);
}

void tp_pickle_key(struct tp_pickle *pickle, const char *key)
{
	begin_item(pickle);
	put_remembered(pickle, key);
}
