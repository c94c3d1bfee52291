/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sample_owners.c - a stack of a sample: which function of the user's, which stage of loading
 */
#include "merge/facts/code/sample_owners.h"

#include <stdlib.h>
#include <string.h>

#include "merge/facts/code/inside.h"
#include "merge/facts/origin/hostmem_frames.h"
#include "merge/kit/need.h"
#include "merge/kit/show.h"
#include "runtime/base/own_python.h"
#include "runtime/base/text.h"

enum { FRAMES_MAX = 512 };

struct state {
	struct tp_sample_owners owners;	/* first: what readers see */
	struct tp_inside inside;
	struct tp_keyed row_by, caller_by;
	struct tp_tally lines, caller_lines;
	uint32_t cap_rows, cap_callers, cap_counted;
	uint32_t *counted;			/* by caller: the stack that was counted last, plus one */
};

static void begin_owners(void *opaque, struct tp_facts *facts, const void *params)
{
	struct state *state = opaque;

	state->owners.samples = tp_samples_want(facts);
}

static void free_state(void *opaque)
{
	struct state *state = opaque;

	free(state->owners.row);
	free(state->owners.caller);
	free(state->counted);
	tp_inside_free(&state->inside);
	tp_keyed_free(&state->row_by);
	tp_keyed_free(&state->caller_by);
	tp_tally_free(&state->lines);
	tp_tally_free(&state->caller_lines);
}

/* "decode.<locals>.<listcomp>", "<genexpr>": what stands inside a function. */
static bool is_inside_function(const char *function)
{
	const size_t n = strlen(function);

	return n && function[n - 1] == '>' && strcmp(function, "<module>") != 0;
}

/* The user's innermost function; n: there is none. */
static uint32_t find_owner(const struct tp_frame *frame, uint32_t n)
{
	uint32_t first = n;

	for (uint32_t i = 0; i < n && !tp_load_is_worker_loop(&frame[i]); i++) {
		if (!frame[i].is_python || !tp_own_python(frame[i].file))
			continue;
		if (!is_inside_function(frame[i].function))
			return i;
		first = i < first ? i : first;
	}
	return first;
}

static bool is_torch(const struct tp_frame *frame)
{
	return frame->is_python &&
	       (strstr(frame->file, "/torch/") || !strncmp(frame->file, "torch/", 6));
}

/* Work of its own that needs no operators: torch.save(), summaries for TensorBoard, making an optimizer,
 * looking for the parameters of a model. */
static bool is_torchs_work(const struct tp_frame *frame)
{
	static const struct {
		const char *file, *function;	/* "": any */
	} work[] = {
		{"torch/serialization.py", ""},
		{"torch/utils/tensorboard/", ""},
		{"torch/optim/optimizer.py", "Optimizer.__init__"},
		{"torch/optim/optimizer.py", "Optimizer.add_param_group"},
		{"torch/nn/modules/module.py", "Module._named_members"},
		{"torch/nn/modules/module.py", "Module.named_modules"},
	};

	for (size_t i = 0; i < sizeof(work) / sizeof(work[0]); i++)
		if (strstr(frame->file, work[i].file) &&
		    (!work[i].function[0] || !strcmp(frame->function, work[i].function)))
			return true;
	return false;
}

/* frame[0] to frame[n - 1]: what the user's function called. */
static bool is_calling_torch(const struct tp_frame *frame, uint32_t n)
{
	bool is_in_torch = false;

	for (uint32_t i = 0; i < n; i++) {
		if (is_torchs_work(&frame[i]))
			return false;
		is_in_torch |= is_torch(&frame[i]);
	}
	return is_in_torch;
}

static uint32_t find_row(struct state *state, const struct tp_sample_owner *key)
{
	struct tp_sample_owners *owners = &state->owners;
	uint64_t bits = (uint64_t)key->frame.function_id << 16 | (uint64_t)key->where << 8 |
			(uint64_t)key->stage << 1 | key->is_in_torch;
	uint32_t hash = tp_keyed_hash(bits), at, row;

	for (row = tp_keyed_first(&state->row_by, hash, &at); row != TP_NO_KEYED;
	     row = tp_keyed_next(&state->row_by, hash, &at)) {
		const struct tp_sample_owner *it = &owners->row[row];

		if (it->frame.function_id == key->frame.function_id && it->where == key->where &&
		    it->stage == key->stage && it->is_in_torch == key->is_in_torch &&
		    !it->frame.function[0] == !key->frame.function[0])
			return row;
	}
	row = owners->n_rows++;
	tp_need_room(&owners->row, &state->cap_rows, owners->n_rows, sizeof(*owners->row));
	owners->row[row] = *key;
	tp_need_keyed(&state->row_by, hash, row);
	return row;
}

