/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nccl_events.c - what NCCL tells of its events becomes records COLL and XFER
 *
 * Groups and calls of the API are not recorded (the program's own calls are, and operators), but
 * some versions of NCCL start nothing inside what gave no handle. So those get handles that
 * need no memory: a group's says nothing, a call's has the stream in it, for the collective that
 * names the call as its parent, in a CUDA graph long after the call.
 */
#include "runtime/probe/nccl/nccl_events.h"

#include <string.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/base/sync.h"
#include "runtime/engine/ring/ring.h"
#include "runtime/probe/nccl/nccl_record.h"

enum {
	/* Low bits of handles; those of the pool have 3. */
	TAG_GROUP = 1,
	TAG_CALL = 2,
	TAG_MASK = 7,
	CALL_IS_CAPTURED = 8,
	CALL_STREAM_SHIFT = 8,	/* addresses have 56 bits at most */

	OP_IS_FOREIGN = 1,
};

/* ---- begins ---- */

static uint64_t call_handle(const struct tp_nccl_event *event)
{
	if (event->is_captured)
		TP_NCCL_COUNT(captured);
	return event->stream << CALL_STREAM_SHIFT | (event->is_captured ? CALL_IS_CAPTURED : 0) |
	       TAG_CALL;
}

static uint64_t start_coll(uint32_t at, const struct tp_nccl_event *event)
{
	bool is_call = (event->parent & TAG_MASK) == TAG_CALL;
	bool is_replay = is_call && event->parent & CALL_IS_CAPTURED;
	struct tp_nccl_entry *entry;
	struct tp_communicator comm;
	char name[TP_NCCL_NAME];

	if (event->comm_hash)
		tp_nccl_comm_name(at, event->comm_hash, event->rank, event->comm_name);
	if (!tp_nccl_comm_get(at, &comm, name))
		return 0;
	entry = tp_nccl_pool_take(TP_NCCL_ENTRY_COLL);
	if (tp_unlikely(!entry)) {
		TP_NCCL_COUNT(no_entry);
		return 0;
	}
	entry->comm = at;
	entry->name = tp_nccl_name_coll(&comm, name, event, event->stream ? event->stream :
				is_call ? event->parent >> CALL_STREAM_SHIFT : 0);
	/* In a graph NCCL counts it once, however often it is replayed. */
	entry->link = event->has_seq && !is_replay ? (uint32_t)event->seq : TP_NO_SEQ;
	entry->flags = is_replay ? TP_F_REPLAY : 0;
	entry->bytes = event->bytes;
	(void)tp_ring_slot();
	entry->slot = (uint16_t)tp_ring_self.slot_at;
	entry->since = entry->begin = tp_clock_now();
	return tp_nccl_pool_publish(entry);
}

/* NULL, or its collective, which then has one operation more under way. */
static struct tp_nccl_entry *join_coll(uint64_t parent)
{
	struct tp_nccl_entry *coll = tp_nccl_pool_enter(parent, TP_NCCL_ENTRY_COLL);

	if (!coll) {
		TP_NCCL_COUNT(late_ops);
		return NULL;
	}
	__atomic_fetch_add(&coll->n_open, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&coll->n_ops, 1, __ATOMIC_RELAXED);
	return coll;
}

static uint64_t start_op(uint32_t at, const struct tp_nccl_event *event)
{
	/* With PXN this process's proxy works for another one of the host: context and parent are
	 * what that one's plugin made. */
	bool is_foreign = event->pid != tp_nccl_taking.pid;
	struct tp_nccl_entry *entry = tp_nccl_pool_take(TP_NCCL_ENTRY_OP), *coll = NULL;
	struct tp_communicator comm = {.hash = 0};
	char name[TP_NCCL_NAME];

	if (tp_unlikely(!entry)) {
		TP_NCCL_COUNT(no_entry);
		return 0;
	}
	entry->link = TP_NO_SEQ;
	entry->flags = is_foreign ? OP_IS_FOREIGN : 0;
	entry->since = entry->begin = tp_clock_now();
	if (is_foreign) {
		TP_NCCL_COUNT(foreign);
	} else {
		tp_nccl_comm_get(at, &comm, name);
		tp_nccl_comm_saw_proxy(at);
		entry->comm = at;
		coll = join_coll(event->parent);
	}
	if (coll) {
		entry->parent = event->parent;
		entry->link = coll->link;
		entry->since = coll->since;
	}
	entry->name = tp_nccl_name_xfer(event, comm.hash, is_foreign, coll ? coll->name : 0);
	if (coll)
		tp_nccl_pool_leave(coll);
	return tp_nccl_pool_publish(entry);
}

static uint64_t start_step(const struct tp_nccl_event *event)
{
	struct tp_nccl_entry *op = tp_nccl_pool_enter(event->parent, TP_NCCL_ENTRY_OP), *entry;
	uint64_t now;

	if (!op)
		return 0;
	entry = tp_nccl_pool_take(TP_NCCL_ENTRY_STEP);
	if (tp_unlikely(!entry)) {
		TP_NCCL_COUNT(no_entry);
		tp_nccl_pool_leave(op);
		return 0;
	}
	now = tp_clock_now();
	entry->comm = op->comm;
	entry->parent = event->parent;
	entry->begin = now;
	entry->since = op->since;
	entry->last = now;
	/* Until it says otherwise: see note_state. */
	entry->state = TP_NCCL_WAITS;
	tp_nccl_pool_leave(op);
	return tp_nccl_pool_publish(entry);
}

static bool is_live_coll(uint64_t handle)
{
	struct tp_nccl_entry *coll = tp_nccl_pool_enter(handle, TP_NCCL_ENTRY_COLL);

	if (coll)
		tp_nccl_pool_leave(coll);
	return coll != NULL;
}

uint64_t tp_nccl_start(uint32_t version, uint32_t comm, const void *description)
{
	struct tp_nccl_event event;

	/* What a CUDA graph captured in a window comes whenever it is replayed. But what proxies do
	 * for collectives of a window belongs to it, also a while after its end. */
	if (!__atomic_load_n(&tp_nccl_taking.is_armed, __ATOMIC_RELAXED)) {
		if (!__atomic_load_n(&tp_nccl_taking.over, __ATOMIC_RELAXED) ||
		    !tp_nccl_read(version, description, &event))
			return 0;
		if (event.type == TP_NCCL_PROXY_OP && is_live_coll(event.parent))
			return start_op(comm, &event);
		return event.type == TP_NCCL_PROXY_STEP ? start_step(&event) : 0;
	}
	if (!tp_nccl_read(version, description, &event)) {
		TP_NCCL_COUNT(unknown);
		return 0;
	}
	switch (event.type) {
	case TP_NCCL_COLL:
	case TP_NCCL_P2P:
	case TP_NCCL_CE_COLL:
		return start_coll(comm, &event);
	case TP_NCCL_PROXY_OP:
		return start_op(comm, &event);
	case TP_NCCL_PROXY_STEP:
		return start_step(&event);
	case TP_NCCL_COLL_API:
	case TP_NCCL_P2P_API:
		return call_handle(&event);
	default:
		return TAG_GROUP;
	}
}

/* ---- states ---- */

static enum tp_nccl_wait wait_of(uint32_t state)
{
	switch (state) {
	case TP_NCCL_SEND_GPU_WAIT:
	case TP_NCCL_RECV_GPU_WAIT:
		return TP_NCCL_WAIT_DEVICE;
	case TP_NCCL_SEND_PEER_WAIT:
	case TP_NCCL_RECV_WAIT:
		return TP_NCCL_WAIT_PEER;
	case TP_NCCL_SEND_WAIT:
	case TP_NCCL_RECV_FLUSH_WAIT:
		return TP_NCCL_WAIT_NETWORK;
	default:
		return TP_NCCL_WAITS;
	}
}

/* What the step waited for until now goes to its operation. */
static void add_wait(const struct tp_nccl_entry *step, uint64_t now, uint64_t bytes)
{
	uint32_t state = __atomic_load_n(&step->state, __ATOMIC_RELAXED);
	uint64_t since = __atomic_load_n(&step->last, __ATOMIC_RELAXED);
	struct tp_nccl_entry *op = tp_nccl_pool_enter(step->parent, TP_NCCL_ENTRY_OP);

	if (!op)
		return;
	if (state < TP_NCCL_WAITS && now > since)
		__atomic_fetch_add(&op->wait[state], now - since, __ATOMIC_RELAXED);
	if (bytes)
		__atomic_fetch_add(&op->bytes, bytes, __ATOMIC_RELAXED);
	tp_nccl_pool_leave(op);
}

static void note_step_state(struct tp_nccl_entry *step, uint32_t state,
			    const struct tp_nccl_state_args *args)
{
	enum tp_nccl_wait wait = wait_of(state);
	uint64_t now, bytes = 0;

	if (wait == TP_NCCL_WAITS)
		return;
	/* In other states the bytes are those of another step. */
	if (args && (state == TP_NCCL_SEND_WAIT || state == TP_NCCL_RECV_FLUSH_WAIT))
		bytes = args->bytes;
	now = tp_clock_now();
	add_wait(step, now, bytes);
	__atomic_store_n(&step->last, now, __ATOMIC_RELAXED);
	__atomic_store_n(&step->state, wait, __ATOMIC_RELAXED);
}

void tp_nccl_state(uint64_t handle, uint32_t state, const struct tp_nccl_state_args *args)
{
	struct tp_nccl_entry *entry;

	if (state <= TP_NCCL_OP_RECV_DONE) {
		entry = args ? tp_nccl_pool_enter(handle, TP_NCCL_ENTRY_OP) : NULL;
		/* So far, in all. */
		if (entry && args->bytes > __atomic_load_n(&entry->bytes, __ATOMIC_RELAXED))
			__atomic_store_n(&entry->bytes, args->bytes, __ATOMIC_RELAXED);
	} else {
		entry = tp_nccl_pool_enter(handle, TP_NCCL_ENTRY_STEP);
		if (entry)
			note_step_state(entry, state, args);
	}
	if (entry)
		tp_nccl_pool_leave(entry);
}

/* ---- ends ---- */

static void stop_step(struct tp_nccl_entry *entry)
{
	add_wait(entry, tp_clock_now(), 0);
	tp_nccl_pool_give_back(entry);
}

static void leave_coll(const struct tp_nccl_entry *op, uint64_t now)
{
	struct tp_nccl_entry *coll = op->parent ?
		tp_nccl_pool_enter(op->parent, TP_NCCL_ENTRY_COLL) : NULL;

	if (!coll)
		return;
	tp_raise(&coll->last, now);
	__atomic_fetch_sub(&coll->n_open, 1, __ATOMIC_RELAXED);
	tp_nccl_pool_leave(coll);
}

static void stop_op(struct tp_nccl_entry *entry)
{
	uint64_t now = tp_clock_now(), over = __atomic_load_n(&tp_nccl_taking.over, __ATOMIC_RELAXED);

	if (entry->stopped) {
		tp_nccl_pool_put_back(entry);
		return;
	}
	leave_coll(entry, now);
	if (entry->since <= over) {
		entry->stopped = now;
		tp_nccl_pool_put_back(entry);
		return;
	}
	if (__atomic_load_n(&tp_nccl_taking.is_armed, __ATOMIC_RELAXED))
		tp_nccl_record_xfer(entry, now, 0);
	else
		TP_NCCL_COUNT(outside);
	tp_nccl_pool_give_back(entry);
}

static void stop_coll(struct tp_nccl_entry *entry)
{
	if (entry->stopped) {
		tp_nccl_pool_put_back(entry);
		return;
	}
	entry->stopped = tp_clock_now();
	if (tp_nccl_comm_has_proxies(entry->comm) || entry->n_ops) {
		tp_nccl_pool_put_back(entry);
		return;
	}
	tp_nccl_record_coll(entry, entry->stopped, 0);
	tp_nccl_pool_give_back(entry);
}

void tp_nccl_stop(uint64_t handle)
{
	struct tp_nccl_entry *entry = tp_nccl_pool_claim(handle);

	if (!entry)
		return;
	if (entry->kind == TP_NCCL_ENTRY_STEP)
		stop_step(entry);
	else if (entry->kind == TP_NCCL_ENTRY_OP)
		stop_op(entry);
	else
		stop_coll(entry);
}

void tp_nccl_events_end_of(uint32_t comm)
{
	uint64_t now = tp_clock_now();

	for (uint32_t at = 0, n = tp_nccl_pool_used(); comm && at < n; at++) {
		struct tp_nccl_entry *entry = tp_nccl_pool_claim_at(at);

		if (!entry)
			continue;
		if (entry->comm != comm) {
			tp_nccl_pool_put_back(entry);
			continue;
		}
		if (!entry->stopped)
			entry->stopped = now;
		/* What a window that is over still wants is the drain's to record. */
		if (entry->since <= __atomic_load_n(&tp_nccl_taking.over, __ATOMIC_RELAXED)) {
			entry->n_open = 0;
			entry->comm = 0;
			tp_nccl_pool_put_back(entry);
			continue;
		}
		if (__atomic_load_n(&tp_nccl_taking.is_armed, __ATOMIC_RELAXED))
			tp_nccl_record_entry(entry, tp_nccl_end_of(entry), 0);
		else if (entry->kind != TP_NCCL_ENTRY_STEP)
			TP_NCCL_COUNT(outside);
		tp_nccl_pool_give_back(entry);
	}
}

/* ---- the process ---- */

void tp_nccl_events_counts(struct tp_nccl_counts *counts)
{
	const uint64_t *from = &tp_nccl_taking.counts.colls;
	uint64_t *to = &counts->colls;

	for (size_t i = 0; i < sizeof(*counts) / sizeof(*to); i++)
		to[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
}

void tp_nccl_events_init(void)
{
	memset(&tp_nccl_taking, 0, sizeof(tp_nccl_taking));
	tp_nccl_taking.pid = getpid();
}
