/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hang_calls.c - names of the system calls that wait, and what they wait for
 */
#include "runtime/probe/hang/hang_calls.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/base/begins.h"
#include "runtime/base/peek.h"

/* What the first argument says. */
enum of { NOTHING, DESCRIPTOR, POLLED, FOR_USER };

/* Calls in which threads stay for long. */
static const struct {
	int number;
	const char *name;
	enum of of;
} known[] = {
	{SYS_read, "read", DESCRIPTOR}, {SYS_write, "write", DESCRIPTOR},
	{SYS_readv, "readv", DESCRIPTOR}, {SYS_writev, "writev", DESCRIPTOR},
	{SYS_pread64, "pread", DESCRIPTOR}, {SYS_pwrite64, "pwrite", DESCRIPTOR},
	{SYS_recvfrom, "recv", DESCRIPTOR}, {SYS_recvmsg, "recvmsg", DESCRIPTOR},
	{SYS_sendto, "send", DESCRIPTOR}, {SYS_sendmsg, "sendmsg", DESCRIPTOR},
	{SYS_connect, "connect", DESCRIPTOR}, {SYS_accept, "accept", FOR_USER},
	{SYS_accept4, "accept", FOR_USER}, {SYS_fsync, "fsync", DESCRIPTOR},
	{SYS_fdatasync, "fdatasync", DESCRIPTOR}, {SYS_ftruncate, "ftruncate", DESCRIPTOR},
	{SYS_flock, "flock", DESCRIPTOR}, {SYS_fcntl, "fcntl", DESCRIPTOR},
	{SYS_ioctl, "ioctl", DESCRIPTOR}, {SYS_openat, "open", NOTHING},
	{SYS_newfstatat, "stat", NOTHING}, {SYS_futex, "futex (a lock, or another thread)", NOTHING},
	{SYS_wait4, "wait for a child process", NOTHING}, {SYS_waitid, "wait for a child process", NOTHING},
	{SYS_nanosleep, "sleep", NOTHING}, {SYS_clock_nanosleep, "sleep", NOTHING},
	{SYS_ppoll, "poll", POLLED}, {SYS_epoll_pwait, "epoll_wait", FOR_USER},
	{SYS_pselect6, "select", FOR_USER}, {SYS_rt_sigtimedwait, "wait for a signal", FOR_USER},
	{SYS_rt_sigsuspend, "wait for a signal", FOR_USER},
#ifdef __x86_64__
	{SYS_poll, "poll", POLLED}, {SYS_epoll_wait, "epoll_wait", FOR_USER},
	{SYS_select, "select", FOR_USER}, {SYS_pause, "wait for a signal", FOR_USER},
	{SYS_open, "open", NOTHING},
#endif
};

static bool take_hex(const char **at, const char *end, uint64_t *value)
{
	const char *p = *at;

	while (p < end && *p == ' ')
		p++;
	if (end - p < 3 || p[0] != '0' || p[1] != 'x')
		return false;
	for (*value = 0, p += 2; p < end; p++) {
		uint32_t digit = *p >= '0' && *p <= '9' ? (uint32_t)(*p - '0')
				 : *p >= 'a' && *p <= 'f' ? (uint32_t)(*p - 'a' + 10) : 16;

		if (digit == 16)
			break;
		*value = *value << 4 | digit;
	}
	*at = p;
	return true;
}

void tp_hang_call_parse(const char *text, size_t n, struct tp_hang_call *call)
{
	const char *at = text, *end = text + n;

	memset(call, 0, sizeof(*call));
	call->number = -1;
	call->is_running = tp_begins(text, n, "running");
	call->is_known = n != 0;
	/* "-1 sp pc": in no call. */
	if (tp_begins(text, n, "-1")) {
		at += 2;
		if (take_hex(&at, end, &call->sp))
			take_hex(&at, end, &call->pc);
		return;
	}
	if (!n || *at < '0' || *at > '9')
		return;
	for (call->number = 0; at < end && *at >= '0' && *at <= '9' && call->number < 100000; at++)
		call->number = call->number * 10 + (*at - '0');
	for (uint32_t i = 0; i < 6; i++)
		if (!take_hex(&at, end, &call->argument[i]))
			return;
	if (take_hex(&at, end, &call->sp))
		take_hex(&at, end, &call->pc);
}

static uint32_t find_known(const struct tp_hang_call *call)
{
	uint32_t i = 0;

	while (i < sizeof(known) / sizeof(known[0]) && known[i].number != call->number)
		i++;
	return i;
}

bool tp_hang_call_is_for_user(const struct tp_hang_call *call)
{
	uint32_t i = find_known(call);

	if (i == sizeof(known) / sizeof(known[0]))
		return false;
	return known[i].of == FOR_USER || (call->number == SYS_read && call->argument[0] == 0);
}

/* A socket's other end is more use than its number. */
static bool put_peer(int fd, struct tp_text *out)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
		struct sockaddr_storage whole;
	} address;
	socklen_t n = sizeof(address);
	char text[INET6_ADDRSTRLEN];

	if (getpeername(fd, &address.any, &n))
		return false;
	if (address.any.sa_family == AF_INET &&
	    inet_ntop(AF_INET, &address.v4.sin_addr, text, sizeof(text)))
		tp_text_fmt(out, "%s:%u", text, ntohs(address.v4.sin_port));
	else if (address.any.sa_family == AF_INET6 &&
		 inet_ntop(AF_INET6, &address.v6.sin6_addr, text, sizeof(text)))
		tp_text_fmt(out, "[%s]:%u", text, ntohs(address.v6.sin6_port));
	else
		return false;
	return true;
}

static void put_descriptor(int fd, struct tp_text *out)
{
	char path[64], target[160];
	struct tp_text name;
	ssize_t n;

	tp_text_init(&name, path, sizeof(path));
	tp_text_fmt(&name, "/proc/self/fd/%d", fd);
	n = readlink(path, target, sizeof(target));
	if (n <= 0)
		return;
	tp_text_str(out, " of ");
	if (tp_begins(target, (size_t)n, "socket:") && put_peer(fd, out))
		return;
	tp_text_bytes(out, target, (size_t)n);
}

/* The first that is waited for. */
static void put_polled(const struct tp_hang_call *call, struct tp_text *out)
{
	struct pollfd first;

	if (call->argument[1] &&
	    tp_peek((const void *)(uintptr_t)call->argument[0], &first, sizeof(first)) == sizeof(first))
		put_descriptor(first.fd, out);
}

void tp_hang_call_say(const struct tp_hang_call *call, struct tp_text *out)
{
	uint32_t i = find_known(call);

	if (!call->is_known)
		return;
	if (call->number < 0) {
		tp_text_str(out, call->is_running ? "runs" : "waits for a page of memory");
		return;
	}
	tp_text_str(out, "waits in ");
	if (i == sizeof(known) / sizeof(known[0])) {
		tp_text_fmt(out, "system call %d", call->number);
		return;
	}
	tp_text_str(out, known[i].name);
	if (known[i].of == DESCRIPTOR)
		put_descriptor((int)call->argument[0], out);
	else if (known[i].of == POLLED)
		put_polled(call, out);
}
