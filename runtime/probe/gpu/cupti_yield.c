/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_yield.c - ledger of the other user of CUPTI, and of the gaps that he made
 *
 * His calls are few (some dozens a profile), so a lock is good enough; it is not held while
 * CUPTI is called.
 */
#include "runtime/probe/gpu/cupti_yield.h"

#include <string.h>

#include "runtime/base/clock.h"
#include "runtime/base/loader.h"
#include "runtime/base/sync.h"
#include "runtime/base/text.h"
#include "runtime/engine/intern.h"
#include "runtime/engine/probe.h"
#include "runtime/engine/ring/ring.h"
#include "runtime/engine/session.h"
#include "runtime/probe/gpu/cupti_hold.h"
#include "runtime/probe/gpu/cupti_lib.h"
#include "runtime/probe/gpu/cupti_share.h"

enum {
	LEAVE_MS = 1000,	/* longest that a call of his waits for us */
	N_GAPS = 16,		/* between two looks of the drain */
	N_OTHERS = 8,
	NAME_BYTES = 128,
};
#define IDLE_NS 1000000000u
/* Shorter ones are counted, not marked: so long takes the taking itself when a window begins. */
#define GAP_LEAST_NS 1000000u

struct gap {
	uint64_t begin, end;	/* ticks; end 0: it goes on */
	uint64_t begin_ns;
	const char *who;	/* NULL: nobody, we were late */
};

static struct {
	struct tp_spin lock;
	/* The other user. */
	uint32_t n_subscribers;
	uint64_t kinds;			/* on; by number */
	bool has_recorded;		/* in this gap: kinds were on */
	bool has_flushed;		/* since they are off */
	CUpti_BuffersCallbackRequestFunc requested;
	CUpti_BuffersCallbackCompleteFunc completed;
	uint64_t last_ns;		/* when he called last */
	uint32_t n_acts;		/* atomic */

	struct gap gap[N_GAPS];
	uint32_t n_gaps;
	bool is_yielding;
	bool is_for_good;		/* atomic */
	uint32_t times;
	uint64_t ns;
	uint32_t n_unready;		/* the drain thread's: parts of windows before we were ready */
	uint64_t unready_ns;
	char name[N_OTHERS][NAME_BYTES];	/* stay: others may still be reading one */
	uint32_t n_names;
} yield = {.lock = {.rank = TP_LOCK_CUPTI}};

/* ---- gaps ---- */

/* The file's name, kept; the last place is everybody's for whom there is none. */
static const char *keep_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	const char *name = slash ? slash + 1 : path ? path : "the program";
	struct tp_text text;

	for (uint32_t i = 0; i < yield.n_names; i++)
		if (!strncmp(yield.name[i], name, NAME_BYTES - 1))
			return yield.name[i];
	if (yield.n_names == N_OTHERS)
		return yield.name[N_OTHERS - 1];
	tp_text_init(&text, yield.name[yield.n_names], NAME_BYTES);
	tp_text_str(&text, name);
	return yield.name[yield.n_names++];
}

/* NULL: we have CUPTI. */
static struct gap *find_open_gap(void)
{
	struct gap *last = yield.n_gaps ? &yield.gap[yield.n_gaps - 1] : NULL;

	return last && !last->end ? last : NULL;
}

static void begin_gap(const char *who)
{
	struct gap *open = find_open_gap();

	/* It goes on, or there are more than the drain has looked at: then two become one. */
	if (open) {
		if (!open->who)
			open->who = who;
		return;
	}
	if (yield.n_gaps == N_GAPS) {
		yield.gap[--yield.n_gaps].end = 0;
	} else {
		yield.gap[yield.n_gaps] = (struct gap){.begin = tp_clock_now(), .who = who};
	}
	yield.gap[yield.n_gaps++].begin_ns = tp_clock_mono_ns();
}

void tp_cupti_yield(const char *who)
{
	const char *name;

	tp_spin_lock(&yield.lock);
	name = keep_name(who);
	if (!yield.is_yielding) {
		yield.is_yielding = true;
		yield.times++;
		yield.has_recorded = false;
		yield.has_flushed = false;
		begin_gap(name);
	}
	tp_spin_unlock(&yield.lock);
	tp_cupti_want_none(name);
	tp_cupti_leave(LEAVE_MS);
}

