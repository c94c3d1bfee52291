/* SPDX-License-Identifier: Apache-2.0 */
/*
 * told.h - which threads a trace file knows, and by which name
 *
 * Drain thread only, for the one file that is open.
 */
#ifndef TP_ENGINE_TOLD_H
#define TP_ENGINE_TOLD_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/trace/writer.h"

/* A new file: it knows none. */
void tp_told_forget(void);

bool tp_told_has(uint32_t slot);

/* Writes the slot's thread into the file. */
void tp_told_tell(struct tp_writer *writer, uint32_t slot);

/* Threads are often named after their first record: looks again, when the window is over. */
void tp_told_again(struct tp_writer *writer);

#endif
