/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clocks.c of the merge: is the true time always inside the bound that is stated, and is that
 * bound near the best one? The best comes from a linear program over all orders at once, by a
 * simplex that shares nothing with the product.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "merge/clock/clocks.h"
#include "tests/unit/criterion_leak.h"

enum { HOSTS = 6, ORDERS = 4096 };

static uint64_t state;

static uint64_t draw(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state * 0x2545f4914f6cdd1dull;
}

static double draw_double(void)
{
	return (double)(draw() >> 11) / 9007199254740992.0;
}

/* Hosts whose clocks started somewhere and run a little fast or slow. */
static struct {
	uint32_t n_hosts, n_orders;
	double seconds;
	double base[HOSTS], rate[HOSTS];
	struct tp_clocks_order order[ORDERS];
	struct tp_clocks *clocks;
} world;

static int64_t own_time(uint32_t host, double ns)
{
	return (int64_t)llround(world.base[host] + ns * world.rate[host]);
}

static void begin_world(uint32_t n_hosts, double seconds, double most_ppm)
{
	world.n_hosts = n_hosts;
	world.n_orders = 0;
	world.seconds = seconds;
	for (uint32_t h = 0; h < n_hosts; h++) {
		world.base[h] = draw_double() * 4e14;	/* days since boot */
		world.rate[h] = 1 + (2 * draw_double() - 1) * most_ppm / 2 * 1e-6;
	}
	world.clocks = tp_clocks_new(n_hosts);
	for (uint32_t h = 0; h < n_hosts; h++)
		cr_assert_eq(tp_clocks_need(world.clocks, h, own_time(h, 0),
					    own_time(h, seconds * 1e9)), 0);
}

static void add_order(uint32_t from, double sent, uint32_t to, double got)
{
	struct tp_clocks_order order = {from, to, own_time(from, sent), own_time(to, got)};

	cr_assert_lt(world.n_orders, (uint32_t)ORDERS);
	world.order[world.n_orders++] = order;
	cr_assert_eq(tp_clocks_add(world.clocks, &order), 0);
}

/* One in which some hosts take part: everybody comes, then everybody leaves. */
static void add_collective(double ns, const double *delay, const bool *is_in)
{
	double enter[HOSTS], last = 0;

	for (uint32_t h = 0; h < world.n_hosts; h++) {
		enter[h] = ns + draw_double() * draw_double() * 3e6;
		if (is_in[h] && enter[h] > last)
			last = enter[h];
	}
	for (uint32_t h = 0; h < world.n_hosts; h++) {
		/* Not one is faster than its way; some are much slower. */
		double leave = last + delay[h] * (1 + draw_double() * 4);

		for (uint32_t k = 0; k < world.n_hosts; k++) {
			if (k != h && is_in[h] && is_in[k])
				add_order(k, enter[k], h, leave);
		}
	}
}

static double true_run(double ns)
{
	return world.base[0] + ns * world.rate[0];
}

static int64_t time_on_run(void *ctx, uint32_t host, int64_t own_ns)
{
	return tp_clocks_run_ns(tp_clocks_of(world.clocks, host), own_ns);
}

/* ---- the best that the orders allow ---- */

enum { VARIABLES = 4 * (HOSTS - 1), ROWS = ORDERS + HOSTS * HOSTS };

