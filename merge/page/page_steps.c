/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_steps.c - part of the page: every step of the whole run, from the ledgers, and the windows
 *
 * Of a run too long for that, the slowest of so many steps each: `per` says of how many.
 */
#include "merge/page/page_part.h"

enum {
	POINTS_MAX = 16000,	/* of all processes */
	POINTS_LEAST = 100,	/* of one */
	POINTS_MOST = 2000,
	WINDOWS_MAX = 4000,
};

/* The ledgers are read: it needs no events. */
static void begin_steps(void *state, struct tp_facts *facts, const void *params)
{
}

static const struct tp_fact fact_steps = {
	.name = "steps of the page",
	.begin = begin_steps,
};

static uint32_t count_proc(const struct tp_run *run, uint32_t i)
{
	uint32_t n = 1;

	while (i + n < run->n_steps && run->step[i + n].proc == run->step[i].proc)
		n++;
	return n;
}

/* Of every `per` steps the slowest. */
static void put_figure(struct tp_html *html, const char *key, const struct tp_step_row *row,
		       uint32_t n, uint32_t per, int64_t (*figure)(const struct tp_step_row *row))
{
	tp_html_open(html, key, '[');
	for (uint32_t i = 0; i < n; i += per) {
		const struct tp_step_row *slowest = &row[i];

		for (uint32_t k = i + 1; k < n && k < i + per; k++)
			if (row[k].dur_ns > slowest->dur_ns)
				slowest = &row[k];
		tp_html_integer(html, NULL, figure(slowest));
	}
	tp_html_close(html, ']');
}

static int64_t index_of(const struct tp_step_row *row)
{
	return (int64_t)row->index;
}

static int64_t begin_of(const struct tp_step_row *row)
{
	return row->begin_ns;
}

static int64_t time_of(const struct tp_step_row *row)
{
	return row->dur_ns;
}

static int64_t wait_of(const struct tp_step_row *row)
{
	return row->data_wait_ns;
}

static int64_t optimizer_of(const struct tp_step_row *row)
{
	return row->optimizer_ns;
}

static int64_t peak_of(const struct tp_step_row *row)
{
	return (int64_t)row->peak_bytes;
}

static int64_t device_peak_of(const struct tp_step_row *row)
{
	return (int64_t)row->device_peak;
}

static int64_t phase_of(const struct tp_step_row *row)
{
	return row->phase;
}

static const struct {
	const char *key;
	int64_t (*figure)(const struct tp_step_row *row);
} figures[] = {
	{"step", index_of},	  {"begin_ns", begin_of},
	{"time_ns", time_of},	  {"data_wait_ns", wait_of},
	{"optimizer_ns", optimizer_of},
	{"peak_bytes", peak_of},  {"device_peak_bytes", device_peak_of},
	{"phase", phase_of},
};

static void put_windows(const struct tp_run *run, struct tp_html *html)
{
	tp_html_open(html, "windows", '[');
	for (uint32_t i = 0; i < run->n_windows && i < WINDOWS_MAX; i++) {
		tp_html_open(html, NULL, '[');
		tp_html_integer(html, NULL, run->window[i].proc->at);
		tp_html_integer(html, NULL, run->window[i].begin_ns);
		tp_html_integer(html, NULL, run->window[i].end_ns);
		tp_html_close(html, ']');
	}
	tp_html_close(html, ']');
}

static bool write(void *state, const struct tp_run *run, struct tp_html *html)
{
	uint32_t n_procs = 0, most, n;

	for (uint32_t i = 0; i < run->n_steps; i += count_proc(run, i))
		n_procs++;
	most = n_procs ? POINTS_MAX / n_procs : POINTS_MOST;
	most = most < POINTS_LEAST ? POINTS_LEAST : most > POINTS_MOST ? POINTS_MOST : most;
	tp_html_open(html, "procs", '[');
	for (uint32_t i = 0; i < run->n_steps; i += n) {
		uint32_t per;

		n = count_proc(run, i);
		per = (n + most - 1) / most;
		tp_html_open(html, NULL, '{');
		tp_html_integer(html, "proc", run->step[i].proc->at);
		tp_html_integer(html, "steps", n);
		tp_html_integer(html, "per", per);
		for (uint32_t f = 0; f < sizeof(figures) / sizeof(figures[0]); f++)
			put_figure(html, figures[f].key, &run->step[i], n, per, figures[f].figure);
		tp_html_close(html, '}');
	}
	tp_html_close(html, ']');
	put_windows(run, html);
	return n_procs > 0;
}

const struct tp_page_part tp_page_steps = {
	.id = "data-steps",
	.fact = &fact_steps,
	.write = write,
};
