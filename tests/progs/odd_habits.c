/* SPDX-License-Identifier: Apache-2.0 */
/*
 * odd_habits.c - things that programs do and that a guest library must live with
 *
 * usage: odd_habits signals|descriptors|dlopen|deepbind|namespace [LIBRARY]
 *
 * signals: a timer's handler allocates while the program does. descriptors: closes all of
 * them, and counts on getting the lowest. dlopen: opens and closes LIBRARY, or libm, a
 * hundred times. deepbind: opens it so that it prefers its own names. namespace: wants a user
 * namespace of its own, as its only thread. Prints what it saw.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static volatile sig_atomic_t n_signals, is_in_heap;

/* Not allowed by any standard, and done all the same. Not inside the program's own malloc:
 * that would be its lock, not ours. */
static void allocate_in_handler(int number)
{
	n_signals++;
	if (!is_in_heap)
		free(malloc(100));
}

static int take_signals(void)
{
	struct itimerval period = { { 0, 500 }, { 0, 500 } };
	volatile unsigned long work = 0;

	signal(SIGALRM, allocate_in_handler);
	setitimer(ITIMER_REAL, &period, NULL);
	while (n_signals < 300) {
		is_in_heap = 1;
		free(malloc(work % 1000));
		is_in_heap = 0;
		for (int i = 0; i < 1000; i++)
			work++;
	}
	puts("300 signals");
	return 0;
}

static int close_everything(void)
{
	int low, other;

	for (int fd = 3; fd < 1024; fd++)
		close(fd);
	low = open("/dev/null", O_RDONLY);
	usleep(300000);
	other = open("/dev/null", O_RDONLY);
	close(low);
	usleep(300000);
	low = open("/dev/null", O_RDONLY);
	printf("%d %d\n", low, other);
	return 0;
}

static int open_library(const char *path, int flags, int times)
{
	for (int i = 0; i < times; i++) {
		void *library = dlopen(path, flags);

		if (!library) {
			puts(dlerror());
			return 1;
		}
		if (dlsym(library, "no_such_name"))
			puts("found what is not there");
		if (!dlerror())
			puts("no error text");
		dlclose(library);
	}
	printf("%d times\n", times);
	return 0;
}

static int take_namespace(void)
{
	usleep(200000);
	puts(unshare(CLONE_NEWUSER) ? strerror(errno) : "a namespace");
	return 0;
}

int main(int argc, char **argv)
{
	const char *habit = argc > 1 ? argv[1] : "", *library = argc > 2 ? argv[2] : "libm.so.6";

	/* Whoever looked for names before main must not have left an error behind. */
	if (dlerror())
		puts("an error of somebody else");
	if (!strcmp(habit, "signals"))
		return take_signals();
	if (!strcmp(habit, "descriptors"))
		return close_everything();
	if (!strcmp(habit, "dlopen"))
		return open_library(library, RTLD_NOW, 100);
	if (!strcmp(habit, "deepbind"))
		return open_library(library, RTLD_NOW | RTLD_DEEPBIND, 1);
	if (!strcmp(habit, "namespace"))
		return take_namespace();
	return 2;
}
