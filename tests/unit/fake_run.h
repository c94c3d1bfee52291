/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_run.h - a run built by hand, for tests of what reads one
 *
 * fake_init, then processes, windows, ledger rows and strings in any number up to the limits;
 * events are made one at a time. Memory is kept until the test's process ends.
 */
#ifndef TP_TESTS_FAKE_RUN_H
#define TP_TESTS_FAKE_RUN_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/model/view.h"
#include "runtime/trace/ring_layout.h"

enum { FAKE_PROCS = 64, FAKE_THREADS = 8, FAKE_MAX = 1024 };

struct fake {
	struct tp_run run;
	struct tp_proc *procs[FAKE_PROCS];
	struct tp_string none;
	uint32_t n_strings;
};

/* Zeroed, and reachable to the end: no leak for the address sanitizer. */
static inline void *fake_alloc(size_t n_bytes)
{
	static struct fake_block {
		struct fake_block *before;
		_Alignas(16) char bytes[];
	} *last;
	struct fake_block *block = calloc(1, sizeof(*block) + n_bytes);

	block->before = last;
	last = block;
	return block->bytes;
}

static inline void fake_init(struct fake *fake)
{
	memset(fake, 0, sizeof(*fake));
	fake->run.path = "trainprof-run";
	fake->run.proc = fake->procs;
	fake->run.window = fake_alloc(FAKE_MAX * sizeof(struct tp_window));
	fake->run.step = fake_alloc(FAKE_MAX * sizeof(struct tp_step_row));
	fake->run.open = fake_alloc(FAKE_MAX * sizeof(struct tp_open_at_end));
	fake->run.issue = fake_alloc(FAKE_MAX * sizeof(struct tp_issue));
	fake->none.bytes = "";
	fake->n_strings = 1;
	fake->run.n_distinct_strings = 1;
}

static inline struct tp_proc *fake_proc(struct fake *fake, int32_t rank)
{
	struct tp_proc *proc = fake_alloc(sizeof(*proc));

	proc->at = fake->run.n_procs;
	proc->rank = rank;
	proc->local_rank = rank;
	proc->world_size = rank + 1;
	proc->pid = 1000 + proc->at;
	snprintf(proc->host, sizeof(proc->host), "node7");
	proc->program = "train.py";
	proc->thread = fake_alloc(FAKE_THREADS * sizeof(*proc->thread));
	proc->n_threads = FAKE_THREADS;
	for (uint32_t i = 0; i < FAKE_THREADS; i++) {
		proc->thread[i].slot = i;
		proc->thread[i].tid = proc->pid + i;
		proc->thread[i].is_main = i == 0;
		snprintf(proc->thread[i].name, sizeof(proc->thread[i].name), "python");
	}
	fake->procs[fake->run.n_procs++] = proc;
	return proc;
}

static inline const struct tp_string *fake_string(struct fake *fake, uint8_t kind,
						  const char *bytes, uint32_t n)
{
	struct tp_string *string = fake_alloc(sizeof(*string));
	char *copy = fake_alloc(n + 1);

	memcpy(copy, bytes, n);
	copy[n] = 0;
	*string = (struct tp_string){kind, n, copy, fake->n_strings++};
	fake->run.n_distinct_strings = fake->n_strings;
	return string;
}

static inline const struct tp_string *fake_op(struct fake *fake, const char *name)
{
	/* With its NUL: the overload is empty. */
	return fake_string(fake, TP_STRING_OP, name, (uint32_t)strlen(name) + 1);
}

static inline const struct tp_string *fake_text(struct fake *fake, const char *name)
{
	return fake_string(fake, TP_STRING_TEXT, name, (uint32_t)strlen(name));
}

/* A function of Python's, in that file. */
static inline const struct tp_string *fake_pyframe(struct fake *fake, const char *function, const char *file)
{
	char text[200];
	int n = snprintf(text, sizeof(text), "%s%c%s", function, 0, file);

	return fake_string(fake, TP_STRING_PYFRAME, text, (uint32_t)n);
}

