/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perfetto.h - the inside of sink_perfetto.c: sequences of packets, their tracks and names
 *
 * A track is a sequence of its own. perfetto_packets.c writes what every sequence needs,
 * perfetto_tracks.c the descriptors, perfetto_names.c what is interned and the arguments of
 * events, perfetto_device.c what happened on devices and in CUDA's calls, perfetto_modules.c calls
 * of modules; sink_perfetto.c says which event becomes which packet. Strings handed in come
 * from traces and are cut and repaired here. One thread.
 */
#ifndef TP_MERGE_PERFETTO_H
#define TP_MERGE_PERFETTO_H

#include "merge/facts/heap/heapcurve.h"
#include "merge/facts/origin/links.h"
#include "merge/facts/tensor/devmem_curve.h"
#include "merge/facts/tensor/tensors.h"
#include "merge/facts/time/gpucurve.h"
#include "merge/facts/time/launches.h"
#include "merge/kit/outfile.h"
#include "merge/kit/proto.h"
#include "merge/model/feed.h"
#include "merge/model/title.h"
#include "merge/sink/perfetto_fields.h"
#include "merge/sink/tracks.h"

enum tp_perfetto_category {
	CAT_OP = 1,
	CAT_ANNOTATION,
	CAT_MEMORY,
	CAT_MARK,
	CAT_FLOW,
	CAT_RUNTIME,
	CAT_DRIVER,
	CAT_OVERHEAD,
	CAT_KERNEL,
	CAT_MEMCPY,
	CAT_MEMSET,
	CAT_SYNC,
	CAT_LAUNCH,
	CAT_COLL,
	CAT_XFER,
	CAT_MODULE,
	N_CATEGORIES
};
enum tp_perfetto_argument {
	ARG_SEQUENCE = 1,
	ARG_FORWARD,
	ARG_DIMS,
	ARG_TYPES,
	ARG_EPOCH,
	ARG_STEP,
	ARG_EARLY,
	ARG_OPEN,
	ARG_ADDRESS,
	ARG_BYTES,
	ARG_DEVICE_ID,
	ARG_DEVICE_TYPE,
	ARG_ALLOCATED,
	ARG_RESERVED,
	ARG_VALUE,
	ARG_CORRELATION,
	ARG_RETURNED,
	ARG_DEVICE,
	ARG_CONTEXT,
	ARG_STREAM,
	ARG_REGISTERS,
	ARG_SHARED,
	ARG_BLOCKS,
	ARG_WARPS,
	ARG_GRID,
	ARG_BLOCK,
	ARG_CLUSTER,
	ARG_OCCUPANCY,
	ARG_COPIED,
	ARG_BANDWIDTH,
	ARG_GRAPH,
	ARG_GRAPH_NODE,
	ARG_FROM_DEVICE,
	ARG_TO_DEVICE,
	ARG_SYNC_KIND,
	ARG_WAIT_STREAM,
	ARG_WAIT_CORRELATION,
	ARG_WAIT_EVENT,
	ARG_GUESSED,
	N_ARGUMENTS
};

enum {
	TP_PERFETTO_NAME_MAX = 2048, /* bytes of a name that are kept */
	TP_PERFETTO_SHAPES_MAX = 4096,
	IID_NO_NAME = 1, /* name iids are tp_string.same + 1 */
};

/* A sequence of packets. */
struct tp_perfetto_sequence {
	uint32_t id;
	uint64_t uuid; /* its default track; 0: none */
	int64_t last_ns;
	uint64_t *names, *strings; /* bitmaps by tp_string.same: already sent */
	uint32_t cap_names, cap_strings;
};

/* Of a process: its track, the sequence of what lies on no thread, its counters. */
struct tp_perfetto_counter {
	uint64_t key, uuid;
};

struct tp_perfetto_process {
	uint64_t uuid;
	struct tp_perfetto_sequence *counters, *instants;
	struct tp_perfetto_sequence *heap, *gpu; /* their points come late */
	struct tp_perfetto_counter *counter;
	uint32_t n_counters, cap_counters;
};

/* A device of a process: numbered as they are met. */
struct tp_perfetto_device {
	uint32_t proc, id;
	uint64_t uuid;
};

struct tp_perfetto {
	const struct tp_run *run;
	struct tp_outfile *out;
	struct tp_perfetto_process *process; /* by proc */
	struct tp_track_book book;
	struct tp_links links;
	struct tp_tensors *tensors;
	struct tp_feed feed;
	struct tp_launches *launches;
	struct tp_launch_notes off_track;	/* calls that are not on their thread's own track */
	struct tp_devmem_curve device_memory;
	struct tp_heapcurve host_memory;
	struct tp_gpucurve gpu_use;
	struct tp_perfetto_modules *modules; /* perfetto_modules.c's own */
	struct tp_perfetto_device *device;
	uint32_t n_devices, cap_devices;
	uint32_t n_sequences;
	uint64_t n_uuids;
	int64_t base_ns;      /* added to all times: none is negative */
	struct tp_perfetto_shapes {
		char *dims, *types;
	} *shapes; /* JSON of SHAPES strings, by tp_string.same */
	uint32_t n_shapes;
	uint64_t n_unplaced, n_flows;
};

