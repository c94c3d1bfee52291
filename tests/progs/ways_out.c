/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ways_out.c - ends in the way that it is told
 *
 * usage: ways_out WAY [MILLISECONDS]   waits first, so that there is something to lose: for its first
 *                                     trace where it is recorded, then by parts, so that a machine
 *                                     that stood still does not take all of the time
 *
 * The handlers print, so that the order and the number of their calls can be compared.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "first_trace.h"

extern char **environ;

static void say(const char *what)
{
	if (write(STDOUT_FILENO, what, strlen(what)) < 0)
		abort();
}

static void at_exit(void)
{
	say("atexit\n");
}

static void at_quick_exit_(void)
{
	say("at_quick_exit\n");
}

static __attribute__((destructor)) void destroy(void)
{
	say("destructor\n");
}

static void leave_in_handler(int number)
{
	_exit(number);
}

static void *leave_in_thread(void *unused)
{
	exit(12);
	return NULL;
}

static void *sleep_in_thread(void *unused)
{
	for (;;)
		pause();
	return NULL;
}

static void *spin_on_heap(void *unused)
{
	for (;;) {
		free(malloc(1000));
		usleep(10);
	}
	return NULL;
}

#define IS(name) (!strcmp(way, name))

/* Another program, by the function of that name; returns if there is none. */
static void become(const char *way)
{
	char *echo_argv[] = { (char *)"echo", (char *)"became", (char *)"echo", NULL };
	char *envp[] = { (char *)"PATH=/bin:/usr/bin", NULL };

	if (IS("execve"))
		execve("/bin/echo", echo_argv, environ);
	if (IS("execv"))
		execv("/bin/echo", echo_argv);
	if (IS("execvp"))
		execvp("echo", echo_argv);
	if (IS("execvpe"))
		execvpe("echo", echo_argv, envp);
	if (IS("fexecve"))
		fexecve(open("/bin/echo", O_RDONLY | O_CLOEXEC), echo_argv, environ);
	if (IS("execl"))
		execl("/bin/echo", "echo", "became", "echo", (char *)NULL);
	if (IS("execlp"))
		execlp("echo", "echo", "became", "echo", (char *)NULL);
	if (IS("execle"))
		execle("/usr/bin/env", "env", (char *)NULL, envp);
}

/* Sent by this process or, stricken, by its child. */
static void end_by_signal(const char *way)
{
	sigset_t term;
	pid_t parent = getpid();
	void *volatile block;

	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	if (IS("int"))
		kill(getpid(), SIGINT);
	if (IS("group")) {
		setpgid(0, 0);
		kill(0, SIGHUP);
	}
	if (IS("stricken")) {
		if (!fork()) {
			kill(parent, SIGTERM);
			_exit(0);
		}
		for (;;)
			pause();
	}
	if (IS("ignored")) {
		signal(SIGTERM, SIG_IGN);
		raise(SIGTERM);
	}
	if (IS("blocked")) {
		sigprocmask(SIG_BLOCK, &term, NULL);
		kill(getpid(), SIGTERM);
		raise(SIGTERM);
		signal(SIGTERM, SIG_IGN);
	}
	if (IS("ignored") || IS("blocked")) {
		block = malloc(2000000000);	/* that recording goes on is seen by this */
		free(block);
		exit(15);
	}
}

static void wait_for(int ms)
{
	await_first_trace();
	for (; ms > 0; ms -= 10)
		usleep(10000);
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "return";
	pthread_t thread;

	atexit(at_exit);
	at_quick_exit(at_quick_exit_);
	if (argc > 2)
		wait_for(atoi(argv[2]));
	if (IS("exit"))
		exit(3);
	if (IS("_exit"))
		_exit(4);
	if (IS("_Exit"))
		_Exit(5);
	if (IS("quick_exit"))
		quick_exit(6);
	if (IS("abort"))
		abort();
	if (IS("segv"))
		raise(SIGSEGV);
	if (IS("term"))
		raise(SIGTERM);
	if (IS("kill"))
		raise(SIGKILL);
	end_by_signal(way);
	if (IS("handler")) {
		signal(SIGTERM, leave_in_handler);
		raise(SIGTERM);
	}
	if (IS("thread")) {
		pthread_create(&thread, NULL, leave_in_thread, NULL);
		pthread_join(thread, NULL);
	}
	if (IS("busy-thread")) {
		for (int i = 0; i < 4; i++)
			pthread_create(&thread, NULL, i % 2 ? sleep_in_thread : spin_on_heap, NULL);
		usleep(20000);
		return 13;
	}
	if (IS("pthread_exit")) {
		pthread_exit(NULL);
	}
	become(way);
	if (IS("failed-exec")) {
		execl("/nowhere/echo", "echo", (char *)NULL);
		perror("exec");
		return 14;
	}
	return 2;
}