void tp_cupti_look_for_bindings(void)
{
	static const struct {
		const char *library, *name, *user;
	} unseen[] = {
		{"cycupti.", "cupti-python", "torch.profiler's _cuspy"},
		{"xla_cuda_plugin.", "JAX", "JAX's profiler"},
	};
	enum { N = sizeof(unseen) / sizeof(unseen[0]) };
	char path[512], why[640];
	struct tp_text text;
	uint32_t i = 0;
	bool is_known;

	if (__atomic_load_n(&yield.is_for_good, __ATOMIC_RELAXED) || !tp_cupti_cuda_is_here())
		return;
	while (i < N && !tp_loader_find(unseen[i].library, path))
		i++;
	if (i == N)
		return;
	tp_spin_lock(&yield.lock);
	is_known = yield.is_for_good;
	__atomic_store_n(&yield.is_for_good, true, __ATOMIC_RELAXED);
	tp_spin_unlock(&yield.lock);
	if (is_known)
		return;
	tp_text_init(&text, why, sizeof(why));
	tp_text_fmt(&text, "CUPTI is left to %s ('%s'), by which %s uses it unseen", unseen[i].name, path,
		    unseen[i].user);
	tp_probe_off("cuda", why);
	tp_cupti_yield(unseen[i].name);
}

void tp_cupti_resume(void)
{
	tp_spin_lock(&yield.lock);
	yield.is_yielding = false;
	tp_spin_unlock(&yield.lock);
	tp_cupti_want_none(NULL);
}

void tp_cupti_gap_late(void)
{
	tp_spin_lock(&yield.lock);
	begin_gap(NULL);
	tp_spin_unlock(&yield.lock);
}

void tp_cupti_gap_over(void)
{
	struct gap *gap;

	tp_spin_lock(&yield.lock);
	gap = find_open_gap();
	if (gap) {
		gap->end = tp_clock_now();
		yield.ns += gap->who ? tp_clock_mono_ns() - gap->begin_ns : 0;
	}
	tp_spin_unlock(&yield.lock);
}

static void record_gap(const struct gap *gap, uint64_t begin, uint64_t end)
{
	struct tp_clock_anchor start, now;
	char buf[NAME_BYTES + 64];
	struct tp_text text;
	struct tp_rec *rec;
	uint32_t name;
	uint64_t ns;

	memcpy(&start, &tp_ring.head->anchor[0], sizeof(start));
	tp_clock_take_anchor(&now);
	ns = tp_clock_to_mono(&start, &now, end) - tp_clock_to_mono(&start, &now, begin);
	if (!gap->who) {
		yield.n_unready++;
		yield.unready_ns += ns;
	}
	if (ns < GAP_LEAST_NS)
		return;
	tp_text_init(&text, buf, sizeof(buf));
	tp_text_fmt(&text, "trainprof: CUPTI was %s%s", gap->who ? "used by " : "not ready",
		    gap->who ? gap->who : "");
	name = tp_intern_text(buf);
	rec = tp_ring_reserve();
	if (!rec)
		return;
	rec->time = begin;
	tp_rec_set_len(rec, 0);
	rec->kind = TP_REC_MARK;
	rec->flags = 0;
	rec->name = name;
	rec->link = 0;
	rec->arg = ns;
	tp_ring_commit();
}

void tp_cupti_yield_mark(const struct tp_cupti_wanted *window)
{
	struct gap gap[N_GAPS];
	uint32_t n = 0, n_left = 0;

	tp_spin_lock(&yield.lock);
	for (uint32_t i = 0; i < yield.n_gaps; i++) {
		struct gap *at = &yield.gap[i];
		bool is_known = at->end || window->end;

		if (is_known && window->has_window)
			gap[n++] = *at;
		/* What goes on, or was over later, goes on in the next window, which may have begun. */
		if (window->has_window && window->end && (!at->end || at->end > window->end)) {
			if (window->end > at->begin)
				at->begin = window->end;
			yield.gap[n_left++] = *at;
		} else if (!at->end) {
			yield.gap[n_left++] = *at;
		}
	}
	yield.n_gaps = n_left;
	tp_spin_unlock(&yield.lock);

	for (uint32_t i = 0; i < n; i++) {
		uint64_t begin = gap[i].begin > window->begin ? gap[i].begin : window->begin;
		uint64_t end = gap[i].end;

		if (!end || (window->end && window->end < end))
			end = window->end;
		if (begin < end)
			record_gap(&gap[i], begin, end);
	}
}

void tp_cupti_yielded(uint32_t *times, uint64_t *ns)
{
	const struct gap *open;

	tp_spin_lock(&yield.lock);
	open = find_open_gap();
	*times = yield.times;
	*ns = yield.ns + (open && open->who ? tp_clock_mono_ns() - open->begin_ns : 0);
	tp_spin_unlock(&yield.lock);
}

void tp_cupti_unready(uint32_t *times, uint64_t *ns)
{
	*times = yield.n_unready;
	*ns = yield.unready_ns;
}

/* ---- the other user ---- */

