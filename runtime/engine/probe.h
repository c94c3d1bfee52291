/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe.h - the seam between the engine and the sources of records
 *
 * The engine gets an array of these tables from preload/main.c and never names a probe.
 * A probe's hooks run on guest threads; they may make records whenever tp_session_is_armed()
 * (or their own armed flag, set between arm and disarm) is true.
 *
 * Every function may be NULL: the probe does not care. None may exit, abort, print to stdout
 * or leave errno changed on a guest thread.
 */
#ifndef TP_ENGINE_PROBE_H
#define TP_ENGINE_PROBE_H

#include <stdbool.h>
#include <stdint.h>

struct tp_config;
struct tp_rec;
struct tp_text;

struct tp_probe {
	const char *name;	/* "torch", "tensor", "host": in messages and in META */
	/* Armed for the flight recorder, too (tp_session_level): cheap, and needs neither tick nor
	 * settle there. */
	bool is_for_recorder;

	/* Once, when the process has proved to be a training process, on the thread that
	 * proved it, before any file or thread exists. 0, or -errno: the probe is off, and
	 * has said why with tp_probe_off(). */
	int (*open)(const struct tp_config *config);

	/* Drain thread, well before arm where there is warm-up: prefault, allocate. */
	void (*warm)(void);

	/* A window begins (at warm-up when there is one) or ends, or the flight recorder's time does. On the
	 * thread that crossed the step boundary, inside its callback: a few us at most, no blocking. */
	void (*arm)(void);
	void (*disarm)(void);

	/* Bytes of host memory that the program has from its allocator now; 0: not known. At each step
	 * boundary, windows or not: well below a us, no blocking. */
	uint64_t (*live)(void);

	/* Drain thread, about every `period_ms` while armed (period 0: not called). */
	uint32_t (*period_ms)(void);
	void (*tick)(uint64_t now);

	/* Drain thread, in its rounds outside windows; returns in how many ns it wants the next one.
	 * `now` in ticks. */
	uint64_t (*look)(uint64_t now);
	/* Drain thread, when the ledger is written: appends "key=value\n" lines that it is to have, whole
	 * ones. is_last: nothing is written after it. */
	void (*note)(struct tp_text *facts, bool is_last);

	/* Drain thread, about once a second, armed or not, from the start of the session on. */
	void (*watch)(uint64_t mono_ns);
	/* Drain thread, in each of its rounds: not to wait for that second. */
	bool (*is_urgent)(void);

	/*
	 * Drain thread, after a window has ended and before its file is finished, again and again
	 * until it returns true: what the window still lacks (a device's records come late) is
	 * put into the ring, device spans that end after `end` with TP_F_AFTER (by this thread
	 * only, see window.c: its records may come in any order). False: there is more to come,
	 * ask again in about a millisecond. The probe keeps the time: it gives up (counts what
	 * is missing, returns true) within a second after the last window that has ended, when
	 * `is_closing` at once; and where the ring stays half full, for what fills it may be of later
	 * windows, which are written only after this one.
	 */
	bool (*settle)(uint64_t end, bool is_closing);

	/*
	 * Drain thread, or who has its work (own_table.h): records of a window on their way to its file,
	 * of one thread and in their order, none twice; before, on tp_window_records_show, those that
	 * are in no file yet. A few ns a record.
	 */
	void (*see)(uint32_t window, uint32_t slot, const struct tp_rec *rec, uint32_t n);

	/* Drain thread, when a window's file is closed: append "key=value\n" lines. */
	void (*report)(struct tp_text *totals);

	/* On the thread that forks while a session is open, before and, in the parent, after it. No blocking;
	 * after it also where before it the session was not open yet. */
	void (*before_fork)(void);
	void (*after_fork)(void);
	/* In the child of fork, first thing: async-signal-safe only; the probe is disarmed
	 * and must behave as such. */
	void (*forked)(void);

	/* Once, at exit, drain thread already stopped. */
	void (*close)(void);
};

/* A feature is off: kept for META ("off.<feature>=<why>") and said once at level warn. */
void tp_probe_off(const char *feature, const char *why);
/* The same of a part that nobody asked for by its name: said at LOG=info. */
void tp_probe_off_quietly(const char *feature, const char *why);

#endif
