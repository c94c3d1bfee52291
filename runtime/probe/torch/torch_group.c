/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torch_group.c - which process group a collective belongs to, told by the group itself
 *
 * The hooks of preload/hook_c10d.c hand groups over by the pointers that torch calls them with.
 * Names come from torch's own functions; where rank and size stand is measured on the first
 * group that is made, whose rank and size are told. What a thread remembers is a string, never
 * a group: that may be gone when the range begins.
 */
#include "runtime/probe/torch/torch_group.h"

#include <string.h>

#include "runtime/base/clock.h"
#include "runtime/base/varint.h"
#include "runtime/engine/config/rank.h"
#include "runtime/engine/intern.h"
#include "runtime/engine/probe.h"
#include "runtime/engine/session.h"
#include "runtime/probe/torch/torch_flight.h"
#include "runtime/probe/torch/torch_shapes.h"
#include "runtime/probe/torch/torch_state.h"
#include "runtime/trace/torch_names.h"

enum {
	/* rank and size, two ints side by side: behind the vtable, before the backends. */
	SEARCH_FROM = 8,
	SEARCH_TO = 96,
	NAME_MAX_BYTES = 128,
	GROUP_MAX = 2 * NAME_MAX_BYTES + 32,
	SHAPES_MAX = 512,
	NO_PEER = -2,
	N_HANDED = 256,		/* that wait for another thread to begin them */
	PROBES_MAX = 8,
	/* Those that were asked for before the window opened have none; so many are no accident. */
	UNSEEN_MAX = 64,
	SEEN = UNSEEN_MAX + 1,
};

/* What a thread was told of its next collective. */
struct asked {
	uint32_t group;		/* string; 0: nothing */
	int32_t peer, tag;
	uint64_t at_ns;		/* CLOCK_MONOTONIC */
	uint32_t flight;	/* torch_flight.h */
};

static uint32_t rank_at;	/* atomic; 0: not known */
static uint32_t n_unseen;	/* atomic; collectives without a group, or SEEN: there were some with */

static __thread struct asked now __attribute__((tls_model("initial-exec")));
/* It was asked for on another thread. */
static __thread bool is_taken __attribute__((tls_model("initial-exec")));

#define BUSY ((const void *)1)
static struct {
	const void *work;	/* atomic; NULL: free, BUSY: being written */
	struct asked asked;
} handed[N_HANDED];
static uint32_t n_handed;	/* atomic */

static bool says(const void *group, uint32_t at, int32_t rank, int32_t size)
{
	return (int32_t)tp_torch_u32(group, at) == rank &&
	       (int32_t)tp_torch_u32(group, at + 4) == size;
}

void tp_torch_group_made(const void *group, int32_t rank, int32_t size)
{
	uint32_t known = __atomic_load_n(&rank_at, __ATOMIC_RELAXED), found = 0;

	tp_rank_offer(rank, size);
	if (known) {
		if (!says(group, known, rank, size))
			__atomic_store_n(&rank_at, 0, __ATOMIC_RELAXED);
		return;
	}
	for (uint32_t at = SEARCH_FROM; at < SEARCH_TO; at += 8) {
		if (!says(group, at, rank, size))
			continue;
		if (found)
			return;
		found = at;
	}
	__atomic_store_n(&rank_at, found, __ATOMIC_RELAXED);
}

/* The bytes of a std::string of torch's; of the old kind the length stands before them. */
static const char *read_string(const void *string, bool is_old, uint32_t *n_bytes)
{
	const char *text = tp_torch_ptr(string, 0);
	uint64_t n = is_old ? tp_torch_u64(text - TP_TORCH_OLD_LENGTH, 0) : tp_torch_u64(string, 8);

	*n_bytes = n < NAME_MAX_BYTES ? (uint32_t)n : NAME_MAX_BYTES;
	return text;
}

