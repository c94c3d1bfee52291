/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map_spy.c - mmap and munmap in front of everybody's, as memory profilers have them: to be preloaded
 *
 * At the end the number of calls by threads of the profiler's is written into the file of MAP_SPY, and
 * whether there were any calls: "0 of some".
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_int n_all, n_profilers;

static void count(void)
{
	char name[16] = "";

	n_all++;
	prctl(PR_GET_NAME, name);
	n_profilers += !strncmp(name, "trainprof", 9);
}

void *mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
	count();
	return (void *)syscall(SYS_mmap, at, bytes, protection, flags, fd, offset);
}

int munmap(void *at, size_t bytes)
{
	count();
	return (int)syscall(SYS_munmap, at, bytes);
}

__attribute__((destructor)) static void tell(void)
{
	const char *path = getenv("MAP_SPY");
	int fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644) : -1;

	if (fd < 0)
		return;
	dprintf(fd, "%d of %s\n", n_profilers, n_all ? "some" : "none");
	close(fd);
}
