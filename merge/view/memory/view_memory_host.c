/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_memory_host.c - part of the view of memory: what filled the host
 *
 * For each process its peak, what stayed, and what the system counts beside it. Who asked for it
 * is view_memory_stacks.c's, steps, mappings and sizes are view_memory_tables.c's.
 */
#include "merge/view/memory/view_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/kit/sum.h"
#include "merge/model/label.h"

enum { LABEL = TP_VIEW_MEMORY_LABEL, TROUBLES_SHOWN = 8 };

/* "rank 3", "" where there is one process only. */
static const char *show_proc(char buf[64], const struct tp_run *run, const struct tp_proc *proc)
{
	if (run->n_procs > 1)
		return tp_label_proc(buf, run, proc);
	buf[0] = 0;
	return buf;
}

/* ---- a process ---- */

static void print_peak(const struct tp_hostmem_proc *host, struct tp_out *out)
{
	char a[32], b[32], c[32], step[48] = "";

	if (host->is_peak_in_step)
		snprintf(step, sizeof(step), " in step %lu,", (unsigned long)host->peak_step);
	tp_out_item(out, "", LABEL, "most at a time", "%s in %s blocks,%s %s after recording began",
		    tp_show_bytes(a, (int64_t)host->peak_bytes),
		    tp_show_count(b, host->peak_blocks), step, tp_show_ns(c, host->peak_ns));
	tp_out_item(out, "", LABEL, "at the end", "%s in %s blocks",
		    tp_show_bytes(a, (int64_t)host->live_bytes),
		    tp_show_count(b, host->live_blocks));
	if (host->leaked_blocks)
		tp_out_item(out, "yellow", LABEL, "stayed",
			    "%s in %s blocks that a step allocated are still there two steps later",
			    tp_show_bytes(a, (int64_t)host->leaked_bytes),
			    tp_show_count(b, host->leaked_blocks));
}

static void print_calls(const struct tp_hostmem_proc *host, struct tp_out *out)
{
	char a[32], b[32], c[32], d[32], e[32], moved[64] = "", temporary[64] = "";

	if (host->n_reallocs)
		snprintf(moved, sizeof(moved), " (%s by realloc)",
			 tp_show_count(d, host->n_reallocs));
	if (host->n_temporary)
		snprintf(temporary, sizeof(temporary), "; %s were temporary",
			 tp_show_percent(e, (double)host->n_temporary, (double)host->n_allocs));
	tp_out_item(out, "", LABEL, "in windows", "%s allocations%s of %s, %s frees%s",
		    tp_show_count(a, host->n_allocs), moved,
		    tp_show_bytes(b, (int64_t)host->alloc_bytes), tp_show_count(c, host->n_frees),
		    temporary);
	if (host->is_sampled)
		tp_out_item(out, "", LABEL, "estimated",
			    "sampled every %s: allocated bytes are accurate to %s (standard error); "
			    "temporary blocks are not known",
			    tp_show_bytes(a, (int64_t)host->sample_bytes),
			    tp_show_percent(b, host->error_bytes, (double)host->alloc_bytes));
}

/* The resident memory beside what was asked for, and what the difference is made of. */
static void print_resident(const struct tp_hostmem_proc *host, struct tp_out *out)
{
	const struct tp_hostmem_counted *rss = &host->counted[TP_HOSTMEM_RSS];
	int64_t shared = host->counted[TP_HOSTMEM_SHARED].at_peak,
		mapped = (int64_t)host->mapped_at_peak[TP_MAPPING_ANON],
		blocks = host->counted[TP_HOSTMEM_LIVE].at_peak, rest;
	char a[32], b[32], c[32], d[32], e[32], with[64] = "";

	if (rss->at_peak < 0)
		return;
	shared = shared < 0 ? 0 : shared;
	/* A sample may be older than the peak. */
	blocks = blocks < (int64_t)host->peak_bytes ? (int64_t)host->peak_bytes : blocks;
	rest = tp_sub(tp_sub(tp_sub(rss->at_peak, shared), blocks), mapped);
	if (mapped)
		snprintf(with, sizeof(with), " + %s mapped", tp_show_bytes(d, mapped));
	tp_out_item(out, "", LABEL, "resident",
		    "%s at that peak = %s of files and shared + %s of blocks%s %c %s: %s",
		    tp_show_bytes(a, rss->at_peak), tp_show_bytes(b, shared),
		    tp_show_bytes(c, blocks), with, rest < 0 ? '-' : '+',
		    tp_show_bytes(e, rest < 0 ? -rest : rest),
		    rest >= 0 ? "the allocator's own, fragmentation, stacks, libraries' data"
			      : "requested and not touched yet");
	tp_out_item(out, "", LABEL, "", "%s at most, %s at the end", tp_show_bytes(a, rss->most),
		    tp_show_bytes(b, rss->last));
}

