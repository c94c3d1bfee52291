/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_time.c - tests: figures computed by hand, and by looking at every nanosecond
 */
#include "merge/facts/time/gpu_time.h"

#include <criterion/criterion.h>
#include <math.h>

#include "merge/facts/time/occupancy.h"
#include "merge/model/device.h"
#include "tests/unit/fake_run.h"

static struct fake fake;
static struct tp_proc *proc;
static struct tp_queue queues[4];
static struct tp_gpu_time *gpu;

/* 100 multiprocessors of 1000 threads: figures are easy to compute by hand. */
static struct tp_device device = {
	.id = 0, .name = "Test", .major = 8, .minor = 0, .n_sms = 100, .warp_threads = 32,
	.sm_threads = 2048, .sm_registers = 65536, .sm_shared = 167936, .block_threads = 1024,
	.block_registers = 65536, .block_shared = 49152, .block_shared_optin = 166912,
};

static void set_up(void)
{
	fake_init(&fake);
	proc = fake_proc(&fake, 0);
	proc->device = &device;
	proc->n_devices = 1;
	for (uint32_t i = 0; i < 4; i++)
		queues[i] = (struct tp_queue){.at = i, .stream = 7 + i};
}

/* Once the windows are known. */
static void start(void)
{
	if (!gpu)
		gpu = tp_gpu_time_new(&fake.run);
}

static void tear_down(void)
{
	tp_gpu_time_free(gpu);
	gpu = NULL;
}

TestSuite(gpu_time, .init = set_up, .fini = tear_down);

static struct tp_event work(uint8_t kind, const char *name, uint32_t queue, uint32_t blocks,
			    int64_t begin, int64_t end)
{
	struct tp_event event = fake_span(&fake, proc, 0, kind, fake_text(&fake, name), begin, end);
	struct tp_launch launch = {.place = {.stream = queues[queue].stream},
				   .grid = {blocks, 1, 1}, .block = {1024, 1, 1},
				   .registers = 32};

	event.queue = &queues[queue];
	event.detail = kind == TP_REC_KERNEL
			       ? fake_string(&fake, TP_STRING_LAUNCH, (char *)&launch, sizeof(launch))
			       : &fake.none;
	return event;
}

static struct tp_launch_call call_at(int64_t begin, int64_t end)
{
	return (struct tp_launch_call){.begin_ns = begin, .end_ns = end,
				       .thread = &proc->thread[0], .name = &fake.none,
				       .correlation = 1, .n_work = 1};
}

static void give(uint8_t kind, const char *name, uint32_t queue, uint32_t blocks, int64_t begin,
		 int64_t end, int64_t call_begin, int64_t call_end)
{
	struct tp_event event = work(kind, name, queue, blocks, begin, end);
	struct tp_launch_call call = call_at(call_begin, call_end);

	start();
	tp_gpu_time_work(gpu, &event, call_begin == call_end ? NULL : &call);
}

static void give_step(uint32_t index, uint32_t window, int64_t begin, int64_t end)
{
	struct tp_event event = fake_step(&fake, proc, index, begin, end);

	event.window = window;
	start();
	tp_gpu_time_step(gpu, &event);
}

static const struct tp_gpu_device *finish(void)
{
	tp_gpu_time_end(gpu);
	cr_assert_not(tp_gpu_time_is_incomplete(gpu));
	cr_assert_eq(tp_gpu_time_count(gpu), 1);
	return tp_gpu_time_at(gpu, 0);
}

static int64_t idle(const struct tp_gpu_figures *f)
{
	return f->idle_ns[TP_IDLE_COPY] + f->idle_ns[TP_IDLE_HOST] + f->idle_ns[TP_IDLE_QUEUE] +
	       f->idle_ns[TP_IDLE_OTHER];
}

