/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_hold.c - CUPTI is found, taken, switched, flushed and let go: the only calls that do so
 *
 * All happens on the thread that has the turn, with tp_cupti_inside set: CUPTI may call its own
 * functions by name, and so come by our hooks.
 */
#include "runtime/probe/gpu/cupti_hold.h"

#include <errno.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/base/loader.h"
#include "runtime/base/log.h"
#include "runtime/base/sync.h"
#include "runtime/base/text.h"
#include "runtime/engine/probe.h"
#include "runtime/engine/session.h"
#include "runtime/probe/gpu/cupti_buffers.h"
#include "runtime/probe/gpu/cupti_calls.h"
#include "runtime/probe/gpu/cupti_decode.h"
#include "runtime/probe/gpu/cupti_kinds.h"
#include "runtime/probe/gpu/cupti_lib.h"
#include "runtime/probe/gpu/cupti_share.h"
#include "runtime/probe/gpu/cupti_yield.h"

enum { PER_THREAD_FROM = 21 };	/* CUPTI_API_VERSION of 12.3 */

__thread uint32_t tp_cupti_inside
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

static struct {
	const struct tp_config *config;
	pid_t pid;			/* atomic: in which CUDA is here; 0: it is not */
	bool is_over;			/* atomic: CUPTI must not be called any more */
	uint32_t has_turn;		/* atomic: some thread has */
	uint32_t state;			/* atomic: enum tp_cupti_state; written by who has the turn */
	bool are_records_wanted;	/* atomic */
	const char *other;		/* atomic: the other user */

	/* Written by who has the turn. */
	bool is_subscribed;		/* atomic; else another subscriber keeps the place */
	uint32_t refused_at;		/* atomic; what others had done when we subscribed last */
	bool is_lib_missing;		/* atomic */
	char why[640];			/* it is off */
	bool is_said;
	uint64_t n_dropped;		/* atomic */

	unsigned long long n_loaded;	/* objects, at the last look */
	bool has_libcuda;
	const char *taken_by;
} hold;

/* ---- the turn ---- */

static pid_t cuda_pid(void)
{
	return __atomic_load_n(&hold.pid, __ATOMIC_RELAXED);
}

static bool take_turn(void)
{
	uint32_t nobody = 0;

	if (!__atomic_compare_exchange_n(&hold.has_turn, &nobody, 1, false, __ATOMIC_SEQ_CST,
					 __ATOMIC_RELAXED))
		return false;
	tp_cupti_inside++;
	return true;
}

static void give_turn(void)
{
	tp_cupti_inside--;
	__atomic_store_n(&hold.has_turn, 0, __ATOMIC_SEQ_CST);
}

enum tp_cupti_state tp_cupti_hold_state(void)
{
	return (enum tp_cupti_state)__atomic_load_n(&hold.state, __ATOMIC_SEQ_CST);
}

static void set_state(enum tp_cupti_state state)
{
	__atomic_store_n(&hold.state, state, __ATOMIC_SEQ_CST);
}

static bool may_call(void)
{
	return hold.config && cuda_pid() == getpid() &&
	       !__atomic_load_n(&hold.is_over, __ATOMIC_ACQUIRE);
}

static enum tp_cupti_state get_wanted(void)
{
	enum tp_cupti_state state = tp_cupti_hold_state();

	if (state == TP_CUPTI_OFF || tp_cupti_calls_is_dead())
		return TP_CUPTI_OFF;
	if (__atomic_load_n(&hold.other, __ATOMIC_SEQ_CST))
		return TP_CUPTI_AWAY;
	return __atomic_load_n(&hold.are_records_wanted, __ATOMIC_SEQ_CST) ? TP_CUPTI_ON
									   : TP_CUPTI_HELD;
}

/* ---- taking and leaving ---- */

static void set_attribute(CUpti_ActivityAttribute attribute, uint8_t value)
{
	size_t size = sizeof(value);

	tp_cupti_is_ok(tp_cupti.cuptiActivitySetAttribute(attribute, &size, &value));
}

