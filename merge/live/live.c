/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live.c - looks at a running job, shows what it sees
 *
 * A page is composed in memory and written at once over the one before, so it does not flicker. The
 * cursor is hidden meanwhile, and nothing else of the terminal is changed.
 */
#include "merge/live/live.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "merge/kit/say.h"
#include "merge/live/http.h"
#include "merge/live/screen.h"
#include "merge/live/metrics.h"
#include "merge/live/step_lines.h"
#include "runtime/base/clock.h"
#include "runtime/base/open.h"

enum { PERIOD_MS = 1000, LINE_PERIOD_MS = 10000, WIDTH = 100, ROWS = 40, PLAIN_WIDTH = 4000 };

static volatile sig_atomic_t is_stopped;

struct showing {
	const struct tp_live_options *options;
	struct tp_follow follow;
	struct tp_live live;
	struct tp_step_lines lines;
	struct tp_http *http;
	bool is_terminal, is_bad;
};

static void on_stop(int number)
{
	(void)number;
	is_stopped = 1;
}

/* No SA_RESTART: the wait ends at once. */
static void catch_signals(void)
{
	const struct sigaction stop = {.sa_handler = on_stop};

	sigaction(SIGINT, &stop, NULL);
	sigaction(SIGTERM, &stop, NULL);
}

bool tp_live_is_address(const char *metrics)
{
	const char *colon = strrchr(metrics, ':');

	return colon && colon[1] && !strchr(metrics, '/') &&
	       strspn(colon + 1, "0123456789") == strlen(colon + 1);
}

/* ---- the page ---- */

static void measure(struct tp_out *out, uint32_t *rows)
{
	struct winsize size;

	*rows = ROWS;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size))
		return;
	out->width = size.ws_col ? size.ws_col : WIDTH;
	*rows = size.ws_row ? size.ws_row : ROWS;
}

/* At most so many lines, each up to the end of the screen's line; below them nothing. */
static void write_page(const char *text, uint32_t rows)
{
	fputs("\033[H", stdout);
	for (uint32_t i = 0; *text && i + 1 < rows; i++) {
		size_t n = strcspn(text, "\n");

		fwrite(text, 1, n, stdout);
		fputs("\033[K\n", stdout);
		text += n + (text[n] == '\n');
	}
	fputs("\033[J", stdout);
}

static void show_page(struct showing *showing)
{
	struct tp_out out = {.width = WIDTH, .has_color = !getenv("NO_COLOR")};
	char *text = NULL;
	uint32_t rows;
	size_t n;

	measure(&out, &rows);
	if (!tp_live_update(&showing->live, &showing->follow, tp_live_page_room(rows)))
		return;
	out.file = open_memstream(&text, &n);
	if (!out.file)
		return;
	tp_live_page(&showing->live, &out);
	fclose(out.file);
	write_page(text, rows);
	free(text);
}

static void show_line(struct showing *showing)
{
	struct tp_out out = {.width = PLAIN_WIDTH, .file = stdout};

	tp_live_line(&showing->live, &out);
}

/* ---- one look ---- */

static void tell_metrics(struct showing *showing)
{
	const char *metrics = showing->options->metrics;
	char *text = NULL;
	size_t n = 0;
	FILE *file;

	if (!showing->http) {
		showing->is_bad |= !tp_metrics_save(&showing->live, metrics);
		return;
	}
	file = open_memstream(&text, &n);
	if (!file)
		return;
	tp_metrics_write(&showing->live, file);
	fclose(file);
	tp_http_set(showing->http, text, n);
}

/* Is standard output gone (| head)? */
static bool is_reader_gone(void)
{
	return fflush(stdout) || ferror(stdout);
}

static void look(struct showing *showing)
{
	const struct tp_live_options *options = showing->options;
	int err = tp_follow_look(&showing->follow);

	if (err) {
		tp_say("cannot read folder '%s': %s", options->folder, tp_file_error(err));
		showing->is_bad = true;
		return;
	}
	if (options->step_lines)
		showing->is_bad |= !tp_step_lines_flush(&showing->lines);
	if (options->has_page && showing->is_terminal)
		show_page(showing);
	else if (tp_live_update(&showing->live, &showing->follow, 0) && options->has_page)
		show_line(showing);
	if (options->metrics)
		tell_metrics(showing);
	if (is_reader_gone())
		is_stopped = 1;
}

/* ---- begin and end ---- */

static bool begin_showing(struct showing *showing)
{
	const struct tp_live_options *options = showing->options;
	int err = tp_follow_open(&showing->follow, options->folder);

	if (err) {
		tp_say("cannot open folder '%s': %s", options->folder, tp_file_error(err));
		return false;
	}
	if (options->metrics && tp_live_is_address(options->metrics)) {
		showing->http = tp_http_open(options->metrics);
		if (!showing->http)
			return false;
	}
	if (options->step_lines) {
		if (!tp_step_lines_open(&showing->lines, options->step_lines))
			return false;
		showing->follow.is_whole = true;
		showing->follow.step = tp_step_lines_put;
		showing->follow.ctx = &showing->lines;
	}
	return true;
}

static void end_showing(struct showing *showing)
{
	tp_http_close(showing->http);
	if (showing->lines.out.file)
		showing->is_bad |= !tp_step_lines_close(&showing->lines);
	tp_live_free(&showing->live);
	tp_follow_close(&showing->follow);
}

bool tp_live_run(const struct tp_live_options *options)
{
	struct showing showing = {.options = options, .is_terminal = isatty(STDOUT_FILENO)};
	uint32_t preset = options->has_page && !showing.is_terminal ? LINE_PERIOD_MS : PERIOD_MS;
	uint64_t period_ns = (options->period_ms ? options->period_ms : preset) * 1000000ull;
	uint64_t next_ns = tp_clock_mono_ns();
	bool is_good = begin_showing(&showing);
	const bool hides_cursor = is_good && options->has_page && showing.is_terminal;

	catch_signals();
	if (hides_cursor)
		fputs("\033[?25l\033[2J", stdout);
	while (is_good && !is_stopped) {
		look(&showing);
		is_good = !showing.is_bad;
		/* What ended is shown as it ended. */
		if (tp_follow_is_over(&showing.follow))
			break;
		next_ns += period_ns;
		if (next_ns < tp_clock_mono_ns())
			next_ns = tp_clock_mono_ns() + period_ns;
		if (is_good && !is_stopped)
			tp_http_serve(showing.http, next_ns);
	}
	if (hides_cursor)
		fputs("\033[?25h", stdout);
	fflush(stdout);
	end_showing(&showing);
	return is_good && !showing.is_bad;
}
