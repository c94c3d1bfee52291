/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_yield.c - another user of CUPTI comes, and goes
 *
 * What he asks comes through other(), as preload/hook_cupti.c would have it.
 */
#include <criterion/criterion.h>

#include "runtime/base/clock.h"
#include "runtime/probe/gpu/cupti.h"
#include "runtime/probe/gpu/cupti_buffers.h"
#include "runtime/probe/gpu/cupti_hold.h"
#include "runtime/probe/gpu/cupti_yield.h"
#include "tests/unit/cupti_rig.h"

static const struct tp_probe *const with_cupti[] = {&tp_cupti_probe, NULL};

static void start(const char *schedule)
{
	char bad[64];

	lib.per_thread = 1;
	rig_set_cupti();
	rig_set_up();
	rig_config.log = TP_LOG_QUIET;
	cr_assert_eq(tp_sched_parse(&rig_config.schedule, schedule, bad, sizeof(bad)), 0);
	tp_cupti_allow(&rig_config);
	tp_cupti_inject();
	cr_assert_eq(tp_session_open(&rig_config, with_cupti, "file:/x/train.py"), 0);
}

/* ---- the other user ---- */

static void others_requested(uint8_t **buffer, size_t *size, size_t *most)
{
}

static uint32_t n_others;

static void others_completed(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
			     size_t valid)
{
	n_others++;
}

static CUpti_SubscriberHandle others;

static CUptiResult other_of(enum tp_cupti_act act, CUpti_ActivityKind kind, const char *who)
{
	struct tp_cupti_call call = {.act = act, .kind = kind, .who = who};
	CUptiResult result = CUPTI_SUCCESS;

	if (act == TP_CUPTI_REGISTER) {
		call.requested = others_requested;
		call.completed = others_completed;
	}
	tp_cupti_other_begins(&call);
	switch (act) {
	case TP_CUPTI_SUBSCRIBE:
		result = subscribe(&others, NULL, NULL);
		break;
	case TP_CUPTI_UNSUBSCRIBE:
		result = unsubscribe(others);
		break;
	case TP_CUPTI_REGISTER:
		result = register_buffers(others_requested, others_completed);
		break;
	case TP_CUPTI_TIMESTAMP:
		break;
	case TP_CUPTI_ENABLE:
		result = enable(kind);
		break;
	case TP_CUPTI_DISABLE:
		result = disable(kind);
		break;
	case TP_CUPTI_FLUSH:
		result = flush(0);
		break;
	case TP_CUPTI_FINALIZE:
		memset(&lib, 0, sizeof(lib));
		break;
	}
	tp_cupti_other_did(&call, result == CUPTI_SUCCESS);
	return result;
}

static CUptiResult other(enum tp_cupti_act act, CUpti_ActivityKind kind)
{
	return other_of(act, kind, "/x/torch/lib/libtorch_cpu.so");
}

