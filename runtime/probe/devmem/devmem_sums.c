/* SPDX-License-Identifier: Apache-2.0 */
/*
 * devmem_sums.c - sums of device memory as counters, and what they leave unexplained
 */
#include "runtime/probe/devmem/devmem_sums.h"

#include <string.h>

#include "runtime/base/clock.h"
#include "runtime/base/sync.h"
#include "runtime/base/text.h"
#include "runtime/engine/config/config.h"
#include "runtime/engine/ring/ring.h"
#include "runtime/probe/devmem/devmem.h"
#include "runtime/probe/devmem/devmem_live.h"
#include "runtime/probe/host/nvml.h"
#include "runtime/probe/devmem/owner_objects.h"
#include "runtime/probe/host/host_counter.h"
#include "runtime/trace/counter_names.h"
#include "runtime/trace/kinds.h"

enum {
	TRIES = 100,
	KEPT = 4,	/* windows may end faster than their files are finished */
};

/* All sums at one moment. */
struct sample {
	uint64_t time;
	uint32_t n;			/* cells */
	uint64_t line[TP_DEVMEM_CELLS];	/* by cell that leads the line */
	struct {
		bool is_seen;
		uint64_t live, peak;
	} device[TP_DEVMEM_DEVICES];
};

static struct {
	bool is_on;
	uint32_t period_ms;
	uint32_t generation;		/* of the ring that the names were interned in */
	uint64_t settled;		/* end of the window that was settled last */
	uint32_t known, unattributed;	/* names */
	struct tp_host_counter line[TP_DEVMEM_CELLS];
	struct device_counters {
		struct tp_host_counter known, unattributed;
	} device[TP_DEVMEM_DEVICES];
	struct sample now, at_end;
	struct tp_spin lock;		/* around what is kept */
	struct sample kept[KEPT];	/* by those who end windows; time 0: nothing */
	uint32_t n_kept;
} sums = { .lock = { .rank = TP_LOCK_DEVMEM } };

void tp_devmem_sums_open(const struct tp_config *config)
{
	sums.is_on = config->record & TP_RECORD_DEVMEM;
	sums.period_ms = (uint32_t)config->host_period_ms;
}

uint32_t tp_devmem_sums_period_ms(void)
{
	return sums.is_on ? sums.period_ms : 0;
}

/* Returns its time. */
static uint64_t read_once(struct sample *sample)
{
	sample->n = tp_devmem_n_cells();
	memset(sample->line, 0, sample->n * sizeof(sample->line[0]));
	for (uint32_t i = 0; i < sample->n; i++)
		sample->line[tp_devmem_cell[i].line] +=
			__atomic_load_n(&tp_devmem_cell[i].live, __ATOMIC_ACQUIRE);
	for (uint32_t i = 0; i < TP_DEVMEM_DEVICES; i++)
		sample->device[i].is_seen =
			tp_devmem_sum(i, &sample->device[i].live, &sample->device[i].peak);
	return tp_clock_now();
}

/* Where allocations come without a pause, the last try has to do: off by what came meanwhile. */
static uint64_t read_sums(struct sample *sample)
{
	uint64_t time;
	uint32_t sequence;

	for (int i = 0; i < TRIES; i++) {
		if (!tp_devmem_read_begin(&sequence))
			continue;
		time = read_once(sample);
		if (tp_devmem_read_end(sequence))
			return time;
	}
	return read_once(sample);
}

static void name_line(struct tp_host_counter *counter, const struct tp_devmem_cell *cell)
{
	const char *path = tp_owner_path(cell->owner);
	const char *slash = strrchr(path, '/');
	char library[64];
	struct tp_text text;

	tp_text_init(&text, library, sizeof(library));
	tp_text_str(&text, slash ? slash + 1 : *path ? path : "(unknown)");
	counter->name = tp_host_counter_name(tp_devmem_kind_name(cell->what.kind), library, "B",
					     "device memory");
}

/* A line to show: what never was anything (frees of the unknown) is none. */
static bool is_line(const struct sample *sample, uint32_t i)
{
	const struct tp_devmem_cell *cell = &tp_devmem_cell[i];

	return cell->line == i &&
	       (sample->line[i] || __atomic_load_n(&cell->n_allocs, __ATOMIC_RELAXED));
}

/* What the driver says is in use less what we know: of now, both. */
static bool find_unattributed(uint32_t device, int64_t *unattributed)
{
	uint64_t live, peak, used, total;

	if (!tp_devmem_sum(device, &live, &peak) ||
	    (!tp_nvml_own_memory(device, &used) && !tp_nvml_memory(device, &used, &total)))
		return false;
	*unattributed = (int64_t)used - (int64_t)live;
	return true;
}

