/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nccl.c - what NCCL's events cost its threads: a collective within a host (its call, begin and
 * end, recorded), one between hosts (begin and end; the drain records it), an operation of a proxy
 * with one step of four states; outside windows NCCL does not call, here the call is made
 *
 * usage: nccl
 *
 * The floor is reading the clock as often and storing the record. Figures are of a call and
 * medians of bursts of 16, measured in turn.
 */
#include "runtime/base/log.h"
#include "runtime/probe/nccl/nccl.h"
#include "runtime/probe/nccl/nccl_events.h"
#include "tests/bench/burst.h"
#include "tests/fakes/nccl_plugin.h"
#include "tests/unit/session_rig.h"

enum { N_BURSTS = 3000, FLOOR_RECORDS = 2046 };

static struct bursts bursts = {.calls = 16, .pause_ns = 200000};
static uint32_t near_comm, far_comm;
static uint64_t open_coll;
static int mask;
static struct tp_rec *room;
static uint32_t room_at;

static void floor_event(void)
{
	struct tp_rec *rec = &room[room_at++ % FLOOR_RECORDS];
	uint64_t begin = tp_clock_now();

	__asm__ volatile("" : : : "memory");
	memset(rec, 0, sizeof(*rec));
	rec->time = begin;
	tp_rec_set_len(rec, tp_clock_now() - begin);
	rec->kind = TP_REC_COLL;
	__asm__ volatile("" : : "r"(rec) : "memory");
}

static uint64_t start_coll(uint32_t comm, uint64_t call)
{
	struct nccl_descr_v6 descr = {.type = NCCL_COLL, .parent = (void *)call, .rank = 1};

	descr.coll.seq = 9;
	descr.coll.func = "AllReduce";
	descr.coll.datatype = "ncclFloat32";
	descr.coll.algo = "RING";
	descr.coll.proto = "SIMPLE";
	descr.coll.count = 1000;
	return tp_nccl_start(6, comm, &descr);
}

static void coll_within(void)
{
	struct nccl_descr_v6 descr = {.type = NCCL_COLL_API};
	uint64_t call;

	descr.coll_api.stream = (void *)0x5000;
	call = tp_nccl_start(6, near_comm, &descr);
	tp_nccl_stop(call);
	tp_nccl_stop(start_coll(near_comm, call));
}

static void coll_between(void)
{
	tp_nccl_stop(start_coll(far_comm, 0));
}

static void op_with_step(void)
{
	static const int states[] = {NCCL_STEP_SEND_GPU_WAIT, NCCL_STEP_SEND_PEER_WAIT,
				     NCCL_STEP_SEND_WAIT};
	struct nccl_descr_v6 descr = {.type = NCCL_PROXY_OP, .parent = (void *)open_coll};
	struct tp_nccl_state_args args = {4096};
	uint64_t op, step;

	descr.op.pid = getpid();
	op = tp_nccl_start(6, far_comm, &descr);
	descr = (struct nccl_descr_v6){.type = NCCL_PROXY_STEP, .parent = (void *)op};
	step = tp_nccl_start(6, far_comm, &descr);
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		tp_nccl_state(step, (uint32_t)states[i], &args);
	tp_nccl_stop(step);
	tp_nccl_stop(op);
}

static void measure(const char *name, const char *when, void (*call)(void), uint32_t n)
{
	struct burst_pair is;

	bursts.n = n;
	is = burst_measure(&bursts, call, floor_event);
	printf("%-34s %-18s %6.1f ns, floor %5.1f (noise %.1f)\n", name, when, is.ours, is.floor,
	       is.noise);
}

int main(void)
{
	static const struct tp_probe *const with_nccl[] = {&tp_nccl_probe, NULL};
	struct tp_nccl_who who = {.is = {0x11, 1, 4, 1, 6}, .name = "near"};
	struct tp_nccl_counts is;
	char bad[64];

	tp_log_set_level(TP_LOG_WARN);
	rig_set_up();
	rig_config.buffer_bytes = 32 << 20;
	rig_config.record |= TP_RECORD_COMM;
	room = aligned_alloc(4096, 65536);
	memset(room, 1, 65536);
	tp_nccl_allow();
	near_comm = tp_nccl_open(&who, &mask);
	who.is.hash = 0x22;
	who.is.n_nodes = 2;
	far_comm = tp_nccl_open(&who, &mask);
	bursts.ns_per_tick = burst_calibrate();
	if (tp_sched_parse(&rig_config.schedule, "wait=1,warmup=0,active=1", bad, sizeof(bad)) ||
	    tp_session_open(&rig_config, with_nccl, "bench"))
		return 1;
	measure("collective within a host", "outside of windows", coll_within, N_BURSTS);
	rig_step();
	open_coll = start_coll(far_comm, 0);
	measure("collective within a host", "in a window", coll_within, N_BURSTS);
	measure("operation of a proxy, one step", "in a window", op_with_step, N_BURSTS);
	/* Their entries stay for a while: as many as there are. */
	measure("collective between hosts", "in a window", coll_between, 200);
	tp_nccl_events_counts(&is);
	printf("%lu collectives and %lu operations recorded, %lu without an entry\n",
	       (unsigned long)is.colls, (unsigned long)is.xfers, (unsigned long)is.no_entry);
	tp_session_close("exit");
	rig_remove_dir();
	return 0;
}
