/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_gpu.c - part of the overview: a row for each device, why they were idle, how work
 * came to them
 */
#include "merge/view/overview/overview.h"

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

/* What the trace does not tell. */
static void put_known(struct tp_row *r, bool is_known, int64_t value)
{
	if (is_known)
		tp_row_integer(r, value);
	else
		tp_row_text(r, "?");
}

static void put_share(struct tp_row *r, bool is_known, double part, double whole)
{
	if (is_known)
		tp_row_percent(r, part, whole);
	else
		tp_row_text(r, "?");
}

static void put_capability(struct tp_row *r, const struct tp_device *device)
{
	if (device && device->major)
		tp_row_text(r, "%u.%u", device->major, device->minor);
	else
		tp_row_text(r, "?");
}

static void put_gpu(struct tp_row *r, const void *ctx, const void *of)
{
	const struct tp_gpu_device *d = of ? *(const struct tp_gpu_device *const *)of : NULL;
	const struct tp_gpu_figures *f = d ? &d->total : NULL;
	char who[96];

	TP_TEXT(r, "gpu", "GPU", TP_INSET, "number", "%s", tp_overview_gpu_who(who, ctx, d));
	TP_TEXT(r, "name", "", TP_CUT, "name", "%s", d->device ? d->device->name : "?");
	TP_CELL(r, "memory_bytes", "memory", TP_UNIT_BYTES, TP_LESS(2), "size of its memory",
		put_known(r, d->device && d->device->memory_bytes,
			  d->device ? (int64_t)d->device->memory_bytes : 0));
	TP_CELL(r, "capability", "capability", TP_UNIT_TEXT, TP_TO_RIGHT | TP_LESS(1),
		"compute capability", put_capability(r, d->device));
	TP_PERCENT(r, "utilisation_percent", "utilisation", 0, "share of the time with a kernel",
		   f->kernel_ns, f->all_ns);
	TP_CELL(r, "sm_efficiency_percent", "SM eff.", TP_UNIT_PERCENT, 0, "estimated SM efficiency",
		put_share(r, f->sm_ns > 0, f->sm_ns, (double)f->all_ns));
	TP_CELL(r, "occupancy_percent", "occupancy", TP_UNIT_PERCENT, 0, "estimated achieved occupancy",
		put_share(r, f->known_ns > 0, f->occupancy_ns, f->known_ns));
	TP_PERCENT(r, "tensor_cores_percent", "tensor cores", 0,
		   "share of kernel time in kernels that use tensor cores", f->tensor_ns, f->run_ns);
}

const struct tp_table_def tp_table_gpu = {
	.name = "gpu", .columns = put_gpu, .help = "utilization of each device",
};

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
	uint32_t n = tp_gpu_time_count(gpu), n_shown = n < GPUS_SHOWN ? n : GPUS_SHOWN;
	const struct tp_gpu_device **order = malloc((n + 1) * sizeof(*order));

	if (!order)
		return;
	for (uint32_t i = 0; i < n; i++)
		order[i] = tp_gpu_time_at(gpu, i);
	if (n > n_shown) {
		qsort(order, n, sizeof(*order), compare_use);
		tp_out_title(out, "How busy the GPUs are: the %u least used of %u", n_shown, n);
	} else {
		tp_out_title(out, "How busy the GPU%s in the recorded %s", n > 1 ? "s are" : " is",
			     has_steps ? "steps" : "windows");
	}
	tp_table_show(&tp_table_gpu, run, order, n_shown, sizeof(*order), TP_TOP_ASKED, out);
	free(order);
}

static void print_reported(const struct tp_gpu_time *gpu, struct tp_out *out)
{
	uint64_t n = 0;
	char a[32];

	for (uint32_t i = 0; i < tp_gpu_time_count(gpu); i++)
		n += tp_gpu_time_at(gpu, i)->n_reported;
	if (n)
		tp_out_item(out, "dim", TP_OVERVIEW_LABEL, "occupancy",
			    "torch.profiler's own estimate for %s kernels: properties of their device are "
			    "missing in its file", tp_show_count(a, n));
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
		    TP_OVERVIEW_LABEL, "GPU idle", "%s of the time, waiting for %s",
		    tp_show_percent(a, (double)idle, (double)f->all_ns), text);
}

static void print_overlap(const struct tp_gpu_figures *f, struct tp_out *out)
{
	char a[32], b[32];

	if (f->copy_ns < f->all_ns / 1000 && f->comm_ns < f->all_ns / 1000)
		return;
	if (f->comm_ns)
		tp_out_item(out, "", TP_OVERVIEW_LABEL, "overlap",
			    "kernels compute during %s of the communication and %s of the copies",
			    tp_show_percent(a, (double)f->compute_comm_ns, (double)f->comm_ns),
			    tp_show_percent(b, (double)f->compute_copy_ns, (double)f->copy_ns));
	else
		tp_out_item(out, "", TP_OVERVIEW_LABEL, "overlap",
			    "kernels compute during %s of the copies",
			    tp_show_percent(b, (double)f->compute_copy_ns, (double)f->copy_ns));
}

static void print_launches(const struct sums *sums, struct tp_out *out)
{
	char a[32], b[32], c[32];

	if (!sums->delay.n)
		return;
	tp_out_item(out, "", TP_OVERVIEW_LABEL, "launches",
		    "%s; launch delay %s (median; p99 %s); queue depth of a stream at most %u, on "
		    "average %.1f",
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
		print_reported(overview->gpu, out);
		print_idle(&sums.all, out);
		print_overlap(&sums.all, out);
		print_launches(&sums, out);
		tp_overview_print_clocks(run, overview, out);
		print_odd(&sums, overview->n_idle_launches, out);
		tp_overview_gpu_times(run, overview->gpu, out);
		tp_overview_gpu_streams(run, overview->gpu, out);
	}
	tp_spread_free(&sums.delay);
}
