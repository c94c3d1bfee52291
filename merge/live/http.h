/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http.h - one page, told to whoever asks by HTTP
 *
 * GET and HEAD of /metrics and / get the text that was set last; nothing else is served. No
 * connection is kept, none is waited for: one that does not ask or take its answer within
 * some seconds is closed. One thread; tp_http_serve is where time is spent waiting.
 */
#ifndef TP_MERGE_HTTP_H
#define TP_MERGE_HTTP_H

#include <stddef.h>
#include <stdint.h>

struct tp_http;

/* `where`: ":PORT" (all addresses) or "ADDRESS:PORT". NULL after a message. */
struct tp_http *tp_http_open(const char *where);
void tp_http_close(struct tp_http *http);
/* The text of the page from now on, from malloc; freed here. */
void tp_http_set(struct tp_http *http, char *text, size_t n);
/* Serves until that moment of CLOCK_MONOTONIC, or a signal. `http` NULL: only waits. */
void tp_http_serve(struct tp_http *http, uint64_t until_ns);

#endif
