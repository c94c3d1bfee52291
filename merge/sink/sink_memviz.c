/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sink_memviz.c - tensor memory as PyTorch's memory snapshots, a file per process
 *
 * Memory: the newest lives of blocks of each device, like torch's own recording with its limit.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/facts/tensor/allocator.h"
#include "merge/facts/tensor/memory_at.h"
#include "merge/kit/grow.h"
#include "merge/kit/list.h"
#include "merge/kit/need.h"
#include "merge/kit/say.h"
#include "merge/model/label.h"
#include "merge/model/sink.h"
#include "merge/model/view.h"
#include "merge/sink/memviz.h"
#include "merge/sink/proc_file.h"
#include "runtime/base/file.h"

enum {
	LIVES_MAX = 200000,	/* of a device of a process; the page is slow beyond */
	OOMS_MAX = 1000,
};

/* A device of a process: its lives, the oldest are overwritten. */
struct track {
	uint32_t proc, device;
	struct tp_life *life;
	uint32_t n, cap, next;
	uint64_t n_dropped;
};

struct sink {
	char path[4096];
	const struct tp_run *run;
	struct tp_memcat *cat;
	struct track *track;
	uint32_t n_tracks, cap_tracks;
	struct oom {
		uint32_t proc;
		struct tp_memviz_oom what;
	} *oom;
	uint32_t n_ooms, cap_ooms;
	uint32_t *last_window;		/* by process: what is alive then stays alive */
	bool is_incomplete;
	const struct tp_memory_at *at;	/* ranges whose ends have a file each; NULL: none */
};

static struct tp_view_options view_options;

static void take_live(void *ctx, const struct tp_event *event, uint32_t device, int64_t bytes)
{
}

static void take_life(void *ctx, const struct tp_life *life)
{
	struct sink *s = ctx;
	struct track *track = NULL;
	struct tp_life *kept;

	/* It has no address. */
	if (life->is_sum)
		return;
	for (uint32_t i = 0; i < s->n_tracks && !track; i++)
		if (s->track[i].proc == life->proc->at && s->track[i].device == life->device)
			track = &s->track[i];
	if (!track) {
		if (!tp_grow(&s->track, &s->cap_tracks, (uint64_t)s->n_tracks + 1,
			     sizeof(*track))) {
			s->is_incomplete = true;
			return;
		}
		track = &s->track[s->n_tracks++];
		track->proc = life->proc->at;
		track->device = life->device;
	}
	if (track->n == LIVES_MAX) {
		kept = &track->life[track->next++ % LIVES_MAX];
		track->n_dropped++;
	} else if (tp_grow(&track->life, &track->cap, (uint64_t)track->n + 1, sizeof(*kept))) {
		kept = &track->life[track->n++];
	} else {
		s->is_incomplete = true;
		return;
	}
	*kept = *life;
	/* What comes after is not seen until the next window, which tells of it anew. */
	kept->is_alive &= life->window == s->last_window[life->proc->at];
}

static void take_mark(void *ctx, const struct tp_event *event)
{
	struct sink *s = ctx;
	struct oom *oom;

	if (!tp_allocator_is_oom(event) || s->n_ooms == OOMS_MAX ||
	    !tp_grow(&s->oom, &s->cap_ooms, (uint64_t)s->n_ooms + 1, sizeof(*s->oom)))
		return;
	oom = &s->oom[s->n_ooms++];
	*oom = (struct oom){event->proc->at, {.device = event->link, .bytes = (int64_t)event->arg,
					      .ns = event->begin_ns}};
	oom->what.name = tp_memcat_where(s->cat, event, &oom->what.origin);
}

static void begin_lives(void *state, struct tp_facts *facts, const void *params)
{
	static const struct tp_memcat_calls calls = {.live = take_live, .life = take_life};
	const struct tp_run *run = tp_facts_run(facts);
	struct sink *s = state;

	s->run = run;
	s->cat = tp_facts_want(facts, &tp_fact_memcat, NULL);
	tp_memcat_read(s->cat, &calls, s);
	s->last_window = tp_need(run->n_procs, sizeof(*s->last_window));
	for (uint32_t i = 0; i < run->n_windows; i++) {
		uint32_t *last = &s->last_window[run->window[i].proc->at];

		*last = run->window[i].window > *last ? run->window[i].window : *last;
	}
}

static void free_lives(void *state)
{
	struct sink *s = state;

	for (uint32_t i = 0; i < s->n_tracks; i++)
		free(s->track[i].life);
	free(s->track);
	free(s->oom);
	free(s->last_window);
}

static const struct tp_fact fact_lives = {
	.name = "lives of tensor memory",
	.bytes = sizeof(struct sink),
	.kinds = TP_FACT_KIND(TP_REC_MARK),
	.is_cut = true,
	.begin = begin_lives,
	.event = take_mark,
	.free = free_lives,
};

static void prepare_memviz(const struct tp_view_options *options)
{
	view_options = *options;
}

static void *begin_memviz(struct tp_facts *facts, const char *path)
{
	const struct tp_memory_at_params params = {.names = view_options.at};
	struct sink *s = tp_facts_want(facts, &fact_lives, NULL);
	int err = tp_file_make_dirs(path, 0777);

	snprintf(s->path, sizeof(s->path), "%s", path);
	if (view_options.at || view_options.calls)
		s->at = tp_facts_want(facts, &tp_fact_memory_at, &params);
	if (!err)
		return s;
	tp_say("cannot make the folder '%s': %s", path, strerror(-err));
	return NULL;
}