static void fail(const char *what, const char *why)
{
	struct tp_text text;

	tp_text_init(&text, hold.why, sizeof(hold.why));
	tp_text_fmt(&text, "%s%s", what, why);
	set_state(TP_CUPTI_OFF);
}

/* Subscribes where nobody else of this process keeps the place. False: CUPTI is not to be had. */
static bool subscribe(void)
{
	char why[320] = "";
	int err = tp_cupti_calls_open(why, sizeof(why));

	__atomic_store_n(&hold.is_subscribed, !err, __ATOMIC_RELAXED);
	__atomic_store_n(&hold.refused_at, tp_cupti_other_came(), __ATOMIC_RELAXED);
	if (err == -EBUSY && tp_cupti_has_other_subscriber()) {
		/* He never lets go (Kineto does not), and records need no subscriber. */
		if (hold.config->record & TP_RECORD_DEVMEM)
			tp_probe_off("devmem.calls", "another subscriber of this process has CUPTI's "
				     "callbacks");
		return true;
	}
	if (err) {
		fail("", why);
		return false;
	}
	if (hold.config->record & TP_RECORD_DEVMEM)
		tp_cupti_calls_memory(tp_cupti_hold_state() == TP_CUPTI_ON ? TP_CUPTI_MEMORY_ALL :
									     TP_CUPTI_MEMORY_RARE);
	return true;
}

static void take(void)
{
	char why[512] = "";
	CUptiResult result;

	if (hold.taken_by) {
		fail("CUDA_INJECTION64_PATH was set to another tool: ", hold.taken_by);
		return;
	}
	if (tp_cupti_lib_open(hold.config->cupti_lib, why, sizeof(why))) {
		__atomic_store_n(&hold.is_lib_missing, true, __ATOMIC_RELAXED);
		fail("", why);
		return;
	}
	__atomic_store_n(&hold.is_lib_missing, false, __ATOMIC_RELAXED);
	if (!subscribe())
		return;
	if (tp_cupti_decode_init(tp_cupti.version) ||
	    tp_cupti_buffers_open(hold.config->cupti_bytes, tp_cupti.version)) {
		tp_cupti_calls_close();
		fail("", "no memory for CUPTI's buffers");
		return;
	}
	/* Each before the first buffer. One set of buffers for all threads: their memory has a cap,
	 * and PyTorch launches from two or three threads. */
	tp_cupti_is_ok(tp_cupti.cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM));
	if (tp_cupti.version >= PER_THREAD_FROM)
		set_attribute(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, 0);
	set_attribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, 1);
	result = tp_cupti.cuptiActivityRegisterCallbacks(tp_cupti_buffer_requested,
							 tp_cupti_share_ours());
	if (!tp_cupti_is_ok(result)) {
		tp_cupti_calls_close();
		fail("CUPTI refuses our buffers: ", tp_cupti_error(result));
		return;
	}
	set_state(TP_CUPTI_HELD);
	if (!__atomic_load_n(&hold.are_records_wanted, __ATOMIC_RELAXED))
		tp_cupti_gap_over();
}

static bool is_subscribed(void)
{
	return __atomic_load_n(&hold.is_subscribed, __ATOMIC_RELAXED);
}

static void stop_hearing(void)
{
	if (is_subscribed())
		tp_cupti_calls_close();
	__atomic_store_n(&hold.is_subscribed, false, __ATOMIC_RELAXED);
}

static void count_dropped(void)
{
	size_t n = 0;

	if (tp_cupti_is_ok(tp_cupti.cuptiActivityGetNumDroppedRecords(NULL, 0, &n)))
		__atomic_fetch_add(&hold.n_dropped, n, __ATOMIC_RELAXED);
}

/* What was recorded for us comes back to us; then CUPTI is as if we had not been there. */
static void leave(void)
{
	tp_cupti_is_ok(tp_cupti.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
	count_dropped();
	set_attribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, 0);
	tp_cupti_is_ok(tp_cupti.cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT));
	stop_hearing();
	set_state(TP_CUPTI_AWAY);
}

