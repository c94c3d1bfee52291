/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control.h - requests to a running job, and its answers: files in the run folder
 *
 * Who wants something makes the file "control" in the folder that the ranks share: one line,
 * "trainprof control ID COMMAND". One process of the job takes it away (who unlinks it has it) and
 * answers in "control.ID", a line each, the first word of which is one of enum tp_answer: the
 * last line is `done` or `refused`. Both files appear whole under their names, belong to the user of
 * the job and are writable by nobody else; others are refused.
 *
 * Pure functions, no allocation; threads: any.
 */
#ifndef TP_TRACE_CONTROL_H
#define TP_TRACE_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/text.h"

#define TP_CONTROL_FILE "control"

enum {
	TP_CONTROL_ID = 40,		/* bytes of an id and its end */
	TP_CONTROL_BYTES = 160,		/* of a request */
	TP_CONTROL_STEPS_MOST = 1000000,
	TP_ANSWER_BYTES = 2000,		/* of all lines */
};

enum tp_control_what {
	TP_CONTROL_STATUS,	/* where does the job stand? */
	TP_CONTROL_WINDOW,	/* a window of so many steps */
	TP_CONTROL_STOP,	/* no windows from now on but those that are asked for */
	TP_CONTROL_WHATS
};

struct tp_control {
	enum tp_control_what what;
	uint32_t steps;			/* of TP_CONTROL_WINDOW, 1 .. TP_CONTROL_STEPS_MOST */
	char id[TP_CONTROL_ID];		/* digits, letters and '-' */
};

/* "window=4", "stop" or "status". False: it is none of these; *control is unchanged then. */
bool tp_control_parse_command(const char *command, struct tp_control *control);
/* A whole file of n bytes. False: it is no request. */
bool tp_control_parse(const char *text, size_t n, struct tp_control *control);
void tp_control_format(const struct tp_control *control, struct tp_text *out);

enum tp_answer {
	TP_ANSWER_TAKEN,	/* it will be done; more follows */
	TP_ANSWER_DONE,
	TP_ANSWER_REFUSED,	/* with the reason */
	TP_ANSWER_NONE,		/* not a whole line yet, or none of ours */
};
const char *tp_answer_word(enum tp_answer answer);
/* The line at *text, which is moved behind it; what it says is at *said, n_said bytes. */
enum tp_answer tp_answer_parse(const char **text, const char **said, size_t *n_said);

#endif
