/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_host.c - part of the overview: the heap of the processes, by the counters
 *
 * The counters run outside windows, too, and stand in the END blocks: no event is needed.
 */
#include "merge/view/overview/overview.h"

#include <stdio.h>
#include <string.h>

#include "merge/model/label.h"

/* The process's last word on a figure that counts on. */
static uint64_t last_of(const struct tp_run *run, const struct tp_proc *proc, const char *key)
{
	uint64_t value = 0;

	for (uint32_t i = 0; i < run->n_windows; i++)
		if (run->window[i].proc == proc)
			value = tp_fact_u64(run->window[i].totals, key, value);
	return value;
}

void tp_overview_print_host(const struct tp_run *run, struct tp_out *out)
{
	uint64_t most = 0, allocs = 0, sum = 0;
	const struct tp_proc *who = NULL;
	char a[32], b[32], c[32], d[32], label[64], of[80] = "", all[64] = "";
	uint32_t n = 0;

	for (uint32_t i = 0; i < run->n_procs; i++) {
		uint64_t peak = last_of(run, run->proc[i], "heap.peak");

		allocs += last_of(run, run->proc[i], "heap.allocs");
		sum += peak;
		n += peak != 0;
		if (peak <= most)
			continue;
		most = peak;
		who = run->proc[i];
	}
	if (!who)
		return;
	if (n > 1) {
		snprintf(of, sizeof(of), " (%s)", tp_label_proc(label, run, who));
		snprintf(all, sizeof(all), ", %s in %u processes", tp_show_bytes(d, (int64_t)sum),
			 n);
	}
	tp_out_item(out, "", TP_OVERVIEW_LABEL, "heap",
		    "peak %s%s%s; %s at the end of its last window; %s allocations",
		    tp_show_bytes(a, (int64_t)most), of, all,
		    tp_show_bytes(b, (int64_t)last_of(run, who, "heap.live")),
		    tp_show_count(c, allocs));
}