static uint32_t describe(const void *group, uint8_t out[GROUP_MAX])
{
	const struct tp_torch_abi *abi = &tp_torch.abi;
	uint32_t at = __atomic_load_n(&rank_at, __ATOMIC_RELAXED), n = 0, n_text;
	const char *text;
	bool is_old = !abi->group_name;

	n += tp_varint_bytes(out + n, at ? tp_torch_u32(group, at) + 1ull : 0);
	n += tp_varint_bytes(out + n, at ? tp_torch_u32(group, at + 4) : 0);
	text = read_string(is_old ? abi->group_name_old(group) : abi->group_name(group), is_old,
			   &n_text);
	memcpy(out + n, text, n_text);
	n += n_text;
	out[n++] = 0;
	if (abi->group_desc && !is_old) {
		text = read_string(abi->group_desc(group), false, &n_text);
		memcpy(out + n, text, n_text);
		n += n_text;
	}
	return n;
}

void tp_torch_group_name(const void *group, struct tp_text *out)
{
	const struct tp_torch_abi *abi = &tp_torch.abi;
	bool is_old = !abi->group_name;
	const char *text;
	uint32_t n;

	if (is_old && !abi->group_name_old)
		return;
	text = read_string(is_old ? abi->group_name_old(group) : abi->group_name(group), is_old, &n);
	tp_text_bytes(out, text, n);
	if (!abi->group_desc || is_old)
		return;
	text = read_string(abi->group_desc(group), false, &n);
	if (n)
		tp_text_fmt(out, " (%.*s)", (int)n, text);
}

void tp_torch_group_enter(const void *group)
{
	uint8_t bytes[GROUP_MAX];

	now.flight = tp_torch_flight_of(group);
	now.group = 0;
	if (tp_likely(!tp_session_is_recording()) ||
	    __atomic_load_n(&tp_torch.phase, __ATOMIC_RELAXED) != TP_TORCH_OPEN)
		return;
	if (!tp_torch.abi.group_name && !tp_torch.abi.group_name_old)
		return;
	now.peer = NO_PEER;
	now.at_ns = tp_clock_mono_ns();
	now.group = tp_intern(TP_STRING_GROUP, bytes, describe(group, bytes));
}

void tp_torch_group_peer(int32_t peer, int32_t tag)
{
	now.peer = peer;
	now.tag = tag;
}

static uint32_t place_of(const void *work)
{
	return (uint32_t)((uintptr_t)work * 0x9e3779b97f4a7c15ull >> 32) % N_HANDED;
}

