/* SPDX-License-Identifier: Apache-2.0 */
/*
 * juggler.c - swaps the files of a folder for links, pipes and devices while somebody else uses them
 *
 * usage: juggler FOLDER OUTSIDE
 *
 * Whatever happens to a file of FOLDER (inotify), and every few hundred microseconds where nothing does,
 * it becomes the next one of: itself, a link to OUTSIDE/same name, a FIFO, a link to OUTSIDE/device, itself
 * again. Files that another user makes there become these, too. Prints a line when it begins, and when
 * it is terminated (SIGTERM) how often it swapped.
 */
#include <dirent.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES = 64, NAME = 200 };

static const char *folder, *outside;
static struct {
	char name[NAME];
	unsigned turn;
} file[FILES];
static unsigned n_files, n_swaps;
static volatile sig_atomic_t is_over;

static void path_of(char path[PATH_MAX], const char *in, const char *suffix, const char *name)
{
	snprintf(path, PATH_MAX, "%s%s/%s", in, suffix, name);
}

static unsigned find(const char *name)
{
	char path[PATH_MAX], kept[PATH_MAX];
	unsigned i = 0;

	while (i < n_files && strcmp(file[i].name, name))
		i++;
	if (i < n_files || n_files == FILES || strlen(name) >= NAME)
		return i;
	path_of(path, folder, "", name);
	path_of(kept, folder, ".kept", name);
	/* Another user's: only its name can be taken away. */
	if (link(path, kept))
		rename(path, kept);
	strcpy(file[n_files].name, name);
	return n_files++;
}

static void swap(const char *name)
{
	char path[PATH_MAX], next[PATH_MAX], other[PATH_MAX];
	unsigned i = find(name);
	int err;

	if (i >= n_files)
		return;
	snprintf(next, sizeof(next), "%s.next", folder);
	unlink(next);
	switch (file[i].turn++ % 5) {
	case 0:
		path_of(other, outside, "", name);
		err = symlink(other, next);
		break;
	case 1:
	case 4:
		path_of(other, folder, ".kept", name);
		err = link(other, next);
		break;
	case 2:
		err = mkfifo(next, 0666);
		break;
	default:
		path_of(other, outside, "", "device");
		err = symlink(other, next);
	}
	path_of(path, folder, "", name);
	if (!err && !rename(next, path))
		n_swaps++;
}

static void end(int number)
{
	is_over = 1;
}

static void take_all(void)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			find(entry->d_name);
	if (dir)
		closedir(dir);
}

int main(int argc, char **argv)
{
	char events[8192] __attribute__((aligned(8))), kept[PATH_MAX];
	struct sigaction action = {.sa_handler = end};
	struct pollfd wait = {.events = POLLIN};
	struct timespec short_while = {.tv_nsec = 300000};
	unsigned next = 0;
	ssize_t n;

	if (argc != 3)
		return 2;
	folder = argv[1];
	outside = argv[2];
	sigaction(SIGTERM, &action, NULL);
	snprintf(kept, sizeof(kept), "%s.kept", folder);
	mkdir(kept, 0700);
	take_all();
	wait.fd = inotify_init1(IN_NONBLOCK);
	if (inotify_add_watch(wait.fd, folder, IN_OPEN | IN_CREATE | IN_ACCESS | IN_CLOSE_NOWRITE |
					       IN_CLOSE_WRITE | IN_MOVED_TO) < 0)
		return 1;
	puts("begins");
	fflush(stdout);
	while (!is_over) {
		ppoll(&wait, 1, &short_while, NULL);
		n = read(wait.fd, events, sizeof(events));
		for (ssize_t at = 0; at < n;) {
			const struct inotify_event *event = (const void *)(events + at);

			/* What we put there ourselves is no news. */
			if (event->len && !(event->mask & IN_MOVED_TO))
				swap(event->name);
			at += (ssize_t)sizeof(*event) + event->len;
		}
		if (n <= 0 && n_files)
			swap(file[next++ % n_files].name);
	}
	fprintf(stderr, "%u swaps of %u files\n", n_swaps, n_files);
	return 0;
}
