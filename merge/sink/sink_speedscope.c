/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sink_speedscope.c - time and host memory by stack for speedscope: a sampled profile for each cost
 *
 * https://www.speedscope.app/file-format-schema.json. The frames that all profiles share stand
 * behind them: only those that are used are written.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/kit/grow.h"
#include "merge/kit/json.h"
#include "merge/kit/outfile.h"
#include "merge/kit/say.h"
#include "merge/model/sink.h"
#include "merge/sink/flamefiles.h"

enum {
	TEXT_MAX_BYTES = 2048,	/* of names and paths; longer ones are cut */
	NODES_MAX = 100000,	/* a browser takes the 30 MB that become of it */
};

struct speedscope {
	const struct tp_flame_rows *rows;
	uint32_t n_sets, now;	/* now: the set that is being written */
	struct set {
		struct tp_flame *flame;
		uint32_t *frame_of;	/* by place: number of its frame + 1 */
		uint32_t cap_frames;
	} set[TP_FLAME_SETS];
	struct tp_outfile *out;
	struct place {
		uint32_t set, at;
	} *place;		/* by frame */
	uint32_t n_places, cap_places;
	uint64_t *weight;	/* of the samples of a profile */
	uint32_t n_weights, cap_weights;
	uint32_t n_profiles;
	bool is_incomplete;
};

static void put_lit(struct speedscope *s, const char *text)
{
	s->out->at = stpcpy(tp_outfile_room(s->out, strlen(text) + 1), text);
}

static void put_number(struct speedscope *s, uint64_t n)
{
	s->out->at = tp_json_u64(tp_outfile_room(s->out, 32), n);
}

static void put_text(struct speedscope *s, const char *text, size_t n)
{
	char *p;

	if (n > TEXT_MAX_BYTES)
		n = TEXT_MAX_BYTES;
	p = tp_outfile_room(s->out, 6 * n + 2);
	*p++ = '"';
	p = tp_json_text(p, text, n);
	*p++ = '"';
	s->out->at = p;
}

static bool frame_of(struct speedscope *s, uint32_t place, uint32_t *frame)
{
	uint32_t *number = &s->set[s->now].frame_of[place];

	if (!*number) {
		if (!tp_grow(&s->place, &s->cap_places, (uint64_t)s->n_places + 1,
			     sizeof(s->place[0])))
			return false;
		s->place[s->n_places++] = (struct place){s->now, place};
		*number = s->n_places;
	}
	*frame = *number - 1;
	return true;
}

static void put_sample(void *ctx, const uint32_t *place, uint32_t n, const uint64_t *value)
{
	struct speedscope *s = ctx;
	uint32_t frame;

	if (!tp_grow(&s->weight, &s->cap_weights, (uint64_t)s->n_weights + 1,
		     sizeof(s->weight[0]))) {
		s->is_incomplete = true;
		return;
	}
	put_lit(s, s->n_weights ? ",\n[" : "[");
	s->weight[s->n_weights++] = *value;
	for (uint32_t i = 0; i < n; i++) {
		if (!frame_of(s, place[i], &frame)) {
			s->is_incomplete = true;
			continue;
		}
		if (i)
			put_lit(s, ",");
		put_number(s, frame);
	}
	put_lit(s, "]");
}

static void put_profile(struct speedscope *s, const struct tp_flame_cost *cost, uint32_t at)
{
	static const char *const units[] = {
		[TP_FLAME_BYTES] = "bytes", [TP_FLAME_NS] = "nanoseconds",
		[TP_FLAME_COUNT] = "none",
	};
	struct tp_flame *flame = s->set[s->now].flame;
	uint64_t total = tp_flame_total(flame, at);

	/* Readers divide by the whole. */
	if (!total || cost->is_extra)
		return;
	put_lit(s, s->n_profiles++ ? ",\n" : "");
	put_lit(s, "{\"type\":\"sampled\",\"name\":");
	put_text(s, cost->title, strlen(cost->title));
	put_lit(s, ",\"unit\":\"");
	put_lit(s, units[cost->unit]);
	put_lit(s, "\",\"startValue\":0,\"endValue\":");
	put_number(s, total);
	put_lit(s, ",\"samples\":[\n");
	s->n_weights = 0;
	if (tp_flame_each(flame, at, 1, put_sample, s))
		s->is_incomplete = true;
	put_lit(s, "],\n\"weights\":[");
	for (uint32_t i = 0; i < s->n_weights; i++) {
		if (i)
			put_lit(s, ",");
		put_number(s, s->weight[i]);
	}
	put_lit(s, "]}");
}

