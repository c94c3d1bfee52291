/* SPDX-License-Identifier: Apache-2.0 */
/*
 * screen.c - the page of trainprof-merge --live: what the job does, rank by rank, its last windows
 */
#include "merge/live/screen.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "merge/kit/stats.h"

enum {
	LINES = 14,		/* of the page beside the rows of ranks */
	ROOM_LEAST = 4,
	WINDOWS = 4,		/* that are shown */
	SLOW_PERCENT = 110,	/* of the mean: a rank is called slow */
	RATE_COLUMNS = 60,
};

uint32_t tp_live_page_room(uint32_t rows)
{
	return rows > LINES + ROOM_LEAST ? rows - LINES : ROOM_LEAST;
}

static const char *show_clock(char buf[32], time_t now)
{
	struct tm tm;

	localtime_r(&now, &tm);
	strftime(buf, 32, "%H:%M:%S", &tm);
	return buf;
}

static void put_state(const struct tp_live *live, char buf[96])
{
	const struct tp_live_row *all = &live->all;
	uint32_t n_dead = all->n - all->n_alive - all->n_ended;
	int n = snprintf(buf, 96, "%u of %u ranks run", all->n_alive, all->n);

	if (all->n_ended)
		n += snprintf(buf + n, 96 - (size_t)n, ", %u ended", all->n_ended);
	if (n_dead)
		snprintf(buf + n, 96 - (size_t)n, ", %u dead", n_dead);
}

static void put_head(const struct tp_live *live, struct tp_out *out)
{
	const struct tp_ledger_head *head = live->n ? &live->now[0].rank->head : NULL;
	const struct tp_live_row *all = &live->all;
	char state[96], clock[32], low[32], high[32];

	if (!head) {
		tp_out_line(out, "bold", "%s  %s  no rank has begun yet", live->follow->folder,
			    show_clock(clock, time(NULL)));
		return;
	}
	put_state(live, state);
	tp_out_line(out, "bold", "%s  %s  %s%s%s", live->follow->folder, show_clock(clock, time(NULL)), state,
		    head->job[0] ? ", job " : "", head->job);
	if (head->world_size > (int32_t)all->n)
		tp_out_line(out, "yellow", "the job has %d ranks: those of others do not write into this folder",
			    head->world_size);
	if (live->follow->n_jobs > 1)
		tp_out_line(out, "dim", "%u jobs left files here: the newest is shown", live->follow->n_jobs);
	tp_out_line(out, NULL, "steps %s to %s, epoch %u", tp_show_count(low, all->step_low),
		    tp_show_count(high, all->step_high), all->epoch);
}

static void put_rate(const struct tp_live *live, struct tp_out *out)
{
	char bars[3 * RATE_COLUMNS + 1] = "";
	int64_t most = 0;

	for (uint32_t i = 0; i < live->n_rates; i++)
		if (live->rate[i] > most)
			most = live->rate[i];
	if (live->n_rates)
		tp_sparkline(bars, live->rate, live->n_rates,
			     live->n_rates < RATE_COLUMNS ? live->n_rates : RATE_COLUMNS, most);
	tp_out_item(out, NULL, 10, "rate", "%.2f steps/s  %s", live->all.steps_a_second, bars);
}

static void put_times(const struct tp_live *live, struct tp_out *out)
{
	const struct tp_live_row *all = &live->all;
	const struct tp_live_now *slowest = all->slowest;
	char time[32], share[32], optimizer[32], its[32], wait[32];

	if (!slowest)
		return;
	tp_out_item(out, NULL, 10, "per step", "%s, waiting for data %s, optimizer %s",
		    tp_show_ns(time, (int64_t)all->step_ns),
		    tp_show_percent(share, all->data_wait_ns, all->step_ns),
		    tp_show_percent(optimizer, all->optimizer_ns, all->step_ns));
	if (all->n > 1 && (slowest->step_ns + slowest->data_wait_ns) * 100 >
				  (all->step_ns + all->data_wait_ns) * SLOW_PERCENT)
		tp_out_item(out, "yellow", 10, "slow", "rank %d: %s per step, waiting for data %s",
			    slowest->rank->head.rank, tp_show_ns(its, (int64_t)slowest->step_ns),
			    tp_show_percent(wait, slowest->data_wait_ns, slowest->step_ns));
	if (all->n > 1 && all->step_high > all->step_low + 1)
		tp_out_item(out, "yellow", 10, "apart", "ranks are up to %llu steps apart",
			    (unsigned long long)(all->step_high - all->step_low));
	if (live->follow->n_reports)
		tp_out_item(out, "red", 10, "reports", "%u, the last is %s", live->follow->n_reports,
			    live->follow->report);
	if (all->dropped)
		tp_out_item(out, "red", 10, "lost", "%s records",
			    tp_show_count(time, all->dropped));
}

/* ---- windows ---- */

/* A window of the job: traces of the same number. */
struct window {
	uint32_t number, n_ranks;
	uint64_t bytes;
	int64_t real_ns;	/* of the last of them */
	uint32_t n_wanted;
	int64_t now_ns;
};

