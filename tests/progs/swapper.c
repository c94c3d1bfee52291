/* SPDX-License-Identifier: Apache-2.0 */
/*
 * swapper.c - changes what names are, just when somebody else uses them
 *
 * usage: swapper FOLDER OUTSIDE ledger|part|folder|link
 *
 * Waits for what happens in FOLDER (inotify), and then, ledger: once a ledger (.steps) was read, puts
 * a link to OUTSIDE/same name in its place. part: puts a link in the place of every file as soon as
 * it is made. folder: once a window's last file has its name, FOLDER moves away, and a link
 * to OUTSIDE stands there. link: waits for nothing; FOLDER/rank7.tpt and a link to OUTSIDE/rank7.tpt take
 * each other's place all the time. Prints a line when it begins; runs until it is killed.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

static const char *folder, *outside;
static int n_links;

static int ends_with(const char *name, const char *end)
{
	size_t n = strlen(name), n_end = strlen(end);

	return n >= n_end && !strcmp(name + n - n_end, end);
}

/* `name` in the folder becomes a link to the same name outside. */
static void put_link(const char *name)
{
	char target[PATH_MAX], link[PATH_MAX], path[PATH_MAX];

	snprintf(target, sizeof(target), "%s/%s", outside, name);
	snprintf(link, sizeof(link), "%s.swap%d", folder, n_links++);
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	if (!symlink(target, link))
		rename(link, path);
}

static void put_folder(void)
{
	char moved[PATH_MAX];

	snprintf(moved, sizeof(moved), "%s.moved", folder);
	if (!rename(folder, moved) && symlink(outside, folder))
		rename(moved, folder);
}

/* Whoever owns what has the name: the folder is ours. */
static void exchange_links(void)
{
	char target[PATH_MAX], link[PATH_MAX], path[PATH_MAX];

	snprintf(target, sizeof(target), "%s/rank7.tpt", outside);
	snprintf(link, sizeof(link), "%s.link", folder);
	snprintf(path, sizeof(path), "%s/rank7.tpt", folder);
	if (symlink(target, link))
		return;
	while (!renameat2(AT_FDCWD, link, AT_FDCWD, path, RENAME_EXCHANGE))
		;
}

static void answer(const struct inotify_event *event, const char *what)
{
	if (!event->len)
		return;
	if (!strcmp(what, "ledger") && event->mask & IN_CLOSE_NOWRITE &&
	    ends_with(event->name, ".steps"))
		put_link(event->name);
	if (!strcmp(what, "part") && event->mask & IN_CREATE && !strstr(event->name, "swap"))
		put_link(event->name);
	if (!strcmp(what, "folder") && event->mask & IN_MOVED_TO &&
	    ends_with(event->name, ".tpt"))
		put_folder();
}

int main(int argc, char **argv)
{
	char events[4096] __attribute__((aligned(8)));
	int watch = inotify_init();
	ssize_t n;

	if (argc != 4)
		return 2;
	folder = argv[1];
	outside = argv[2];
	if (inotify_add_watch(watch, folder, IN_CREATE | IN_CLOSE_NOWRITE | IN_MOVED_TO) < 0)
		return 1;
	puts("waits");
	fflush(stdout);
	if (!strcmp(argv[3], "link"))
		exchange_links();
	while ((n = read(watch, events, sizeof(events))) > 0)
		for (ssize_t at = 0; at < n;) {
			const struct inotify_event *event = (const void *)(events + at);

			answer(event, argv[3]);
			at += (ssize_t)sizeof(*event) + event->len;
		}
	return 1;
}