/* ---- callers ---- */

static uint32_t find_caller(struct state *state, const struct tp_frame *frame)
{
	struct tp_sample_owners *owners = &state->owners;
	uint32_t hash = tp_keyed_hash(frame->function_id), at, row;

	for (row = tp_keyed_first(&state->caller_by, hash, &at); row != TP_NO_KEYED;
	     row = tp_keyed_next(&state->caller_by, hash, &at))
		if (owners->caller[row].frame.function_id == frame->function_id)
			return row;
	row = owners->n_callers++;
	tp_need_room(&owners->caller, &state->cap_callers, owners->n_callers, sizeof(*owners->caller));
	tp_need_room(&state->counted, &state->cap_counted, owners->n_callers, sizeof(*state->counted));
	owners->caller[row] = (struct tp_sample_caller){.frame = *frame};
	tp_need_keyed(&state->caller_by, hash, row);
	return row;
}

/* Of the user's functions from frame[0] outwards; one that calls itself is there once. */
static void count_callers(struct state *state, uint32_t stack, const struct tp_frame *frame, uint32_t n,
			  enum tp_samples_where where, uint64_t n_samples)
{
	for (uint32_t i = 0; i < n; i++) {
		struct tp_sample_caller *caller;
		uint32_t row;

		if (!frame[i].is_python || !tp_own_python(frame[i].file) ||
		    is_inside_function(frame[i].function))
			continue;
		row = find_caller(state, &frame[i]);
		caller = &state->owners.caller[row];
		if (state->counted[row] == stack + 1)
			continue;
		state->counted[row] = stack + 1;
		*(where == TP_SAMPLES_GAP ? &caller->n_gap : &caller->n_operators) += n_samples;
		if (where != TP_SAMPLES_GAP)
			continue;
		tp_samples_count_line(&state->caller_lines, row, &frame[i], n_samples, &caller->line_n,
				      &caller->frame);
	}
}

/* ---- a stack ---- */

static void count_stack(struct state *state, uint32_t which)
{
	const struct tp_samples_met *met = &state->owners.samples->met[which];
	static struct tp_frame frame[FRAMES_MAX];
	static const struct tp_frame nobody = {.function = "", .file = "", .module = ""};
	uint32_t n = tp_stacks_frames(state->owners.samples->stacks, met->stack, frame, FRAMES_MAX);
	struct tp_sample_owner key = {.where = met->where, .frame = nobody}, *owner;
	uint32_t at, n_called, row;

	n = n < FRAMES_MAX ? n : FRAMES_MAX;
	at = find_owner(frame, n);
	key.stage = tp_load_stage_of(frame, n);
	key.is_in_torch = key.stage == TP_LOAD_NONE && is_calling_torch(frame, at);
	/* What called the loader is not in it. */
	n_called = key.stage == TP_LOAD_NONE ? n : tp_load_called(frame, n);
	if (at > n_called)
		at = n_called;
	else if (at < n)
		key.frame = frame[at];
	row = find_row(state, &key);
	tp_samples_add(&state->owners.row[row].sum, &met->sum);
	tp_samples_add(&state->owners.stage[met->where][key.stage], &met->sum);
	owner = &state->owners.row[row];
	tp_samples_count_line(&state->lines, row, &key.frame, met->sum.n, &owner->line_n, &owner->frame);
	if (key.stage != TP_LOAD_NONE)
		tp_inside_add(&state->inside, row, which, frame, at, TP_INSIDE_LOADER, met->sum.n);
	else if (!key.is_in_torch && key.frame.function[0])
		tp_inside_add(&state->inside, row, which, frame, at, TP_INSIDE_PUBLIC, met->sum.n);
	if (met->sum.n > met->sum.collects &&
	    (met->where == TP_SAMPLES_OPERATOR || (met->where == TP_SAMPLES_GAP && !key.is_in_torch)))
		count_callers(state, which, frame + at, n - at, met->where, met->sum.n - met->sum.collects);
}

