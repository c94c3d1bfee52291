/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symlinks.c - links one by one, each read from the descriptor by which its owner was asked
 */
#include "merge/kit/symlinks.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	MOST_LINKS = 40,	/* as the kernel has it */
	APPEND = O_WRONLY | O_APPEND | O_CLOEXEC,
};

struct walk {
	int at;				/* folder in which the next name is looked up; ours */
	char rest[PATH_MAX];		/* names that are left */
	uint32_t n_links;
	uid_t owner;			/* of the links so far that are neither root's nor the caller's */
	bool has_owner;
};

static int open_place(int folder, const char *name, int flags)
{
	int place = openat(folder, name, O_PATH | O_CLOEXEC | flags);

	return place < 0 ? -errno : place;
}

/* The folder in which the name lies. */
static int open_folder(int folder, const char *name)
{
	const char *slash = strrchr(name, '/');
	char path[PATH_MAX];

	if (!slash)
		return open_place(folder, ".", O_DIRECTORY);
	if (slash - name >= PATH_MAX - 1)
		return -ENAMETOOLONG;
	snprintf(path, sizeof(path), "%.*s", (int)(slash + 1 - name), name);
	return open_place(folder, path, O_DIRECTORY);
}

/* `place` is the walk's own from now on. */
static int move_to(struct walk *walk, int place)
{
	if (place < 0)
		return place;
	close(walk->at);
	walk->at = place;
	return 0;
}

/* The link's text comes before the names that are left. */
static int take_link(struct walk *walk, int link, const struct stat *st)
{
	char text[PATH_MAX], rest[PATH_MAX];
	ssize_t n = readlinkat(link, "", text, sizeof(text) - 1);

	if (n <= 0)
		return n ? -errno : -ENOENT;
	text[n] = '\0';
	if (++walk->n_links > MOST_LINKS)
		return -ELOOP;
	if (st->st_uid && st->st_uid != geteuid()) {
		if (walk->has_owner && walk->owner != st->st_uid)
			return -EPERM;
		walk->owner = st->st_uid;
		walk->has_owner = true;
	}
	if (snprintf(rest, sizeof(rest), "%s/%s", text, walk->rest) >= (int)sizeof(rest))
		return -ENAMETOOLONG;
	memcpy(walk->rest, rest, sizeof(rest));
	return text[0] == '/' ? move_to(walk, open_place(AT_FDCWD, "/", O_DIRECTORY)) : 0;
}

/* The next name of those that are left, taken off them. False: none is. */
static bool next_name(struct walk *walk, char name[PATH_MAX])
{
	const char *from = walk->rest + strspn(walk->rest, "/");
	size_t n = strcspn(from, "/");

	snprintf(name, PATH_MAX, "%.*s", (int)n, from);
	memmove(walk->rest, from + n, strlen(from + n) + 1);
	return n > 0;
}

static int walk_on(struct walk *walk)
{
	char name[PATH_MAX];
	struct stat st;
	int err = 0;

	while (!err && next_name(walk, name)) {
		int place = open_place(walk->at, name, O_NOFOLLOW);

		if (place < 0)
			return place;
		if (fstat(place, &st) < 0)
			err = -errno;
		else if (S_ISLNK(st.st_mode))
			err = take_link(walk, place, &st);
		else
			err = move_to(walk, place);
		if (place != walk->at)
			close(place);
	}
	return err;
}

/* `link` is what the name was; its walk begins in the folder of the name. */
static int follow(int folder, const char *name, int link, struct stat *st)
{
	struct walk walk = {.at = open_folder(folder, name)};
	int err = walk.at < 0 ? walk.at : take_link(&walk, link, st);

	if (!err)
		err = walk_on(&walk);
	if (!err && fstat(walk.at, st) < 0)
		err = -errno;
	if (!err && walk.has_owner && walk.owner != st->st_uid)
		err = -EPERM;
	if (err && walk.at >= 0)
		close(walk.at);
	return err ? err : walk.at;
}

int tp_symlinks_follow(int folder, const char *name, struct stat *st)
{
	int place = open_place(folder, name, O_NOFOLLOW), end;

	if (place < 0)
		return place;
	if (fstat(place, st) < 0)
		end = -errno;
	else if (S_ISLNK(st->st_mode))
		end = follow(folder, name, place, st);
	else
		return place;
	close(place);
	return end;
}

/* To the end of what was judged, whatever has its name by now. */
static int append_to(int place)
{
	char again[64];
	int fd;

	snprintf(again, sizeof(again), "/proc/self/fd/%d", place);
	fd = open(again, APPEND);
	fd = fd < 0 ? -errno : fd;
	close(place);
	return fd;
}

/* Anew, or by a link that leads where its owner says: through /proc, too, where links have no text. */
static int append_by_name(const char *name, int flags)
{
	int fd = open(name, APPEND | flags, 0666);

	return fd < 0 ? -errno : fd;
}

int tp_symlinks_append(const char *name)
{
	int place = open_place(AT_FDCWD, name, O_NOFOLLOW);
	struct stat st;

	if (place == -ENOENT)
		return append_by_name(name, O_CREAT | O_EXCL);
	if (place < 0 || fstat(place, &st) < 0)
		return place < 0 ? place : -errno;
	if (!S_ISLNK(st.st_mode))
		return append_to(place);
	close(place);
	if (!st.st_uid || st.st_uid == geteuid())
		return append_by_name(name, O_CREAT);
	place = tp_symlinks_follow(AT_FDCWD, name, &st);
	return place < 0 ? place : append_to(place);
}
