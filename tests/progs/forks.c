/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forks.c - children of every kind, many of them
 *
 * usage: forks fork|vfork|spawn|threads|loader N
 *
 * fork: N children, each allocates and leaves by _exit, exit or exec in turn. vfork: N that
 * exec (every third one fails to and leaves by _exit). spawn: N by posix_spawn. threads: N forks while
 * other threads allocate and fork too. loader: N workers that live together and report
 * through pipes. Prints how many ended as they should.
 */
#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static char *const true_argv[] = { (char *)"true", NULL };

static void use_heap(void)
{
	for (int i = 0; i < 50; i++)
		free(malloc((size_t)i * 37));
}

static int ended_with(pid_t pid, int wanted)
{
	int status;

	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
	       WEXITSTATUS(status) == wanted;
}

static int fork_one(int i)
{
	pid_t pid = fork();

	if (pid)
		return ended_with(pid, i % 3 == 2 ? 0 : 7);
	use_heap();
	if (i % 3 == 0)
		_exit(7);
	if (i % 3 == 1)
		exit(7);
	execvp("true", true_argv);
	_exit(1);
}

static int vfork_one(int i)
{
	pid_t pid = vfork();

	if (!pid) {
		execve(i % 3 ? "/bin/true" : "/nowhere/true", true_argv, environ);
		_exit(9);
	}
	return ended_with(pid, i % 3 ? 0 : 9);
}

static int spawn_one(int i)
{
	pid_t pid = 0;

	return !posix_spawnp(&pid, "true", NULL, NULL, true_argv, environ) && ended_with(pid, 0);
}

static atomic_int n_good, must_end;

static void *allocate_on(void *unused)
{
	while (!must_end) {
		use_heap();
		usleep(50);
	}
	return NULL;
}

static void *fork_on(void *n)
{
	for (int i = 0; i < *(int *)n; i++)
		n_good += fork_one(i);
	return NULL;
}

static int fork_in_threads(int n)
{
	pthread_t thread[4];
	int half = n / 2;

	for (int i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, i < 2 ? allocate_on : fork_on, &half);
	pthread_join(thread[2], NULL);
	pthread_join(thread[3], NULL);
	must_end = 1;
	pthread_join(thread[0], NULL);
	pthread_join(thread[1], NULL);
	return n_good;
}

static int load_with_workers(int n)
{
	pid_t pid[64];
	int from[64], good = 0;

	n = n < 64 ? n : 64;
	for (int i = 0; i < n; i++) {
		int ends[2];

		if (pipe(ends) < 0)
			return good;
		pid[i] = fork();
		if (!pid[i]) {
			for (int batch = 0; batch < 20; batch++) {
				char *block = malloc(100000);

				memset(block, batch, 100000);
				if (write(ends[1], &block[99999], 1) != 1)
					_exit(1);
				free(block);
			}
			_exit(0);
		}
		close(ends[1]);
		from[i] = ends[0];
	}
	for (int i = 0; i < n; i++) {
		char byte = 0, all = 0;

		while (read(from[i], &byte, 1) == 1)
			all += byte == all;
		good += ended_with(pid[i], 0) && all == 20;
	}
	return good;
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "fork";
	int n = argc > 2 ? atoi(argv[2]) : 10, good = 0;

	if (!strcmp(kind, "threads")) {
		good = fork_in_threads(n);
	} else if (!strcmp(kind, "loader")) {
		good = load_with_workers(n);
	} else {
		int (*one)(int) = kind[0] == 'v' ? vfork_one : kind[0] == 's' ? spawn_one : fork_one;

		for (int i = 0; i < n; i++)
			good += one(i);
	}
	printf("%d of %d\n", good, n);
	return 0;
}