/* What is called often is heard in windows only. */
static void hear_memory(enum tp_cupti_memory which)
{
	if (is_subscribed() && hold.config->record & TP_RECORD_DEVMEM)
		tp_cupti_calls_memory(which);
}

static void switch_on(void)
{
	hear_memory(TP_CUPTI_MEMORY_ALL);
	tp_cupti_kinds_on(hold.config);
	set_state(TP_CUPTI_ON);
	tp_cupti_gap_over();
}

static void switch_off(void)
{
	/* First: who wants them meanwhile sees that they are off, and notes the gap. Unless that was already,
	 * by somebody who saw them on. */
	set_state(TP_CUPTI_HELD);
	if (get_wanted() == TP_CUPTI_ON) {
		set_state(TP_CUPTI_ON);
		tp_cupti_gap_over();
		return;
	}
	tp_cupti_kinds_off();
	hear_memory(TP_CUPTI_MEMORY_RARE);
}

/* One step of the way. */
static void step(enum tp_cupti_state from, enum tp_cupti_state to)
{
	if (to == TP_CUPTI_OFF)
		fail("", "CUPTI gave up after a fatal error");
	else if (from == TP_CUPTI_AWAY)
		take();
	else if (from == TP_CUPTI_ON)
		switch_off();
	else if (to == TP_CUPTI_ON)
		switch_on();
	else
		leave();
}

/* Another subscriber was in the way; he is gone. */
static bool may_subscribe(enum tp_cupti_state state)
{
	return (state == TP_CUPTI_HELD || state == TP_CUPTI_ON) && !is_subscribed() &&
	       !tp_cupti_has_other_subscriber() &&
	       __atomic_load_n(&hold.refused_at, __ATOMIC_RELAXED) != tp_cupti_other_came();
}

void tp_cupti_follow(void)
{
	enum tp_cupti_state state, wanted;

	while (may_call() && get_wanted() != tp_cupti_hold_state()) {
		if (!take_turn())
			return;
		while ((state = tp_cupti_hold_state()) != (wanted = get_wanted()) && may_call())
			step(state, wanted);
		give_turn();
	}
	if (may_call() && may_subscribe(tp_cupti_hold_state()) && take_turn()) {
		if (may_subscribe(tp_cupti_hold_state()))
			subscribe();
		give_turn();
	}
}

void tp_cupti_leave(uint32_t ms)
{
	enum tp_cupti_state state;

	for (uint32_t i = 0; i < ms * 10 && may_call(); i++) {
		tp_cupti_follow();
		/* Who has the turn may be taking CUPTI, and is away until that is done. */
		if (!__atomic_load_n(&hold.has_turn, __ATOMIC_SEQ_CST)) {
			state = tp_cupti_hold_state();
			if (state == TP_CUPTI_AWAY || state == TP_CUPTI_OFF)
				return;
		}
		tp_sleep_ns(100000);
	}
}

bool tp_cupti_flush(bool is_forced)
{
	enum tp_cupti_state state;
	uint32_t flag = is_forced ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0;

	if (!may_call())
		return true;
	if (!take_turn())
		return false;
	state = tp_cupti_hold_state();
	if ((state == TP_CUPTI_HELD || state == TP_CUPTI_ON) && !tp_cupti_calls_is_dead()) {
		tp_cupti_is_ok(tp_cupti.cuptiActivityFlushAll(flag));
		count_dropped();
	}
	give_turn();
	/* Somebody may have wanted something meanwhile. */
	tp_cupti_follow();
	return true;
}

uint64_t tp_cupti_dropped(void)
{
	return __atomic_load_n(&hold.n_dropped, __ATOMIC_RELAXED);
}

/* ---- what is wanted ---- */

void tp_cupti_want_records(bool is_wanted)
{
	__atomic_store_n(&hold.are_records_wanted, is_wanted, __ATOMIC_SEQ_CST);
}