/* Largest value of c * y with a * y <= b (b >= 0), y >= 0. */
static double maximize(double (*a)[VARIABLES + 1], uint32_t n_rows, uint32_t n_columns, double *c)
{
	double value = 0;

	for (uint32_t round = 0; round < 20000; round++) {
		uint32_t column = n_columns, row = n_rows;
		double best = 1e-9, ratio = INFINITY;

		for (uint32_t k = 0; k < n_columns; k++) {
			if (c[k] > best) {
				column = k;
				if (round > 2000)
					break;	/* Bland: never in circles */
				best = c[k];
			}
		}
		if (column == n_columns)
			return value;
		for (uint32_t i = 0; i < n_rows; i++) {
			if (a[i][column] > 1e-9 && a[i][n_columns] / a[i][column] < ratio) {
				ratio = a[i][n_columns] / a[i][column];
				row = i;
			}
		}
		cr_assert_lt(row, n_rows, "the program has no limit");
		double pivot = a[row][column];

		for (uint32_t k = 0; k <= n_columns; k++)
			a[row][k] /= pivot;
		a[row][column] = 1 / pivot;
		for (uint32_t i = 0; i < n_rows; i++) {
			double f = a[i][column];

			if (i == row || f == 0)
				continue;
			for (uint32_t k = 0; k <= n_columns; k++)
				a[i][k] -= f * a[row][k];
			a[i][column] = -f / pivot;
			if (a[i][n_columns] < 0)
				a[i][n_columns] = 0;
		}
		double f = c[column];

		value += f * a[row][n_columns];
		for (uint32_t k = 0; k < n_columns; k++)
			c[k] -= f * a[row][k];
		c[column] = -f / pivot;
	}
	cr_assert_fail("the simplex does not end");
	return 0;
}

/*
 * Half of how far apart all possible times of host `host` at ns are. A host's time is a line
 * of its own clock; unknown are its deviations from the truth, at 0 and per second, each as
 * the difference of two that are not negative: the truth is possible, so all begin at 0.
 */
static double best_error(uint32_t host, double ns)
{
	static double a[ROWS][VARIABLES + 1];
	double sum = 0;

	for (int sign = -1; sign <= 1; sign += 2) {
		uint32_t n_columns = 4 * (world.n_hosts - 1), n_rows = 0;
		double c[VARIABLES] = {0};

		for (uint32_t i = 0; i < world.n_orders; i++) {
			const struct tp_clocks_order *order = &world.order[i];
			double t[2] = {((double)order->sent_ns - world.base[order->from]) /
				       world.rate[order->from],
				       ((double)order->got_ns - world.base[order->to]) /
				       world.rate[order->to]};
			const uint32_t of[2] = {order->from, order->to};
			double *row = a[n_rows++];

			for (uint32_t k = 0; k <= n_columns; k++)
				row[k] = 0;
			for (int k = 0; k < 2; k++) {
				double by = k ? -1 : 1;

				if (!of[k])
					continue;
				row[4 * (of[k] - 1)] += by;
				row[4 * (of[k] - 1) + 1] -= by;
				row[4 * (of[k] - 1) + 2] += by * t[k] / 1e9;
				row[4 * (of[k] - 1) + 3] -= by * t[k] / 1e9;
			}
			row[n_columns] = fmax(t[1] - t[0], 0);
		}
		/* No two clocks drift by more than is stated. */
		for (uint32_t h = 0; h < world.n_hosts; h++) {
			for (uint32_t g = 0; g < world.n_hosts; g++) {
				double drift = (world.rate[h] / world.rate[g] - 1) * 1e9;
				double *row = a[n_rows];

				if (g == h)
					continue;
				n_rows++;
				for (uint32_t i = 0; i <= n_columns; i++)
					row[i] = 0;
				if (h) {
					row[4 * (h - 1) + 2] = -1;
					row[4 * (h - 1) + 3] = 1;
				}
				if (g) {
					row[4 * (g - 1) + 2] = 1;
					row[4 * (g - 1) + 3] = -1;
				}
				row[n_columns] = TP_CLOCKS_DRIFT - drift;
			}
		}
		c[4 * (host - 1)] = sign;
		c[4 * (host - 1) + 1] = -sign;
		c[4 * (host - 1) + 2] = sign * ns / 1e9;
		c[4 * (host - 1) + 3] = -sign * ns / 1e9;
		sum += maximize(a, n_rows, n_columns, c);
	}
	return sum / 2;
}

/* ---- what must hold ---- */

