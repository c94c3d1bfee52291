/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nccl_settle.c - the drain thread's part of NCCL's events: what nothing more is heard of is
 * recorded, and what belongs to a window that is over goes into it
 */
#include "runtime/probe/nccl/nccl_record.h"

enum { NO_OP_YET = 10 };	/* times as long is waited for the first one */

void tp_nccl_events_arm(bool is_armed)
{
	__atomic_store_n(&tp_nccl_taking.is_armed, is_armed, __ATOMIC_RELAXED);
}

void tp_nccl_events_over(uint64_t now)
{
	__atomic_store_n(&tp_nccl_taking.over, now, __ATOMIC_RELAXED);
}

bool tp_nccl_events_is_over(uint64_t end)
{
	return __atomic_load_n(&tp_nccl_taking.over, __ATOMIC_RELAXED) >= end;
}

/* Nothing is to come of it, as far as one can tell. */
static bool is_done(const struct tp_nccl_entry *entry, uint64_t now, uint64_t quiet)
{
	if (!entry->stopped || entry->n_open)
		return false;
	if (entry->kind != TP_NCCL_ENTRY_COLL)
		return true;
	/* None of its operations yet: perhaps it has none here, or the proxy gets no core. */
	return now >= tp_nccl_end_of(entry) + (entry->n_ops ? quiet : NO_OP_YET * quiet);
}

void tp_nccl_events_tick(uint64_t now, uint64_t quiet)
{
	uint64_t over = __atomic_load_n(&tp_nccl_taking.over, __ATOMIC_RELAXED);

	for (uint32_t at = 0, n = tp_nccl_pool_used(); at < n; at++) {
		struct tp_nccl_entry *entry = tp_nccl_pool_claim_at(at);

		if (!entry)
			continue;
		if (entry->since <= over || !is_done(entry, now, quiet)) {
			tp_nccl_pool_put_back(entry);
			continue;
		}
		tp_nccl_record_entry(entry, tp_nccl_end_of(entry), 0);
		tp_nccl_pool_give_back(entry);
	}
}

/* True: it belongs to the window and is under way. */
static bool settle_entry(const struct tp_nccl_settling *is, struct tp_nccl_entry *entry)
{
	uint64_t stop = tp_nccl_end_of(entry);

	if (entry->since > is->end) {
		if (is->has_next) {
			tp_nccl_pool_put_back(entry);
			return false;
		}
		if (entry->kind != TP_NCCL_ENTRY_STEP)
			TP_NCCL_COUNT(outside);
		tp_nccl_pool_give_back(entry);
		return false;
	}
	if (is_done(entry, is->now, is->quiet) || (is->is_last && stop)) {
		tp_nccl_record_entry(entry, stop, stop > is->end ? TP_F_AFTER : 0);
		tp_nccl_pool_give_back(entry);
		return false;
	}
	if (!is->is_last) {
		tp_nccl_pool_put_back(entry);
		return true;
	}
	if (entry->kind != TP_NCCL_ENTRY_STEP) {
		TP_NCCL_COUNT(unfinished);
		tp_nccl_record_entry(entry, is->end, TP_F_OPEN);
	}
	tp_nccl_pool_give_back(entry);
	return false;
}

bool tp_nccl_events_settle(const struct tp_nccl_settling *is)
{
	uint64_t over = __atomic_load_n(&tp_nccl_taking.over, __ATOMIC_RELAXED);
	bool is_settled = true;

	for (uint32_t at = 0, n = tp_nccl_pool_used(); at < n; at++) {
		struct tp_nccl_entry *entry = tp_nccl_pool_claim_at(at);

		if (entry)
			is_settled &= !settle_entry(is, entry);
		else if (tp_nccl_pool_is_live(at))
			is_settled &= is->is_last;
	}
	/* Another window may be over by now. */
	if (is_settled && !is->has_next)
		__atomic_compare_exchange_n(&tp_nccl_taking.over, &over, 0, false, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED);
	return is_settled;
}
