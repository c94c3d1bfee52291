/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worker.h - a process that works for a rank: finds the rank's ring and reads its windows
 *
 * Worker processes (of a data loader, of a pool) have sessions of their own: a ring, a drain
 * thread, files. Their windows are those of the rank's process, the root: same host, same
 * clock, and the first page of the root's ring says where it stands. A child of fork has that
 * page from its parent; others get it by the parent's open descriptor in /proc. The only
 * thing that a worker ever writes there is the count of workers, from which it has its number.
 *
 * A process becomes a worker in two steps: whoever sees it do something that is safe to
 * interrupt asks tp_worker_look(); when that says so it opens a session, which joins the root.
 * Before that nothing of it exists: children that exec or die soon leave nothing behind.
 *
 * Threads: tp_worker_look any; the rest the drain thread, or whoever opens the session.
 */
#ifndef TP_ENGINE_WORKER_H
#define TP_ENGINE_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/trace/ring_layout.h"

/* Not 0: this process may be a worker and has no session yet. One relaxed load. */
extern uint32_t tp_worker_candidate __attribute__((visibility("hidden")));
static inline bool tp_worker_is_candidate(void)
{
	return __atomic_load_n(&tp_worker_candidate, __ATOMIC_RELAXED) != 0;
}

/* In the child of fork. `parent_ring`: of a parent that recorded and is no worker itself. */
void tp_worker_forked(struct tp_ring_head *parent_ring);
/* This program was started by multiprocessing (spawn, forkserver): its parent may be a rank. */
void tp_worker_spawned(void);
/* It runs the loop of a data loader's worker: it joins its rank as soon as that records. */
void tp_worker_is_loader(void);

/*
 * Is it time to join? True when the root was found and records: for a data loader's worker
 * whatever it records, for others only inside a window. Looks at most every so often.
 * `is_of_server`: the parent may be a fork server, whose parent is the rank.
 */
bool tp_worker_look(bool is_of_server);
/* It is one: takes its number. After tp_worker_look() said so, before tp_session_open(). */
void tp_worker_join(void);
/* It has no session, and does not become a worker. */
void tp_worker_never(void);
/* Its number, 0: this process is no worker. */
uint32_t tp_worker_number(void);
/* The root's page. Only after tp_worker_join(). */
const struct tp_ring_head *tp_worker_root(void);

/* The root's process has ended, in order or not, or is another program. */
bool tp_worker_is_root_gone(void);
/* Window `window` of the root. False: so old that it was overwritten, or has not begun. */
bool tp_worker_window(uint32_t window, struct tp_ring_window *out);

#endif
