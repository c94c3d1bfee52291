/* SPDX-License-Identifier: Apache-2.0 */
/* Lateness as a union of periods, against a clock that is asked at every tick. */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include "merge/facts/comm/comm_late.h"

enum { TICKS = 200, GROUPS = 3, CASES = 10000 };

TestSuite(comm_late);

/* The slow way: of each tick, whether it is late, and what is known to hold the rank at it. */
struct clock {
	bool is_late[TICKS];
	struct { uint8_t group, begin, end; } part[TP_COMM_PARTS];
	uint32_t n_parts;
};

static bool is_held(const struct clock *clock, uint32_t group, uint32_t tick)
{
	for (uint32_t i = 0; i < clock->n_parts && i < TP_COMM_PARTS; i++)
		if (clock->part[i].group != group && clock->part[i].begin <= tick &&
		    tick < clock->part[i].end)
			return true;
	return false;
}

static uint32_t draw(uint32_t *seed, uint32_t below)
{
	*seed = *seed * 1664525 + 1013904223;
	return (*seed >> 8) % below;
}

static void give(struct tp_comm_late *late, struct clock *clock, uint32_t *seed)
{
	uint32_t group = draw(seed, GROUPS), begin = draw(seed, TICKS - 1);
	uint32_t end = begin + draw(seed, TICKS - begin < 40 ? TICKS - begin : 40);
	int64_t sum = 0;

	if (draw(seed, 2)) {
		uint32_t at = clock->n_parts++ % TP_COMM_PARTS;

		clock->part[at].group = (uint8_t)group;
		clock->part[at].begin = (uint8_t)begin;
		clock->part[at].end = (uint8_t)end;
		tp_comm_late_wait(late, group, begin, begin + (end - begin) / 2, end);
		return;
	}
	for (uint32_t tick = begin; tick < end; tick++)
		if (!is_held(clock, group, tick)) {
			clock->is_late[tick] = true;
			sum++;
		}
	cr_assert_eq(tp_comm_late_add(late, group, begin, end), sum);
}

Test(comm_late, equals_a_clock_asked_at_every_tick)
{
	uint32_t seed = 20261123;

	for (uint32_t i = 0; i < CASES; i++) {
		struct tp_step_time step[8] = {{.begin_ns = 0}};
		struct tp_comm_late late = {.n = 0};
		struct clock clock = {.n_parts = 0};
		int64_t of_step[8], want[8] = {0}, sum = 0;
		uint32_t n_steps = 0, n = draw(&seed, 60);

		for (uint32_t at = draw(&seed, 20); at < TICKS && n_steps < 8; n_steps++) {
			uint32_t end = at + draw(&seed, TICKS - at < 50 ? TICKS - at + 1 : 50);

			step[n_steps].begin_ns = at;
			step[n_steps].end_ns = end;
			at = end + draw(&seed, 2) * draw(&seed, 9);
		}
		for (uint32_t k = 0; k < n; k++)
			give(&late, &clock, &seed);
		for (uint32_t s = 0; s < n_steps; s++)
			for (int64_t tick = step[s].begin_ns; tick < step[s].end_ns; tick++)
				want[s] += clock.is_late[tick];
		for (uint32_t k = 0; k < (n_steps ? n_steps : TICKS); k++)
			sum += n_steps ? want[k] : clock.is_late[k];
		cr_assert_eq(tp_comm_late_sum(&late, step, n_steps, of_step), sum, "case %u", i);
		cr_assert(!memcmp(of_step, want, n_steps * sizeof(want[0])), "case %u", i);
		tp_comm_late_free(&late);
	}
}

Test(comm_late, waits_that_overlap_are_waited_once)
{
	struct tp_comm_late late = {.n = 0};

	tp_comm_late_wait(&late, 1, 10, 30, 35);
	tp_comm_late_wait(&late, 1, 12, 32, 36);
	tp_comm_late_wait(&late, 1, 40, 50, 51);
	cr_expect_eq(late.wait_ns, 22 + 10);
	tp_comm_late_free(&late);
}
