/* SPDX-License-Identifier: Apache-2.0 */
/*
 * life.c - how a session comes to be, ends, and what fork does to it
 *
 * Opening happens once, on the guest thread that proved that this is a training process, and
 * may take some milliseconds. Every failure is one line and leaves the process as it was.
 * Closing may happen at any moment and on any thread, with other threads still recording: it
 * waits for nothing without a limit. What cannot be written in time stays in the ring's
 * file, which the merge reads.
 */
#include "runtime/engine/life.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/base/loader.h"
#include "runtime/base/log.h"
#include "runtime/base/own_table.h"
#include "runtime/engine/config/started.h"
#include "runtime/engine/drain.h"
#include "runtime/engine/facts.h"
#include "runtime/engine/identity.h"
#include "runtime/engine/intern.h"
#include "runtime/engine/ring/ring.h"
#include "runtime/engine/session_state.h"
#include "runtime/engine/step/step.h"
#include "runtime/engine/trigger/trigger.h"
#include "runtime/engine/worker.h"

enum {
	CLOSE_MS = 2000,	/* longest wait for the drain at the end */
	LOCK_MS = 100,		/* for the session's lock, at the end and before fork */
	ARENA_SLACK = 10 << 20,	/* for the writer's stages and the compressor */
	WORKER_PARTS = 8,	/* a worker's ring is this much smaller: a rank may have many */
	WORKER_LEAST_BYTES = 1 << 20,
};

static struct tp_session_state *const session = &tp_session_state;
static struct tp_identity *const identity = &tp_identity;

static const struct tp_trigger_ops trigger_ops = {
	tp_session_steps, tp_ring_step, tp_session_ask, tp_session_is_asked_over, tp_session_stop,
	tp_session_fire,
};

/* What lives from open to close. */
static struct {
	struct tp_arena arena;
	struct tp_clock_anchor start;
} life;

/* When this program forked first; children have it from their parents. */
static uint64_t first_fork_ns;

/* This thread forks and holds the session's lock. Two threads may fork at the same time. */
static __thread bool is_locked_for_fork __attribute__((tls_model("initial-exec")));
static __thread bool is_loader_locked __attribute__((tls_model("initial-exec")));

/* Of our own spin lock, for at most `ms`: its holder may be the thread that a signal
 * interrupted to bring us here. */
static bool lock_within(struct tp_spin *lock, uint32_t ms)
{
	for (uint32_t i = 0; i < ms * 10; i++) {
		if (tp_spin_trylock(lock))
			return true;
		tp_sleep_ns(100000);
	}
	return false;
}

/* ---- opening ---- */

static uint64_t buffer_bytes(const struct tp_config *config)
{
	uint64_t bytes = config->buffer_bytes;

	if (!tp_worker_number())
		return bytes;
	bytes /= WORKER_PARTS;
	return bytes > WORKER_LEAST_BYTES ? bytes : WORKER_LEAST_BYTES;
}

/* The ring is named after the ledger, which is named after the rank: "rank3.1234.ring". */
static int open_ring(const struct tp_config *config)
{
	const struct tp_rank *rank = &identity->naming.rank;
	const char *base = strrchr(identity->ledger_path, '/');
	const char *suffix;
	char name[256];
	struct tp_text text;
	struct tp_ring_spec spec = {
		.bytes = buffer_bytes(config), .dir = identity->dir, .folder = &identity->folder,
		.buffer_dir = config->buffer_dir,
		.name = name, .run_id = identity->run_id, .rank = rank->rank,
		.local_rank = rank->local_rank, .world_size = rank->world_size,
		.node_rank = rank->node_rank, .restart = rank->restart,
		.worker = tp_worker_number(),
		.root_pid = tp_worker_number() ? tp_worker_root()->pid : 0,
	};
	int err;

	base = base ? base + 1 : identity->ledger_path;
	suffix = strrchr(base, '.');
	tp_text_init(&text, name, sizeof(name));
	tp_text_bytes(&text, base, suffix ? (size_t)(suffix - base) : strlen(base));
	tp_text_fmt(&text, ".%u.ring", identity->naming.pid);
	err = tp_ring_open(&spec);
	if (err)
		return err;
	tp_text_init(&text, tp_ring.head->ledger_path, sizeof(tp_ring.head->ledger_path));
	tp_text_str(&text, identity->ledger_path);
	return 0;
}

static int start_drain(const struct tp_config *config, const struct tp_probe *const *probes)
{
	const struct tp_ring_head *head = tp_ring.head;
	struct tp_window_spec spec = {
		.config = config, .probes = probes, .naming = &identity->naming, .folder = &identity->folder,
		.describe = tp_facts_describe,
		.arena = &life.arena,
		.file_head = tp_ring_head_of_files(head),
	};
	int err;

	spec.file_head.parent_run_id = tp_worker_number() ? tp_worker_root()->run_id : 0;
	tp_arena_fini(&life.arena);	/* of the parent, when this is the child of a fork */
	err = tp_arena_init(&life.arena, ARENA_SLACK + head->names_bytes * 3);
	if (!err)
		err = tp_intern_init(&life.arena);
	if (!err) {
		session->step_name = tp_intern_text("step");
		err = tp_drain_start(&spec, identity->ledger_path);
	}
	if (err)
		tp_warn("cannot start the drain thread: %s; nothing is recorded", strerror(-err));
	return err;
}

