/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torch_group.h - the process group of a collective: its name, its size, and who we are in it
 *
 * A collective's operator asks its c10d::ProcessGroup for the backend; the backend then begins the
 * range ("gloo:send") on the same thread, or hands work to a thread of its own, where the range
 * ("gloo:all_reduce") begins. So inputs are recorded for these ranges only, and no operator pays.
 */
#ifndef TP_PROBE_TORCH_GROUP_H
#define TP_PROBE_TORCH_GROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/text.h"

/* A c10d::ProcessGroup is there, and this is its rank and size. */
void tp_torch_group_made(const void *group, int32_t rank, int32_t size);
/* This thread's next collective belongs to it. */
void tp_torch_group_enter(const void *group);
/* And is from or to this member (of the group's own numbering; -1: from any), with this tag. */
void tp_torch_group_peer(int32_t peer, int32_t tag);

/* What this thread asks for is given to another one, as this object; and that one begins it. */
void tp_torch_group_hand_over(const void *work);
void tp_torch_group_take_over(const void *work);

/* Its name and, in brackets, what it is for. Nothing where torch does not tell. */
void tp_torch_group_name(const void *group, struct tp_text *out);
/* The range of a collective begins on this thread: it is counted (torch_flight.h). Returns whose it is,
 * for tp_torch_flight_end; `is_open` false: its end will not be seen. */
uint32_t tp_torch_group_begin(const char *text, uint32_t n_bytes, bool is_open);

/* Whether a range of this name is a collective of a backend. */
bool tp_torch_is_collective(const char *text, uint32_t n_bytes);
/* Of a collective that begins on this thread: inputs and group as a SHAPES string, interned; 0:
 * nothing is known. *waited_ns: since it was asked for; TP_NO_SEQ: not known. */
uint32_t tp_torch_group_shapes(const void *rf, uint32_t *waited_ns);

#endif
