/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack_objects.h - which library's code an address is in, without the loader's lock
 *
 * glibc 2.35 and newer know it themselves (_dl_find_object). Elsewhere the drain thread copies
 * the list now and then: a library that was just loaded may be missing for a while.
 */
#ifndef TP_PROBE_STACK_OBJECTS_H
#define TP_PROBE_STACK_OBJECTS_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

struct tp_stack_object {
	uint64_t base;			/* what is added to addresses in the file */
	const ElfW(Phdr) *headers;	/* in the object's own memory */
	uint16_t n_headers;
};

/* `own_list`: do without _dl_find_object (tests). */
void tp_stack_objects_open(bool own_list);
/* Any thread, inside malloc. */
bool tp_stack_object_find(uint64_t pc, struct tp_stack_object *object);
/* Drain thread: copies the list where there is need. */
void tp_stack_objects_look(void);
/* Was a library unmapped since the last time this was asked? Takes the loader's lock. */
bool tp_stack_objects_shrank(void);

#endif
