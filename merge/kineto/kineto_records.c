/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kineto_records.c - events of a torch.profiler trace -> records of a trace file of ours
 *
 * Their order in the file does not matter: the writer's blocks say what they span.
 */
#include <string.h>

#include "merge/kineto/kineto_state.h"
#include "merge/kineto/kineto_words.h"
#include "merge/kit/grow.h"
#include "merge/model/device.h"
#include "runtime/trace/kinds.h"
#include "runtime/trace/torch_names.h"

enum { THREADS_MOST = 60000 };

/* Types of devices, as torch numbers them. */
enum { TYPE_CUDA = 1, TYPE_HIP = 6 };

/* ---- threads ---- */

/* The slot of a thread; TP_KINETO_NO_SLOT: too many. */
static uint16_t slot_of(struct tp_kineto_records *r, int64_t tid)
{
	struct tp_kineto_thread *thread;

	if (r->last_thread < r->n_threads && r->thread[r->last_thread].tid == tid)
		return (uint16_t)r->last_thread;
	for (uint32_t i = 0; i < r->n_threads; i++) {
		if (r->thread[i].tid == tid) {
			r->last_thread = i;
			return (uint16_t)i;
		}
	}
	if (r->n_threads == THREADS_MOST ||
	    !tp_grow(&r->thread, &r->cap_threads, r->n_threads + 1, sizeof(r->thread[0])))
		return TP_KINETO_NO_SLOT;
	thread = &r->thread[r->n_threads];
	thread->tid = tid;
	r->last_thread = r->n_threads;
	return (uint16_t)r->n_threads++;
}

/* "thread 4711 (python)": what is in the brackets. */
static struct tp_json_text own_name(const struct tp_json_text *name)
{
	const char *open = memchr(name->bytes, '(', name->n);
	struct tp_json_text own = *name;

	if (!open || name->bytes[name->n - 1] != ')')
		return own;
	own.bytes = open + 1;
	own.n = (uint32_t)(name->bytes + name->n - 1 - own.bytes);
	return own;
}

static void name_thread(struct tp_kineto_records *r, const struct tp_kineto_event *event)
{
	static const char stream[] = "stream ";
	const struct tp_json_text *name = &event->inner_name;
	struct tp_json_text own;
	uint16_t slot;

	/* Names come before the first event; rows of GPUs are no threads. */
	if (!TP_KINETO_HAS(event, TID) || !name->n ||
	    (name->n >= sizeof(stream) && !memcmp(name->bytes, stream, sizeof(stream) - 1)))
		return;
	slot = slot_of(r, event->tid);
	if (slot == TP_KINETO_NO_SLOT)
		return;
	own = own_name(name);
	memset(r->thread[slot].name, 0, sizeof(r->thread[slot].name));
	tp_json_in_plain(&own, r->thread[slot].name,
			 sizeof(r->thread[slot].name) - 1);
}

/* ---- records ---- */

void tp_kineto_put(struct tp_kineto_records *r, const struct tp_rec *rec, uint16_t slot)
{
	uint64_t end = tp_rec_end(rec);

	/* Where operators come from is told before them. */
	if (rec->time < r->first && !tp_kind_is_stack(rec->kind))
		r->first = rec->time;
	if (end > r->last)
		r->last = end;
	r->writer.anchor = (struct tp_clock_anchor){
		.ticks = end, .mono_ns = end, .real_ns = end, .bracket_ticks = 0};
	tp_writer_events(&r->writer, rec, 1, slot);
}

/* Time and length; false: it lacks them. */
static bool begin_record(struct tp_kineto_records *r, const struct tp_kineto_event *event,
			 struct tp_rec *rec, uint8_t kind)
{
	int64_t time;

	memset(rec, 0, sizeof(*rec));
	rec->kind = kind;
	/* Times before 1970 are no times; those beyond 2^62 ns no clock's. */
	if (!TP_KINETO_HAS(event, TS) ||
	    __builtin_add_overflow(event->ts_ns, r->base_ns, &time) || time < 0 || time >> 62)
		return false;
	/* Of a file that counts from its own begin: a record's time is never 0. */
	rec->time = time ? (uint64_t)time : 1;
	if (event->dur_ns > 0)
		tp_rec_set_len(rec, (uint64_t)event->dur_ns - !time);
	return true;
}

static uint32_t u32_of(int64_t value)
{
	return value < 0 || value > UINT32_MAX ? 0 : (uint32_t)value;
}

