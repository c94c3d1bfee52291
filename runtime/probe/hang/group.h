/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group.h - memory of the container (the process's control group), and whether it is nearly used up
 *
 * Versions 1 and 2. Of the group itself, or of the root that a container sees; limits of groups
 * between are not looked at. Drain thread.
 */
#ifndef TP_PROBE_GROUP_H
#define TP_PROBE_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tp_group {
	uint64_t used;		/* bytes, without page cache that can be given back at once; 0: not known */
	uint64_t limit;		/* 0: none, or not known */
};

void tp_group_read(struct tp_group *group);
/* At NEAR percent of the limit or more. Pure. */
bool tp_group_is_near(const struct tp_group *group);

/* Of the n bytes of /proc/self/cgroup: the group of the memory controller (of version 2 the only one)
 * into `path` ("/docker/1"). False: it names none. Pure. */
bool tp_group_parse(const char *text, size_t n, bool is_v2, char *path, size_t cap);
/* Of the n bytes of memory.stat: the number behind `key`; 0: none. Pure. */
uint64_t tp_group_stat(const char *text, size_t n, const char *key);

#endif
