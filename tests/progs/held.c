/* SPDX-License-Identifier: Apache-2.0 */
/*
 * held.c - a program of many kinds of calls, and one that takes a system call away from the next
 *
 * usage: held work			allocates, makes threads and files, forks, execs; prints what came
 *					of it, exit status 5
 *	  held until-closed		the same, after standard input has ended
 *	  held allocate			allocates on four threads until it is killed
 *	  held steps N			N steps with marks; prints whether memory grew in the last nine
 *					tenths of them
 *	  held refuse NUMBER ERRNO COMMAND...	in which that system call answers ERRNO
 *	  held kill NUMBER COMMAND...		in which it ends the process that makes it
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "preload/trainprof.h"

static void *allocate(void *sum)
{
	for (int i = 0; i < 20000; i++) {
		char *block = malloc((size_t)(i % 500) + 1);

		block[i % 500] = 1;
		*(int *)sum += block[i % 500];
		free(block);
	}
	return NULL;
}

static int use_file(const char *name)
{
	char text[32] = "";
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600), n = 0;

	if (fd < 0)
		return -1;
	if (write(fd, "some text", 9) == 9 && pread(fd, text, sizeof(text), 0) == 9)
		n = !strcmp(text, "some text");
	close(fd);
	unlink(name);
	return n;
}

static int use_child(void)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		int sum = 0;

		allocate(&sum);
		_exit(sum == 20000 ? 3 : 4);
	}
	if (pid > 0)
		waitpid(pid, &status, 0);
	return status;
}

static int work(void)
{
	pthread_t thread[3];
	int sum[4] = {0}, made = 0;

	for (int i = 0; i < 3; i++)
		made += !pthread_create(&thread[i], NULL, allocate, &sum[i]);
	allocate(&sum[3]);
	for (int i = 0; i < made; i++)
		pthread_join(thread[i], NULL);
	printf("%d threads, %d %d %d %d\n", made, sum[0], sum[1], sum[2], sum[3]);
	printf("file %d\n", use_file("held.file"));
	printf("child %x\n", use_child());
	fflush(stdout);
	return 5;
}

static long resident_pages(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	long all = 0, resident = 0;

	if (!file || fscanf(file, "%ld %ld", &all, &resident) != 2)
		return -1;
	fclose(file);
	return resident;
}

static int step(long n)
{
	long early = 0, grown;

	for (long i = 0; i < n; i++) {
		trainprof_begin("forward", "model");
		free(malloc(1000));
		trainprof_end();
		trainprof_step();
		if (i % 20 == 0)
			usleep(500);	/* a training that is this fast is none */
		if (i == n / 10)
			early = resident_pages();
	}
	grown = resident_pages() - early;
	/* A megabyte: less than four bytes a step. */
	printf("%s\n", early > 0 && grown < 256 ? "flat" : "grown");
	fprintf(stderr, "%ld pages more\n", grown);
	return 0;
}

/* `answer`: SECCOMP_RET_... */
static int run_with(unsigned number, unsigned answer, char **argv)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, answer),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {sizeof(filter) / sizeof(filter[0]), filter};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		return 77;
	execv(argv[0], argv);
	return 76;
}

static void *keep_allocating_here(void *arg)
{
	for (;;) {
		int sum = 0;

		allocate(&sum);
	}
	return arg;
}

static void keep_allocating(void)
{
	pthread_t thread;

	for (int i = 0; i < 3; i++)
		pthread_create(&thread, NULL, keep_allocating_here, NULL);
	keep_allocating_here(NULL);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	char byte;

	if (!strcmp(what, "refuse") && argc > 4)
		return run_with((unsigned)atoi(argv[2]), SECCOMP_RET_ERRNO | (unsigned)atoi(argv[3]),
				argv + 4);
	if (!strcmp(what, "kill") && argc > 3)
		return run_with((unsigned)atoi(argv[2]), SECCOMP_RET_KILL_PROCESS, argv + 3);
	if (!strcmp(what, "steps") && argc > 2)
		return step(atol(argv[2]));
	if (!strcmp(what, "allocate"))
		keep_allocating();
	while (!strcmp(what, "until-closed") && read(STDIN_FILENO, &byte, 1) > 0)
		;
	return work();
}