/* By the counters, which run outside windows, too. */
static void print_counted(const struct tp_run *run, const struct tp_proc *proc,
			  struct tp_out *out)
{
	uint64_t peak = 0, live = 0, allocs = 0, error = 0;
	char a[32], b[32], c[32], d[32];

	for (uint32_t i = 0; i < run->n_windows; i++) {
		const char *totals = run->window[i].totals;

		if (run->window[i].proc != proc)
			continue;
		peak = tp_fact_u64(totals, "heap.peak", peak);
		live = tp_fact_u64(totals, "heap.live", live);
		allocs = tp_fact_u64(totals, "heap.allocs", allocs);
		error = tp_fact_u64(totals, "heap.peak_error", error);
	}
	if (peak)
		tp_out_item(out, "", LABEL, "since its start",
			    "peak %s (accurate to %s), %s at the end of the last window, %s "
			    "allocations",
			    tp_show_bytes(a, (int64_t)peak), tp_show_bytes(d, (int64_t)error),
			    tp_show_bytes(b, (int64_t)live), tp_show_count(c, allocs));
	else if (allocs)
		tp_out_item(out, "", LABEL, "since its start", "%s allocations",
			    tp_show_count(c, allocs));
}

static void print_shared(const struct tp_hostmem_proc *host, struct tp_out *out)
{
	static const struct {
		enum tp_hostmem_counter counter;
		const char *what;
	} part[] = {
		{TP_HOSTMEM_PSS, "PSS (its share of pages that others have, too)"},
		{TP_HOSTMEM_PRIVATE, "private"},
		{TP_HOSTMEM_SHARED, "shared"},
	};
	char line[256] = "", a[32];
	size_t n = 0;

	for (size_t i = 0; i < sizeof(part) / sizeof(part[0]); i++) {
		int64_t last = host->counted[part[i].counter].last;

		if (last >= 0 && n < sizeof(line))
			n += (size_t)snprintf(line + n, sizeof(line) - n, "%s%s %s",
					      n ? ", " : "", tp_show_bytes(a, last), part[i].what);
	}
	if (n)
		tp_out_item(out, "", LABEL, "of it at the end", "%s", line);
}

static void print_doubts(const struct tp_run *run, const struct tp_hostmem_proc *host,
			 struct tp_out *out)
{
	uint64_t dropped = 0;
	char a[32];

	for (uint32_t i = 0; i < run->n_windows; i++)
		if (run->window[i].proc == host->proc && run->window[i].dropped > dropped)
			dropped = run->window[i].dropped;
	if (dropped)
		tp_out_item(out, "red", LABEL, "LOST",
			    "%s records, for want of space: blocks and frees are missing; give a "
			    "larger TRAINPROF_BUFFER",
			    tp_show_count(a, dropped));
	if (host->n_unknown_frees)
		tp_out_item(out, "dim", LABEL, "older",
			    "%s frees were of blocks from before the window; they are not in these "
			    "figures",
			    tp_show_count(a, host->n_unknown_frees));
	if (host->n_missed_frees)
		tp_out_item(out, "yellow", LABEL, "not observed",
			    "%s blocks were freed without a record: their addresses were used again",
			    tp_show_count(a, host->n_missed_frees));
}

static void print_proc(const struct tp_run *run, const struct tp_hostmem_proc *host,
		       struct tp_out *out)
{
	char who[64];

	show_proc(who, run, host->proc);
	tp_out_title(out, "How much host memory is used%s%s", *who ? ": " : "", who);
	print_peak(host, out);
	print_calls(host, out);
	print_counted(run, host->proc, out);
	print_resident(host, out);
	print_shared(host, out);
	print_doubts(run, host, out);
}

/* ---- all of it ---- */

