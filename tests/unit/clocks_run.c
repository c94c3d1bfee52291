/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces of several hosts: their collectives and clock exchanges place them, whatever
 * CLOCK_REALTIME says; what does not belong together is not compared.
 */
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <math.h>

#include "merge_rig.h"

enum { STEPS = 12, CALLS = 3, SEEN = 4096 };

/* Of the truth: a host's clock at `ns` after the start. */
struct host {
	uint64_t boot, base;
	double rate;
	int64_t real;		/* CLOCK_REALTIME - CLOCK_MONOTONIC, and by how much it steps */
	int64_t step;
	int64_t late_ns;	/* its ranks come so late */
};

static struct host world[2];

static uint64_t own(const struct host *host, double ns)
{
	return host->base + (uint64_t)llround(ns * host->rate);
}

static void anchor(const struct host *host, double ns)
{
	rig_anchor(own(host, ns));
	rig.writer.anchor.real_ns = own(host, ns) + (uint64_t)host->real +
				    (ns > 6e7 ? (uint64_t)host->step : 0);
}

static uint32_t group(const char *name)
{
	char bytes[80];
	uint8_t n = (uint8_t)strlen(name), head[] = {TP_SHAPE_GROUP, (uint8_t)(n + 5), 1, 2, 0, 0};

	memcpy(bytes, head, sizeof(head));
	memcpy(bytes + sizeof(head), name, n + 1u);
	return rig_bytes(TP_STRING_SHAPES, bytes, (uint32_t)sizeof(head) + n + 1);
}

static void span(const struct host *host, uint8_t kind, const char *name, uint32_t shapes,
		 uint32_t link, double begin, double end)
{
	rig_put((struct tp_rec){.time = own(host, begin), .kind = kind, .name = rig_text(name),
				.link = link, .arg = TP_ARG_OP(shapes, 0, 0)},
		own(host, end) - own(host, begin), 0);
}

static void open_file(const struct host *host, int32_t rank, const char *meta)
{
	struct tp_file_head head = {
		.boot_id = {host->boot, 7}, .run_id = 500 + (uint64_t)rank + host->boot,
		.pid = 100 + (uint32_t)rank, .rank = rank, .local_rank = 0, .world_size = 2,
		.node_rank = rank, .clock_source = TP_CLOCK_MONOTONIC};
	struct tp_thread_entry thread = {.tid = 100 + (uint32_t)rank, .flags = 1, .name = "python"};
	char path[256];

	snprintf(path, sizeof(path), "%s/host%lu-rank%d.tpt", rig.folder, (unsigned long)host->boot, rank);
	anchor(host, 0);
	cr_assert_eq(tp_writer_open(&rig.writer, path, &head, meta, (uint32_t)strlen(meta)), 0);
	cr_assert_eq(tp_writer_threads(&rig.writer, &thread, 1), 0);
}

static void close_file(const struct host *host, const char *totals)
{
	anchor(host, STEPS * 1e7);
	cr_assert_eq(tp_writer_close(&rig.writer, totals, (uint32_t)strlen(totals)), 0);
}

/* A step is 10 ms; the all-reduces of both ranks end some us after the later one came. */
static void write_rank(uint32_t at, int32_t rank, const char *name, uint32_t n_calls,
		       const char *meta, const char *totals)
{
	const struct host *host = &world[at];

	open_file(host, rank, meta);
	for (uint32_t s = 0; s < STEPS; s++) {
		double begin = s * 1e7;

		for (uint32_t c = 0; c < n_calls; c++) {
			double ask = begin + (c + 1) * 2e6;
			double last = ask + (double)(world[0].late_ns > world[1].late_ns
							     ? world[0].late_ns : world[1].late_ns);

			span(host, TP_REC_RANGE, "gloo:all_reduce", name ? group(name) : 0, TP_NO_SEQ,
			     ask + (double)host->late_ns + s * 1000, last + 40000 + at * 25000 + s * 1000);
		}
		span(host, TP_REC_STEP, "step", 0, s, begin, begin + 9.9e6);
	}
	close_file(host, totals);
}

static double worst_off;
static int64_t step_begin[2][STEPS];	/* plus one; 0: not yet */

static void each(void *ctx, const struct tp_event *event)
{
	uint32_t rank = (uint32_t)event->proc->rank;
	int64_t *other;

	if (event->kind != TP_REC_STEP || rank > 1 || event->link >= STEPS)
		return;
	step_begin[rank][event->link] = event->begin_ns + 1;
	other = &step_begin[!rank][event->link];
	if (*other)
		worst_off = fmax(worst_off, fabs((double)(event->begin_ns + 1 - *other)));
}

