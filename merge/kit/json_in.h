/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_in.h - reading JSON where it lies, value by value
 *
 * The text may end anywhere: `is_short` says that more of it is needed and the value is to be
 * read again from its start; `is_bad`, that no more of it would help. Lenient where programs
 * are sloppy and nothing is lost: control characters and bytes that are not UTF-8 stand in
 * strings, quotes without a backslash too as long as nothing after them looks like the string's
 * end; a comma may stand before an end; what is no number, as NaN, is passed over. Nothing is
 * copied or allocated. Depth of nesting does not matter.
 */
#ifndef TP_MERGE_JSON_IN_H
#define TP_MERGE_JSON_IN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tp_json_in {
	const char *at, *end;
	bool is_short, is_bad;
};

struct tp_json_text {
	const char *bytes;	/* between the quotes, as it stands there */
	uint32_t n;
	bool has_escapes;	/* tp_json_in_plain makes plain text of it */
};

/* Blanks are passed; then the character, or 0 when it is not there (nothing is used then; at
 * the end of the text is_short is set). */
char tp_json_in_pass(struct tp_json_in *in);
static inline char tp_json_in_peek(struct tp_json_in *in)
{
	if (__builtin_expect(in->at < in->end && (unsigned char)*in->at > ' ', 1))
		return *in->at;
	return tp_json_in_pass(in);
}
static inline bool tp_json_in_take(struct tp_json_in *in, char c)
{
	if (tp_json_in_peek(in) != c)
		return false;
	in->at++;
	return true;
}
/* is_short or is_bad is set when false. */
bool tp_json_in_string(struct tp_json_in *in, struct tp_json_text *text);
/* Any value; *from (may be NULL): where it began, it ends at in->at. */
bool tp_json_in_skip(struct tp_json_in *in, const char **from);
/* Of an object: the next key, its ':' used; false: the object's end (used), or trouble. */
bool tp_json_in_key(struct tp_json_in *in, struct tp_json_text *key, bool *is_first);
/* Of an array: is there another element? False: its end (used), or trouble. */
bool tp_json_in_item(struct tp_json_in *in, bool *is_first);

/*
 * A number in units of 1/scale (1000: microseconds become nanoseconds), rounded; also of one in
 * a string, as far as it goes ("stream 7" is none). False: no such number; a value was used
 * nevertheless, unless is_short or is_bad.
 */
bool tp_json_in_number(struct tp_json_in *in, uint32_t scale, int64_t *number);

/* Escapes resolved; at most cap bytes, no NUL at the end. Returns how many. */
uint32_t tp_json_in_plain(const struct tp_json_text *text, char *out, uint32_t cap);

static inline bool tp_json_is(const struct tp_json_text *text, const char *word, uint32_t n)
{
	return text->n == n && !__builtin_memcmp(text->bytes, word, n);
}
#define TP_JSON_IS(text, word) tp_json_is(text, word, sizeof(word) - 1)

#endif
