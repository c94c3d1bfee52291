/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timeline.h - the timeline of a run: tracks, slices, arrows and counters, decided here and handed
 * to an encoder of a file format
 *
 * timeline.c takes the events of the run, timeline_lanes.c says what tracks are called and
 * numbered, timeline_host.c what threads show, timeline_device.c what devices show,
 * timeline_modules.c calls of nn.Modules, timeline_text.c what follows from a string,
 * timeline_words.c holds the names of categories and arguments and what the dialects do
 * differently. Encoders: chrome.c (JSON) and perfetto.c (protobuf). An encoder decides nothing but
 * bytes. Memory: names, tracks and the newest calls, not events. One thread.
 */
#ifndef TP_MERGE_TIMELINE_H
#define TP_MERGE_TIMELINE_H

#include "merge/model/fact.h"
#include "merge/model/title.h"

/* ---- words: timeline_words.c ---- */

enum tp_slice_category {
	TP_SLICE_NONE,
#define CATEGORY(symbol, text) TP_SLICE_##symbol,
#include "merge/sink/timeline_words.def"
#undef CATEGORY
	TP_SLICE_CATEGORIES,
	TP_SLICE_INSTANTS = TP_SLICE_TENSOR	/* from there on */
};

enum tp_key {
	TP_KEY_NONE,
#define KEY(symbol, text, in) TP_KEY_##symbol,
#include "merge/sink/timeline_words.def"
#undef KEY
	TP_KEYS
};

struct tp_key_text {
	char json[46];		/* ,"name": */
	uint8_t n;		/* bytes of the name, which begins at json + 2 */
	uint8_t in;		/* dialects that show it: bits */
};
extern const struct tp_key_text tp_key_text[TP_KEYS];

/* What the formats do differently, and why, where that is not the encoder's business. */
struct tp_dialect {
	uint8_t bit;		/* of tp_key_text.in */
	/* torch.profiler's files: its numbers of processes, threads and devices (else numbers that
	 * are unique in the run), its waits on devices only, nothing that its readers do not know;
	 * and a range is an operator when it is called like one. */
	bool is_torch;
	/* TensorBoard's plugin knows no annotations but steps and collectives. */
	bool is_for_plugin;
	/* External ids say in which operator work was started: it is written when its call is
	 * known. Else as it comes, and the arrow to it later. */
	bool has_external_ids;
	bool has_module_tracks;	/* calls of modules lie on tracks of their own */
	bool has_tensor_curves;	/* viewers of the others draw them from the instants */
	bool needs_length;	/* arrows lead to slices that have a length only */
	enum tp_key stack;	/* how a Python stack is shown; 0: not at all */
	int32_t stream_0;	/* HTA takes stream 0 for the host */
	int32_t no_correlation;	/* of a wait whose record is not known */
	const char *module_prefix;
	const char *category[TP_SLICE_CATEGORIES]; /* NULL: tp_slice_category's */
};
extern const struct tp_dialect tp_dialect_chrome, tp_dialect_hta, tp_dialect_tb,
	tp_dialect_perfetto;
const char *tp_slice_category(const struct tp_dialect *dialect, enum tp_slice_category category);

/* ---- what an encoder gets ---- */

enum tp_arg_kind {
	TP_ARG_UINT,
	TP_ARG_INT,
	TP_ARG_DOUBLE,
	TP_ARG_FIXED,		/* a double: six decimals will do */
	TP_ARG_TEXT,
	TP_ARG_LIST,		/* three numbers */
	TP_ARG_JSON,		/* text that is JSON; `id` is the same for equal texts */
	TP_ARG_NULL,
	TP_ARG_ENCODED		/* arguments that the encoder has encoded before */
};

struct tp_arg {
	const char *name;	/* NULL: that of the key */
	uint8_t key, kind;
	uint32_t n, id;		/* n: bytes of text */
	union {
		uint64_t number;
		double real;
		const char *text;
		const uint32_t *list;
	};
};

enum { TP_ARGS_MAX = 32 };

