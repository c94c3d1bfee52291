/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sink_html.c - one page with every view, that opens from a disk without anything else
 *
 * The page is its own sources (page_files.h) and data: the tables of all views, each view run
 * here once more beside those of -v, and the charts' aggregates (page_part.h). Nothing in it is
 * markup that a trace could have written: data are JSON (html.h), shown as text, and the page
 * itself forbids every script and style but its own, and all network.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/facts/program/kernels.h"
#include "merge/facts/program/operators.h"
#include "merge/kit/say.h"
#include "merge/model/label.h"
#include "merge/model/sink.h"
#include "merge/model/title.h"
#include "merge/model/view.h"
#include "merge/page/html_tables.h"
#include "merge/page/page_files.h"
#include "merge/page/page_part.h"

enum {
	ROWS_LEAST = 300,	/* of long tables: a page has room, and a search */
	SHOWN_MAX = 2 * TP_VIEWS_MAX,
};

static const struct tp_page_part *const parts[] = {
	&tp_page_steps, &tp_page_curves, &tp_page_flame, &tp_page_stacks, &tp_page_timeline,
};
enum { N_PARTS = sizeof(parts) / sizeof(parts[0]) };

/* A view as it is shown: some are shown in two ways. */
struct shown {
	const struct tp_view *view;
	const char *way;	/* what differs: "by input shapes"; "": nothing */
	void *state;
};

struct page {
	struct tp_html html;
	struct shown shown[SHOWN_MAX];
	uint32_t n_shown;
	void *part[N_PARTS];
	struct tp_html_plain *plain;
};

static struct tp_view_options view_options = {.top = ROWS_LEAST};

static void prepare_html(const struct tp_view_options *options)
{
	view_options = *options;
	if (view_options.top && view_options.top < ROWS_LEAST)
		view_options.top = ROWS_LEAST;
}

static void add_view(struct page *page, struct tp_facts *facts, const struct tp_view *view,
		     const char *way, const struct tp_view_options *options)
{
	page->shown[page->n_shown++] =
		(struct shown){.view = view, .way = way, .state = view->begin(facts, options)};
}

/* The ways that --by-shape and its like show; the page has all of them, whatever was asked for. */
static void add_views(struct page *page, struct tp_facts *facts)
{
	struct tp_view_options plain = view_options, other;

	plain.by_shape = plain.by_stack = plain.by_grid = plain.by_operator = false;
	for (uint32_t i = 0; view_options.all[i]; i++) {
		if (view_options.all[i] == &tp_view_diff && !view_options.compare)
			continue;
		/* The page sorts the table of operators by any column. */
		if (view_options.all[i] == &tp_view_averages)
			continue;
		other = plain;
		/* Beside the timeline that can be zoomed: a screen or two would be little. */
		other.has_top |= view_options.all[i] == &tp_view_trace;
		add_view(page, facts, view_options.all[i], "", &other);
		other = plain;
		if (view_options.all[i] == &tp_view_operator) {
			other.by_shape = true;
			add_view(page, facts, view_options.all[i], "by input shapes", &other);
			other.by_shape = false;
			other.by_stack = true;
			add_view(page, facts, view_options.all[i], "by call stack", &other);
		} else if (view_options.all[i] == &tp_view_kernel) {
			other.by_grid = other.by_operator = true;
			add_view(page, facts, view_options.all[i], "by launch and operator", &other);
		}
	}
}

static void *begin_html(struct tp_facts *facts, const char *path)
{
	struct page *page = calloc(1, sizeof(*page));

	if (!page) {
		tp_say("cannot write '%s': out of memory", path);
		return NULL;
	}
	page->html.out = tp_outfile_open(path);
	if (!page->html.out) {
		free(page);
		return NULL;
	}
	page->plain = tp_html_plain_new();
	/* The finest rows first: those of the views are made of them. */
	tp_kernels_want(facts, true, true);
	tp_operators_want(facts, true, true);
	add_views(page, facts);
	for (uint32_t i = 0; i < N_PARTS; i++)
		page->part[i] = tp_facts_want(facts, parts[i]->fact, NULL);
	return page;
}

static bool has_gpu(const struct tp_run *run)
{
	for (uint32_t i = 0; i < run->n_procs; i++)
		if (run->proc[i]->has_gpu || run->proc[i]->n_queues || run->proc[i]->n_devices)
			return true;
	return false;
}

/* Who is there, as all the rest of the page calls them by number. */
static void put_run(struct tp_html *html, const struct tp_run *run)
{
	char label[64], program[400];

	tp_html_begin(html, "data-run");
	tp_html_open(html, NULL, '{');
	tp_html_text(html, "path", run->path);
	if (run->n_procs) {
		tp_html_text(html, "program", tp_label_program(program, run->proc[0]));
		tp_html_text(html, "host", run->proc[0]->host);
	}
	tp_html_integer(html, "events", (int64_t)run->n_events);
	tp_html_integer(html, "real_ms", (int64_t)(run->zero_real_ns / 1000000));
	tp_html_integer(html, "has_gpu", has_gpu(run));
	tp_html_open(html, "procs", '[');
	for (uint32_t i = 0; i < run->n_procs; i++)
		tp_html_text(html, NULL, tp_label_proc(label, run, run->proc[i]));
	tp_html_close(html, ']');
	tp_html_close(html, '}');
	tp_html_end(html);
}

