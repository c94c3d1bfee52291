/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hostile_rig.h - a run with something in it that is not what it says
 */
#ifndef TP_TESTS_HOSTILE_RIG_H
#define TP_TESTS_HOSTILE_RIG_H

#include <fcntl.h>
#include <malloc.h>
#include <sys/stat.h>
#include <zlib.h>

#include "merge/input/input.h"
#include "merge/input/run.h"
#include "runtime/trace/columns.h"
#include "runtime/trace/frame.h"
#include "tests/unit/merge_rig.h"

static uint32_t n_events;

static inline void count(void *ctx, const struct tp_event *event)
{
	n_events++;
}

static inline bool has_issue(const struct tp_run *run, const char *part)
{
	for (uint32_t i = 0; i < run->n_issues; i++) {
		if (strstr(run->issue[i].text, part))
			return true;
	}
	return false;
}

/* A trace that nothing is wrong with: one step. */
static inline void write_good(void)
{
	rig_file("rank0.0.tpt", 0, 0);
	rig_span(TP_REC_STEP, rig_text("step"), 1000, 2000);
	rig_close(10000);
}

static inline void expect_good(struct tp_run *run, const char *issue)
{
	cr_assert_not_null(run);
	n_events = 0;
	cr_expect_eq(tp_fuse_events(run, count, NULL), 0);
	cr_expect_geq(n_events, 1);
	cr_expect(has_issue(run, issue), "no '%s'", issue);
	tp_run_free(run);
}

static inline int make(const char *name)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", rig.folder, name);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	cr_assert_geq(fd, 0);
	return fd;
}

#endif