/* Stacks that are missing, and names. */
static void print_stack_doubts(const struct tp_hostmem *mem, struct tp_out *out)
{
	const struct tp_stacks *stacks = tp_hostmem_stacks(mem);
	uint64_t n_unknown = tp_stacks_unknown(stacks);
	uint32_t n = 0;
	char a[32];

	if (n_unknown)
		tp_out_line(out, "yellow",
			    "The stacks of %s events are not in the trace: they are counted as not "
			    "recorded.",
			    tp_show_count(a, n_unknown));
	if (tp_stacks_orphans(stacks))
		tp_out_line(out, "yellow",
			    "%s frames name an outer one that is not in the trace: what is outside "
			    "them is not known.",
			    tp_show_count(a, tp_stacks_orphans(stacks)));
	while (tp_stacks_trouble(stacks, n)[0])
		n++;
	if (n)
		tp_out_title(out, "Which code has no names");
	for (uint32_t i = 0; i < n && i < TROUBLES_SHOWN; i++)
		tp_out_line(out, "dim", "  %s", tp_stacks_trouble(stacks, i));
	if (n > TROUBLES_SHOWN)
		tp_out_line(out, "dim", "  and %u more files", n - TROUBLES_SHOWN);
}

/* Why there is nothing: the first reason that the trace gives, or what to ask for. */
static void print_nothing(const struct tp_run *run, struct tp_out *out)
{
	const char *meta = run->n_procs ? tp_label_meta(run, run->proc[0]) : "";
	char why[200], who[64];

	/* torch.profiler tells nothing of it. */
	if (tp_label_is_kineto(run))
		return;
	tp_out_title(out, "How much host memory is used");
	for (uint32_t i = 0; i < run->n_procs; i++) {
		if (run->n_procs > 1 && tp_label_meta(run, run->proc[i])[0])
			tp_out_line(out, "", "  %s", tp_label_proc(who, run, run->proc[i]));
		print_counted(run, run->proc[i], out);
	}
	if (tp_fact(meta, "off.heap", why, sizeof(why)))
		tp_out_line(out, "", "no blocks of host memory were recorded: %s", why);
	else
		tp_out_line(out, "",
			    "no blocks of host memory were recorded: TRAINPROF_RECORD=heap records "
			    "them, TRAINPROF_STACKS=heap also the stacks that requested them");
}

static bool has_stacks(const struct tp_hostmem *mem)
{
	uint32_t n;
	const struct tp_hostmem_row *row = tp_hostmem_rows(mem, &n);

	for (uint32_t i = 0; i < n; i++)
		if (row[i].stack)
			return true;
	return false;
}

static bool resolve(const struct tp_hostmem *mem)
{
	struct tp_stacks *stacks = tp_hostmem_stacks(mem);
	uint8_t *wanted = calloc(tp_stacks_count(stacks) + 1, 1);
	uint32_t n;
	const struct tp_hostmem_row *row = tp_hostmem_rows(mem, &n);
	int err = -1;

	for (uint32_t i = 0; wanted && i < n; i++)
		wanted[row[i].stack] = 1;
	if (wanted)
		err = tp_stacks_resolve(stacks, wanted);
	free(wanted);
	return !err;
}

void tp_view_memory_host(const struct tp_run *run, const struct tp_view_options *options,
			 const struct tp_hostmem *mem, struct tp_out *out)
{
	uint32_t n;
	const struct tp_hostmem_proc *host = tp_hostmem_procs(mem, &n);

	if (!n) {
		print_nothing(run, out);
		return;
	}
	if (out->rows) {
		tp_view_memory_host_rows(run, host, n, out);
	}
	for (uint32_t i = 0; i < n; i++)
		print_proc(run, &host[i], out);
	if (!has_stacks(mem))
		tp_out_line(out, "dim",
			    "Who requested it was not recorded: TRAINPROF_STACKS=heap.");
	else if (resolve(mem))
		tp_view_memory_stacks(run, options, mem, out);
	else
		tp_out_line(out, "red", "out of memory: names of functions were not read");
	tp_view_memory_tables(run, options, mem, out);
	print_stack_doubts(mem, out);
	if (tp_hostmem_is_incomplete(mem))
		tp_out_line(out, "red", "out of memory: some of it is missing here");
}
