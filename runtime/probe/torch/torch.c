/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torch.c - the torch probe as the engine sees it: found, opened, armed, disarmed
 */
#include "runtime/probe/torch/torch.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "runtime/base/clock.h"
#include "runtime/base/text.h"
#include "runtime/engine/config/config.h"
#include "runtime/engine/facts.h"
#include "runtime/engine/proof.h"
#include "runtime/engine/session.h"
#include "runtime/probe/python/frameworks.h"
#include "runtime/probe/python/pyframe.h"
#include "runtime/probe/python/pyplace.h"
#include "runtime/probe/torch/torch_flight.h"
#include "runtime/probe/torch/torch_ranges.h"
#include "runtime/probe/torch/torch_state.h"

/* Room for spans: 64 bytes each, as many as are in flight at once, and those of dead threads. */
enum {
	ARENA_BYTES = 64 << 20,
	WARM_BYTES = 64 << 10,
};

struct tp_torch tp_torch;

static struct {
	const char *missing;	/* symbol without which nothing works, or NULL */
	bool wants_operators, wants_shapes;
	const struct tp_config *config;	/* of a session that was opened before torch was there */
	uint32_t n_profiled;		/* atomic: windows in whose first step a profiler of torch's was on */
} probe;

static void set_phase(enum tp_torch_phase phase)
{
	__atomic_store_n(&tp_torch.phase, phase, __ATOMIC_RELEASE);
}

static bool is_there(void)
{
	return __atomic_load_n(&tp_torch.phase, __ATOMIC_ACQUIRE) == TP_TORCH_OPEN;
}

int tp_torch_watch(bool want_shapes)
{
	if (!tp_torch_abi_find(&tp_torch.abi, &probe.missing))
		return 0;
	if (!probe.missing) {
		tp_torch_layout_measure(&tp_torch.layout, &tp_torch.abi, want_shapes);
		if (!tp_torch.layout.off_all &&
		    tp_arena_init(&tp_torch.arena, ARENA_BYTES) != 0)
			tp_torch.layout.off_all = "no memory";
	}
	if (probe.missing || tp_torch.layout.off_all) {
		set_phase(TP_TORCH_OFF);
		return -1;
	}
	set_phase(TP_TORCH_WATCH);
	tp_torch_ranges_watch();
	return 1;
}

void tp_torch_unwatch(void)
{
	set_phase(TP_TORCH_OFF);
	tp_torch_ranges_end(true);
}

void tp_torch_note_version(bool is_last_time)
{
	const char *(*get_python)(void);
	char version[64];
	size_t n;

	if (tp_pyframe_module_text("torch.version", "__version__", version, sizeof(version))) {
		tp_facts_add("torch", version);
		is_last_time = true;
	}
	__atomic_store_n(&tp_torch.is_version_due, !is_last_time, __ATOMIC_RELAXED);
	*(void **)&get_python = dlsym(RTLD_DEFAULT, "Py_GetVersion");
	if (!get_python)
		return;
	/* "3.11.2 (main, ...) [GCC ...]": the first word. */
	n = strcspn(get_python(), " ");
	if (n >= sizeof(version))
		return;
	memcpy(version, get_python(), n);
	version[n] = '\0';
	tp_facts_add("python", version);
}

static void report_off(const struct tp_torch_layout *layout)
{
	const struct {
		const char *feature, *why;
	} features[] = {
		{ "torch.fast-names", layout->off_names },
		{ "torch.sequence", layout->off_sequence },
		{ "torch.forward-thread", layout->off_forward },
		{ "torch.async", layout->off_async },
		{ "torch.thread", layout->off_threads },
	};

	for (size_t i = 0; i < sizeof(features) / sizeof(features[0]); i++) {
		if (features[i].why)
			tp_probe_off(features[i].feature, features[i].why);
	}
}

