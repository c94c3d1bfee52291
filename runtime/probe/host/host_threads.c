/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_threads.c - processor time of threads: see host_threads.h
 *
 * All files are read within one call of own_table.h: none is in the program's table.
 */
#include "runtime/probe/host/host_threads.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/base/file.h"
#include "runtime/base/own_table.h"

enum {
	THREADS_MOST = 2048,	/* of more, those that the kernel lists later have no figures */
	SHOWN = 16,		/* threads that are reported, those that ran or waited most */
	LEAST_PERCENT = 1,	/* of the time: who ran and waited less is not reported */
	NAME_BYTES = 16,
	TEXT_BYTES = 256,
};

struct thread {
	uint32_t tid;
	uint64_t cpu_ns, wait_ns;
	char name[NAME_BYTES];
};

struct list {
	struct thread thread[THREADS_MOST];
	uint32_t n;
};

static struct {
	struct list base, now;
	uint64_t base_ns;	/* by the monotonic clock; 0: there is no base */
	uint32_t cores;
} threads;

/* Digits, and what is not one behind them, from *at on. False: no digit. */
static bool take_number(const char *text, size_t n, size_t *at, uint64_t *value)
{
	size_t from = *at;

	*value = 0;
	while (*at < n && text[*at] >= '0' && text[*at] <= '9')
		*value = *value * 10 + (uint64_t)(text[(*at)++] - '0');
	if (*at == from)
		return false;
	++*at;
	return true;
}

bool tp_host_parse_schedstat(const char *text, size_t n, uint64_t *cpu_ns, uint64_t *wait_ns)
{
	size_t at = 0;

	return take_number(text, n, &at, cpu_ns) && take_number(text, n, &at, wait_ns) && at < n;
}

uint32_t tp_host_parse_cpu_max(const char *text, size_t n)
{
	uint64_t quota, period;
	size_t at = 0;

	if (!take_number(text, n, &at, &quota) || !take_number(text, n, &at, &period) || !period ||
	    quota / period >= UINT32_MAX)
		return 0;
	return (uint32_t)((quota + period - 1) / period);
}

/* Bytes, 0: it cannot be read. */
static size_t read_text(const char *path, char text[TEXT_BYTES])
{
	ssize_t n = tp_file_read(path, text, TEXT_BYTES - 1);

	return n > 0 ? (size_t)n : 0;
}

static const char *task_path(char path[64], uint32_t tid, const char *file)
{
	struct tp_text text;

	tp_text_init(&text, path, 64);
	tp_text_fmt(&text, "/proc/self/task/%u/%s", tid, file);
	return path;
}

bool tp_host_threads_schedstat(uint32_t tid, uint64_t *cpu_ns, uint64_t *wait_ns)
{
	char path[64], text[TEXT_BYTES];
	size_t n = read_text(task_path(path, tid, "schedstat"), text);

	return tp_host_parse_schedstat(text, n, cpu_ns, wait_ns);
}

static void read_thread(struct list *list, const char *entry)
{
	struct thread *thread = &list->thread[list->n];
	char path[64], text[TEXT_BYTES];
	uint64_t tid;
	size_t n;

	if (list->n == THREADS_MOST || tp_text_parse_u64(entry, &tid))
		return;
	thread->tid = (uint32_t)tid;
	if (!tp_host_threads_schedstat(thread->tid, &thread->cpu_ns, &thread->wait_ns))
		return;
	n = read_text(task_path(path, thread->tid, "comm"), text);
	if (n >= NAME_BYTES)
		n = NAME_BYTES - 1;
	while (n && text[n - 1] == '\n')
		n--;
	memcpy(thread->name, text, n);
	thread->name[n] = '\0';
	if (strncmp(thread->name, "trainprof", 9))
		list->n++;
}

static int read_list(void *arg)
{
	char entries[4096] __attribute__((aligned(16)));
	int dir = tp_file_open("/proc/self/task", O_RDONLY | O_DIRECTORY, 0);
	struct list *list = arg;
	ssize_t n;

	list->n = 0;
	if (dir < 0)
		return 0;
	while ((n = syscall(SYS_getdents64, dir, entries, sizeof(entries))) > 0) {
		for (ssize_t at = 0; at < n;) {
			const struct dirent64 *entry = (const void *)(entries + at);

			at += entry->d_reclen;
			read_thread(list, entry->d_name);
		}
	}
	close(dir);
	return 0;
}

/* Cores that the process may use: its affinity, and the limit of its group as a container sees it. */
static int read_cores(void *arg)
{
	uint32_t *cores = arg, limit;
	char text[TEXT_BYTES];
	cpu_set_t usable;
	size_t n;

	*cores = 0;
	if (!sched_getaffinity(getpid(), sizeof(usable), &usable))
		*cores = (uint32_t)CPU_COUNT(&usable);
	n = read_text("/sys/fs/cgroup/cpu.max", text);
	limit = tp_host_parse_cpu_max(text, n);
	if (limit && (!*cores || limit < *cores))
		*cores = limit;
	return 0;
}

void tp_host_threads_begin(void)
{
	tp_own_table_call(read_cores, &threads.cores);
	tp_own_table_call(read_list, &threads.base);
	threads.base_ns = tp_clock_mono_ns();
}

/* Both lists are in the kernel's order, by number; one that was used again begins anew. */
static void subtract_base(struct thread *thread)
{
	for (uint32_t i = 0; i < threads.base.n; i++) {
		const struct thread *base = &threads.base.thread[i];

		if (base->tid != thread->tid || base->cpu_ns > thread->cpu_ns ||
		    base->wait_ns > thread->wait_ns)
			continue;
		thread->cpu_ns -= base->cpu_ns;
		thread->wait_ns -= base->wait_ns;
		return;
	}
}

/* Of those not reported yet, who ran and waited most; NULL: nobody as much as that. */
static struct thread *find_most(struct list *list, uint64_t least_ns)
{
	struct thread *most = NULL;

	for (uint32_t i = 0; i < list->n; i++) {
		struct thread *thread = &list->thread[i];
		uint64_t ns = thread->cpu_ns + thread->wait_ns;

		if (thread->tid && ns >= least_ns && (!most || ns > most->cpu_ns + most->wait_ns))
			most = thread;
	}
	return most;
}

void tp_host_threads_report(struct tp_text *totals)
{
	uint64_t wall_ns, cpu_ns = 0, wait_ns = 0;
	struct thread *thread;

	if (!threads.base_ns || !threads.base.n)
		return;
	tp_own_table_call(read_list, &threads.now);
	wall_ns = tp_clock_mono_ns() - threads.base_ns;
	for (uint32_t i = 0; i < threads.now.n; i++) {
		subtract_base(&threads.now.thread[i]);
		cpu_ns += threads.now.thread[i].cpu_ns;
		wait_ns += threads.now.thread[i].wait_ns;
	}
	tp_text_fmt(totals, "threads.wall=%lu\nthreads.cores=%u\nthreads.cpu=%lu\nthreads.wait=%lu\n",
		    wall_ns, threads.cores, cpu_ns, wait_ns);
	for (int i = 0; i < SHOWN; i++) {
		thread = find_most(&threads.now, wall_ns / 100 * LEAST_PERCENT + 1);
		if (!thread)
			return;
		tp_text_fmt(totals, "thread.%u=%lu %lu %s\n", thread->tid, thread->cpu_ns, thread->wait_ns,
			    thread->name);
		thread->tid = 0;
	}
}

void tp_host_threads_forked(void)
{
	threads.base_ns = 0;
}