void tp_torch_group_hand_over(const void *work)
{
	uint32_t at = place_of(work);

	if (!now.flight)
		return;
	tp_torch_flight_ask(now.flight);
	if (!tp_session_is_open()) {
		/* Nobody will hear of its end. */
		tp_torch_flight_end(now.flight);
		return;
	}
	for (uint32_t i = 0; i < PROBES_MAX; i++, at = (at + 1) % N_HANDED) {
		const void *found = NULL;

		/* One that was never begun may have had the same address. */
		if (__atomic_load_n(&handed[at].work, __ATOMIC_ACQUIRE) == work)
			found = work;
		if (!__atomic_compare_exchange_n(&handed[at].work, &found, BUSY, false,
						 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		handed[at].asked = now;
		if (!found)
			__atomic_fetch_add(&n_handed, 1, __ATOMIC_RELAXED);
		__atomic_store_n(&handed[at].work, work, __ATOMIC_RELEASE);
		return;
	}
}

void tp_torch_group_take_over(const void *work)
{
	uint32_t at = place_of(work);

	now.group = 0;
	now.flight = TP_TORCH_NO_FLIGHT;
	if (!__atomic_load_n(&n_handed, __ATOMIC_RELAXED))
		return;
	for (uint32_t i = 0; i < PROBES_MAX; i++, at = (at + 1) % N_HANDED) {
		const void *found = work;

		if (!__atomic_compare_exchange_n(&handed[at].work, &found, BUSY, false,
						 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		now = handed[at].asked;
		is_taken = true;
		__atomic_fetch_sub(&n_handed, 1, __ATOMIC_RELAXED);
		__atomic_store_n(&handed[at].work, NULL, __ATOMIC_RELEASE);
		return;
	}
}

/* Sends and receives are of two ranks: others have another number of them. */
static bool is_of_all(const char *text, uint32_t n_bytes)
{
	return !memmem(text, n_bytes, "send", 4) && !memmem(text, n_bytes, "recv", 4);
}

uint32_t tp_torch_group_begin(const char *text, uint32_t n_bytes, bool is_open)
{
	uint32_t flight = is_of_all(text, n_bytes) ? now.flight : TP_TORCH_NO_FLIGHT;

	if (!is_taken)
		tp_torch_flight_ask(flight);
	is_taken = false;
	now.flight = TP_TORCH_NO_FLIGHT;
	tp_torch_flight_begin(flight, text, n_bytes);
	if (is_open)
		return flight;
	tp_torch_flight_end(flight);
	return TP_TORCH_NO_FLIGHT;
}

bool tp_torch_is_collective(const char *text, uint32_t n_bytes)
{
	return tp_comm_is_range(text, n_bytes);
}

/* An item GROUP behind the inputs: own rank and size, the peer, its tag, names. */
static uint32_t put_group(uint8_t *out)
{
	uint8_t body[GROUP_MAX + 20];
	uint32_t kind, n_bytes, n = 0, head = 0, length;
	const char *bytes;

	if (!now.group || !tp_intern_get(NULL, now.group, &kind, &bytes, &n_bytes) ||
	    kind != TP_STRING_GROUP || n_bytes > GROUP_MAX)
		return 0;
	/* Two numbers, which are copied as they stand. */
	for (int i = 0; i < 2; i++) {
		while (head < n_bytes && ((uint8_t)bytes[head] & 0x80))
			head++;
		head++;
	}
	memcpy(body, bytes, head);
	n = head;
	n += tp_varint_bytes(body + n, now.peer > NO_PEER ? (uint64_t)(now.peer + 1) : 0);
	n += tp_varint_bytes(body + n, now.peer > NO_PEER ? (uint32_t)now.tag : 0);
	memcpy(body + n, bytes + head, n_bytes - head);
	n += n_bytes - head;
	out[0] = TP_SHAPE_GROUP;
	length = 1 + tp_varint_bytes(out + 1, n);
	memcpy(out + length, body, n);
	return length + n;
}

static void note_seen(bool is_seen)
{
	uint32_t n = __atomic_load_n(&n_unseen, __ATOMIC_RELAXED);

	if (n >= UNSEEN_MAX)
		return;
	if (is_seen) {
		__atomic_store_n(&n_unseen, SEEN, __ATOMIC_RELAXED);
		return;
	}
	if (__atomic_add_fetch(&n_unseen, 1, __ATOMIC_RELAXED) == UNSEEN_MAX)
		tp_probe_off("torch.groups", tp_torch.abi.group_name || tp_torch.abi.group_name_old ?
				     "collectives come from no process group that was seen" :
				     "this torch does not export the names of its process groups");
}

uint32_t tp_torch_group_shapes(const void *rf, uint32_t *waited_ns)
{
	const struct tp_torch_layout *layout = &tp_torch.layout;
	uint8_t blob[SHAPES_MAX + GROUP_MAX + 32];
	const void *inputs;
	uint64_t n_inputs, waited;
	uint32_t n = 0, n_group;

	waited = now.group ? tp_clock_mono_ns() - now.at_ns : TP_NO_SEQ;
	*waited_ns = waited < TP_NO_SEQ ? (uint32_t)waited : TP_NO_SEQ;
	if (layout->record.inputs) {
		inputs = tp_torch_ptr(rf, layout->record.inputs);
		n_inputs = tp_torch_u64(rf, layout->record.inputs + 8u);
		if (inputs && n_inputs)
			n = tp_torch_shapes_pack(layout, inputs, n_inputs, blob, SHAPES_MAX);
	}
	n_group = put_group(blob + n);
	note_seen(n_group != 0);
	/* What this thread begins next may be of a group that nobody told of. */
	now.group = 0;
	n += n_group;
	return n ? tp_intern(TP_STRING_SHAPES, blob, n) : 0;
}
