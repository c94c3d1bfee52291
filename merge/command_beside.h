/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command_beside.h - for command.c: what goes on beside a running job; how all of them refuse
 */
#ifndef TP_MERGE_COMMAND_BESIDE_H
#define TP_MERGE_COMMAND_BESIDE_H

#include "merge/command.h"

/* As given; NULL: not. */
struct tp_beside_words {
	const char *every, *keep, *wait;
};

/* Ends the program with TP_STATUS_USAGE after the message. */
_Noreturn void tp_command_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* --ctl, --live and --watch, whose sinks are chosen already: sets what they need, or fails. */
void tp_command_beside(struct tp_command *command, const struct tp_beside_words *words);
/* One of them is asked for: nothing is merged. */
bool tp_command_is_beside(const struct tp_command *command);

#endif
