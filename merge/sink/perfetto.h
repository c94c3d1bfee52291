/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perfetto.h - a timeline in Perfetto's own format (protobuf): packets of sequences
 *
 * A track is a sequence of its own: begin and end packets in time order, times as differences to the
 * packet before, names sent once. perfetto_packets.c writes what every sequence needs and the
 * descriptors of tracks, perfetto.c events. Strings come from traces and are cut and repaired here.
 */
#ifndef TP_MERGE_PERFETTO_H
#define TP_MERGE_PERFETTO_H

#include "merge/kit/outfile.h"
#include "merge/kit/proto.h"
#include "merge/sink/perfetto_fields.h"
#include "merge/sink/timeline.h"

enum {
	TP_PERFETTO_NAME_MAX = 64 << 10,	/* bytes of a name that are kept */
	TP_PERFETTO_NO_NAME = 1,	/* name iids are tp_string.same + 1 */
};

/* A sequence of packets; id 0: none yet. */
struct tp_perfetto_sequence {
	uint32_t id;
	int64_t last_ns;
	uint64_t *names, *strings;	/* bitmaps by tp_string.same, tp_arg.id: already sent */
	uint32_t cap_names, cap_strings;
};

struct tp_perfetto_lane {
	struct tp_lane lane;
	uint64_t uuid;
	struct tp_perfetto_sequence own;
	/* Of a process: what has no length, and points of its counters. */
	struct tp_perfetto_sequence instants, points[TP_POINT_GROUPS];
	struct tp_perfetto_counter {
		uint64_t key, uuid;
	} *counter;
	uint32_t n_counters, cap_counters;
};

struct tp_perfetto {
	const struct tp_run *run;
	struct tp_outfile *out;
	uint32_t n_sequences;
	uint64_t n_uuids;
	int64_t base_ns;	/* added to all times: none is negative */
};

/* Its ctx is a struct tp_perfetto. */
extern const struct tp_encoder tp_perfetto_encoder;

/* ---- perfetto_packets.c ---- */

/* A packet with room for n bytes of strings; *at is what tp_perfetto_end_packet closes. */
char *tp_perfetto_begin_packet(struct tp_perfetto *s, const struct tp_perfetto_sequence *q,
			       size_t n, char **at);
void tp_perfetto_end_packet(struct tp_perfetto *s, char *p, char *at);
char *tp_perfetto_put_interned(char *p, uint32_t field, uint64_t iid, const char *bytes,
			       size_t n);
/* True the first time. */
bool tp_perfetto_is_new(uint64_t **bitmap, uint32_t *cap, uint32_t at);
/* A sequence of a process, made readable and its process described, if they are not yet. */
void tp_perfetto_open(struct tp_perfetto *s, struct tp_perfetto_lane *process,
		      struct tp_perfetto_sequence *q, int64_t ns);
/* A process or device, if it is not described yet. */
void tp_perfetto_describe_process(struct tp_perfetto *s, const struct tp_perfetto_sequence *q,
				  struct tp_perfetto_lane *lane);
/* Described when its first point comes. */
uint64_t tp_perfetto_counter(struct tp_perfetto *s, const struct tp_perfetto_sequence *q,
			     const struct tp_point *point);
void tp_perfetto_describe_lane(void *ctx, struct tp_lane *lane, int64_t ns);

#endif
