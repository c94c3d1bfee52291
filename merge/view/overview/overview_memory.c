/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_memory.c - part of the overview: where tensors stood highest, and in what
 *
 * Where a GPU was used its memory comes first, as it is what runs out; the host's is left out there
 * when it is small beside it.
 */
#include "merge/view/overview/overview.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "merge/model/label.h"

static const char ABOVE_START[] = " above the window's start";

/* Beside what the GPU has: not worth a line. */
static bool is_small(uint64_t host_bytes, uint64_t device_bytes)
{
	return host_bytes < device_bytes / 100;
}

/* "GPU 1"; a ledger has one sum of all devices that a process uses. */
static const char *show_devices(char buf[32], const struct tp_proc *proc,
				const struct tp_overview *overview)
{
	uint32_t n = 0, id = 0;

	for (uint32_t i = 0; i < tp_gpu_time_count(overview->gpu); i++) {
		const struct tp_gpu_device *device = tp_gpu_time_at(overview->gpu, i);

		if (device->proc != proc)
			continue;
		id = device->id;
		n++;
	}
	if (!n && proc->n_devices == 1) {
		id = proc->device[0].id;
		n = 1;
	}
	snprintf(buf, 32, n == 1 ? "GPU %u" : "GPUs", id);
	return buf;
}

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
static const struct tp_overview_peak *find_traced_peak(const struct tp_overview *overview, bool is_device,
						       uint32_t *proc)
{
	const struct tp_overview_peak *most = NULL;
	int64_t most_bytes = 0;

	for (uint32_t p = 0; p < overview->n_procs; p++)
		for (uint32_t i = 0; i < overview->proc[p].breakdown->n_steps &&
				     i < overview->proc[p].cap_peaks; i++) {
			const struct tp_overview_peak *peak = &overview->proc[p].peak[i];
			int64_t bytes = is_device ? peak->device_bytes : peak->live_bytes;

			if (bytes <= most_bytes)
				continue;
			most_bytes = bytes;
			most = peak;
			*proc = p;
		}
	return most;
}

static void print_traced_memory(const struct tp_run *run, const struct tp_overview *overview,
				struct tp_out *out)
{
	uint32_t p = 0;
	const struct tp_overview_peak *device = find_traced_peak(overview, true, &p), *host;
	char a[32], where[256];

	if (device)
		tp_out_item(out, "", TP_OVERVIEW_LABEL, "memory",
			    "peak of tensors on %s in recorded steps: %s%s in step %" PRIu64,
			    show_devices(a, run->proc[p], overview),
			    tp_show_bytes(where, device->device_bytes),
			    device->is_device_absolute ? "" : ABOVE_START, device->step);
	host = find_traced_peak(overview, false, &p);
	if (!host || (device && is_small((uint64_t)host->live_bytes, (uint64_t)device->device_bytes)))
		return;
	show_where(where, sizeof(where), overview, host);
	tp_out_item(out, "", TP_OVERVIEW_LABEL, device ? "" : "memory",
		    "peak of tensors%s in recorded steps: %s%s in step %" PRIu64 "%s",
		    device ? " on the host" : "", tp_show_bytes(a, host->live_bytes),
		    host->is_absolute ? "" : ABOVE_START, host->step, where);
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

/* Recorded steps first where they come within a hundredth of it. */
static const struct tp_step_row *find_device_peak(const struct tp_run *run,
						  const struct tp_overview *overview)
{
	const struct tp_step_row *most = NULL;

	for (uint32_t i = 0; i < run->n_steps; i++)
		if (run->step[i].device_peak > (most ? most->device_peak : 0))
			most = &run->step[i];
	for (uint32_t i = 0; most && i < run->n_steps; i++)
		if (run->step[i].device_peak >= most->device_peak / 100 * 99 &&
		    is_recorded(overview, &run->step[i]))
			return &run->step[i];
	return most;
}

static void print_device_memory(const struct tp_run *run, const struct tp_overview *overview,
				const struct tp_step_row *device, struct tp_out *out)
{
	char a[32], b[32], step[160];

	tp_out_item(out, "", TP_OVERVIEW_LABEL, "memory", "peak of tensors on %s %s in %s%s",
		    show_devices(a, device->proc, overview), tp_show_bytes(b, (int64_t)device->device_peak),
		    show_step(step, run, device),
		    is_recorded(overview, device) ? "" : ", which was not recorded");
}

static void print_host_memory(const struct tp_run *run, const struct tp_overview *overview,
			      const struct tp_step_row *most, bool is_second, struct tp_out *out)
{
	const struct tp_overview_peak *peak = NULL;
	const struct tp_step_row *recorded = find_recorded_peak(run, overview, &peak);
	const char *label = is_second ? "" : "memory", *on = is_second ? " on the host" : "";
	char a[32], where[256] = "", step[160];

	if (recorded)
		show_where(where, sizeof(where), overview, peak);
	if (recorded && recorded->peak_bytes >= most->peak_bytes / 100 * 99) {
		/* Most steps have the same peak: name one of which more is known. */
		tp_out_item(out, "", TP_OVERVIEW_LABEL, label, "peak of tensors%s %s in %s%s", on,
			    tp_show_bytes(a, (int64_t)most->peak_bytes), show_step(step, run, recorded),
			    where);
		return;
	}
	tp_out_item(out, "", TP_OVERVIEW_LABEL, label, "peak of tensors%s %s in %s, %s not recorded", on,
		    tp_show_bytes(a, (int64_t)most->peak_bytes), show_step(step, run, most),
		    is_recorded(overview, most) ? "whose tensors were" : "which was");
	if (recorded && recorded->peak_bytes && !is_second)
		tp_out_item(out, "", TP_OVERVIEW_LABEL, "", "of recorded steps: %s in %s%s",
			    tp_show_bytes(a, (int64_t)recorded->peak_bytes),
			    show_step(step, run, recorded), where);
}

void tp_overview_print_memory(const struct tp_run *run, const struct tp_overview *overview,
			      struct tp_out *out)
{
	const struct tp_step_row *host = NULL, *device = find_device_peak(run, overview);

	for (uint32_t i = 0; i < run->n_steps; i++)
		if (run->step[i].peak_bytes > (host ? host->peak_bytes : 0))
			host = &run->step[i];
	if (!host && !device)
		print_traced_memory(run, overview, out);
	if (device)
		print_device_memory(run, overview, device, out);
	if (host && (!device || !is_small(host->peak_bytes, device->device_peak)))
		print_host_memory(run, overview, host, device != NULL, out);
}