static void find_names(void)
{
	if (sums.generation == tp_ring.generation)
		return;
	memset(sums.line, 0, sizeof(sums.line));
	memset(sums.device, 0, sizeof(sums.device));
	sums.known = tp_host_counter_name("", TP_COUNTER_DEVICE_KNOWN, "B", "device");
	sums.unattributed = tp_host_counter_name("", TP_COUNTER_DEVICE_UNATTRIBUTED, "B", "device");
	sums.generation = tp_ring.generation;
}

void tp_devmem_sums_tick(uint64_t now)
{
	int64_t unattributed;

	if (!sums.is_on || !tp_ring.head)
		return;
	/* For allocations to come: libraries that were loaded since can be named. */
	tp_owner_refresh();
	if (!tp_devmem_n_cells())
		return;
	find_names();
	sums.now.time = read_sums(&sums.now);
	for (uint32_t i = 0; i < sums.now.n; i++) {
		if (!is_line(&sums.now, i))
			continue;
		if (!sums.line[i].name)
			name_line(&sums.line[i], &tp_devmem_cell[i]);
		tp_host_counter_record(&sums.line[i], sums.now.time, tp_devmem_cell[i].what.device,
				       (int64_t)sums.now.line[i]);
	}
	for (uint32_t i = 0; i < TP_DEVMEM_DEVICES; i++) {
		struct device_counters *of = &sums.device[i];

		if (!sums.now.device[i].is_seen)
			continue;
		of->known.name = sums.known;
		of->unattributed.name = sums.unattributed;
		tp_host_counter_record(&of->known, sums.now.time, i,
				       (int64_t)sums.now.device[i].live);
		if (find_unattributed(i, &unattributed))
			tp_host_counter_record(&of->unattributed, sums.now.time, i, unattributed);
	}
}

void tp_devmem_sums_keep(void)
{
	struct sample *kept;

	tp_spin_lock(&sums.lock);
	kept = &sums.kept[sums.n_kept++ % KEPT];
	kept->time = read_sums(kept);
	tp_spin_unlock(&sums.lock);
}

/* The first that was kept since `end`; where the probes went on without a pause, or the process
 * ends, none was: what is alive now. */
static void find_at_end(uint64_t end)
{
	const struct sample *best = NULL;

	tp_spin_lock(&sums.lock);
	for (int i = 0; i < KEPT; i++)
		if (sums.kept[i].time >= end && (!best || sums.kept[i].time < best->time))
			best = &sums.kept[i];
	if (best)
		memcpy(&sums.at_end, best, sizeof(*best));
	tp_spin_unlock(&sums.lock);
	if (!best)
		read_sums(&sums.at_end);
}

static void put(uint64_t time, uint32_t name, uint32_t device, int64_t value)
{
	struct tp_rec *rec = name ? tp_ring_reserve() : NULL;

	if (!rec)
		return;
	*rec = (struct tp_rec){
		.time = time, .kind = TP_REC_COUNTER, .name = name, .link = device,
		.arg = (uint64_t)value,
	};
	tp_ring_commit();
}

bool tp_devmem_sums_settle(uint64_t end, bool is_closing)
{
	int64_t unattributed;

	if (!sums.is_on || !tp_ring.head || sums.settled == end || !tp_devmem_n_cells())
		return true;
	sums.settled = end;
	find_at_end(end);
	find_names();
	for (uint32_t i = 0; i < sums.at_end.n; i++) {
		if (!is_line(&sums.at_end, i))
			continue;
		if (!sums.line[i].name)
			name_line(&sums.line[i], &tp_devmem_cell[i]);
		put(end, sums.line[i].name, tp_devmem_cell[i].what.device,
		    (int64_t)sums.at_end.line[i]);
	}
	for (uint32_t i = 0; i < TP_DEVMEM_DEVICES; i++) {
		if (!sums.at_end.device[i].is_seen)
			continue;
		put(end, sums.known, i, (int64_t)sums.at_end.device[i].live);
		if (find_unattributed(i, &unattributed))
			put(end, sums.unattributed, i, unattributed);
	}
	return true;
}

void tp_devmem_sums_report(struct tp_text *totals)
{
	for (uint32_t i = 0; i < TP_DEVMEM_DEVICES; i++)
		if (sums.at_end.device[i].is_seen)
			tp_text_fmt(totals, "devmem.live.%u=%lu\ndevmem.peak.%u=%lu\n", i,
				    (unsigned long)sums.at_end.device[i].live, i,
				    (unsigned long)sums.at_end.device[i].peak);
}

void tp_devmem_sums_forked(void)
{
	atomic_store(&sums.lock.held, 0);
	sums.at_end.n = 0;
	for (uint32_t i = 0; i < TP_DEVMEM_DEVICES; i++)
		sums.at_end.device[i].is_seen = false;
	memset(sums.kept, 0, sizeof(sums.kept));
}
