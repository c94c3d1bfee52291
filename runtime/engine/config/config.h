/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config.h - the TRAINPROF_ variables, read once in the constructor
 *
 * A bad value never stops anything: it is reported (variable, value, accepted range, the
 * default that is used instead) and the default taken. Reports are kept and printed only
 * when the process proves to be a training process (tp_config_report): gcc and git children
 * see the same environment and must stay silent.
 */
#ifndef TP_ENGINE_CONFIG_H
#define TP_ENGINE_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "runtime/engine/config/schedule.h"
#include "runtime/trace/ring_layout.h"

/* Bits of config.record, one per word that TRAINPROF_RECORD accepts. */
enum tp_record {
	TP_RECORD_OPS = 1,
	TP_RECORD_SHAPES = 2,	/* implies OPS */
	TP_RECORD_TENSORS = 4,
	TP_RECORD_HOST = 8,
	TP_RECORD_MARKS = 16,
	TP_RECORD_CUDA = 32,	/* what CUPTI tells of calls and device work */
	TP_RECORD_DEVMEM = 64,	/* blocks of device memory */
	TP_RECORD_HEAP = 128,	/* blocks of host memory: the malloc family and mappings */
	TP_RECORD_PYSTACKS = 512, /* Python stacks of operators; implies OPS */
	TP_RECORD_MODULES = 1024, /* whose operators are of which nn.Module; implies OPS */
	TP_RECORD_FRAMEWORKS = 2048, /* what training frameworks call for their users */
	TP_RECORD_SAMPLES = 8192, /* Python stacks of all threads, now and then */
	TP_RECORD_COMM = 4096,	/* what NCCL tells of collectives */
	TP_RECORD_CATEGORIES = 256, /* what tensors are for; implies TENSORS and OPS */
};

/* Bits of config.stacks. NATIVE and PYTHON say which frames: both are set when neither was named. */
enum tp_stacks_of {
	TP_STACKS_HEAP = 1,	/* of blocks of host memory */
	TP_STACKS_NATIVE = 2,
	TP_STACKS_PYTHON = 4,
};

/* How closely host memory is watched; each includes the ones before it. */
enum tp_heap_depth {
	TP_HEAP_OFF = 0,	/* calls and bytes asked for are counted */
	TP_HEAP_COUNTERS = 1,	/* bytes alive and their peak, always */
	TP_HEAP_SAMPLE = 2,	/* RECORD has heap: some blocks, chosen by bytes, in windows */
	TP_HEAP_ALL = 3,	/* RECORD has heap: every block */
};

/* If DIR holds files of another run. */
enum tp_overwrite {
	TP_OVERWRITE_NEW,	/* a folder beside it */
	TP_OVERWRITE_REFUSE,	/* nothing is recorded */
	TP_OVERWRITE_REPLACE,	/* what dead processes of this rank left goes */
};

/* Traces of windows to keep. */
enum { TP_KEEP_MOST = 1000 };
#define TP_KEEP_ALL UINT64_MAX

enum tp_cuda_graphs {
	TP_CUDA_GRAPHS_NODE = 0,	/* each kernel and copy in them */
	TP_CUDA_GRAPHS_LAUNCH = 1,	/* one record a launch */
};

struct tp_step_spec {
	enum tp_step_source source;	/* TP_STEP_NONE: found automatically */
	char range[128];		/* TP_STEP_RANGE: exact name, or a prefix when it ends in '*' */
	uint32_t clock_ms;		/* TP_STEP_CLOCK */
};

struct tp_trigger_spec {
	uint32_t signal;	/* 0: none */
	uint32_t steps, ahead;	/* ahead 0: as many steps as it takes for all ranks to hear of it */
	uint32_t limit;		/* windows that the four below open in a run */
	uint32_t slow, drift;	/* times the median, in thousandths; 0: not watched */
	uint64_t mem, devmem;	/* bytes of the process, of tensors on devices; 0: not watched */
	bool has_control;	/* requests are heard: the file "control" in the run folder */
};

struct tp_config {
	struct tp_sched_spec schedule;
	struct tp_trigger_spec trigger;
	uint64_t recorder_steps;	/* 0: there is no flight recorder */
	bool is_off;			/* SCHEDULE=off: nothing is recorded, no file is made */
	struct tp_step_spec step;
	uint32_t record;		/* enum tp_record */
	uint32_t stacks;		/* enum tp_stacks_of */
	uint32_t heap;			/* enum tp_heap_depth */
	char dir[401], run_name[101], trace_name[201], buffer_dir[401], program[201], config[401], peak[101],
	     memory_at[401];
	char cupti_lib[401], clock_sync[201];
	uint64_t heap_sample;
	uint64_t keep;			/* TP_KEEP_ALL; 0: all until they are delivered */
	uint64_t buffer_bytes, cupti_bytes, host_period_ms, sample_hz, outside_hz;
	uint32_t overwrite;		/* enum tp_overwrite */
	uint64_t hang_s;		/* 0: off */
	enum tp_cuda_graphs cuda_graphs;
	enum tp_clock_source clock;
	enum tp_log_level log;
	char complaints[2048];		/* '\n'-separated, ready to print */
};

/* Looks a variable up; NULL: not set. (getenv in the product, a table in tests.) */
typedef const char *(*tp_config_getenv_fn)(void *ctx, const char *name);

void tp_config_read(struct tp_config *config, tp_config_getenv_fn lookup, void *ctx);
/* Complains of each TRAINPROF_ variable in `environment` (as environ) that does not exist,
 * with the name that was probably meant. */
void tp_config_check_names(struct tp_config *config, char *const *environment);
/* Says all complaints, and which variables of this process's environment do not exist. */
void tp_config_report(const struct tp_config *config);

/* "SCHEDULE=...\nSTEP=...\n" of the values in use, for META. */
struct tp_text;
void tp_config_describe(const struct tp_config *config, struct tp_text *out);

#endif
