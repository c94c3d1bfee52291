/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tensors.c - what memcurve.c counts, as the formats show it: with device and reserved bytes
 */
#include "merge/facts/tensor/tensors.h"

#include <stdlib.h>

#include "merge/facts/tensor/memcurve.h"
#include "merge/kit/grow.h"
#include "merge/model/step_row.h"

struct reserved {
	uint32_t proc, device, window;	/* that of its last change */
	bool has_change;
	int64_t bytes;
};

/* Of the host: no step has more at a time than the ledger says. Blocks from before the window that were
 * freed without a size count as alive until the next step tells. */
struct bound {
	int64_t most, end_ns;	/* 0: not known */
};

struct tp_tensors {
	const struct tp_run *run;
	struct bound *bound;	/* of the processes, at the step that is open */
	struct tp_memcurve *curve;
	struct reserved *reserved;
	uint32_t n_reserved, cap_reserved;
};

struct tp_tensors *tp_tensors_new(const struct tp_run *run)
{
	struct tp_tensors *t = calloc(1, sizeof(*t));

	if (t) {
		t->run = run;
		t->curve = tp_memcurve_new();
		t->bound = calloc(run->n_procs + 1u, sizeof(*t->bound));
	}
	if (t && (!t->curve || !t->bound)) {
		tp_tensors_free(t);
		t = NULL;
	}
	return t;
}

void tp_tensors_free(struct tp_tensors *tensors)
{
	if (!tensors)
		return;
	tp_memcurve_free(tensors->curve);
	free(tensors->bound);
	free(tensors->reserved);
	free(tensors);
}

static struct reserved *reserved_of(struct tp_tensors *t, uint32_t proc, uint32_t device)
{
	for (uint32_t i = 0; i < t->n_reserved; i++) {
		if (t->reserved[i].proc == proc && t->reserved[i].device == device)
			return &t->reserved[i];
	}
	if (!tp_grow(&t->reserved, &t->cap_reserved, t->n_reserved + 1, sizeof(t->reserved[0])))
		return NULL;
	t->reserved[t->n_reserved] = (struct reserved){.proc = proc, .device = device};
	return &t->reserved[t->n_reserved++];
}

uint64_t tp_tensors_ledger(const struct tp_run *run, const struct tp_event *event)
{
	const struct tp_step_row *before =
		event->link ? tp_step_row_find(run->step, run->n_steps, event->proc, event->link - 1u) : NULL;

	return before ? before->live_bytes : 0;
}

int64_t tp_tensors_ledger_most(const struct tp_run *run, const struct tp_event *event)
{
	const struct tp_step_row *row = tp_step_row_find(run->step, run->n_steps, event->proc, event->link);

	return row ? (int64_t)row->peak_bytes : 0;
}

/* Blocks from before the window count as well: the ledger has what was alive at the end of each
 * step, and the most of it. Without it the curve begins at 0. The ledger counts what malloc gave, the
 * records what was asked for: it is taken where the records alone do not say. */
static void set_from_ledger(struct tp_tensors *t, const struct tp_event *event)
{
	const uint64_t bytes = tp_tensors_ledger(t->run, event);

	if (bytes && tp_memcurve_is_unsure(t->curve, event, TP_DEVICE_CPU))
		tp_memcurve_set(t->curve, event, TP_DEVICE_CPU, (int64_t)bytes);
	t->bound[event->proc->at] = (struct bound){
		.most = tp_tensors_ledger_most(t->run, event), .end_ns = event->end_ns,
	};
}

static int64_t bounded(const struct tp_tensors *t, const struct tp_event *event, int64_t bytes)
{
	const struct bound *bound = &t->bound[event->proc->at];

	if (event->link != TP_DEVICE_CPU || !bound->most || event->begin_ns >= bound->end_ns)
		return bytes;
	return bytes < bound->most ? bytes : bound->most;
}

bool tp_tensors_note(struct tp_tensors *tensors, const struct tp_event *event,
		     struct tp_tensor_change *change)
{
	struct tp_memcurve_track *track;
	struct reserved *reserved;

	if (event->kind == TP_REC_STEP) {
		set_from_ledger(tensors, event);
		return false;
	}
	track = tp_memcurve_event(tensors->curve, event, &change->bytes);
	reserved = reserved_of(tensors, event->proc->at, event->link);
	if (!track || !reserved)
		return false;
	if (event->kind == TP_REC_TOTALS) {
		reserved->bytes = (int64_t)event->arg;
		return false;
	}
	change->address = event->arg;
	change->device_type = (int32_t)(event->link >> 8 & 0xff);
	change->device_index = (event->link & 0xff) == 0xff ? -1 : (int32_t)(event->link & 0xff);
	change->is_known = event->kind == TP_REC_ALLOC || change->bytes != 0;
	change->allocated = bounded(tensors, event, track->live_bytes);
	/* Of the host, and of some devices, no totals are ever said: those begin at 0. */
	change->is_total_known = track->is_absolute || event->link == TP_DEVICE_CPU ||
				 (reserved->has_change && reserved->window == event->window);
	reserved->has_change = true;
	reserved->window = event->window;
	change->reserved = reserved->bytes;
	return true;
}
