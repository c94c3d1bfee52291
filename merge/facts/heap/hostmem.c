/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hostmem.c - host memory over time: events into the accounts of their process
 */
#include <stdlib.h>
#include <string.h>

#include "merge/facts/heap/hostmem_in.h"
#include "merge/kit/need.h"
#include "merge/model/label.h"
#include "runtime/trace/counter_names.h"

enum {
	SAMPLE_BYTES = 512 << 10,	/* when the trace does not say */
	SAMPLE_MOST = 1 << 30,
};

static uint64_t sample_bytes_of(const struct tp_run *run, const struct tp_proc *proc)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < run->n_windows && !bytes; i++) {
		if (run->window[i].proc != proc)
			continue;
		bytes = tp_fact_u64(run->window[i].meta, "heap.sample_bytes", 0);
		if (!bytes)
			bytes = tp_fact_u64(run->window[i].totals, "heap.sample_bytes", 0);
	}
	return bytes && bytes <= SAMPLE_MOST ? bytes : SAMPLE_BYTES;
}

static void begin_ledgers(void *state, struct tp_facts *facts, const void *params)
{
	const struct tp_run *run = tp_facts_run(facts);
	struct tp_hostmem *mem = state;

	mem->run = run;
	mem->is_plain = *(const bool *)params;
	mem->stacks = mem->is_plain ? NULL : tp_facts_want(facts, &tp_fact_stacks, NULL);
	mem->account = tp_need(run->n_procs, sizeof(*mem->account));
	for (uint32_t i = 0; i < run->n_procs; i++) {
		struct account *account = &mem->account[i];

		account->pub.proc = run->proc[i];
		account->pub.sample_bytes = sample_bytes_of(run, run->proc[i]);
		for (uint32_t c = 0; c < TP_HOSTMEM_COUNTERS; c++)
			account->pub.counted[c] = (struct tp_hostmem_counted){-1, -1, -1, -1};
	}
}

static void free_ledgers(void *state)
{
	struct tp_hostmem *mem = state;

	for (uint32_t i = 0; i < mem->run->n_procs; i++) {
		tp_hostmem_blocks_free(&mem->account[i].blocks);
		tp_hostmem_maps_free(&mem->account[i].maps);
		tp_keyed_free(&mem->account[i].rows);
		free(mem->account[i].row);
		free(mem->account[i].n_of_thread);
		free(mem->account[i].moved_of_thread);
	}
	free(mem->account);
	free(mem->proc);
	free(mem->row);
	free(mem->step);
}

/* ---- windows ---- */

static void drop_accounts(struct account *account)
{
	for (uint32_t i = 0; i < account->n_rows; i++) {
		tp_hostmem_keep_peak(account, &account->row[i]);
		account->row[i].live_bytes = account->row[i].live_shares = 0;
	}
	account->live_bytes = account->live_shares = 0;
	account->pub.n_missed_frees += account->n_due;
	account->n_due = 0;
	tp_hostmem_blocks_free(&account->blocks);
	tp_hostmem_maps_free(&account->maps);
	memset(account->pub.mapped, 0, sizeof(account->pub.mapped));
}

/* False: the event is of a window that is over. */
static bool enter_window(struct tp_hostmem *mem, struct account *account, const struct tp_event *event)
{
	const struct tp_window *before, *now;

	if (account->has_window && account->window == event->window)
		return true;
	if (account->has_window && event->window < account->window)
		return false;
	now = tp_window_of(mem->run, event->proc, event->window);
	before = account->has_window ? tp_window_of(mem->run, event->proc, account->window) : NULL;
	if (!before || !now || account->window + 1 != event->window ||
	    now->begin_ns > before->end_ns) {
		tp_hostmem_end_step(mem, account);
		drop_accounts(account);
		account->pub.n_windows++;
	}
	account->window = event->window;
	if (!account->has_window)
		account->pub.begin_ns = now ? now->begin_ns : event->begin_ns;
	account->pub.end_ns = now ? now->end_ns : event->begin_ns;
	account->has_window = true;
	return true;
}

/* ---- mappings ---- */

static uint8_t mapping_kind(const struct tp_string *name)
{
	struct tp_mapping mapping = {.kind = 0};

	if (name->kind == TP_STRING_MAPPING)
		memcpy(&mapping, name->bytes,
		       name->n_bytes < sizeof(mapping) ? name->n_bytes : sizeof(mapping));
	return mapping.kind < TP_MAPPING_N ? mapping.kind : 0;
}

