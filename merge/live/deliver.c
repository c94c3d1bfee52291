/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deliver.c - the command that delivers: its line, its process
 */
#include "merge/live/deliver.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "merge/kit/show.h"
#include "runtime/base/begins.h"

enum { PAUSE_MOST = 300, PATH_BYTES = 4096 };

/* In single quotes, whatever is in it. */
static void put_quoted(FILE *line, const char *text)
{
	fputc('\'', line);
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\''", line);
		else
			fputc(*text, line);
	}
	fputc('\'', line);
}

/* The name of a run folder: its last part. */
static void put_run(FILE *line, const char *folder)
{
	char path[PATH_BYTES];
	size_t n;

	if (!realpath(folder, path))
		snprintf(path, sizeof(path), "%s", folder);
	n = strlen(path);
	while (n > 1 && path[n - 1] == '/')
		path[--n] = '\0';
	put_quoted(line, tp_show_base(path));
}

static void put_file(FILE *line, const char *folder, const char *name)
{
	char path[PATH_BYTES];

	/* No option, whatever the folder is called. */
	snprintf(path, sizeof(path), "%s%s/%s", folder[0] == '/' ? "" : "./", folder, name);
	put_quoted(line, path);
}

static bool put_field(FILE *line, const char *at, const char *folder, const char *name, size_t *n)
{
	static const char *const fields[] = {"{file}", "{name}", "{run}"};

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		*n = strlen(fields[i]);
		if (strncmp(at, fields[i], *n))
			continue;
		if (i == 0)
			put_file(line, folder, name);
		else if (i == 1)
			put_quoted(line, name);
		else
			put_run(line, folder);
		return true;
	}
	return false;
}

char *tp_deliver_line(const char *command, const char *folder, const char *name)
{
	static const char rclone[] = "rclone:";
	bool is_rclone = tp_begins(command, strlen(command), rclone), names_file = is_rclone;
	char *text = NULL;
	FILE *line;
	size_t n;

	line = open_memstream(&text, &n);
	if (!line)
		return NULL;
	if (is_rclone) {
		fputs("rclone copyto ", line);
		put_file(line, folder, name);
		fputc(' ', line);
		put_quoted(line, command + sizeof(rclone) - 1);
		fputc('/', line);
		put_quoted(line, name);
	}
	for (const char *at = is_rclone ? "" : command; *at;) {
		if (put_field(line, at, folder, name, &n)) {
			names_file |= strncmp(at, "{run}", 5) != 0;
			at += n;
		} else {
			fputc(*at++, line);
		}
	}
	if (!names_file) {
		fputc(' ', line);
		put_file(line, folder, name);
	}
	fclose(line);
	return text;
}

static _Noreturn void run_shell(const char *line, int lock)
{
	int null = open("/dev/null", O_RDWR);

	setpgid(0, 0);
	/* Its output is the watcher's error stream: standard output may be somebody's data. */
	dup2(null, STDIN_FILENO);
	dup2(STDERR_FILENO, STDOUT_FILENO);
	fcntl(lock, F_SETFD, 0);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	execl("/bin/sh", "sh", "-c", line, (char *)NULL);
	_exit(127);
}

int tp_deliver_start(struct tp_deliver *deliver, const char *command, const char *folder,
		     const char *name, int lock)
{
	char *line = tp_deliver_line(command, folder, name);
	pid_t pid;

	if (!line || strlen(name) >= sizeof(deliver->name)) {
		free(line);
		return line ? -ENAMETOOLONG : -ENOMEM;
	}
	fflush(NULL);
	pid = fork();
	if (!pid)
		run_shell(line, lock);
	free(line);
	if (pid < 0)
		return -errno;
	deliver->pid = pid;
	memcpy(deliver->name, name, strlen(name) + 1);
	return 0;
}

int tp_deliver_poll(struct tp_deliver *deliver)
{
	int status;
	pid_t pid = waitpid(deliver->pid, &status, WNOHANG);

	if (!pid || (pid < 0 && errno == EINTR))
		return -EAGAIN;
	deliver->pid = 0;
	return pid < 0 ? 1 : status;
}

void tp_deliver_stop(struct tp_deliver *deliver)
{
	if (!deliver->pid)
		return;
	kill(-deliver->pid, SIGTERM);
	waitpid(deliver->pid, NULL, 0);
	deliver->pid = 0;
}

uint32_t tp_deliver_pause(uint32_t n_failed)
{
	uint32_t pause = n_failed < 10 ? 1u << (n_failed ? n_failed - 1 : 0) : PAUSE_MOST;

	return pause < PAUSE_MOST ? pause : PAUSE_MOST;
}
