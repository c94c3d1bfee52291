/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host.c - samples of the machine and the process, as COUNTER records
 *
 * Drain thread only. Rates are differences between two samples by the monotonic clock; in
 * warm-up samples are taken as a base and not recorded. A source that fails is switched off
 * alone, once. Units are written as they are: bytes are bytes, percent is of one core for the
 * process and of the whole for the machine.
 */
#include "runtime/probe/host.h"

#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/base/text.h"
#include "runtime/engine/config.h"
#include "runtime/engine/ring.h"
#include "runtime/probe/host_counter.h"
#include "runtime/probe/host_file.h"
#include "runtime/probe/host_flows.h"
#include "runtime/probe/host_parse.h"

enum {
	MOST_CORES = CPU_SETSIZE,
	MOST_SHOWN_CORES = 64,	/* more: least and most, which is what one looks for anyway */
	TEXT_BYTES = 128 << 10,	/* /proc/stat of 1,024 cores has 100 KB before the interrupts */
	/* The kernel counts cores in steps of 10 ms: shorter samples would show only steps. */
	CORES_LEAST_NS = 100 * 1000 * 1000,
	PAUSE_PERIODS = 10,	/* without a sample: what came before is no base for a rate */
};

enum source { STAT, STATM, MEMINFO, DISKS, NETWORK, N_SOURCES };

static struct {
	struct tp_host_file file;
	const char *feature;
	bool is_off;
} source[N_SOURCES] = {
	[STAT] = { { "/proc/stat", { -1, 0, 0 } }, "host.cores", false },
	[STATM] = { { "/proc/self/statm", { -1, 0, 0 } }, "host.memory", false },
	[MEMINFO] = { { "/proc/meminfo", { -1, 0, 0 } }, "host.system_memory", false },
	[DISKS] = { { "/proc/diskstats", { -1, 0, 0 } }, "host.disk", false },
	[NETWORK] = { { "/proc/self/net/dev", { -1, 0, 0 } }, "host.network", false },
};

enum value {
	PROCESS_CPU, PROCESS_SYSTEM, MACHINE_CPU, CORE_LEAST, CORE_MOST,
	RSS, SHARED, VIRTUAL, AVAILABLE, USED, SWAP, N_VALUES
};

static const struct {
	const char *name, *unit, *group;
} value_text[N_VALUES] = {
	[PROCESS_CPU] = { "process CPU", "%", "cpu" },
	[PROCESS_SYSTEM] = { "process system CPU", "%", "cpu" },
	[MACHINE_CPU] = { "machine CPU", "%", "cpu" },
	[CORE_LEAST] = { "core min", "%", "cpu" },
	[CORE_MOST] = { "core max", "%", "cpu" },
	[RSS] = { "RSS", "B", "memory" },
	[SHARED] = { "shared", "B", "memory" },
	[VIRTUAL] = { "virtual", "B", "memory" },
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
		host.core_name = tp_host_counter_name("", "core", "%", "cpu");
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

static void sample(uint64_t now)
{
	uint64_t mono_ns;

	if (!host.is_on || !tp_ring.head)
		return;
	if (host.generation != tp_ring.generation) {
		forget_names();
		host.generation = tp_ring.generation;
	}
	mono_ns = tp_clock_mono_ns();
	if (mono_ns - host.mono_ns > PAUSE_PERIODS * host.period_ms * 1000000ull)
		forget_bases();
	host.mono_ns = mono_ns;
	host.now = now;
	sample_process();
	for (int i = 0; i < N_SOURCES; i++) {
		ssize_t n;

		if (source[i].is_off)
			continue;
		n = tp_host_file_read(&source[i].file, host.text, sizeof(host.text));
		if (n < 0)
			switch_off(i, strerror((int)-n));
		else if (!sample_source[i](host.text, (size_t)n))
			switch_off(i, "not what this version knows");
	}
}

/* ---- the probe ---- */

static int open_host(const struct tp_config *config)
{
	host.is_on = config->record & TP_RECORD_HOST;
	host.period_ms = (uint32_t)config->host_period_ms;
	return 0;
}

static uint32_t get_period_ms(void)
{
	return host.is_on ? host.period_ms : 0;
}

static void warm_host(void)
{
	sample(tp_clock_now());
}

/* Another process's /proc/self stands behind the descriptors: they are of no use here. */
static void forget_parent(void)
{
	for (int i = 0; i < N_SOURCES; i++)
		tp_own_fd_close(&source[i].file.own);
	forget_bases();
	host.is_usable_known = false;
}

const struct tp_probe tp_host_probe = {
	.name = "host",
	.open = open_host,
	.warm = warm_host,
	.period_ms = get_period_ms,
	.tick = sample,
	.forked = forget_parent,
};