static struct tp_run *fuse(void)
{
	struct tp_run *run = rig_open(NULL, NULL, NULL);

	worst_off = 0;
	memset(step_begin, 0, sizeof(step_begin));
	cr_assert_not_null(run);
	cr_assert_eq(tp_fuse_events(run, each, NULL), 0);
	return run;
}

static bool has_issue(const struct tp_run *run, const char *text)
{
	for (uint32_t i = 0; i < run->n_issues; i++) {
		if (strstr(run->issue[i].text, text))
			return true;
	}
	return false;
}

static void begin_world(void)
{
	rig_begin();
	/* The second host was started an hour earlier, is 80 ppm fast, its CLOCK_REALTIME is
	 * 40 s ahead and steps back by 100 s in the middle. */
	world[0] = (struct host){.boot = 1, .base = 7000000000000, .rate = 1,
				 .real = 1790000000000000000, .late_ns = 0};
	world[1] = (struct host){.boot = 2, .base = 10600000000000, .rate = 1 + 80e-6,
				 .real = 1790000000000000000 - 3600000000000 + 40000000000,
				 .step = -100000000000, .late_ns = 30000};
}

TestSuite(clocks_run, .init = begin_world, .fini = rig_end);

Test(clocks_run, collectives_place_hosts_whose_realtime_is_wrong_and_steps)
{
	struct tp_run *run;

	/* Each is late in some steps: else only one side would be bounded well. */
	write_rank(0, 0, "world", CALLS, "host=a\n", "");
	write_rank(1, 1, "world", CALLS, "host=b\n", "");
	run = fuse();
	cr_assert_eq(run->n_hosts, 2);
	cr_assert_str_eq(run->clocks, "2 hosts by 36 collectives");
	cr_assert_gt(run->violations_before, 30, "%lu", (unsigned long)run->violations_before);
	cr_assert_eq(run->violations_after, 0);
	cr_assert_eq(run->n_issues, 0, "%s", run->n_issues ? run->issue[0].text : "");
	for (uint32_t i = 0; i < run->n_windows; i++) {
		cr_assert_geq(run->window[i].clock_error_ns, 0);
		cr_assert_leq(run->window[i].clock_error_ns, 100000);
	}
	cr_assert_gt(worst_off, 0);
	/* The first host's own error is that of its readings: it is the run's clock. */
	cr_assert_leq(worst_off, (double)(run->window[0].clock_error_ns +
					  run->window[1].clock_error_ns));
	tp_run_free(run);
}

Test(clocks_run, groups_of_one_host_each_are_not_compared)
{
	struct tp_run *run;

	write_rank(0, 0, "inside a", CALLS, "host=a\n", "");
	write_rank(1, 1, "inside b", CALLS, "host=b\n", "");
	run = fuse();
	cr_assert_lt(run->window[1].clock_error_ns, 0);
	cr_assert_str_empty(run->clocks);
	cr_assert(has_issue(run, "not bounded"));
	tp_run_free(run);
}

Test(clocks_run, a_step_in_which_a_call_is_missing_is_not_compared)
{
	struct tp_run *run;

	write_rank(0, 0, "world", CALLS, "host=a\n", "");
	write_rank(1, 1, "world", CALLS - 1, "host=b\n", "");
	run = fuse();
	cr_assert_lt(run->window[1].clock_error_ns, 0);
	tp_run_free(run);
}

Test(clocks_run, without_groups_it_is_said_what_is_taken_for_granted)
{
	struct tp_run *run;

	write_rank(0, 0, NULL, CALLS, "host=a\n", "");
	write_rank(1, 1, NULL, CALLS, "host=b\n", "");
	run = fuse();
	cr_assert_geq(run->window[1].clock_error_ns, 0);
	cr_assert(has_issue(run, "do not say to which ranks they belong"));
	tp_run_free(run);
}

Test(clocks_run, traces_of_two_trainings_are_not_compared)
{
	struct tp_run *run;

	write_rank(0, 0, "world", CALLS, "host=a\n", "");
	write_rank(1, 0, "world", CALLS, "host=b\n", "");
	run = fuse();
	cr_assert(has_issue(run, "several training jobs"));
	cr_assert_str_empty(run->clocks);
	tp_run_free(run);
}

