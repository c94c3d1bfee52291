/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trainprof.h - PUBLIC, optional: a program's own ranges, marks, counters and steps in the
 * traces of libtrainprof.so
 *
 * Nothing has to be linked. In a process without the library each call does nothing, and costs
 * a load and a branch; with it, outside recording windows, a nanosecond or two; in a window
 * some tens of nanoseconds. Include it in as many files as you like, C (gnu99 or newer) or C++;
 * GCC or clang, Linux. From Python, without this header:
 *
 *	import ctypes
 *	marks = ctypes.CDLL(None)			# no such symbols: not injected
 *	marks.trainprof_v1_begin(b"tokenize", None)
 *
 * Errors: there are none to handle. What cannot be recorded is dropped, and counted in the
 * trace; errno is kept; no call waits, takes a lock for long, or calls back.
 * Threads: any, at any time, also while windows open and close and in the child of fork. Not
 * in signal handlers.
 * Texts: UTF-8, ended by NUL; they are copied, at most 4096 bytes of a name and 250 of a
 * category. A text that is always the same costs its room once; one with a number in it costs
 * room each time it is new.
 *
 * TRAINPROF_RECORD without "marks" switches all but trainprof_step off.
 */
#ifndef TRAINPROF_H
#define TRAINPROF_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The functions behind the names below, as the library has them. Their addresses are read from
 * where the dynamic linker puts them (the global offset table): a plain weak reference would
 * be 0 for ever in a program linked with -no-pie.
 */
#if defined(__x86_64__)
#define TRAINPROF_FIND(name, address)                                                      \
	__asm__(".weak " #name "\n\tmovq " #name "@GOTPCREL(%%rip), %0" : "=r"(address))
#elif defined(__aarch64__)
#define TRAINPROF_FIND(name, address)                                                      \
	__asm__(".weak " #name "\n\tadrp %0, :got:" #name "\n\tldr %0, [%0, :got_lo12:" #name "]" \
		: "=r"(address))
#else
extern void trainprof_v1_begin(const char *, const char *) __attribute__((weak));
extern void trainprof_v1_end(void) __attribute__((weak));
extern void trainprof_v1_instant(const char *, const char *) __attribute__((weak));
extern void trainprof_v1_counter(const char *, const char *, double) __attribute__((weak));
extern void trainprof_v1_step(void) __attribute__((weak));
#define TRAINPROF_FIND(name, address) ((address) = (name))
#endif

/*
 * A range of this thread begins, inside those it is already in. category: NULL, or a word
 * that is shown before the name, "category: name". End it on the same thread. More than 64
 * ranges in each other are not recorded.
 */
static inline void trainprof_begin(const char *name, const char *category)
{
	void (*function)(const char *, const char *);

	TRAINPROF_FIND(trainprof_v1_begin, function);
	if (function)
		function(name, category);
}

/* The range of this thread that trainprof_begin began last, and that is open, ends. */
static inline void trainprof_end(void)
{
	void (*function)(void);

	TRAINPROF_FIND(trainprof_v1_end, function);
	if (function)
		function();
}

/* Something happened now. category as of trainprof_begin. */
static inline void trainprof_instant(const char *name, const char *category)
{
	void (*function)(const char *, const char *);

	TRAINPROF_FIND(trainprof_v1_instant, function);
	if (function)
		function(name, category);
}

/* A value that is drawn over time, one curve for each name (at most 127 bytes). unit: as it
 * is to be shown ("B", "tokens/s"; at most 31 bytes), or NULL. */
static inline void trainprof_counter(const char *name, const char *unit, double value)
{
	void (*function)(const char *, const char *, double);

	TRAINPROF_FIND(trainprof_v1_counter, function);
	if (function)
		function(name, unit, value);
}

/*
 * A training step ended now, and the next one begins. From the first call on only these calls
 * end steps, unless TRAINPROF_STEP names something else; steps that had been found otherwise
 * before are not counted (TRAINPROF_STEP=mark: none are looked for). It also proves that the
 * process trains. Call it on the training thread, once per step: at a window's edge it takes some
 * microseconds.
 */
static inline void trainprof_step(void)
{
	void (*function)(void);

	TRAINPROF_FIND(trainprof_v1_step, function);
	if (function)
		function();
}

#undef TRAINPROF_FIND

#ifdef __cplusplus
}
#endif
#endif
