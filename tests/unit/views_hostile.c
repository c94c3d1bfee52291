/* SPDX-License-Identifier: Apache-2.0 */
/*
 * views_hostile.c - all views on events and ledgers that no program makes: they must print
 * something, whatever the numbers (run under the sanitizers, this is a test of arithmetic)
 */
#include <criterion/criterion.h>

#include "tests/unit/fake_run.h"

static const struct tp_view *const views[] = {&tp_view_overview, &tp_view_operator,
					      &tp_view_kernel, &tp_view_steps, &tp_view_trace,
					      &tp_view_health};
static unsigned seed = 1;
static struct tp_queue queues[3] = {{.stream = 7}, {.at = 1, .stream = 8}, {.at = 2, .device = 1}};
static struct tp_device devices[2] = {
	{.major = 8, .n_sms = 108, .warp_threads = 32, .sm_threads = 2048, .sm_registers = 65536,
	 .sm_shared = 167936, .block_threads = 1024, .block_registers = 65536},
	{.id = 1, .major = 9, .n_sms = 1, .warp_threads = 1},
};

/* Small, usual, or as large as the type: those at which sums overflow. */
static uint64_t pick(void)
{
	static const uint64_t extremes[] = {0, 1, INT64_MAX, (uint64_t)INT64_MIN, UINT64_MAX,
					    1ull << 47, 1ull << 62};

	switch (rand_r(&seed) % 3) {
	case 0:
		return (uint64_t)rand_r(&seed) % 100;
	case 1:
		return (uint64_t)rand_r(&seed) * 1000;
	default:
		return extremes[rand_r(&seed) % 7];
	}
}

static void make_event(struct fake *fake, struct tp_event *event,
		       const struct tp_string *const *strings)
{
	struct tp_proc *proc = fake->procs[rand_r(&seed) % fake->run.n_procs];

	*event = fake_span(fake, proc, (uint32_t)rand_r(&seed) % FAKE_THREADS,
			   (uint8_t)(rand_r(&seed) % 19), strings[rand_r(&seed) % 6], 0, 0);
	event->window = (uint32_t)rand_r(&seed) % 3;
	event->flags = rand_r(&seed) % 2 ? 0 : (uint8_t)rand_r(&seed);
	event->link = rand_r(&seed) % 2 ? TP_DEVICE_CPU : (uint32_t)pick();
	event->arg = pick();
	event->len = pick();
	event->begin_ns = (int64_t)pick();
	event->end_ns = (int64_t)pick();
	event->shapes = strings[rand_r(&seed) % 6];
	event->detail = strings[rand_r(&seed) % 9];
	/* Half of all work finds its call. */
	if (event->kind >= TP_REC_CALL && rand_r(&seed) % 2)
		event->link = (uint32_t)rand_r(&seed) % 8;
	if (event->kind > TP_REC_CALL && event->kind != TP_REC_OVERHEAD)
		event->queue = &queues[rand_r(&seed) % 3];
}

static void make_window(struct fake *fake)
{
	struct tp_window *window = fake_window(
		fake, fake->procs[rand_r(&seed) % fake->run.n_procs],
		(uint32_t)rand_r(&seed) % 3, (int64_t)pick(), (int64_t)pick());

	window->n_events = pick();
	window->dropped = pick();
	window->file_bytes = pick();
	window->clock_error_ns = (int64_t)pick();
	window->is_whole = rand_r(&seed) % 2;
	window->totals = "drain_cpu_ns=18446744073709551615\nstall_ns=9223372036854775807\n"
			 "names_lost=18446744073709551615\n"
			 "cupti.version=4294967295\ncupti.kernel.no_time="
			 "18446744073709551615\ncupti.call.no_time=18446744073709551615\n"
			 "cupti.trashed_bytes=18446744073709551615\ncupti.yielded=1\n"
			 "cupti.yielded_ns=18446744073709551615\n";
	window->meta = "off.\033=\n=\nSCHEDULE\n\n";
}