static int compare_rows(const void *a, const void *b)
{
	const struct tp_sample_owner *x = a, *y = b;

	if (x->sum.n != y->sum.n)
		return x->sum.n < y->sum.n ? 1 : -1;
	if (x->where != y->where)
		return x->where < y->where ? -1 : 1;
	if (x->stage != y->stage)
		return x->stage < y->stage ? -1 : 1;
	if (x->is_in_torch != y->is_in_torch)
		return x->is_in_torch ? 1 : -1;
	return x->frame.function_id < y->frame.function_id ? -1 : 1;
}

static void choose_inside(struct state *state)
{
	for (uint32_t i = 0; i < state->inside.n_rows; i++) {
		const struct tp_inside_row *row = &state->inside.row[i];
		struct tp_sample_owner *owner = &state->owners.row[row->owner];

		if (owner->stage == TP_LOAD_NONE)
			owner->inside = tp_inside_better(row, owner->inside, owner->sum.n);
	}
	for (uint32_t i = 0; i < state->owners.n_rows; i++) {
		struct tp_sample_owner *owner = &state->owners.row[i];

		if (owner->stage != TP_LOAD_NONE)
			owner->inside = tp_inside_of_loader(&state->inside, i, owner->sum.n);
	}
}

static void end_owners(void *opaque)
{
	struct state *state = opaque;
	const struct tp_samples *samples = state->owners.samples;

	/* Without names there are no rows either: memory was out. */
	for (uint32_t i = 0; samples->n_rows && i < samples->n_met; i++)
		count_stack(state, i);
	choose_inside(state);
	if (state->owners.n_rows)
		qsort(state->owners.row, state->owners.n_rows, sizeof(*state->owners.row), compare_rows);
}

static const struct tp_fact fact = {
	.name = "sample owners",
	.bytes = sizeof(struct state),
	.begin = begin_owners,
	.end = end_owners,
	.free = free_state,
};

const struct tp_sample_owners *tp_sample_owners_want(struct tp_facts *facts)
{
	struct state *state = tp_facts_want(facts, &fact, NULL);

	return &state->owners;
}

const struct tp_sample_owner *tp_sample_owners_top(const struct tp_sample_owners *owners,
						   enum tp_samples_where where, enum tp_load_stage stage)
{
	for (uint32_t i = 0; i < owners->n_rows; i++) {
		const struct tp_sample_owner *row = &owners->row[i];

		if (row->where == where && row->stage == stage && !row->is_in_torch && row->frame.function[0])
			return row;
	}
	return NULL;
}

const struct tp_sample_owner *tp_sample_owners_library(const struct tp_sample_owners *owners,
						       enum tp_samples_where where, enum tp_load_stage stage)
{
	for (uint32_t i = 0; i < owners->n_rows; i++) {
		const struct tp_sample_owner *row = &owners->row[i];

		if (row->where == where && row->stage == stage && !row->frame.function[0] && row->inside)
			return row;
	}
	return NULL;
}

static void show_frame(struct tp_text *out, const struct tp_frame *frame)
{
	const char *function = frame->function, *inside = strstr(function, ".<locals>.<");

	tp_text_str(out, tp_show_file(frame->file));
	if (frame->line)
		tp_text_fmt(out, ":%u", frame->line);
	tp_text_char(out, ' ');
	while (*function && function != inside)
		tp_text_char(out, *function++);
}

const char *tp_sample_owner_show(char *buf, size_t cap, const struct tp_sample_owner *owner)
{
	struct tp_text out;

	tp_text_init(&out, buf, cap);
	if (owner->frame.function[0])
		show_frame(&out, &owner->frame);
	if (owner->frame.function[0] && owner->inside)
		tp_text_str(&out, " > ");
	if (owner->inside)
		tp_hostmem_show_frame(buf + out.len, (uint32_t)(cap - out.len), &owner->inside->frame,
				      TP_HOSTMEM_LONG);
	return buf;
}
