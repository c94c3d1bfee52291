/* SPDX-License-Identifier: Apache-2.0 */
/*
 * owner_call.h - what the instruction before a return address calls
 *
 * Pure, but for what it reads: the bytes before `back`, and of the jump stub (PLT) that they
 * may call. x86-64 and aarch64; elsewhere everything is TP_CALL_NONE.
 */
#ifndef TP_PROBE_OWNER_CALL_H
#define TP_PROBE_OWNER_CALL_H

#include <stdint.h>

enum tp_call_form {
	TP_CALL_NONE,		/* not behind a call */
	TP_CALL_DIRECT,		/* *to: the first instruction called */
	TP_CALL_SLOT,		/* *to: where the address of what is called lies (GOT) */
	TP_CALL_POINTER,	/* through a register or memory: not known what */
};

/* At least 8 bytes before `back` can be read. */
enum tp_call_form tp_call_before(const uint8_t *back, uintptr_t *to);
/* A jump out of a function at that byte, behind which 8 can be read: TP_CALL_DIRECT, TP_CALL_SLOT, or none.
 * A function that ends in a call of another one (a tail call) jumps there. */
enum tp_call_form tp_call_jump(const uint8_t *at, uintptr_t *to);
/* Where to look for the next one. */
#ifdef __x86_64__
enum { TP_CALL_STEP = 1 };
#else
enum { TP_CALL_STEP = 4 };
#endif
/* The slot through which a jump stub at `stub` (16 bytes of it can be read) goes; 0: it is none. */
uintptr_t tp_call_stub_slot(const uint8_t *stub);

#endif
