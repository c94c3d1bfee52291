/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clocks_stretch.c - the stretches of time in which clocks are taken to drift evenly
 */
#include <errno.h>
#include <stdlib.h>

#include "merge/clock/clocks_in.h"
#include "merge/kit/grow.h"
#include "merge/kit/stats.h"

enum {
	MOST_STRETCHES = 4096,
	MOST_BOUNDS = 1 << 20,	/* of pairs in stretches: then these are longer */
};

static int compare_spans(const void *a, const void *b)
{
	const struct tp_clocks_span *x = a, *y = b;

	return (x->first_ns > y->first_ns) - (x->first_ns < y->first_ns);
}

static bool add_stretch(struct tp_clocks *clocks, int64_t first, int64_t last)
{
	if (!tp_grow(&clocks->stretch, &clocks->cap_stretches,
		     (uint64_t)clocks->n_stretches + 1, sizeof(*clocks->stretch)))
		return false;
	clocks->stretch[clocks->n_stretches++] =
		(struct tp_clocks_stretch){.first_ns = first, .last_ns = last};
	return true;
}

/* [first, last] in parts of at most `most`. */
static bool add_stretches(struct tp_clocks *clocks, int64_t first, int64_t last, int64_t most)
{
	int64_t n = (last - first) / most + 1;

	for (int64_t i = 0; i < n; i++) {
		int64_t from = first + (last - first) / n * i;
		int64_t to = i + 1 < n ? first + (last - first) / n * (i + 1) : last;

		if (!add_stretch(clocks, from, to))
			return false;
	}
	return true;
}

/* Times that are needed, on the axis of host 0: those close to each other are one stretch. */
int tp_clocks_stretch(struct tp_clocks *clocks)
{
	struct tp_clocks_span *need = clocks->need;
	int64_t most = TP_CLOCKS_STRETCH_NS, first, last = INT64_MIN;
	int64_t n_most = MOST_BOUNDS / (clocks->n_pairs + 1) + 1;
	uint32_t n = 0;

	for (uint32_t i = 0; i < clocks->n_needs; i++) {
		if (!clocks->host[need[i].host].is_reached)
			continue;
		need[n] = need[i];
		need[n].first_ns = tp_clocks_time(clocks, need[i].host, need[i].first_ns);
		need[n++].last_ns = tp_clocks_time(clocks, need[i].host, need[i].last_ns);
	}
	clocks->n_needs = n;
	if (!n)
		return 0;
	qsort(need, n, sizeof(*need), compare_spans);
	for (uint32_t i = 0; i < n; i++) {
		if (need[i].last_ns > last)
			last = need[i].last_ns;
	}
	/* Longer ones are less true, but years of them must not fill the memory. */
	if (n_most > MOST_STRETCHES)
		n_most = MOST_STRETCHES;
	if ((last - need[0].first_ns) / n_most > most)
		most = (last - need[0].first_ns) / n_most;
	first = need[0].first_ns;
	last = need[0].last_ns;
	for (uint32_t i = 1; i < n; i++) {
		int64_t longer = need[i].last_ns > last ? need[i].last_ns : last;

		if (need[i].first_ns > last && longer - first > most) {
			if (!add_stretches(clocks, first, last, most))
				return -ENOMEM;
			first = need[i].first_ns;
			longer = need[i].last_ns;
		}
		last = longer;
	}
	return add_stretches(clocks, first, last, most) ? 0 : -ENOMEM;
}

/* Moments of a stretch: its ends, some at even distances, and the ends of what is needed, some
 * of many. */
uint32_t tp_clocks_moments(const struct tp_clocks *clocks, const struct tp_clocks_stretch *stretch,
			   int64_t moment[TP_CLOCKS_IN_STRETCH])
{
	int64_t inner[3 * TP_CLOCKS_INNER];
	int64_t step = (stretch->last_ns - stretch->first_ns) / TP_CLOCKS_INNER;
	uint32_t n = 0, n_seen = 0, every = 1, n_moments = 0;

	if (clocks->n_stretches > TP_CLOCKS_INNER_STRETCHES)
		goto ends;
	for (uint32_t i = 0; i < 2 * clocks->n_needs; i++) {
		const struct tp_clocks_span *need = &clocks->need[i / 2];
		int64_t at = i & 1 ? need->last_ns : need->first_ns;

		if (at <= stretch->first_ns || at >= stretch->last_ns || n_seen++ % every)
			continue;
		if (n == 2 * TP_CLOCKS_INNER) {
			for (uint32_t k = 0; k < TP_CLOCKS_INNER; k++)
				inner[k] = inner[2 * k];
			n = TP_CLOCKS_INNER;
			every *= 2;
		}
		inner[n++] = at;
	}
	for (uint32_t i = 1; i < TP_CLOCKS_INNER; i++)
		inner[n++] = stretch->first_ns + i * step;
ends:
	tp_sort_i64(inner, n);
	moment[n_moments++] = stretch->first_ns;
	for (uint32_t i = 0; i < n; i++) {
		if (inner[i] > moment[n_moments - 1])
			moment[n_moments++] = inner[i];
	}
	if (stretch->last_ns > moment[n_moments - 1])
		moment[n_moments++] = stretch->last_ns;
	return n_moments;
}

/* Those that no line fits become two each. False: out of memory. */
bool tp_clocks_cut(struct tp_clocks *clocks)
{
	uint32_t n = clocks->n_stretches;
	struct tp_clocks_stretch *old = clocks->stretch;
	bool is_good = true;

	clocks->stretch = NULL;
	clocks->n_stretches = clocks->cap_stretches = 0;
	for (uint32_t i = 0; i < n && is_good; i++) {
		int64_t middle = old[i].first_ns + (old[i].last_ns - old[i].first_ns) / 2;

		if (old[i].is_cut_wanted)
			is_good = add_stretch(clocks, old[i].first_ns, middle) &&
				  add_stretch(clocks, middle, old[i].last_ns);
		else
			is_good = add_stretch(clocks, old[i].first_ns, old[i].last_ns);
	}
	free(old);
	return is_good;
}
