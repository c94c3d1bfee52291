/* SPDX-License-Identifier: Apache-2.0 */
/*
 * request.h - requests from outside: taken away from the run folder, and answered there
 *
 * The files are those of runtime/trace/control.h. A request counts when it is a regular file
 * of the user that the job runs as (or of root), with one name, that nobody else may write to;
 * what is none is left where it is and said once. Drain thread, one request at a time.
 */
#ifndef TP_ENGINE_REQUEST_H
#define TP_ENGINE_REQUEST_H

#include "runtime/base/folder.h"
#include "runtime/trace/control.h"

struct tp_request {
	struct tp_control control;
	uint64_t n_answered;		/* bytes of its answers so far */
	bool is_open;			/* more answers follow */
};

/* True: there was one, it is ours alone to answer now. */
bool tp_request_take(const struct tp_folder *folder, struct tp_request *request);
/* Appends a line; after `done` and `refused` there are no more. What cannot be written is said. */
void tp_request_answer(const struct tp_folder *folder, struct tp_request *request,
		       enum tp_answer answer, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

#endif
