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
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/base/text.h"
#include "runtime/engine/config.h"
#include "runtime/engine/intern.h"
#include "runtime/engine/ring.h"
#include "runtime/probe/host_file.h"
#include "runtime/probe/host_parse.h"

enum {
	MOST_CORES = CPU_SETSIZE,
	MOST_SHOWN_CORES = 64,	/* more: least and most, which is what one looks for anyway */
	MOST_FLOWS = 32,	/* of a kind; the first ones met */
	TEXT_BYTES = 128 << 10,	/* /proc/stat of 1,024 cores has 100 KB before the interrupts */
	/* The kernel counts cores in steps of 10 ms: shorter samples would show only steps. */
	CORES_LEAST_NS = 100 * 1000 * 1000,
	PAUSE_PERIODS = 10,	/* without a sample: what came before is no base for a rate */
};

/* A counter and what was recorded of it last. */
struct counter {
	uint32_t name;		/* interned; 0: not yet */
	uint32_t said_in;	/* stretch() at that time */
	int64_t last;
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

/* A disk or an interface. */
struct flow {
	char name[32];
	bool is_left_out;	/* part of another one, or not a device */
	bool is_shown;		/* moved a byte since the session began */
	uint64_t in, out;
	struct counter in_counter, out_counter;
};

struct flows {
	struct flow flow[MOST_FLOWS];
	uint32_t n;
	uint64_t base_ns;	/* of in and out; 0: none */
};

static struct {
	bool is_on;
	uint32_t period_ms;
	uint32_t generation;	/* of the ring that the names were interned in */
	uint64_t now, mono_ns;	/* of this sample */

	struct counter value[N_VALUES];
	struct counter core_counter[MOST_CORES];
	uint32_t core_name;
	struct tp_host_core machine, core[MOST_CORES];	/* base of the rates */
	uint64_t core_base_ns, process_base_ns;
	int64_t process_us, process_system_us;
	cpu_set_t usable;
	bool is_usable_known;

