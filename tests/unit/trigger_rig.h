/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trigger_rig.h - ranks of a run that answer a trigger: children of fork that step until they are told
 * to stop
 */
#ifndef TP_TESTS_TRIGGER_RIG_H
#define TP_TESTS_TRIGGER_RIG_H

#include <criterion/criterion.h>

#include <signal.h>
#include <sys/wait.h>

#include "runtime/engine/trigger/trigger.h"
#include "tests/unit/session_rig.h"

enum { RANKS = 3, STEP_US = 1000 };

static struct {
	uint64_t steps[RANKS];
	uint32_t n_ranks, is_over;
} *shared;

static inline void set_number(const char *name, int value)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", value);
	setenv(name, text, 1);
}

static inline void choose(uint32_t steps, uint32_t ahead)
{
	rig_config.trigger = (struct tp_trigger_spec){.signal = SIGUSR2, .steps = steps, .ahead = ahead,
						     .has_control = true};
	if (!shared)
		shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

/* As a collective does: nobody is more than a step ahead. */
static inline bool is_ahead(uint64_t step)
{
	for (uint32_t i = 0; i < shared->n_ranks; i++)
		if (__atomic_load_n(&shared->steps[i], __ATOMIC_ACQUIRE) < step &&
		    !__atomic_load_n(&shared->is_over, __ATOMIC_ACQUIRE))
			return true;
	return false;
}

/* A rank that trains until it is told to stop; every `slow`th of its steps takes longer. */
static inline pid_t start_rank(int rank, const char *schedule, uint32_t slow)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	set_number("RANK", rank);
	set_number("WORLD_SIZE", RANKS);
	set_number("LOCAL_WORLD_SIZE", RANKS);
	if (rig_open(schedule))
		_exit(2);
	for (uint64_t step = 0; !__atomic_load_n(&shared->is_over, __ATOMIC_ACQUIRE); step++) {
		while (is_ahead(step))
			usleep(100);
		rig_step();
		__atomic_store_n(&shared->steps[rank], step + 1, __ATOMIC_RELEASE);
		usleep(slow && step % slow == 0 ? 20 * STEP_US : STEP_US);
	}
	tp_session_close("exit");
	_exit(0);
}

static inline bool await_steps(int rank, uint64_t n)
{
	for (int i = 0; i < 60000; i++) {
		if (__atomic_load_n(&shared->steps[rank], __ATOMIC_ACQUIRE) >= n)
			return true;
		usleep(1000);
	}
	return false;
}

static inline bool await_file(const char *name)
{
	char path[600];

	snprintf(path, sizeof(path), "%s/%s", rig_config.dir, name);
	for (int i = 0; i < 60000; i++) {
		if (!access(path, F_OK))
			return true;
		usleep(1000);
	}
	return false;
}

static inline bool is_there(const char *name)
{
	char path[600];

	snprintf(path, sizeof(path), "%s/%s", rig_config.dir, name);
	return !access(path, F_OK);
}

static inline void stop(const pid_t *pid, int n)
{
	__atomic_store_n(&shared->is_over, 1, __ATOMIC_RELEASE);
	for (int i = 0; i < n; i++) {
		int status;

		waitpid(pid[i], &status, 0);
		cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "rank %d: %x", i, status);
	}
}

static inline const struct rig_trace *window_of(int rank, int window)
{
	char path[600];

	snprintf(path, sizeof(path), "%s/rank%d.%d.tpt", rig_config.dir, rank, window);
	return rig_read_trace(path, UINT64_MAX);
}

/* A file of the run's folder that is there whole, as a rank's and a request are: an empty proposal is passed
 * over for good. */
static inline void put_whole(const char *name, const char *text, mode_t mode)
{
	char path[600], draft[610];
	FILE *file;

	mkdir(rig_config.dir, 0755);
	snprintf(path, sizeof(path), "%s/%s", rig_config.dir, name);
	snprintf(draft, sizeof(draft), "%s.draft", path);
	file = fopen(draft, "w");
	cr_assert_not_null(file);
	fputs(text, file);
	fclose(file);
	chmod(draft, mode);
	cr_assert_eq(rename(draft, path), 0);
}

#endif
