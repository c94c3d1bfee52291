/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_parse.h - the texts of /proc as numbers
 *
 * Pure: no allocation, no stdio, no locale; the text need not be terminated, and may end
 * anywhere (a line that is cut is not used).
 */
#ifndef TP_PROBE_HOST_PARSE_H
#define TP_PROBE_HOST_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* /proc/stat: jiffies since boot. */
struct tp_host_core {
	uint64_t busy, all;
};

/*
 * The sum over the machine, and cores 0 .. most - 1 into core[] (absent ones: untouched).
 * Number of the highest core seen plus one; 0: no such text.
 */
uint32_t tp_host_parse_stat(const char *text, size_t n, struct tp_host_core *machine,
			    struct tp_host_core *core, uint32_t most);

/* /proc/self/statm, in pages. */
struct tp_host_statm {
	uint64_t virtual, resident, shared;
};
bool tp_host_parse_statm(const char *text, size_t n, struct tp_host_statm *out);

/*
 * /proc/self/smaps_rollup, in bytes. pss: each page divided by the processes that have it.
 * private: pages of this process alone. Kernels before 5.1 do not say what sort they are:
 * has_sorts is false.
 */
struct tp_host_rollup {
	uint64_t pss, private, pss_anonymous, pss_file, pss_shmem;
	bool has_sorts;
};
bool tp_host_parse_rollup(const char *text, size_t n, struct tp_host_rollup *out);

/* /proc/meminfo, in bytes. Without MemAvailable (very old kernels): free + buffers + cached. */
struct tp_host_meminfo {
	uint64_t total, available, swap_used;
};
bool tp_host_parse_meminfo(const char *text, size_t n, struct tp_host_meminfo *out);

/* One device of /proc/diskstats or one interface of /proc/net/dev: bytes since boot. */
struct tp_host_flow {
	const char *name;	/* in the text, not terminated */
	size_t n_name;
	uint64_t in, out;	/* disk: read, written; network: received, sent */
};

/* Takes the next line off *text and *n. False: none left. */
bool tp_host_next_disk(const char **text, size_t *n, struct tp_host_flow *out);
bool tp_host_next_interface(const char **text, size_t *n, struct tp_host_flow *out);

#endif
