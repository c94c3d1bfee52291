/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_memory.c - part of the overview: where tensors stood highest, and in what
 */
#include "merge/view/overview/overview.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "merge/model/label.h"

/* "in aten::mm (Optimizer.step#AdamW.step)" */
static void show_where(char *buf, size_t cap, const struct tp_overview *overview,
		       const struct tp_overview_peak *peak)
{
	const struct tp_name *inside, *of;

	buf[0] = 0;
	if (peak->inside == TP_NO_ROW)
		return;
	inside = tp_names_at(overview->names, peak->inside);
	snprintf(buf, cap, ", inside %.*s",
		 inside->n_bytes > 80 ? 80 : (int)inside->n_bytes, inside->bytes);
	if (peak->of == TP_NO_ROW || peak->of == peak->inside)
		return;
	of = tp_names_at(overview->names, peak->of);
	snprintf(buf + strlen(buf), cap - strlen(buf), " in %.*s",
		 of->n_bytes > 80 ? 80 : (int)of->n_bytes, of->bytes);
}

static const struct tp_overview_peak *find_peak(const struct tp_overview_proc *proc,
						uint64_t step)
{
	for (uint32_t i = 0; i < proc->breakdown->n_steps && i < proc->cap_peaks; i++)
		if (proc->peak[i].step == step && proc->peak[i].live_bytes > 0)
			return &proc->peak[i];
	return NULL;
}

/*
 * Where tensors stood highest, of the steps for which the blocks are known. Peaks within a
 * hundredth are the same peak, come back in each step: that step is taken in which the
 * fewest sizes are not known, since its curve is the surest.
 */
static const struct tp_step_row *find_recorded_peak(const struct tp_run *run,
						    const struct tp_overview *overview,
						    const struct tp_overview_peak **peak)
{
	const struct tp_step_row *most = NULL;

	for (uint32_t i = 0; i < run->n_steps; i++) {
		const struct tp_step_row *row = &run->step[i];
		const struct tp_overview_peak *of_step;
		uint64_t near = most ? most->peak_bytes / 100 : 0;

		if (most && row->peak_bytes + near < most->peak_bytes)
			continue;
		of_step = find_peak(&overview->proc[row->proc->at], row->index);
		if (!of_step || (most && row->peak_bytes <= most->peak_bytes + near &&
				 of_step->n_unknown >= (*peak)->n_unknown))
			continue;
		most = row;
		*peak = of_step;
	}
	return most;
}

/* Without a ledger (another folder, an old file): what the blocks say. */
static void print_traced_memory(const struct tp_overview *overview, struct tp_out *out)
{
	const struct tp_overview_peak *most = NULL;
	char a[32], where[256];

	for (uint32_t p = 0; p < overview->n_procs; p++) {
		const struct tp_overview_proc *proc = &overview->proc[p];

		for (uint32_t i = 0; i < proc->breakdown->n_steps && i < proc->cap_peaks;
		     i++)
			if (proc->peak[i].live_bytes > 0 &&
			    (!most || proc->peak[i].live_bytes > most->live_bytes))
				most = &proc->peak[i];
	}
	if (!most)
		return;
	show_where(where, sizeof(where), overview, most);
	tp_out_item(out, "", TP_OVERVIEW_LABEL, "memory",
		    "peak of tensors in recorded steps: %s%s in step "
		    "%" PRIu64 "%s",
		    tp_show_bytes(a, most->live_bytes),
		    most->is_absolute ? "" : " above the window's start", most->step,
		    where);
}

static const char *show_step(char buf[160], const struct tp_run *run,
			     const struct tp_step_row *row)
{
	char who[64];

	snprintf(buf, 160, "step %" PRIu64 " (epoch %u)%s%s", row->index, row->epoch,
		 tp_label_is_needed(run) ? " of " : "",
		 tp_label_is_needed(run) ? tp_label_proc(who, run, row->proc) : "");
	return buf;
}

static bool is_recorded(const struct tp_overview *overview, const struct tp_step_row *row)
{
	const struct tp_breakdown *breakdown = overview->proc[row->proc->at].breakdown;

	for (uint32_t i = 0; i < breakdown->n_steps; i++)
		if (breakdown->step[i].index == row->index)
			return true;
	return false;
}

void tp_overview_print_memory(const struct tp_run *run, const struct tp_overview *overview,
			      struct tp_out *out)
{
	const struct tp_step_row *most = NULL, *device = NULL, *recorded;
	const struct tp_overview_peak *peak = NULL;
	char a[32], where[256] = "", step[160];

	for (uint32_t i = 0; i < run->n_steps; i++) {
		if (!most || run->step[i].peak_bytes > most->peak_bytes)
			most = &run->step[i];
		if (!device || run->step[i].device_peak > device->device_peak)
			device = &run->step[i];
	}
	recorded = find_recorded_peak(run, overview, &peak);
	if (recorded)
		show_where(where, sizeof(where), overview, peak);
	if (!most || !most->peak_bytes)
		print_traced_memory(overview, out);
	else if (recorded && recorded->peak_bytes >= most->peak_bytes / 100 * 99)
		/* Most steps have the same peak: name one of which more is known. */
		tp_out_item(out, "", TP_OVERVIEW_LABEL, "memory",
			    "peak of tensors %s in %s%s",
			    tp_show_bytes(a, (int64_t)most->peak_bytes),
			    show_step(step, run, recorded), where);
	else
		tp_out_item(out, "", TP_OVERVIEW_LABEL, "memory",
			    "peak of tensors %s in %s, %s not recorded",
			    tp_show_bytes(a, (int64_t)most->peak_bytes), show_step(step, run, most),
			    is_recorded(overview, most) ? "whose tensors were" : "which was");
	if (recorded && recorded->peak_bytes &&
	    recorded->peak_bytes < most->peak_bytes / 100 * 99)
		tp_out_item(out, "", TP_OVERVIEW_LABEL, "", "of recorded steps: %s in %s%s",
			    tp_show_bytes(a, (int64_t)recorded->peak_bytes),
			    show_step(step, run, recorded), where);
	if (device && device->device_peak)
		tp_out_item(out, "", TP_OVERVIEW_LABEL, "", "peak on devices %s in %s",
			    tp_show_bytes(a, (int64_t)device->device_peak),
			    show_step(step, run, device));
}
