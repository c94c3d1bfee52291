/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hang.c - looks, asks the judge, and tells
 */
#include "runtime/probe/hang/hang.h"

#include <string.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "runtime/base/process.h"
#include "runtime/engine/config/config.h"
#include "runtime/engine/ring/ring.h"
#include "runtime/engine/session.h"
#include "runtime/engine/step/step.h"
#include "runtime/engine/worker.h"
#include "runtime/probe/gpu/cupti.h"
#include "runtime/probe/gpu/cupti_queue.h"
#include "runtime/probe/host/nvml.h"
#include "runtime/probe/hang/report_file.h"
#include "runtime/probe/hang/hang_judge.h"
#include "runtime/probe/hang/hang_proc.h"
#include "runtime/probe/hang/hang_stand.h"
#include "runtime/probe/hang/joining.h"
#include "runtime/probe/torch/torch_flight.h"

enum {
	TEXT = 128 << 10,		/* bytes of a report */
	SPANS_LOOKED_AT = 4,		/* outermost ones of a thread */
	ANSWER_LEAST_MS = 2500,		/* workers, and ranks a little behind, are waited for */
	ANSWER_MOST_MS = 10000,
	MOST_GPUS = 16,			/* that are told of */
	STEPS_OF_A_TRAINING = 2,	/* from then on its devices are known */
};

static struct {
	bool is_on;
	uint32_t turn;			/* of a worker: the last of its rank's that it answered */
	uint32_t n_reports;		/* hangs that this process has told of */
	bool has_file, has_asked, has_told, is_refused, has_gpus;
	uint64_t since_real_ns;		/* files of before are of earlier runs */
	uint64_t write_due, tell_due;	/* mono ns */
	char path[TP_REPORT_PATH];
	struct tp_hang_judge judge;
	struct tp_hang own;
	char text[TEXT], threads[TEXT];
} hang;

/* ---- looking ---- */

static uint32_t step_tid(void)
{
	uint32_t tid = tp_session_step_tid();

	if (!tid)
		tid = tp_joining_tid();
	return tid ? tid : tp_ring.head->pid;
}

/* Operators, and ranges of optimizers and loaders, leave the time of their begin. */
static uint64_t spans_turn(void)
{
	uint64_t turn = 0;

	for (uint32_t i = 0; i < TP_RING_SLOTS; i++) {
		const struct tp_ring_slot *slot = &tp_ring.slots[i];

		if (!__atomic_load_n(&slot->tid, __ATOMIC_RELAXED))
			continue;
		turn += __atomic_load_n(&slot->depth, __ATOMIC_RELAXED);
		for (uint32_t d = 0; d < SPANS_LOOKED_AT; d++)
			turn += __atomic_load_n(&slot->open[d].time, __ATOMIC_RELAXED) << d;
	}
	return turn;
}

/* By the clocks at the start and now; close to the start they cannot tell. */
static uint64_t duration_ns(uint64_t ticks)
{
	const uint64_t *kept = tp_ring.head->anchor;
	struct tp_clock_anchor start = {kept[0], kept[1], kept[2], kept[3]};
	struct tp_clock_anchor newest = {kept[4], kept[5], kept[6], kept[7]};

	if (newest.ticks <= start.ticks)
		return 0;
	return tp_clock_to_mono(&start, &newest, start.ticks + ticks) - start.mono_ns;
}

/* What has not trained may be no training: it waits for its others, or for nothing of ours. */
static void look_at_joining(struct tp_hang_seen *seen)
{
	if (tp_joining_stands())
		seen->switches = 0;	/* torch looks a hundred times a second whether they have come */
	else if (tp_joining_waited_ns())
		seen->is_excused = true;
}

