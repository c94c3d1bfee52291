/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chrome_host.c - what happened on threads: operators, ranges, steps, calls, memory, counters
 */
#include "merge/sink/chrome.h"

static char *put_flags(char *p, uint8_t flags)
{
	static const struct {
		uint8_t flag;
		const char *text;
	} shown[] = {
		{TP_F_EARLY, ",\"Began before the window\":1"},
		{TP_F_OPEN, ",\"Unfinished\":1"},
	};

	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {
		if (flags & shown[i].flag)
			p = stpcpy(p, shown[i].text);
	}
	return p;
}

static bool is_operator(const struct tp_chrome *c, const struct tp_event *event,
			const struct tp_chrome_text *name)
{
	if (event->kind != TP_REC_RANGE)
		return event->kind == TP_REC_OP;
	/* The plugin reads the loader's time only from operators. */
	return name->is_loader || (c->style->has_named_ops && name->is_op);
}

/*
 * The External id of what is started inside this span: torch.profiler's is that of the innermost
 * operator. Outside all of them an annotation tells more than nothing, but to the plugin, which
 * knows none but collectives; those own their kernels there.
 */
static uint32_t id_for_work(const struct tp_chrome *c, const struct tp_event *event,
			    const struct tp_chrome_text *name, const struct tp_track *track,
			    bool is_op)
{
	uint32_t own = (uint32_t)c->n_ops & ~TP_CHROME_OFF_TRACK;
	uint32_t outer = tp_track_inside(track);

	if (is_op)
		return own;
	if (event->kind == TP_REC_STEP)
		return outer;
	if (c->style->is_for_plugin)
		return name->is_collective ? own : outer;
	return outer ? outer : own;
}

static char *put_op_args(struct tp_chrome *c, char *p, const struct tp_event *event,
			 const struct tp_chrome_text *shapes)
{
	p = tp_json_lit(p, "\"External id\":");
	p = tp_json_u64(p, c->n_ops);
	if (event->kind == TP_REC_OP && event->link != TP_NO_SEQ) {
		p = tp_json_lit(p, ",\"Sequence number\":");
		p = tp_json_u64(p, event->link);
		p = tp_json_lit(p, ",\"Fwd thread id\":");
		p = tp_json_u64(p, event->flags & TP_F_ASYNC ? 0 : TP_ARG_THREAD(event->arg));
	}
	if (shapes->n) {
		*p++ = ',';
		memcpy(p, shapes->bytes, shapes->n);
		p += shapes->n;
	}
	return p;
}

static void put_backward_flow(struct tp_chrome *c, const struct tp_event *event,
			      const struct tp_chrome_track *to)
{
	const struct tp_link_op *from = tp_links_backward(&c->links, event);
	const char *category = c->style->forward_backward;
	struct tp_event at_start;
	struct tp_track *track;

	if (!from)
		return;
	/* Of modules without a backward pass, as in evaluation, the plugin makes nodes without times
	 * and rejects the file: where there are modules it is told of no backward pass. */
	if (c->style->is_for_plugin && tp_module_times_has_any(c->modules))
		category = "fwdbwd";
	at_start = *event;
	at_start.thread = from->thread;
	at_start.flags = 0;
	track = tp_tracks_main(&c->book, &at_start);
	/* The ends lie at the begins of their slices, hence inside. */
	if (track && track->user)
		tp_chrome_put_flow(c, category, track->user, from->begin_ns, to,
				   event->begin_ns);
}