static void make_step(struct fake *fake, struct tp_proc *proc)
{
	struct tp_step_row *row = fake_step_row(fake, proc, pick(),
						(int64_t)pick(), (int64_t)pick());

	row->data_wait_ns = (int64_t)pick();
	row->optimizer_ns = (int64_t)pick();
	row->live_bytes = pick();
	row->peak_bytes = pick();
	row->device_peak = pick();
	row->dropped = pick();
	row->epoch = (uint32_t)pick();
	row->phase = (uint8_t)pick();
	row->flags = (uint8_t)pick();
	row->source = (uint8_t)pick();
}

static void make_run(struct fake *fake, const struct tp_string **strings)
{
	struct tp_launch launch = {.grid = {50, 1, 1}, .block = {256, 1, 1}, .registers = 32};

	fake_init(fake);
	for (uint32_t i = 1 + (uint32_t)rand_r(&seed) % 6; i > 0; i--)
		fake_proc(fake, rand_r(&seed) % 3 - 1);
	strings[0] = &fake->none;
	strings[1] = fake_op(fake, "aten::mm");
	strings[2] = fake_text(fake, "enumerate(DataLoader)#\033[2J");
	strings[3] = fake_string(fake, TP_STRING_SHAPES, "\1\6\2\377", 4);
	strings[4] = fake_string(fake, TP_STRING_OP, "", 0);
	strings[5] = fake_string(fake, 77, "\xff\xfe", 2);
	strings[6] = fake_string(fake, TP_STRING_LAUNCH, (char *)&launch, sizeof(launch));
	for (size_t i = 0; i < sizeof(launch) / 4; i++)
		((uint32_t *)&launch)[i] = (uint32_t)pick();
	strings[7] = fake_string(fake, TP_STRING_LAUNCH, (char *)&launch, sizeof(launch));
	strings[8] = fake_string(fake, TP_STRING_LAUNCH, (char *)&launch, 20);
	for (uint32_t i = 0; i < fake->run.n_procs; i++) {
		fake->procs[i]->device = devices;
		fake->procs[i]->n_devices = 2;
	}
	for (uint32_t i = (uint32_t)rand_r(&seed) % 5; i > 0; i--)
		make_window(fake);
	for (uint32_t p = 0; p < fake->run.n_procs; p++)
		for (uint32_t i = (uint32_t)rand_r(&seed) % 30; i > 0; i--)
			make_step(fake, fake->procs[p]);
	for (uint32_t i = (uint32_t)rand_r(&seed) % 5; i > 0; i--) {
		struct tp_proc *proc = fake->procs[rand_r(&seed) % fake->run.n_procs];

		fake->run.open[fake->run.n_open++] = (struct tp_open_at_end){
			proc, &proc->thread[rand_r(&seed) % FAKE_THREADS],
			strings[rand_r(&seed) % 6], 1, (int64_t)pick(), (int64_t)pick(),
			(uint32_t)pick()};
	}
}

Test(views_hostile, print_something_whatever_the_numbers, .timeout = 120)
{
	static struct tp_event event[200];

	for (uint32_t round = 0; round < 300; round++) {
		const struct tp_string *strings[9];
		struct tp_view_options options = {.top = round % 4 * 3, .by_shape = round % 3 == 0,
						  .by_grid = round % 2, .by_operator = round % 3 == 1};
		struct fake fake;

		make_run(&fake, strings);
		for (uint32_t i = 0; i < 200; i++)
			make_event(&fake, &event[i], strings);
		for (uint32_t v = 0; v < sizeof(views) / sizeof(views[0]); v++) {
			char *text = fake_print(&fake, views[v], &options, event,
						round % 5 ? 200 : 0, 10 + round % 150, false);

			cr_assert(text[0]);
			cr_assert_null(strchr(text, '\033'));
		}
	}
}