static void look_closer(struct tp_hang_seen *seen)
{
	struct tp_hang_usage usage;
	uint32_t tid = step_tid();

	tp_hang_proc_usage(tid, &usage);
	seen->is_closer = true;
	seen->cpu_ns = usage.cpu_ns + usage.delay_ns;
	seen->is_running = usage.call.is_running;
	seen->io_bytes = usage.io_bytes;
	seen->switches = usage.switches;
	/* In a job of several ranks nobody sits before it. */
	seen->is_excused = usage.is_traced ||
			   (tp_ring.head->world_size <= 1 && tp_hang_call_is_for_user(&usage.call));
	if (!seen->steps && tp_joining_tid())
		look_at_joining(seen);
	tp_hang_stack_number(tid, &seen->stack, &seen->function);
}

/* Where steps come, nobody holds the loader's lock for long. */
static void find_gpus(const struct tp_hang_seen *seen)
{
	if (hang.has_gpus || seen->steps < STEPS_OF_A_TRAINING || seen->steps == hang.judge.last.steps)
		return;
	hang.has_gpus = tp_nvml_ready() != 0;
}

/* Steps that ended, without those that the clock ended while the program waits for others of its job. */
static uint64_t count_steps(void)
{
	uint64_t n = __atomic_load_n(&tp_ring.head->steps_done, __ATOMIC_ACQUIRE);

	if (n && tp_joining_tid() && tp_ring.steps[(n - 1) % TP_RING_STEPS].source == TP_STEP_CLOCK &&
	    tp_joining_stands())
		return 0;
	return n;
}

static enum tp_hang_verdict look(uint64_t mono_ns)
{
	struct tp_hang_seen seen = {.mono_ns = mono_ns, .steps = count_steps()};

	if (seen.steps)
		seen.step_ns = duration_ns(tp_ring.steps[(seen.steps - 1) % TP_RING_STEPS].duration);
	find_gpus(&seen);
	seen.activity = spans_turn() + tp_torch_flight_turn() + tp_session_tensor_turn();
	if (tp_hang_wants_closer(&hang.judge))
		look_closer(&seen);
	return tp_hang_judge_look(&hang.judge, &seen);
}

/* ---- telling ---- */

static void fill_groups(struct tp_hang *own)
{
	struct tp_torch_flight flight;

	for (uint32_t i = 0; own->n_groups < TP_HANG_GROUPS && tp_torch_flight_get(i, &flight); i++) {
		struct tp_hang_group *group = &own->group[own->n_groups];
		struct tp_text text;

		if (!flight.asked)
			continue;
		tp_text_init(&text, group->name, sizeof(group->name));
		tp_text_str(&text, flight.group);
		tp_text_init(&text, group->last, sizeof(group->last));
		tp_text_str(&text, flight.last);
		group->asked = flight.asked;
		group->ended = flight.ended;
		own->n_groups++;
	}
}

static void fill_gpus(struct tp_hang *own)
{
	struct tp_text text;
	uint32_t percent;

	tp_text_init(&text, own->gpus, sizeof(own->gpus));
	for (uint32_t i = 0; hang.has_gpus && i < MOST_GPUS && tp_nvml_busy(i, &percent); i++) {
		tp_text_fmt(&text, "%sGPU %u is ", i ? ", " : "", i);
		if (percent)
			tp_text_fmt(&text, "%u %% busy", percent);
		else
			tp_text_str(&text, "idle");
	}
}

/* Where it stands now. */
static void describe(enum tp_hang_state state, struct tp_text *threads)
{
	const struct tp_ring_head *head = tp_ring.head;
	struct tp_hang *own = &hang.own;
	struct tp_text host;

	*own = (struct tp_hang){
		.run_id = head->worker ? tp_worker_root()->run_id : head->run_id,
		.rank = head->rank, .world_size = head->world_size,
		.restart = head->restart, .worker = head->worker, .pid = head->pid, .state = state,
		.real_ns = tp_clock_real_ns(), .late_ns = hang.judge.late_ns,
		.steps = hang.judge.last.steps,
		.median_ns = tp_hang_median_ns(&hang.judge),
	};
	tp_text_init(&host, own->host, sizeof(own->host));
	if (!gethostname(own->host, sizeof(own->host) - 1))
		host.len = strlen(own->host);
	fill_groups(own);
	if (!head->worker)
		fill_gpus(own);
	own->is_joining = !own->steps && tp_joining_tid() && tp_joining_stands();
	tp_hang_stand(head->worker ? head->pid : step_tid(), own, threads);
}

