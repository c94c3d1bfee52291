/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sink_speedscope.c - host memory by stack for speedscope: a sampled profile for each cost
 *
 * https://www.speedscope.app/file-format-schema.json. The frames that all profiles share stand
 * behind them: only those that are used are written.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/flame.h"
#include "merge/grow.h"
#include "merge/heapfiles.h"
#include "merge/json.h"
#include "merge/outfile.h"
#include "merge/sink.h"

enum {
	TEXT_MAX_BYTES = 2048,	/* of names and paths; longer ones are cut */
	NODES_MAX = 100000,	/* a browser takes the 30 MB that become of it */
};

struct speedscope {
	struct tp_flame *flame;
	struct tp_outfile *out;
	uint32_t *frame_of;	/* by place: number of its frame + 1 */
	uint32_t cap_frames;
	uint32_t *place;	/* by frame */
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
	if (!s->frame_of[place]) {
		if (!tp_grow(&s->place, &s->cap_places, (uint64_t)s->n_places + 1,
			     sizeof(s->place[0])))
			return false;
		s->place[s->n_places++] = place;
		s->frame_of[place] = s->n_places;
	}
	*frame = s->frame_of[place] - 1;
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

static void put_profile(struct speedscope *s, enum tp_heap_cost cost)
{
	const struct tp_heap_figure *figure = tp_heap_figure(cost);
	uint64_t total = tp_flame_total(s->flame, (uint32_t)cost);

	/* Readers divide by the whole. */
	if (!total)
		return;
	put_lit(s, s->n_profiles++ ? ",\n" : "");
	put_lit(s, "{\"type\":\"sampled\",\"name\":");
	put_text(s, figure->title, strlen(figure->title));
	put_lit(s, figure->is_bytes ? ",\"unit\":\"bytes\"" : ",\"unit\":\"none\"");
	put_lit(s, ",\"startValue\":0,\"endValue\":");
	put_number(s, total);
	put_lit(s, ",\"samples\":[\n");
	s->n_weights = 0;
	if (tp_flame_each(s->flame, (uint32_t)cost, 1, put_sample, s))
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
	const struct tp_place *place = tp_flame_place(s->flame, s->place[at]);
	const char *file = *place->file ? place->file : place->module;
	char buf[TP_FLAME_TITLE_MAX];
	const char *title;
	uint32_t n;

	put_lit(s, at ? ",\n{\"name\":" : "{\"name\":");
	title = tp_flame_title(s->flame, s->place[at], buf, &n);
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

static void put_file(struct speedscope *s, const struct tp_heap_rows *rows)
{
	char name[256];

	put_lit(s, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
		   "\"exporter\":\"trainprof-merge\",\n\"name\":");
	snprintf(name, sizeof(name), "host memory of %.180s%s", rows->run->path,
		 rows->sample_bytes ? " (estimates: it was sampled)" : "");
	put_text(s, name, strlen(name));
	put_lit(s, ",\n\"activeProfileIndex\":0,\n\"profiles\":[\n");
	for (uint32_t i = 0; i < TP_HEAP_COSTS; i++)
		put_profile(s, (enum tp_heap_cost)i);
	put_lit(s, "],\n\"shared\":{\"frames\":[\n");
	for (uint32_t i = 0; i < s->n_places; i++)
		put_frame(s, i);
	put_lit(s, "]}}\n");
}

int tp_speedscope_write(const struct tp_heap_rows *rows, const char *path)
{
	static const enum tp_heap_cost costs[] = {TP_HEAP_PEAK, TP_HEAP_ALLOCS, TP_HEAP_LEAKED,
						  TP_HEAP_TEMPORARY};
	struct speedscope s = {.flame = tp_flame_new(rows, TP_FLAME_BY_LINE, costs,
						     TP_HEAP_COSTS, NODES_MAX)};
	int err = -ENOMEM;

	if (!s.flame || !tp_grow(&s.frame_of, &s.cap_frames, tp_flame_places(s.flame),
				 sizeof(s.frame_of[0]))) {
		fprintf(stderr, "trainprof-merge: cannot write '%s': out of memory\n", path);
	} else if (!(s.out = tp_outfile_open(path))) {
		err = -EIO;
	} else {
		put_file(&s, rows);
		err = tp_outfile_close(s.out);
		if (!err && s.is_incomplete) {
			fprintf(stderr, "trainprof-merge: '%s' is not complete: out of memory\n",
				path);
			err = -ENOMEM;
		}
	}
	free(s.frame_of);
	free(s.place);
	free(s.weight);
	tp_flame_free(s.flame);
	return err;
}

static int end(void *state, const struct tp_run *run)
{
	return tp_heapfile_end(state, "speedscope", tp_speedscope_write);
}

const struct tp_sink tp_sink_speedscope = {
	.name = "speedscope",
	.help = "host memory by stack for www.speedscope.app: four costs (.speedscope.json)",
	.hint = "open it in https://www.speedscope.app, or with speedscope",
	.suffix = ".speedscope.json",
	.begin = tp_heapfile_begin,
	.event = tp_heapfile_event,
	.end = end,
};
