/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_line.h - one line of a replay file: its kind, and fields of key=value
 *
 * What cannot be read ends the program with one line that names the file's line, and status 2. Values live
 * as long as the text that was split.
 */
#ifndef REPLAY_LINE_H
#define REPLAY_LINE_H

#include <stdbool.h>
#include <stdint.h>

extern struct replay_line {
	const char *path;	/* of the file */
	uint32_t number;	/* from 1 on */
	const char *kind;
} replay_line;

_Noreturn __attribute__((format(printf, 1, 2))) void replay_fail(const char *format, ...);
/* Once for each `what` and `name`. */
void replay_warn(const char *what, const char *name);

/* Takes the line's text apart, which is changed. */
void replay_split(char *text);
void replay_ignore_rest(void);
void replay_warn_unused(void);	/* keys that nobody asked for */

char *replay_text(const char *key);		/* NULL: it is not there */
char *replay_need_text(const char *key);
int64_t replay_number(const char *key, const char *text);
int64_t replay_get(const char *key, int64_t otherwise);
int64_t replay_need(const char *key);
/* The place of a word in a list that ends with NULL; `otherwise` when the key is not there. */
uint32_t replay_word(const char *key, const char *const *words, uint32_t otherwise);
void replay_triple(const char *key, uint32_t *out, uint32_t otherwise);	/* x,y,z */

#endif
