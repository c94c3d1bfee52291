/* SPDX-License-Identifier: Apache-2.0 */
/*
 * devmem_sums.c - sums of device memory as counters, and what they leave unexplained
 */
#include "runtime/probe/devmem_sums.h"

#include <string.h>

#include "runtime/base/text.h"
#include "runtime/engine/config.h"
#include "runtime/engine/ring.h"
#include "runtime/probe/devmem_live.h"
#include "runtime/probe/host_counter.h"
#include "runtime/probe/nvml.h"
#include "runtime/probe/owner.h"

/* The driver's figure and ours are read one after the other: a sum read in between may be off by
 * what was allocated meanwhile, which the next sample puts right. */
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
} sums;

void tp_devmem_sums_open(const struct tp_config *config)
{
	sums.is_on = config->record & TP_RECORD_DEVMEM;
	sums.period_ms = (uint32_t)config->host_period_ms;
}

uint32_t tp_devmem_sums_period_ms(void)
{
	return sums.is_on ? sums.period_ms : 0;
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

static void tick_lines(uint64_t now)
{
	static uint64_t live[TP_DEVMEM_CELLS];
	uint32_t n = tp_devmem_n_cells();

	memset(live, 0, n * sizeof(live[0]));
	for (uint32_t i = 0; i < n; i++)
		live[tp_devmem_cell[i].line] +=
			__atomic_load_n(&tp_devmem_cell[i].live, __ATOMIC_RELAXED);
	for (uint32_t i = 0; i < n; i++) {
		const struct tp_devmem_cell *cell = &tp_devmem_cell[i];

		/* What never was anything (frees of the unknown) is no line to show. */
		if (cell->line != i || (!live[i] && !sums.line[i].name))
			continue;
		if (!sums.line[i].name)
			name_line(&sums.line[i], cell);
		tp_host_counter_record(&sums.line[i], now, cell->what.device, (int64_t)live[i]);
	}
}

/* False: nothing is known of that device. */
static bool compare(uint32_t device, int64_t *known, int64_t *unattributed, bool *has_used)
{
	uint64_t live, peak, used, total;

	if (!tp_devmem_sum(device, &live, &peak))
		return false;
	*known = (int64_t)live;
	*has_used = tp_nvml_own_memory(device, &used) || tp_nvml_memory(device, &used, &total);
	*unattributed = *has_used ? (int64_t)used - (int64_t)live : 0;
	return true;
}

static void tick_devices(uint64_t now)
{
	int64_t known, unattributed;
	bool has_used;

	for (uint32_t device = 0; device < TP_DEVMEM_DEVICES; device++) {
		struct device_counters *of = &sums.device[device];

		if (!compare(device, &known, &unattributed, &has_used))
			continue;
		of->known.name = sums.known;
		of->unattributed.name = sums.unattributed;
		tp_host_counter_record(&of->known, now, device, known);
		if (has_used)
			tp_host_counter_record(&of->unattributed, now, device, unattributed);
	}
}

static void find_names(void)
{
	if (sums.generation == tp_ring.generation)
		return;
	memset(sums.line, 0, sizeof(sums.line));
	memset(sums.device, 0, sizeof(sums.device));
	sums.known = tp_host_counter_name("", "GPU memory known", "B", "device");
	sums.unattributed = tp_host_counter_name("", "GPU memory unattributed", "B", "device");
	sums.generation = tp_ring.generation;
}

void tp_devmem_sums_tick(uint64_t now)
{
	if (!sums.is_on || !tp_ring.head)
		return;
	/* For allocations to come: libraries that were loaded since can be named. */
	tp_owner_refresh();
	if (!tp_devmem_n_cells())
		return;
	find_names();
	tick_lines(now);
	tick_devices(now);
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
	int64_t known, unattributed;
	bool has_used;

	if (!sums.is_on || !tp_ring.head || sums.settled == end || !tp_devmem_n_cells())
		return true;
	sums.settled = end;
	find_names();
	for (uint32_t device = 0; device < TP_DEVMEM_DEVICES; device++) {
		if (!compare(device, &known, &unattributed, &has_used))
			continue;
		put(end, sums.known, device, known);
		if (has_used)
			put(end, sums.unattributed, device, unattributed);
	}
	return true;
}
