/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host.c - samples of the machine and the process, as COUNTER records
 *
 * Drain thread only. Rates are differences between two samples by the monotonic clock; in
 * warm-up samples are taken as a base and not recorded. A source that fails is switched off
 * alone, once. Units are written as they are: bytes are bytes, percent is of one core for the
 * process and of the whole for the machine.
 */
#include "runtime/probe/host/host.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/base/own_table.h"
#include "runtime/base/text.h"
#include "runtime/base/thread.h"
#include "runtime/engine/config/config.h"
#include "runtime/engine/range_memory.h"
#include "runtime/engine/ring/ring.h"
#include "runtime/probe/host/host_counter.h"
#include "runtime/probe/host/host_crowd.h"
#include "runtime/probe/host/host_file.h"
#include "runtime/probe/host/host_flows.h"
#include "runtime/probe/host/host_parse.h"
#include "runtime/probe/host/host_threads.h"
#include "runtime/trace/counter_names.h"

enum {
	MOST_CORES = CPU_SETSIZE,
	MOST_SHOWN_CORES = 64,	/* more: least and most, which is what one looks for anyway */
	TEXT_BYTES = 128 << 10,	/* /proc/stat of 1,024 cores has 100 KB before the interrupts */
	/* The kernel counts cores in steps of 10 ms: shorter samples would show only steps. */
	CORES_LEAST_NS = 100 * 1000 * 1000,
	/* The kernel looks at each page: 20 ms of 430 MB were measured on a virtual machine,
	 * and whoever maps or unmaps meanwhile may wait. */
	ROLLUP_LEAST_NS = 1000 * 1000 * 1000,
	ROLLUP_PAUSE = 200,	/* times what the last one took */
	ROLLUP_MOST_NS = 250 * 1000 * 1000,	/* one that takes longer is the last */
	PAUSE_PERIODS = 10,	/* without a sample: what came before is no base for a rate */
};

enum source { STAT, STATM, MEMINFO, DISKS, NETWORK, ROLLUP, N_SOURCES };

static struct {
	struct tp_host_file file;
	const char *feature;
	bool is_off;
} source[N_SOURCES] = {
	[STAT] = { { "/proc/stat", { .fd = -1 } }, "host.cores", false },
	[STATM] = { { "/proc/self/statm", { .fd = -1 } }, "host.memory", false },
	[MEMINFO] = { { "/proc/meminfo", { .fd = -1 } }, "host.system_memory", false },
	[DISKS] = { { "/proc/diskstats", { .fd = -1 } }, "host.disk", false },
	[NETWORK] = { { "/proc/self/net/dev", { .fd = -1 } }, "host.network", false },
	[ROLLUP] = { { "/proc/self/smaps_rollup", { .fd = -1 } }, "host.pss", false },
};

enum value {
	PROCESS_CPU, PROCESS_SYSTEM, MACHINE_CPU, CORE_LEAST, CORE_MOST,
	RSS, SHARED, VIRTUAL, PSS, PRIVATE, PSS_ANONYMOUS, PSS_FILE, PSS_SHMEM,
	AVAILABLE, USED, SWAP, N_VALUES
};

static const struct {
	const char *name, *unit, *group;
} value_text[N_VALUES] = {
	[PROCESS_CPU] = { "process CPU", "%", "cpu" },
	[PROCESS_SYSTEM] = { "process system CPU", "%", "cpu" },
	[MACHINE_CPU] = { TP_COUNTER_MACHINE_CPU, "%", "cpu" },
	[CORE_LEAST] = { "core min", "%", "cpu" },
	[CORE_MOST] = { "core max", "%", "cpu" },
	[RSS] = { TP_COUNTER_RSS, "B", "memory" },
	[SHARED] = { TP_COUNTER_SHARED, "B", "memory" },
	[VIRTUAL] = { TP_COUNTER_VIRTUAL, "B", "memory" },
	[PSS] = { TP_COUNTER_PSS, "B", "memory" },
	[PRIVATE] = { TP_COUNTER_PRIVATE, "B", "memory" },
	[PSS_ANONYMOUS] = { "PSS anonymous", "B", "memory" },
	[PSS_FILE] = { "PSS file", "B", "memory" },
	[PSS_SHMEM] = { "PSS shmem", "B", "memory" },
	[AVAILABLE] = { "memory available", "B", "system" },
	[USED] = { "memory used", "B", "system" },
	[SWAP] = { "swap used", "B", "system" },
};

