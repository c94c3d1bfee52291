/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log.c - one-line messages on standard error
 *
 * Runs in any thread of the guest, in any context. A message must never do harm: a reader
 * of standard error that has gone away must not kill the guest with SIGPIPE, nor a file that
 * is as long as the limit allows with SIGXFSZ, and a reader that does not read must not stop
 * it. So the signals are held back, and what cannot be written at once is given a moment,
 * then dropped. Nor is a message the place where a thread is cancelled: the caller may hold
 * one of our locks. And a program may close standard error and open a file of its own, which
 * then has the number 2: what was there at the start is compared before each line.
 */
#include "runtime/base/log.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	LINE_MAX_BYTES = 1024, /* at most PIPE_BUF: lines of several processes do not mix */
	WAIT_MS = 20, /* for a full pipe or a stopped terminal; then the line is lost */
	UNSAID_BYTES = 4096,
};

static enum tp_log_level level_now = TP_LOG_WARN;
static int rank_now = -1;
static int fd_now = -1;

/* Standard error as it was at the start. */
static struct {
	bool is_known, is_open;
	dev_t device;
	ino_t inode;
} before;

/* Lines for which there was no standard error. Room is taken first; the first byte of a line is
 * stored last: as long as it is 0, the text ends there. */
static struct {
	char text[UNSAID_BYTES];
	uint32_t n_taken;	/* atomic */
} unsaid;

static __thread struct tp_text *held __attribute__((tls_model("initial-exec")));

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

void tp_log_remember_stderr(void)
{
	struct stat now;
	int saved = errno;

	before.is_open = fstat(STDERR_FILENO, &now) == 0;
	if (before.is_open) {
		before.device = now.st_dev;
		before.inode = now.st_ino;
	}
	before.is_known = true;
	errno = saved;
}

static bool is_stderr_ours(void)
{
	struct stat now;

	return !before.is_known ||
	       (before.is_open && fstat(STDERR_FILENO, &now) == 0 &&
		now.st_dev == before.device && now.st_ino == before.inode);
}

static void keep_unsaid(const char *line, size_t n)
{
	uint32_t at = __atomic_load_n(&unsaid.n_taken, __ATOMIC_RELAXED);

	do {
		if (n > UNSAID_BYTES - at)
			return;
	} while (!__atomic_compare_exchange_n(&unsaid.n_taken, &at, at + (uint32_t)n, false,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	memcpy(unsaid.text + at + 1, line + 1, n - 1);
	__atomic_store_n(unsaid.text + at, line[0], __ATOMIC_RELEASE);
}

void tp_log_unsaid(struct tp_text *out, const char *key)
{
	const char *at = unsaid.text, *end = unsaid.text + UNSAID_BYTES;

	while (at < end && __atomic_load_n(at, __ATOMIC_ACQUIRE)) {
		const char *next = (const char *)memchr(at, '\n', (size_t)(end - at)) + 1;

		tp_text_str(out, key);
		tp_text_bytes(out, at, (size_t)(next - at));
		at = next;
	}
}

/* The signal that comes with a failed write; 0: none. */
static int signal_of(int error)
{
	return error == EPIPE ? SIGPIPE : error == EFBIG ? SIGXFSZ : 0;
}

static void write_line(int fd, const char *line, size_t n)
{
	struct pollfd poller = {.fd = fd, .events = POLLOUT};
	sigset_t blocked, old, pending;

	if (poll(&poller, 1, WAIT_MS) != 1 || !(poller.revents & (POLLOUT | POLLERR)))
		return;
	/* It may have become another file while we waited. */
	if (fd == STDERR_FILENO && !is_stderr_ours())
		return;
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGPIPE);
	sigaddset(&blocked, SIGXFSZ);
	if (pthread_sigmask(SIG_BLOCK, &blocked, &old))
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

static void say(const char *line, size_t n)
{
	int cancel_state, fd = __atomic_load_n(&fd_now, __ATOMIC_RELAXED);

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
	if (is_stderr_ours())
		write_line(STDERR_FILENO, line, n);
	else
		keep_unsaid(line, n);
	if (fd >= 0)
		write_line(fd, line, n);
	pthread_setcancelstate(cancel_state, NULL);
}

void tp_log_hold(struct tp_text *into)
{
	held = into;
}

void tp_log_write_held(const struct tp_text *lines)
{
	const char *at = lines->buf, *end = at + lines->len;
	int saved = errno;

	while (at < end) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));

		/* One that did not fit as a whole has no end. */
		if (!stop)
			break;
		say(at, (size_t)(stop + 1 - at));
		at = stop + 1;
	}
	errno = saved;
}

void tp_log(enum tp_log_level level, const char *format, ...)
{
	char line[LINE_MAX_BYTES];
	struct tp_text text;
	int saved = errno;
	int rank = __atomic_load_n(&rank_now, __ATOMIC_RELAXED);
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
	if (held)
		tp_text_bytes(held, line, text.len + 1);
	else
		say(line, text.len + 1);
	errno = saved;
}
