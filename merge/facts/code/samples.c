/* SPDX-License-Identifier: Apache-2.0 */
/*
 * samples.c - SAMPLE events: counted by stack and place while they come, by function at the end
 */
#include "merge/facts/code/samples.h"

#include <stdlib.h>
#include <string.h>

#include "merge/facts/origin/backward_call.h"
#include "merge/facts/time/names.h"
#include "merge/kit/keyed.h"
#include "merge/kit/need.h"
#include "merge/kit/sum.h"
#include "merge/kit/tally.h"

enum { FRAMES_MAX = 1024 };

/* Inside a node of the backward pass and no operator: of the program's own Python, or of torch's. */
enum { IN_NODE = TP_SAMPLES_N };

/* The training thread. */
struct trainer {
	uint32_t tid;
	int64_t operator_end, node_end, data_end, step_end;
	int64_t collecting_step;	/* its end; the last in which garbage was collected */
};

struct state {
	struct tp_samples samples;	/* first: what readers see */
	struct tp_stacks *stacks;
	struct trainer *trainer;	/* by process */
	uint32_t cap_met, cap_rows;
	struct tp_keyed met_by, row_by;
	struct tp_tally lines;
	uint32_t *seen;			/* by row: the stack that was counted last, plus one */
	uint32_t cap_seen;
};

const char *tp_samples_where_text(enum tp_samples_where where)
{
	static const char *const text[] = {
		[TP_SAMPLES_OPERATOR] = "in operators", [TP_SAMPLES_DATA] = "waiting for data",
		[TP_SAMPLES_GAP] = "between operators", [TP_SAMPLES_OUTSIDE] = "outside steps",
		[TP_SAMPLES_WORKER] = "worker", [TP_SAMPLES_OTHER] = "other thread",
	};

	return text[where];
}

static void begin_samples(void *opaque, struct tp_facts *facts, const void *params)
{
	struct state *state = opaque;

	state->samples.run = tp_facts_run(facts);
	state->stacks = tp_facts_want(facts, &tp_fact_stacks, NULL);
	state->samples.stacks = state->stacks;
	state->trainer = tp_need(state->samples.run->n_procs, sizeof(*state->trainer));
	for (uint32_t i = 0; i < state->samples.run->n_procs; i++)
		state->trainer[i] = (struct trainer){state->samples.run->proc[i]->pid, INT64_MIN, INT64_MIN,
						     INT64_MIN, INT64_MIN, INT64_MIN};
}

static void free_state(void *opaque)
{
	struct state *state = opaque;

	free(state->trainer);
	free(state->samples.met);
	free(state->samples.row);
	free(state->seen);
	tp_keyed_free(&state->met_by);
	tp_keyed_free(&state->row_by);
	tp_tally_free(&state->lines);
}

/* IN_NODE until names have been read. */
static uint32_t where_of(const struct state *state, const struct tp_event *event)
{
	const struct trainer *trainer = &state->trainer[event->proc->at];

	if (event->proc->worker)
		return TP_SAMPLES_WORKER;
	if (TP_SAMPLE_TID(event->arg) != trainer->tid)
		return TP_SAMPLES_OTHER;
	if (event->begin_ns >= trainer->step_end)
		return TP_SAMPLES_OUTSIDE;
	/* The loader's own span holds operators, too. */
	if (event->begin_ns < trainer->data_end)
		return TP_SAMPLES_DATA;
	if (event->begin_ns < trainer->operator_end)
		return TP_SAMPLES_OPERATOR;
	return event->begin_ns < trainer->node_end ? IN_NODE : TP_SAMPLES_GAP;
}

void tp_samples_add(struct tp_samples_sum *to, const struct tp_samples_sum *from)
{
	to->n += from->n;
	to->running += from->running;
	to->waiting += from->waiting;
	to->wants_lock += from->wants_lock;
	to->collects += from->collects;
	to->ns = tp_add(to->ns, from->ns);
}

static void count_collecting(struct state *state, struct trainer *trainer)
{
	state->samples.n_collecting += trainer->collecting_step != trainer->step_end;
	trainer->collecting_step = trainer->step_end;
}

