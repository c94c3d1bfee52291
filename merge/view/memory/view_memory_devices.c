/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_memory_devices.c - part of the view of memory: several devices beside the one that is shown
 */
#include "merge/view/memory/view_tensors.h"

static int64_t peak_of(const struct tp_mempeak_track *track)
{
	return track->n_stretches ? tp_stretch_bytes(&track->stretch[track->best]) : 0;
}

uint32_t tp_view_tensors_largest(const struct tp_mempeak_track *track, uint32_t n)
{
	uint32_t best = n;

	for (uint32_t i = 0; i < n; i++)
		if (track[i].n_stretches &&
		    (best == n || peak_of(&track[i]) > peak_of(&track[best])))
			best = i;
	return best;
}

/* Beside the largest it is nothing: what a worker of a data loader holds. */
static bool is_little(const struct tp_mempeak_track *track, const struct tp_mempeak_track *largest)
{
	return peak_of(track) < peak_of(largest) / 100;
}

/* At the peak of each. */
static void put_device(struct tp_row *r, const void *ctx, const void *of)
{
	static const struct tp_mempeak_track none;
	const struct tp_mempeak_track *track = of ? of : &none;
	const struct tp_stretch *peak = of ? &track->stretch[track->best] : NULL;
	uint32_t most = 0;
	char a[32];

	for (uint32_t c = 1; peak && c < TP_TENSOR_N; c++)
		if (peak->at_peak[c] > peak->at_peak[most])
			most = c;
	tp_tensors_put_place(r, ctx, track->proc, track->device);
	TP_BYTES(r, NULL, "tensors", 0, "", peak_of(track));
	TP_BYTES(r, NULL, "reserved", TP_LESS(2), "", peak->reserved);
	TP_CELL(r, NULL, "step", TP_UNIT_NUMBER, 0, "", tp_tensors_put_step(r, peak->step));
	TP_TEXT(r, NULL, "most of it", TP_CUT, "", "%s: %s", tp_tensor_category_title(most),
		tp_show_bytes(a, peak->at_peak[most]));
}

static const struct tp_table_def devices_def = {.columns = put_device};

static void print_devices(const struct tp_tensors_shown *shown, const struct tp_mempeak_track *track,
			  uint32_t n, const struct tp_mempeak_track *largest)
{
	struct tp_tensors_shown each = *shown;
	struct tp_table *table;
	uint32_t n_rows = 0;

	for (uint32_t i = 0; i < n; i++)
		n_rows += track[i].n_stretches && !is_little(&track[i], largest);
	if (n_rows < 2)
		return;
	each.shows_who = true;
	tp_out_title(shown->out, "Which devices hold tensor memory, at the peak of each");
	table = tp_table_begin(&devices_def, &each, TP_TOP_NONE, shown->out);
	for (uint32_t i = 0; i < n; i++)
		if (track[i].n_stretches && !is_little(&track[i], largest))
			tp_table_add(table, &track[i]);
	tp_table_end(table);
	tp_out_line(shown->out, "dim", "Above is the one with the highest peak%s.",
		    tp_out_is_terminal(shown->out) ? "; --ranks chooses others, --top 0 shows all"
						   : "");
}

static void print_little(const struct tp_tensors_shown *shown, const struct tp_mempeak_track *track,
			 uint32_t n, const struct tp_mempeak_track *largest)
{
	uint32_t n_little = 0;
	int64_t little = 0;
	char a[32], b[32];

	for (uint32_t i = 0; i < n; i++) {
		if (!track[i].n_stretches || !is_little(&track[i], largest))
			continue;
		n_little++;
		little = peak_of(&track[i]) > little ? peak_of(&track[i]) : little;
	}
	if (n_little)
		tp_out_line(shown->out, "dim",
			    "%s other process%s or device%s (workers of loaders) had at most %s each%s.",
			    tp_show_count(a, n_little), n_little == 1 ? "" : "es",
			    n_little == 1 ? "" : "s", tp_show_bytes(b, little),
			    tp_out_is_terminal(shown->out) ? ": --top 0 shows them" : "");
}

void tp_view_tensors_devices(const struct tp_tensors_shown *shown, const struct tp_mempeak_track *track,
			     uint32_t n, const struct tp_mempeak_track *largest)
{
	print_devices(shown, track, n, largest);
	print_little(shown, track, n, largest);
}
