/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_ways.c - threads that allocate while the main thread does something rough
 *
 * usage: heap_ways fork|vfork|dlopen TIMES [LIBRARY...]
 *
 * fork: children allocate, and end in each way there is. vfork: a child runs another program.
 * dlopen: each library is loaded, and unloaded again; its constructors allocate. Prints how often
 * it was done and what went wrong.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N_THREADS = 3, LIVE = 200 };

static int is_ending;	/* atomic */

static void *work(void *seed)
{
	char *live[LIVE] = { NULL };
	uint32_t dice = (uint32_t)(uintptr_t)seed;

	while (!__atomic_load_n(&is_ending, __ATOMIC_RELAXED)) {
		for (int i = 0; i < 100; i++) {
			char **place;

			dice = dice * 1664525u + 1013904223u;
			place = &live[(dice >> 16) % LIVE];
			if (dice >> 31) {
				*place = realloc(*place, 1 + (dice >> 8) % 3000);
			} else {
				free(*place);
				*place = malloc((dice >> 8) % 3000);
			}
		}
		/* Others need the processor, too. */
		usleep(2000);
	}
	for (int i = 0; i < LIVE; i++)
		free(live[i]);
	return NULL;
}

/* In a child: what it has from its parent is used, and given back. */
static void end_child(int i, char *inherited)
{
	char *block = malloc(5000);

	memset(block, 1, 5000);
	inherited = realloc(inherited, 100000);
	memset(inherited, 1, 100000);
	free(inherited);
	free(block);
	if (i % 3 == 0)
		_exit(7);
	if (i % 3 == 1)
		quick_exit(7);
	exit(7);
}

static int do_fork(int i)
{
	char *inherited = malloc(1000);
	pid_t pid = fork();
	int status;

	if (!pid)
		end_child(i, inherited);
	free(inherited);
	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
	       WEXITSTATUS(status) == 7;
}

static int do_vfork(int i)
{
	pid_t pid = vfork();
	int status;

	if (!pid) {
		execl("/bin/true", "true", (char *)NULL);
		_exit(1);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
	       WEXITSTATUS(status) == 0;
}

static int do_dlopen(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	void *(*use)(void) = library ? (void *(*)(void))dlsym(library, "tp_use") : NULL;

	if (use)
		free(use());
	return library && dlclose(library) == 0;
}

int main(int argc, char **argv)
{
	int n_times = argc > 2 ? atoi(argv[2]) : 0, n_right = 0;
	pthread_t thread[N_THREADS];

	if (n_times < 1 || (*argv[1] == 'd' && argc < 4))
		return 2;
	for (uintptr_t i = 0; i < N_THREADS; i++)
		if (pthread_create(&thread[i], NULL, work, (void *)(i + 1)))
			return 2;
	for (int i = 0; i < n_times; i++)
		n_right += *argv[1] == 'f'   ? do_fork(i)
			   : *argv[1] == 'v' ? do_vfork(i)
					     : do_dlopen(argv[3 + i % (argc - 3)]);
	__atomic_store_n(&is_ending, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < N_THREADS; i++)
		pthread_join(thread[i], NULL);
	printf("%d of %d\n", n_right, n_times);
	return n_right != n_times;
}
