/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_gpu.c - part of the overview: a row for each device, why they were idle, how work
 * came to them
 */
#include "merge/facts/program/overview.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "merge/kit/sum.h"
#include "merge/model/label.h"

enum {
	GPUS_SHOWN = 16,
	HOST_PERCENT = 20, /* of the time that no kernel runs because of the host: worth a colour */
};

/* All devices together. */
struct sums {
	struct tp_gpu_figures all;
	struct tp_spread delay;
	uint32_t depth_most;
	int64_t wait_ns;
	uint64_t n_work, n_no_call, n_before_call;
	int64_t most_before_ns;
	bool has_steps;
};

static const char *show_who(char buf[96], const struct tp_run *run, const struct tp_gpu_device *d)
{
	char who[64];

	if (tp_label_is_needed(run))
		snprintf(buf, 96, "%s: %u", tp_label_proc(who, run, d->proc), d->id);
	else
		snprintf(buf, 96, "%u", d->id);
	return buf;
}

static void add_row(struct tp_old_table *table, const struct tp_run *run,
		    const struct tp_gpu_device *d, const char *indent)
{
	const struct tp_gpu_figures *f = &d->total;
	char who[96];

	tp_table_cell(table, "%s%s", indent, show_who(who, run, d));
	if (d->device) {
		tp_table_cell(table, "%s", d->device->name);
		tp_cell_bytes(table, (int64_t)d->device->memory_bytes);
		tp_table_cell(table, "%u.%u", d->device->major, d->device->minor);
	} else {
		for (int i = 0; i < 3; i++)
			tp_table_cell(table, "?");
	}
	tp_cell_percent(table, (double)f->kernel_ns, (double)f->all_ns);
	if (f->known_ns > 0) {
		tp_cell_percent(table, f->sm_ns, (double)f->all_ns);
		tp_cell_percent(table, f->occupancy_ns, f->known_ns);
	} else {
		tp_table_cell(table, "?");
		tp_table_cell(table, "?");
	}
	tp_cell_percent(table, f->tensor_ns, f->run_ns);
}

static int compare_use(const void *a, const void *b)
{
	const struct tp_gpu_device *x = *(const struct tp_gpu_device *const *)a,
				   *y = *(const struct tp_gpu_device *const *)b;
	double ux = (double)x->total.kernel_ns / ((double)x->total.all_ns + 1),
	       uy = (double)y->total.kernel_ns / ((double)y->total.all_ns + 1);

	if (ux < uy || ux > uy)
		return ux < uy ? -1 : 1;
	if (x->proc->at != y->proc->at)
		return x->proc->at < y->proc->at ? -1 : 1;
	return (x->id > y->id) - (x->id < y->id);
}

static void print_table(const struct tp_run *run, const struct tp_gpu_time *gpu, bool has_steps,
			struct tp_out *out)
{
	static const struct tp_old_column column[] = {
	    {.title = "  GPU", .field = "gpu"},
	    {.title = "", .may_cut = true, .field = "name"},
	    {.title = "memory", .align = TP_RIGHT, .is_extra = 2, .field = "memory_bytes"},
	    {.title = "capability", .align = TP_RIGHT, .is_extra = 1, .field = "capability"},
	    {.title = "utilisation", .align = TP_RIGHT, .field = "utilisation_percent"},
	    {.title = "SM eff.", .align = TP_RIGHT, .field = "sm_efficiency_percent"},
	    {.title = "occupancy", .align = TP_RIGHT, .field = "occupancy_percent"},
	    {.title = "tensor cores", .align = TP_RIGHT, .field = "tensor_cores_percent"},
	};
	uint32_t n = tp_gpu_time_count(gpu), n_shown = n < GPUS_SHOWN ? n : GPUS_SHOWN;
	const struct tp_gpu_device **order = malloc((n + 1) * sizeof(*order));
	struct tp_old_table *table;

	if (!order)
		return;
	for (uint32_t i = 0; i < n; i++)
		order[i] = tp_gpu_time_at(gpu, i);
	if (n > n_shown) {
		qsort(order, n, sizeof(*order), compare_use);
		tp_out_title(out, "GPUs: the %u least used of %u", n_shown, n);
	} else {
		tp_out_title(out, "GPU%s in the recorded %s", n > 1 ? "s" : "",
			     has_steps ? "steps" : "windows");
	}
	table = tp_table_new(column, sizeof(column) / sizeof(column[0]));
	tp_table_name(table, "gpu");
	for (uint32_t i = 0; i < n_shown; i++)
		add_row(table, run, order[i], out->rows ? "" : "  ");
	tp_table_print(table, out);
	free(order);
}

