/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chrome.h - the inside of the sinks that write trace-event JSON: sink_chrome.c, sink_torch.c
 *
 * One event a line, times relative to the run's begin in microseconds with three decimals
 * (absolute ones lose nanoseconds in a double), names and categories as torch's own profiler
 * writes them. Viewers say nothing about what they do not understand, so the rules that keep
 * them content stand beside the code that keeps them. What the formats do differently stands in
 * struct tp_chrome_style.
 *
 * chrome_text.c makes the JSON of strings, chrome_meta.c says what tracks are, chrome_host.c
 * writes what happened on threads, chrome_device.c what happened on devices, chrome.c hands each
 * event to its writer. Memory: names, tracks and the newest calls, not events. One thread.
 */
#ifndef TP_MERGE_CHROME_H
#define TP_MERGE_CHROME_H

#include "merge/facts/heap/heapcurve.h"
#include "merge/facts/origin/links.h"
#include "merge/facts/tensor/devmem_curve.h"
#include "merge/facts/tensor/tensors.h"
#include "merge/facts/time/gpucurve.h"
#include "merge/facts/time/launches.h"
#include "merge/facts/time/module_times.h"
#include "merge/kit/json.h"
#include "merge/kit/outfile.h"
#include "merge/model/feed.h"
#include "merge/model/title.h"
#include "merge/sink/tracks.h"

enum {
	/* An event without its strings is shorter than this. */
	TP_CHROME_ROOM = 1024,
	/* JSON of a name; longer ones are cut: compilers make kernels of several KiB of name. */
	TP_CHROME_NAME_ROOM = 6 * 1024,
	/* JSON of arguments; longer ones are left out. */
	TP_CHROME_ARGS_ROOM = 8 * 1024,
};

/* What differs between the formats. */
struct tp_chrome_style {
	/* torch.profiler's numbers: pid and tid of a host's thread are the kernel's, the pid of
	 * a device is its id; one process a file. Else numbers that are unique in the run. */
	bool has_real_ids;
	/* A range is an operator when it is called like one: see tp_chrome_text. */
	bool has_named_ops;
	/* TensorBoard's plugin knows no annotations but steps and collectives. */
	bool is_for_plugin;
	/* Whole stacks, as torch.profiler writes them; else the line that tells most. */
	bool has_stacks;
	const char *runtime, *driver, *forward_backward; /* categories */
};

/* JSON of a string, made when it is first met. */
struct tp_chrome_text {
	char *bytes;
	uint32_t n;
	bool is_made;
	bool is_loader;		/* a data loader's range */
	bool is_op;		/* called like an operator: "aten::mm", "MulBackward0" */
	bool is_collective;	/* one of those that the plugin knows */
	const struct tp_device *device; /* whose properties it was made with */
};

/* A file being written. */
struct tp_chrome_file {
	struct tp_outfile *out;
	uint64_t n_events;
};

/* A device of a process: numbered as they are met. */
struct tp_chrome_device {
	uint32_t proc, id;
};

struct tp_chrome {
	const struct tp_run *run;
	const struct tp_chrome_style *style;
	struct tp_chrome_file *file;	/* the one that is written now */
	struct tp_chrome_file *file_of;	/* by proc; NULL: one for all */
	struct tp_chrome_text *text;	/* by tp_string.same */
	uint32_t n_texts;
	struct tp_chrome_text no_detail;
	struct tp_track_book book;
	struct tp_links links;
	struct tp_tensors *tensors;
	struct tp_feed feed;
	struct tp_launches *launches;
	struct tp_launch_notes owner_of;	/* of calls: see TP_CHROME_OFF_TRACK */
	struct tp_devmem_curve device_memory;
	struct tp_heapcurve host_memory;
	struct tp_gpucurve gpu_use;
	struct tp_chrome_device *device;
	uint32_t n_devices, cap_devices;
	uint64_t n_ops, n_flows, n_unplaced;
	bool *has_process;		/* described, by proc */
	struct tp_facts *facts;		/* of its own: they get spans that are open, too */
	struct tp_module_times *modules;
	struct tp_chrome_stacks *stacks;
	uint32_t stack_of_event;	/* see tp_chrome_stack_room */
};

/* ---- chrome.c ---- */

/* 0 or -ENOMEM; either way tp_chrome_fini. */
int tp_chrome_init(struct tp_chrome *chrome, struct tp_facts *facts,
		   const struct tp_chrome_style *style);
