/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_clocks.c - counters of NVML, each over the time that it holds
 */
#include "merge/facts/compute/device_clocks.h"

#include <stdlib.h>
#include <string.h>

#include "merge/kit/grow.h"
#include "merge/kit/sum.h"
#include "runtime/trace/counter_names.h"

enum { SM_CLOCK = TP_THROTTLE_N, N_VALUES };

static const char *const names[N_VALUES] = {
	[TP_THROTTLE_POWER] = TP_COUNTER_THROTTLED_POWER,
	[TP_THROTTLE_HEAT] = TP_COUNTER_THROTTLED_HEAT,
	[TP_THROTTLE_HARDWARE] = TP_COUNTER_THROTTLED_HARDWARE,
	[TP_THROTTLE_SETTING] = TP_COUNTER_THROTTLED_SETTING,
	[SM_CLOCK] = TP_COUNTER_SM_CLOCK,
};

struct row {
	struct tp_device_clock clock;
	struct held {			/* what holds since then */
		bool is_known;
		uint32_t window;
		int64_t since_ns;
		uint64_t value;
	} held[N_VALUES];
};

struct tp_device_clocks {
	const struct tp_run *run;
	struct row *row;
	uint32_t n, cap;
};

static void begin_clocks(void *state, struct tp_facts *facts, const void *params)
{
	struct tp_device_clocks *clocks = state;

	clocks->run = tp_facts_run(facts);
}

static struct row *find_row(const struct tp_device_clocks *clocks, const struct tp_proc *proc,
			    uint32_t device)
{
	for (uint32_t i = 0; i < clocks->n; i++)
		if (clocks->row[i].clock.proc == proc && clocks->row[i].clock.device == device)
			return &clocks->row[i];
	return NULL;
}

/* NULL: out of memory. */
static struct row *need_row(struct tp_device_clocks *clocks, const struct tp_proc *proc, uint32_t device)
{
	struct row *row = find_row(clocks, proc, device);

	if (row)
		return row;
	if (!tp_grow(&clocks->row, &clocks->cap, (uint64_t)clocks->n + 1, sizeof(*clocks->row)))
		return NULL;
	clocks->row[clocks->n] = (struct row){.clock = {.proc = proc, .device = device}};
	return &clocks->row[clocks->n++];
}

/* What holds is over. */
static void end_value(struct row *row, uint32_t which, int64_t end_ns)
{
	struct held *held = &row->held[which];
	struct tp_device_clock *clock = &row->clock;
	int64_t ns = tp_sub(end_ns, held->since_ns);

	if (!held->is_known || ns <= 0)
		return;
	if (which == SM_CLOCK) {
		clock->known_ns = tp_add(clock->known_ns, ns);
		clock->mhz += (double)held->value * (double)ns;
		return;
	}
	if (which == TP_THROTTLE_POWER)
		clock->told_ns = tp_add(clock->told_ns, ns);
	if (held->value)
		clock->held_ns[which] = tp_add(clock->held_ns[which], ns);
}

static int64_t window_end(const struct tp_device_clocks *clocks, const struct tp_proc *proc, uint32_t number)
{
	const struct tp_window *window = tp_window_of(clocks->run, proc, number);

	return window ? window->end_ns : INT64_MIN;
}

static uint32_t find_value(const struct tp_event *event)
{
	uint32_t which = 0;

	/* The name ends at its first NUL; the unit is behind it. */
	while (which < N_VALUES && strcmp(event->name->bytes, names[which]) != 0)
		which++;
	return which;
}

static void take_event(void *state, const struct tp_event *event)
{
	struct tp_device_clocks *clocks = state;
	uint32_t which = find_value(event);
	struct held *held;
	struct row *row;

	if (which == N_VALUES || event->flags & TP_F_DOUBLE)
		return;
	row = need_row(clocks, event->proc, event->link);
	if (!row)
		return;
	held = &row->held[which];
	end_value(row, which, held->window == event->window ? event->begin_ns
							    : window_end(clocks, event->proc, held->window));
	*held = (struct held){true, event->window, event->begin_ns, event->arg};
}

static void end_clocks(void *state)
{
	struct tp_device_clocks *clocks = state;

	for (uint32_t i = 0; i < clocks->n; i++) {
		struct row *row = &clocks->row[i];

		for (uint32_t which = 0; which < N_VALUES; which++)
			end_value(row, which, window_end(clocks, row->clock.proc, row->held[which].window));
		if (row->clock.known_ns)
			row->clock.mhz /= (double)row->clock.known_ns;
	}
}

static void free_clocks(void *state)
{
	struct tp_device_clocks *clocks = state;

	free(clocks->row);
}

static const struct tp_fact fact = {
	.name = "device clocks",
	.bytes = sizeof(struct tp_device_clocks),
	.kinds = TP_FACT_KIND(TP_REC_COUNTER),
	.begin = begin_clocks,
	.event = take_event,
	.end = end_clocks,
	.free = free_clocks,
};

const struct tp_device_clocks *tp_device_clocks_want(struct tp_facts *facts)
{
	return tp_facts_want(facts, &fact, NULL);
}

const struct tp_device_clock *tp_device_clocks_of(const struct tp_device_clocks *clocks,
						  const struct tp_proc *proc, uint32_t device)
{
	const struct row *row = find_row(clocks, proc, device);

	return row ? &row->clock : NULL;
}
