/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch_windows.c - which windows there are, and which of them are complete
 */
#include "merge/live/watch_windows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/kit/grow.h"

enum { NAMED = 8 };	/* missing ranks */

const char *tp_watch_name(char buf[64], const struct tp_watch_window *window)
{
	if (window->restart)
		snprintf(buf, 64, "restart%u.window%u", window->restart, window->number);
	else
		snprintf(buf, 64, "window%u", window->number);
	return buf;
}

bool tp_watch_is_newer(const struct tp_watch_window *a, const struct tp_watch_window *b)
{
	return a->restart != b->restart ? a->restart > b->restart : a->number > b->number;
}

static struct tp_watch_window *find(struct tp_watch_windows *windows, uint32_t restart, uint32_t number)
{
	uint32_t hash = tp_keyed_hash((uint64_t)restart << 32 | number), at, row;
	struct tp_watch_window *window;

	for (row = tp_keyed_first(&windows->known, hash, &at); row != TP_NO_KEYED;
	     row = tp_keyed_next(&windows->known, hash, &at))
		if (windows->window[row].restart == restart && windows->window[row].number == number)
			return &windows->window[row];
	if (!tp_grow(&windows->window, &windows->cap, windows->n + 1ull, sizeof(*window)) ||
	    !tp_keyed_add(&windows->known, hash, windows->n))
		return NULL;
	window = &windows->window[windows->n++];
	*window = (struct tp_watch_window){.restart = restart, .number = number};
	return window;
}

static bool is_there(const struct tp_follow *follow, const struct tp_follow_trace *trace)
{
	return trace->seen == follow->look && trace->of != UINT32_MAX &&
	       follow->rank[trace->of].is_of_job;
}

bool tp_watch_is_of(const struct tp_watch_window *window, const struct tp_follow *follow,
		    const struct tp_follow_trace *trace)
{
	return is_there(follow, trace) && trace->window == window->number &&
	       follow->rank[trace->of].head.restart == window->restart;
}

static uint32_t count_ranks(const struct tp_follow *follow, uint32_t restart)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < follow->n_ranks; i++)
		n += follow->rank[i].is_of_job && follow->rank[i].head.restart == restart;
	return n;
}

bool tp_watch_windows_update(struct tp_watch_windows *windows, const struct tp_follow *follow,
			     const struct tp_journal *journal)
{
	char name[64];

	for (uint32_t i = 0; i < windows->n; i++)
		windows->window[i].n_traces = 0;
	for (uint32_t i = 0; i < follow->n_traces; i++) {
		const struct tp_follow_trace *trace = &follow->trace[i];
		struct tp_watch_window *window;

		if (!is_there(follow, trace))
			continue;
		window = find(windows, follow->rank[trace->of].head.restart, trace->window);
		if (!window)
			return false;
		window->n_traces += !trace->is_of_worker;
		if (!window->first_ns) {
			window->first_ns = follow->look_ns;
			window->is_merged = tp_journal_has(journal, TP_JOURNAL_MERGED,
							   tp_watch_name(name, window));
		}
	}
	for (uint32_t i = 0; i < windows->n; i++) {
		struct tp_watch_window *window = &windows->window[i];

		window->n_wanted = count_ranks(follow, window->restart);
		if (window->n_traces < window->n_wanted)
			window->complete_at = 0;
		else if (!window->complete_at)
			window->complete_at = follow->look;
	}
	return true;
}

void tp_watch_windows_free(struct tp_watch_windows *windows)
{
	free(windows->window);
	tp_keyed_free(&windows->known);
	*windows = (struct tp_watch_windows){0};
}

static bool has_trace(const struct tp_watch_window *window, const struct tp_follow *follow, uint32_t rank)
{
	for (uint32_t i = 0; i < follow->n_traces; i++)
		if (follow->trace[i].of == rank && !follow->trace[i].is_of_worker &&
		    tp_watch_is_of(window, follow, &follow->trace[i]))
			return true;
	return false;
}

const char *tp_watch_missing(char buf[128], const struct tp_watch_window *window,
			     const struct tp_follow *follow)
{
	uint32_t n_missing = 0;
	int n = 0;

	buf[0] = '\0';
	for (uint32_t i = 0; i < follow->n_ranks; i++) {
		if (!follow->rank[i].is_of_job || follow->rank[i].head.restart != window->restart ||
		    has_trace(window, follow, i))
			continue;
		if (n_missing++ < NAMED)
			n += snprintf(buf + n, 128 - (size_t)n, "%s%d", n ? ", " : "",
				      follow->rank[i].head.rank);
	}
	if (n_missing > NAMED)
		snprintf(buf + n, 128 - (size_t)n, " and %u others", n_missing - NAMED);
	return buf;
}
