/* SPDX-License-Identifier: Apache-2.0 */
/*
 * naming_rig.h - a run folder, and files of processes that are dead or alive in it
 */
#ifndef TP_TESTS_NAMING_RIG_H
#define TP_TESTS_NAMING_RIG_H

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "runtime/base/process.h"
#include "runtime/engine/naming/naming.h"
#include "runtime/trace/ledger.h"
#include "runtime/trace/ring_layout.h"

/* 2026-02-28 23:59:59 UTC */
#define REAL_NS 1772323199000000000ull

static inline struct tp_naming make(int32_t rank)
{
	return (struct tp_naming){
		.run_name = "night", .host = "node7",
		.rank = {.rank = rank, .local_rank = 1, .world_size = 16, .local_world_size = 8,
			 .node_rank = 1, .launcher = "torchrun"},
		.pid = 77, .window = 2, .epoch = 3, .batch = 142, .batch_in_epoch = 42,
		.real_ns = REAL_NS,
	};
}

static inline struct tp_naming make_unknown(void)
{
	struct tp_naming naming = {.run_name = "r", .host = "h", .pid = 5};

	naming.rank = (struct tp_rank){-1, -1, -1, -1, -1, 0, "none", ""};
	return naming;
}

static char dir[64];

static inline void make_dir(void)
{
	strcpy(dir, "/tmp/trainprof-naming.XXXXXX");
	cr_assert(mkdtemp(dir));
	tp_log_set_level(TP_LOG_QUIET);
	tp_clock_init(TP_CLOCK_MONOTONIC);
}

static inline void remove_dir(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	cr_assert_eq(system(command), 0);
}

static inline const char *in_dir(const char *name)
{
	static char path[4][256];
	static int at;

	snprintf(path[++at % 4], sizeof(path[0]), "%s/%s", dir, name);
	return path[at % 4];
}

static inline bool exists(const char *name)
{
	struct stat st;

	return lstat(in_dir(name), &st) == 0;
}

static inline void put(const char *name, const void *bytes, size_t n)
{
	FILE *file = fopen(in_dir(name), "w");

	cr_assert(file, "%s", name);
	cr_assert_eq(fwrite(bytes, 1, n, file), n);
	fclose(file);
}

/* A number that no process has: a child's that has been waited for. */
static inline uint32_t dead_pid(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	return (uint32_t)pid;
}

static inline void read_boot_id(uint64_t id[2])
{
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
	unsigned long a, b, c, d, e;
	char text[64] = "";

	cr_assert(file && fgets(text, sizeof(text), file));
	fclose(file);
	cr_assert_eq(sscanf(text, "%8lx-%4lx-%4lx-%4lx-%12lx", &a, &b, &c, &d, &e), 5);
	id[0] = a << 32 | b << 16 | c;
	id[1] = d << 48 | e;
}

/* Of a run whose ledger is not there, by a process that has been waited for. */
static inline void put_trace(const char *name, int32_t rank, uint32_t restart)
{
	struct tp_file_head head = {.magic = TP_FILE_MAGIC, .rank = rank, .restart = restart,
				    .run_id = 1, .pid = dead_pid(), .pid_ns = tp_process_pid_ns()};

	read_boot_id(head.boot_id);
	put(name, &head, sizeof(head));
}

static inline void put_job_ledger(const char *name, int32_t rank, uint32_t restart, uint32_t pid,
				  uint64_t real_ns, const char *job)
{
	char line[2 * TP_LEDGER_LINE_MAX];
	struct tp_ledger_head head = {.rank = rank, .restart = restart, .pid = pid,
				      .pid_ns = tp_process_pid_ns(), .run_id = pid,
				      .world_size = 16, .real_ns = real_ns, .host = "h"};

	read_boot_id(head.boot_id);
	snprintf(head.job, sizeof(head.job), "%s", job);
	put(name, line, tp_ledger_format_head(line, sizeof(line), &head));
}

static inline void put_ledger(const char *name, int32_t rank, uint32_t restart, uint32_t pid,
			      uint64_t real_ns)
{
	put_job_ledger(name, rank, restart, pid, real_ns, "");
}

static inline void put_ring(const char *name, int32_t rank, uint32_t pid)
{
	struct tp_ring_head head = {.magic = TP_RING_MAGIC, .rank = rank, .pid = pid,
				    .process_start = 1, .pid_ns = tp_process_pid_ns()};

	read_boot_id(head.boot_id);
	put(name, &head, sizeof(head));
}

static char ledger_path[256];

static inline int claim(struct tp_naming *naming, bool overwrite)
{
	return tp_naming_claim(naming, dir, "rank{rank}.{window}.tpt", overwrite, ledger_path,
			       sizeof(ledger_path));
}

#endif