/* Of a range of a collective: its group stands in its SHAPES. */
static void note_group(struct tp_kineto_records *r, const struct tp_kineto_event *event,
		       struct tp_rec *rec, const struct tp_kineto_thread *thread)
{
	enum tp_comm_library by = tp_comm_library(event->name.bytes, event->name.n);
	uint32_t shapes = TP_ARG_SHAPES(rec->arg);

	if (by != TP_COMM_BY_GLOO && by != TP_COMM_BY_NCCL)
		return;
	if (thread->comm_shapes && rec->time >= thread->comm_begin && rec->time < thread->comm_end)
		shapes = thread->comm_shapes;
	else
		shapes = tp_kineto_group_id(&r->strings, shapes, &r->group);
	/* With a group it tells when it was asked for, which is not known. */
	rec->link = TP_NO_SEQ;
	rec->arg = TP_ARG_OP(shapes, event->forward, 0);
}

static bool put_host(struct tp_kineto_records *r, const struct tp_kineto_event *event,
		     enum tp_kineto_category category)
{
	struct tp_rec rec;
	uint16_t slot;
	uint32_t step;

	if (!TP_KINETO_HAS(event, TID) || !begin_record(r, event, &rec, TP_REC_OP))
		return false;
	slot = slot_of(r, event->tid);
	if (slot == TP_KINETO_NO_SLOT)
		return false;
	if (tp_kineto_step(&event->name, &step)) {
		rec.kind = TP_REC_STEP;
		rec.name = r->step_name;
		rec.link = step;
		rec.arg = step;
		if (!r->steps.n_steps || step < r->first_step)
			r->first_step = step;
		tp_kineto_steps_step(&r->steps, step, rec.time, tp_rec_len(&rec));
	} else if (category == TP_KINETO_OP || category == TP_KINETO_ANNOTATION) {
		uint32_t shapes = tp_kineto_shapes_id(&r->strings, &event->dims, &event->types);
		bool is_op = category == TP_KINETO_OP;

		rec.kind = is_op ? TP_REC_OP : TP_REC_RANGE;
		rec.name = tp_kineto_name(&r->strings, is_op ? TP_STRING_OP : TP_STRING_TEXT,
					  &event->name);
		rec.link = TP_KINETO_HAS(event, SEQUENCE) && event->sequence >= 0
				   ? (uint32_t)event->sequence
				   : TP_NO_SEQ;
		rec.arg = TP_ARG_OP(shapes, event->forward, 0);
		/* The engine's own operator around a node has the node's number. */
		if (event->forward > 0 && is_op &&
		    !tp_kineto_begins(&event->name, TP_NAME_ENGINE))
			rec.flags |= TP_F_BACKWARD;
		if (event->collective.n && is_op) {
			r->thread[slot].comm_begin = rec.time;
			r->thread[slot].comm_end = rec.time + tp_rec_len(&rec);
			r->thread[slot].comm_shapes =
				tp_kineto_comm_id(&r->strings, event, r->head.rank, 0);
			shapes = tp_kineto_comm_id(&r->strings, event, r->head.rank, shapes);
			rec.arg = TP_ARG_OP(shapes, event->forward, 0);
		} else if (!is_op) {
			note_group(r, event, &rec, &r->thread[slot]);
		}
		tp_kineto_steps_range(&r->steps, &event->name, rec.time, tp_rec_len(&rec));
	} else {
		rec.kind = category == TP_KINETO_OVERHEAD ? TP_REC_OVERHEAD : TP_REC_CALL;
		rec.name = tp_kineto_name(&r->strings, TP_STRING_TEXT, &event->name);
		rec.flags = category == TP_KINETO_DRIVER ? TP_F_DRIVER : 0;
		rec.link = rec.kind == TP_REC_CALL ? u32_of(event->correlation) : 0;
		rec.arg = TP_ARG_CALL(event->tid, 0);
	}
	if (rec.kind == TP_REC_OP || rec.kind == TP_REC_CALL)
		tp_kineto_stacks_ask(r, event, &rec, slot);
	tp_kineto_put(r, &rec, slot);
	return true;
}

/* A call of Python. */
static bool put_python(struct tp_kineto_records *r, const struct tp_kineto_event *event)
{
	struct tp_rec rec;
	uint16_t slot;

	if (!TP_KINETO_HAS(event, TID) || !begin_record(r, event, &rec, TP_REC_FRAME))
		return false;
	slot = slot_of(r, event->tid);
	return slot != TP_KINETO_NO_SLOT &&
	       tp_kineto_stacks_call(r, event, slot, rec.time, tp_rec_len(&rec));
}