static int write_proc(struct sink *s, const struct tp_proc *proc)
{
	struct tp_memviz_device *device = calloc(s->n_tracks + 1, sizeof(*device));
	struct tp_memviz_oom *oom = calloc(s->n_ooms + 1, sizeof(*oom));
	uint32_t n = 0, n_ooms = 0;
	char path[4096 + 128], other[96];
	int err = device && oom ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < s->n_tracks && !err; i++) {
		const struct track *track = &s->track[i];

		if (track->proc != proc->at)
			continue;
		device[n++] = (struct tp_memviz_device){track->device, track->life, track->n};
		if (track->n_dropped)
			tp_say("memviz: %llu older blocks of process %u "
				"are left out: the page takes no more; --steps or --windows "
				"chooses others", (unsigned long long)track->n_dropped, proc->pid);
	}
	for (uint32_t i = 0; i < s->n_ooms && !err; i++)
		if (s->oom[i].proc == proc->at)
			oom[n_ooms++] = s->oom[i].what;
	snprintf(path, sizeof(path), "%s/rank%d%s.pickle", s->path, tp_proc_file_rank(proc),
		 tp_proc_file_other(other, s->run, proc));
	if (n && !err)
		err = tp_memviz_write(path, s->cat, device, n, oom, n_ooms);
	if (err == -ENOMEM)
		tp_say("'%s' is not complete: out of memory", path);
	free(device);
	free(oom);
	return err;
}

/* The lives that had begun by then, as they were then. To be freed; NULL: out of memory. */
static struct tp_life *lives_at(const struct track *track, int64_t now, uint32_t *n)
{
	struct tp_life *life = malloc(((size_t)track->n + 1) * sizeof(*life));

	*n = 0;
	for (uint32_t i = 0; life && i < track->n; i++) {
		if (track->life[i].begin_ns > now)
			continue;
		life[*n] = track->life[i];
		life[(*n)++].is_alive |= track->life[i].end_ns > now;
	}
	return life;
}

/* The history up to one end of a call, as MemProfiler has the allocator's dumped there. */
static int write_point(struct sink *s, const struct tp_memory_at_call *call, bool is_end)
{
	const int64_t now = is_end ? call->end.ns : call->start.ns;
	struct tp_memviz_device *device = calloc(s->n_tracks + 1, sizeof(*device));
	char path[4096 + TP_PROC_FILE_WORD + 160], other[96], word[TP_PROC_FILE_WORD];
	int err = device ? 0 : -ENOMEM;
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->n_tracks && !err; i++) {
		const struct track *track = &s->track[i];

		if (track->proc != call->proc->at)
			continue;
		device[n].device = track->device;
		device[n].life = lives_at(track, now, &device[n].n);
		err = device[n++].life ? 0 : -ENOMEM;
	}
	snprintf(path, sizeof(path), "%s/cuda_alloc_rank_%d%s.%s.%llu.%s.pickle", s->path, tp_proc_file_rank(call->proc),
		 tp_proc_file_other(other, s->run, call->proc),
		 tp_proc_file_word(word, tp_names_at(tp_memory_at_names(s->at), call->name)->bytes),
		 (unsigned long long)call->number, is_end ? "end" : "start");
	if (n && !err)
		err = tp_memviz_write(path, s->cat, device, n, NULL, 0);
	while (n)
		free(device[--n].life);
	free(device);
	if (err == -ENOMEM)
		tp_say("'%s' is not complete: out of memory", path);
	return err;
}

static int write_points(struct sink *s)
{
	uint32_t n = 0;
	const struct tp_memory_at_call *call = s->at ? tp_memory_at_calls(s->at, &n) : NULL;
	int err = 0;

	for (uint32_t i = 0; i < n && !err; i++) {
		if (!tp_list_has(view_options.calls, call[i].number))
			continue;
		err = write_point(s, &call[i], false);
		if (!err)
			err = write_point(s, &call[i], true);
	}
	return err;
}

/* Of stacks that frames are made of. False: out of memory. */
static bool read_names(struct sink *s)
{
	struct tp_stacks *stacks = tp_origins_stacks(tp_memcat_origins(s->cat));
	uint8_t *wanted = calloc(tp_stacks_count(stacks) + 1, 1);
	bool is_good = wanted != NULL;

	for (uint32_t i = 0; wanted && i < s->n_tracks; i++)
		for (uint32_t k = 0; k < s->track[i].n; k++)
			wanted[s->track[i].life[k].origin.stack] = 1;
	for (uint32_t i = 0; wanted && i < s->n_ooms; i++)
		wanted[s->oom[i].what.origin.stack] = 1;
	is_good = is_good && !tp_stacks_resolve(stacks, wanted);
	free(wanted);
	return is_good;
}

static int end_memviz(void *state, const struct tp_run *run)
{
	struct sink *s = state;
	int err = 0;

	if (!s->n_tracks)
		tp_say("no tensor memory was recorded, so '%s' is empty: %s",
			s->path, tp_label_is_kineto(run)
					 ? "torch.profiler does with profile_memory=True"
					 : "TRAINPROF_RECORD=categories or tensors does");
	s->is_incomplete |= !read_names(s);
	for (uint32_t i = 0; i < run->n_procs && !err; i++)
		err = write_proc(s, run->proc[i]);
	if (!err)
		err = write_points(s);
	if (!err && s->is_incomplete) {
		tp_say("'%s' is not complete: out of memory", s->path);
		err = -ENOMEM;
	}
	return err;
}

const struct tp_sink tp_sink_memviz = {
	.name = "memviz",
	.help = "tensor memory for pytorch.org/memory_viz and torch.cuda._memory_viz (a folder; --at: also at ranges)",
	.hint = "drop a file of it on pytorch.org/memory_viz, or python -m torch.cuda._memory_viz",
	.suffix = "memviz",
	.is_folder = true,
	.like = "memory-at",
	.prepare = prepare_memviz,
	.begin = begin_memviz,
	.end = end_memviz,
};