	struct flows disks, interfaces;
	char text[TEXT_BYTES];
} host;

/* Changes when all values have to be recorded again: a reader of a window sees what was
 * recorded in its active steps, and nothing from before. */
static uint32_t stretch(void)
{
	uint32_t windows = __atomic_load_n(&tp_ring.head->windows_begun, __ATOMIC_RELAXED);

	return windows * 8 + __atomic_load_n(&tp_ring.head->phase, __ATOMIC_RELAXED) + 1;
}

static bool is_recording(void)
{
	return __atomic_load_n(&tp_ring.head->phase, __ATOMIC_RELAXED) == TP_PHASE_ACTIVE;
}

static uint32_t intern_counter(const char *device, const char *name, const char *unit,
			       const char *group)
{
	char buf[128];
	struct tp_text text;

	tp_text_init(&text, buf, sizeof(buf));
	if (*device)
		tp_text_fmt(&text, "%s %s", device, name);
	else
		tp_text_str(&text, name);
	tp_text_char(&text, '\0');
	tp_text_str(&text, unit);
	tp_text_char(&text, '\0');
	tp_text_str(&text, group);
	return tp_intern(TP_STRING_COUNTER, buf, (uint32_t)text.len);
}

static void record(struct counter *counter, uint32_t link, int64_t value)
{
	uint32_t now_in = stretch();
	struct tp_rec *rec;

	if (!is_recording() || !counter->name ||
	    (counter->said_in == now_in && counter->last == value))
		return;
	rec = tp_ring_reserve();
	if (!rec)
		return;
	*rec = (struct tp_rec){
		.time = host.now,
		.kind = TP_REC_COUNTER,
		.name = counter->name,
		.link = link,
		.arg = (uint64_t)value,
	};
	tp_ring_commit();
	counter->said_in = now_in;
	counter->last = value;
}

static void record_value(enum value which, int64_t value)
{
	struct counter *counter = &host.value[which];

	if (!counter->name)
		counter->name = intern_counter("", value_text[which].name, value_text[which].unit,
					       value_text[which].group);
	record(counter, 0, value);
}

static int64_t percent(uint64_t part, uint64_t whole)
{
	return whole ? (int64_t)((part * 100 + whole / 2) / whole) : 0;
}

/* Bytes a second; counters of the kernel may be reset, then this sample shows nothing. */
static int64_t rate(uint64_t from, uint64_t to, uint64_t ns)
{
	return to > from && ns ? (int64_t)((double)(to - from) * 1e9 / (double)ns) : 0;
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
		host.core_name = intern_counter("", "core", "%", "cpu");
	for (uint32_t i = 0; i < n; i++) {
		if (!CPU_ISSET(i, &host.usable) || core[i].all <= host.core[i].all ||
		    core[i].busy < host.core[i].busy)
			continue;
		busy = percent(core[i].busy - host.core[i].busy, core[i].all - host.core[i].all);
		host.core_counter[i].name = host.core_name;
		if (is_each)
			record(&host.core_counter[i], i, busy);
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

/* A partition repeats what its disk says, and so does a device mapped onto disks: whole disks
 * of hardware (or of the hypervisor) are the ones with a "device" below /sys/block. */
static bool is_whole_disk(const char *name)
{
	char path[128];
	struct tp_text text;

	tp_text_init(&text, path, sizeof(path));
	tp_text_fmt(&text, "/sys/block/%s/device", name);
	return !text.is_cut && !access(path, F_OK);
}

static struct flow *find_flow(struct flows *flows, const struct tp_host_flow *got, bool are_disks)
{
	struct flow *flow;

	if (got->n_name >= sizeof(flow->name))
		return NULL;
	for (uint32_t i = 0; i < flows->n; i++) {
		flow = &flows->flow[i];
		if (!memcmp(flow->name, got->name, got->n_name) && !flow->name[got->n_name])
			return flow;
	}
	/* Nothing went through it since boot: it does not cost a place. */
	if (flows->n == MOST_FLOWS || (!got->in && !got->out))
		return NULL;
	flow = &flows->flow[flows->n++];
	*flow = (struct flow){ .in = got->in, .out = got->out };
	memcpy(flow->name, got->name, got->n_name);
	flow->is_left_out = are_disks && !is_whole_disk(flow->name);
	return flow;
}

static void record_flow(struct flow *flow, uint32_t at, uint64_t in, uint64_t out, uint64_t ns,
			bool is_disk)
{
	const char *group = is_disk ? "disk" : "network";

	flow->is_shown |= in != flow->in || out != flow->out;
	if (!flow->is_shown)
		return;
	if (!flow->in_counter.name) {
		flow->in_counter.name =
			intern_counter(flow->name, is_disk ? "read" : "received", "B/s", group);
		flow->out_counter.name =
			intern_counter(flow->name, is_disk ? "write" : "sent", "B/s", group);
	}
	record(&flow->in_counter, at, rate(flow->in, in, ns));
	record(&flow->out_counter, at, rate(flow->out, out, ns));
}

static bool sample_flows(struct flows *flows, const char *text, size_t n, bool are_disks)
{
	bool (*next)(const char **, size_t *, struct tp_host_flow *) =
		are_disks ? tp_host_next_disk : tp_host_next_interface;
	uint64_t ns = host.mono_ns - flows->base_ns;
	struct tp_host_flow got;

	while (next(&text, &n, &got)) {
		struct flow *flow = find_flow(flows, &got, are_disks);

		if (!flow || flow->is_left_out)
			continue;
		if (flows->base_ns)
			record_flow(flow, (uint32_t)(flow - flows->flow), got.in, got.out, ns,
				    are_disks);
		flow->in = got.in;
		flow->out = got.out;
	}
	/* A machine without disks or network is no failure. */
	flows->base_ns = host.mono_ns;
	return true;
}

static bool sample_disks(const char *text, size_t n)
{
	return sample_flows(&host.disks, text, n, true);
}

static bool sample_network(const char *text, size_t n)
{
	return sample_flows(&host.interfaces, text, n, false);
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
	for (int i = 0; i < MOST_FLOWS; i++) {
		host.disks.flow[i].in_counter.name = 0;
		host.interfaces.flow[i].in_counter.name = 0;
	}
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