/* Old traces name the stream in the thread's place only: "stream 7". */
static struct tp_device_place place_of(const struct tp_kineto_event *event)
{
	static const char stream[] = "stream ";
	const struct tp_json_text *text = &event->tid_text;
	struct tp_device_place place = {
		.device = u32_of(TP_KINETO_HAS(event, DEVICE) ? event->device : event->pid),
		.context = u32_of(event->context),
		.stream = u32_of(TP_KINETO_HAS(event, STREAM) ? event->stream : event->tid),
	};

	if (!TP_KINETO_HAS(event, STREAM) && text->n > sizeof(stream) - 1 &&
	    !memcmp(text->bytes, stream, sizeof(stream) - 1)) {
		struct tp_json_in in = {.at = text->bytes + sizeof(stream) - 1,
					.end = text->bytes + text->n + 1};
		int64_t number;

		/* Up to the quote, which ends a number, too. */
		if (tp_json_in_number(&in, 1, &number))
			place.stream = u32_of(number);
	}
	return place;
}

static void put_launch(struct tp_kineto_records *r, const struct tp_kineto_event *event,
		       struct tp_rec *rec, struct tp_device_place place)
{
	struct {
		struct tp_launch launch;
		struct tp_launch_estimate estimate;
	} of = {
		.launch = {
			.place = place, .graph = u32_of(event->graph),
			.graph_node = (uint64_t)event->node,
			.registers = u32_of(event->registers),
			/* The sum of both kinds is all that they tell. */
			.shared_dynamic = u32_of(event->shared),
		},
		.estimate = {
			.blocks = (float)event->blocks_per_sm / 1e6f,
			.warps = (float)event->warps_per_sm / 1e6f,
		},
	};

	if (TP_KINETO_HAS(event, OCCUPANCY) && event->occupancy >= 0 && event->occupancy <= 100)
		of.estimate.occupancy = u32_of(event->occupancy) + 1;
	for (int i = 0; i < 3; i++) {
		of.launch.grid[i] = u32_of(event->grid[i]);
		of.launch.block[i] = u32_of(event->block[i]);
	}
	rec->name = tp_kineto_name(&r->strings, TP_STRING_TEXT, &event->name);
	rec->arg = tp_kineto_id(&r->strings, TP_STRING_LAUNCH, &of, sizeof(of));
}

static void put_transfer(struct tp_kineto_records *r, const struct tp_kineto_event *event,
			 struct tp_rec *rec, struct tp_device_place place)
{
	struct tp_transfer transfer = {
		.place = place, .graph = u32_of(event->graph),
		.graph_node = (uint64_t)event->node,
		.from_device = place.device, .to_device = place.device,
	};

	tp_device_transfer_of(&transfer, event->name.bytes, event->name.n);
	rec->name = tp_kineto_id(&r->strings, TP_STRING_TRANSFER, &transfer, sizeof(transfer));
	rec->arg = (uint64_t)event->copied;
}

static void put_sync(struct tp_kineto_records *r, const struct tp_kineto_event *event,
		     struct tp_rec *rec, struct tp_device_place place)
{
	struct tp_sync_what sync = {
		.place = place, .kind = tp_device_sync_of(event->name.bytes, event->name.n)};

	if (!TP_KINETO_HAS(event, STREAM) || event->stream < 0)
		sync.place.stream = TP_NO_STREAM;
	if (TP_KINETO_HAS(event, WAIT_STREAM) && event->wait_stream >= 0)
		sync.recorded_stream = u32_of(event->wait_stream) + 1;
	rec->name = tp_kineto_id(&r->strings, TP_STRING_SYNC, &sync, sizeof(sync));
	rec->arg = (uint64_t)u32_of(event->wait_event) | (uint64_t)u32_of(event->wait_call) << 32;
}

static bool put_device(struct tp_kineto_records *r, const struct tp_kineto_event *event,
		       enum tp_kineto_category category)
{
	struct tp_device_place place = place_of(event);
	struct tp_rec rec;

	if (!begin_record(r, event, &rec, TP_REC_KERNEL))
		return false;
	rec.link = u32_of(event->correlation);
	if (category == TP_KINETO_KERNEL) {
		put_launch(r, event, &rec, place);
	} else if (category == TP_KINETO_SYNC) {
		rec.kind = TP_REC_SYNC;
		put_sync(r, event, &rec, place);
	} else {
		rec.kind = category == TP_KINETO_MEMCPY ? TP_REC_MEMCPY : TP_REC_MEMSET;
		put_transfer(r, event, &rec, place);
	}
	/* Of no thread: a slot for each stream keeps their runs together. */
	tp_kineto_put(r, &rec, (uint16_t)(TP_KINETO_NO_SLOT - 1 - place.stream % 64));
	return true;
}