static void put_views(struct page *page, const struct tp_run *run)
{
	struct tp_html *html = &page->html;

	tp_html_begin(html, "data-views");
	tp_html_open(html, NULL, '[');
	for (uint32_t i = 0; i < page->n_shown; i++) {
		struct shown *shown = &page->shown[i];
		struct tp_html_plain *plain = *shown->way ? NULL : page->plain;
		struct tp_html_tables tables;

		tp_html_plain_view(plain, shown->view->name);
		tp_html_open(html, NULL, '{');
		tp_html_text(html, "name", shown->view->name);
		tp_html_text(html, "help", shown->view->help);
		tp_html_text(html, "way", shown->way);
		tp_html_open(html, "blocks", '[');
		shown->view->print(shown->state, run,
				   tp_html_tables(&tables, html, plain, view_options.sort));
		tp_html_close(html, ']');
		tp_html_close(html, '}');
	}
	tp_html_close(html, ']');
	tp_html_end(html);
}

/* Then which of them have anything: most of the page's bytes are read only when they are looked at. */
static void put_parts(struct page *page, const struct tp_run *run)
{
	struct tp_html *html = &page->html;
	bool has[N_PARTS];

	for (uint32_t i = 0; i < N_PARTS; i++) {
		tp_html_begin(html, parts[i]->id);
		tp_html_open(html, NULL, '{');
		has[i] = parts[i]->write(page->part[i], run, html);
		tp_html_close(html, '}');
		tp_html_end(html);
	}
	tp_html_begin(html, "data-parts");
	tp_html_open(html, NULL, '{');
	for (uint32_t i = 0; i < N_PARTS; i++)
		tp_html_integer(html, parts[i]->id, has[i]);
	tp_html_close(html, '}');
	tp_html_end(html);
}

static void put_file(struct tp_html *html, const char *tag, enum tp_page_file file)
{
	size_t n;
	const char *bytes = tp_page_file(file, &n);

	if (!n)
		return;
	tp_html_raw(html, "<");
	tp_html_raw(html, tag);
	tp_html_raw(html, ">");
	tp_outfile_bytes(html->out, bytes, n);
	tp_html_raw(html, "</");
	tp_html_raw(html, tag);
	tp_html_raw(html, ">\n");
}

static void put_policy(struct tp_html *html)
{
	char a[64], b[64];

	tp_html_raw(html, "<meta http-equiv=\"Content-Security-Policy\" "
			  "content=\"default-src 'none'; base-uri 'none'; form-action 'none'; "
			  "script-src '");
	tp_html_raw(html, tp_page_hash(TP_PAGE_JS, a));
	tp_html_raw(html, "' '");
	tp_html_raw(html, tp_page_hash(TP_PAGE_CHARTS_JS, b));
	tp_html_raw(html, "'; style-src '");
	tp_html_raw(html, tp_page_hash(TP_PAGE_CSS, a));
	tp_html_raw(html, "' '");
	tp_html_raw(html, tp_page_hash(TP_PAGE_CHARTS_CSS, b));
	tp_html_raw(html, "'\">\n");
}

/* What stands for each mark of page.html. */
static void put_mark(struct page *page, const struct tp_run *run, const char *mark, size_t n)
{
	struct tp_html *html = &page->html;

	if (n == 6 && !memcmp(mark, "policy", n)) {
		put_policy(html);
	} else if (n == 6 && !memcmp(mark, "styles", n)) {
		put_file(html, "style", TP_PAGE_CHARTS_CSS);
		put_file(html, "style", TP_PAGE_CSS);
	} else if (n == 4 && !memcmp(mark, "data", n)) {
		put_run(html, run);
		put_views(page, run);
		put_parts(page, run);
	} else if (n == 7 && !memcmp(mark, "scripts", n)) {
		put_file(html, "script", TP_PAGE_CHARTS_JS);
		put_file(html, "script", TP_PAGE_JS);
	} else if (n == 5 && !memcmp(mark, "plain", n)) {
		tp_html_plain_put(page->plain, html);
	}
}

static int end_html(void *state, const struct tp_run *run)
{
	struct page *page = state;
	size_t n;
	const char *at = tp_page_file(TP_PAGE_HTML, &n), *to = at + n;
	int err;

	while (at < to) {
		const char *mark = memmem(at, (size_t)(to - at), "{{", 2);
		const char *after = mark ? memmem(mark, (size_t)(to - mark), "}}", 2) : NULL;

		if (!after)
			mark = to;
		tp_outfile_bytes(page->html.out, at, (size_t)(mark - at));
		if (!after)
			break;
		put_mark(page, run, mark + 2, (size_t)(after - mark - 2));
		at = after + 2;
	}
	err = tp_outfile_close(page->html.out);
	free(page);
	return err;
}

const struct tp_sink tp_sink_html = {
	.name = "html",
	.help = "every view and its charts in one page, for any browser, without a network",
	.hint = "open it in a browser",
	.suffix = ".html",
	.has_views = true,
	.prepare = prepare_html,
	.begin = begin_html,
	.end = end_html,
};
