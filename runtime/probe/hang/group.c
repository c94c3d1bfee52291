/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group.c - reads /sys/fs/cgroup
 */
#include "runtime/probe/hang/group.h"

#include <string.h>

#include "runtime/base/file.h"
#include "runtime/base/own_table.h"
#include "runtime/base/text.h"
#include "runtime/trace/report.h"

enum {
	NEAR = 95,		/* percent */
	STAT_FROM = 80,		/* percent, before which page cache does not matter */
	STAT_BYTES = 4096,	/* more than memory.stat has up to what is looked for */
	PATH = 512,
};
#define UNLIMITED (1ull << 60)	/* version 1 says "none" by a number that is greater */

static const struct version {
	const char *root, *limit, *used, *cache;
	bool is_v2;
} versions[] = {
	{"/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file", true},
	{"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
	 "total_inactive_file", false},
};

bool tp_group_parse(const char *text, size_t n, bool is_v2, char *path, size_t cap)
{
	const char *end = text + n;

	for (const char *line = text, *eol; line < end; line = eol + 1) {
		const char *name = memchr(line, ':', (size_t)(end - line)), *of;

		eol = memchr(line, '\n', (size_t)(end - line));
		eol = eol ? eol : end;
		of = name && name < eol ? memchr(name + 1, ':', (size_t)(eol - name - 1)) : NULL;
		if (!of || of + 1 == eol || of[1] != '/' || (size_t)(eol - of - 1) >= cap)
			continue;
		if (is_v2 ? of != name + 1 : !memmem(name, (size_t)(of - name), "memory", 6))
			continue;
		memcpy(path, of + 1, (size_t)(eol - of - 1));
		path[eol - of - 1] = '\0';
		return true;
	}
	return false;
}

uint64_t tp_group_stat(const char *text, size_t n, const char *key)
{
	size_t n_key = strlen(key);
	const char *end = text + n;

	for (const char *line = text, *eol; line < end; line = eol + 1) {
		const char *at = line + n_key + 1;

		eol = memchr(line, '\n', (size_t)(end - line));
		eol = eol ? eol : end;
		if ((size_t)(eol - line) > n_key + 1 && !memcmp(line, key, n_key) && line[n_key] == ' ')
			return tp_report_number(&at, eol, 10);
	}
	return 0;
}

static ssize_t read_text(const struct version *version, const char *group, const char *name, char *text,
			 size_t cap)
{
	char path[PATH];
	struct tp_text to;

	tp_text_init(&to, path, sizeof(path));
	tp_text_fmt(&to, "%s%s/%s", version->root, group, name);
	return to.is_cut ? -1 : tp_file_read(path, text, cap);
}

static uint64_t read_number(const struct version *version, const char *group, const char *name)
{
	char text[64];
	ssize_t n = read_text(version, group, name, text, sizeof(text));
	const char *at = text;

	/* "max" is none. */
	return n > 0 ? tp_report_number(&at, text + n, 10) : 0;
}

static bool read_group(const struct version *version, const char *name, struct tp_group *group)
{
	char stat[STAT_BYTES];
	uint64_t cache = 0;
	ssize_t n;

	group->limit = read_number(version, name, version->limit);
	if (!group->limit || group->limit >= UNLIMITED)
		return false;
	group->used = read_number(version, name, version->used);
	if (group->used / STAT_FROM >= group->limit / 100) {
		n = read_text(version, name, "memory.stat", stat, sizeof(stat));
		cache = n > 0 ? tp_group_stat(stat, (size_t)n, version->cache) : 0;
	}
	group->used -= cache < group->used ? cache : group->used;
	return true;
}

static int read_any(void *arg)
{
	char own[PATH], text[STAT_BYTES];
	ssize_t n = tp_file_read("/proc/self/cgroup", text, sizeof(text));
	struct tp_group *group = arg;

	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		const struct version *version = &versions[i];

		if (n > 0 && tp_group_parse(text, (size_t)n, version->is_v2, own, sizeof(own)) &&
		    read_group(version, own, group))
			return 0;
		if (read_group(version, "", group))
			return 0;
	}
	*group = (struct tp_group){0};
	return 0;
}

void tp_group_read(struct tp_group *group)
{
	*group = (struct tp_group){0};
	tp_own_table_call(read_any, group);
}

bool tp_group_is_near(const struct tp_group *group)
{
	return group->limit && group->used / NEAR >= group->limit / 100;
}
