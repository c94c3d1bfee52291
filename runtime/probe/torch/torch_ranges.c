/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torch_ranges.c - who gets our callback for user ranges: all threads, or each range its own
 *
 * As long as torch has a callback for all threads it copies its list of them, under a lock, and builds one
 * list for each scope from it, twice for each node of a backward pass: 1 to 2 % of a training with small
 * operators, though no range is made there. So outside of windows there is none. A range is given its own,
 * for its thread alone and only while its constructor runs (preload/hook_torch.c), which takes what there is
 * for the range's whole life.
 *
 * For that ranges have to come by that constructor. The first ones, and all of windows, come by the callback
 * for all, which looks at that: it stays for the whole run when one came another way, or where this torch
 * has no callbacks for a thread. It is back for a fork, too: its child then needs no function of torch that
 * takes a lock, which another thread of the parent may have held.
 */
#include "runtime/probe/torch/torch_ranges.h"

#include <pthread.h>

#include "runtime/probe/torch/torch_state.h"

enum {
	GRACE = 8,	/* ranges that the callback for all still sees when it may go */
	SPINS = 10000,	/* at most, while another thread adds or removes that */
	TRIES = 50,	/* to have the lock for a fork */
	TRY_NS = 100000,
};

static struct {
	pthread_mutex_t lock;		/* held for a us, at the edges of windows and around forks */
	uint64_t handle;		/* of the callback for all, 0: it is not registered */
	bool is_armed;
	uint32_t n_forking;		/* threads */
	uint32_t turn;			/* atomic: odd while the callback for all is added or removed */
	bool is_each;			/* atomic: ranges are given their own */
	bool has_other_ways;		/* atomic: a range came past our constructor */
	uint32_t n_relying;		/* atomic: constructors at work that count on that for all */
	uint32_t left;			/* atomic: ranges until that goes; 0: it stays, or is not there */
} ranges = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The last range that was made on this thread. */
static __thread const void *made __attribute__((tls_model("initial-exec")));

static bool may_be_each(void)
{
	return tp_torch.abi.add_own && !__atomic_load_n(&ranges.has_other_ways, __ATOMIC_RELAXED);
}

/* ---- ranges ---- */

static uint32_t await_turn(void)
{
	uint32_t turn = __atomic_load_n(&ranges.turn, __ATOMIC_ACQUIRE);

	for (unsigned spins = 0; tp_unlikely(turn % 2) && spins < SPINS; spins++) {
		if (spins > SPINS / 100)
			tp_spin_pause(spins);
		turn = __atomic_load_n(&ranges.turn, __ATOMIC_ACQUIRE);
	}
	return turn;
}

struct tp_torch_range_made tp_torch_range_enter(const void *range)
{
	struct tp_torch_range_made entered = {.turn = await_turn()};

	made = range;
	/* Before it is looked whether the callback for all may have gone: who counts on it is counted. */
	__atomic_fetch_add(&ranges.n_relying, 1, __ATOMIC_SEQ_CST);
	if (tp_likely(__atomic_load_n(&ranges.is_each, __ATOMIC_SEQ_CST))) {
		__atomic_fetch_sub(&ranges.n_relying, 1, __ATOMIC_RELEASE);
		entered.own = tp_torch.abi.add_own(tp_torch_range_callback());
	}
	return entered;
}

bool tp_torch_range_leave(void *range, struct tp_torch_range_made entered)
{
	if (tp_unlikely(!entered.own)) {
		__atomic_fetch_sub(&ranges.n_relying, 1, __ATOMIC_RELEASE);
		return true;
	}
	tp_torch.abi.remove(entered.own);
	if (tp_likely(__atomic_load_n(&ranges.turn, __ATOMIC_ACQUIRE) == entered.turn))
		return true;
	/* It may have both. */
	tp_torch.abi.destruct(range);
	return false;
}

void tp_torch_range_came(const void *range, bool is_async)
{
	/* An asynchronous one may have been made on another thread. */
	if (tp_unlikely(range != made && !is_async))
		__atomic_store_n(&ranges.has_other_ways, true, __ATOMIC_RELAXED);
}

static void change(void)
{
	__atomic_fetch_add(&ranges.turn, 1, __ATOMIC_SEQ_CST);
}

