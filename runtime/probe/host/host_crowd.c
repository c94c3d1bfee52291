/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_crowd.c - steps in which the training had no core: see host_crowd.h
 */
#include "runtime/probe/host/host_crowd.h"

#include <string.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/base/own_table.h"
#include "runtime/engine/ring/ring.h"
#include "runtime/engine/session.h"
#include "runtime/probe/host/host_threads.h"
#include "runtime/trace/ledger.h"

enum {
	LOOK_NS = 250000000,	/* some 85 us of our threads' each */
	CROWDED_PART = 5,	/* one of so many parts of the time */
	TOLD_FREELY = 64,
	LINE_BYTES = 80,
	LINES = 16,		/* between two writings of the ledger */
};

static struct {
	bool is_on, has_base;
	uint64_t looked_ns, wait_ns;	/* at the last look */
	struct tp_crowd crowd;
	char text[LINES * LINE_BYTES];	/* that are not in the ledger yet */
	struct tp_text lines;
} host_crowd;

/* ---- pure ---- */

static bool is_crowded(uint64_t wait_ns, uint64_t wall_ns)
{
	return wall_ns && wait_ns >= wall_ns / CROWDED_PART;
}

void tp_crowd_end(struct tp_crowd *crowd, struct tp_text *out)
{
	const uint64_t wall_ns = crowd->row.wall_ns;

	if (!wall_ns)
		return;
	crowd->row.wall_ns = 0;
	if (crowd->row.last < crowd->next || out->len + LINE_BYTES > out->cap)
		return;
	tp_text_fmt(out, TP_LEDGER_CROWDED "%lu=%lu %lu\n", (unsigned long)crowd->row.first, (unsigned long)crowd->row.last,
		    (unsigned long)(crowd->row.wait_ns / (wall_ns / 100 + 1)));
	if (++crowd->n_told >= TOLD_FREELY)
		crowd->next = crowd->row.last + crowd->row.last / 8;
}

void tp_crowd_take(struct tp_crowd *crowd, uint64_t step, uint64_t wall_ns, uint64_t wait_ns,
		   struct tp_text *out)
{
	crowd->wall_ns += wall_ns;
	crowd->wait_ns += wait_ns;
	if (step <= crowd->first)
		return;
	if (!is_crowded(crowd->wait_ns, crowd->wall_ns)) {
		tp_crowd_end(crowd, out);
	} else {
		if (!crowd->row.wall_ns) {
			crowd->row.first = crowd->first;
			crowd->row.wait_ns = 0;
		}
		crowd->row.last = step - 1;
		crowd->row.wall_ns += crowd->wall_ns;
		crowd->row.wait_ns += crowd->wait_ns;
	}
	crowd->first = step;
	crowd->wall_ns = crowd->wait_ns = 0;
}

/* ---- the probe's ---- */

/* 0 or -1. */
static int read_wait(void *wait_ns)
{
	uint64_t cpu_ns;

	return tp_host_threads_schedstat((uint32_t)getpid(), &cpu_ns, wait_ns) ? 0 : -1;
}

void tp_host_crowd_begin(void)
{
	memset(&host_crowd, 0, sizeof(host_crowd));
	tp_text_init(&host_crowd.lines, host_crowd.text, sizeof(host_crowd.text));
	host_crowd.is_on = true;
}

uint64_t tp_host_crowd_look(uint64_t now)
{
	const uint64_t now_ns = tp_clock_mono_ns();
	uint64_t wait_ns;

	/* A worker's is its rank's time. */
	if (!host_crowd.is_on || tp_session_is_follower())
		return UINT64_MAX;
	if (host_crowd.looked_ns && now_ns < host_crowd.looked_ns + LOOK_NS)
		return host_crowd.looked_ns + LOOK_NS - now_ns;
	/* Not in the program's own table of descriptors: four times a second it would miss a number. */
	if (!tp_own_table_id() || tp_own_table_call(read_wait, &wait_ns)) {
		host_crowd.is_on = false;
		return UINT64_MAX;
	}
	if (host_crowd.has_base && wait_ns >= host_crowd.wait_ns)
		tp_crowd_take(&host_crowd.crowd, __atomic_load_n(&tp_ring.head->steps_done, __ATOMIC_ACQUIRE),
			      now_ns - host_crowd.looked_ns, wait_ns - host_crowd.wait_ns, &host_crowd.lines);
	host_crowd.has_base = true;
	host_crowd.looked_ns = now_ns;
	host_crowd.wait_ns = wait_ns;
	return LOOK_NS;
}

void tp_host_crowd_note(struct tp_text *facts, bool is_last)
{
	if (is_last && host_crowd.is_on)
		tp_crowd_end(&host_crowd.crowd, &host_crowd.lines);
	tp_text_bytes(facts, host_crowd.lines.buf, host_crowd.lines.len);
	host_crowd.lines.len = 0;
}

void tp_host_crowd_forked(void)
{
	host_crowd.is_on = false;
	host_crowd.lines.len = 0;
}
