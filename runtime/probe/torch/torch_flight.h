/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torch_flight.h - how many collectives each process group was asked for, and how many have ended
 *
 * Counted all the time, for who wants to know who has not come. A collective is counted where its
 * thread asks for it: gloo's when it is given to gloo's thread, others when their range begins. A
 * group is known by its address: one that took a dead one's goes on with its numbers, as it does on
 * the other ranks.
 *
 * Threads: any. No lock, no allocation; some 10 ns each.
 */
#ifndef TP_PROBE_TORCH_FLIGHT_H
#define TP_PROBE_TORCH_FLIGHT_H

#include <stdbool.h>
#include <stdint.h>

enum {
	TP_TORCH_FLIGHTS = 64,	/* groups; more are not counted */
	TP_TORCH_NO_FLIGHT = 0,	/* numbers of groups begin at 1 */
};

struct tp_torch_flight {
	const char *group;	/* its name, terminated; stays */
	const char *last;	/* range that began last, likewise; "": none yet */
	uint64_t asked, ended;
};

/* The number of a group; it is named when it is met first. */
uint32_t tp_torch_flight_of(const void *group);
void tp_torch_flight_ask(uint32_t flight);
/* Its range begins under this name, of n bytes. */
void tp_torch_flight_begin(uint32_t flight, const char *text, uint32_t n_bytes);
void tp_torch_flight_end(uint32_t flight);

/* The number `at` of those that there are, from 0. False: no more. */
bool tp_torch_flight_get(uint32_t at, struct tp_torch_flight *out);
/* Another value when any of them was asked for, began or ended. */
uint64_t tp_torch_flight_turn(void);
/* In the child of fork. */
void tp_torch_flight_forked(void);

#endif