static void check_inside(void)
{
	for (uint32_t h = 0; h < world.n_hosts; h++) {
		const struct tp_clocks_host *host = tp_clocks_of(world.clocks, h);
		int64_t first = own_time(h, 0), last = own_time(h, world.seconds * 1e9);
		int64_t whole = tp_clocks_error(host, first, last), before = INT64_MIN;

		if (!h)
			continue;
		cr_assert_geq(whole, 0, "host %u is not bounded", h);
		for (int i = 0; i <= 200; i++) {
			double ns = world.seconds * 1e9 * i / 200;
			int64_t own = own_time(h, ns), got = tp_clocks_run_ns(host, own);
			int64_t error = tp_clocks_error(host, own, own);
			double off = fabs((double)(got - (int64_t)world.base[0]) -
					  (true_run(ns) - (double)(int64_t)world.base[0]));

			cr_assert_leq(off, (double)error, "host %u at %.3f s: off %.0f ns, said +- %ld",
				      h, ns / 1e9, off, (long)error);
			cr_assert_leq(error, whole);
			cr_assert_geq(got, before, "times must rise");
			before = got;
		}
	}
}

static double check_best(void)
{
	uint32_t host = 1 + (uint32_t)(draw() % (world.n_hosts - 1));
	double ns = world.seconds * 1e9 * (double)(draw() % 3) / 2;
	int64_t own = own_time(host, ns);
	double best = best_error(host, ns);
	int64_t error = tp_clocks_error(tp_clocks_of(world.clocks, host), own, own);

	cr_assert_leq((double)error, 2 * best, "+- %ld where %.0f is possible (%u hosts)",
		      (long)error, best, world.n_hosts);
	return (double)error / best;
}

static uint32_t random_case(uint64_t seed, double *ratio)
{
	double delay[HOSTS];
	bool is_in[HOSTS];
	uint32_t n;

	state = seed * 0x9e3779b97f4a7c15ull + 1;
	begin_world(2 + (uint32_t)(draw() % (HOSTS - 1)), 0.1 + 40 * draw_double() * draw_double(), 100);
	for (uint32_t h = 0; h < world.n_hosts; h++)
		delay[h] = 2e3 * exp(draw_double() * 6);	/* 2 us to 800 us */
	n = 4 + (uint32_t)(draw() % 25);
	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t h = 0; h < world.n_hosts; h++)
			is_in[h] = draw() % 4 != 0 || i < 4;
		add_collective(world.seconds * 1e9 * draw_double(), delay, is_in);
	}
	cr_assert_eq(tp_clocks_solve(world.clocks), 0);
	check_inside();
	cr_assert_eq(tp_clocks_n_dropped(world.clocks), 0);
	*ratio = check_best();
	n = (uint32_t)tp_clocks_violations(world.clocks, time_on_run, NULL);
	tp_clocks_free(world.clocks);
	return n;
}

Test(clocks, a_thousand_worlds_are_inside_their_bounds, .timeout = 200)
{
	double sum = 0;

	for (uint64_t seed = 1; seed <= 1000; seed++) {
		double ratio;

		cr_assert_eq(random_case(seed, &ratio), 0, "causality violations remain");
		sum += ratio;
	}
	cr_assert_leq(sum / 1000, 1.25, "on average %.2f of what is possible", sum / 1000);
}

/* ---- what is not as simple ---- */

/* A ping and its answer between two hosts, about every `every` ns of [from, to). */
static void add_pings(uint32_t a, uint32_t b, double from, double to, double every)
{
	for (double ns = from; ns < to; ns += every) {
		double there = ns + 20e3 + draw_double() * 200e3;

		add_order(a, ns, b, there);
		add_order(b, there + 5e3, a, there + 5e3 + 60e3 + draw_double() * 200e3);
	}
}

Test(clocks, windows_far_apart_are_bounded_in_between_too)
{
	double hour = 3600e9;

	state = 5;
	begin_world(2, 0.001, 100);
	for (int w = 0; w < 4; w++) {
		for (uint32_t h = 0; h < 2; h++)
			cr_assert_eq(tp_clocks_need(world.clocks, h, own_time(h, w * hour),
						    own_time(h, w * hour + 2e9)), 0);
		add_pings(0, 1, w * hour, w * hour + 2e9, 5e7);
	}
	cr_assert_eq(tp_clocks_solve(world.clocks), 0);
	cr_assert_eq(tp_clocks_n_dropped(world.clocks), 0);
	for (int i = -100; i <= 500; i++) {
		double ns = i * hour / 100;
		const struct tp_clocks_host *host = tp_clocks_of(world.clocks, 1);
		int64_t own = own_time(1, ns);
		double off = fabs((double)tp_clocks_run_ns(host, own) - true_run(ns));

		cr_assert_leq(off, (double)tp_clocks_error(host, own, own) + 200);
	}
	for (int w = 0; w < 4; w++) {
		const struct tp_clocks_host *host = tp_clocks_of(world.clocks, 1);
		int64_t away = own_time(1, (w + 0.5) * hour);

		cr_assert_leq(tp_clocks_error(host, own_time(1, w * hour),
					      own_time(1, w * hour + 2e9)), 200000);
		/* What it did in half an hour nobody knows. */
		cr_assert_geq(tp_clocks_error(host, away, away), (int64_t)(1700 * TP_CLOCKS_DRIFT));
	}
	tp_clocks_free(world.clocks);
}