static struct {
	bool is_on;
	uint32_t period_ms;
	uint32_t generation;	/* of the ring that the names were interned in */
	uint64_t now, mono_ns;	/* of this sample */

	struct tp_host_counter value[N_VALUES];
	struct tp_host_counter core_counter[MOST_CORES];
	uint32_t core_name;
	struct tp_host_core machine, core[MOST_CORES];	/* base of the rates */
	uint64_t core_base_ns, process_base_ns;
	int64_t process_us, process_system_us;
	bool has_rest;		/* not only the process's memory */
	bool has_rollup;
	uint32_t rollup_window;	/* that the last one was taken in */
	uint64_t rollup_due_ns;
	cpu_set_t usable;
	bool is_usable_known;

	struct tp_host_flows disks, interfaces;
	char text[TEXT_BYTES];
} host;

static void record_value(enum value which, int64_t value)
{
	struct tp_host_counter *counter = &host.value[which];

	if (!counter->name)
		counter->name = tp_host_counter_name("", value_text[which].name,
						     value_text[which].unit,
						     value_text[which].group);
	tp_host_counter_record(counter, host.now, 0, value);
}

static int64_t percent(uint64_t part, uint64_t whole)
{
	return whole ? (int64_t)((part * 100 + whole / 2) / whole) : 0;
}

/* ---- one function a source: reads, compares with its base, records ---- */

static int64_t microseconds(const struct timeval *t)
{
	return (int64_t)t->tv_sec * 1000000 + t->tv_usec;
}

static void sample_process(void)
{
	uint64_t ns = host.mono_ns - host.process_base_ns;
	struct rusage used;
	int64_t system_us, us;

	if (getrusage(RUSAGE_SELF, &used) < 0)
		return;
	system_us = microseconds(&used.ru_stime);
	us = microseconds(&used.ru_utime) + system_us;
	if (host.process_base_ns && us >= host.process_us && system_us >= host.process_system_us) {
		record_value(PROCESS_CPU, percent((uint64_t)(us - host.process_us) * 1000, ns));
		record_value(PROCESS_SYSTEM,
			     percent((uint64_t)(system_us - host.process_system_us) * 1000, ns));
	}
	host.process_base_ns = host.mono_ns;
	host.process_us = us;
	host.process_system_us = system_us;
}

/* The cores that the process may use; all when the kernel does not say. */
static void find_usable_cores(void)
{
	if (sched_getaffinity(getpid(), sizeof(host.usable), &host.usable) < 0) {
		for (int i = 0; i < MOST_CORES; i++)
			CPU_SET(i, &host.usable);
	}
	host.is_usable_known = true;
}

static void record_cores(const struct tp_host_core *core, uint32_t n)
{
	bool is_each = CPU_COUNT(&host.usable) <= MOST_SHOWN_CORES || n <= MOST_SHOWN_CORES;
	int64_t least = 100, most = 0, busy;

	if (!host.core_name)
		host.core_name = tp_host_counter_name("", TP_COUNTER_CORE, "%", "cpu");
	for (uint32_t i = 0; i < n; i++) {
		if (!CPU_ISSET(i, &host.usable) || core[i].all <= host.core[i].all ||
		    core[i].busy < host.core[i].busy)
			continue;
		busy = percent(core[i].busy - host.core[i].busy, core[i].all - host.core[i].all);
		host.core_counter[i].name = host.core_name;
		if (is_each)
			tp_host_counter_record(&host.core_counter[i], host.now, i, busy);
		least = busy < least ? busy : least;
		most = busy > most ? busy : most;
	}
	if (!is_each) {
		record_value(CORE_LEAST, least);
		record_value(CORE_MOST, most);
	}
}

