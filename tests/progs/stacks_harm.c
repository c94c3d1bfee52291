/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stacks_harm.c - a program to which a profiler of stacks can do harm, and which notices
 *
 * usage: stacks_harm descriptors ROUNDS PLUGIN | cancel THREADS | altstack ROUNDS PLUGIN |
 *		   calls ROUNDS PLUGIN
 *
 * descriptors	Closes all descriptors, by close_range and one by one in turn, opens files of its own
 *		and writes into them between allocations. All that was written must be there, and
 *		nothing else, and the numbers behind be free.
 * cancel	Threads that are to be cancelled allocate on and on; only where they ask for it, behind
 *		that, may they be. Then forks: the quickest one must not have waited for anybody.
 * altstack	Handlers with a stack of 8 KiB allocate.
 * calls	Allocates, closes and forks, between two calls that a tracer of system calls can tell.
 *
 * PLUGIN is loaded and unloaded in between, by which a profiler has to look at all code anew. What
 * it prints is the same wherever nothing was wrong.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FRAME __attribute__((noinline))
#define STAY_ON_STACK() __asm__ volatile("" : : : "memory")

static __thread volatile int is_allocating;

static FRAME void allocate(size_t bytes)
{
	char *volatile block;

	is_allocating = 1;
	block = malloc(bytes);
	is_allocating = 0;
	if (block)
		block[0] = 1;
	is_allocating = 1;
	free(block);
	is_allocating = 0;
}

static FRAME void allocate_deep(int depth, size_t bytes)
{
	if (depth > 0)
		allocate_deep(depth - 1, bytes);
	else
		allocate(bytes);
	STAY_ON_STACK();
}

/* From so many places and depths that a profiler does not know all of them. */
static FRAME void allocate_here_and_there(int times)
{
	for (int i = 0; i < times; i++) {
		allocate_deep(i % 5, (size_t)(i % 100) + 1);
		if (i % 3)
			allocate_deep(i % 4, 32);
		else
			allocate(64);
	}
	STAY_ON_STACK();
}

static void reload(const char *plugin)
{
	void *library = dlopen(plugin, RTLD_NOW);

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(2);
	}
	allocate_here_and_there(3);
	dlclose(library);
}

/* ---- descriptors ---- */

enum { FILES = 3, WRITES = 200, LINE = 23 };

static void write_line(char *line, int round, int i, int number)
{
	char text[64];

	snprintf(text, sizeof(text), "%07d %07d %06d\n", round, i, number);
	memcpy(line, text, LINE);
}

static void close_all(int way)
{
	if (way % 2 && syscall(SYS_close_range, 3u, ~0u, 0u) == 0)
		return;
	for (int i = 3; i < 4096; i++)
		close(i);
}

/* 1: what is in the file is what was written. */
static int is_whole(int file, int number, int round)
{
	char want[LINE], got[LINE];

	for (int i = 0; i < WRITES; i++) {
		write_line(want, round, i, number);
		if (pread(file, got, LINE, (off_t)i * LINE) != LINE || memcmp(got, want, LINE) != 0)
			return 0;
	}
	return lseek(file, 0, SEEK_CUR) == (off_t)WRITES * LINE &&
	       pread(file, got, 1, (off_t)WRITES * LINE) == 0;
}

/* 1: the lowest number is free, at once or when another thread, which opens something and puts it
 * where it belongs, is done; who has it for 10 s keeps it. */
static int becomes_free(int number)
{
	struct timespec begin, now;
	int lowest;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		lowest = dup(0);
		close(lowest);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (lowest != number && now.tv_sec - begin.tv_sec < 10);
	return lowest == number;
}

static int expect(int is, const char *what, int round)
{
	if (!is)
		fprintf(stderr, "round %d: %s\n", round, what);
	return is;
}

static int try_round(int round, const char *plugin)
{
	int file[FILES], is_good = 1;
	char line[LINE];

	reload(plugin);
	close_all(round);
	allocate_here_and_there(50);
	is_good &= expect(becomes_free(3), "3 is taken", round);
	for (int i = 0; i < FILES; i++) {
		file[i] = open(".", O_TMPFILE | O_RDWR, 0600);
		is_good &= expect(file[i] >= 3 && file[i] < 300, "no file", round);
		allocate_here_and_there(2);
	}
	for (int i = 0; i < WRITES; i++) {
		allocate_here_and_there(10);
		for (int k = 0; k < FILES; k++) {
			write_line(line, round, i, k);
			is_good &= expect(write(file[k], line, LINE) == LINE, "cannot write",
					  round);
		}
	}
	for (int i = 0; i < FILES; i++)
		is_good &= expect(is_whole(file[i], i, round), "not what was written", round);
	for (int i = 0; i < FILES; i++)
		close(file[i]);
	is_good &= expect(becomes_free(3), "3 is kept", round);
	return is_good;
}

static int try_descriptors(int rounds, const char *plugin)
{
	int good = 0;

	for (int i = 0; i < rounds; i++)
		good += try_round(i, plugin);
	printf("%d of %d rounds are whole\n", good, rounds);
	return 0;
}

/* ---- cancel ---- */

static atomic_int n_inside, n_outside;
static atomic_bool is_cancelled;

static void note_end(void *unused)
{
	atomic_fetch_add(is_allocating ? &n_inside : &n_outside, 1);
}