/* Ticks in a millisecond, to a few parts in ten thousand: good enough to bound steps by. */
static uint64_t measure_ticks_per_ms(void)
{
	struct tp_clock_anchor now;
	uint64_t ticks_per_ms;

	if (!tp_clock_is_tsc)
		return 1000000;
	tp_sleep_ns(1000000);
	tp_clock_take_anchor(&now);
	ticks_per_ms = (uint64_t)((double)(now.ticks - life.start.ticks) * 1e6 /
				  (double)(now.mono_ns - life.start.mono_ns));
	return ticks_per_ms ? ticks_per_ms : 1;
}

static int open_session(const struct tp_config *config, const struct tp_probe *const *probes,
			const char *program)
{
	static const struct tp_step_out steps = {tp_session_step, tp_session_epoch,
						 tp_session_restart};
	const bool is_worker = tp_worker_number() != 0;
	int err;

	tp_log_set_level(config->log);
	tp_clock_init(config->clock);
	tp_clock_take_anchor(&life.start);
	tp_identity_read(config, __atomic_load_n(&first_fork_ns, __ATOMIC_RELAXED));
	if (is_worker) {
		/* What its parent said of itself is in the memory of a child of fork; and what is
		 * wrong or off was said by the rank, once is enough. */
		tp_facts_reset();
		tp_log_set_level(TP_LOG_QUIET);
		tp_session_follow_begin(life.start.ticks);
		tp_started_forget();
	} else {
		tp_started_take();
		tp_config_report(config);
	}
	tp_step_init(&config->step, &steps, measure_ticks_per_ms());
	for (uint32_t i = 0; probes[i]; i++)
		if (probes[i]->open)
			probes[i]->open(config);	/* a probe that fails has said so */
	tp_identity_describe(config, program);
	tp_log_set_level(config->log);

	err = tp_identity_take_folder(config);
	if (err)
		return err;
	err = open_ring(config);
	if (!err) {
		tp_facts_to_ring();
		session->config = config;
		session->probes = probes;
		if (is_worker)
			tp_session_follow_init();
		if (!is_worker)
			tp_trigger_open(config, &identity->naming.rank, identity->shared_dir, &trigger_ops);
		err = start_drain(config, probes);
		if (err) {
			tp_trigger_close();
			tp_ring_close();
		}
	}
	/* A ledger would tell the next run that this folder holds traces. */
	if (err && !is_worker)
		tp_folder_unlink(&identity->folder, identity->ledger_path, NULL);
	return err;
}

/* What is open is closed. */
static void end_files(void)
{
	tp_own_fd_close(&identity->naming.ledger);
	tp_folder_close(&identity->folder);
	tp_own_table_stop();
}

