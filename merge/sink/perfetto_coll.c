/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perfetto_coll.c - collectives of NCCL, and what its proxies do for them
 */
#include <string.h>

#include "merge/model/coll.h"
#include "merge/sink/perfetto.h"

static char *put_argument(char *p, const struct tp_coll_arg *arg)
{
	char *at;

	p = tp_proto_begin(p, EVENT_ANNOTATIONS, &at);
	p = tp_proto_text(p, ANNOTATION_NAME, arg->name, strlen(arg->name));
	if (arg->text)
		p = tp_proto_text(p, ANNOTATION_STRING, arg->text,
				  strnlen(arg->text, TP_COLL_TEXT_MAX));
	else
		p = tp_proto_uint(p, ANNOTATION_INT, (uint64_t)arg->value);
	tp_proto_end(p, at);
	return p;
}

void tp_perfetto_put_coll(struct tp_perfetto *s, const struct tp_event *event)
{
	int64_t end_ns = event->end_ns;
	struct tp_track *track = tp_tracks_place(&s->book, event, &end_ns, tp_perfetto_put_end, s);
	struct tp_perfetto_sequence *q = track ?
		tp_perfetto_sequence_of(s, track, event, tp_tracks_family(event)) : NULL;
	struct tp_coll_arg arg[TP_COLL_ARGS];
	char texts[64], title[TP_COLL_TITLE], *packet, *at, *p;
	uint32_t n = tp_coll_args(event, arg, texts);

	if (!q) {
		s->n_unplaced++;
		return;
	}
	p = tp_perfetto_begin_event(s, q, event->begin_ns, TYPE_BEGIN, &packet, &at);
	p = tp_proto_uint(p, EVENT_CATEGORY_IIDS, event->kind == TP_REC_COLL ? CAT_COLL : CAT_XFER);
	tp_coll_title(title, event->name);
	p = tp_proto_text(p, EVENT_NAME, title, strlen(title));
	for (uint32_t i = 0; i < n; i++)
		p = put_argument(p, &arg[i]);
	tp_proto_end(p, at);
	tp_perfetto_end_packet(s, p, packet);
}
