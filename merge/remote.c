/* SPDX-License-Identifier: Apache-2.0 */
/*
 * remote.c - runs rclone copy, and takes away what it has brought
 */
#include "merge/remote.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "merge/kit/say.h"
#include "merge/kit/scratch.h"
#include "merge/kit/show.h"

enum { DESCRIPTORS = 16 };	/* that a walk of the folder holds */

/* What tp_input_add takes of a folder: traces, whole or not, node files, ledgers, rings, reports,
 * traces of torch.profiler. */
static const char wanted[] = "*.{tpt,tpt.part,tpn,steps,ring,hang,oom,pt.trace.json,pt.trace.json.gz}";

/* What was fetched; nftw hands nothing on. */
static struct {
	uint64_t n_files, n_bytes;
} fetched;

bool tp_remote_is(const char *path)
{
	const char *name = path + (*path == ':');
	size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.");

	return n && name[n] == ':' && access(path, F_OK);
}

static _Noreturn void run_rclone(const char *path, const char *folder)
{
	int null = open("/dev/null", O_RDWR);

	/* Standard output may be somebody's data. */
	dup2(null, STDIN_FILENO);
	dup2(STDERR_FILENO, STDOUT_FILENO);
	signal(SIGPIPE, SIG_DFL);
	execlp("rclone", "rclone", "copy", "--include", wanted, "--", path, folder, (char *)NULL);
	_exit(errno == ENOENT ? 127 : 126);
}

/* As waitpid's; -1: no process. */
static int copy(const char *path, const char *folder)
{
	int status = -1;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid)
		run_rclone(path, folder);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

static int count(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)at;
	tp_scratch_add(path);
	if (type != FTW_F)
		return 0;
	fetched.n_files++;
	fetched.n_bytes += (uint64_t)st->st_size;
	return 0;
}

static int take_away(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	remove(path);
	tp_scratch_forget(path);
	return 0;
}

/* With the folder that it is in, which was made for it. */
void tp_remote_free(char *folder)
{
	if (!folder)
		return;
	*strrchr(folder, '/') = '\0';
	nftw(folder, take_away, DESCRIPTORS, FTW_DEPTH | FTW_PHYS);
	free(folder);
}

static void say_failed(const char *path, int status)
{
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		tp_say("cannot fetch '%s': no rclone is installed", path);
	else
		tp_say("cannot fetch '%s': rclone failed, see above", path);
}

/* The last part of the path: runs are called by their folders. Not one that leads out of ours. */
static const char *find_name(const char *path, int *n)
{
	static const char plain[] = "run";
	size_t end = strlen(path), begin;

	while (end && path[end - 1] == '/')
		end--;
	for (begin = end; begin && path[begin - 1] != '/' && path[begin - 1] != ':';)
		begin--;
	*n = (int)(end - begin);
	if (strspn(path + begin, ".") < end - begin)
		return path + begin;
	*n = sizeof(plain) - 1;
	return plain;
}

/* A new folder with a name in it, that is not made yet. */
static char *make_folder(const char *path)
{
	const char *tmp = getenv("TMPDIR"), *name;
	char *folder, *inner = NULL;
	int err, n;

	if (asprintf(&folder, "%s/trainprof-fetched-XXXXXX", tmp && *tmp ? tmp : "/tmp") < 0)
		return NULL;
	err = tp_scratch_folder(folder);
	name = find_name(path, &n);
	if (!err && asprintf(&inner, "%s/%.*s", folder, n, name) < 0)
		inner = NULL;
	if (err)
		tp_say("cannot make the folder '%s': %s", folder, strerror(-err));
	free(folder);
	return inner;
}

char *tp_remote_fetch(const char *path, bool is_quiet)
{
	char *folder = make_folder(path), size[32];
	int status;

	if (!folder)
		return NULL;
	status = copy(path, folder);
	fetched.n_files = fetched.n_bytes = 0;
	nftw(folder, count, DESCRIPTORS, FTW_PHYS);
	if (status || !fetched.n_files) {
		if (status)
			say_failed(path, status);
		else
			tp_say("'%s' holds no trace, step log, buffer file or node file", path);
		tp_remote_free(folder);
		return NULL;
	}
	if (!is_quiet)
		tp_say("fetched %llu file%s (%s) from '%s'", (unsigned long long)fetched.n_files,
		       fetched.n_files == 1 ? "" : "s", tp_show_bytes(size, (int64_t)fetched.n_bytes), path);
	return folder;
}
