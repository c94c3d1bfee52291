/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stats.c - medians, percentiles, and a row of bars
 */
#include "merge/kit/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

void tp_sort_i64(int64_t *value, uint32_t n)
{
	if (n > 1)
		qsort(value, n, sizeof(*value), compare);
}

int64_t tp_percentile(const int64_t *sorted, uint32_t n, double percent)
{
	double rank;

	if (!n)
		return 0;
	rank = ceil(percent / 100 * n);
	if (rank < 1)
		rank = 1;
	return sorted[rank > n ? n - 1 : (uint32_t)rank - 1];
}

int64_t tp_running_median(const struct tp_running *running)
{
	return running->n ? running->sorted[(running->n - 1) / 2] : 0;
}

/* Where `value` stands, or would be put, among n sorted ones. */
static uint32_t find_place(const int64_t *sorted, uint32_t n, int64_t value)
{
	uint32_t low = 0, high = n;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (sorted[middle] < value)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void tp_running_add(struct tp_running *running, int64_t value)
{
	uint32_t at;

	if (running->n == TP_RUNNING) {
		at = find_place(running->sorted, running->n, running->ring[running->next]);
		memmove(running->sorted + at, running->sorted + at + 1,
			(running->n - at - 1) * sizeof(value));
		running->n--;
	}
	at = find_place(running->sorted, running->n, value);
	memmove(running->sorted + at + 1, running->sorted + at,
		(running->n - at) * sizeof(value));
	running->sorted[at] = value;
	running->n++;
	running->ring[running->next] = value;
	running->next = (running->next + 1) % TP_RUNNING;
}

const char *tp_sparkline(char *buf, const int64_t *value, uint32_t n, uint32_t columns,
			 int64_t top)
{
	char *at = buf;

	if (columns > n)
		columns = n;
	for (uint32_t c = 0; c < columns; c++) {
		uint64_t from = (uint64_t)c * n / columns,
			 to = (uint64_t)(c + 1) * n / columns;
		int64_t most = value[from];
		int height = 0;

		for (uint64_t i = from; i < to; i++)
			if (value[i] > most)
				most = value[i];
		if (top > 0 && most > 0)
			height = most >= top ? 7 : (int)((double)most / (double)top * 8);
		/* U+2581 .. U+2588, lower one eighth to full block */
		memcpy(at, "\xe2\x96\x81", 3);
		at[2] = (char)(0x81 + (height > 7 ? 7 : height));
		at += 3;
	}
	*at = 0;
	return buf;
}

const char *tp_bar(char *buf, double part, double whole, uint32_t columns)
{
	uint32_t eighths = 0;
	char *at = buf;

	if (whole > 0 && part > 0)
		eighths = (uint32_t)(fmin(part / whole, 1) * columns * 8 + 0.5);
	for (; eighths >= 8; eighths -= 8, at += 3)
		memcpy(at, "\xe2\x96\x88", 3);
	if (eighths) {
		/* U+2589 (seven eighths) .. U+258f (one eighth) */
		memcpy(at, "\xe2\x96\x88", 3);
		at[2] = (char)(0x88 + (8 - eighths));
		at += 3;
	}
	*at = 0;
	return buf;
}
