/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_tables.h - takes pages of unwind tables out of the process again
 *
 * libunwind looks for a rule all over a library's tables (.eh_frame), and the kernel maps
 * sixteen pages for each one that is read: a training's memory would seem to grow by a dozen MiB of
 * torch's tables, which are files' pages and of no use to the program.
 */
#ifndef TP_PROBE_STACK_TABLES_H
#define TP_PROBE_STACK_TABLES_H

#include "runtime/probe/stack/stack_objects.h"

struct tp_stack_tables_index {	/* .eh_frame_hdr as every linker in use writes it */
	uint8_t version;	/* 1 */
	uint8_t frames_form;	/* 0x1b: signed 32 bits from where it stands */
	uint8_t count_form;	/* 0x03: unsigned 32 bits */
	uint8_t entry_form;	/* 0x3b: two signed 32 bits each, from where the index begins */
	int32_t frames;
	uint32_t n;
	struct {
		int32_t code, frame;
	} entry[];
};

/* A library's, with one entry or more; NULL: it has none, or another kind. */
const struct tp_stack_tables_index *tp_stack_tables_index(const struct tp_stack_object *object);

/* Of one library. It must stay mapped meanwhile: code of it is on this thread's stack. */
void tp_stack_tables_drop(const struct tp_stack_object *object);
/* Of all that there are. Drain thread: takes the loader's lock, so that none goes. */
void tp_stack_tables_drop_all(void);

#endif