static bool sample_cores(const char *text, size_t n)
{
	static struct tp_host_core core[MOST_CORES];
	struct tp_host_core machine = { 0, 0 };
	uint32_t n_cores;

	if (host.core_base_ns && host.mono_ns - host.core_base_ns < CORES_LEAST_NS)
		return true;
	n_cores = tp_host_parse_stat(text, n, &machine, core, MOST_CORES);
	if (!n_cores)
		return false;
	if (n_cores > MOST_CORES)
		n_cores = MOST_CORES;
	if (!host.is_usable_known)
		find_usable_cores();
	if (host.core_base_ns) {
		if (machine.all > host.machine.all && machine.busy >= host.machine.busy)
			record_value(MACHINE_CPU, percent(machine.busy - host.machine.busy,
							  machine.all - host.machine.all));
		record_cores(core, n_cores);
	}
	host.machine = machine;
	memcpy(host.core, core, n_cores * sizeof(core[0]));
	host.core_base_ns = host.mono_ns;
	return true;
}

static bool sample_statm(const char *text, size_t n)
{
	int64_t page = sysconf(_SC_PAGESIZE);
	struct tp_host_statm statm;

	if (!tp_host_parse_statm(text, n, &statm))
		return false;
	record_value(RSS, (int64_t)statm.resident * page);
	record_value(SHARED, (int64_t)statm.shared * page);
	record_value(VIRTUAL, (int64_t)statm.virtual * page);
	return true;
}

static bool sample_rollup(const char *text, size_t n)
{
	struct tp_host_rollup rollup;

	if (!tp_host_parse_rollup(text, n, &rollup))
		return false;
	record_value(PSS, (int64_t)rollup.pss);
	record_value(PRIVATE, (int64_t)rollup.private);
	if (rollup.has_sorts) {
		record_value(PSS_ANONYMOUS, (int64_t)rollup.pss_anonymous);
		record_value(PSS_FILE, (int64_t)rollup.pss_file);
		record_value(PSS_SHMEM, (int64_t)rollup.pss_shmem);
	}
	return true;
}

static bool sample_meminfo(const char *text, size_t n)
{
	struct tp_host_meminfo info;

	if (!tp_host_parse_meminfo(text, n, &info))
		return false;
	record_value(AVAILABLE, (int64_t)info.available);
	record_value(USED, (int64_t)(info.total - info.available));
	record_value(SWAP, (int64_t)info.swap_used);
	return true;
}

static bool sample_disks(const char *text, size_t n)
{
	/* A machine without disks or network is no failure. */
	tp_host_flows_sample(&host.disks, text, n, true, host.now, host.mono_ns);
	return true;
}

static bool sample_network(const char *text, size_t n)
{
	tp_host_flows_sample(&host.interfaces, text, n, false, host.now, host.mono_ns);
	return true;
}

static bool (*const sample_source[N_SOURCES])(const char *text, size_t n) = {
	[STAT] = sample_cores,
	[STATM] = sample_statm,
	[MEMINFO] = sample_meminfo,
	[DISKS] = sample_disks,
	[NETWORK] = sample_network,
	[ROLLUP] = sample_rollup,
};

static void switch_off(enum source which, const char *why)
{
	char buf[160];
	struct tp_text text;

	source[which].is_off = true;
	tp_own_fd_close(&source[which].file.own);
	tp_text_init(&text, buf, sizeof(buf));
	tp_text_fmt(&text, "cannot read '%s': %s", source[which].file.path, why);
	tp_probe_off(source[which].feature, buf);
}

static void forget_names(void)
{
	for (int i = 0; i < N_VALUES; i++)
		host.value[i].name = 0;
	host.core_name = 0;
	for (int i = 0; i < MOST_CORES; i++)
		host.core_counter[i].name = 0;
	tp_host_flows_forget_names(&host.disks);
	tp_host_flows_forget_names(&host.interfaces);
}

/* A rate over the pause between two windows says nothing about either. */
static void forget_bases(void)
{
	host.process_base_ns = 0;
	host.core_base_ns = 0;
	host.disks.base_ns = 0;
	host.interfaces.base_ns = 0;
}

/* Costly: only in active steps, where it is recorded. */
static bool is_rollup_due(void)
{
	uint32_t window = __atomic_load_n(&tp_ring.head->windows_begun, __ATOMIC_RELAXED);

	if (!host.has_rollup ||
	    __atomic_load_n(&tp_ring.head->phase, __ATOMIC_RELAXED) != TP_PHASE_ACTIVE ||
	    (window == host.rollup_window && host.mono_ns < host.rollup_due_ns))
		return false;
	host.rollup_window = window;
	return true;
}