Test(gpu_time, is_the_hand_computed_one)
{
	const struct tp_gpu_figures *f;
	const struct tp_gpu_device *d;

	fake_window(&fake, proc, 0, 0, 10000);
	give_step(3, 0, 0, 10000);
	/* 50 blocks on 100 multiprocessors: half; 1024 of 2048 threads: 0.25 */
	give(TP_REC_KERNEL, "volta_h884gemm", 0, 50, 1000, 3000, 400, 900);
	/* two at a time: one each per multiprocessor, together no more than 1 */
	give(TP_REC_KERNEL, "elementwise", 1, 100, 2000, 4000, 900, 1100);
	/* asked for long before; the other stream ended last */
	give(TP_REC_KERNEL, "elementwise", 0, 400, 4500, 5000, 1200, 1300);
	/* asked for long before, same stream */
	give(TP_REC_MEMCPY, "Memcpy HtoD (Pinned -> Device)", 0, 0, 5100, 6000, 1300, 1400);
	give(TP_REC_KERNEL, "ncclDevKernel_AllReduce", 2, 1, 5900, 7000, 1400, 1500);
	give(TP_REC_KERNEL, "elementwise", 0, 400, 6500, 8000, 1500, 1600);
	/* the call came too late */
	give(TP_REC_MEMSET, "Memset (Device)", 0, 0, 9000, 9100, 7900, 8100);
	d = finish();
	f = &d->total;
	cr_expect_eq(f->all_ns, 10000);
	cr_expect_eq(f->kernel_ns, 3000 + 500 + 2100);
	cr_expect_eq(f->compute_ns, 3000 + 500 + 1500);
	cr_expect_eq(f->comm_ns, 1100);
	cr_expect_eq(f->copy_ns, 900 + 100);
	cr_expect_eq(f->busy_ns, 3000 + 500 + 2900 + 100);
	cr_expect_eq(f->compute_copy_ns, 0);
	cr_expect_eq(f->compute_comm_ns, 500);
	cr_expect_eq(f->idle_ns[TP_IDLE_COPY], 800 + 100);
	/* up to the first kernel; from 8000 on to the set; after it to the end */
	cr_expect_eq(f->idle_ns[TP_IDLE_HOST], 1000 + 1000 + 900);
	cr_expect_eq(f->idle_ns[TP_IDLE_QUEUE], 500);
	cr_expect_eq(f->idle_ns[TP_IDLE_OTHER], 100);
	cr_expect_eq(f->kernel_ns + idle(f), f->all_ns);
	cr_expect_float_eq(f->sm_ns, 0.5 * 1000 + 1 * 1000 + 1 * 1000 + 500 + 0.01 * 600 + 1500, 1e-3);
	cr_expect_float_eq(f->run_ns, 2000 + 2000 + 500 + 1100 + 1500, 1e-6);
	cr_expect_float_eq(f->known_ns, f->run_ns, 1e-6);
	cr_expect_float_eq(f->tensor_ns, 2000, 1e-6);
	/* 0.25, 0.5, 1 (two of 1024), 0.005, 1 */
	cr_expect_float_eq(f->occupancy_ns,
			   0.25 * 2000 + 0.5 * 2000 + 500 + 0.005 * 1100 + 1500, 1e-3);
	cr_expect_eq(memcmp(&d->step[0], f, sizeof(*f)), 0);
	cr_expect_eq(d->n_work, 7);
	cr_expect_eq(d->n_no_call, 0);
	cr_expect_eq(tp_spread_percentile(&d->delay, 100), 5000);
	cr_expect_eq(d->delay.least, 600);
}

Test(gpu_time, is_cut_at_the_edges_of_steps_and_goes_on_behind_the_last)
{
	const struct tp_gpu_device *d;
	const struct tp_gpu_step *steps;
	uint32_t n;

	fake_window(&fake, proc, 0, 0, 2000);
	fake_window(&fake, proc, 1, 10000, 11000);
	give_step(5, 0, 0, 1000);
	give_step(6, 0, 1000, 2000);
	/* launched before the window: only from its end on (300) it counts in all */
	give(TP_REC_KERNEL, "before", 0, 100, 100, 300, 0, 0);
	give(TP_REC_KERNEL, "a", 0, 100, 800, 1400, 600, 700);
	/* runs on behind the window's last step; so does what begins behind it */
	give(TP_REC_KERNEL, "b", 0, 100, 1900, 2500, 1500, 1600);
	give(TP_REC_KERNEL, "c", 0, 100, 2700, 3000, 1900, 1950);
	/* not of the window: launched behind it */
	give(TP_REC_KERNEL, "d", 0, 100, 3500, 3600, 3400, 3450);
	give_step(90, 1, 10000, 11000);
	give(TP_REC_KERNEL, "e", 0, 100, 10500, 10600, 10400, 10450);
	d = finish();
	steps = tp_gpu_time_steps(gpu, proc, &n);
	cr_assert_eq(n, 3);
	cr_expect_eq(steps[2].index, 90);
	cr_expect_eq(d->step[0].all_ns, 1000);
	cr_expect_eq(d->step[0].kernel_ns, 200 + 200);
	cr_expect_eq(d->step[1].all_ns, 1000);
	cr_expect_eq(d->step[1].kernel_ns, 400 + 100);
	cr_expect_eq(d->step[2].all_ns, 1000);
	cr_expect_eq(d->step[2].kernel_ns, 100);
	/* 300..3000 and 10000..11000 */
	cr_expect_eq(d->total.all_ns, 2700 + 1000, "%lld", (long long)d->total.all_ns);
	cr_expect_eq(d->total.kernel_ns, 600 + 600 + 300 + 100);
	for (uint32_t i = 0; i < n; i++)
		cr_expect_eq(d->step[i].kernel_ns + idle(&d->step[i]), d->step[i].all_ns);
}