struct tp_args {
	uint8_t in;		/* bit of the dialect */
	uint8_t n;
	uint32_t n_text;	/* bytes of all texts, as JSON */
	struct tp_arg arg[TP_ARGS_MAX];
};

/* What is made of a string of the run once: a name, arguments that it stands for. */
struct tp_fragment {
	char *bytes;
	uint32_t n, n_second;	/* SHAPES: the types lie behind the dimensions */
	bool is_made;
	bool is_loader;		/* a data loader's range */
	bool is_op;		/* called like an operator: "aten::mm", "MulBackward0" */
	bool is_collective;	/* one of those that TensorBoard's plugin knows */
	bool has_group;		/* SHAPES of a collective: timeline_comm.c */
	const struct tp_device *device; /* whose properties it was made with */
};

enum tp_lane_kind {
	TP_LANE_PROCESS,	/* also a device */
	TP_LANE_THREAD,		/* also a stream, and further tracks of one */
	TP_LANE_BELOW		/* a further track of a thread, or of a process */
};

/* A track as it is shown; encoders put what they need behind it. */
struct tp_lane {
	enum tp_lane_kind kind;
	bool is_device, is_described;
	const struct tp_proc *proc;
	struct tp_lane *top;	/* its process or device; itself: it is one */
	struct tp_lane *parent;	/* TP_LANE_BELOW: what it lies below */
	uint64_t pid, tid;
	int64_t sort;
	char title[TP_TITLE_MAX], label[65];
};

struct tp_slice {
	struct tp_lane *lane;
	enum tp_slice_category category;
	int64_t begin_ns, end_ns; /* of an instant on a process known late only */
	const struct tp_string *name;
	const struct tp_fragment *written; /* what name became */
	const char *text;	/* instead of a name; NULL: none */
	bool is_plain;		/* text needs no repair */
	struct tp_args args;
};

/* Points of one group come in order of time. */
enum tp_point_group { TP_POINT_AS_IT_COMES, TP_POINT_HEAP, TP_POINT_GPU, TP_POINT_GROUPS };

struct tp_point {		/* of a counter */
	struct tp_lane *lane;	/* a process or device */
	struct tp_lane *process;
	enum tp_point_group group;
	uint64_t key;		/* of the counter in its process */
	const char *title, *unit; /* unit: of 16 bytes, or shorter; may be "" */
	int64_t ns;
	bool is_double;
	uint64_t bits;
};

struct tp_flow {		/* an arrow between two slices, at times inside them */
	enum tp_slice_category category;
	const struct tp_lane *from, *to;
	int64_t from_ns, to_ns;
	uint64_t id;		/* unique in the run */
};

/* ctx: the encoder's own. A lane is described before anything on it. */
struct tp_encoder {
	size_t lane_bytes;	/* of what begins with a struct tp_lane */
	void (*describe)(void *ctx, struct tp_lane *lane, int64_t ns);
	void (*drop)(struct tp_lane *lane);	/* may be NULL */
	void (*slice)(void *ctx, const struct tp_slice *slice);
	void (*end)(void *ctx, struct tp_lane *lane, int64_t ns); /* NULL: slices say their ends */
	void (*point)(void *ctx, const struct tp_point *point);
	void (*flow)(void *ctx, const struct tp_flow *flow);
	/* Into bytes and n; may be NULL. */
	void (*make_name)(struct tp_fragment *fragment, const char *bytes, size_t n);
	char *(*put_args)(char *p, const struct tp_args *args);
};

/* ---- for sinks ---- */

struct tp_timeline;

/* is_left_out: processes that are not shown, by tp_proc.at; NULL: all are. */
struct tp_timeline *tp_timeline_new(struct tp_facts *facts, const struct tp_dialect *dialect,
				    const struct tp_encoder *encoder, void *ctx,
				    const bool *is_left_out);
void tp_timeline_event(struct tp_timeline *timeline, const struct tp_event *event);
void tp_timeline_end(struct tp_timeline *timeline);	/* no more events */
/* A line on stderr about what could not be placed, if anything. */
void tp_timeline_say_unplaced(const struct tp_timeline *timeline);
void tp_timeline_free(struct tp_timeline *timeline);

#endif