/* ---- perfetto_packets.c ---- */

extern const char *const tp_perfetto_category_name[N_CATEGORIES];

/* A packet with room for n bytes of strings; *at is what tp_perfetto_end_packet closes. */
char *tp_perfetto_begin_packet(struct tp_perfetto *s, struct tp_perfetto_sequence *q,
			       size_t n, char **at);
void tp_perfetto_end_packet(struct tp_perfetto *s, char *p, char *at);
char *tp_perfetto_put_interned(char *p, uint32_t field, uint64_t iid, const char *bytes,
			       size_t n);
/* The packet that makes a sequence readable: its clock, its default track, fixed names. */
void tp_perfetto_open_sequence(struct tp_perfetto *s, struct tp_perfetto_sequence *q,
			       int64_t begin_ns);
/* Head of an event's packet; *at for the packet, *event for the event in it. */
char *tp_perfetto_begin_event(struct tp_perfetto *s, struct tp_perfetto_sequence *q,
			      int64_t ns, uint32_t type, char **at, char **event);
void tp_perfetto_free_sequence(void *sequence);

/* ---- perfetto_tracks.c ---- */

/* The sequence of a track, described when it is first met. NULL: out of memory. */
struct tp_perfetto_sequence *tp_perfetto_sequence_of(struct tp_perfetto *s,
						     struct tp_track *track,
						     const struct tp_event *event,
						     enum tp_track_family family);
/* Of a track of a stream: event->queue says of which. NULL: out of memory. */
struct tp_perfetto_sequence *tp_perfetto_stream_of(struct tp_perfetto *s, struct tp_track *track,
						   const struct tp_event *event);
/* The track of a device's process; 0: out of memory. q: where it is described. */
uint64_t tp_perfetto_device(struct tp_perfetto *s, struct tp_perfetto_sequence *q,
			    const struct tp_proc *proc, uint32_t id);
/* A sequence of a process for packets that name their track. NULL: out of memory. */
struct tp_perfetto_sequence *tp_perfetto_process_sequence(struct tp_perfetto *s,
							  struct tp_perfetto_sequence **q,
							  const struct tp_event *event);
/* The counter of a process with that key, described below `parent` when it is first met. 0: no
 * memory. */
uint64_t tp_perfetto_counter_of(struct tp_perfetto *s, struct tp_perfetto_process *process,
				struct tp_perfetto_sequence *q, uint64_t parent, uint64_t key,
				const char *title, const char *unit);

/* ---- perfetto_names.c ---- */

/* Bytes of a name that are shown. */
size_t tp_perfetto_name_length(const struct tp_string *name);
/* Makes the texts of shapes that the two below give. */
void tp_perfetto_load_shapes(struct tp_perfetto *s, const struct tp_string *shapes);
char *tp_perfetto_put_uint(char *p, enum tp_perfetto_argument name, uint64_t value);
char *tp_perfetto_put_int(char *p, enum tp_perfetto_argument name, int64_t value);
/* `bits` are those of the double. */
char *tp_perfetto_put_double(char *p, enum tp_perfetto_argument name, uint64_t bits);
char *tp_perfetto_put_text(char *p, enum tp_perfetto_argument name, const char *text);
char *tp_perfetto_put_arguments(const struct tp_perfetto *s, char *p,
				const struct tp_event *event);
/* What the event of this packet names and its sequence has not seen yet. */
char *tp_perfetto_put_new_names(struct tp_perfetto *s, struct tp_perfetto_sequence *q,
				char *p, const struct tp_event *event);

/* ---- perfetto_device.c ---- */

void tp_perfetto_put_call(struct tp_perfetto *s, const struct tp_event *event);
void tp_perfetto_put_work(struct tp_perfetto *s, const struct tp_event *event);
void tp_perfetto_put_sync(struct tp_perfetto *s, const struct tp_event *event);
/* Work and its call: see tp_launches_read. */
void tp_perfetto_put_launch(void *state, const struct tp_event *event,
			    struct tp_launch_call *call);

/* ---- perfetto_coll.c ---- */

void tp_perfetto_put_coll(struct tp_perfetto *s, const struct tp_event *event);

/* ---- perfetto_modules.c ---- */

int tp_perfetto_modules_init(struct tp_perfetto *s);	/* < 0: out of memory */
/* FRAME, STACK, NNMODULE, OP, RANGE. */
void tp_perfetto_modules_event(struct tp_perfetto *s, const struct tp_event *event);
void tp_perfetto_modules_end(struct tp_perfetto *s);
void tp_perfetto_modules_free(struct tp_perfetto *s);

/* ---- sink_perfetto.c ---- */

/* The end of a span: see tp_tracks_pop_fn. */
void tp_perfetto_put_end(void *state, struct tp_track *track, int64_t end_ns);
/* An arrow between two slices: the tracks' uuids, times inside the slices. */
void tp_perfetto_put_flow(struct tp_perfetto *s, const struct tp_event *event,
			  enum tp_perfetto_category category, uint64_t from, int64_t from_ns,
			  uint64_t to, int64_t to_ns);

#endif