/* A clock that is corrected every 20 s: no line fits two minutes of it. */
static double wandering(double ns)
{
	static const double rate[] = {40e-6, -30e-6, 90e-6, -80e-6, 10e-6, 60e-6};
	double off = 0;

	for (int i = 0; i < 6 && ns > i * 20e9; i++)
		off += rate[i] * fmin(ns - i * 20e9, 20e9);
	return ns + off;
}

Test(clocks, a_clock_that_is_corrected_meanwhile_is_followed)
{
	struct tp_clocks *clocks = tp_clocks_new(2);
	const struct tp_clocks_host *host;

	state = 6;
	tp_clocks_need(clocks, 0, 0, 120000000000);
	for (double ns = 0; ns < 120e9; ns += 2e8) {
		double there = ns + 20e3 + draw_double() * 100e3;
		double back = there + 30e3 + draw_double() * 100e3;

		tp_clocks_add(clocks, &(struct tp_clocks_order){0, 1, (int64_t)ns,
								(int64_t)wandering(there)});
		tp_clocks_add(clocks, &(struct tp_clocks_order){1, 0, (int64_t)wandering(there),
								(int64_t)back});
	}
	cr_assert_eq(tp_clocks_solve(clocks), 0);
	host = tp_clocks_of(clocks, 1);
	for (double ns = 0; ns < 120e9; ns += 1e7) {
		int64_t own = (int64_t)wandering(ns), error = tp_clocks_error(host, own, own);
		double off = fabs((double)tp_clocks_run_ns(host, own) - ns);

		cr_assert_leq(off, (double)error + 2, "at %.2f s: off %.0f, said %ld", ns / 1e9, off,
			      (long)error);
		cr_assert_leq(error, 400000);
	}
	tp_clocks_free(clocks);
}

Test(clocks, orders_that_cannot_be_are_left_out_and_counted)
{
	state = 7;
	begin_world(2, 10, 50);
	add_pings(0, 1, 0, 10e9, 2e7);
	/* Both ways, by much. */
	for (int i = 0; i < 5; i++) {
		add_order(0, i * 1e9 + 5e7, 1, i * 1e9 - 5e7);
		add_order(1, i * 2e9 + 5e6, 0, i * 2e9);
	}
	cr_assert_eq(tp_clocks_solve(world.clocks), 0);
	cr_assert_geq(tp_clocks_n_dropped(world.clocks), 10);
	cr_assert_leq(tp_clocks_n_dropped(world.clocks), 60);
	check_inside();
	tp_clocks_free(world.clocks);
}

Test(clocks, orders_that_all_contradict_each_other_bound_nothing)
{
	state = 8;
	begin_world(2, 10, 50);
	for (int i = 0; i < 1000; i++) {
		double ns = draw_double() * 10e9;

		add_order(0, ns, 1, ns + (draw_double() - 0.7) * 1e9);
		add_order(1, ns, 0, ns + (draw_double() - 0.7) * 1e9);
	}
	cr_assert_eq(tp_clocks_solve(world.clocks), 0);
	cr_assert_gt(tp_clocks_n_dropped(world.clocks), 1000);
	cr_assert_lt(tp_clocks_error(tp_clocks_of(world.clocks, 1), own_time(1, 0),
				     own_time(1, 1e9)), 0);
	tp_clocks_free(world.clocks);
}

