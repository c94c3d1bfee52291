/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device.h - what the strings of device records say, as structures and as words
 *
 * The bytes come from files: what a string lacks is zero, what it has too much is ignored.
 */
#ifndef TP_MERGE_DEVICE_H
#define TP_MERGE_DEVICE_H

#include <stddef.h>

#include "merge/model/model.h"
#include "runtime/trace/kinds.h"

/* Of CUPTI's, those that are asked for. */
enum tp_copy_kind { TP_COPY_HTOD = 1, TP_COPY_DTOH = 2 };
enum tp_memory_kind {
	TP_MEMORY_PAGEABLE = 1,
	TP_MEMORY_UNTOLD = 254,		/* none of CUPTI's: a trace of ROCm does not tell it */
};

/* Of event->detail; all zero when it is of another kind. */
struct tp_launch tp_device_launch(const struct tp_event *event);
struct tp_launch_estimate tp_device_estimate(const struct tp_event *event);
struct tp_transfer tp_device_transfer(const struct tp_event *event);
struct tp_sync_what tp_device_sync(const struct tp_event *event);
/* *owner: path of the library that asked for it, NUL-terminated; "" if not known. */
struct tp_devmem_what tp_device_memory(const struct tp_event *event, const char **owner);

/* KERNEL, MEMCPY, MEMSET, GRAPH: something that keeps a device busy. */
static inline bool tp_device_is_work(const struct tp_event *event)
{
	return event->queue && tp_kind_is_work(event->kind);
}

/* The properties of the event's device, or of device `id`; NULL: the trace does not tell. */
const struct tp_device *tp_device_of(const struct tp_proc *proc, uint32_t id);

/*
 * Names as torch.profiler writes them, which its readers match: "Memcpy HtoD (Pageable ->
 * Device)", "Memset (Device)", "Stream Wait Event", "Event Sync", "Stream Sync",
 * "Context Sync", "cudaGraphLaunch". Into buf, returned.
 */
const char *tp_device_transfer_name(char buf[64], const struct tp_transfer *transfer);
const char *tp_device_sync_name(uint32_t kind);

/* And back, also from names of older traces: fills the kinds, 0 where a word is none. */
void tp_device_transfer_of(struct tp_transfer *transfer, const char *name, uint32_t n);
uint32_t tp_device_sync_of(const char *name, uint32_t n);	/* enum tp_sync_kind; 0: another */

/* A number that is known of devices. */
struct tp_device_fact {
	const char *key;	/* in a TP_STRING_DEVICE string */
	const char *kineto;	/* in deviceProperties of torch.profiler's traces; NULL: not there */
	size_t at, bytes;	/* in struct tp_device */
};
/* In the order of torch.profiler; ended by key NULL. */
extern const struct tp_device_fact tp_device_facts[];
uint64_t tp_device_fact_value(const struct tp_device *device, const struct tp_device_fact *fact);

/* Of a TP_STRING_DEVICE string: its lines; unknown keys are ignored. False: no id in it. */
bool tp_device_parse(struct tp_device *device, const char *bytes, uint32_t n_bytes);

#endif
