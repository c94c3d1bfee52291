/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text.h - a bounded string builder on the caller's memory
 *
 * Always terminated; what does not fit is cut and remembered (is_cut). No allocation, no
 * locale, no stdio: safe anywhere in the guest. One thread per builder.
 */
#ifndef TP_BASE_TEXT_H
#define TP_BASE_TEXT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tp_text {
	char *buf;
	size_t cap;	/* bytes at buf, the final NUL included; >= 1 */
	size_t len;
	bool is_cut;
};

void tp_text_init(struct tp_text *text, char *buf, size_t cap);
void tp_text_bytes(struct tp_text *text, const char *bytes, size_t n);
void tp_text_str(struct tp_text *text, const char *s);
void tp_text_char(struct tp_text *text, char c);
/* At most n bytes of s as one word of ASCII: `instead` for each that is a blank, control or no ASCII. */
void tp_text_word(struct tp_text *text, const char *s, size_t n, char instead);
void tp_text_u64(struct tp_text *text, uint64_t v);
void tp_text_i64(struct tp_text *text, int64_t v);
/* %s %.*s %d %u %ld %lu %zu %x %lx %c %% with width and zero padding; others are copied as they are. */
void tp_text_vfmt(struct tp_text *text, const char *format, va_list args);
void tp_text_fmt(struct tp_text *text, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* "64K", "32M", "1G", "123" -> bytes. 0 or -EINVAL, -ERANGE. */
int tp_text_parse_bytes(const char *s, uint64_t *bytes);
/* Decimal digits only, whole string. 0 or -EINVAL, -ERANGE. */
int tp_text_parse_u64(const char *s, uint64_t *value);

/*
 * Template expansion: each {field} in `pattern` is replaced by what `lookup` appends for it.
 * lookup returns false for a field it does not know: the braces are then copied as they are
 * and `unknown` (may be NULL) is called with the field's name.
 */
typedef bool (*tp_text_lookup_fn)(void *ctx, const char *field, size_t n, struct tp_text *out);
typedef void (*tp_text_unknown_fn)(void *ctx, const char *field, size_t n);
void tp_text_expand(struct tp_text *out, const char *pattern, tp_text_lookup_fn lookup,
		    tp_text_unknown_fn unknown, void *ctx);

#endif