static void put_window(struct tp_row *r, const void *ctx, const void *of)
{
	const struct window *window = of;

	(void)ctx;
	TP_NUMBER(r, NULL, "window", 0, "", window->number);
	TP_CELL(r, NULL, "ranks", TP_UNIT_COUNT, 0, "",
		tp_row_text(r, "%u of %u", window->n_ranks, window->n_wanted));
	TP_BYTES(r, NULL, "traces", 0, "", window->bytes);
	TP_NS(r, NULL, "ago", 0, "", window->now_ns - window->real_ns);
	TP_STYLE(r, window->n_ranks < window->n_wanted ? "dim" : NULL);
}

static const struct tp_table_def windows_table = {.columns = put_window};

static bool is_there(const struct tp_follow *follow, const struct tp_follow_trace *trace)
{
	return trace->seen == follow->look && trace->of != UINT32_MAX && !trace->is_of_worker &&
	       follow->rank[trace->of].is_shown;
}

/* The newest ones, the highest number first. */
static uint32_t find_windows(const struct tp_follow *follow, struct window window[WINDOWS])
{
	uint32_t n = 0, newest = 0;

	for (uint32_t i = 0; i < follow->n_traces; i++)
		if (is_there(follow, &follow->trace[i]) && follow->trace[i].window >= newest)
			newest = follow->trace[i].window;
	for (uint32_t i = 0; i < WINDOWS; i++)
		window[i] = (struct window){.number = newest - i, .n_wanted = follow->n_shown};
	for (uint32_t i = 0; i < follow->n_traces; i++) {
		const struct tp_follow_trace *trace = &follow->trace[i];
		struct window *of = &window[newest - trace->window];

		if (!is_there(follow, trace) || newest - trace->window >= WINDOWS)
			continue;
		of->n_ranks++;
		of->bytes += trace->bytes;
		if (trace->real_ns > of->real_ns)
			of->real_ns = trace->real_ns;
	}
	while (n < WINDOWS && window[n].n_ranks)
		n++;
	return n;
}

static void put_windows(const struct tp_live *live, struct tp_out *out)
{
	const struct tp_follow *follow = live->follow;
	const struct tp_follow_rank *rank = live->n ? live->now[0].rank : NULL;
	struct window window[WINDOWS];
	struct timespec now;
	uint32_t n;

	if (!rank)
		return;
	if (rank->schedule[0])
		tp_out_item(out, NULL, 10, "schedule", "%s", rank->schedule);
	if (rank->has_ring && rank->windows_begun > rank->windows_written)
		tp_out_item(out, "green", 10, "window", "%u is open", rank->windows_begun - 1);
	if (follow->n_removed)
		tp_out_item(out, "dim", 10, "removed", "%u traces since they were seen here",
			    follow->n_removed);
	n = find_windows(follow, window);
	if (!n)
		return;
	clock_gettime(CLOCK_REALTIME, &now);
	for (uint32_t i = 0; i < n; i++)
		window[i].now_ns = now.tv_sec * 1000000000ll + now.tv_nsec;
	tp_out_line(out, NULL, "%s", "");
	tp_table_show(&windows_table, NULL, window, n, sizeof(window[0]), TP_TOP_NONE, out);
}

void tp_live_page(const struct tp_live *live, struct tp_out *out)
{
	put_head(live, out);
	if (!live->n)
		return;
	put_rate(live, out);
	put_times(live, out);
	tp_out_line(out, NULL, "%s", "");
	tp_table_show(&tp_table_live, live, live->row, live->n_rows, sizeof(live->row[0]), TP_TOP_NONE,
		      out);
	put_windows(live, out);
}

void tp_live_line(const struct tp_live *live, struct tp_out *out)
{
	const struct tp_live_row *all = &live->all;
	char state[96], clock[32], step[32], time_shown[32], share[32], peak[32], device[48] = "", lost[48] = "",
	     reports[48] = "";

	if (!live->n) {
		tp_out_line(out, NULL, "%s no rank has begun yet", show_clock(clock, time(NULL)));
		return;
	}
	put_state(live, state);
	if (live->has_device)
		snprintf(device, sizeof(device), ", GPU tensors %s",
			 tp_show_bytes(time_shown, (int64_t)all->device_peak));
	if (all->dropped)
		snprintf(lost, sizeof(lost), ", %llu records lost", (unsigned long long)all->dropped);
	if (live->follow->n_reports)
		snprintf(reports, sizeof(reports), ", %u reports", live->follow->n_reports);
	tp_out_line(out, NULL, "%s step %s, epoch %u, %.2f steps/s, %s per step, waiting for data %s, tensors %s%s, "
		    "%s, %u traces%s%s", show_clock(clock, time(NULL)), tp_show_count(step, all->step_low),
		    all->epoch, all->steps_a_second, tp_show_ns(time_shown, (int64_t)all->step_ns),
		    tp_show_percent(share, all->data_wait_ns, all->step_ns),
		    tp_show_bytes(peak, (int64_t)all->peak), device, state, all->n_windows, lost, reports);
}