/* What the lines below it say of all devices together, of each. */
static void print_times(const struct tp_run *run, const struct tp_gpu_time *gpu,
			struct tp_out *out)
{
	static const struct tp_old_column column[] = {
	    {.title = "GPU", .field = "gpu"},
	    {.title = "time", .align = TP_RIGHT, .field = "time_ns"},
	    {.title = "busy", .align = TP_RIGHT, .field = "busy_ns"},
	    {.title = "kernels", .align = TP_RIGHT, .field = "kernel_ns"},
	    {.title = "computing", .align = TP_RIGHT, .field = "compute_ns"},
	    {.title = "communication", .align = TP_RIGHT, .field = "communication_ns"},
	    {.title = "both", .align = TP_RIGHT, .field = "compute_communication_ns"},
	    {.title = "copies", .align = TP_RIGHT, .field = "copy_ns"},
	    {.title = "and computing", .align = TP_RIGHT, .field = "compute_copy_ns"},
	    {.title = "waits: copy", .align = TP_RIGHT, .field = "idle_copy_ns"},
	    {.title = "host", .align = TP_RIGHT, .field = "idle_host_ns"},
	    {.title = "stream", .align = TP_RIGHT, .field = "idle_queue_ns"},
	    {.title = "else", .align = TP_RIGHT, .field = "idle_other_ns"},
	    {.title = "launches", .align = TP_RIGHT, .field = "launches"},
	    {.title = "delay p50", .align = TP_RIGHT, .field = "delay_p50_ns"},
	    {.title = "p99", .align = TP_RIGHT, .field = "delay_p99_ns"},
	    {.title = "waiting", .align = TP_RIGHT, .field = "depth_most"},
	};
	struct tp_old_table *table;
	char who[96];

	if (!tp_out_is_full(out))
		return;
	tp_out_title(out, "What each GPU did");
	table = tp_table_new(column, sizeof(column) / sizeof(column[0]));
	tp_table_name(table, "gpu_time");
	for (uint32_t i = 0; i < tp_gpu_time_count(gpu); i++) {
		const struct tp_gpu_device *d = tp_gpu_time_at(gpu, i);
		const struct tp_gpu_figures *f = &d->total;
		const int64_t ns[] = {f->all_ns,     f->busy_ns, f->kernel_ns,
				      f->compute_ns, f->comm_ns, f->compute_comm_ns,
				      f->copy_ns,    f->compute_copy_ns};
		uint32_t depth = 0;

		tp_table_cell(table, "%s", show_who(who, run, d));
		for (size_t k = 0; k < sizeof(ns) / sizeof(ns[0]); k++)
			tp_cell_ns(table, ns[k]);
		for (uint32_t k = 0; k < TP_IDLE_N; k++)
			tp_cell_ns(table, f->idle_ns[k]);
		for (uint32_t k = 0; k < d->n_queues; k++)
			if (d->queue[k].depth_most > depth)
				depth = d->queue[k].depth_most;
		tp_cell_count(table, d->delay.n);
		tp_cell_ns(table, tp_spread_percentile(&d->delay, 50));
		tp_cell_ns(table, tp_spread_percentile(&d->delay, 99));
		tp_cell_count(table, depth);
	}
	tp_table_print(table, out);
}

/* What waited in each stream for its turn. */
static void print_streams(const struct tp_run *run, const struct tp_gpu_time *gpu,
			  struct tp_out *out)
{
	static const struct tp_old_column column[] = {
	    {.title = "GPU", .field = "gpu"},
	    {.title = "context", .align = TP_RIGHT, .field = "context"},
	    {.title = "stream", .align = TP_RIGHT, .field = "stream"},
	    {.title = "launches", .align = TP_RIGHT, .field = "launches"},
	    {.title = "waited", .align = TP_RIGHT, .field = "wait_ns"},
	    {.title = "most waiting", .align = TP_RIGHT, .field = "depth_most"},
	};
	struct tp_old_table *table;
	char who[96];

	if (!tp_out_is_full(out))
		return;
	tp_out_title(out, "What waited in each stream");
	table = tp_table_new(column, sizeof(column) / sizeof(column[0]));
	tp_table_name(table, "gpu_streams");
	for (uint32_t i = 0; i < tp_gpu_time_count(gpu); i++) {
		const struct tp_gpu_device *d = tp_gpu_time_at(gpu, i);

		for (uint32_t k = 0; k < d->n_queues; k++) {
			tp_table_cell(table, "%s", show_who(who, run, d));
			tp_cell_count(table, d->queue[k].queue->context);
			tp_cell_count(table, d->queue[k].queue->stream);
			tp_cell_count(table, d->queue[k].n_launches);
			tp_cell_ns(table, d->queue[k].wait_ns);
			tp_cell_count(table, d->queue[k].depth_most);
		}
	}
	tp_table_print(table, out);
}

static void print_idle(const struct tp_gpu_figures *f, struct tp_out *out)
{
	char a[32], text[200] = "";
	int64_t idle = tp_sub(f->all_ns, f->kernel_ns);
	size_t n = 0;

	if (f->all_ns <= 0 || idle < f->all_ns / 1000)
		return;
	for (uint32_t i = 0; i < TP_IDLE_N; i++)
		if (f->idle_ns[i] > f->all_ns / 2000)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s %s",
					      n ? ", " : "", tp_idle_name(i),
					      tp_show_percent(a, (double)f->idle_ns[i],
							      (double)f->all_ns));
	tp_out_item(out,
		    f->idle_ns[TP_IDLE_HOST] / HOST_PERCENT > f->all_ns / 100 ? "yellow" : "",
		    TP_OVERVIEW_LABEL, "no kernel", "%s of the time, waiting for %s",
		    tp_show_percent(a, (double)idle, (double)f->all_ns), text);
}