static bool takes(enum tp_cupti_act act)
{
	return act == TP_CUPTI_SUBSCRIBE || act == TP_CUPTI_REGISTER || act == TP_CUPTI_TIMESTAMP ||
	       act == TP_CUPTI_ENABLE || act == TP_CUPTI_FINALIZE;
}

void tp_cupti_other_begins(const struct tp_cupti_call *call)
{
	CUpti_BuffersCallbackRequestFunc requested = NULL;
	CUpti_BuffersCallbackCompleteFunc completed = NULL;
	bool was_yielding;

	tp_spin_lock(&yield.lock);
	yield.last_ns = tp_clock_mono_ns();
	was_yielding = yield.is_yielding;
	if (call->act == TP_CUPTI_ENABLE && !was_yielding) {
		requested = yield.requested;
		completed = yield.completed;
	}
	tp_spin_unlock(&yield.lock);
	if (takes(call->act) && !was_yielding) {
		tp_cupti_yield(call->who);
		/* He registered his buffers once, before ours. */
		if (requested && tp_cupti.version)
			tp_cupti.cuptiActivityRegisterCallbacks(requested,
								tp_cupti_share_with(requested, completed));
	}
	if (call->act == TP_CUPTI_ENABLE)
		tp_cupti_share_kind(call->kind);
}

static bool is_done(void)
{
	if (yield.kinds || yield.is_for_good)
		return false;
	return yield.has_recorded ? yield.has_flushed : !yield.n_subscribers;
}

/* Registered only, so far: the kinds are about to come. */
static bool is_about_to_record(const struct tp_cupti_call *call)
{
	return call->act == TP_CUPTI_REGISTER || call->act == TP_CUPTI_TIMESTAMP;
}

static void note(const struct tp_cupti_call *call)
{
	uint64_t kind = (uint32_t)call->kind < 64 ? 1ull << call->kind : 0;

	switch (call->act) {
	case TP_CUPTI_SUBSCRIBE:
		yield.n_subscribers++;
		break;
	case TP_CUPTI_UNSUBSCRIBE:
		yield.n_subscribers -= yield.n_subscribers != 0;
		break;
	case TP_CUPTI_REGISTER:
		yield.requested = call->requested;
		yield.completed = call->completed;
		break;
	case TP_CUPTI_TIMESTAMP:
		break;
	case TP_CUPTI_ENABLE:
		yield.kinds |= kind;
		yield.has_recorded = true;
		yield.has_flushed = false;
		break;
	case TP_CUPTI_DISABLE:
		yield.kinds &= ~kind;
		break;
	case TP_CUPTI_FLUSH:
		yield.has_flushed = !yield.kinds;
		break;
	case TP_CUPTI_FINALIZE:
		yield.n_subscribers = 0;
		yield.kinds = 0;
		yield.has_flushed = true;
		yield.requested = NULL;
		yield.completed = NULL;
		tp_cupti_share_forget();
		break;
	}
}

void tp_cupti_other_did(const struct tp_cupti_call *call, bool has_worked)
{
	bool is_over;

	tp_spin_lock(&yield.lock);
	__atomic_fetch_add(&yield.n_acts, 1, __ATOMIC_RELAXED);
	if (has_worked)
		note(call);
	is_over = yield.is_yielding && is_done() && !(has_worked && is_about_to_record(call));
	tp_spin_unlock(&yield.lock);
	if (!is_over)
		return;
	tp_cupti_resume();
	/* Unsubscribing and finalising may be done within a callback: there the next tick is
	 * early enough. */
	if (call->act == TP_CUPTI_FLUSH && tp_session_is_armed())
		tp_cupti_follow();
}

void tp_cupti_yield_look(void)
{
	bool is_over;

	tp_spin_lock(&yield.lock);
	is_over = yield.is_yielding && !yield.is_for_good && !yield.kinds &&
		  (yield.has_recorded || !yield.n_subscribers) &&
		  tp_clock_mono_ns() - yield.last_ns > IDLE_NS;
	tp_spin_unlock(&yield.lock);
	if (is_over)
		tp_cupti_resume();
}

bool tp_cupti_has_other_subscriber(void)
{
	bool has_one;

	tp_spin_lock(&yield.lock);
	has_one = yield.n_subscribers != 0;
	tp_spin_unlock(&yield.lock);
	return has_one;
}

uint32_t tp_cupti_other_came(void)
{
	return __atomic_load_n(&yield.n_acts, __ATOMIC_RELAXED);
}

void tp_cupti_yield_forked(void)
{
	/* CUPTI is nobody's in the child. */
	memset(&yield, 0, sizeof(yield));
	tp_cupti_share_forget();
	yield.lock.rank = TP_LOCK_CUPTI;
	tp_cupti_want_none(NULL);
}
