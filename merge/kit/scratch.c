/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scratch.c - a list of names that a signal's handler can read at any time
 */
#include "merge/kit/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAMES = 1024, NAME_BYTES = 4096 };

static struct {
	char path[NAME_BYTES];
	int is_set;	/* atomic */
} name[NAMES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;	/* of changes */
static const int caught[] = {SIGINT, SIGTERM, SIGHUP};

static void remove_all(int signal)
{
	/* The latest first: files before the folder that they are in. */
	for (int i = NAMES - 1; i >= 0; i--) {
		if (__atomic_load_n(&name[i].is_set, __ATOMIC_ACQUIRE) && unlink(name[i].path))
			rmdir(name[i].path);
	}
	/* SA_RESETHAND: now it ends the program, as it would have. */
	raise(signal);
}

static void catch_signals(void)
{
	static const struct sigaction ours = {.sa_handler = remove_all, .sa_flags = SA_RESETHAND};

	for (int i = 0; i < 3; i++) {
		struct sigaction now;

		if (!sigaction(caught[i], NULL, &now) && now.sa_handler == SIG_DFL)
			sigaction(caught[i], &ours, NULL);
	}
}

static void hold_signals(sigset_t *before)
{
	sigset_t set;

	sigemptyset(&set);
	for (int i = 0; i < 3; i++)
		sigaddset(&set, caught[i]);
	pthread_sigmask(SIG_BLOCK, &set, before);
}

void tp_scratch_add(const char *path)
{
	int at = 0;

	if (strlen(path) >= NAME_BYTES)
		return;
	pthread_mutex_lock(&lock);
	catch_signals();
	/* Behind the last one: the order is that of making. */
	for (int i = 0; i < NAMES; i++)
		at = name[i].is_set ? i + 1 : at;
	if (at < NAMES) {
		strcpy(name[at].path, path);
		__atomic_store_n(&name[at].is_set, 1, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&lock);
}

void tp_scratch_forget(const char *path)
{
	pthread_mutex_lock(&lock);
	for (int i = 0; i < NAMES; i++) {
		if (name[i].is_set && !strcmp(name[i].path, path))
			__atomic_store_n(&name[i].is_set, 0, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&lock);
}

int tp_scratch_file(char *path)
{
	sigset_t before;
	int fd;

	hold_signals(&before);
	fd = mkostemp(path, O_CLOEXEC);
	fd = fd < 0 ? -errno : fd;
	if (fd >= 0)
		tp_scratch_add(path);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return fd;
}

int tp_scratch_folder(char *path)
{
	sigset_t before;
	int err;

	hold_signals(&before);
	err = mkdtemp(path) ? 0 : -errno;
	if (!err)
		tp_scratch_add(path);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return err;
}
