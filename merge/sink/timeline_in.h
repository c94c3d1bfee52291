/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timeline_in.h - the inside of timeline*.c
 */
#ifndef TP_MERGE_TIMELINE_IN_H
#define TP_MERGE_TIMELINE_IN_H

#include "merge/facts/heap/heapcurve.h"
#include "merge/facts/origin/links.h"
#include "merge/facts/tensor/devmem_curve.h"
#include "merge/facts/tensor/tensors.h"
#include "merge/facts/time/gpucurve.h"
#include "merge/facts/time/launches.h"
#include "merge/facts/time/module_times.h"
#include "merge/sink/feed.h"
#include "merge/sink/timeline.h"
#include "merge/sink/tracks.h"

struct tp_timeline {
	const struct tp_run *run;
	const struct tp_dialect *dialect;
	const struct tp_encoder *encoder;
	void *ctx;
	const bool *is_left_out;
	tp_tracks_pop_fn pop;		/* NULL: slices say their ends */
	struct tp_feed feed;
	struct tp_track_layout layout;
	struct tp_links links;
	struct tp_tensors *tensors;
	struct tp_launches *launches;
	struct tp_launch_notes owner_of; /* of calls: see TP_TIMELINE_OFF_TRACK */
	struct tp_launch_notes comm_of;	/* the collective that it is of: a number of timeline_comm.c */
	struct tp_timeline_comms *comms;
	struct tp_devmem_curve device_memory;
	struct tp_heapcurve host_memory;
	struct tp_gpucurve gpu_use;
	struct tp_facts *facts;		/* of its own: they get spans that are open, too */
	struct tp_module_times *modules;
	struct tp_module_tracks *module_tracks; /* timeline_modules.c's own, by proc */
	struct tp_fragment *of_string, *of_stack; /* by tp_string.same, by stack */
	uint32_t n_strings, n_stacks;
	struct tp_fragment no_detail;
	struct tp_lane **lane;		/* all */
	struct tp_lane **process;	/* by proc */
	struct tp_timeline_device {
		uint32_t proc, id;
		struct tp_lane *lane;
	} *device;			/* as they are met */
	uint32_t n_lanes, cap_lanes, n_devices, cap_devices;
	uint64_t n_ops, n_flows, n_unplaced;
	bool has_stacks;		/* of Python's, so far */
	struct tp_slice slice;		/* the one that is made */
};

/* Noted of a call: its External id, and whether it lies off its thread's own track (on which alone
 * an arrow can begin). */
#define TP_TIMELINE_OFF_TRACK 0x80000000u

/* ---- timeline.c ---- */

static inline bool tp_timeline_shows(const struct tp_timeline *t, const struct tp_proc *proc)
{
	return !t->is_left_out || !t->is_left_out[proc->at];
}
/* False: it overlaps too many others, which is counted. */
static inline bool tp_timeline_is_placed(struct tp_timeline *t, const struct tp_track *track)
{
	t->n_unplaced += !track;
	return track != NULL;
}
/* The slice to be filled with a name and arguments, and given to tp_timeline_put. */
struct tp_slice *tp_timeline_begin(struct tp_timeline *t, struct tp_lane *lane,
				   enum tp_slice_category category, int64_t begin_ns,
				   int64_t end_ns);
/* The same with a name of the run. */
struct tp_slice *tp_timeline_begin_named(struct tp_timeline *t, struct tp_lane *lane,
					 enum tp_slice_category category, int64_t begin_ns,
					 int64_t end_ns, const struct tp_string *name);
static inline void tp_timeline_put(struct tp_timeline *t)
{
	t->encoder->slice(t->ctx, &t->slice);
}
/* An arrow from that thread's own track; none where it has no slice yet. */
void tp_timeline_arrow(struct tp_timeline *t, enum tp_slice_category category,
		       const struct tp_thread *from, int64_t from_ns, struct tp_lane *to,
		       int64_t to_ns);

/* ---- timeline_lanes.c ---- */

/* Described when they are first met. */
struct tp_lane *tp_timeline_thread(struct tp_timeline *t, const struct tp_event *event,
				   struct tp_track *track);
struct tp_lane *tp_timeline_stream(struct tp_timeline *t, const struct tp_event *event,
				   struct tp_track *track);
/* The thread's own track; a track of that name below it. */
struct tp_lane *tp_timeline_own(struct tp_timeline *t, const struct tp_event *event);
struct tp_lane *tp_timeline_below(struct tp_timeline *t, const struct tp_event *event,
				  const char *title);
/* Not described yet, perhaps. */
struct tp_lane *tp_timeline_process(struct tp_timeline *t, const struct tp_proc *proc);
struct tp_lane *tp_timeline_device(struct tp_timeline *t, const struct tp_proc *proc, uint32_t id);

/* ---- timeline_text.c: valid until the next event ---- */

