/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pysample_state.h - what threads do: whether they run, what they wait for, who has the interpreter
 *
 * The clock of a thread's processor time says whether it ran since it was looked at last, in one call
 * of the kernel without a descriptor. One that did not run waits as it did; one that ran all the
 * time runs. What lies between is asked of /proc, every fourth time; of whom the caller says so, each time.
 */
#ifndef TP_PROBE_PYSAMPLE_STATE_H
#define TP_PROBE_PYSAMPLE_STATE_H

#include <stdbool.h>
#include <stdint.h>

enum { TP_PYSAMPLE_RUNS = 0, TP_PYSAMPLE_NOT_KNOWN = -1 };

struct tp_pysample_state {
	uint32_t tid;
	int32_t waits_in;	/* number of the system call plus one, or one of the above */
	uint64_t cpu_ns;	/* processor time at this round; 0: not known */
	uint64_t ran_ns;	/* since the round before */
	uint64_t asked_ns;	/* processor time when the kernel was asked last */
	bool wants_lock;	/* it waits for the interpreter's lock */
	bool is_asked;		/* by the caller: what the clock doesn't tell is asked of /proc each time */
};

/* With the interpreter's lock held, once. */
void tp_pysample_state_init(void);

/* The state of the thread that has the interpreter's lock; NULL: none has, or that is not known. */
const char *tp_pysample_lock_holder(void);

/* Begins a round: takes the processor time. False: there is no such thread any more. */
bool tp_pysample_clock(struct tp_pysample_state *state);
/* Has it run since then? True where that is not known. */
bool tp_pysample_has_run(const struct tp_pysample_state *state);

/*
 * What n threads do, since_ns after the last time (0: long ago, or never). Within one call of
 * own_table.h for all, where one is needed. The array of pointers is used up.
 */
void tp_pysample_states(struct tp_pysample_state *state[], uint32_t n, uint64_t since_ns);

#endif