Test(gpu_time, is_of_the_window_without_steps)
{
	const struct tp_gpu_device *d;

	/* In the order of their files. */
	fake_window(&fake, proc, 1, 8000, 9000);
	fake_window(&fake, proc, 0, 1000, 3000);
	give(TP_REC_KERNEL, "a", 0, 100, 1500, 2000, 1400, 1450);
	give(TP_REC_KERNEL, "a", 0, 100, 2900, 3500, 2800, 2850);
	give(TP_REC_KERNEL, "a", 0, 100, 8100, 8200, 8050, 8060);
	d = finish();
	cr_expect_not(d->has_steps);
	cr_expect_eq(d->total.kernel_ns, 500 + 600 + 100);
	cr_expect_eq(d->total.all_ns, 2500 + 1000);
	cr_expect_eq(d->total.kernel_ns + idle(&d->total), d->total.all_ns);
}

#define MS 1000000

/* What was launched before CUPTI was asked runs unseen: a window's first work waits for it. */
Test(gpu_time, is_not_idle_while_the_first_work_waits_for_what_is_not_recorded)
{
	const struct tp_gpu_device *d;

	fake_window(&fake, proc, 0, 0, 100 * MS);
	give_step(5, 0, 0, 4 * MS);
	give(TP_REC_KERNEL, "own", 0, 100, 40 * MS, 50 * MS, 1 * MS, 2 * MS);
	give(TP_REC_KERNEL, "own", 0, 100, 51 * MS, 60 * MS, 2 * MS, 3 * MS);
	d = finish();
	cr_expect_eq(d->total.all_ns, 20 * MS, "from its begin on");
	cr_expect_eq(d->total.idle_ns[TP_IDLE_HOST], 0);
	cr_expect_eq(d->total.idle_ns[TP_IDLE_OTHER], 1 * MS);
}

/* A copy goes on beside that. Until its call the host is waited for. */
Test(gpu_time, does_not_wait_for_the_host_once_the_host_has_launched)
{
	const struct tp_gpu_device *d;

	fake_window(&fake, proc, 0, 0, 100 * MS);
	give_step(5, 0, 0, 4 * MS);
	give(TP_REC_MEMCPY, "Memcpy HtoD (Pinned -> Device)", 1, 0, 1 * MS, 2 * MS, 500000, 600000);
	give(TP_REC_KERNEL, "own", 0, 100, 40 * MS, 50 * MS, 3 * MS, 4 * MS - 1);
	d = finish();
	cr_expect_eq(d->total.idle_ns[TP_IDLE_HOST], 1 * MS + 2 * MS - 1);
	cr_expect_eq(d->total.idle_ns[TP_IDLE_OTHER], 36 * MS + 1);
}

Test(gpu_time, counts_all_work_where_no_call_is_known)
{
	const struct tp_gpu_device *d;

	fake_window(&fake, proc, 0, 0, 1000);
	give_step(0, 0, 0, 1000);
	give(TP_REC_KERNEL, "a", 0, 100, 100, 200, 0, 0);
	give(TP_REC_KERNEL, "a", 0, 100, 300, 400, 0, 0);
	d = finish();
	cr_expect_eq(d->total.all_ns, 1000);
	cr_expect_eq(d->total.kernel_ns, 200);
	cr_expect_eq(d->n_no_call, 2);
	cr_expect_eq(d->total.idle_ns[TP_IDLE_OTHER], 200);
}