static void write_file(const struct tp_text *said, const struct tp_text *threads)
{
	struct tp_text text;
	int err;

	tp_text_init(&text, hang.text, sizeof(hang.text));
	tp_hang_put(&hang.own, &text);
	if (said)
		tp_text_fmt(&text, "%s\n", said->buf);
	tp_text_bytes(&text, threads->buf, threads->len);
	if (!hang.has_file)
		tp_report_file_name(hang.n_reports + 1, TP_HANG_SUFFIX, hang.path);
	err = tp_report_file_write(hang.path, &text);
	hang.has_file |= !err;
	if (err && !hang.is_refused)
		tp_warn("cannot write '%s': %s; a hang is reported here only", hang.path, strerror(-err));
	hang.is_refused |= err != 0;
}

static void write_state(enum tp_hang_state state)
{
	struct tp_text threads;

	tp_text_init(&threads, hang.threads, sizeof(hang.threads));
	describe(state, &threads);
	write_file(NULL, &threads);
}

/* A rank in which something goes on: the others wait for it, and it comes. */
static bool is_waited_for(const struct tp_hang *peer, uint32_t n)
{
	uint64_t fresh_ns = tp_clock_real_ns() - tp_hang_limit_ns(&hang.judge);

	for (uint32_t i = 0; i < n; i++)
		if (peer[i].state == TP_HANG_IS_LATE && peer[i].pid != hang.own.pid &&
		    peer[i].real_ns >= fresh_ns)
			return true;
	return false;
}

/* Several hang: the lowest speaks for all. */
static bool is_speaker(const struct tp_hang *peer, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (!peer[i].worker && peer[i].rank < hang.own.rank &&
		    (peer[i].state == TP_HANG_IS_STUCK || peer[i].state == TP_HANG_IS_SPINNING))
			return false;
	return true;
}

static void tell(enum tp_hang_state state)
{
	char said_bytes[TP_HANG_SAID_MAX];
	const struct tp_hang *peer;
	struct tp_text said, threads, queues;
	uint32_t n = tp_report_file_peers(hang.since_real_ns, &peer);
	char *eol;

	tp_text_init(&threads, hang.threads, sizeof(hang.threads));
	describe(state, &threads);
	tp_text_init(&queues, hang.own.queues, sizeof(hang.own.queues));
	tp_cupti_queue_tell(&queues);
	if (is_waited_for(peer, n)) {
		hang.own.state = TP_HANG_IS_QUIET;
		write_file(NULL, &threads);
		return;
	}
	tp_text_init(&said, said_bytes, sizeof(said_bytes));
	tp_hang_say(&hang.own, n ? peer : &hang.own, n ? n : 1, &said);
	write_file(&said, &threads);
	hang.has_told = true;
	tp_session_fire("no step has ended for the time of TRAINPROF_HANG");
	if (!is_speaker(peer, n))
		return;
	eol = strchr(said_bytes, '\n');
	if (eol)
		*eol++ = '\0';
	tp_warn("%s", said_bytes);
	if (eol && *eol) {
		eol[strcspn(eol, "\n")] = '\0';
		tp_warn("%s", eol);
	}
	tp_warn("the stacks of all threads are in '%s'; trainprof-merge shows them, also now", hang.path);
}

/* Those of data loaders say where they stand, too. */
static void ask_workers(void)
{
	__atomic_fetch_add(&tp_ring.head->hang_turn, 1, __ATOMIC_RELEASE);
}