static void put_frame(struct speedscope *s, uint32_t at)
{
	const struct tp_flame *flame = s->set[s->place[at].set].flame;
	const struct tp_flame_place *place = tp_flame_place(flame, s->place[at].at);
	const char *file = *place->file ? place->file : place->module;
	char buf[TP_FLAME_TITLE_MAX];
	const char *title;
	uint32_t n;

	put_lit(s, at ? ",\n{\"name\":" : "{\"name\":");
	title = tp_flame_title(flame, s->place[at].at, buf, &n);
	put_text(s, title, n);
	if (*file) {
		put_lit(s, ",\"file\":");
		put_text(s, file, strlen(file));
	}
	if (place->line) {
		put_lit(s, ",\"line\":");
		put_number(s, place->line);
	}
	put_lit(s, "}");
}

static void put_file(struct speedscope *s)
{
	const struct tp_flame_rows *rows = s->rows;
	char name[256];

	put_lit(s, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
		   "\"exporter\":\"trainprof-merge\",\n\"name\":");
	snprintf(name, sizeof(name), "%s%s%s of %.180s%s", rows[0].what, s->n_sets > 1 ? ", " : "",
		 s->n_sets > 1 ? rows[1].what : "", rows[0].run->path,
		 rows[s->n_sets - 1].sample_bytes ? " (estimates: it was sampled)" : "");
	put_text(s, name, strlen(name));
	put_lit(s, ",\n\"activeProfileIndex\":0,\n\"profiles\":[\n");
	for (s->now = 0; s->now < s->n_sets; s->now++) {
		for (uint32_t i = 0; i < rows[s->now].n_costs; i++)
			put_profile(s, &rows[s->now].cost[i], i);
	}
	put_lit(s, "],\n\"shared\":{\"frames\":[\n");
	for (uint32_t i = 0; i < s->n_places; i++)
		put_frame(s, i);
	put_lit(s, "]}}\n");
}

static bool make_trees(struct speedscope *s)
{
	for (uint32_t i = 0; i < s->n_sets; i++) {
		struct set *set = &s->set[i];

		set->flame = tp_flame_new(&s->rows[i], TP_FLAME_BY_LINE, NODES_MAX);
		if (!set->flame || !tp_grow(&set->frame_of, &set->cap_frames,
					    tp_flame_places(set->flame), sizeof(set->frame_of[0])))
			return false;
	}
	return true;
}

int tp_speedscope_write(const struct tp_flame_rows *rows, uint32_t n, const char *path)
{
	struct speedscope s = {.rows = rows, .n_sets = n};
	int err = -ENOMEM;

	if (!make_trees(&s)) {
		tp_say("cannot write '%s': out of memory", path);
	} else if (!(s.out = tp_outfile_open(path))) {
		err = -EIO;
	} else {
		put_file(&s);
		err = tp_outfile_close(s.out);
		if (!err && s.is_incomplete) {
			tp_say("'%s' is not complete: out of memory",
				path);
			err = -ENOMEM;
		}
	}
	for (uint32_t i = 0; i < TP_FLAME_SETS; i++) {
		free(s.set[i].frame_of);
		tp_flame_free(s.set[i].flame);
	}
	free(s.place);
	free(s.weight);
	return err;
}

static int end_speedscope(void *state, const struct tp_run *run)
{
	return tp_flamefile_end(state, "speedscope", tp_speedscope_write, false);
}

const struct tp_sink tp_sink_speedscope = {
	.name = "speedscope",
	.help = "time and host memory by stack for www.speedscope.app (.speedscope.json)",
	.hint = "open it in https://www.speedscope.app, or with speedscope",
	.suffix = ".speedscope.json",
	.begin = tp_flamefile_begin,
	.end = end_speedscope,
};
