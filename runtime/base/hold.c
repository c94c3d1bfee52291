/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hold.c - a lock on a file for as long as this process lives, which others can ask about
 */
#include "runtime/base/hold.h"

#include <errno.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <time.h>

#include "runtime/base/arena.h"

enum { PAGE_BYTES = 4096 };

int tp_hold_briefly(int fd)
{
	while (flock(fd, LOCK_EX | LOCK_NB) < 0)
		if (errno != EINTR)
			return -errno;
	return 0;
}

int tp_hold(int fd, uint32_t wait_ms)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	void *page;
	int err = tp_hold_briefly(fd);

	for (uint32_t i = 0; err == -EWOULDBLOCK && i < wait_ms; i++) {
		nanosleep(&pause, NULL);
		err = tp_hold_briefly(fd);
	}
	if (err)
		return err;
	/* The lock is the open file's, and a mapping keeps that open. Nobody can read this one. */
	page = tp_map(PAGE_BYTES, PROT_NONE, MAP_PRIVATE, fd);
	if (page != MAP_FAILED && madvise(page, PAGE_BYTES, MADV_DONTFORK) < 0)
		tp_unmap(page, PAGE_BYTES);
	return 0;
}