static void profile_with_kineto(void)
{
	other(TP_CUPTI_REGISTER, 0);
	other(TP_CUPTI_ENABLE, CUPTI_ACTIVITY_KIND_MEMCPY);
	other(TP_CUPTI_ENABLE, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	usleep(2000);
	cr_expect_eq(lib.kinds, 1ull << CUPTI_ACTIVITY_KIND_MEMCPY |
					1ull << CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
		     "his kinds are on, and no other");
	cr_expect_eq(lib.completed, others_completed);
	cr_expect_eq(lib.zeroed, 0);
	cr_expect_eq(lib.thread_ids, CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT);
	other(TP_CUPTI_DISABLE, CUPTI_ACTIVITY_KIND_MEMCPY);
	other(TP_CUPTI_DISABLE, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	cr_expect_eq(lib.completed, others_completed, "what he recorded is still to come to him");
	other(TP_CUPTI_FLUSH, 0);
}

static bool is_on(CUpti_ActivityKind kind)
{
	return __atomic_load_n(&lib.kinds, __ATOMIC_RELAXED) >> kind & 1;
}

/* The drain takes it again within a tick. */
static void await_retaking(void)
{
	cr_assert(AWAIT(tp_cupti_hold_state() == TP_CUPTI_ON));
}

/* ---- ourselves, alone ---- */

Test(cupti_yield, takes_cupti_when_the_driver_starts_and_records_in_windows_only)
{
	start("wait=1,warmup=1,active=1,repeat=1");
	cr_expect(lib.subscriber);
	cr_expect_eq(lib.requested, tp_cupti_buffer_requested);
	cr_expect_neq(lib.completed, others_completed);
	cr_expect_eq(lib.zeroed, 1);
	cr_expect_eq(lib.per_thread, 0);
	cr_expect_eq(lib.thread_ids, CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
	cr_expect_eq(lib.kinds, 0);
	rig_step();
	cr_expect(is_on(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), "in warm-up already");
	cr_expect(is_on(CUPTI_ACTIVITY_KIND_RUNTIME));
	cr_expect(is_on(CUPTI_ACTIVITY_KIND_DRIVER), "its calls can only be chosen behind it");
	cr_expect_not(is_on(CUPTI_ACTIVITY_KIND_GRAPH_TRACE));
	rig_step();
	rig_step();
	cr_expect(AWAIT(!__atomic_load_n(&lib.kinds, __ATOMIC_RELAXED)));
	rig_tear_down();
	cr_expect_null(lib.subscriber);
}

Test(cupti_yield, nothing_is_called_between_windows_or_after_the_end)
{
	uint32_t n;

	start("wait=1,warmup=0,active=1,repeat=1");
	rig_step();
	rig_step();
	cr_assert(rig_await_written(1));
	n = __atomic_load_n(&lib.n_calls, __ATOMIC_RELAXED);
	for (int i = 0; i < 10; i++)
		rig_step();
	usleep(300000);
	cr_expect_eq(__atomic_load_n(&lib.n_calls, __ATOMIC_RELAXED), n);
	rig_tear_down();
	n = lib.n_calls;
	tp_cupti_probe.arm();
	tp_cupti_probe.disarm();
	cr_expect_eq(lib.n_calls, n);
}

Test(cupti_yield, graphs_by_launch_and_an_old_version)
{
	start("wait=1,warmup=0,active=1,repeat=1");
	tp_cupti.cuptiActivityEnableDriverApi = NULL;
	tp_cupti.cuptiActivityEnableRuntimeApi = NULL;
	rig_config.cuda_graphs = TP_CUDA_GRAPHS_LAUNCH;
	rig_step();
	cr_expect(is_on(CUPTI_ACTIVITY_KIND_GRAPH_TRACE));
	cr_expect(is_on(CUPTI_ACTIVITY_KIND_DRIVER), "all of them or none");
	rig_tear_down();
}

Test(cupti_yield, a_forked_child_calls_nothing)
{
	uint32_t n;

	start("always");
	n = lib.n_calls;
	tp_cupti_probe.forked();
	tp_cupti_probe.arm();
	tp_cupti_probe.disarm();
	tp_cupti_probe.settle(1, true);
	tp_cupti_probe.close();
	cr_expect_eq(lib.n_calls, n);
}

static bool is_arming;

/* The next window is armed on another thread, while this one is switching off for the last. */
static CUptiResult disable_slowly(CUpti_ActivityKind kind)
{
	if (is_arming) {
		is_arming = false;
		tp_cupti_probe.arm();
		usleep(3000);
	}
	return disable(kind);
}

Test(cupti_yield, who_is_still_switching_off_when_the_next_window_begins_is_late)
{
	struct rig_trace *trace;

	start("always");
	await_retaking();
	is_arming = true;
	tp_cupti.cuptiActivityDisable = disable_slowly;
	tp_cupti_probe.disarm();
	await_retaking();
	cr_expect(is_on(CUPTI_ACTIVITY_KIND_RUNTIME));
	tp_session_close("exit");
	trace = rig_window(0);
	cr_expect_eq(rig_count(trace, "trainprof: CUPTI was not ready", TP_REC_MARK, 0), 1);
	cr_expect_eq(rig_total(trace, "cupti.unready"), 1);
	cr_expect_geq(rig_total(trace, "cupti.unready_ns"), 3000000);
	rig_tear_down();
}

/* The records of a window are still awaited when the next one lacks its first ones, which is over by then. */
Test(cupti_yield, what_a_later_window_lacks_is_not_forgotten_with_an_earlier_one)
{
	struct tp_cupti_wanted first = {.has_window = true}, second = {.has_window = true};
	struct rig_trace *trace;

	start("always");
	await_retaking();
	first.begin = tp_clock_now() - 2;
	first.end = first.begin + 1;
	second.begin = first.end;
	tp_cupti_gap_late();
	usleep(3000);
	tp_cupti_gap_over();
	second.end = tp_clock_now();
	tp_cupti_yield_mark(&first);
	tp_cupti_yield_mark(&first);
	tp_cupti_yield_mark(&second);
	tp_cupti_yield_mark(&second);
	tp_session_close("exit");
	trace = rig_window(0);
	cr_expect_eq(rig_count(trace, "trainprof: CUPTI was not ready", TP_REC_MARK, 0), 1);
	cr_expect_eq(rig_total(trace, "cupti.unready"), 1);
	rig_tear_down();
}

/* ---- with another user ---- */

Test(cupti_yield, kineto_gets_cupti_in_a_window_and_we_get_it_back)
{
	struct rig_trace *trace;
	uint32_t forced;

	start("always");
	await_retaking();
	forced = lib.n_forced;
	profile_with_kineto();
	cr_expect_eq(lib.n_forced, forced + 1, "our records came back before");
	await_retaking();
	cr_expect(is_on(CUPTI_ACTIVITY_KIND_RUNTIME));
	cr_expect_eq(lib.requested, tp_cupti_buffer_requested);
	cr_expect_neq(lib.completed, others_completed);
	cr_expect_eq(lib.zeroed, 1);
	cr_expect(lib.subscriber);
	usleep(150000);
	tp_session_close("exit");
	trace = rig_window(0);
	cr_expect_eq(rig_count(trace, "trainprof: CUPTI was used by libtorch_cpu.so", TP_REC_MARK, 0),
		     1);
	cr_expect_eq(rig_total(trace, "cupti.yielded"), 1);
	cr_expect_gt(rig_total(trace, "cupti.yielded_ns"), 0);
	for (uint32_t i = 0; i < trace->n; i++)
		if (trace->rec[i].kind == TP_REC_MARK)
			cr_expect(trace->rec[i].arg > 0 && trace->rec[i].arg < 10000000000ull);
	rig_tear_down();
}

Test(cupti_yield, who_is_there_when_the_window_ends_is_marked_too)
{
	struct rig_trace *trace;

	start("wait=0,warmup=0,active=1,repeat=2");
	other(TP_CUPTI_SUBSCRIBE, 0);
	usleep(2000);
	rig_step();
	usleep(2000);
	rig_step();
	cr_expect_eq(lib.kinds, 0);
	cr_expect_eq(lib.subscriber, others);
	tp_session_close("exit");
	for (uint32_t w = 0; w < 2; w++) {
		trace = rig_window(w);
		cr_expect_eq(rig_count(trace, "trainprof: CUPTI was used by libtorch_cpu.so",
				       TP_REC_MARK, 0), 1, "window %u", w);
	}
	rig_tear_down();
}

Test(cupti_yield, a_subscriber_has_it_until_he_unsubscribes)
{
	start("always");
	await_retaking();
	cr_expect_eq(other(TP_CUPTI_SUBSCRIBE, 0), CUPTI_SUCCESS);
	usleep(150000);
	cr_expect_eq(tp_cupti_hold_state(), TP_CUPTI_AWAY);
	cr_expect_eq(lib.kinds, 0);
	cr_expect_eq(other(TP_CUPTI_UNSUBSCRIBE, 0), CUPTI_SUCCESS);
	await_retaking();
	rig_tear_down();
}

Test(cupti_yield, beside_a_subscriber_who_stays_there_are_records_without_callbacks)
{
	struct rig_trace *trace;

	start("always");
	await_retaking();
	cr_expect_eq(other(TP_CUPTI_SUBSCRIBE, 0), CUPTI_SUCCESS);	/* Kineto until 2026 */
	profile_with_kineto();
	await_retaking();
	cr_expect_eq(lib.subscriber, others);
	cr_expect(is_on(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
	profile_with_kineto();
	await_retaking();
	cr_expect_eq(lib.subscriber, others);
	/* He goes after all: his place is ours at the next look. */
	other(TP_CUPTI_UNSUBSCRIBE, 0);
	cr_expect(AWAIT(__atomic_load_n(&lib.subscriber, __ATOMIC_RELAXED)));
	tp_session_close("exit");
	trace = rig_window(0);
	cr_expect_eq(rig_total(trace, "cupti.yielded"), 2);
	rig_tear_down();
}

Test(cupti_yield, between_windows_it_is_taken_back_when_the_next_one_begins)
{
	uint32_t n;

	start("wait=2,warmup=0,active=1,repeat=1");
	profile_with_kineto();
	n = lib.n_calls;
	usleep(150000);
	cr_expect_eq(lib.n_calls, n);
	cr_expect_eq(tp_cupti_hold_state(), TP_CUPTI_AWAY);
	rig_step();
	rig_step();
	cr_expect_eq(tp_cupti_hold_state(), TP_CUPTI_ON);
	rig_tear_down();
}

Test(cupti_yield, who_never_flushes_has_a_second)
{
	start("wait=2,warmup=0,active=1,repeat=0");
	other(TP_CUPTI_REGISTER, 0);
	other(TP_CUPTI_ENABLE, CUPTI_ACTIVITY_KIND_MEMCPY);
	other(TP_CUPTI_DISABLE, CUPTI_ACTIVITY_KIND_MEMCPY);
	rig_step();
	rig_step();
	cr_expect_eq(tp_cupti_hold_state(), TP_CUPTI_AWAY);
	usleep(1100000);
	for (int i = 0; i < 3; i++)
		rig_step();
	cr_expect_eq(tp_cupti_hold_state(), TP_CUPTI_ON);
	rig_tear_down();
}

Test(cupti_yield, finalising_ends_his_use)
{
	start("always");
	await_retaking();
	other(TP_CUPTI_REGISTER, 0);
	other(TP_CUPTI_ENABLE, CUPTI_ACTIVITY_KIND_MEMCPY);
	other(TP_CUPTI_FINALIZE, 0);
	await_retaking();
	cr_expect(lib.subscriber);
	cr_expect_eq(lib.requested, tp_cupti_buffer_requested);
	rig_tear_down();
}

Test(cupti_yield, who_registered_before_us_gets_his_buffers_back)
{
	CUpti_BuffersCallbackCompleteFunc ours;

	start("wait=1,warmup=0,active=1,repeat=1");
	profile_with_kineto();
	rig_step();
	cr_expect_eq(lib.requested, tp_cupti_buffer_requested);
	ours = lib.completed;
	other(TP_CUPTI_ENABLE, CUPTI_ACTIVITY_KIND_MEMCPY);	/* without registering again */
	cr_expect_eq(lib.requested, others_requested);
	cr_expect_eq(lib.completed, ours, "it knows whose each buffer is");
	n_others = 0;
	lib.completed(NULL, 0, (uint8_t *)&n_others, sizeof(n_others), 0);
	cr_expect_eq(n_others, 1, "and his goes to him");
	rig_tear_down();
}

Test(cupti_yield, who_came_before_cuda_is_waited_for)
{
	tp_cupti = (struct tp_cupti_lib){.version = 0};
	other(TP_CUPTI_SUBSCRIBE, 0);
	start("always");
	cr_expect_eq(tp_cupti_hold_state(), TP_CUPTI_AWAY);
	other(TP_CUPTI_UNSUBSCRIBE, 0);
	await_retaking();
	rig_tear_down();
}

Test(cupti_yield, who_has_it_without_our_having_seen_him_keeps_it)
{
	lib.subscriber = &lib;
	start("always");
	cr_expect_eq(tp_cupti_hold_state(), TP_CUPTI_OFF);
	cr_expect_eq(lib.kinds, 0);
	cr_expect_null(lib.requested);
	rig_tear_down();
	cr_expect_eq(lib.subscriber, &lib);
}

Test(cupti_yield, many_others_have_names)
{
	uint32_t times;
	uint64_t ns;

	start("always");
	await_retaking();
	for (int i = 0; i < 20; i++) {
		char who[64];

		snprintf(who, sizeof(who), "/x/tool%d.so", i);
		other_of(TP_CUPTI_SUBSCRIBE, 0, who);
		other_of(TP_CUPTI_UNSUBSCRIBE, 0, who);
	}
	tp_cupti_yielded(&times, &ns);
	cr_expect_eq(times, 20);
	await_retaking();
	rig_tear_down();
}
