/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_advice.h - the inside of the overview's advice: the table of rules is in overview_advice.c
 *
 * Rules: overview_data.c of data; overview_ranks.c of ranks; overview_comm.c of collectives;
 * overview_devices.c of what devices wait for; overview_clocks.c of how fast they run; overview_work.c of
 * what they do; overview_growth.c of memory that grows; overview_setup.c of how the run is set up;
 * overview_rhythm.c, overview_period.c and overview_trend.c of the steps of the whole run; overview_code.c
 * of the program's own lines; overview_small.c of lines with many small operators; overview_operators.c of
 * operators whose work could be saved; overview_cores.c of who waits for a core; overview_lock.c of who waits
 * for Python's lock; overview_compile.c of torch.compile; overview_garbage.c of Python's garbage.
 */
#ifndef TP_MERGE_OVERVIEW_ADVICE_H
#define TP_MERGE_OVERVIEW_ADVICE_H

#include "merge/view/overview/overview.h"

struct tp_advice {
	const char *rule;
	double percent;		/* of the time of a step; < 0: it costs no time */
	double part;		/* of the run's time that such steps are (tp_advice_part()); 0: all of it */
	char evidence[240], place[400], todo[400];
};

/* Steps of the whole run: looked at once, for six rules. */
enum {
	TP_RHYTHM_EPOCHS, TP_RHYTHM_PAUSES, TP_RHYTHM_PERIOD, TP_RHYTHM_TREND, TP_RHYTHM_SINCE,
	TP_RHYTHM_STALLS, TP_RHYTHM_N
};
struct tp_rhythm {
	struct tp_rhythm_found {
		bool is_any;
		struct tp_advice advice;	/* without its rule */
		int64_t each_ns;		/* what a slow step takes longer */
		bool has_where;			/* `place` has a function, */
		uint32_t n_own;			/* and so many of the user's */
		bool is_garbage;		/* or says that garbage was collected */
		bool has_few_parts;		/* of TREND: four, not eight */
		const struct tp_overview_proc *of;
		uint64_t first;			/* of PERIOD: such a step, less than `period` */
		uint32_t period;
	} found[TP_RHYTHM_N];
};
void tp_rhythm_find(const struct tp_overview *overview, struct tp_rhythm *rhythm);

struct tp_advice_facts {
	const struct tp_run *run;
	const struct tp_overview *overview;
	const struct tp_overview_sums *sums;
	const struct tp_rhythm *rhythm;
	/* Of devices, after the run's first step where other steps were recorded (is_first_left_out). */
	struct tp_gpu_figures gpu;	/* of all devices */
	const struct tp_habits *habits;
	const int64_t *wait_ns;	/* TP_WAIT_N: the parts of habits->wait_ns */
	uint64_t n_steps;
	int64_t all_ns;			/* of the steps */
	bool is_first_left_out;
	bool is_waiting;		/* the rule of waits applies: it explains idle devices */
	bool is_uneven;			/* the rule of ranks applies: it names what the late one does, */
	bool is_late_by_data;		/* which is loading data */
	bool has_slow_core;		/* one rank is late, and its core is to blame */
	bool is_loading;		/* the training waits for data */
	bool is_crowded;		/* the training waits for cores: no time tells for certain */
	bool is_short_of_cores;		/* more threads are ready than there are cores */
	bool is_compiling;		/* functions are compiled again: what is between operators is that */
	bool is_periodic;		/* every n-th step is slow: a window may have met one or none */
	bool is_collecting;		/* the rule of garbage applies */
	bool is_locked;			/* that of Python's lock does: gaps between operators are its */
	const struct tp_advice *growing;	/* that of tensors does; NULL: it does not, */
	const struct tp_advice *trend;	/* and that of steps that get slower */
	int64_t host_code_ns;		/* devices are idle, since the host runs code that a rule names */
	double gloo_percent;		/* of a step only collectives of gloo go on */
	int64_t explained_bytes;	/* a step, that what other rules tell may keep */
	bool is_explained;		/* any rule before does */
};

/* False: nothing to say. */
/* It may note in `facts` what later rules are to know. */
typedef bool tp_advice_judge(struct tp_advice_facts *facts, struct tp_advice *advice);
tp_advice_judge tp_advice_data, tp_advice_growth, tp_advice_memory_full, tp_advice_data_parallel,
	tp_advice_gloo, tp_advice_waits, tp_advice_host, tp_advice_idle, tp_advice_tensor_cores,
	tp_advice_allocations, tp_advice_copies, tp_advice_epochs, tp_advice_pauses, tp_advice_period,
	tp_advice_trend, tp_advice_since, tp_advice_anomaly, tp_advice_stalls, tp_advice_evaluation,
	tp_advice_unused,
	tp_advice_host_code, tp_advice_small_operators, tp_advice_extra, tp_advice_waste, tp_advice_ranks,
	tp_advice_communication, tp_advice_threads, tp_advice_lock, tp_advice_recompilation,
	tp_advice_host_growth, tp_advice_double, tp_advice_workers, tp_advice_cores, tp_advice_few_threads,
	tp_advice_garbage, tp_advice_host_code_device, tp_advice_few_blocks, tp_advice_exposed_copies,
	tp_advice_throttled, tp_advice_profiler, tp_advice_python_hooks;

static inline double tp_advice_percent(int64_t part, int64_t whole)
{
	return whole > 0 ? 100.0 * (double)part / (double)whole : 0;
}

static inline uint64_t tp_advice_per_step(const struct tp_advice_facts *facts, uint64_t n)
{
	return facts->n_steps ? n / facts->n_steps : 0;
}

/* The line of the program's code that has most of it; of a process, or of all. */
void tp_advice_line(const struct tp_advice_facts *facts, const struct tp_proc *proc,
		    enum tp_site_figure by, struct tp_advice *advice);
/* That line, and the library's function inside it that has most of it: "train.py:9 main > trainer.py:80 fit". */
void tp_advice_place(const struct tp_advice_facts *facts, const struct tp_proc *proc,
		     const struct tp_site *site, enum tp_site_figure by, struct tp_advice *advice);
/* What runs outside operators before those of the line, and the function that it is in. */
void tp_advice_gap(const struct tp_advice_facts *facts, const struct tp_site *site,
		   struct tp_advice *advice);

/* Whether DataLoaders have workers, and (*has_none) any has none. */
bool tp_advice_has_workers(const struct tp_overview *overview, bool *has_none);
/* Whose samples a process loads, or (NULL) the first that is known: "train.py:17, samples of Photos". */
void tp_advice_dataset(const struct tp_run *run, const struct tp_proc *of, struct tp_advice *advice);

/* Figures of devices: in a run's first step libraries are loaded and plans made while the device waits. Where
 * others were recorded, too, advice is about those. */
void tp_advice_note_devices(struct tp_advice_facts *facts);
/* Where some steps are slow, and windows lie between those, recorded steps are a part of the run's time only:
 * this one. */
double tp_advice_part(const struct tp_advice_facts *facts);

bool tp_advice_has_devices(const struct tp_run *run);
/* A name of the run's begins with that. */
bool tp_advice_has_name(const struct tp_overview *overview, const char *begin);

#endif