static void print_overlap(const struct tp_gpu_figures *f, struct tp_out *out)
{
	char a[32], b[32];

	if (f->copy_ns < f->all_ns / 1000 && f->comm_ns < f->all_ns / 1000)
		return;
	if (f->comm_ns)
		tp_out_item(out, "", TP_OVERVIEW_LABEL, "overlap",
			    "computing goes on in %s of the time of communication, %s of that of "
			    "copies",
			    tp_show_percent(a, (double)f->compute_comm_ns, (double)f->comm_ns),
			    tp_show_percent(b, (double)f->compute_copy_ns, (double)f->copy_ns));
	else
		tp_out_item(out, "", TP_OVERVIEW_LABEL, "overlap",
			    "computing goes on in %s of the time of copies",
			    tp_show_percent(b, (double)f->compute_copy_ns, (double)f->copy_ns));
}

static void print_launches(const struct sums *sums, struct tp_out *out)
{
	char a[32], b[32], c[32];

	if (!sums->delay.n)
		return;
	tp_out_item(out, "", TP_OVERVIEW_LABEL, "launches",
		    "%s; work begins %s after its call (median; p99 %s); most waiting in a "
		    "stream: %u, on average %.1f",
		    tp_show_count(a, sums->delay.n),
		    tp_show_ns(b, tp_spread_percentile(&sums->delay, 50)),
		    tp_show_ns(c, tp_spread_percentile(&sums->delay, 99)), sums->depth_most,
		    sums->all.all_ns > 0 ? (double)sums->wait_ns / (double)sums->all.all_ns : 0);
}

static void print_odd(const struct sums *sums, uint64_t n_idle_launches, struct tp_out *out)
{
	char a[32], b[32], c[32], text[200] = "";
	size_t n = 0;

	if (sums->n_no_call)
		n += (size_t)snprintf(text + n, sizeof(text) - n,
				      "%s of %s pieces of work have no call that was recorded",
				      tp_show_count(a, sums->n_no_call),
				      tp_show_count(b, sums->n_work));
	if (sums->n_before_call)
		n += (size_t)snprintf(text + n, sizeof(text) - n,
				      "%s%s began before their call, by up to %s", n ? "; " : "",
				      tp_show_count(a, sums->n_before_call),
				      tp_show_ns(c, sums->most_before_ns));
	if (n_idle_launches)
		n += (size_t)snprintf(text + n, sizeof(text) - n,
				      "%s%s launch%s started nothing that was recorded",
				      n ? "; " : "", tp_show_count(a, n_idle_launches),
				      n_idle_launches == 1 ? "" : "es");
	if (n)
		tp_out_item(out, sums->n_before_call ? "yellow" : "dim", TP_OVERVIEW_LABEL, "odd",
			    "%s", text);
}

static void add_device(struct sums *sums, const struct tp_gpu_device *d)
{
	int64_t wait_ns = 0;

	tp_gpu_add(&sums->all, &d->total);
	tp_spread_merge(&sums->delay, &d->delay);
	/* The deepest stream's: what waits in others is not in its way. */
	for (uint32_t i = 0; i < d->n_queues; i++) {
		if (d->queue[i].depth_most > sums->depth_most)
			sums->depth_most = d->queue[i].depth_most;
		if (d->queue[i].wait_ns > wait_ns)
			wait_ns = d->queue[i].wait_ns;
	}
	sums->wait_ns = tp_add(sums->wait_ns, wait_ns);
	sums->n_work += d->n_work;
	sums->n_no_call += d->n_no_call;
	sums->n_before_call += d->n_before_call;
	if (d->most_before_ns > sums->most_before_ns)
		sums->most_before_ns = d->most_before_ns;
	sums->has_steps |= d->has_steps;
}

void tp_overview_print_gpus(const struct tp_run *run, const struct tp_overview *overview,
			    struct tp_out *out)
{
	struct sums sums = {.depth_most = 0};

	for (uint32_t i = 0; i < tp_gpu_time_count(overview->gpu); i++)
		add_device(&sums, tp_gpu_time_at(overview->gpu, i));
	if (tp_gpu_time_count(overview->gpu)) {
		print_table(run, overview->gpu, sums.has_steps, out);
		print_idle(&sums.all, out);
		print_overlap(&sums.all, out);
		print_launches(&sums, out);
		print_odd(&sums, overview->n_idle_launches, out);
		print_times(run, overview->gpu, out);
		print_streams(run, overview->gpu, out);
	}
	tp_spread_free(&sums.delay);
}
