/* SPDX-License-Identifier: Apache-2.0 */
/*
 * totals.c - sums of what the END blocks of a run tell, and what was lost of the GPU's records
 */
#include "merge/model/totals.h"

#include <stdio.h>
#include <string.h>

#include "merge/model/label.h"
#include "runtime/trace/kinds.h"

const struct tp_loss tp_gpu_losses[] = {
    {"cupti.dropped",
     "records of the GPU were dropped by CUPTI: a larger TRAINPROF_CUPTI_BUFFER", true, false},
    {"cupti.refused",
     "times CUPTI requested a buffer and got none: a larger TRAINPROF_CUPTI_BUFFER", true, false},
    {"cupti.trashed_bytes",
     "of records were given up when another profiler took CUPTI", true, true},
    {"cupti.*.no_time",
     "pieces of GPU work have no times: CUPTI had no room for them, or they did not end", true,
     false},
    {"cupti.*.late",
     "records of the GPU came after the file of their window was finished: CUPTI held them for too long",
     true, false},
    {"cupti.buffers_kept",
     "buffers with records of the GPU did not come back from CUPTI before their window's file was finished",
     true, false},
    {"cupti.*.no_room",
     "records of the GPU found no room in the buffer: a larger TRAINPROF_BUFFER", true, false},
    {"cupti.*.no_name",
     "records of the GPU have lost their names or launches: a larger TRAINPROF_BUFFER", true,
     false},
    {"cupti.errors", "calls of CUPTI failed", true, false},
    {"cupti.unknown", "records of CUPTI are of kinds that this version does not know", false,
     false},
    {"cupti.clock_steps",
     "times the clock was set while recording: times of GPU work may be off", false, false},
    {"cupti.yielded",
     "times CUPTI was left to another profiler: the GPU's records have gaps", true, false},
    {"cupti.unready",
     "windows began before CUPTI was switched on: the GPU's records have gaps", true, false},
    {"devmem.unknown_frees",
     "blocks of device memory were freed that had not been seen: from before the start, of a pool "
     "from before the window, or lost",
     false, false},
    {"devmem.replaced",
     "blocks of device memory were allocated where one was thought to be: a free was not seen",
     false, false},
    {"devmem.not_kept", "blocks of device memory were too many to keep in mind", true, false},
    {NULL, NULL, false, false},
};

const struct tp_loss tp_heap_losses[] = {
    {"stack.mismatched",
     "call stacks differed from libunwind's when they were checked: their threads went on without "
     "native frames",
     true, false},
    {"stack.skipped",
     "call stacks were not taken: too little was left of the stacks that they would be taken on",
     true, false},
    {"modules.lost", "loaded libraries are not described: frames in them have no names", true,
     false},
    {"heap.sample_no_room",
     "chosen blocks of host memory were too many to follow: estimates are too low", true, false},
    {"heap.threads_sharing",
     "threads were too many to have their own counters of host memory: they share some", false,
     false},
    {"pystack.broken", "stacks of Python frames end at something that cannot be", false, false},
    {"pystack.refused", "threads found no memory for their Python frames", true, false},
    {NULL, NULL, false, false},
};

static uint64_t add_key(const struct tp_run *run, const char *key, bool is_running, bool with_workers)
{
	uint64_t sum = 0;

	for (uint32_t p = 0; p < run->n_procs; p++) {
		uint64_t own = 0;

		if (run->proc[p]->worker && !with_workers)
			continue;
		for (uint32_t i = 0; i < run->n_windows; i++) {
			uint64_t value;

			if (run->window[i].proc != run->proc[p])
				continue;
			value = tp_fact_u64(run->window[i].totals, key, 0);
			own = is_running ? value > own ? value : own : own + value;
		}
		sum += own;
	}
	return sum;
}

uint64_t tp_totals_add_ranks(const struct tp_run *run, const char *key)
{
	return add_key(run, key, true, false);
}

uint64_t tp_totals_add(const struct tp_run *run, const char *key, bool is_running)
{
	const char *star = strchr(key, '*');
	uint64_t sum = 0;
	char each[64];

	if (!star)
		return add_key(run, key, is_running, true);
	for (uint8_t kind = TP_REC_CALL; kind <= TP_REC_OVERHEAD; kind++) {
		snprintf(each, sizeof(each), "%.*s%s%s", (int)(star - key), key,
			 tp_kind_text(kind), star + 1);
		sum += add_key(run, each, is_running, true);
	}
	return sum;
}

const char *tp_totals_cupti(char buf[32], const struct tp_run *run)
{
	/* CUPTI_API_VERSION before it was made of CUDA's. */
	static const char *const old[] = {[18] = "11.8", [19] = "12.0", [20] = "12.2",
					  [21] = "12.3", [22] = "12.4", [23] = "12.5",
					  [24] = "12.6", [26] = "12.8", [27] = "12.9",
					  [28] = "12.9"};
	uint64_t version = 0;

	for (uint32_t i = 0; i < run->n_windows && !version; i++)
		version = tp_fact_u64(run->window[i].totals, "cupti.version", 0);
	buf[0] = 0;
	if (version >= 100000 && version < 10000000)
		snprintf(buf, 32, "%u.%u", (unsigned)(version / 10000),
			 (unsigned)(version / 100 % 100));
	else if (version < sizeof(old) / sizeof(old[0]) && old[version])
		snprintf(buf, 32, "%s", old[version]);
	else if (version)
		snprintf(buf, 32, "API %llu", (unsigned long long)version);
	return buf;
}
