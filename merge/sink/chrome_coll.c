/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chrome_coll.c - collectives of NCCL, and what its proxies do for them
 */
#include "merge/model/coll.h"
#include "merge/sink/chrome.h"

void tp_chrome_put_coll(struct tp_chrome *c, const struct tp_event *event)
{
	struct tp_coll_arg arg[TP_COLL_ARGS];
	char texts[64], title[TP_COLL_TITLE];
	uint32_t n = tp_coll_args(event, arg, texts);
	int64_t end_ns = event->end_ns;
	struct tp_track *track = tp_tracks_place(&c->book, event, &end_ns, NULL, NULL);
	const struct tp_chrome_track *numbers = track ? tp_chrome_thread(c, event, track) : NULL;
	char *p;

	if (!numbers) {
		c->n_unplaced++;
		return;
	}
	p = tp_chrome_begin_event(c, TP_COLL_TEXTS);
	p = tp_json_lit(p, "{\"ph\":\"X\",\"cat\":\"");
	p = stpcpy(p, event->kind == TP_REC_COLL ? "collective" : "collective_proxy");
	p = tp_json_lit(p, "\",\"name\":\"");
	tp_coll_title(title, event->name);
	p = tp_json_text(p, title, strlen(title));
	*p++ = '"';
	p = tp_chrome_put_place(p, numbers, event->begin_ns);
	p = tp_json_lit(p, ",\"dur\":");
	p = tp_json_us(p, end_ns - event->begin_ns);
	p = tp_json_lit(p, ",\"args\":{");
	for (uint32_t i = 0; i < n; i++) {
		*p++ = '"';
		p = stpcpy(p, arg[i].name);
		p = tp_json_lit(p, "\":");
		if (arg[i].text) {
			*p++ = '"';
			p = tp_json_text(p, arg[i].text, strnlen(arg[i].text, TP_COLL_TEXT_MAX));
			*p++ = '"';
		} else {
			p = tp_json_i64(p, arg[i].value);
		}
		*p++ = ',';
	}
	/* There is one at least. */
	p[-1] = '}';
	*p++ = '}';
	c->file->out->at = p;
}