void tp_cupti_want_none(const char *other)
{
	__atomic_store_n(&hold.other, other, __ATOMIC_SEQ_CST);
}

/* ---- CUDA ---- */

static int count_loaded(struct dl_phdr_info *info, size_t size, void *ctx)
{
	*(unsigned long long *)ctx = info->dlpi_adds;
	return 1;
}

/* Devices of an initialised CUDA. */
static bool has_devices(void)
{
	__typeof__(&cuDeviceGetCount) get_count;
	int n = 0;

	*(void **)&get_count = tp_cupti_driver("cuDeviceGetCount");
	hold.has_libcuda |= get_count != NULL;
	return get_count && get_count(&n) == CUDA_SUCCESS && n > 0;
}

void tp_cupti_look_for_cuda(void)
{
	unsigned long long n_loaded = 0;
	uint32_t off = TP_CUPTI_OFF;

	if (!hold.config || __atomic_load_n(&hold.is_over, __ATOMIC_ACQUIRE) || !take_turn())
		return;
	dl_iterate_phdr(count_loaded, &n_loaded);
	if (cuda_pid()) {
		/* CUPTI may have been loaded by now. */
		if (__atomic_load_n(&hold.is_lib_missing, __ATOMIC_RELAXED) &&
		    n_loaded != hold.n_loaded)
			__atomic_compare_exchange_n(&hold.state, &off, TP_CUPTI_AWAY, false,
						    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
	} else if ((hold.has_libcuda || n_loaded != hold.n_loaded) && has_devices()) {
		__atomic_store_n(&hold.pid, getpid(), __ATOMIC_RELAXED);
	}
	hold.n_loaded = n_loaded;
	give_turn();
}

void tp_cupti_cuda_came(void)
{
	char path[512];

	if (!hold.config || cuda_pid())
		return;
	__atomic_store_n(&hold.pid, getpid(), __ATOMIC_RELAXED);
	tp_cupti_look_for_bindings();
	/* Else nothing may ever be recorded, and CUPTI is left to whoever wants it: JAX's profiler
	 * would be refused. A session that opens takes it. */
	if (tp_session_is_open() || tp_loader_find("libc10.so", path))
		tp_cupti_follow();
}

bool tp_cupti_cuda_is_here(void)
{
	return cuda_pid() != 0;
}

void tp_cupti_say_off(void)
{
	if (hold.is_said || tp_cupti_hold_state() != TP_CUPTI_OFF || cuda_pid() != getpid() ||
	    !has_devices())
		return;
	hold.is_said = true;
	tp_probe_off("cuda", hold.why);
}

/* ---- begin and end ---- */

void tp_cupti_hold_init(const struct tp_config *config)
{
	if (config->record & (TP_RECORD_CUDA | TP_RECORD_DEVMEM))
		hold.config = config;
}

const struct tp_config *tp_cupti_hold_config(void)
{
	return hold.config;
}

void tp_cupti_hold_taken(const char *path)
{
	hold.taken_by = path;
}

void tp_cupti_hold_end(void)
{
	__atomic_store_n(&hold.is_over, true, __ATOMIC_RELEASE);
}

void tp_cupti_hold_close(void)
{
	enum tp_cupti_state state;

	tp_cupti_want_records(false);
	tp_cupti_follow();
	if (!may_call() || !take_turn())
		return;
	state = tp_cupti_hold_state();
	if (state == TP_CUPTI_HELD || state == TP_CUPTI_ON)
		stop_hearing();
	tp_cupti_hold_end();
	give_turn();
}

void tp_cupti_hold_forked(void)
{
	bool was_here = cuda_pid() != 0;

	__atomic_store_n(&hold.pid, 0, __ATOMIC_RELAXED);
	hold.has_turn = 0;
	hold.state = TP_CUPTI_AWAY;
	hold.are_records_wanted = false;
	hold.is_subscribed = false;
	hold.n_dropped = 0;
	hold.is_over |= was_here;
	tp_cupti_inside = 0;
}