static void read_source(enum source which)
{
	ssize_t n = tp_host_file_read(&source[which].file, host.text, sizeof(host.text));

	if (n < 0)
		switch_off(which, strerror((int)-n));
	else if (!sample_source[which](host.text, (size_t)n))
		switch_off(which, "not what this version knows");
}

/* What our threads have cost; not how long they had to wait for a processor. */
static uint64_t cpu_ns(void)
{
	return tp_thread_cpu_ns() + tp_own_table_cpu_ns();
}

static void read_rollup(void)
{
	uint64_t ns = cpu_ns(), pause_ns;

	read_source(ROLLUP);
	ns = cpu_ns() - ns;
	pause_ns = ns * ROLLUP_PAUSE;
	if (pause_ns < ROLLUP_LEAST_NS)
		pause_ns = ROLLUP_LEAST_NS;
	host.rollup_due_ns = host.mono_ns + pause_ns;
	if (ns > ROLLUP_MOST_NS && !source[ROLLUP].is_off)
		switch_off(ROLLUP, "it takes too long");
}

/* False: there is no session, or nothing is to be sampled. */
static bool begin_sample(uint64_t now)
{
	if (!host.is_on || !tp_ring.head)
		return false;
	if (host.generation != tp_ring.generation) {
		forget_names();
		host.generation = tp_ring.generation;
	}
	host.now = now;
	return true;
}

static void sample(uint64_t now)
{
	uint64_t mono_ns;

	if (!begin_sample(now))
		return;
	mono_ns = tp_clock_mono_ns();
	if (mono_ns - host.mono_ns > PAUSE_PERIODS * host.period_ms * 1000000ull)
		forget_bases();
	host.mono_ns = mono_ns;
	if (host.has_rest)
		sample_process();
	for (int i = 0; i < N_SOURCES; i++) {
		if (!source[i].is_off && i != ROLLUP && (host.has_rest || i == STATM))
			read_source(i);
	}
	if (!source[ROLLUP].is_off && is_rollup_due())
		read_rollup();
}

/* A range of TRAINPROF_MEMORY_AT started or ended: RSS and VMS are recorded also where they are as before, so
 * that the sample nearest to it is known. */
static void sample_range(uint64_t mono_ns)
{
	static const enum value of_range[] = { RSS, SHARED, VIRTUAL };

	if (!tp_range_memory_is_due())
		return;
	if (!source[STATM].is_off && begin_sample(tp_clock_now())) {
		for (size_t i = 0; i < sizeof(of_range) / sizeof(of_range[0]); i++)
			tp_host_counter_want(&host.value[of_range[i]]);
		read_source(STATM);
	}
	tp_range_memory_done();
}

/* ---- the probe ---- */

static int open_host(const struct tp_config *config)
{
	/* What a program allocates is read beside what it occupies. */
	host.is_on = config->record & (TP_RECORD_HOST | TP_RECORD_HEAP);
	host.has_rest = config->record & TP_RECORD_HOST;
	host.has_rollup = config->record & TP_RECORD_HEAP;
	host.period_ms = (uint32_t)config->host_period_ms;
	if (host.has_rest)
		tp_host_crowd_begin();
	tp_range_memory_open(host.is_on ? config->memory_at : "");
	return 0;
}

static uint32_t get_period_ms(void)
{
	return host.is_on ? host.period_ms : 0;
}

static void warm_host(void)
{
	sample(tp_clock_now());
	if (host.has_rest)
		tp_host_threads_begin();
}

static void report_host(struct tp_text *totals)
{
	if (host.has_rest)
		tp_host_threads_report(totals);
}

/* Another process's /proc/self stands behind the descriptors: they are of no use here. */
static void forget_parent(void)
{
	for (int i = 0; i < N_SOURCES; i++)
		tp_own_fd_close(&source[i].file.own);
	forget_bases();
	tp_host_threads_forked();
	tp_host_crowd_forked();
	host.is_usable_known = false;
}

const struct tp_probe tp_host_probe = {
	.name = "host",
	.open = open_host,
	.warm = warm_host,
	.period_ms = get_period_ms,
	.tick = sample,
	.look = tp_host_crowd_look,
	.note = tp_host_crowd_note,
	.watch = sample_range,
	.is_urgent = tp_range_memory_is_due,
	.report = report_host,
	.forked = forget_parent,
};
