/* SPDX-License-Identifier: Apache-2.0 */
/*
 * title.h - how processes, devices, threads, streams, tracks and counters are called and sorted in
 * a timeline
 *
 * One place for all formats, so that a track is called the same in each. Pure functions.
 */
#ifndef TP_MERGE_TITLE_H
#define TP_MERGE_TITLE_H

#include "merge/model/model.h"

enum {
	TP_TITLE_MAX = 160,
	/* Numbers of tracks that are no threads lie beyond Linux's largest tid (2^22). */
	TP_TITLE_TRACK_TID = 10000000,	/* times the track's number, plus the tid */
	TP_TITLE_NOBODY_TID = 900000000,
	TP_TITLE_ASYNC_TID = 1000000000,
	TP_TITLE_FAMILY_TID = 1000,	/* between those of two families */
	TP_TITLE_STREAM_0 = 999999,	/* HTA takes stream 0 for the host */
};

/* Which tracks a span lies on: its thread's, or those of its process for what crosses itself. */
enum tp_track_family {
	TP_TRACK_THREAD = 0,
	TP_TRACK_ASYNC = 1,
	TP_TRACK_COLL = 2,	/* NCCL's collectives */
	TP_TRACK_XFER = 3,	/* what its proxies do for them */
	TP_TRACK_FAMILIES
};

/* Unique in the run and ascending with the rank; never 0, which viewers take for the idle
 * process. Real pids of several hosts (or containers) may be equal. */
uint64_t tp_title_pid(const struct tp_proc *proc);
const char *tp_title_process(char buf[TP_TITLE_MAX], const struct tp_proc *proc);
const char *tp_title_track(char buf[TP_TITLE_MAX], const struct tp_thread *thread, uint32_t track,
			   enum tp_track_family family);
/* The main thread first, a thread's further tracks below it. */
int64_t tp_title_sort(const struct tp_thread *thread, uint32_t track, enum tp_track_family family);
/* A device of a process stands behind the processes of its rank; `number`: of all devices of all
 * processes of the run, as they are met. */
uint64_t tp_title_device_pid(const struct tp_proc *proc, uint32_t number);
/* "rank 0: GPU 0 (NVIDIA H100)". */
const char *tp_title_device(char buf[TP_TITLE_MAX], const struct tp_proc *proc, uint32_t device);
/* "stream 7", with its context where the device has several. waits: what waits, not what works. */
const char *tp_title_stream(char buf[TP_TITLE_MAX], const struct tp_proc *proc,
			    const struct tp_queue *queue, uint32_t track, bool waits);
/* The stream's number; another one where two contexts of a device have streams of the same
 * number, or it is 0, or none. */
uint64_t tp_title_stream_tid(const struct tp_proc *proc, const struct tp_queue *queue,
			     uint32_t track, bool waits);
int64_t tp_title_stream_sort(const struct tp_proc *proc, const struct tp_queue *queue,
			     uint32_t track, bool waits);
/* Is its instance a device, on whose row it belongs? */
bool tp_title_is_of_device(const struct tp_string *name);
/* "core 3"; without its unit. */
const char *tp_title_counter(char buf[TP_TITLE_MAX], const struct tp_string *name,
			     uint32_t instance);
/* Unit of a COUNTER string: "%", "B", "B/s"; "" if it has none. */
const char *tp_title_unit(const struct tp_string *name);
/* "memory" of the process, "system", "device"; "": none. */
const char *tp_title_group(const struct tp_string *name);

#endif