static void count_sample(struct state *state, const struct tp_event *event)
{
	uint32_t stack = tp_stacks_of(state->stacks, event), where = where_of(state, event), hash, at, row;
	bool is_known = event->flags & TP_SAMPLE_STATE, waits = TP_SAMPLE_WAITS_IN(event->arg) != 0;
	struct tp_samples_sum one = {1, is_known && !waits, is_known && waits,
				     (event->flags & TP_SAMPLE_WANTS_LOCK) != 0,
				     (event->flags & TP_SAMPLE_COLLECTS) != 0, (int64_t)event->len};

	if (!stack)
		return;
	hash = tp_keyed_hash((uint64_t)stack << 32 | event->proc->at << 3 | where);
	for (row = tp_keyed_first(&state->met_by, hash, &at); row != TP_NO_KEYED;
	     row = tp_keyed_next(&state->met_by, hash, &at))
		if (state->samples.met[row].stack == stack && state->samples.met[row].where == where &&
		    state->samples.met[row].proc == event->proc->at)
			break;
	if (row == TP_NO_KEYED) {
		row = state->samples.n_met++;
		tp_need_room(&state->samples.met, &state->cap_met, state->samples.n_met,
			     sizeof(*state->samples.met));
		state->samples.met[row] = (struct tp_samples_met){stack, event->proc->at, where, {0}};
		tp_need_keyed(&state->met_by, hash, row);
	}
	tp_samples_add(&state->samples.met[row].sum, &one);
	if (where != IN_NODE)
		tp_samples_add(&state->samples.all[where], &one);
	if (one.collects && (where < TP_SAMPLES_OUTSIDE || where == IN_NODE))
		count_collecting(state, &state->trainer[event->proc->at]);
}

static void later(int64_t *end, const struct tp_event *event)
{
	*end = event->end_ns > *end ? event->end_ns : *end;
}

static void begin_step(struct trainer *trainer, const struct tp_event *event)
{
	trainer->tid = event->thread->tid;
	later(&trainer->step_end, event);
}

static void take_event(void *opaque, const struct tp_event *event)
{
	struct state *state = opaque;
	struct trainer *trainer = &state->trainer[event->proc->at];

	if (event->kind == TP_REC_SAMPLE)
		count_sample(state, event);
	else if (event->kind == TP_REC_STEP)
		begin_step(trainer, event);
	else if (event->thread->tid != trainer->tid || event->flags & TP_F_ASYNC)
		return;
	else if (event->kind == TP_REC_OP)
		later(tp_backward_is_node(event) ? &trainer->node_end : &trainer->operator_end, event);
	else if (tp_name_is_loader(event->name))
		later(&trainer->data_end, event);
}

/* ---- functions ---- */

static uint32_t find_row(struct state *state, const struct tp_frame *frame,
			 enum tp_samples_where where)
{
	uint32_t hash = tp_keyed_hash((uint64_t)frame->function_id << 8 | where), at, row;
	struct tp_samples *samples = &state->samples;

	for (row = tp_keyed_first(&state->row_by, hash, &at); row != TP_NO_KEYED;
	     row = tp_keyed_next(&state->row_by, hash, &at))
		if (samples->row[row].frame.function_id == frame->function_id &&
		    samples->row[row].where == where)
			return row;
	row = samples->n_rows++;
	tp_need_room(&samples->row, &state->cap_rows, samples->n_rows, sizeof(*samples->row));
	tp_need_room(&state->seen, &state->cap_seen, samples->n_rows, sizeof(*state->seen));
	samples->row[row] = (struct tp_samples_row){.where = where, .frame = *frame};
	tp_need_keyed(&state->row_by, hash, row);
	return row;
}

void tp_samples_count_line(struct tp_tally *lines, uint32_t row, const struct tp_frame *frame, uint64_t n,
			   uint64_t *line_n, struct tp_frame *most)
{
	uint64_t n_line = tp_tally_add(lines, row, frame->line, n);

	if (n_line <= *line_n)
		return;
	*line_n = n_line;
	*most = *frame;
}

static void count_line(struct state *state, uint32_t row, const struct tp_frame *frame, uint64_t n)
{
	struct tp_samples_row *to = &state->samples.row[row];

	tp_samples_count_line(&state->lines, row, frame, n, &to->line_n, &to->frame);
}