Test(clocks, a_host_that_is_seen_from_one_side_only_is_not_bounded)
{
	state = 9;
	begin_world(4, 1, 50);
	for (int i = 0; i < 100; i++) {
		add_order(0, i * 1e7, 1, i * 1e7 + 1e5);
		add_order(2, i * 1e7, 3, i * 1e7 + 1e5);
		add_order(3, i * 1e7, 2, i * 1e7 + 1e5);
	}
	cr_assert_eq(tp_clocks_solve(world.clocks), 0);
	for (uint32_t h = 1; h < 4; h++)
		cr_assert_lt(tp_clocks_error(tp_clocks_of(world.clocks, h), own_time(h, 0),
					     own_time(h, 1e9)), 0);
	tp_clocks_free(world.clocks);
}

/* More hosts than are looked at together: in a star, and behind each other. */
Test(clocks, many_hosts_are_joined_through_others)
{
	enum { MANY = 40 };
	struct tp_clocks *clocks = tp_clocks_new(MANY);

	for (uint32_t h = 0; h < MANY; h++)
		tp_clocks_need(clocks, h, h * 1000000000000ll, h * 1000000000000ll + 1000000000);
	for (uint32_t h = 1; h < MANY; h++) {
		uint32_t to = h < 30 ? 0 : h - 1;

		for (int64_t ns = 0; ns < 1000000000; ns += 10000000) {
			int64_t here = h * 1000000000000ll + ns, there = to * 1000000000000ll + ns;

			tp_clocks_add(clocks, &(struct tp_clocks_order){h, to, here, there + 10000});
			tp_clocks_add(clocks, &(struct tp_clocks_order){to, h, there, here + 20000});
		}
	}
	cr_assert_eq(tp_clocks_solve(clocks), 0);
	for (uint32_t h = 1; h < MANY; h++) {
		const struct tp_clocks_host *host = tp_clocks_of(clocks, h);
		int64_t own = h * 1000000000000ll + 500000000;
		int64_t error = tp_clocks_error(host, own, own);
		uint32_t n_hops = h < 30 ? 1 : h - 28;

		cr_assert_leq(llabs(tp_clocks_run_ns(host, own) - 500000000), error);
		cr_assert_leq(error, 16000 * (int64_t)n_hops, "host %u: %ld", h, (long)error);
		cr_assert_geq(error, 15000 * (int64_t)n_hops);
	}
	tp_clocks_free(clocks);
}

Test(clocks, random_orders_neither_crash_nor_hang, .timeout = 60)
{
	for (uint64_t seed = 1; seed <= 60; seed++) {
		uint32_t n_hosts = 1 + (uint32_t)(seed % 12);
		struct tp_clocks *clocks = tp_clocks_new(n_hosts);
		/* From nanoseconds to more than there is. */
		uint32_t shift = (uint32_t)(seed % 60);

		state = seed * 77;
		for (uint32_t i = 0; i < 3000; i++) {
			struct tp_clocks_order order = {(uint32_t)(draw() % (n_hosts + 1)),
							(uint32_t)(draw() % (n_hosts + 1)),
							(int64_t)draw() >> shift,
							(int64_t)draw() >> shift};

			cr_assert_eq(tp_clocks_add(clocks, &order), 0);
			if (i % 30 == 0)
				tp_clocks_need(clocks, order.from, order.sent_ns, order.got_ns);
		}
		cr_assert_eq(tp_clocks_solve(clocks), 0);
		for (uint32_t h = 0; h < n_hosts; h++) {
			const struct tp_clocks_host *host = tp_clocks_of(clocks, h);
			int64_t before = INT64_MIN;

			for (uint32_t i = 0; i < host->n_points; i++) {
				cr_assert_geq(host->point[i].error_ns, 0);
				cr_assert_gt(host->point[i].own_ns, before);
				before = host->point[i].own_ns;
				cr_assert_eq(tp_clocks_run_ns(host, before), host->point[i].run_ns);
			}
			tp_clocks_error(host, (int64_t)draw() >> 3, (int64_t)draw() >> 3);
			tp_clocks_run_ns(host, (int64_t)draw() >> 3);
		}
		tp_clocks_free(clocks);
	}
}