void tp_chrome_put_span(struct tp_chrome *c, const struct tp_event *event)
{
	const struct tp_chrome_text *name = tp_chrome_text(c, event->name);
	const struct tp_chrome_text *shapes = tp_chrome_text(c, event->shapes);
	bool is_op = is_operator(c, event, name);
	int64_t end_ns = event->end_ns;
	struct tp_track *track = tp_tracks_place(&c->book, event, &end_ns, NULL, NULL);
	const struct tp_chrome_track *numbers = track ? tp_chrome_thread(c, event, track) : NULL;
	uint32_t n_stack;
	char *p;

	if (!numbers) {
		c->n_unplaced++;
		return;
	}
	/* torch's readers take each range with such a name for a step. */
	if (event->kind == TP_REC_STEP && event->proc->has_own_steps && c->style->has_real_ids)
		return;
	c->n_ops++;
	tp_track_set_id(track, id_for_work(c, event, name, track, is_op));
	n_stack = tp_chrome_stack_room(c, event);
	p = tp_chrome_begin_event(c, name->n + shapes->n + n_stack);
	p = is_op ? tp_json_lit(p, "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"")
		  : tp_json_lit(p, "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"");
	if (event->kind == TP_REC_STEP) {
		p = tp_json_lit(p, "ProfilerStep#");
		p = tp_json_u64(p, event->link);
	} else {
		p = tp_chrome_put_name(p, name);
	}
	*p++ = '"';
	p = tp_chrome_put_place(p, numbers, event->begin_ns);
	p = tp_json_lit(p, ",\"dur\":");
	p = tp_json_us(p, end_ns - event->begin_ns);
	p = tp_json_lit(p, ",\"args\":{");
	p = put_op_args(c, p, event, shapes);
	if (n_stack)
		p = tp_chrome_put_stack(c, p);
	if (event->kind == TP_REC_STEP) {
		p = tp_json_lit(p, ",\"epoch\":");
		p = tp_json_u64(p, event->arg >> 32);
		p = tp_json_lit(p, ",\"step in epoch\":");
		p = tp_json_u64(p, (uint32_t)event->arg);
	}
	p = put_flags(p, event->flags);
	p = tp_json_lit(p, "}}");
	c->file->out->at = p;
	tp_links_forward(&c->links, event);
	if (event->flags & TP_F_BACKWARD && !track->at)
		put_backward_flow(c, event, numbers);
}

/* A call of CUDA's runtime or driver API, or what CUPTI itself took on this thread. */
void tp_chrome_put_call(struct tp_chrome *c, const struct tp_event *event)
{
	const struct tp_chrome_text *name = tp_chrome_text(c, event->name);
	int64_t begin_ns = event->begin_ns, end_ns = event->end_ns;
	struct tp_track *track =
		tp_tracks_place_call(&c->book, event, &begin_ns, &end_ns, NULL, NULL);
	const struct tp_chrome_track *numbers = track ? tp_chrome_thread(c, event, track) : NULL;
	uint32_t external;
	char *p;

	if (!numbers) {
		c->n_unplaced++;
		return;
	}
	external = tp_track_inside(track);
	tp_track_set_id(track, external);
	p = tp_chrome_begin_event(c, name->n);
	p = tp_json_lit(p, "{\"ph\":\"X\",\"cat\":\"");
	if (event->kind == TP_REC_OVERHEAD)
		p = tp_json_lit(p, "overhead");
	else
		p = stpcpy(p, event->flags & TP_F_DRIVER ? c->style->driver : c->style->runtime);
	p = tp_json_lit(p, "\",\"name\":\"");
	p = tp_chrome_put_name(p, name);
	*p++ = '"';
	p = tp_chrome_put_place(p, numbers, begin_ns);
	p = tp_json_lit(p, ",\"dur\":");
	p = tp_json_us(p, end_ns - begin_ns);
	if (event->kind == TP_REC_CALL) {
		p = tp_json_lit(p, ",\"args\":{\"External id\":");
		p = tp_json_u64(p, external);
		p = tp_json_lit(p, ",\"correlation\":");
		p = tp_json_u64(p, event->link);
		if (TP_ARG_RETURNED(event->arg)) {
			p = tp_json_lit(p, ",\"returned\":");
			p = tp_json_u64(p, TP_ARG_RETURNED(event->arg));
		}
		*p++ = '}';
	}
	*p++ = '}';
	c->file->out->at = p;
	if (event->kind == TP_REC_CALL) {
		struct tp_event placed = *event;

		placed.begin_ns = begin_ns;
		tp_launches_call(c->launches, &placed);
		tp_launch_note(&c->owner_of, c->launches, &placed,
			       external | (track->at ? TP_CHROME_OFF_TRACK : 0));
	}
}

/* ---- what has no length ---- */

void tp_chrome_put_tensor(struct tp_chrome *c, const struct tp_event *event)
{
	const struct tp_chrome_track *numbers;
	struct tp_tensor_change change;
	struct tp_track *track;
	char *p;

	if (!tp_tensors_note(c->tensors, event, &change) || !change.is_known)
		return;
	track = tp_tracks_main(&c->book, event);
	numbers = track ? tp_chrome_thread(c, event, track) : NULL;
	if (!numbers)
		return;
	p = tp_chrome_begin_event(c, 0);
	p = tp_json_lit(p, "{\"ph\":\"i\",\"cat\":\"cpu_instant_event\",\"s\":\"t\","
			   "\"name\":\"[memory]\"");
	p = tp_chrome_put_place(p, numbers, event->begin_ns);
	p = tp_json_lit(p, ",\"args\":{\"Total Reserved\":");
	p = tp_json_i64(p, change.reserved);
	p = tp_json_lit(p, ",\"Total Allocated\":");
	p = tp_json_i64(p, change.allocated);
	p = tp_json_lit(p, ",\"Bytes\":");
	p = tp_json_i64(p, change.bytes);
	p = tp_json_lit(p, ",\"Device Id\":");
	p = tp_json_i64(p, change.device_index);
	p = tp_json_lit(p, ",\"Device Type\":");
	p = tp_json_i64(p, change.device_type);
	p = tp_json_lit(p, ",\"Addr\":");
	p = tp_json_u64(p, change.address);
	p = tp_json_lit(p, "}}");
	c->file->out->at = p;
}

/* Of a counter or a mark. */
static char *put_value(char *p, const struct tp_event *event)
{
	double value;

	if (!(event->flags & TP_F_DOUBLE))
		return tp_json_i64(p, (int64_t)event->arg);
	memcpy(&value, &event->arg, sizeof(value));
	return tp_json_double(p, value);
}

void tp_chrome_put_counter(struct tp_chrome *c, const struct tp_event *event)
{
	const char *unit = tp_title_unit(event->name);
	struct tp_chrome_track whose = {0};
	char title[TP_TITLE_MAX];
	char *p;

	if (!*unit)
		unit = "value";
	whose.pid = tp_title_is_of_device(event->name)
			    ? tp_chrome_device(c, event->proc, event->link)
			    : tp_chrome_process(c, event->proc);
	tp_title_counter(title, event->name, event->link);
	p = tp_chrome_begin_event(c, 6 * TP_TITLE_MAX);
	p = tp_json_lit(p, "{\"ph\":\"C\",\"name\":\"");
	p = tp_json_text(p, title, strlen(title));
	*p++ = '"';
	p = tp_chrome_put_place(p, &whose, event->begin_ns);
	/* Perfetto calls the track by both: "RSS B". */
	p = tp_json_lit(p, ",\"args\":{\"");
	p = tp_json_text(p, unit, strnlen(unit, 16));
	p = tp_json_lit(p, "\":");
	p = put_value(p, event);
	p = tp_json_lit(p, "}}");
	c->file->out->at = p;
}

void tp_chrome_put_mark(struct tp_chrome *c, const struct tp_event *event)
{
	const struct tp_chrome_text *name = tp_chrome_text(c, event->name);
	struct tp_track *track = tp_tracks_main(&c->book, event);
	const struct tp_chrome_track *numbers = track ? tp_chrome_thread(c, event, track) : NULL;
	char *p;

	if (!numbers)
		return;
	p = tp_chrome_begin_event(c, name->n);
	p = tp_json_lit(p, "{\"ph\":\"i\",\"cat\":\"mark\",\"s\":\"t\",\"name\":\"");
	p = tp_chrome_put_name(p, name);
	*p++ = '"';
	p = tp_chrome_put_place(p, numbers, event->begin_ns);
	p = tp_json_lit(p, ",\"args\":{\"value\":");
	p = put_value(p, event);
	p = tp_json_lit(p, "}}");
	c->file->out->at = p;
}

void tp_chrome_put_heap_peak(struct tp_chrome *c, const struct tp_hostmem_proc *proc)
{
	struct tp_chrome_track whose = {.pid = tp_chrome_process(c, proc->proc)};
	char *p = tp_chrome_begin_event(c, 0);

	p = tp_json_lit(p, "{\"ph\":\"i\",\"cat\":\"memory\",\"s\":\"p\","
			   "\"name\":\"peak of host memory (heap)\"");
	p = tp_chrome_put_place(p, &whose, proc->peak_ns);
	p = tp_json_lit(p, ",\"args\":{\"Bytes\":");
	p = tp_json_u64(p, proc->peak_bytes);
	p = tp_json_lit(p, ",\"Blocks\":");
	p = tp_json_u64(p, proc->peak_blocks);
	p = tp_json_lit(p, "}}");
	c->file->out->at = p;
}
