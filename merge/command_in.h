/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command_in.h - the inside of command.h: command.c has the options and reads them, command_choose.c says
 * what they ask for
 */
#ifndef TP_MERGE_COMMAND_IN_H
#define TP_MERGE_COMMAND_IN_H

#include "merge/command_beside.h"

/* As given; NULL: not. What they mean goes to a struct tp_command. */
struct tp_command_words {
	const char *formats, *views;
	const char *top, *depth, *sort;
	const char *compare, *fail_if;
	const char *other_steps, *other_ranks, *other_windows;
};

/* Both end the program with TP_STATUS_USAGE after a message where words mean nothing, or not together.
 * `words` has to stay: the command points into it. */
void tp_command_choose(struct tp_command *command, const struct tp_command_words *words);
/* For --watch: formats only. */
void tp_command_choose_watched(struct tp_command *command, const struct tp_command_words *words);

/* The formats of the views' tables, not of the events, one after the other; NULL: no more. */
const char *tp_command_row_format(uint32_t at, const char **help);

#endif
