/* SPDX-License-Identifier: Apache-2.0 */
/*
 * say.h - messages with names in them that came from outside: escapes are shown as text
 */
#ifndef TP_MERGE_SAY_H
#define TP_MERGE_SAY_H

#include <stdio.h>

/* The message as one line of text that no terminal acts on; NULL: out of memory. Frees `text`. */
char *tp_say_plain(char *text);
/* "trainprof-merge: ", the message, a line's end, to stderr. */
void tp_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The message and a line's end, to `out`. */
void tp_say_to(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* What this thread says by tp_say() goes to `take` instead, plain and without a line's end: a library
 * prints nothing. NULL: to stderr again. */
void tp_say_take(void (*take)(void *ctx, const char *line), void *ctx);

#endif
