/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kineto_steps.c - the step ledger that a torch.profiler trace has not
 */
#include "merge/kineto/kineto_steps.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/kineto/kineto_words.h"
#include "merge/kit/grow.h"
#include "runtime/trace/ring_layout.h"
#include "runtime/trace/torch_names.h"

void tp_kineto_steps_free(struct tp_kineto_steps *steps)
{
	free(steps->step);
	free(steps->part);
}

void tp_kineto_steps_step(struct tp_kineto_steps *steps, uint64_t index, uint64_t begin_ns,
			  uint64_t dur_ns)
{
	if (tp_grow(&steps->step, &steps->cap_steps, (uint64_t)steps->n_steps + 1,
		    sizeof(steps->step[0])))
		steps->step[steps->n_steps++] = (struct tp_kineto_step){
			.index = index, .begin_ns = begin_ns, .dur_ns = dur_ns};
}

void tp_kineto_steps_range(struct tp_kineto_steps *steps, const struct tp_json_text *name,
			   uint64_t begin_ns, uint64_t dur_ns)
{
	bool is_optimizer = tp_kineto_begins(name, TP_NAME_OPTIMIZER);

	if (!is_optimizer && !tp_kineto_begins(name, TP_NAME_LOADER) &&
	    !tp_kineto_begins(name, TP_NAME_PIPE))
		return;
	if (tp_grow(&steps->part, &steps->cap_parts, (uint64_t)steps->n_parts + 1,
		    sizeof(steps->part[0])))
		steps->part[steps->n_parts++] =
			(struct tp_kineto_part){begin_ns, dur_ns, is_optimizer};
}

static int compare_steps(const void *a, const void *b)
{
	const struct tp_kineto_step *x = a, *y = b;

	return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

/* The step that a moment lies in; NULL: none. */
static struct tp_kineto_step *find(struct tp_kineto_steps *steps, uint64_t ns)
{
	uint32_t low = 0, high = steps->n_steps;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (steps->step[middle].begin_ns <= ns)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || ns - steps->step[low - 1].begin_ns >= steps->step[low - 1].dur_ns)
		return NULL;
	return &steps->step[low - 1];
}

int tp_kineto_steps_write(struct tp_kineto_steps *steps, const struct tp_ledger_head *head,
			  uint64_t late_ns, const char *path)
{
	char line[2 * TP_LEDGER_LINE_MAX];
	FILE *file;
	int err;

	if (!steps->n_steps)
		return -ENODATA;
	qsort(steps->step, steps->n_steps, sizeof(steps->step[0]), compare_steps);
	for (uint32_t i = 0; i < steps->n_parts; i++) {
		const struct tp_kineto_part *part = &steps->part[i];
		struct tp_kineto_step *step = find(steps, part->begin_ns);

		if (!step)
			continue;
		if (part->is_optimizer) {
			step->optimizer_ns += part->dur_ns;
		} else {
			step->data_wait_ns += part->dur_ns;
			step->batches++;
		}
	}
	file = fopen(path, "we");
	if (!file)
		return -errno;
	fwrite(line, 1, tp_ledger_format_head(line, sizeof(line), head), file);
	for (uint32_t i = 0; i < steps->n_steps; i++) {
		const struct tp_kineto_step *step = &steps->step[i];
		struct tp_ledger_row row = {
			.index = step->index, .in_epoch = (uint32_t)step->index,
			.batches = step->batches, .phase = TP_PHASE_ACTIVE,
			.source = TP_STEP_RANGE, .begin_ns = step->begin_ns + late_ns,
			.dur_ns = step->dur_ns, .data_wait_ns = step->data_wait_ns,
			.optimizer_ns = step->optimizer_ns,
		};

		fwrite(line, 1, tp_ledger_format_row(line, sizeof(line), &row), file);
	}
	err = ferror(file) ? -EIO : 0;
	return fclose(file) ? -errno : err;
}
