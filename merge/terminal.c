/* SPDX-License-Identifier: Apache-2.0 */
/*
 * terminal.c - where the text and the rows of views go: a terminal, its pager, a pipe, files
 *
 * Text for a terminal is collected first: how long it is decides whether a pager starts. A pager
 * is chosen as git does it: PAGER, else less; none where that is empty or "cat", on a dumb
 * terminal, and with --no-pager.
 */
#include "merge/terminal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "merge/fields.h"
#include "merge/kit/say.h"

enum { WIDTH = 100, WIDTH_LEAST = 40, WIDTH_MOST = 10000 };

static struct {
	const char *output;	/* name of the file; NULL: standard output */
	char *text;		/* for a terminal; NULL: written as it comes */
	size_t n_text;
	unsigned rows;		/* of the screen; 0: not known */
	bool has_pager;
	struct tp_rows_to to;
	const char *field[TP_FIELDS_MAX];	/* of to */
} terminal;

/* What COLUMNS says; 0: nothing that makes sense. */
static uint32_t asked_width(void)
{
	const char *text = getenv("COLUMNS");
	char *end;
	unsigned long width;

	if (!text || *text < '0' || *text > '9')
		return 0;
	width = strtoul(text, &end, 10);
	return *end || width < WIDTH_LEAST || width > WIDTH_MOST ? 0 : (uint32_t)width;
}

static bool is_dumb(void)
{
	const char *term = getenv("TERM");

	return term && !strcmp(term, "dumb");
}

static void measure(struct tp_out *out)
{
	struct winsize size;

	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col) {
		out->width = size.ws_col;
		terminal.rows = size.ws_row;
	}
}

/* Where rows go: standard output, a file, files of a folder. False: nowhere, and that is said. */
static bool open_rows(struct tp_out *out, const struct tp_command *command)
{
	const char *output = command->output;
	int err;

	terminal.to = (struct tp_rows_to){.field = terminal.field};
	terminal.to.n_fields = tp_fields_all(command->shown, command->n_shown, terminal.field, TP_FIELDS_MAX);
	out->rows_to = &terminal.to;
	/* A file is that of the format beside the rows. */
	if (!output || tp_sink_is_stdout(output) || (command->n_sinks && !tp_sink_is_folder(output)))
		return true;
	if (tp_sink_is_folder(output)) {
		terminal.to.folder = output;
		err = tp_sink_make_folder(output);
		if (err)
			tp_say("cannot make the folder '%s': %s", output, strerror(-err));
		return !err;
	}
	terminal.output = output;
	out->file = fopen(output, "we");
	if (!out->file)
		tp_say("cannot write '%s': %s", output, strerror(errno));
	return out->file != NULL;
}

bool tp_terminal_open(struct tp_out *out, const struct tp_command *command)
{
	uint32_t width = asked_width();

	*out = (struct tp_out){.file = stdout, .width = WIDTH, .rows = command->rows,
		.sort = command->view.sort, .is_whole = true,
		.top = command->view.has_top ? command->view.top : 0};
	if (command->rows)
		return open_rows(out, command);
	if (isatty(STDOUT_FILENO)) {
		measure(out);
		out->is_whole = false;
		out->has_color = !getenv("NO_COLOR") && !is_dumb();
		terminal.has_pager = !command->is_no_pager && !is_dumb();
		out->file = open_memstream(&terminal.text, &terminal.n_text);
		if (!out->file)
			out->file = stdout;
	}
	out->width = width ? width : out->width;
	return true;
}

/* Lines of the screen that the text takes; a line may take several. */
static uint64_t count_rows(const char *text, uint32_t width)
{
	uint64_t n = 0;

	while (*text) {
		size_t bytes = strcspn(text, "\n");

		n += 1 + (bytes ? (bytes - 1) / width : 0);
		text += bytes + (text[bytes] == '\n');
	}
	return n;
}

/* NULL: none is wanted. */
static const char *find_pager(void)
{
	const char *pager = getenv("PAGER");

	if (!terminal.has_pager)
		return NULL;
	if (!pager)
		return "if command -v less >/dev/null; then exec less; else exec cat; fi";
	return *pager && strcmp(pager, "cat") != 0 ? pager : NULL;
}

/* In the child: the pager, its input from `from`. */
static _Noreturn void run_pager(const char *pager, const int pipe_ends[2])
{
	dup2(pipe_ends[0], STDIN_FILENO);
	close(pipe_ends[0]);
	close(pipe_ends[1]);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	/* Colours as they are, nothing cleared, as git has it; the user's own LESS stays. */
	setenv("LESS", "FRX", 0);
	execl("/bin/sh", "sh", "-c", pager, (char *)NULL);
	_exit(127);
}

/* 0, or an error of errno: nothing was written. */
static int write_pager(const char *pager)
{
	int ends[2], status;
	void (*before)(int);
	FILE *file;
	pid_t pid;

	if (pipe(ends))
		return errno;
	fflush(NULL);
	pid = fork();
	if (pid == 0)
		run_pager(pager, ends);
	close(ends[0]);
	if (pid < 0) {
		int err = errno;

		close(ends[1]);
		return err;
	}
	/* ^C is the pager's. */
	before = signal(SIGINT, SIG_IGN);
	file = fdopen(ends[1], "w");
	if (file) {
		fwrite(terminal.text, 1, terminal.n_text, file);
		fclose(file);
	} else {
		close(ends[1]);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	signal(SIGINT, before);
	return WIFEXITED(status) && WEXITSTATUS(status) >= 126 ? ENOENT : 0;
}

static void write_text(uint32_t width)
{
	const char *pager = find_pager();

	if (!pager || !terminal.rows || count_rows(terminal.text, width) < terminal.rows ||
	    write_pager(pager))
		fwrite(terminal.text, 1, terminal.n_text, stdout);
	free(terminal.text);
	terminal.text = NULL;
}

/* Has standard output lost its reader (| head)? That one has what it wanted. */
static bool is_reader_gone(void)
{
	struct pollfd fd = {.fd = STDOUT_FILENO};

	return poll(&fd, 1, 0) == 1 && (fd.revents & (POLLERR | POLLHUP));
}

bool tp_terminal_flush(void)
{
	bool is_bad = fflush(stdout) || ferror(stdout);
	int err = errno;

	if (!is_bad || is_reader_gone())
		return true;
	tp_say("cannot write to standard output: %s", strerror(err));
	return false;
}

bool tp_terminal_close(struct tp_out *out)
{
	bool is_bad = false;

	if (out->file != stdout) {
		is_bad = ferror(out->file);
		is_bad |= fclose(out->file) != 0;
	}
	if (terminal.text)
		write_text(out->width);
	if (is_bad && terminal.output)
		tp_say("cannot write '%s': %s", terminal.output, strerror(errno));
	return tp_terminal_flush() && !is_bad && !terminal.to.is_bad;
}
