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

#include "merge/clocks.h"

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

/* Greatest value of c * y with a * y <= b (b >= 0), y >= 0. */
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
	n = (uint32_t)tp_clocks_impossible(world.clocks, time_on_run, NULL);
	tp_clocks_free(world.clocks);
	return n;
}

Test(clocks, a_thousand_worlds_are_inside_their_bounds, .timeout = 200)
{
	double sum = 0;

	for (uint64_t seed = 1; seed <= 1000; seed++) {
		double ratio;

		cr_assert_eq(random_case(seed, &ratio), 0, "impossible orders remain");
		sum += ratio;
	}
	cr_assert_leq(sum / 1000, 1.25, "on average %.2f of what is possible", sum / 1000);
}