/* A worker of its data loader's. */
static inline struct tp_proc *fake_worker(struct fake *fake, const struct tp_proc *rank, uint32_t number)
{
	struct tp_proc *proc = fake_proc(fake, rank->rank);

	proc->worker = number;
	proc->parent_pid = rank->pid;
	return proc;
}

static inline struct tp_window *fake_window(struct fake *fake, struct tp_proc *proc,
					    uint32_t number, int64_t begin, int64_t end)
{
	struct tp_window *window = &fake->run.window[fake->run.n_windows++];

	*window = (struct tp_window){
		.proc = proc, .window = number, .is_whole = true, .begin_ns = begin,
		.end_ns = end, .path = "rank0.0.tpt", .meta = "", .totals = "",
	};
	return window;
}

static inline struct tp_step_row *fake_step_row(struct fake *fake, struct tp_proc *proc,
						uint64_t index, int64_t begin, int64_t dur)
{
	struct tp_step_row *row = &fake->run.step[fake->run.n_steps++];

	*row = (struct tp_step_row){.proc = proc, .index = index, .in_epoch = (uint32_t)index,
				    .batches = 1, .begin_ns = begin, .dur_ns = dur,
				    .phase = TP_PHASE_WAIT, .source = TP_STEP_OPTIMIZER};
	return row;
}

static inline struct tp_event fake_span(struct fake *fake, struct tp_proc *proc,
					uint32_t thread, uint8_t kind,
					const struct tp_string *name, int64_t begin, int64_t end)
{
	return (struct tp_event){
		.proc = proc, .thread = &proc->thread[thread], .kind = kind,
		.link = TP_NO_SEQ, .begin_ns = begin, .end_ns = end,
		.len = (uint64_t)(end - begin), .name = name ? name : &fake->none,
		.shapes = &fake->none, .detail = &fake->none,
	};
}

static inline struct tp_event fake_step(struct fake *fake, struct tp_proc *proc,
					uint32_t index, int64_t begin, int64_t end)
{
	struct tp_event event = fake_span(fake, proc, 0, TP_REC_STEP, NULL, begin, end);

	event.link = index;
	return event;
}

static inline struct tp_event fake_block(struct fake *fake, struct tp_proc *proc,
					 uint32_t thread, uint8_t kind, int64_t time,
					 uint64_t address, uint64_t bytes)
{
	struct tp_event event = fake_span(fake, proc, thread, kind, NULL, time, time);

	event.link = TP_DEVICE_CPU;
	event.arg = address;
	event.len = bytes;
	return event;
}

/* The view needs a pass over the events of the run. */
static inline bool fake_needs_events(struct fake *fake, const struct tp_view *view)
{
	struct tp_facts *facts = tp_facts_new(&fake->run);
	struct tp_out out = {.file = fopen("/dev/null", "w"), .width = 80};
	void *state = view->begin(facts, &(struct tp_view_options){.top = 20});
	bool needs = tp_facts_want_events(facts);

	view->print(state, &fake->run, &out);
	fclose(out.file);
	tp_facts_free(facts);
	return needs;
}

/* The view of these events, into `out`. */
static inline void fake_view(struct fake *fake, const struct tp_view *view,
			     const struct tp_view_options *options,
			     const struct tp_event *event, uint32_t n, struct tp_out *out)
{
	struct tp_facts *facts = tp_facts_new(&fake->run);
	void *state = view->begin(facts, options);

	for (uint32_t i = 0; i < n; i++)
		tp_facts_event(facts, &event[i]);
	tp_facts_end(facts);
	out->sort = options->sort;
	view->print(state, &fake->run, out);
	tp_facts_free(facts);
}

/* What a view prints for these events, in their order. */
static inline char *fake_print(struct fake *fake, const struct tp_view *view,
			       const struct tp_view_options *options,
			       const struct tp_event *event, uint32_t n, uint32_t width,
			       bool has_color)
{
	char *text = NULL, *kept;
	size_t n_bytes = 0;
	struct tp_out out = {.file = open_memstream(&text, &n_bytes), .width = width,
			     .has_color = has_color};

	fake_view(fake, view, options, event, n, &out);
	fclose(out.file);
	kept = fake_alloc(n_bytes + 1);
	memcpy(kept, text, n_bytes);
	free(text);
	return kept;
}

#endif
