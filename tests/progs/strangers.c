/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strangers.c - children that no handler of fork hears of
 *
 * usage: strangers syscall|clone|_Fork|newpid N
 *
 * Each of N children allocates 400 blocks of 4,321 bytes and leaves by _exit, exit or exec in turn;
 * the program itself allocates 50 of 1,234 bytes before each and 50 after. Prints how many ended as
 * they should. newpid: each is the first process of a pid namespace; exit status 77 where that may
 * not be had.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void use_heap(int n, size_t bytes)
{
	for (int i = 0; i < n; i++)
		free(malloc(bytes));
}

static int be_child(void *arg)
{
	static char *const argv[] = { (char *)"true", NULL };
	int i = *(int *)arg;

	use_heap(400, 4321);
	if (i % 3 == 0)
		_exit(7);
	if (i % 3 == 1)
		exit(7);
	execvp("true", argv);
	return 1;
}

static pid_t make_child(const char *how, int *i)
{
	static char stack[1 << 20] __attribute__((aligned(16)));
	pid_t pid;

	if (!strcmp(how, "clone"))
		return clone(be_child, stack + sizeof(stack), SIGCHLD, i);
	if (!strcmp(how, "_Fork"))
		pid = _Fork();
	else
		pid = (pid_t)syscall(SYS_clone, SIGCHLD | (*how == 'n' ? CLONE_NEWPID : 0), NULL,
				     NULL, NULL, NULL);
	if (!pid)
		_exit(be_child(i));
	return pid;
}

int main(int argc, char **argv)
{
	int n = argc > 2 ? atoi(argv[2]) : 10, good = 0;

	for (int i = 0; i < n; i++) {
		int status;
		pid_t pid;

		use_heap(50, 1234);
		pid = make_child(argv[1], &i);
		if (pid < 0 && errno == EPERM)
			return 77;
		use_heap(50, 1234);
		good += pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
			WEXITSTATUS(status) == (i % 3 == 2 ? 0 : 7);
	}
	printf("%d of %d\n", good, n);
	return 0;
}
