/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring_sweep.c - removes rings of the dead that have nothing to give, takes from the others the memory of
 * what is in files, and names them once
 *
 * A ring is in use as long as its process holds a lock on the file, which the kernel takes back
 * at its death, however that came. The process number alone says nothing: it may be one of
 * another container. Nor does it say anything that no link leads to it: the run folder may have
 * been renamed, or be another container's. So what is in no file stays, and is named. The folder is
 * read with the system call, because opendir would take memory from the guest's malloc.
 */
#include "runtime/engine/ring/ring_sweep.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/base/file.h"
#include "runtime/base/log.h"
#include "runtime/base/text.h"
#include "runtime/engine/ring/ring_file.h"
#include "runtime/engine/ring/ring_left.h"
#include "runtime/trace/ring_layout.h"

enum {
	MOST_ENTRIES = 4096,
	MOST_JUDGED = 64,	/* rings: reading one costs a millisecond or so */
	PATH_BYTES = 600,
};

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
	char path[PATH_BYTES], target[PATH_BYTES];
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

/* Rings that stay though no run folder leads to them. */
struct stray {
	const char *dir;
	int dir_fd;
	bool may_say;
	uint32_t n_judged, n_kept, n_untold;
	uint32_t n_removed;
	uint32_t n_spans_only;	/* stay for where their threads stood: no record of theirs is lost */
	uint64_t bytes;		/* of memory, all that are kept */
	/* The newest of them: */
	int64_t time;
	uint64_t its_bytes;
	struct tp_ring_left left;
	char path[PATH_BYTES], run_dir[PATH_BYTES];
};

static void note_kept(struct stray *stray, const char *name, const struct stat *st,
		      const struct tp_ring_head *head, const struct tp_ring_left *left)
{
	const char *slash = strrchr(head->link_path, '/');
	int64_t time = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
	struct tp_text text;

	stray->n_kept++;
	stray->bytes += (uint64_t)st->st_blocks * 512;
	if (head->after_death & TP_RING_TOLD || (stray->n_untold++ && time < stray->time))
		return;
	stray->time = time;
	stray->its_bytes = (uint64_t)st->st_blocks * 512;
	stray->left = *left;
	tp_text_init(&text, stray->path, sizeof(stray->path));
	tp_text_fmt(&text, "%s/%s", stray->dir, name);
	tp_text_init(&text, stray->run_dir, sizeof(stray->run_dir));
	tp_text_bytes(&text, head->link_path, slash ? (size_t)(slash - head->link_path) : 0);
}

/* So that each is named once, not at the start of every run. */
static void mark_told(int fd, const struct tp_ring_head *head)
{
	uint32_t after_death = head->after_death | TP_RING_TOLD;

	(void)!pwrite(fd, &after_death, sizeof(after_death),
		      offsetof(struct tp_ring_head, after_death));
}

/* Of a process that is dead, and no link leads to it. */
static void judge(struct stray *stray, int fd, const char *name, const struct stat *st,
		  const struct tp_ring_head *head)
{
	struct tp_ring_left left = {0};
	bool is_read;

	is_read = stray->n_judged++ < MOST_JUDGED && tp_ring_left(fd, &left);
	if (is_read && tp_ring_left_is_none(&left)) {
		stray->n_removed += unlinkat(stray->dir_fd, name, 0) == 0;
	} else if (is_read && !left.n_steps && !left.n_records) {
		stray->n_spans_only++;
	} else {
		note_kept(stray, name, st, head, &left);
		if (stray->may_say)
			mark_told(fd, head);
	}
}

static void sweep_one(struct stray *stray, const char *name)
{
	struct tp_ring_head head;
	struct stat st;
	int fd = tp_ring_file_open(stray->dir_fd, name, O_NOFOLLOW);

	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
	    flock(fd, LOCK_EX | LOCK_NB) == 0 &&
	    pread(fd, &head, sizeof(head), 0) == (ssize_t)sizeof(head) &&
	    head.magic == TP_RING_MAGIC && head.version == TP_RING_VERSION &&
	    memchr(head.link_path, '\0', sizeof(head.link_path)) && head.link_path[0]) {
		tp_ring_trim(fd);
		/* With what is so. */
		if (pread(fd, &head, sizeof(head), 0) == (ssize_t)sizeof(head) && !fstat(fd, &st) &&
		    !is_linked(stray->dir, name, head.link_path))
			judge(stray, fd, name, &st, &head);
	}
	close(fd);
}

/* One line, however many there are, here and below. */
static void say_done(const struct stray *stray)
{
	if (stray->n_removed)
		tp_info("removed %u buffer file%s of dead processes from '%s': all their records are in "
			"traces", stray->n_removed, stray->n_removed == 1 ? "" : "s", stray->dir);
	if (stray->n_spans_only)
		tp_info("%u buffer file%s of dead processes in '%s' kept for the merge: open spans of "
			"their threads are in no trace", stray->n_spans_only,
			stray->n_spans_only == 1 ? "" : "s", stray->dir);
}

static void say_kept(const struct stray *stray)
{
	const struct tp_ring_left *left = &stray->left;
	char more[128] = "", held[96];
	struct tp_text text;

	tp_text_init(&text, more, sizeof(more));
	if (stray->n_kept > 1)
		tp_text_fmt(&text, "; %u such files hold %lu MB there", stray->n_kept,
			    stray->bytes >> 20);
	tp_text_init(&text, held, sizeof(held));
	if (left->n_steps || left->n_records)
		tp_text_fmt(&text, "with %lu steps and %lu records that are in no file", left->n_steps,
			    left->n_records);
	else
		tp_text_str(&text, "whose records cannot be counted here");
	tp_warn("a dead process left the buffer file '%s' %s, and '%s' does not lead to it any more: "
		"'trainprof-merge --recover %s', with that folder where it is now, saves them and "
		"frees %lu MB%s", stray->path, held, stray->run_dir, stray->path,
		stray->its_bytes >> 20, more);
}

void tp_ring_sweep(const char *dir, bool may_say)
{
	char buf[4096] __attribute__((aligned(8)));
	struct stray stray = {.dir = dir, .may_say = may_say && tp_log_level() >= TP_LOG_WARN};
	uint32_t n_entries = 0;

	stray.dir_fd = tp_file_open(dir, O_RDONLY | O_DIRECTORY, 0);
	if (stray.dir_fd < 0)
		return;
	while (n_entries < MOST_ENTRIES) {
		long n = syscall(SYS_getdents64, stray.dir_fd, buf, sizeof(buf));

		if (n <= 0)
			break;
		for (long at = 0; at < n; n_entries++) {
			const struct dir_entry *entry = (const struct dir_entry *)(buf + at);

			if (is_ring_name(entry->name))
				sweep_one(&stray, entry->name);
			at += entry->bytes;
		}
	}
	close(stray.dir_fd);
	if (!stray.may_say)
		return;
	say_done(&stray);
	if (stray.n_untold)
		say_kept(&stray);
}
