/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sink_perfetto.c - the timeline in Perfetto's own format (protobuf), a sixth of the JSON's size
 */
#include <stdlib.h>

#include "merge/kit/need.h"
#include "merge/model/sink.h"
#include "merge/sink/perfetto.h"

struct sink {
	struct tp_perfetto perfetto;
	struct tp_timeline *timeline;
};

static void *begin_perfetto(struct tp_facts *facts, const char *path)
{
	const struct tp_run *run = tp_facts_run(facts);
	struct sink *s = tp_need(1, sizeof(*s));

	s->timeline = tp_timeline_new(facts, &tp_dialect_perfetto, &tp_perfetto_encoder,
				      &s->perfetto, NULL);
	s->perfetto.run = run;
	/* Only spans that never ended may have begun before time 0. */
	for (uint32_t i = 0; i < run->n_open; i++) {
		if (-run->open[i].begin_ns > s->perfetto.base_ns)
			s->perfetto.base_ns = -run->open[i].begin_ns;
	}
	s->perfetto.out = tp_outfile_open(path);
	if (s->perfetto.out)
		return s;
	tp_timeline_free(s->timeline);
	free(s);
	return NULL;
}

static void take_event(void *state, const struct tp_event *event)
{
	struct sink *s = state;

	tp_timeline_event(s->timeline, event);
}

static int end_perfetto(void *state, const struct tp_run *run)
{
	struct sink *s = state;
	int err;

	(void)run;
	tp_timeline_end(s->timeline);
	err = tp_outfile_close(s->perfetto.out);
	tp_timeline_say_unplaced(s->timeline);
	tp_timeline_free(s->timeline);
	free(s);
	return err;
}

const struct tp_sink tp_sink_perfetto = {
	.name = "perfetto",
	.help = "protobuf for ui.perfetto.dev and its trace processor (.pftrace.gz)",
	.hint = "open it in https://ui.perfetto.dev",
	.suffix = ".pftrace.gz",
	.begin = begin_perfetto,
	.event = take_event,
	.end = end_perfetto,
};