/* The lock is held. */
static void remove_handle(void)
{
	if (ranges.handle)
		tp_torch.abi.remove(ranges.handle);
	ranges.handle = 0;
}

static void remove_for_all(void)
{
	bool may_go;

	change();
	__atomic_store_n(&ranges.is_each, true, __ATOMIC_SEQ_CST);
	may_go = !__atomic_load_n(&ranges.n_relying, __ATOMIC_SEQ_CST);
	if (may_go) {
		remove_handle();
	} else {
		__atomic_store_n(&ranges.is_each, false, __ATOMIC_SEQ_CST);
		__atomic_store_n(&ranges.left, 1, __ATOMIC_RELAXED);
	}
	change();
}

void tp_torch_range_ended(void)
{
	if (tp_likely(!__atomic_load_n(&ranges.left, __ATOMIC_RELAXED)) ||
	    pthread_mutex_trylock(&ranges.lock))
		return;
	if (!may_be_each())
		__atomic_store_n(&ranges.left, 0, __ATOMIC_RELAXED);
	else if (ranges.left && !__atomic_sub_fetch(&ranges.left, 1, __ATOMIC_RELAXED))
		remove_for_all();
	pthread_mutex_unlock(&ranges.lock);
}

/* ---- the callback for all; the lock is held ---- */

static void add_for_all(bool with_backward)
{
	struct tp_torch_callback callback = tp_torch_range_callback();

	callback.scopes[TP_SCOPE_BACKWARD] = with_backward;
	__atomic_store_n(&ranges.left, 0, __ATOMIC_RELAXED);
	change();
	if (!ranges.handle)
		ranges.handle = tp_torch.abi.add(callback);
	__atomic_store_n(&ranges.is_each, false, __ATOMIC_SEQ_CST);
	change();
}

static void let_go(void)
{
	if (ranges.handle && !ranges.is_armed && !ranges.n_forking && may_be_each())
		__atomic_store_n(&ranges.left, GRACE, __ATOMIC_RELAXED);
}

void tp_torch_ranges_watch(void)
{
	pthread_mutex_lock(&ranges.lock);
	add_for_all(true);
	pthread_mutex_unlock(&ranges.lock);
}

void tp_torch_ranges_open(void)
{
	pthread_mutex_lock(&ranges.lock);
	remove_handle();
	add_for_all(false);
	let_go();
	pthread_mutex_unlock(&ranges.lock);
}

void tp_torch_ranges_arm(void)
{
	pthread_mutex_lock(&ranges.lock);
	ranges.is_armed = true;
	add_for_all(false);
	pthread_mutex_unlock(&ranges.lock);
}

void tp_torch_ranges_disarm(void)
{
	pthread_mutex_lock(&ranges.lock);
	ranges.is_armed = false;
	let_go();
	pthread_mutex_unlock(&ranges.lock);
}

void tp_torch_ranges_end(bool may_call)
{
	__atomic_store_n(&ranges.left, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&ranges.is_each, false, __ATOMIC_SEQ_CST);
	if (!may_call)
		return;
	pthread_mutex_lock(&ranges.lock);
	remove_handle();
	pthread_mutex_unlock(&ranges.lock);
}

/* ---- forks ---- */

/* False: another thread has it and does not go on, or it is ours: a signal came, and its handler forks. */
static bool lock_for_fork(void)
{
	uint32_t i = 0;

	while (pthread_mutex_trylock(&ranges.lock)) {
		if (++i == TRIES)
			return false;
		tp_sleep_ns(TRY_NS);
	}
	return true;
}

void tp_torch_ranges_before_fork(void)
{
	if (!lock_for_fork())
		return;
	ranges.n_forking++;
	if (__atomic_load_n(&ranges.is_each, __ATOMIC_RELAXED))
		add_for_all(false);
	__atomic_store_n(&ranges.left, 0, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&ranges.lock);
}

void tp_torch_ranges_after_fork(void)
{
	if (!lock_for_fork())
		return;
	ranges.n_forking -= ranges.n_forking != 0;
	let_go();
	pthread_mutex_unlock(&ranges.lock);
}

bool tp_torch_ranges_forked(void)
{
	pthread_mutex_init(&ranges.lock, NULL);
	ranges.is_armed = false;
	ranges.n_forking = ranges.turn = ranges.n_relying = ranges.left = 0;
	return !ranges.is_each;
}
