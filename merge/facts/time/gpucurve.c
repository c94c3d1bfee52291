/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpucurve.c - how busy each device was over time, as counters that a viewer can draw
 */
#include "merge/facts/time/gpucurve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "merge/kit/sum.h"
#include "merge/model/counter.h"

static const struct tp_string busy_name =
    TP_COUNTER_NAME("time with a kernel\0%\0GPU", TP_COUNTER_GPU);
static const struct tp_string sm_name =
    TP_COUNTER_NAME("SM efficiency (estimated)\0%\0GPU", TP_COUNTER_SM);

void tp_gpucurve_fini(struct tp_gpucurve *curve)
{
	tp_gpu_time_free(curve->time);
	curve->time = NULL;
}

/* Of the process that recorded for longest. */
static int64_t longest(const struct tp_run *run)
{
	int64_t *sum = calloc(run->n_procs + 1, sizeof(*sum)), most = 0;

	for (uint32_t i = 0; sum && i < run->n_windows; i++) {
		const struct tp_window *window = &run->window[i];
		int64_t *of = &sum[window->proc->at];

		if (window->end_ns > window->begin_ns)
			*of = tp_add(*of, tp_sub(window->end_ns, window->begin_ns));
		if (*of > most)
			most = *of;
	}
	free(sum);
	return most;
}

static int64_t piece_of(int64_t all_ns)
{
	static const int64_t steps[] = {1, 2, 5};
	int64_t ten = 1;

	for (;; ten *= 10)
		for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
			if (all_ns / TP_GPUCURVE_PIECES < ten * steps[i] || ten > INT64_MAX / 50)
				return ten * steps[i];
}

void tp_gpucurve_event(struct tp_gpucurve *curve, const struct tp_run *run,
		       const struct tp_event *event)
{
	if ((event->kind != TP_REC_KERNEL && event->kind != TP_REC_GRAPH) || !event->queue)
		return;
	if (!curve->time) {
		curve->time = tp_gpu_time_new(run);
		tp_gpu_time_pieces(curve->time, piece_of(longest(run)));
	}
	tp_gpu_time_work(curve->time, event, NULL);
}

/* ---- points ---- */

struct points {
	tp_gpucurve_fn *each;
	void *ctx;
};

/* Hundredths of a percent; a point says what changed. */
static void give(const struct points *to, const struct tp_gpu_device *d,
		 const struct tp_string *name, int64_t ns, double percent, double *shown)
{
	struct tp_event counter;
	uint64_t bits;

	percent = round(percent * 100) / 100;
	if (fabs(percent - *shown) < 0.001)
		return;
	*shown = percent;
	memcpy(&bits, &percent, sizeof(bits));
	counter = tp_counter_at(d->proc, name, d->id, ns, bits);
	counter.flags = TP_F_DOUBLE;
	to->each(to->ctx, &counter);
}

/* What was shown last: below 0 nothing, so that the first point comes in any case. */
struct shown {
	double busy, sm;
};

static void give_piece(const struct points *to, const struct tp_gpu_device *d, int64_t ns,
		       const struct tp_gpu_figures *f, struct shown *shown)
{
	double all_ns = f->all_ns > 0 ? (double)f->all_ns : 1;

	give(to, d, &busy_name, ns, 100 * (double)f->kernel_ns / all_ns, &shown->busy);
	if (d->total.sm_ns > 0)
		give(to, d, &sm_name, ns, 100 * f->sm_ns / all_ns, &shown->sm);
}

/* Devices [from, to) are those of one process. */
static void give_process(const struct points *points, const struct tp_gpu_time *time,
			 uint32_t from, uint32_t to)
{
	static const struct tp_gpu_figures nothing;
	struct shown *shown = malloc((to - from) * sizeof(*shown));
	const struct tp_gpu_step *piece;
	uint32_t n;

	if (!shown)
		return;
	for (uint32_t i = from; i < to; i++)
		shown[i - from] = (struct shown){-1, -1};
	piece = tp_gpu_time_steps(time, tp_gpu_time_at(time, from)->proc, &n);
	for (uint32_t k = 0; k < n; k++) {
		for (uint32_t i = from; i < to; i++) {
			const struct tp_gpu_device *d = tp_gpu_time_at(time, i);

			if (d->step)
				give_piece(points, d, piece[k].begin_ns, &d->step[k],
					   &shown[i - from]);
		}
		/* Between windows nothing is known. */
		for (uint32_t i = from; i < to; i++)
			if (k + 1 == n || piece[k + 1].begin_ns > piece[k].end_ns)
				give_piece(points, tp_gpu_time_at(time, i), piece[k].end_ns,
					   &nothing, &shown[i - from]);
	}
	free(shown);
}

void tp_gpucurve_end(struct tp_gpucurve *curve, tp_gpucurve_fn *each, void *ctx)
{
	const struct points points = {.each = each, .ctx = ctx};
	uint32_t n, to;

	if (!curve->time)
		return;
	tp_gpu_time_end(curve->time);
	/* Curves with a hole would be wrong: none. */
	n = tp_gpu_time_is_incomplete(curve->time) ? 0 : tp_gpu_time_count(curve->time);
	for (uint32_t from = 0; from < n; from = to) {
		const struct tp_proc *proc = tp_gpu_time_at(curve->time, from)->proc;

		for (to = from + 1; to < n && tp_gpu_time_at(curve->time, to)->proc == proc;)
			to++;
		give_process(&points, curve->time, from, to);
	}
}