static void is_hung(uint64_t mono_ns, enum tp_hang_state state)
{
	uint64_t answer_ms = tp_hang_limit_ns(&hang.judge) / 8000000u;

	if (hang.has_told)
		return;
	if (!hang.has_asked) {
		hang.has_asked = true;
		ask_workers();
		tp_cupti_ask_queues();
		write_state(state);
		if (answer_ms < ANSWER_LEAST_MS)
			answer_ms = ANSWER_LEAST_MS;
		if (answer_ms > ANSWER_MOST_MS)
			answer_ms = ANSWER_MOST_MS;
		hang.tell_due = mono_ns + answer_ms * 1000000u;
		return;
	}
	if (mono_ns >= hang.tell_due)
		tell(state);
}

/* Steps come, or came. */
static void goes_on(void)
{
	struct tp_text threads;

	if (hang.has_file && hang.has_told) {
		tp_text_init(&threads, hang.threads, sizeof(hang.threads));
		threads.len = strlen(hang.threads);
		hang.own.state = TP_HANG_IS_OVER;
		write_file(NULL, &threads);
		tp_warn("steps continue, %lu s after they stopped",
			(unsigned long)((tp_clock_real_ns() - hang.own.real_ns + hang.own.late_ns) /
					1000000000u));
		hang.n_reports++;
	} else if (hang.has_file) {
		tp_report_file_remove(hang.path);
	}
	hang.has_file = hang.has_asked = hang.has_told = false;
}

/* The others of the job are to know what goes on here. */
static void is_late(uint64_t mono_ns, enum tp_hang_state state)
{
	if (hang.has_told)
		return;
	hang.has_asked = false;
	if (tp_ring.head->world_size <= 1 || mono_ns < hang.write_due)
		return;
	hang.write_due = mono_ns + tp_hang_limit_ns(&hang.judge) / 8;
	write_state(state);
}

static void answer_rank(void)
{
	const struct tp_ring_head *root = tp_worker_root();
	uint32_t turn = root ? __atomic_load_n(&root->hang_turn, __ATOMIC_ACQUIRE) : 0;

	if (turn == hang.turn)
		return;
	hang.turn = turn;
	write_state(TP_HANG_IS_QUIET);
}

static void watch(uint64_t mono_ns)
{
	if (!hang.is_on)
		return;
	if (tp_session_is_follower()) {
		answer_rank();
		return;
	}
	switch (look(mono_ns)) {
	case TP_HANG_RUNS:
		goes_on();
		break;
	case TP_HANG_LATE:
		is_late(mono_ns, TP_HANG_IS_LATE);
		break;
	case TP_HANG_QUIET:
		is_late(mono_ns, TP_HANG_IS_QUIET);
		break;
	case TP_HANG_STUCK:
		is_hung(mono_ns, TP_HANG_IS_STUCK);
		break;
	case TP_HANG_SPINS:
		is_hung(mono_ns, TP_HANG_IS_SPINNING);
		break;
	}
}

/* ---- the probe ---- */

static int open_hang(const struct tp_config *config)
{
	hang.is_on = config->hang_s != 0;
	if (tp_worker_number())
		hang.turn = __atomic_load_n(&tp_worker_root()->hang_turn, __ATOMIC_ACQUIRE);
	hang.since_real_ns = tp_process_start_real_ns(tp_process_own_start());
	if (tp_joining_waited_ns())
		tp_step_forbid_clock();
	tp_hang_judge_init(&hang.judge, config->hang_s * 1000000000u, tp_joining_waited_ns());
	return 0;
}

static void forget(void)
{
	hang.is_on = false;
	hang.has_file = hang.has_asked = hang.has_told = hang.is_refused = hang.has_gpus = false;
	hang.n_reports = 0;
}

/* What was only for the others is of no use any more. */
static void close_hang(void)
{
	if (hang.has_file && !hang.has_told)
		tp_report_file_remove(hang.path);
	forget();
}

const struct tp_probe tp_hang_probe = {
	.name = "hang",
	.open = open_hang,
	.watch = watch,
	.forked = forget,
	.close = close_hang,
};