/* torch is there, and is watched. */
static int begin_torch(const struct tp_config *config)
{
	const uint32_t phase = __atomic_load_n(&tp_torch.phase, __ATOMIC_ACQUIRE);

	if (phase != TP_TORCH_WATCH && phase != TP_TORCH_FORKED) {
		tp_probe_off("torch", probe.missing ? probe.missing :
				      tp_torch.layout.off_all ? tp_torch.layout.off_all :
								"torch is not there");
		return -ENOENT;
	}
	tp_pyplace_open(config->record, config->stacks);
	if (config->record & TP_RECORD_FRAMEWORKS)
		tp_frameworks_want();
	probe.wants_operators = config->record & (TP_RECORD_OPS | TP_RECORD_SHAPES);
	probe.wants_shapes = config->record & TP_RECORD_SHAPES;
	report_off(&tp_torch.layout);
	if (probe.wants_shapes && !tp_torch.layout.record.inputs) {
		tp_probe_off("torch.shapes", tp_torch.layout.off_shapes ?
					     tp_torch.layout.off_shapes :
					     "they are measured in python programs only");
		probe.wants_shapes = false;
	}
	/* Autograd nodes were watched to see whether this is a training: it is. And a child
	 * of fork may have the callback of its parent's window. */
	tp_torch_operators_remove();
	tp_torch_types_disarm();
	tp_torch_ranges_open();
	if (phase == TP_TORCH_FORKED)
		tp_torch_names_reset();
	set_phase(TP_TORCH_OPEN);
	/* The rank has told; and where workers open Python's lock is not to be asked for. */
	if (!tp_session_is_follower())
		tp_torch_note_version(false);
	return 0;
}

static int open_torch(const struct tp_config *config)
{
	if (__atomic_load_n(&tp_torch.phase, __ATOMIC_ACQUIRE) == TP_TORCH_NONE &&
	    tp_proof_may_find_torch()) {
		probe.config = config;
		return 0;
	}
	return begin_torch(config);
}

/* The pages that the first operators of a window would otherwise fault in one by one. */
static void warm_torch(void)
{
	if (!tp_torch.arena.base)
		return;
	tp_torch_populate(tp_torch.arena.base, WARM_BYTES);
	tp_torch_names_warm();
}

/* Not where a window ends: that may be in the program's exit, when torch's thread-local state is gone. */
static void note_profiler(void)
{
	if (tp_torch.abi.is_profiled && tp_torch.abi.is_profiled())
		__atomic_fetch_add(&probe.n_profiled, 1, __ATOMIC_RELAXED);
}

static void arm_torch(void)
{
	const bool is_window = tp_session_is_armed();	/* else for the flight recorder */

	tp_torch.armed_at = tp_clock_now();
	if (is_there()) {
		tp_torch_ranges_arm();
		if (is_window)
			note_profiler();
	}
	if (probe.wants_operators && is_there()) {
		tp_torch_operators_add(probe.wants_shapes && is_window);
		if (is_window)
			tp_torch_types_arm();
	}
	/* Modules only: stacks are taken wherever operators are. */
	if (is_window)
		tp_pyplace_arm(true);
}

void tp_torch_found(void)
{
	if (!probe.config || begin_torch(probe.config))
		return;
	if (tp_session_is_recording())
		arm_torch();
}

static void disarm_torch(void)
{
	tp_pyplace_arm(false);
	if (is_there()) {
		tp_torch_operators_remove();
		tp_torch_types_disarm();
		tp_torch_ranges_disarm();
	}
	__atomic_fetch_add(&tp_torch.windows, 1, __ATOMIC_RELAXED);
}

static void report_torch(struct tp_text *totals)
{
	const uint32_t n_profiled = __atomic_load_n(&probe.n_profiled, __ATOMIC_RELAXED);
	uint64_t n_lost = __atomic_load_n(&tp_torch.n_lost, __ATOMIC_RELAXED);

	if (n_profiled)
		tp_text_fmt(totals, "torch.profiled=%u\n", n_profiled);
	if (n_lost)
		tp_text_fmt(totals, "torch.ranges_lost=%lu\n", (unsigned long)n_lost);
	tp_torch_types_report(totals);
	tp_pyplace_report(totals);
}

/* Callbacks stay registered: torch's lock may have been held by another thread at the fork. */
static void forget_torch(void)
{
	const bool is_watched = tp_torch_ranges_forked();

	if (__atomic_load_n(&tp_torch.phase, __ATOMIC_RELAXED) == TP_TORCH_OPEN)
		set_phase(is_watched ? TP_TORCH_FORKED : TP_TORCH_OFF);
	probe.n_profiled = 0;
	tp_torch_types_forked();
	tp_pyplace_forked();
	tp_proof_forked();
	tp_torch_flight_forked();
}

static void close_torch(void)
{
	set_phase(TP_TORCH_OFF);
	tp_torch_ranges_end(false);
}

const struct tp_probe tp_torch_probe = {
	.name = "torch",
	.is_for_recorder = true,
	.open = open_torch,
	.warm = warm_torch,
	.arm = arm_torch,
	.disarm = disarm_torch,
	.report = report_torch,
	.before_fork = tp_torch_ranges_before_fork,
	.after_fork = tp_torch_ranges_after_fork,
	.forked = forget_torch,
	.close = close_torch,
};
