/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff_limits.c - limits that a run must keep against an earlier one: --fail-if
 *
 * A table; a word may stand for several figures, of which each must keep the limit. A limit that
 * cannot be told is not kept: what checks nothing must not pass.
 */
#include <stdlib.h>
#include <string.h>

#include "merge/view/diff/diff.h"

static double median_of(const struct tp_diff_side *side)
{
	return (double)tp_diff_length(side, 50);
}

static double host_peak_of(const struct tp_diff_side *side)
{
	return (double)side->peak_bytes[TP_DIFF_HOST];
}

static double device_peak_of(const struct tp_diff_side *side)
{
	return (double)side->peak_bytes[TP_DIFF_DEVICE];
}

static double kernels_of(const struct tp_diff_side *side)
{
	return side->n_steps ? (double)side->kernels->ns / side->n_steps : 0;
}

static double data_of(const struct tp_diff_side *side)
{
	return tp_diff_part_ns(side, TP_PART_DATA);
}

static double forward_of(const struct tp_diff_side *side)
{
	return tp_diff_part_ns(side, TP_PART_FORWARD);
}

static double backward_of(const struct tp_diff_side *side)
{
	return tp_diff_part_ns(side, TP_PART_BACKWARD);
}

static double optimizer_of(const struct tp_diff_side *side)
{
	return tp_diff_part_ns(side, TP_PART_OPTIMIZER);
}

static double heap_peak_of(const struct tp_diff_side *side)
{
	return side->heap_total[TP_HEAP_PEAK];
}

static double heap_allocs_of(const struct tp_diff_side *side)
{
	return side->heap_total[TP_HEAP_ALLOCS] / (side->n_steps ? side->n_steps : 1);
}

static double heap_leaked_of(const struct tp_diff_side *side)
{
	return side->heap_total[TP_HEAP_LEAKED];
}

static bool has_steps(const struct tp_diff_side *side)
{
	return side->n_steps != 0;
}

static bool has_host_tensors(const struct tp_diff_side *side)
{
	return side->peak_bytes[TP_DIFF_HOST] > 0;
}

static bool has_device_tensors(const struct tp_diff_side *side)
{
	return side->peak_bytes[TP_DIFF_DEVICE] > 0;
}

static bool has_kernels(const struct tp_diff_side *side)
{
	return has_steps(side) && side->kernels->ns > 0;
}

static bool has_heap(const struct tp_diff_side *side)
{
	return side->heap->n_rows != 0;
}

static const struct limit {
	const char *word, *what;
	double (*of)(const struct tp_diff_side *side);
	bool (*is_known)(const struct tp_diff_side *side);
	const char *missing;
} limits[] = {
	{"step", "the median step takes", median_of, has_steps, "recorded step"},
	{"data", "loading data takes", data_of, has_steps, "recorded step"},
	{"forward", "the forward pass takes", forward_of, has_steps, "recorded step"},
	{"backward", "the backward pass takes", backward_of, has_steps, "recorded step"},
	{"optimizer", "the optimizer takes", optimizer_of, has_steps, "recorded step"},
	{"memory", "the peak of tensor memory takes", host_peak_of, has_host_tensors,
	 "record of tensor memory"},
	{"memory", "the peak of tensor memory on a device takes", device_peak_of, has_device_tensors,
	 "record of tensors on a device"},
	{"kernel", "the kernels per step take", kernels_of, has_kernels, "kernel"},
	{"heap-peak", "host memory at its peak takes", heap_peak_of, has_heap,
	 "record of host memory"},
	{"heap-allocs", "the number of allocations per step is", heap_allocs_of, has_heap,
	 "record of host memory"},
	{"heap-leaked", "host memory alive at the end takes", heap_leaked_of, has_heap,
	 "record of host memory"},
};
enum { N_LIMITS = sizeof(limits) / sizeof(limits[0]) };

/* "step>5%", up to a comma or the end; returns what follows, NULL: it is none. */
static const char *read_limit(const char *p, const struct limit **limit, double *percent)
{
	char *end;

	*limit = NULL;
	for (size_t i = 0; i < N_LIMITS && !*limit; i++) {
		size_t n = strlen(limits[i].word);

		if (!strncmp(p, limits[i].word, n) && p[n] == '>') {
			*limit = &limits[i];
			p += n + 1;
		}
	}
	if (!*limit || *p < '0' || *p > '9')
		return NULL;
	*percent = strtod(p, &end);
	if (*end != '%' || (end[1] && (end[1] != ',' || !end[2])))
		return NULL;
	return end[1] ? end + 2 : end + 1;
}

bool tp_diff_is_limit(const char *text)
{
	const struct limit *limit;
	double percent;

	do
		text = read_limit(text, &limit, &percent);
	while (text && *text);
	return text != NULL;
}

/* Of a figure that at least one of the two has. False: said. */
static bool is_kept(const struct limit *limit, const struct tp_diff_side *base,
		    const struct tp_diff_side *now, double percent, struct tp_out *out)
{
	double before, after;

	if (!limit->is_known(base) || !limit->is_known(now)) {
		tp_out_line(out, "red", "FAILED: cannot compare '%s': %s has no %s", limit->word,
			    limit->is_known(base) ? "this run" : "the base", limit->missing);
		return false;
	}
	before = limit->of(base);
	after = limit->of(now);
	/* What was not there at all has no percentage; of what costs something it is the worst. */
	if (before <= 0 && after > 0) {
		tp_out_line(out, "red", "FAILED: %s something, nothing before", limit->what);
		return false;
	}
	if (before <= 0 || after <= before * (1 + percent / 100))
		return true;
	tp_out_line(out, "red", "FAILED: %s %.1f %% more than before, over the limit of %.4g %%",
		    limit->what, 100 * (after / before - 1), percent);
	return false;
}

bool tp_diff_is_worse(const struct tp_diff_side *base, const struct tp_diff_side *now,
		      const char *text, struct tp_out *out)
{
	const struct limit *first;
	bool is_worse = false;
	double percent;

	while (text && *text && (text = read_limit(text, &first, &percent))) {
		uint32_t n_known = 0;

		for (const struct limit *limit = first;
		     limit < limits + N_LIMITS && !strcmp(limit->word, first->word); limit++) {
			if (!limit->is_known(base) && !limit->is_known(now))
				continue;
			n_known++;
			is_worse |= !is_kept(limit, base, now, percent, out);
		}
		if (!n_known)
			is_worse |= !is_kept(first, base, now, percent, out);
	}
	return is_worse;
}
