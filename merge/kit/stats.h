/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stats.h - medians, percentiles, and a row of bars
 */
#ifndef TP_MERGE_STATS_H
#define TP_MERGE_STATS_H

#include <stdint.h>

void tp_sort_i64(int64_t *value, uint32_t n);
/* Of n sorted values, by nearest rank: the least value that percent % are not above. 0: n = 0. */
int64_t tp_percentile(const int64_t *sorted, uint32_t n, double percent);

/* The median of the last TP_RUNNING values before each one. */
enum { TP_RUNNING = 63 };
struct tp_running {
	int64_t ring[TP_RUNNING], sorted[TP_RUNNING];
	uint32_t n, next;
};
int64_t tp_running_median(const struct tp_running *running);	/* 0: no value yet */
void tp_running_add(struct tp_running *running, int64_t value);

/*
 * n values as `columns` bars of eight heights, a bar showing the largest of its values; `top`
 * and more is a full bar. Into buf, which has room for 3 * columns + 1 bytes.
 */
const char *tp_sparkline(char *buf, const int64_t *value, uint32_t n, uint32_t columns,
			 int64_t top);
/* A horizontal bar of part/whole of `columns`, in eighths of a column; buf as above. */
const char *tp_bar(char *buf, double part, double whole, uint32_t columns);

#endif
