/* SPDX-License-Identifier: Apache-2.0 */
/*
 * terminal.h - where the text of views goes: a terminal, its pager, a pipe, a file
 */
#ifndef TP_MERGE_TERMINAL_H
#define TP_MERGE_TERMINAL_H

#include "merge/command.h"

/* False: the file of -o cannot be written, and that is said. */
bool tp_terminal_open(struct tp_out *out, const struct tp_command *command);
/* What was printed, to a pager where it is longer than the screen. False: it could not be written. */
bool tp_terminal_close(struct tp_out *out);
/* Of what was printed without tp_terminal_open. False: standard output cannot be written, and that is
 * said; a reader that went away (| head) is no error. */
bool tp_terminal_flush(void);

#endif