Test(clocks_run, ntp_is_the_last_resort_when_both_hosts_are_in_step)
{
	static const char good[] = "host=a\nntp.maxerror_us=1500\n", none[] = "ntp.maxerror_us=-1\n";
	struct tp_run *run;

	world[1].step = 0;
	write_rank(0, 0, "inside a", CALLS, good, "ntp.maxerror_us=2000\n");
	write_rank(1, 1, "inside b", CALLS, good, "ntp.maxerror_us=2500\n");
	run = fuse();
	cr_assert_geq(run->window[1].clock_error_ns, 4500000);
	cr_assert_lt(run->window[1].clock_error_ns, 4600000);
	cr_assert_str_eq(run->clocks, "2 hosts by NTP");
	tp_run_free(run);

	write_rank(1, 1, "inside b", CALLS, good, none);
	run = fuse();
	cr_assert_lt(run->window[1].clock_error_ns, 0);
	tp_run_free(run);
}

Test(clocks_run, exchanges_bound_what_collectives_do_not)
{
	static const char peer[] = TP_CLOCK_PEER "00000000000000010000000000000007";
	const struct host *host = &world[1];
	struct tp_run *run;

	write_rank(0, 0, "inside a", CALLS, "host=a\n", "");
	open_file(host, 1, "host=b\n");
	for (uint32_t i = 0; i < 40; i++) {
		/* There in 20 us, back in 90; recorded some ms later. */
		double sent = i * 3e6 + 1000, got = sent + 20000, back = got + 5000,
		       here = back + 90000, said = here + 2e6;
		struct tp_rec rec = {.time = own(host, said), .kind = TP_REC_EXCHANGE, .link = i,
				     .name = rig_text(peer)};

		rec.flags = TP_F_SENT;
		rec.arg = own(&world[0], got);
		rig_put(rec, own(host, said) - own(host, sent), 0);
		rec.flags = 0;
		rec.arg = own(&world[0], back);
		rig_put(rec, own(host, said) - own(host, here), 0);
	}
	for (uint32_t s = 0; s < STEPS; s++)
		span(host, TP_REC_STEP, "step", 0, s, s * 1e7, s * 1e7 + 9.9e6);
	close_file(host, "");
	run = fuse();
	cr_assert_str_eq(run->clocks, "2 hosts by 40 exchanges");
	cr_assert_leq(run->window[1].clock_error_ns, 60000);
	cr_assert_leq(worst_off, (double)run->window[1].clock_error_ns);
	cr_assert_gt(worst_off, 10000, "the way there is shorter than the way back");
	tp_run_free(run);
}

Test(clocks_run, a_time_namespace_is_no_other_host)
{
	struct tp_run *run;

	world[1] = world[0];
	world[1].base += 5000;
	write_rank(0, 0, "world", CALLS, "host=a\n", "");
	write_rank(1, 1, "world", CALLS, "host=a\nclock.shift_ns=5000\n", "");
	run = fuse();
	cr_assert_eq(run->n_hosts, 1);
	cr_assert_eq(worst_off, 0);
	cr_assert_leq(run->window[1].clock_error_ns, 50);
	tp_run_free(run);
}

/* Stamps that nobody can have made: the rest is read, nothing is claimed. */
Test(clocks_run, absurd_times_are_survived)
{
	static const uint64_t absurd[] = {0, 1, 1ull << 40, 1ull << 61, (1ull << 62) - 1,
					  1ull << 63, UINT64_MAX};

	for (uint32_t k = 0; k < sizeof(absurd) / sizeof(absurd[0]); k++) {
		const struct host *host = &world[1];
		struct tp_run *run;

		write_rank(0, 0, "world", CALLS, "host=a\n", "");
		open_file(host, 1, "host=b\nclock.shift_ns=-9223372036854775808\n");
		for (uint32_t i = 0; i < 50; i++) {
			struct tp_rec rec = {.time = i & 1 ? absurd[k] : own(host, i * 1e6),
					     .kind = TP_REC_EXCHANGE, .flags = i & 2 ? TP_F_SENT : 0,
					     .name = rig_text(TP_CLOCK_PEER "00000000000000010000000000000007"),
					     .arg = i & 4 ? absurd[(k + i) % 7] : own(&world[0], i * 1e6)};

			rig_put(rec, i & 8 ? absurd[(k + 2 * i) % 7] & TP_LEN_MAX : 0, 0);
			span(host, TP_REC_RANGE, "gloo:all_reduce", group("world"), TP_NO_SEQ,
			     (double)(i * 1000000), (double)(i * 1000000 + 5));
		}
		close_file(host, "ntp.maxerror_us=99999999999999999999\n");
		cr_redirect_stderr();
		run = fuse();
		tp_run_free(run);
	}
}