int tp_session_open(const struct tp_config *config, const struct tp_probe *const *probes,
		    const char *program)
{
	uint32_t none = TP_SESSION_NONE;
	int saved_errno = errno, err, held;

	if (config->is_off)
		return -ECANCELED;
	if (!tp_own_words_begin())
		return -ECHILD;
	if (!__atomic_compare_exchange_n(&session->state, &none, TP_SESSION_OPENING, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return -EALREADY;
	held = tp_cancel_hold();
	/* Before anything is opened. Where it is refused, descriptors are checked before each use. */
	tp_own_table_start();
	err = open_session(config, probes, program);
	if (err)
		end_files();
	__atomic_store_n(&session->state, err ? TP_SESSION_CLOSED : TP_SESSION_OPEN,
			 __ATOMIC_RELEASE);
	if (!err) {
		tp_info("recording into '%s', buffer file '%s'", identity->dir, tp_ring.path);
		tp_session_begin(tp_clock_now());
	}
	tp_cancel_release(held);
	errno = saved_errno;
	return err;
}

/* ---- closing ---- */

/* Another thread is closing: the process must not end before it is done, within limits. */
static void await_close(void)
{
	if (session->closer_tid == (uint32_t)syscall(SYS_gettid))
		return;	/* a signal handler on top of ourselves */
	for (uint32_t i = 0; i < CLOSE_MS; i++) {
		if (__atomic_load_n(&session->state, __ATOMIC_ACQUIRE) != TP_SESSION_CLOSING)
			return;
		tp_sleep_ns(1000000);
	}
}

/* Who asked for windows at steps hears of those that never came, once a run. */
static void answer_at(void)
{
	const struct tp_sched_spec *spec = &session->config->schedule;
	unsigned long missed = tp_sched_missed(spec, session->steps);

	if (missed <= TP_SCHED_MOST && identity->naming.rank.rank <= 0 && !tp_worker_number())
		tp_warn("no window opened at step %lu (at= of TRAINPROF_SCHEDULE): the run ended after "
			"%lu steps", missed, session->steps);
}

/* `why`: what the flight recorder holds is of interest; NULL: it is not. */
static void close_session(const char *how, const char *why)
{
	uint32_t open = TP_SESSION_OPEN;
	int saved_errno, held;
	bool is_locked;

	if (tp_own_words_is_stranger())
		return;
	saved_errno = errno;
	held = tp_cancel_hold();
	if (!__atomic_compare_exchange_n(&session->state, &open, TP_SESSION_CLOSING, false,
					 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
		if (open == TP_SESSION_CLOSING)
			await_close();
		tp_cancel_release(held);
		return;
	}
	session->closer_tid = (uint32_t)syscall(SYS_gettid);
	is_locked = lock_within(&session->lock, LOCK_MS);
	if (is_locked && why)
		tp_session_recorder_fire(tp_clock_now(), why);
	tp_session_end(tp_clock_now(), is_locked);
	if (is_locked)
		tp_spin_unlock(&session->lock);
	tp_facts_add("end", how);
	tp_started_end(how);
	answer_at();

	if (tp_drain_stop(CLOSE_MS)) {
		tp_trigger_close();
		for (uint32_t i = 0; session->probes[i]; i++)
			if (session->probes[i]->close)
				session->probes[i]->close();
		tp_info("%lu steps, %u windows in '%s'", session->steps,
			tp_ring.head->windows_begun, identity->dir);
		tp_ring_close();
		tp_folder_close(&identity->folder);
		tp_own_table_stop();
	} else {
		tp_warn("not all records could be written before the end of the process; "
			"trainprof-merge takes the rest from '%s'", tp_ring.path);
		tp_ring_leave();
	}
	__atomic_store_n(&session->state, TP_SESSION_CLOSED, __ATOMIC_RELEASE);
	tp_cancel_release(held);
	errno = saved_errno;
}

void tp_session_close(const char *how)
{
	close_session(how, NULL);
}

void tp_session_fail(const char *how, int status)
{
	char why[TP_SESSION_WHY];
	struct tp_text text;

	tp_text_init(&text, why, sizeof(why));
	if (status < 0)
		tp_text_fmt(&text, "the program ended by signal %d", -status);
	else
		tp_text_fmt(&text, "the program ended with status %d", status);
	close_session(how, status ? why : NULL);
}

/* ---- fork ---- */

void tp_session_before_fork(void)
{
	tp_own_words_before_fork();
	if (!__atomic_load_n(&first_fork_ns, __ATOMIC_RELAXED))
		__atomic_store_n(&first_fork_ns, tp_clock_real_ns(), __ATOMIC_RELAXED);
	if (!tp_session_is_open())
		return;
	for (uint32_t i = 0; session->probes[i]; i++)
		if (session->probes[i]->before_fork)
			session->probes[i]->before_fork();
	/* So that no boundary is half crossed in the child's copy of our ledgers, and none of
	 * torch's locks is held in it for ever by a thread that was arming a probe here. */
	is_locked_for_fork = lock_within(&session->lock, LOCK_MS);
	for (uint32_t i = 0; is_locked_for_fork && session->is_switching && i < LOCK_MS * 10; i++) {
		tp_spin_unlock(&session->lock);
		tp_sleep_ns(100000);
		is_locked_for_fork = lock_within(&session->lock, LOCK_MS);
	}
	is_loader_locked = lock_within(&tp_loader_lock, LOCK_MS);
}

void tp_session_after_fork(bool in_child)
{
	const struct tp_probe *const *probes = session->probes;
	uint32_t state = __atomic_load_n(&session->state, __ATOMIC_ACQUIRE);
	bool is_locked = is_locked_for_fork;

	is_locked_for_fork = false;
	if (is_loader_locked)
		tp_spin_unlock(&tp_loader_lock);
	is_loader_locked = false;
	if (is_locked)
		tp_spin_unlock(&session->lock);
	for (uint32_t i = 0; !in_child && state == TP_SESSION_OPEN && probes[i]; i++)
		if (probes[i]->after_fork)
			probes[i]->after_fork();
	if (!in_child)
		return;
	tp_own_words_forked();
	/* Of a stranger: what is in its memory is not of its parent, and it never records. */
	if (tp_own_words_is_stranger())
		state = TP_SESSION_CLOSED;
	atomic_store(&tp_loader_lock.held, 0);
	if (state < TP_SESSION_CLOSING)
		tp_worker_forked(state == TP_SESSION_OPEN && !tp_session_is_follower()
					 ? tp_ring.head
					 : NULL);
	tp_own_table_forked();
	tp_session_reset();
	tp_rank_forked();
	tp_trigger_forked();
	tp_ring_forked();
	tp_own_fd_close(&identity->naming.ledger);
	tp_intern_reset();
	tp_facts_forked();
	/* What could not be opened in the parent is not tried again in each of its children. */
	if (state == TP_SESSION_CLOSED)
		__atomic_store_n(&session->state, TP_SESSION_CLOSED, __ATOMIC_RELEASE);
	if (state < TP_SESSION_OPEN)
		return;
	tp_drain_forked();
	tp_folder_close(&identity->folder);
	for (uint32_t i = 0; probes && probes[i]; i++)
		if (probes[i]->forked)
			probes[i]->forked();
}
