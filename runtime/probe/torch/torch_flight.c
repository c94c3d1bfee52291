/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torch_flight.c - a small table of process groups, each entry taken once and never given back
 */
#include "runtime/probe/torch/torch_flight.h"

#include <string.h>

#include "runtime/base/sync.h"
#include "runtime/base/text.h"
#include "runtime/probe/torch/torch_group.h"

enum { NAME = 64, LAST = 48 };

static struct flight {
	const void *group;		/* atomic; NULL: free */
	uint32_t is_named;		/* atomic: after `name` is whole */
	uint64_t asked, ended;		/* atomic */
	char name[NAME];
	/* Two, so that a reader has the old one whole while the other is written. */
	char last[2][LAST];
	uint32_t which;			/* atomic */
} flights[TP_TORCH_FLIGHTS];

static void name_flight(struct flight *flight, const void *group)
{
	struct tp_text text;

	tp_text_init(&text, flight->name, sizeof(flight->name));
	tp_torch_group_name(group, &text);
	__atomic_store_n(&flight->is_named, 1, __ATOMIC_RELEASE);
}

uint32_t tp_torch_flight_of(const void *group)
{
	for (uint32_t i = 0; i < TP_TORCH_FLIGHTS; i++) {
		struct flight *flight = &flights[i];
		const void *found = __atomic_load_n(&flight->group, __ATOMIC_RELAXED);

		if (found == group)
			return i + 1;
		if (found)
			continue;
		if (__atomic_compare_exchange_n(&flight->group, &found, group, false, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED)) {
			name_flight(flight, group);
			return i + 1;
		}
		if (found == group)
			return i + 1;
	}
	return TP_TORCH_NO_FLIGHT;
}

void tp_torch_flight_ask(uint32_t flight)
{
	if (flight != TP_TORCH_NO_FLIGHT)
		__atomic_fetch_add(&flights[flight - 1].asked, 1, __ATOMIC_RELAXED);
}

void tp_torch_flight_begin(uint32_t at, const char *text, uint32_t n_bytes)
{
	uint32_t which, n = n_bytes < LAST - 1 ? n_bytes : LAST - 1;
	struct flight *flight;
	char *last;

	if (at == TP_TORCH_NO_FLIGHT)
		return;
	flight = &flights[at - 1];
	which = __atomic_load_n(&flight->which, __ATOMIC_RELAXED);
	if (!memcmp(flight->last[which & 1], text, n) && !flight->last[which & 1][n])
		return;
	last = flight->last[(which + 1) & 1];
	memcpy(last, text, n);
	last[n] = '\0';
	__atomic_store_n(&flight->which, which + 1, __ATOMIC_RELEASE);
}

void tp_torch_flight_end(uint32_t flight)
{
	if (flight != TP_TORCH_NO_FLIGHT)
		__atomic_fetch_add(&flights[flight - 1].ended, 1, __ATOMIC_RELAXED);
}

bool tp_torch_flight_get(uint32_t at, struct tp_torch_flight *out)
{
	const struct flight *flight = &flights[at];

	if (at >= TP_TORCH_FLIGHTS || !__atomic_load_n(&flight->is_named, __ATOMIC_ACQUIRE))
		return false;
	*out = (struct tp_torch_flight){
		.group = flight->name,
		.last = flight->last[__atomic_load_n(&flight->which, __ATOMIC_ACQUIRE) & 1],
		.ended = __atomic_load_n(&flight->ended, __ATOMIC_ACQUIRE),
	};
	/* Read after the ends: never less than those. */
	out->asked = __atomic_load_n(&flight->asked, __ATOMIC_RELAXED);
	return true;
}

uint64_t tp_torch_flight_turn(void)
{
	uint64_t turn = 0;

	for (uint32_t i = 0; i < TP_TORCH_FLIGHTS; i++) {
		const struct flight *flight = &flights[i];

		if (!__atomic_load_n(&flight->group, __ATOMIC_RELAXED))
			break;
		turn += __atomic_load_n(&flight->asked, __ATOMIC_RELAXED) +
			__atomic_load_n(&flight->ended, __ATOMIC_RELAXED);
	}
	return turn;
}

void tp_torch_flight_forked(void)
{
	memset(flights, 0, sizeof(flights));
}
