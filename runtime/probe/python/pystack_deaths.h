/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pystack_deaths.h - has a code object died that a stack has named?
 *
 * While none has, its address says which code a frame runs, and the object need not be read: of a
 * stack of 15 that is 15 cache lines, on nearly as many pages. Codes that no stack has named, as most
 * of those that exec and eval make, die unnoticed.
 */
#ifndef TP_PROBE_PYSTACK_DEATHS_H
#define TP_PROBE_PYSTACK_DEATHS_H

/* The destructor of code objects goes through us from now on. With the interpreter's lock, once.
 * NULL, or why it cannot. */
const char *tp_pystack_watch_codes(void);

/* It is remembered from now on; a frame of this thread runs it. */
void tp_pystack_code_met(const char *code);
/* It dies; counts it in tp_pystack_how if it was met. */
void tp_pystack_code_died(const char *code);

#endif
