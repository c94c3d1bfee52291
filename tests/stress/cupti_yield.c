/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_yield.c - windows open and close while another user takes CUPTI and lets it go
 *
 * usage: cupti_yield [SECONDS]
 *
 * As long as he has it, none of our calls may come; each time that he is gone, it is ours again
 * in the next window. The CUPTI has plain variables: meant for the thread sanitizer. Exit
 * status 0: all was right.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "runtime/probe/gpu/cupti.h"
#include "runtime/probe/gpu/cupti_hold.h"
#include "tests/unit/cupti_rig.h"

static const struct tp_probe *const with_cupti[] = {&tp_cupti_probe, NULL};
static _Atomic bool is_over;
static uint32_t n_uses, n_wrong;

static CUpti_SubscriberHandle handle;

static void other(enum tp_cupti_act act, CUpti_ActivityKind kind)
{
	const struct tp_cupti_call call = {.act = act, .kind = kind, .who = "/x/other.so"};
	CUptiResult result = CUPTI_SUCCESS;

	tp_cupti_other_begins(&call);
	if (act == TP_CUPTI_SUBSCRIBE)
		result = subscribe(&handle, NULL, NULL);
	else if (act == TP_CUPTI_UNSUBSCRIBE)
		result = unsubscribe(handle);
	else if (act == TP_CUPTI_REGISTER)
		result = register_buffers(NULL, NULL);
	else if (act == TP_CUPTI_ENABLE)
		result = enable(kind);
	else if (act == TP_CUPTI_DISABLE)
		result = disable(kind);
	else
		result = flush(0);
	tp_cupti_other_did(&call, result == CUPTI_SUCCESS);
	n_wrong += result != CUPTI_SUCCESS;
}

/* His kind is on, and no other, for as long as he wants. */
static void profile(unsigned *seed)
{
	const uint64_t mine = 1ull << CUPTI_ACTIVITY_KIND_MEMCPY;

	other(TP_CUPTI_REGISTER, 0);
	other(TP_CUPTI_ENABLE, CUPTI_ACTIVITY_KIND_MEMCPY);
	for (int i = 0; i < 4; i++) {
		n_wrong += lib.kinds != mine || lib.requested || lib.zeroed;
		usleep((unsigned)rand_r(seed) % 500);
	}
	other(TP_CUPTI_DISABLE, CUPTI_ACTIVITY_KIND_MEMCPY);
	n_wrong += lib.kinds != 0;
	other(TP_CUPTI_FLUSH, 0);
}

static void *use_cupti(void *arg)
{
	unsigned seed = 1;

	while (!is_over) {
		bool is_subscriber = rand_r(&seed) % 2;

		if (is_subscriber)
			other(TP_CUPTI_SUBSCRIBE, 0);
		if (!is_subscriber || rand_r(&seed) % 2)
			profile(&seed);
		if (is_subscriber)
			other(TP_CUPTI_UNSUBSCRIBE, 0);
		n_uses++;
		usleep((unsigned)rand_r(&seed) % 3000);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned seconds = argc > 1 ? (unsigned)atoi(argv[1]) : 3, n_on = 0, n_steps = 0;
	uint64_t end = tp_clock_mono_ns() + seconds * 1000000000ull;
	pthread_t thread;
	char bad[64];

	rig_set_cupti();
	rig_set_up();
	rig_config.keep = 2;
	tp_sched_parse(&rig_config.schedule, "wait=1,warmup=1,active=1,repeat=0", bad, sizeof(bad));
	tp_cupti_allow(&rig_config);
	tp_cupti_inject();
	if (tp_session_open(&rig_config, with_cupti, "file:/x/train.py"))
		return 1;
	pthread_create(&thread, NULL, use_cupti, NULL);
	while (tp_clock_mono_ns() < end) {
		rig_step();
		usleep(300);
		n_on += tp_cupti_hold_state() == TP_CUPTI_ON;
		n_steps++;
	}
	is_over = true;
	pthread_join(thread, NULL);
	for (int i = 0; i < 6; i++) {
		usleep(20000);
		rig_step();
	}
	n_wrong += tp_cupti_hold_state() == TP_CUPTI_AWAY;
	printf("%u steps, CUPTI on in %u; used %u times by another; %u wrong\n", n_steps, n_on,
	       n_uses, n_wrong);
	rig_tear_down();
	n_wrong += lib.kinds != 0 || lib.subscriber;
	return n_wrong || !n_on || !n_uses;
}
