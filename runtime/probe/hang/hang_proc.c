/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hang_proc.c - reads /proc/self/task, and the processes that stand in its "children"
 */
#include "runtime/probe/hang/hang_proc.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/begins.h"
#include "runtime/base/file.h"
#include "runtime/base/open.h"
#include "runtime/base/own_table.h"

enum {
	TEXT = 4096,
	MOST_CHILDREN = 256,	/* processes that are looked at */
};

static ssize_t read_of(const char *of, uint32_t number, const char *name, char *text, size_t cap)
{
	char path[96];
	struct tp_text out;

	tp_text_init(&out, path, sizeof(path));
	tp_text_fmt(&out, "/proc/%s%u/%s", of, number, name);
	return tp_file_read(path, text, cap);
}

/* Numbers of the threads of this process, or of process `pid`; returns how many. */
static uint32_t list_threads(uint32_t pid, uint32_t *tid, uint32_t most)
{
	char entries[TEXT] __attribute__((aligned(16))), path[64] = "/proc/self/task";
	struct tp_text out;
	uint32_t n_found = 0;
	ssize_t n;
	int fd;

	if (pid) {
		tp_text_init(&out, path, sizeof(path));
		tp_text_fmt(&out, "/proc/%u/task", pid);
	}
	fd = tp_file_open(path, O_RDONLY | O_DIRECTORY, 0);
	while (fd >= 0 && (n = syscall(SYS_getdents64, fd, entries, sizeof(entries))) > 0) {
		for (ssize_t at = 0; at < n;) {
			const struct dirent64 *entry = (const void *)(entries + at);
			uint64_t number;

			at += entry->d_reclen;
			if (n_found < most && !tp_text_parse_u64(entry->d_name, &number))
				tid[n_found++] = (uint32_t)number;
		}
	}
	if (fd >= 0)
		close(fd);
	return n_found;
}

static void read_call(uint32_t tid, struct tp_hang_call *call)
{
	char text[256];
	ssize_t n = read_of("self/task/", tid, "syscall", text, sizeof(text));

	tp_hang_call_parse(text, n > 0 ? (size_t)n : 0, call);
}

/* ---- threads ---- */

struct listing {
	struct tp_hang_thread *thread;
	uint32_t n;
};

static int list_all(void *arg)
{
	struct listing *listing = arg;
	static uint32_t tid[TP_HANG_THREADS];
	uint32_t n = list_threads(0, tid, TP_HANG_THREADS);

	for (uint32_t i = 0; i < n; i++) {
		struct tp_hang_thread *thread = &listing->thread[listing->n];
		ssize_t n_name;

		memset(thread, 0, sizeof(*thread));
		thread->tid = tid[i];
		n_name = read_of("self/task/", tid[i], "comm", thread->name, sizeof(thread->name));
		thread->name[n_name > 0 ? n_name - 1 : 0] = '\0';
		if (tp_begins(thread->name, strlen(thread->name), "trainprof"))
			continue;
		read_call(tid[i], &thread->call);
		listing->n++;
	}
	return 0;
}

uint32_t tp_hang_proc_threads(struct tp_hang_thread thread[TP_HANG_THREADS])
{
	struct listing listing = {thread, 0};

	tp_own_table_call(list_all, &listing);
	return listing.n;
}

/* ---- usage ---- */

struct asked {
	uint32_t tid;
	struct tp_hang_usage *usage;
};

/* The number behind `key` in lines of "key: number". */
static uint64_t find_number(const char *text, const char *key)
{
	const char *at = strstr(text, key);
	uint64_t value = 0;

	if (!at)
		return 0;
	for (at += strlen(key); *at == ' ' || *at == '\t'; at++)
		;
	for (; *at >= '0' && *at <= '9'; at++)
		value = value * 10 + (uint64_t)(*at - '0');
	return value;
}

/* utime and stime of a /proc/PID/stat, fields 14 and 15, in ns. */
static uint64_t parse_cpu(const char *stat)
{
	const char *at = strrchr(stat, ')');
	uint64_t ticks = 0, value;
	uint32_t field = 2;

	for (; at && *at && field < 15; at++) {
		if (*at != ' ' || ++field < 14)
			continue;
		for (value = 0; at[1] >= '0' && at[1] <= '9'; at++)
			value = value * 10 + (uint64_t)(at[1] - '0');
		ticks += value;
	}
	return ticks * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));
}

/* Children of process `pid` (0: ours), appended. */
static uint32_t add_children(uint32_t pid, uint32_t *child, uint32_t n)
{
	static uint32_t tid[TP_HANG_THREADS];
	uint32_t n_threads = list_threads(pid, tid, TP_HANG_THREADS);
	char text[TEXT];

	for (uint32_t i = 0; i < n_threads; i++) {
		char of[32] = "self/task/";
		struct tp_text out;
		uint32_t number = 0;
		ssize_t n_text;

		tp_text_init(&out, of, sizeof(of));
		if (pid)
			tp_text_fmt(&out, "%u/task/", pid);
		else
			tp_text_str(&out, "self/task/");
		n_text = read_of(of, tid[i], "children", text, sizeof(text));
		for (ssize_t k = 0; k < n_text && n < MOST_CHILDREN; k++) {
			if (text[k] >= '0' && text[k] <= '9') {
				number = number * 10 + (uint32_t)(text[k] - '0');
			} else if (number) {
				child[n++] = number;
				number = 0;
			}
		}
	}
	return n;
}

/* The second number of a schedstat: ready, and no core was free. */
static uint64_t read_delay(const char *of, uint32_t number)
{
	char text[128];
	ssize_t n = read_of(of, number, "schedstat", text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = '\0';
	return find_number(text, " ");
}

static void add_usage_of_children(struct tp_hang_usage *usage)
{
	static uint32_t child[MOST_CHILDREN];
	uint32_t n = add_children(0, child, 0);
	char text[1024];

	for (uint32_t i = 0; i < n; i++) {
		ssize_t n_text = read_of("", child[i], "stat", text, sizeof(text) - 1);

		if (n_text <= 0)
			continue;
		text[n_text] = '\0';
		usage->cpu_ns += parse_cpu(text);
		usage->delay_ns += read_delay("", child[i]);
		n = add_children(child[i], child, n);
	}
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	return clock_gettime(clock, &ts) ? 0
		: (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static int ask_usage(void *arg)
{
	const struct asked *asked = arg;
	struct tp_hang_usage *usage = asked->usage;
	char text[TEXT];
	ssize_t n;

	add_usage_of_children(usage);
	usage->delay_ns += read_delay("self/task/", asked->tid);
	n = tp_file_read("/proc/self/io", text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	usage->io_bytes = find_number(text, "rchar:") + find_number(text, "wchar:");
	n = read_of("self/task/", asked->tid, "status", text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	usage->switches = find_number(text, "\nvoluntary_ctxt_switches:");
	usage->is_traced = find_number(text, "TracerPid:") != 0;
	read_call(asked->tid, &usage->call);
	return 0;
}

void tp_hang_proc_usage(uint32_t tid, struct tp_hang_usage *usage)
{
	struct asked asked = {tid, usage};

	memset(usage, 0, sizeof(*usage));
	tp_own_table_call(ask_usage, &asked);
	usage->cpu_ns += clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	usage->cpu_ns -= clock_ns(CLOCK_THREAD_CPUTIME_ID);
	usage->cpu_ns -= tp_own_table_cpu_ns();
}
