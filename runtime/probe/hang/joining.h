/* SPDX-License-Identifier: Apache-2.0 */
/*
 * joining.h - a process that waits for the others of its job before it trains
 *
 * Where torch makes a store or a process group, ranks wait for each other, for ever when one was not
 * started. Nothing has proved by then that the process trains, so nothing watches it. A thread of ours
 * therefore sleeps from that moment on until it is proved, and looks once TRAINPROF_HANG has passed
 * twice: if the program still stands in torch's init_process_group or new_group, a session is opened,
 * and the hang probe goes on from there. In all others nothing has been made but that thread.
 */
#ifndef TP_PROBE_JOINING_H
#define TP_PROBE_JOINING_H

#include <stdbool.h>
#include <stdint.h>

struct tp_config;

/* Of who decides whether this process trains; both on the thread that sleeps. */
struct tp_joining_ops {
	bool (*is_open)(void);		/* it is decided: the thread ends */
	/* Asks `is_due` while nobody else can decide; true: a session is opened. */
	void (*open_if)(bool (*is_due)(void));
};

/* A store or a group is being made, on the thread of the program that waits: that is noted, and once a
 * process the other thread started. ops NULL: there is a session, or will be none. `config` and `ops`
 * stay valid. errno is kept. */
void tp_joining_begin(const struct tp_config *config, const struct tp_joining_ops *ops);

/* The thread that joins stands in init_process_group or new_group now. Drain thread, or is_due. */
bool tp_joining_stands(void);
/* Its number; 0: this process never joined. */
uint32_t tp_joining_tid(void);
/* For how long it had waited when the session was opened for that; 0: it was not. */
uint64_t tp_joining_waited_ns(void);

#endif
