/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load_stage.c - what a data loader of torch's, or torchdata's, which is made of it, does on a stack
 *
 * In torch/utils/data: a sampler is asked in _next_index; _utils/fetch.py asks the dataset, then calls
 * the function that makes batches; _utils/worker.py is the loop of a worker, which waits for indices
 * and gives batches away by queues; an iterator's __init__ and _shutdown_workers start and end workers.
 */
#include "merge/facts/code/load_stage.h"

#include <string.h>

#include "runtime/base/begins.h"

#define TORCHDATA "torchdata/stateful_dataloader/"

static const char torchs[] = "torch/utils/data/";

static bool is_loaders(const struct tp_frame *frame)
{
	return frame->is_python && (strstr(frame->file, torchs) || strstr(frame->file, TORCHDATA));
}

static bool is_in(const struct tp_frame *frame, const char *file)
{
	return frame->is_python && strstr(frame->file, torchs) && tp_ends(frame->file, file);
}

static bool is_in_loader(const struct tp_frame *frame)
{
	return is_in(frame, "/dataloader.py") ||
	       (frame->is_python && tp_ends(frame->file, TORCHDATA "stateful_dataloader.py"));
}

uint32_t tp_load_called(const struct tp_frame *frame, uint32_t n)
{
	for (uint32_t i = n; i-- > 0;)
		if (is_loaders(&frame[i]))
			return i;
	return 0;
}

/* What fetch calls in frame[at]'s place: samples are asked for in a comprehension or by name. */
static enum tp_load_stage stage_of_fetch(const struct tp_frame *frame, uint32_t at)
{
	static const char *const asks[] = {"__getitem__", "__getitems__", "__iter__", "__next__"};
	const struct tp_frame *called;

	if (!at || !tp_frame_is_called(&frame[at], "fetch"))
		return TP_LOAD_FETCH;
	called = &frame[at - 1];
	if (is_in(called, "/_utils/collate.py"))
		return TP_LOAD_COLLATE;
	if (is_in(called, "/_utils/fetch.py") || strstr(frame[at].function, "Iterable"))
		return TP_LOAD_FETCH;
	for (uint32_t i = 0; i < sizeof(asks) / sizeof(asks[0]); i++)
		if (tp_frame_is_called(called, asks[i]))
			return TP_LOAD_FETCH;
	return TP_LOAD_COLLATE;
}

static enum tp_load_stage stage_of_loader(const struct tp_frame *frame)
{
	if (tp_frame_is_called(frame, "_next_index"))
		return TP_LOAD_SAMPLER;
	if (tp_frame_is_called(frame, "_try_get_data"))
		return TP_LOAD_AWAIT;
	if (tp_frame_is_called(frame, "__init__") || tp_frame_is_called(frame, "_shutdown_workers") ||
	    tp_frame_is_called(frame, "_get_iterator") || tp_frame_is_called(frame, "_reset"))
		return TP_LOAD_START;
	return TP_LOAD_OTHER;
}

bool tp_load_is_worker_loop(const struct tp_frame *frame)
{
	return (is_in(frame, "/_utils/worker.py") ||
		(frame->is_python && tp_ends(frame->file, TORCHDATA "worker.py"))) &&
	       tp_frame_is_called(frame, "_worker_loop");
}

/* A queue below the worker's loop: batches go out by put, indices come in by get. */
static enum tp_load_stage stage_of_worker(const struct tp_frame *frame, uint32_t at)
{
	for (uint32_t i = 0; i < at; i++)
		if (tp_frame_is_called(&frame[i], "put"))
			return TP_LOAD_SEND;
	return TP_LOAD_AWAIT;
}

/* From the outermost frame inwards, the last word counts. */
enum tp_load_stage tp_load_stage_of(const struct tp_frame *frame, uint32_t n)
{
	enum tp_load_stage stage = TP_LOAD_NONE;

	for (uint32_t i = n; i-- > 0 && stage != TP_LOAD_SAMPLER;) {
		if (is_in(&frame[i], "/_utils/fetch.py"))
			return stage_of_fetch(frame, i);
		if (tp_load_is_worker_loop(&frame[i])) {
			stage = stage_of_worker(frame, i);
		} else if (is_in_loader(&frame[i])) {
			enum tp_load_stage found = stage_of_loader(&frame[i]);

			stage = stage == TP_LOAD_NONE || found != TP_LOAD_OTHER ? found : stage;
		}
	}
	return stage;
}
