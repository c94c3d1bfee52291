/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mark.c - what a program's own range, mark and counter cost it: outside windows beside an
 * empty call, inside beside the floor, which is reading the clock as often and storing the record
 *
 * usage: mark
 *
 * Figures are of a call (a range is two) and medians of bursts of 64, measured in turn, paced
 * so that the drain keeps up.
 */
#include "runtime/base/log.h"
#include "runtime/probe/mark/mark.h"
#include "runtime/probe/mark/mark_nvtx_abi.h"
#include "tests/bench/burst.h"
#include "tests/unit/session_rig.h"

enum { FLOOR_RECORDS = 2046 };

static struct bursts bursts = {.n = BURSTS_MOST, .calls = 64, .pause_ns = 50000};
static tp_nvtx_function functions[6][16], *slots[6][16];
static struct tp_mark_entry *domain, *string;
static struct tp_rec *room;
static uint32_t room_at;

static int get_module_table(int module, tp_nvtx_function ***table, unsigned int *n)
{
	for (int i = 0; i < 16; i++)
		slots[module][i] = &functions[module][i];
	*table = slots[module];
	*n = 16;
	return 1;
}

static const void *get_table(uint32_t id)
{
	static const struct tp_nvtx_callbacks callbacks = {sizeof(callbacks), get_module_table};

	return &callbacks;
}

static void store(uint64_t begin, uint64_t now)
{
	struct tp_rec *rec = &room[room_at++ % FLOOR_RECORDS];

	memset(rec, 0, sizeof(*rec));
	rec->time = begin;
	tp_rec_set_len(rec, now - begin);
	rec->kind = TP_REC_RANGE;
	__asm__ volatile("" : : "r"(rec) : "memory");
}

static void floor_range(void)
{
	uint64_t begin = tp_clock_now();

	__asm__ volatile("" : : : "memory");
	store(begin, tp_clock_now());
}

static void floor_mark(void)
{
	uint64_t now = tp_clock_now();

	store(now, now);
}

static __attribute__((noinline)) void empty_call(void)
{
	__asm__ volatile("");
}

static void two_empty_calls(void)
{
	empty_call();
	empty_call();
}

static void range_a(void)
{
	((int (*)(const char *))(void *)functions[1][TP_NVTX_RANGE_PUSH_A])("forward pass");
	((int (*)(void))(void *)functions[1][TP_NVTX_RANGE_POP])();
}

static void range_registered(void)
{
	struct tp_nvtx_attributes a = {
		.version = 3, .size = sizeof(a), .message_type = TP_NVTX_MESSAGE_REGISTERED,
	};

	a.message.registered = string;
	((int (*)(void *))(void *)functions[1][TP_NVTX_RANGE_PUSH_EX])(&a);
	((int (*)(void))(void *)functions[1][TP_NVTX_RANGE_POP])();
}

static void range_domain(void)
{
	struct tp_nvtx_attributes a = {
		.version = 3, .size = sizeof(a), .message_type = TP_NVTX_MESSAGE_REGISTERED,
	};

	a.message.registered = string;
	((int (*)(void *, void *))(void *)functions[5][TP_NVTX_DOMAIN_RANGE_PUSH_EX])(domain, &a);
	((int (*)(void *))(void *)functions[5][TP_NVTX_DOMAIN_RANGE_POP])(domain);
}

static void range_across(void)
{
	((void (*)(uint64_t))(void *)functions[1][TP_NVTX_RANGE_END])(
		((uint64_t (*)(const char *))(void *)functions[1][TP_NVTX_RANGE_START_A])("across"));
}

static void mark_a(void)
{
	((void (*)(const char *))(void *)functions[1][TP_NVTX_MARK_A])("tick");
}

static void counter(void)
{
	if (tp_mark_is_on())
		tp_mark_counter("queue", "items", 1.5);
}

static const struct {
	const char *name;
	void (*call)(void), (*floor)(void), (*idle_floor)(void);
	uint32_t n_calls;
} cases[] = {
	{"range, push and pop", range_a, floor_range, two_empty_calls, 2},
	{"range, registered name", range_registered, floor_range, two_empty_calls, 2},
	{"range, domain", range_domain, floor_range, two_empty_calls, 2},
	{"range, start and end", range_across, floor_range, two_empty_calls, 2},
	{"mark", mark_a, floor_mark, empty_call, 1},
	{"counter", counter, floor_mark, empty_call, 1},
};

static void measure(const char *when, bool is_armed, double most_ns)
{
	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		struct burst_pair is = burst_measure(&bursts, cases[c].call,
						     is_armed ? cases[c].floor : cases[c].idle_floor);
		double mine = is.ours / cases[c].n_calls, least = is.floor / cases[c].n_calls;

		printf("%-24s %-18s %5.1f ns a call, floor %5.1f, ours %5.1f%s\n", cases[c].name,
		       when, mine, least, mine - least,
		       mine - least <= most_ns ? "" : "   MISSED");
	}
}

int main(void)
{
	static const struct tp_probe *const with_marks[] = {&tp_mark_probe, NULL};
	char bad[64];

	tp_log_set_level(TP_LOG_WARN);
	rig_set_up();
	rig_config.buffer_bytes = 32 << 20;
	room = aligned_alloc(4096, 65536);
	memset(room, 1, 65536);
	tp_mark_nvtx_allow();
	tp_mark_nvtx_attach(get_table);
	domain = tp_mark_domain("io", 2);
	string = tp_mark_string("registered", 10);
	bursts.ns_per_tick = burst_calibrate();
	if (tp_sched_parse(&rig_config.schedule, "wait=1,warmup=0,active=1", bad, sizeof(bad)) ||
	    tp_session_open(&rig_config, with_marks, "bench"))
		return 1;
	measure("outside of windows", false, 3);
	rig_step();
	measure("in a window", true, 40);
	tp_session_close("exit");
	rig_remove_dir();
	return 0;
}