static void share_out(struct state *state, uint32_t which)
{
	static struct tp_frame frame[FRAMES_MAX];
	const struct tp_samples_met *met = &state->samples.met[which];
	uint32_t n = tp_stacks_frames(state->stacks, met->stack, frame, FRAMES_MAX);

	for (uint32_t i = 0; i < n && i < FRAMES_MAX; i++) {
		uint32_t row = find_row(state, &frame[i], met->where);

		if (!i) {
			tp_samples_add(&state->samples.row[row].self, &met->sum);
			count_line(state, row, &frame[i], met->sum.n);
		}
		/* A function that calls itself is there once. */
		if (state->seen[row] != which + 1)
			tp_samples_add(&state->samples.row[row].total, &met->sum);
		state->seen[row] = which + 1;
	}
}

static int compare_rows(const void *a, const void *b)
{
	const struct tp_samples_row *x = a, *y = b;

	if (x->self.n != y->self.n)
		return x->self.n < y->self.n ? 1 : -1;
	if (x->total.n != y->total.n)
		return x->total.n < y->total.n ? 1 : -1;
	if (x->where != y->where)
		return x->where < y->where ? -1 : 1;
	return x->frame.function_id < y->frame.function_id ? -1 : 1;
}

/* The program's own Python inside a node is between operators, as anywhere else. */
static void place_in_nodes(struct state *state, bool has_names)
{
	struct tp_samples *samples = &state->samples;

	for (uint32_t i = 0; i < samples->n_met; i++) {
		struct tp_samples_met *met = &samples->met[i];

		if ((uint32_t)met->where != IN_NODE)
			continue;
		met->where = has_names && tp_backward_is_inside(state->stacks, met->stack)
				     ? TP_SAMPLES_GAP : TP_SAMPLES_OPERATOR;
		tp_samples_add(&samples->all[met->where], &met->sum);
	}
}

static void end_samples(void *opaque)
{
	struct state *state = opaque;
	const struct tp_samples *samples = &state->samples;
	uint8_t *wanted = tp_need(tp_stacks_count(state->stacks) + 1, 1);
	int err;

	for (uint32_t i = 0; i < samples->n_met; i++)
		wanted[samples->met[i].stack] = 1;
	err = samples->n_met ? tp_stacks_resolve(state->stacks, wanted) : 0;
	free(wanted);
	place_in_nodes(state, !err);
	for (uint32_t i = 0; i < samples->n_met && !err; i++)
		share_out(state, i);
	if (samples->n_rows)
		qsort(samples->row, samples->n_rows, sizeof(*samples->row), compare_rows);
}

const struct tp_samples_row *tp_samples_top(const struct tp_samples *samples,
					    enum tp_samples_where where)
{
	for (uint32_t i = 0; i < samples->n_rows; i++)
		if (samples->row[i].where == where && samples->row[i].self.n)
			return &samples->row[i];
	return NULL;
}

/* ---- stacks ---- */

static void row_of(const void *of, uint32_t at, uint32_t *proc, uint32_t *stack)
{
	const struct tp_samples *samples = of;

	*proc = samples->met[at].proc;
	*stack = samples->met[at].stack;
}

static uint64_t value_of(const void *of, uint32_t at, uint32_t cost)
{
	const struct tp_samples *samples = of;

	return samples->met[at].sum.n;
}

static uint32_t frames_of(const void *stacks, uint32_t stack, struct tp_frame *frame, uint32_t max)
{
	return tp_stacks_frames(stacks, stack, frame, max);
}

struct tp_flame_rows tp_samples_flame(const struct tp_samples *samples)
{
	static const struct tp_flame_cost cost = {
		.word = "samples", .title = "samples of Python", .type = "samples", .unit = TP_FLAME_COUNT,
	};

	return (struct tp_flame_rows){
		.run = samples->run, .n_rows = samples->n_rows ? samples->n_met : 0, .what = "Python by samples",
		.cost = &cost, .n_costs = 1, .row = row_of, .value = value_of, .of = samples,
		.frames = frames_of, .stacks = samples->stacks,
	};
}

static const struct tp_fact fact = {
	.name = "samples",
	.bytes = sizeof(struct state),
	.kinds = TP_FACT_KIND(TP_REC_SAMPLE) | TP_FACT_KIND(TP_REC_STEP) | TP_FACT_KIND(TP_REC_OP) |
		 TP_FACT_KIND(TP_REC_RANGE),
	.begin = begin_samples,
	.event = take_event,
	.end = end_samples,
	.free = free_state,
};

const struct tp_samples *tp_samples_want(struct tp_facts *facts)
{
	struct state *state = tp_facts_want(facts, &fact, NULL);

	return &state->samples;
}