Test(gpu_time, counts_what_waits_in_a_queue)
{
	const struct tp_gpu_device *d;
	struct tp_event event;
	struct tp_launch_call graph;

	fake_window(&fake, proc, 0, 0, 100000);
	give_step(0, 0, 0, 100000);
	/* One at a time: a depth of 1. */
	give(TP_REC_KERNEL, "a", 0, 1, 1000, 2000, 900, 950);
	give(TP_REC_KERNEL, "a", 0, 1, 3000, 4000, 2900, 2950);
	/* Three calls before the first of them begins; and other streams do not count. */
	give(TP_REC_KERNEL, "a", 0, 1, 9000, 10000, 5000, 5050);
	give(TP_REC_KERNEL, "a", 1, 1, 9100, 10000, 5500, 5550);
	give(TP_REC_KERNEL, "a", 0, 1, 10000, 11000, 6000, 6050);
	give(TP_REC_KERNEL, "a", 0, 1, 11000, 12000, 7000, 7050);
	/* A graph: the launch counts once. */
	graph = call_at(20000, 20100);
	for (int i = 0; i < 50; i++) {
		event = work(TP_REC_KERNEL, "node", 2, 1, 21000 + i * 10, 21005 + i * 10);
		graph.n_work = (uint32_t)i + 1;
		tp_gpu_time_work(gpu, &event, &graph);
	}
	d = finish();
	cr_assert_eq(d->n_queues, 3);
	cr_expect_eq(d->queue[0].depth_most, 3);
	cr_expect_eq(d->queue[0].n_launches, 5);
	cr_expect_eq(d->queue[0].wait_ns, 100 + 100 + 4000 + 4000 + 4000);
	cr_expect_eq(d->queue[1].depth_most, 1);
	cr_expect_eq(d->queue[2].n_launches, 1);
	cr_expect_eq(d->queue[2].depth_most, 1);
	cr_expect_eq(d->delay.n, 7);
}

Test(gpu_time, sees_a_queue_as_deep_as_it_is)
{
	const struct tp_gpu_device *d;

	fake_window(&fake, proc, 0, 0, 100000);
	/* 700 calls, then 700 kernels */
	for (int i = 0; i < 700; i++)
		give(TP_REC_KERNEL, "a", 0, 1, 10000 + i * 10, 10005 + i * 10, 100 + i, 101 + i);
	d = finish();
	cr_expect_eq(d->queue[0].depth_most, 700);
}

Test(gpu_time, tells_orders_that_cannot_be)
{
	const struct tp_gpu_device *d;

	fake_window(&fake, proc, 0, 0, 10000);
	give(TP_REC_KERNEL, "a", 0, 1, 1000, 2000, 900, 950);
	give(TP_REC_KERNEL, "a", 0, 1, 3000, 4000, 3007, 3050);
	d = finish();
	cr_expect_eq(d->n_before_call, 1);
	cr_expect_eq(d->most_before_ns, 7);
}

/* ---- every nanosecond ---- */

enum { N = 60, T = 3000 };

struct piece {
	uint8_t kind;
	bool is_comm;
	uint32_t queue, blocks;
	int64_t begin, end, call_begin, call_end;
};

static int compare_pieces(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	return (x->begin > y->begin) - (x->begin < y->begin);
}

static void look_at(const struct piece *piece, int64_t t, struct tp_gpu_figures *f)
{
	bool compute = false, comm = false, copy = false;
	double blocks = 0;
	int64_t since = -1;
	uint32_t next = N, last = N;

	f->all_ns++;
	for (uint32_t i = 0; i < N; i++) {
		const struct piece *p = &piece[i];

		if (p->begin > t && next == N)
			next = i;
		if (p->begin <= t && p->end <= t && p->end >= since) {
			since = p->end;
			last = i;
		}
		if (p->begin > t || p->end <= t)
			continue;
		if (p->kind != TP_REC_KERNEL) {
			copy = true;
			continue;
		}
		comm |= p->is_comm;
		compute |= !p->is_comm;
		blocks += p->blocks / 100.;
		f->run_ns++;
	}
	f->busy_ns += compute || comm || copy;
	f->kernel_ns += compute || comm;
	f->compute_ns += compute;
	f->comm_ns += comm;
	f->copy_ns += copy;
	f->compute_copy_ns += compute && copy;
	f->compute_comm_ns += compute && comm;
	f->sm_ns += blocks < 1 ? blocks : 1;
	if (compute || comm)
		return;
	if (copy)
		f->idle_ns[TP_IDLE_COPY]++;
	else if (next == N || piece[next].call_end > (since < 0 ? 0 : since))
		f->idle_ns[TP_IDLE_HOST]++;
	else if (last < N && piece[last].queue != piece[next].queue)
		f->idle_ns[TP_IDLE_QUEUE]++;
	else
		f->idle_ns[TP_IDLE_OTHER]++;
}