void tp_chrome_fini(struct tp_chrome *chrome);
/* Into the file of its process, now or (work whose call is not known yet) a little later. */
void tp_chrome_event(struct tp_chrome *chrome, const struct tp_event *event);
void tp_chrome_end(struct tp_chrome *chrome);	/* no more events */
/* A line on stderr about what could not be placed, if anything. */
void tp_chrome_say_unplaced(const struct tp_chrome *chrome);

/* ---- chrome_text.c ---- */

bool tp_chrome_make_room(struct tp_chrome *chrome, const struct tp_event *event);
/* Valid until the next event. */
const struct tp_chrome_text *tp_chrome_text(struct tp_chrome *chrome, const struct tp_string *s);
/* Of LAUNCH and TRANSFER strings: the arguments that do not change from event to event. */
const struct tp_chrome_text *tp_chrome_detail(struct tp_chrome *chrome,
					      const struct tp_event *event);

/* ---- chrome_meta.c ---- */

/* A track as the file numbers it. */
struct tp_chrome_track {
	uint64_t pid, tid;
};

/* What stands before and after the events. rank < 0: of no single rank. */
void tp_chrome_put_head(struct tp_chrome *chrome, const struct tp_proc *proc);
void tp_chrome_put_tail(struct tp_chrome *chrome);
/* Room for an event and n bytes of its strings; behind the comma. */
char *tp_chrome_begin_event(struct tp_chrome *chrome, size_t n);
/* Numbers of a track, described when it is first met. NULL: out of memory. */
const struct tp_chrome_track *tp_chrome_thread(struct tp_chrome *chrome,
					       const struct tp_event *event,
					       struct tp_track *track);
const struct tp_chrome_track *tp_chrome_stream(struct tp_chrome *chrome,
					       const struct tp_event *event,
					       struct tp_track *track);
/* Pids, described when they are first met. */
uint64_t tp_chrome_process(struct tp_chrome *chrome, const struct tp_proc *proc);
uint64_t tp_chrome_device(struct tp_chrome *chrome, const struct tp_proc *proc, uint32_t id);
char *tp_chrome_put_place(char *p, const struct tp_chrome_track *track, int64_t begin_ns);
char *tp_chrome_put_name(char *p, const struct tp_chrome_text *name);
/* An arrow between two slices, at times inside them. */
void tp_chrome_put_flow(struct tp_chrome *chrome, const char *category,
			const struct tp_chrome_track *from, int64_t from_ns,
			const struct tp_chrome_track *to, int64_t to_ns);

/* ---- chrome_host.c ---- */

void tp_chrome_put_span(struct tp_chrome *chrome, const struct tp_event *event);
void tp_chrome_put_call(struct tp_chrome *chrome, const struct tp_event *event);
void tp_chrome_put_tensor(struct tp_chrome *chrome, const struct tp_event *event);
void tp_chrome_put_counter(struct tp_chrome *chrome, const struct tp_event *event);
void tp_chrome_put_mark(struct tp_chrome *chrome, const struct tp_event *event);
/* A moment of its process: when it held most host memory. */
void tp_chrome_put_heap_peak(struct tp_chrome *chrome, const struct tp_hostmem_proc *proc);

/* ---- chrome_modules.c ---- */

/* 0, or -1: out of memory. */
int tp_chrome_modules_init(struct tp_chrome *chrome);
void tp_chrome_modules_fini(struct tp_chrome *chrome);
/* Every event, before it is written; writes calls of modules that are over. */
void tp_chrome_modules_event(struct tp_chrome *chrome, const struct tp_event *event);
void tp_chrome_modules_end(struct tp_chrome *chrome);
/* Bytes that the stack of this span takes, to be put next; 0: none. */
uint32_t tp_chrome_stack_room(struct tp_chrome *chrome, const struct tp_event *event);
char *tp_chrome_put_stack(struct tp_chrome *chrome, char *p);

/* ---- chrome_coll.c ---- */

void tp_chrome_put_coll(struct tp_chrome *chrome, const struct tp_event *event);

/* ---- chrome_device.c ---- */

/* `call` may be NULL: not known. */
void tp_chrome_put_work(struct tp_chrome *chrome, const struct tp_event *event,
			const struct tp_launch_call *call);
void tp_chrome_put_sync(struct tp_chrome *chrome, const struct tp_event *event);
void tp_chrome_put_device_memory(struct tp_chrome *chrome, const struct tp_event *event);

/* Noted of a call: the External id of the call, and whether it lies on the thread's own
 * track (an arrow can only begin there). */
#define TP_CHROME_OFF_TRACK 0x80000000u

#endif
