/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log.c - one-line messages on standard error
 *
 * Runs in any thread of the guest, in any context. A message must never do harm: a reader
 * of standard error that has gone away must not kill the guest with SIGPIPE, nor a file that
 * is as long as the limit allows with SIGXFSZ, and a reader that does not read must not stop
 * it. So the signals are held back, and what cannot be written at once is given a moment,
 * then dropped. Nor is a message the place where a thread is cancelled: the caller may hold
 * one of our locks.
 */
#include "runtime/base/log.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/text.h"

enum {
	LINE_MAX_BYTES = 1024, /* at most PIPE_BUF: lines of several processes do not mix */
	WAIT_MS = 20, /* for a full pipe or a stopped terminal; then the line is lost */
};

static enum tp_log_level level_now = TP_LOG_WARN;
static int rank_now = -1;
static int fd_now = -1;

void tp_log_set_level(enum tp_log_level level)
{
	__atomic_store_n(&level_now, level, __ATOMIC_RELAXED);
}

enum tp_log_level tp_log_level(void)
{
	return __atomic_load_n(&level_now, __ATOMIC_RELAXED);
}

void tp_log_set_rank(int rank)
{
	__atomic_store_n(&rank_now, rank, __ATOMIC_RELAXED);
}

void tp_log_set_fd(int fd)
{
	__atomic_store_n(&fd_now, fd, __ATOMIC_RELAXED);
}

/* The signal that comes with a failed write; 0: none. */
static int signal_of(int error)
{
	return error == EPIPE ? SIGPIPE : error == EFBIG ? SIGXFSZ : 0;
}

static void write_line(int fd, const char *line, size_t n)
{
	struct pollfd poller = {.fd = fd, .events = POLLOUT};
	sigset_t held, old, pending;

	if (poll(&poller, 1, WAIT_MS) != 1 || !(poller.revents & (POLLOUT | POLLERR)))
		return;
	sigemptyset(&held);
	sigaddset(&held, SIGPIPE);
	sigaddset(&held, SIGXFSZ);
	if (pthread_sigmask(SIG_BLOCK, &held, &old))
		return;
	sigemptyset(&pending);
	sigpending(&pending);
	/* One try: a line that the kernel takes in part is cut, and that is all. */
	if (write(fd, line, n) < 0 && signal_of(errno) &&
	    sigismember(&pending, signal_of(errno)) == 0) {
		sigset_t ours;

		sigemptyset(&ours);
		sigaddset(&ours, signal_of(errno));
		while (sigtimedwait(&ours, NULL, &(struct timespec){0}) < 0 && errno == EINTR)
			;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

void tp_log(enum tp_log_level level, const char *format, ...)
{
	char line[LINE_MAX_BYTES];
	struct tp_text text;
	int saved = errno, cancel_state;
	int rank = __atomic_load_n(&rank_now, __ATOMIC_RELAXED);
	int fd = __atomic_load_n(&fd_now, __ATOMIC_RELAXED);
	va_list args;

	if (level == TP_LOG_QUIET || level > tp_log_level())
		return;
	tp_text_init(&text, line, sizeof(line) - 1);
	tp_text_str(&text, "trainprof: ");
	if (rank >= 0)
		tp_text_fmt(&text, "rank %d: ", rank);
	va_start(args, format);
	tp_text_vfmt(&text, format, args);
	va_end(args);
	/* Names in messages come from the guest: whatever is in them, a message is one
	 * line. */
	for (size_t i = 0; i < text.len; i++) {
		if ((unsigned char)line[i] < ' ' || line[i] == 0x7f)
			line[i] = '?';
	}
	line[text.len] = '\n';
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
	write_line(STDERR_FILENO, line, text.len + 1);
	if (fd >= 0)
		write_line(fd, line, text.len + 1);
	pthread_setcancelstate(cancel_state, NULL);
	errno = saved;
}
