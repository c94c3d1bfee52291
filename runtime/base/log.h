/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log.h - one-line messages on standard error, by one write(2) each
 *
 * Never stdout. Never buffered. Form: "trainprof: rank 3: cannot open 'x': No space left on
 * device; tracing stops". Lower case, the subject in quotes, what failed, why, what happens
 * now. Safe in any thread and context (own formatting on the stack, no allocation, errno kept).
 *
 * Format letters: %s %d %u %ld %lu %zu %x %lx %c %% only (tp_text's own formatter).
 */
#ifndef TP_BASE_LOG_H
#define TP_BASE_LOG_H

#include "runtime/base/text.h"

enum tp_log_level {
	TP_LOG_QUIET = 0,
	TP_LOG_WARN = 1,	/* something is lost, off or wrong (the default) */
	TP_LOG_INFO = 2,	/* one line per window, what was found */
	TP_LOG_DEBUG = 3,
};

void tp_log_set_level(enum tp_log_level level);
enum tp_log_level tp_log_level(void);
/* Shown as "rank N: " in each line; -1: not shown. */
void tp_log_set_rank(int rank);
/* Messages also go to this descriptor when it is >= 0 (the run's log file). */
void tp_log_set_fd(int fd);

/* Remembers what standard error is now. Once the program has put another file, or none, under its
 * number, messages are not written there: they are kept (tp_log_unsaid). */
void tp_log_remember_stderr(void);
/* The messages that could not be written so far, one a line, each behind `key`. */
void tp_log_unsaid(struct tp_text *out, const char *key);

/* Messages of this thread are not written but appended to `into`, until NULL is given. */
void tp_log_hold(struct tp_text *into);
/* Writes lines that were held. */
void tp_log_write_held(const struct tp_text *lines);

void tp_log(enum tp_log_level level, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#define tp_warn(...) tp_log(TP_LOG_WARN, __VA_ARGS__)
#define tp_info(...) tp_log(TP_LOG_INFO, __VA_ARGS__)
#define tp_debug(...) tp_log(TP_LOG_DEBUG, __VA_ARGS__)

/* At most once per call site in the life of the process. */
#define tp_warn_once(...)                                                                  \
	do {                                                                               \
		static int said_;                                                          \
		if (!__atomic_exchange_n(&said_, 1, __ATOMIC_RELAXED))                     \
			tp_log(TP_LOG_WARN, __VA_ARGS__);                                  \
	} while (0)

#endif