static void take_mapping(struct tp_hostmem *mem, struct account *account, const struct tp_event *event)
{
	uint64_t removed[TP_MAPPING_N] = {0}, known = 0, begin = event->arg,
		 end = begin + event->len;
	bool is_map = event->kind == TP_REC_MAP, is_good;
	uint8_t kind = is_map ? mapping_kind(event->name) : 0, *moved;

	if (end < begin || !event->len || !tp_hostmem_has_threads(mem, account))
		return;
	moved = &account->moved_of_thread[tp_thread_at(event)];
	/* It is still what it was. */
	if (is_map && !kind && (event->flags & TP_F_MOVED))
		kind = *moved;
	is_good = is_map ? tp_hostmem_map(&account->maps, begin, end, kind, removed)
			 : tp_hostmem_unmap(&account->maps, begin, end, removed);
	if (!is_good) {
		mem->is_incomplete = true;
		return;
	}
	for (uint32_t i = 0; i < TP_MAPPING_N; i++) {
		account->pub.mapped[i] -= removed[i];
		known += removed[i];
		if (!is_map && removed[i])
			*moved = (uint8_t)i;
	}
	if (!is_map) {
		account->pub.unknown_unmap_bytes += event->len - known;
		return;
	}
	account->pub.n_maps[kind]++;
	account->pub.mapped[kind] += event->len;
	if (account->pub.mapped[kind] > account->pub.mapped_peak[kind])
		account->pub.mapped_peak[kind] = account->pub.mapped[kind];
}

/* ---- counters ---- */

static void take_counter(struct account *account, const struct tp_event *event)
{
	static const char *const names[TP_HOSTMEM_COUNTERS] = {
		[TP_HOSTMEM_RSS] = TP_COUNTER_RSS, [TP_HOSTMEM_PSS] = TP_COUNTER_PSS,
		[TP_HOSTMEM_PRIVATE] = TP_COUNTER_PRIVATE, [TP_HOSTMEM_SHARED] = TP_COUNTER_SHARED,
		[TP_HOSTMEM_LIVE] = TP_COUNTER_HEAP_LIVE,
	};
	int64_t value = (int64_t)event->arg;

	if (event->name->kind != TP_STRING_COUNTER || (event->flags & TP_F_DOUBLE) || value < 0)
		return;
	for (uint32_t i = 0; i < TP_HOSTMEM_COUNTERS; i++) {
		struct tp_hostmem_counted *counted = &account->pub.counted[i];

		/* Name, NUL, unit, NUL, group. */
		if (strcmp(event->name->bytes, names[i]) != 0)
			continue;
		counted->last = value;
		if (counted->first < 0)
			counted->first = counted->at_peak = value;
		if (value > counted->most)
			counted->most = value;
		return;
	}
}

static void take_event(void *state, const struct tp_event *event)
{
	struct tp_hostmem *mem = state;
	struct account *account = &mem->account[event->proc->at];

	if (mem->is_plain && event->kind != TP_REC_HEAPALLOC && event->kind != TP_REC_HEAPFREE)
		return;
	switch (event->kind) {
	case TP_REC_COUNTER:
		take_counter(account, event);
		return;
	case TP_REC_STEP:
		if (enter_window(mem, account, event))
			tp_hostmem_take_step(mem, account, event);
		return;
	case TP_REC_HEAPALLOC:
	case TP_REC_HEAPFREE:
	case TP_REC_MAP:
	case TP_REC_UNMAP:
		break;
	default:
		return;
	}
	account->has_any = true;
	if (!enter_window(mem, account, event))
		return;
	if (event->kind == TP_REC_HEAPALLOC)
		tp_hostmem_take_alloc(mem, account, event);
	else if (event->kind == TP_REC_HEAPFREE)
		tp_hostmem_take_free(mem, account, event);
	else
		take_mapping(mem, account, event);
}

int64_t tp_hostmem_live_now(const struct tp_hostmem *mem, const struct tp_proc *proc)
{
	return mem->account[proc->at].live_bytes;
}

uint64_t tp_hostmem_allocs_now(const struct tp_hostmem *mem, const struct tp_proc *proc)
{
	return tp_hostmem_blocks_of(mem->account[proc->at].pub.n_allocs);
}

static void end_ledgers(void *state)
{
	tp_hostmem_end(state);
}

const struct tp_fact tp_fact_hostmem = {
	.name = "host memory",
	.bytes = sizeof(struct tp_hostmem),
	.params_bytes = sizeof(bool),
	.kinds = TP_FACT_KIND(TP_REC_COUNTER) | TP_FACT_KIND(TP_REC_STEP) |
		 TP_FACT_KIND(TP_REC_HEAPALLOC) | TP_FACT_KIND(TP_REC_HEAPFREE) |
		 TP_FACT_KIND(TP_REC_MAP) | TP_FACT_KIND(TP_REC_UNMAP),
	.begin = begin_ledgers,
	.event = take_event,
	.end = end_ledgers,
	.free = free_ledgers,
};

struct tp_hostmem *tp_hostmem_want(struct tp_facts *facts, bool is_plain)
{
	return tp_facts_want(facts, &tp_fact_hostmem, &is_plain);
}