/* For an event, before anything is asked of it. */
void tp_timeline_make_room(struct tp_timeline *t, const struct tp_event *event);
const struct tp_fragment *tp_timeline_make(struct tp_timeline *t, const struct tp_string *s);
static inline const struct tp_fragment *tp_timeline_string(struct tp_timeline *t,
							   const struct tp_string *s)
{
	if (__builtin_expect(s->same < t->n_strings && t->of_string[s->same].is_made, 1))
		return &t->of_string[s->same];
	return tp_timeline_make(t, s);
}
/* What the event's detail says of its work. */
const struct tp_fragment *tp_timeline_detail(struct tp_timeline *t, const struct tp_event *event);
/* The Python stack of an operator; NULL: it has none, or it is not shown. */
const struct tp_fragment *tp_timeline_stack(struct tp_timeline *t, const struct tp_event *event);

/* ---- timeline_comm.c: what is known of collectives, for the work that they start ---- */

void tp_timeline_comms_init(struct tp_timeline *t);
void tp_timeline_comms_free(struct tp_timeline *t);
/* A span whose SHAPES have a group begins: the number of its collective. */
uint32_t tp_timeline_comm_span(struct tp_timeline *t, const struct tp_event *event);
/* The collective in which its thread is; 0: none. */
uint32_t tp_timeline_comm_at(const struct tp_timeline *t, const struct tp_event *call);
/* The arguments that torch.profiler gives a kernel of it. Texts are valid until the next call. */
void tp_timeline_add_comm(struct tp_timeline *t, struct tp_args *args, uint32_t comm);

/* ---- timeline_host.c, timeline_device.c ---- */

void tp_timeline_span(struct tp_timeline *t, const struct tp_event *event);
void tp_timeline_call(struct tp_timeline *t, const struct tp_event *event);
void tp_timeline_coll(struct tp_timeline *t, const struct tp_event *event);
void tp_timeline_tensor(struct tp_timeline *t, const struct tp_event *event);
void tp_timeline_mark(struct tp_timeline *t, const struct tp_event *event);
void tp_timeline_counter(struct tp_timeline *t, const struct tp_event *event,
			 enum tp_point_group group);
void tp_timeline_heap_peak(struct tp_timeline *t, const struct tp_hostmem_proc *proc);
void tp_timeline_work(struct tp_timeline *t, const struct tp_event *event);
void tp_timeline_launch(void *timeline, const struct tp_event *event, struct tp_launch_call *call);
void tp_timeline_sync(struct tp_timeline *t, const struct tp_event *event);

/* ---- timeline_modules.c ---- */

void tp_timeline_modules_init(struct tp_timeline *t);
/* FRAME, STACK, NNMODULE, OP, RANGE. */
void tp_timeline_modules_event(struct tp_timeline *t, const struct tp_event *event);
void tp_timeline_modules_end(struct tp_timeline *t);
void tp_timeline_modules_free(struct tp_timeline *t);

/* ---- arguments: those that the dialect does not show are left out ---- */

static inline struct tp_arg *tp_arg_add(struct tp_args *args, enum tp_key key,
					enum tp_arg_kind kind)
{
	struct tp_arg *arg = &args->arg[args->n];

	args->n += (tp_key_text[key].in & args->in) != 0;
	arg->name = NULL;
	arg->key = (uint8_t)key;
	arg->kind = (uint8_t)kind;
	return arg;
}
static inline void tp_arg_uint(struct tp_args *args, enum tp_key key, uint64_t value)
{
	tp_arg_add(args, key, TP_ARG_UINT)->number = value;
}
static inline void tp_arg_int(struct tp_args *args, enum tp_key key, int64_t value)
{
	tp_arg_add(args, key, TP_ARG_INT)->number = (uint64_t)value;
}
static inline void tp_arg_double(struct tp_args *args, enum tp_key key, enum tp_arg_kind kind,
				 double value)
{
	tp_arg_add(args, key, kind)->real = value;
}
static inline void tp_arg_list(struct tp_args *args, enum tp_key key, const uint32_t of[3])
{
	tp_arg_add(args, key, TP_ARG_LIST)->list = of;
}
static inline struct tp_arg *tp_arg_text(struct tp_args *args, enum tp_key key,
					 enum tp_arg_kind kind, const char *text, size_t n)
{
	struct tp_arg *arg = tp_arg_add(args, key, kind);

	arg->text = text;
	arg->n = (uint32_t)n;
	args->n_text += (uint32_t)(kind == TP_ARG_TEXT ? 6 * n : n);
	return arg;
}
static inline void tp_arg_encoded(struct tp_args *args, const struct tp_fragment *fragment)
{
	if (fragment->n)
		tp_arg_text(args, TP_KEY_NONE, TP_ARG_ENCODED, fragment->bytes, fragment->n);
}

#endif
