/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring_sweep.c - removes rings of the dead that nobody will ever ask for
 *
 * A ring is in use as long as its process holds a lock on the file, which the kernel takes back
 * at its death, however that came. The process number alone says nothing: it may be one of
 * another container. The folder is read with the system call, because opendir would take
 * memory from the guest's malloc.
 */
#include "runtime/engine/ring_sweep.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/base/log.h"
#include "runtime/base/text.h"
#include "runtime/trace/ring_layout.h"

enum { MOST_ENTRIES = 4096 };

struct dir_entry {		/* of getdents64(2) */
	uint64_t ino;
	int64_t off;
	uint16_t bytes;
	uint8_t type;
	char name[];
};

static bool is_ring_name(const char *name)
{
	size_t n = strlen(name);

	return n > 16 && !memcmp(name, "trainprof-", 10) && !strcmp(name + n - 5, ".ring");
}

/* Whether the link that was made for it still leads to it. */
static bool is_linked(const char *dir, const char *name, const char *link)
{
	char path[600], target[600];
	struct tp_text text;
	ssize_t n;

	tp_text_init(&text, path, sizeof(path));
	tp_text_fmt(&text, "%s/%s", dir, name);
	n = readlink(link, target, sizeof(target) - 1);
	if (n < 0)
		return false;
	target[n] = '\0';
	return !strcmp(path, target);
}

static void sweep_one(int dir_fd, const char *dir, const char *name)
{
	struct tp_ring_head head;
	struct stat st;
	int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
	    flock(fd, LOCK_EX | LOCK_NB) == 0 &&
	    pread(fd, &head, sizeof(head), 0) == (ssize_t)sizeof(head) &&
	    head.magic == TP_RING_MAGIC && head.version == TP_RING_VERSION &&
	    memchr(head.link_path, '\0', sizeof(head.link_path)) && head.link_path[0] &&
	    !is_linked(dir, name, head.link_path)) {
		unlinkat(dir_fd, name, 0);
		tp_info("removed '%s/%s', left by a dead process whose run folder is gone", dir,
			name);
	}
	close(fd);
}

void tp_ring_sweep(const char *dir)
{
	char buf[4096] __attribute__((aligned(8)));
	uint32_t n_entries = 0;
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return;
	while (n_entries < MOST_ENTRIES) {
		long n = syscall(SYS_getdents64, fd, buf, sizeof(buf));

		if (n <= 0)
			break;
		for (long at = 0; at < n; n_entries++) {
			const struct dir_entry *entry = (const struct dir_entry *)(buf + at);

			if (is_ring_name(entry->name))
				sweep_one(fd, dir, entry->name);
			at += entry->bytes;
		}
	}
	close(fd);
}
