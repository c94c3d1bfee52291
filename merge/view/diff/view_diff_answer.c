/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_diff_answer.c - part of the diff: by how much a step changed, and where in the program
 *
 * The answer names one place: a function of the user's by samples, a source line by the times of its
 * operators, a kernel where that line waits for the device, a module or an operator where no line is
 * known, or a part of a step. It has to explain a quarter of the change at least.
 */
#include "merge/view/diff/view_diff_places.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "merge/kit/sum.h"

enum {
	SAME_PERCENT = 2,	/* medians that differ by less are called the same */
	EXPLAINS_PERCENT = 25,	/* of the step's change: less is not the reason */
	NEAR_PERCENT = 70,	/* of another place's change: they say the same, the more telling is named */
};

bool tp_diff_explains(const struct tp_diff_places *places, const struct tp_diff_spot *row)
{
	return fabs(tp_diff_spot_change(row)) * 100 >= fabs(places->change_ns) * EXPLAINS_PERCENT;
}

/* The first of a kind, where it explains enough of the step's change. */
static const struct tp_diff_spot *find_first(const struct tp_diff_places *places, enum tp_diff_kind kind)
{
	const struct tp_diff_spot *row = places->first[kind] ? &places->row[places->first[kind] - 1] : NULL;

	return row && tp_diff_explains(places, row) ? row : NULL;
}

/* NULL: none of the two. */
static const struct tp_diff_spot *choose(const struct tp_diff_spot *telling, const struct tp_diff_spot *other)
{
	if (!telling || !other)
		return telling ? telling : other;
	return fabs(tp_diff_spot_change(telling)) * 100 >= fabs(tp_diff_spot_change(other)) * NEAR_PERCENT
		       ? telling : other;
}

static const struct tp_diff_spot *find_place(const struct tp_diff_places *places)
{
	const struct tp_diff_spot *part = find_first(places, TP_SPOT_PART);
	const struct tp_diff_spot *kernel = find_first(places, TP_SPOT_KERNEL), *found;
	bool is_code;

	if (part && !strcmp(part->name, tp_part_name(TP_PART_DATA)) && find_first(places, TP_SPOT_WORKER))
		return find_first(places, TP_SPOT_WORKER);
	found = choose(find_first(places, TP_SPOT_LINE), find_first(places, TP_SPOT_LINES));
	found = choose(find_first(places, TP_SPOT_FUNCTION), found);
	is_code = found != NULL;
	if (found && kernel && fabs(found->more_wait) * 2 >= fabs(tp_diff_spot_change(found)))
		return kernel;
	if (!found)
		found = choose(find_first(places, TP_SPOT_MODULE), find_first(places, TP_SPOT_OPERATOR));
	if (!found)
		found = kernel;
	/* An operator or a module that explains little of what its part of the step does. */
	return is_code ? found : choose(found, part);
}

static int64_t median_of(const struct tp_diff_side *side)
{
	return tp_diff_length(side, 50);
}

int64_t tp_diff_median_more(const struct tp_diff_shown *shown)
{
	return tp_sub(median_of(shown->now), median_of(shown->base));
}

/* Of which steps the medians are; "": of recorded ones. */
static const char *show_which(const struct tp_diff_shown *shown, char buf[64])
{
	char a[32], b[32];

	buf[0] = '\0';
	if (shown->base->is_bare)
		snprintf(buf, 64, " of %s and %s steps outside windows", tp_show_count(a, shown->base->n_bare),
			 tp_show_count(b, shown->now->n_bare));
	return buf;
}

void tp_diff_print_answer(const struct tp_diff_shown *shown, const struct tp_diff_places *places)
{
	const int64_t before = median_of(shown->base), after = median_of(shown->now);
	const double percent = before > 0 ? 100 * ((double)after / (double)before - 1) : 0;
	const struct tp_diff_spot *place = find_place(places);
	char a[32], b[32], c[32], which[64];

	show_which(shown, which);
	if (fabs(percent) < SAME_PERCENT)
		tp_out_line(shown->out, "bold", "Step time is the same: median%s %s, base %s (%+.1f %%).",
			    which, tp_show_ns(a, after), tp_show_ns(b, before), percent);
	else if (!place)
		tp_out_line(shown->out, "bold", "Step time %+.1f %% (median%s %s -> %s).", percent, which,
			    tp_show_ns(a, before), tp_show_ns(b, after));
	else
		tp_out_line(shown->out, "bold", "Step time %+.1f %% (median%s %s -> %s): %s %s%s per step (%s).",
			    percent, which, tp_show_ns(a, before), tp_show_ns(b, after), place->name,
			    tp_diff_spot_change(place) > 0 ? "+" : "", tp_show_ns(c, tp_whole(tp_diff_spot_change(place))),
			    place->has_gaps ? "its operators, and the time before them"
					    : tp_diff_kinds[place->kind].said);
}