static void *allocate_until_cancelled(void *unused)
{
	pthread_cleanup_push(note_end, NULL);
	allocate_here_and_there(10);
	while (!atomic_load(&is_cancelled))
		allocate_here_and_there(10);
	allocate_here_and_there(400);
	pthread_testcancel();
	pthread_cleanup_pop(0);
	return NULL;
}

static double fork_ms(void)
{
	struct timespec begin, end;
	pid_t child;

	clock_gettime(CLOCK_MONOTONIC, &begin);
	child = fork();
	if (child == 0)
		_exit(0);
	clock_gettime(CLOCK_MONOTONIC, &end);
	waitpid(child, NULL, 0);
	return (double)(end.tv_sec - begin.tv_sec) * 1e3 + (double)(end.tv_nsec - begin.tv_nsec) / 1e6;
}

static int try_cancel(int threads)
{
	enum { AT_ONCE = 8 };
	pthread_t thread[AT_ONCE];
	double best = 1e9;

	for (int i = 0; i < threads; i += AT_ONCE) {
		atomic_store(&is_cancelled, false);
		for (int k = 0; k < AT_ONCE; k++)
			pthread_create(&thread[k], NULL, allocate_until_cancelled, NULL);
		for (int k = 0; k < AT_ONCE; k++)
			pthread_cancel(thread[k]);
		atomic_store(&is_cancelled, true);
		for (int k = 0; k < AT_ONCE; k++)
			pthread_join(thread[k], NULL);
	}
	for (int i = 0; i < 10; i++) {
		double ms = fork_ms();

		best = ms < best ? ms : best;
	}
	/* Who waits for a thread that is gone waits for 1000 times 0.1 ms. */
	fprintf(stderr, "cancelled inside of malloc: %d; the quickest fork took %.1f ms\n",
		atomic_load(&n_inside), best);
	printf("%d cancelled, %d of them inside of malloc; forks %s\n",
	       atomic_load(&n_inside) + atomic_load(&n_outside), atomic_load(&n_inside),
	       best < 100 ? "go on" : "wait");
	return 0;
}

/* ---- altstack ---- */

static volatile int n_handled;

static void handle(int sig)
{
	allocate_here_and_there(n_handled % 3 + 1);
	n_handled++;
}

/* 8 KiB, or what a handler needs that allocates where the kernel puts more than 4 KiB upon it. */
static size_t stack_bytes(void)
{
	size_t least = getauxval(AT_MINSIGSTKSZ);

	return least <= 4096 ? 8192 : (least + 4096 + 4095) / 4096 * 4096;
}

static size_t count_used(const unsigned char *stack, size_t bytes)
{
	size_t i = 0;

	while (i < bytes && stack[i] == 0xa5)
		i++;
	return bytes - i;
}

static void *try_handlers(void *plugin)
{
	struct sigaction action = { .sa_handler = handle, .sa_flags = SA_ONSTACK };
	stack_t stack = { .ss_size = stack_bytes() };
	char *memory = mmap(NULL, stack.ss_size + 4096, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	/* Whoever goes on below it ends the program. */
	mprotect(memory, 4096, PROT_NONE);
	stack.ss_sp = memory + 4096;
	memset(stack.ss_sp, 0xa5, stack.ss_size);
	if (sigaltstack(&stack, NULL) || sigaction(SIGUSR1, &action, NULL))
		return NULL;
	for (int i = 0; i < 2000; i++)
		raise(SIGUSR1);
	for (int i = 0; i < 20; i++) {
		reload(plugin);
		raise(SIGUSR1);
	}
	fprintf(stderr, "of %zu bytes %zu were used\n", stack.ss_size,
		count_used(stack.ss_sp, stack.ss_size));
	stack.ss_flags = SS_DISABLE;
	sigaltstack(&stack, NULL);
	munmap(memory, stack.ss_size + 4096);
	return NULL;
}

static int try_altstack(int rounds, char *plugin)
{
	for (int i = 0; i < rounds; i++) {
		pthread_t thread;

		try_handlers(plugin);
		pthread_create(&thread, NULL, try_handlers, plugin);
		pthread_join(thread, NULL);
	}
	printf("%d handled\n", n_handled);
	return 0;
}

/* ---- calls ---- */

static int try_calls(int rounds, const char *plugin)
{
	reload(plugin);
	allocate_here_and_there(100);
	lseek(-1, 1000, SEEK_SET);
	for (int i = 0; i < rounds; i++) {
		pid_t child;

		reload(plugin);
		allocate_here_and_there(1000);
		close(dup(0));
		child = fork();
		if (child == 0)
			_exit(0);
		waitpid(child, NULL, 0);
	}
	lseek(-1, 2000, SEEK_SET);
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";

	if (strcmp(what, "descriptors") == 0 && argc == 4)
		return try_descriptors(atoi(argv[2]), argv[3]);
	if (strcmp(what, "cancel") == 0)
		return try_cancel(atoi(argv[2]));
	if (strcmp(what, "altstack") == 0 && argc == 4)
		return try_altstack(atoi(argv[2]), argv[3]);
	if (strcmp(what, "calls") == 0 && argc == 4)
		return try_calls(atoi(argv[2]), argv[3]);
	fprintf(stderr, "usage: stacks_harm descriptors ROUNDS PLUGIN | cancel THREADS | "
			"altstack ROUNDS PLUGIN | calls ROUNDS PLUGIN\n");
	return 2;
}