Test(gpu_time, agrees_with_a_look_at_every_nanosecond)
{
	unsigned seed = 5;

	for (int round = 0; round < 200; round++) {
		struct tp_gpu_figures step[3] = {{.all_ns = 0}}, all = {.all_ns = 0};
		const struct tp_gpu_device *d;
		struct piece piece[N];

		tear_down();
		set_up();
		for (uint32_t i = 0; i < N; i++) {
			struct piece *p = &piece[i];

			/* Distinct ends: which of two equal ones is the last is nobody's business. */
			p->begin = 10 + rand_r(&seed) % (T - 200);
			p->end = p->begin + 1 + rand_r(&seed) % (round % 2 ? 20 : 90);
			p->kind = rand_r(&seed) % 4 ? TP_REC_KERNEL : TP_REC_MEMCPY;
			p->is_comm = rand_r(&seed) % 4 == 0;
			p->queue = (uint32_t)rand_r(&seed) % 3;
			p->blocks = 1 + (uint32_t)rand_r(&seed) % 150;
			p->call_begin = 1 + rand_r(&seed) % p->begin;
			p->call_end = p->call_begin + 1 + rand_r(&seed) % 30;
			if (p->call_begin >= p->begin)
				p->call_begin = p->begin - 1;
			for (uint32_t k = 0; k < i; k++)
				if (piece[k].end == p->end || piece[k].begin == p->begin)
					i--, k = N;
		}
		qsort(piece, N, sizeof(piece[0]), compare_pieces);
		fake_window(&fake, proc, 0, 0, T);
		for (uint32_t i = 0; i < 3; i++)
			give_step(i, 0, i * T / 3, (i + 1) * T / 3);
		for (uint32_t i = 0; i < N; i++)
			give(piece[i].kind, piece[i].is_comm ? "ncclX" : "k", piece[i].queue,
			     piece[i].blocks, piece[i].begin, piece[i].end, piece[i].call_begin,
			     piece[i].call_end);
		d = finish();
		for (int64_t t = 0; t < T; t++) {
			look_at(piece, t, &step[t * 3 / T]);
			look_at(piece, t, &all);
		}
		for (uint32_t i = 0; i <= 3; i++) {
			const struct tp_gpu_figures *truth = i < 3 ? &step[i] : &all,
						    *f = i < 3 ? &d->step[i] : &d->total;

			cr_assert_eq(memcmp(truth, f, offsetof(struct tp_gpu_figures, sm_ns)), 0,
				     "round %d, step %u: kernel %lld/%lld, idle %lld %lld %lld %lld/"
				     "%lld %lld %lld %lld", round, i, (long long)f->kernel_ns,
				     (long long)truth->kernel_ns, (long long)f->idle_ns[0],
				     (long long)f->idle_ns[1], (long long)f->idle_ns[2],
				     (long long)f->idle_ns[3], (long long)truth->idle_ns[0],
				     (long long)truth->idle_ns[1], (long long)truth->idle_ns[2],
				     (long long)truth->idle_ns[3]);
			cr_assert_float_eq(f->sm_ns, truth->sm_ns, 1e-2);
			cr_assert_float_eq(f->run_ns, truth->run_ns, 1e-6);
		}
	}
}

Test(gpu_time, tells_devices_and_processes_apart)
{
	struct tp_event event = work(TP_REC_KERNEL, "a", 0, 1, 100, 200);
	struct tp_queue second = {.device = 3, .stream = 7};

	fake_window(&fake, proc, 0, 0, 1000);
	start();
	tp_gpu_time_work(gpu, &event, NULL);
	event.queue = &second;
	tp_gpu_time_work(gpu, &event, NULL);
	tp_gpu_time_end(gpu);
	cr_assert_eq(tp_gpu_time_count(gpu), 2);
	cr_expect_eq(tp_gpu_time_at(gpu, 1)->id, 3);
	cr_expect_null(tp_gpu_time_at(gpu, 1)->device);
	cr_expect_eq(tp_gpu_time_at(gpu, 1)->total.kernel_ns, 100);
	cr_expect_eq(tp_gpu_time_at(gpu, 1)->total.known_ns, 0);
}