/* Events of versions before 1.12 have no address, 0 here: which free belongs to what is not known. */
static bool put_memory(struct tp_kineto_records *r, const struct tp_kineto_event *event)
{
	struct tp_rec rec;
	/* ROCm's GPUs are GPUs. */
	int64_t type = event->device_type == TYPE_HIP ? TYPE_CUDA : event->device_type;
	uint32_t device = TP_DEVICE(type, event->device_id);
	uint16_t slot;

	if (!TP_KINETO_HAS(event, BYTES) || !TP_KINETO_HAS(event, TID) ||
	    !begin_record(r, event, &rec, event->bytes >= 0 ? TP_REC_ALLOC : TP_REC_FREE))
		return false;
	slot = slot_of(r, event->tid);
	if (slot == TP_KINETO_NO_SLOT)
		return false;
	/* Of one microsecond: the file's order, a nanosecond apart, or totals change places. */
	if (rec.time <= r->memory_time && r->memory_time - rec.time < 1000)
		rec.time = r->memory_time + 1;
	r->memory_time = rec.time;
	rec.link = device;
	rec.arg = TP_KINETO_HAS(event, ADDRESS) ? (uint64_t)event->address : 0;
	tp_rec_set_len(&rec, (uint64_t)(event->bytes >= 0 ? event->bytes : -event->bytes));
	tp_kineto_put(r, &rec, slot);
	if (!TP_KINETO_HAS(event, ALLOCATED))
		return true;
	rec.kind = TP_REC_TOTALS;
	tp_rec_set_len(&rec, event->allocated > 0 ? (uint64_t)event->allocated : 0);
	rec.arg = event->reserved > 0 ? (uint64_t)event->reserved : 0;
	tp_kineto_put(r, &rec, slot);
	return true;
}

/* The process is that of the first operator or call. Files that were put together from several
 * are read as one, which is said. */
static void note_process(struct tp_kineto_records *r, const struct tp_kineto_event *event)
{
	if (!TP_KINETO_HAS(event, PID))
		return;
	if (!r->has_pid) {
		r->has_pid = true;
		r->head.pid = (uint32_t)event->pid;
	}
	r->report->n_other += (uint32_t)event->pid != r->head.pid;
}

static void note_left(struct tp_kineto_report *report, const struct tp_json_text *category)
{
	uint32_t n;

	if (report->n_left++)
		return;
	n = tp_json_in_plain(category, report->left, sizeof(report->left) - 1);
	report->left[n] = 0;
	for (uint32_t i = 0; i < n; i++)
		if (report->left[i] < ' ' || report->left[i] > '~')
			report->left[i] = '?';
}

void tp_kineto_records_event(struct tp_kineto_records *r, const struct tp_kineto_event *event)
{
	enum tp_kineto_category category = TP_KINETO_NONE;
	bool is_good;

	if (event->phase == 'i' && TP_JSON_IS(&event->name, "[memory]")) {
		r->report->n_no_address += !TP_KINETO_HAS(event, ADDRESS);
		is_good = put_memory(r, event);
	} else if (event->phase == 'M') {
		if (TP_JSON_IS(&event->name, "thread_name"))
			name_thread(r, event);
		return;
	} else if (event->phase == 'X') {
		category = tp_kineto_category(&event->category);
		if (category == TP_KINETO_NONE) {
			note_left(r->report, &event->category);
			return;
		}
		if (category == TP_KINETO_SEEN) {
			r->report->n_seen++;
			return;
		}
		if (category >= TP_KINETO_KERNEL && category <= TP_KINETO_SYNC) {
			is_good = put_device(r, event, category);
		} else if (category == TP_KINETO_PYTHON) {
			is_good = put_python(r, event);
		} else {
			/* Overhead may be on a row of its own. */
			if (category != TP_KINETO_OVERHEAD)
				note_process(r, event);
			is_good = put_host(r, event, category);
		}
	} else {
		return;
	}
	if (is_good && category == TP_KINETO_PYTHON)
		r->report->n_seen++;
	else if (is_good)
		r->report->n_read++;
	else
		r->report->n_bad++;
}
