/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nccl.c - collectives as NCCL sees them: when they are asked for, and what is said of it
 */
#include "runtime/probe/nccl/nccl.h"

#include <string.h>

#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "runtime/base/text.h"
#include "runtime/engine/config/config.h"
#include "runtime/engine/config/rank.h"
#include "runtime/engine/facts.h"
#include "runtime/engine/ring/ring.h"
#include "runtime/engine/session.h"
#include "runtime/probe/nccl/nccl_events.h"
#include "runtime/probe/nccl/nccl_pool.h"

enum {
	PERIOD_MS = 50,
	/* Proxies get their operations a few at a time: those of one collective begin one after the
	 * other, within a millisecond where the machine is not overloaded. */
	QUIET_NS = 100000000,
	SETTLE_QUIET_NS = 20000000,
	/* A device may be a step behind its host: see SETTLE_NS of cupti.c. */
	SETTLE_NS = 700000000,
};

static struct {
	bool is_allowed;	/* the constructor says so */
	bool is_wanted;		/* and the session */
	bool has_comms;		/* atomic: any was ever made */
	bool has_told;		/* the largest one */
	struct tp_clock_anchor start;
	uint64_t settling;	/* end of the window that is; 0: none */
	uint64_t settling_ns;	/* since when */
	char taken_by[256];
} nccl;

/* Ticks of `ns`, by what the clock did since the session opened. */
static uint64_t to_ticks(uint64_t ns, uint64_t now)
{
	uint64_t mono_ns = tp_clock_mono_ns();

	if (!tp_clock_is_tsc || mono_ns <= nccl.start.mono_ns)
		return ns;
	return (uint64_t)((double)ns * (double)(now - nccl.start.ticks) /
			  (double)(mono_ns - nccl.start.mono_ns));
}

void tp_nccl_allow(void)
{
	nccl.is_allowed = true;
	tp_nccl_events_init();
}

void tp_nccl_taken(const char *plugin)
{
	struct tp_text text;

	tp_text_init(&text, nccl.taken_by, sizeof(nccl.taken_by));
	tp_text_str(&text, plugin);
}

uint32_t tp_nccl_open(const struct tp_nccl_who *who, int *mask)
{
	if (!nccl.is_allowed || tp_nccl_pool_init())
		return 0;
	__atomic_store_n(&nccl.has_comms, true, __ATOMIC_RELAXED);
	if (who->is.n_ranks > 0 && who->is.rank >= 0)
		tp_rank_offer(who->is.rank, who->is.n_ranks);
	return tp_nccl_comm_add(who, mask);
}

void tp_nccl_close(uint32_t context)
{
	tp_nccl_events_end_of(context);
	tp_nccl_comm_remove(context);
}

/* ---- the probe ---- */

static int open_nccl(const struct tp_config *config)
{
	nccl.is_wanted = nccl.is_allowed && config->record & TP_RECORD_COMM;
	tp_clock_take_anchor(&nccl.start);
	if (nccl.taken_by[0]) {
		tp_info("NCCL_PROFILER_PLUGIN is '%s': NCCL reports to that plugin, and its "
			"collectives are not recorded", nccl.taken_by);
		tp_facts_add("off.nccl", "NCCL_PROFILER_PLUGIN was set to another plugin");
	}
	return 0;
}

/* Drain thread. */
static void tell_comms(void)
{
	struct tp_communicator largest;

	tp_nccl_comm_tell();
	if (nccl.has_told || !tp_nccl_comm_largest(&largest))
		return;
	nccl.has_told = true;
	tp_facts_add_i64("nccl.rank", largest.rank);
	tp_facts_add_i64("nccl.nranks", largest.n_ranks);
	tp_facts_add_i64("nccl.nnodes", largest.n_nodes);
}

static void arm(void)
{
	if (!nccl.is_wanted)
		return;
	tp_nccl_events_arm(true);
	tp_nccl_comm_set_mask(TP_NCCL_WANTED);
}

static void disarm(void)
{
	if (!nccl.is_wanted)
		return;
	tp_nccl_comm_set_mask(0);
	tp_nccl_events_over(tp_clock_now());
	tp_nccl_events_arm(false);
}

static uint32_t get_period_ms(void)
{
	return nccl.is_wanted && __atomic_load_n(&nccl.has_comms, __ATOMIC_RELAXED) ? PERIOD_MS : 0;
}

static void tick(uint64_t now)
{
	tell_comms();
	tp_nccl_events_tick(now, to_ticks(QUIET_NS, now));
}

static bool settle(uint64_t end, bool is_closing)
{
	const struct tp_ring_head *head = tp_ring.head;
	uint64_t now = tp_clock_now(), now_ns = tp_clock_mono_ns();
	struct tp_nccl_settling is = {.now = now, .end = end,
				      .quiet = to_ticks(SETTLE_QUIET_NS, now)};

	if (!get_period_ms())
		return true;
	tell_comms();
	if (nccl.settling != end) {
		nccl.settling = end;
		nccl.settling_ns = now_ns;
		/* The next window may have begun without a pause. */
		if (!tp_nccl_events_is_over(end))
			tp_nccl_events_over(end);
	}
	is.is_last = is_closing || now_ns - nccl.settling_ns >= SETTLE_NS;
	is.has_next = tp_session_is_armed() || head->windows_written + 1 <
		      __atomic_load_n(&head->windows_begun, __ATOMIC_ACQUIRE);
	return tp_nccl_events_settle(&is);
}

static void report(struct tp_text *totals)
{
	struct tp_nccl_comm_counts comms = tp_nccl_comm_counts();
	struct tp_nccl_counts is;

	if (!get_period_ms())
		return;
	tp_nccl_events_counts(&is);
	const struct {
		const char *name;
		uint64_t value;
	} counts[] = {
		{"comms", comms.made},
		{"comms_refused", comms.refused},
		{"colls", is.colls},
		{"xfers", is.xfers},
		{"no_entry", is.no_entry},
		{"no_room", is.no_room},
		{"outside", is.outside},
		{"unfinished", is.unfinished},
		{"late_ops", is.late_ops},
		{"foreign", is.foreign},
		{"captured", is.captured},
		{"unknown", is.unknown},
	};
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		if (counts[i].value)
			tp_text_fmt(totals, "nccl.%s=%lu\n", counts[i].name, counts[i].value);
}

static void forget_parent(void)
{
	nccl.is_wanted = nccl.has_comms = nccl.has_told = false;
	nccl.settling = 0;
	tp_nccl_comm_forked();
	tp_nccl_pool_forked();
	tp_nccl_events_init();
}

static void close_nccl(void)
{
	if (!nccl.is_wanted)
		return;
	tp_nccl_comm_set_mask(0);
	tp_nccl_events_arm(false);
}

const struct tp_probe tp_nccl_probe = {
	.name = "nccl",
	.open = open_nccl,
	.warm = tell_comms,
	.arm = arm,
	.disarm = disarm,
	.period_ms = get_period_ms,
	.tick = tick,
	.settle = settle,
	.report = report,
	.forked = forget_parent,
	.close = close_nccl,
};
