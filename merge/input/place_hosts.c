/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place_hosts.c - processes onto the clock of their host, hosts onto the clock of the first
 *
 * A host is a boot: its processes share CLOCK_MONOTONIC, also those in a time namespace, which
 * know by how much theirs is shifted. Hosts are put side by side by what their events allow
 * (clocks.h): CLOCK_REALTIME, which may step, plays no part in that. Where events say nothing
 * it must do, with the error that NTP itself states, or with none.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/input/clocks_find.h"
#include "merge/input/run.h"
#include "merge/kit/grow.h"
#include "merge/kit/sum.h"
#include "merge/kineto/kineto_in.h"
#include "merge/model/label.h"

struct tp_host_at {
	const struct tp_proc_in *proc;	/* one of it */
	int64_t real_ns;		/* CLOCK_REALTIME - CLOCK_MONOTONIC */
	int64_t moved_ns;		/* that changed by so much while it was recorded */
	int64_t ntp_ns;			/* NTP's bound on CLOCK_REALTIME; < 0: there is none */
	bool is_bounded;		/* by events */
};

static bool has_blocks(const struct tp_run_in *run, const struct tp_proc_in *proc)
{
	for (uint32_t i = 0; i < run->n_blocks; i++) {
		if (run->source[run->block[i].source].proc == proc)
			return true;
	}
	return false;
}

static struct tp_proc_in *proc_at(const struct tp_run_in *run, uint32_t i)
{
	return (struct tp_proc_in *)run->pub.proc[i];
}

/* ---- processes ---- */

/* Anchors of a process in a time namespace: as the host has them. */
static void undo_shift(const struct tp_run_in *run, struct tp_proc_in *proc)
{
	char text[24];

	if (!tp_fact(tp_label_meta(&run->pub, &proc->pub), "clock.shift_ns", text, sizeof(text)))
		return;
	proc->shift_ns = strtoll(text, NULL, 10);
	for (uint32_t i = 0; i < proc->n_anchors; i++)
		proc->anchor[i].mono_ns -= (uint64_t)proc->shift_ns;
}

/* A trace of torch.profiler knows no boot: its clock is CLOCK_REALTIME of a host that has a name. */
static bool is_of_kineto(const struct tp_proc_in *proc)
{
	return proc->pub.host[0] && !proc->pub.boot_id[1] &&
	       proc->pub.boot_id[0] == tp_kineto_boot_id(proc->pub.host);
}

/* Where a trace of ours is of the same host, one of torch.profiler is on that one's clock, as if it
 * were in a time namespace; of the same process, its steps are ours. */
static void join_kineto(struct tp_run_in *run, struct tp_proc_in *proc)
{
	const struct tp_proc_in *own = NULL;

	for (uint32_t i = 0; i < run->pub.n_procs; i++) {
		const struct tp_proc_in *other = proc_at(run, i);

		if (!other->n_anchors || is_of_kineto(other) ||
		    strcmp(other->pub.host, proc->pub.host) != 0)
			continue;
		if (!own || other->pub.pid == proc->pub.pid)
			own = other;
	}
	if (!own)
		return;
	memcpy(proc->pub.boot_id, own->pub.boot_id, sizeof(proc->pub.boot_id));
	proc->shift_ns = (int64_t)(own->anchor[0].real_ns - own->anchor[0].mono_ns);
	for (uint32_t i = 0; i < proc->n_anchors; i++)
		proc->anchor[i].mono_ns -= (uint64_t)proc->shift_ns;
	if (own->pub.pid != proc->pub.pid)
		return;
	proc->twin = own;
	proc->pub.is_twin = true;
	tp_run_issue(&run->pub, &proc->pub, false,
		     "torch.profiler's trace of process %u, which trainprof recorded, too: steps are "
		     "counted once, events of both are shown", proc->pub.pid);
}

static void align_procs(struct tp_run_in *run)
{
	for (uint32_t i = 0; i < run->pub.n_procs; i++)
		undo_shift(run, proc_at(run, i));
	for (uint32_t i = 0; i < run->pub.n_procs; i++)
		if (is_of_kineto(proc_at(run, i)))
			join_kineto(run, proc_at(run, i));
	for (uint32_t i = 0; i < run->pub.n_procs; i++) {
		struct tp_proc_in *proc = proc_at(run, i);
		int err;

		err = tp_align_fit(&proc->map, proc->anchor, proc->n_anchors, proc->is_tsc);
		if (err && has_blocks(run, proc))
			tp_run_issue(&run->pub, &proc->pub, true,
				     "no two clock readings in its files: lengths of its events are "
				     "a guess");
		run->pub.violations_before += proc->map.n_violations;
	}
}

/* ---- hosts ---- */

/* The first process of the least rank: its host's clock is that of the run. */
static uint32_t choose_first(const struct tp_run_in *run)
{
	uint32_t first = 0;

	for (uint32_t i = 1; i < run->pub.n_procs; i++) {
		if ((uint32_t)run->pub.proc[i]->rank < (uint32_t)run->pub.proc[first]->rank)
			first = i;
	}
	return first;
}

/* 0 or -ENOMEM. */
static int number_hosts(struct tp_run_in *run)
{
	uint32_t first = choose_first(run), cap = 0;

	for (uint32_t i = 0; i < run->pub.n_procs; i++) {
		struct tp_proc_in *proc = proc_at(run, (first + i) % run->pub.n_procs);
		uint32_t host = 0;

		while (host < run->n_hosts &&
		       memcmp(run->host[host].proc->pub.boot_id, proc->pub.boot_id,
			      sizeof(proc->pub.boot_id)))
			host++;
		if (host == run->n_hosts) {
			if (!tp_grow(&run->host, &cap, (uint64_t)host + 1, sizeof(*run->host)))
				return -ENOMEM;
			run->host[host] = (struct tp_host_at){.proc = proc, .ntp_ns = -1};
			run->n_hosts++;
		}
		proc->host = host;
	}
	run->pub.n_hosts = run->n_hosts;
	return 0;
}

/* CLOCK_REALTIME - CLOCK_MONOTONIC of a host, from all anchors of its processes. */
static int read_real(struct tp_run_in *run, uint32_t host)
{
	struct tp_clock_anchor *all = NULL;
	uint32_t n = 0, cap = 0;
	int64_t least = INT64_MAX, most = INT64_MIN;

	for (uint32_t i = 0; i < run->pub.n_procs; i++) {
		const struct tp_proc_in *proc = proc_at(run, i);

		if (proc->host != host || !proc->n_anchors)
			continue;
		if (!tp_grow(&all, &cap, (uint64_t)n + proc->n_anchors, sizeof(all[0]))) {
			free(all);
			return -ENOMEM;
		}
		memcpy(all + n, proc->anchor, proc->n_anchors * sizeof(all[0]));
		n += proc->n_anchors;
	}
	run->host[host].real_ns = tp_align_real_offset(all, n);
	for (uint32_t i = 0; i < n; i++) {
		int64_t offset = (int64_t)(all[i].real_ns - all[i].mono_ns);

		least = offset < least ? offset : least;
		most = offset > most ? offset : most;
	}
	run->host[host].moved_ns = n ? tp_sub(most, least) : 0;
	free(all);
	return 0;
}

/* The worst that NTP said of this host at any time; none when it was once not in step. */
static void read_ntp(struct tp_run_in *run)
{
	for (uint32_t i = 0; i < run->pub.n_windows; i++) {
		const struct tp_window *w = &run->pub.window[i];
		struct tp_host_at *host = &run->host[((const struct tp_proc_in *)w->proc)->host];
		const char *text[2] = {w->meta, w->totals};

		for (int k = 0; k < 2; k++) {
			char value[24];
			int64_t us;

			if (!tp_fact(text[k], "ntp.maxerror_us", value, sizeof(value)))
				continue;
			us = strtoll(value, NULL, 10);
			/* -2: once not, for ever not. */
			if (us < 0 || us > INT32_MAX || host->ntp_ns == -2)
				host->ntp_ns = -2;
			else if (us * 1000 > host->ntp_ns)
				host->ntp_ns = us * 1000;
		}
	}
}

static int64_t by_real(void *ctx, uint32_t host, int64_t own_ns)
{
	const struct tp_run_in *run = ctx;

	return tp_add(own_ns, run->host[host].real_ns);
}

static int64_t by_events(void *ctx, uint32_t host, int64_t own_ns)
{
	const struct tp_run_in *run = ctx;

	if (host && !run->host[host].is_bounded)
		return by_real(ctx, host, own_ns);
	return tp_add(tp_clocks_run_ns(tp_clocks_of(run->clocks, host), own_ns),
		      run->host[0].real_ns);
}

/* ---- events of several hosts ---- */

static int bend_maps(struct tp_run_in *run, uint32_t host)
{
	const struct tp_clocks_host *line = tp_clocks_of(run->clocks, host);
	struct tp_align_bend *bend = calloc(line->n_points + 1, sizeof(*bend));
	int err = bend ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < line->n_points && !err; i++)
		bend[i] = (struct tp_align_bend){line->point[i].own_ns, line->point[i].run_ns};
	for (uint32_t i = 0; i < run->pub.n_procs && !err; i++) {
		struct tp_proc_in *proc = proc_at(run, i);

		if (proc->host == host && proc->map.n_knots)
			err = tp_align_bend(&proc->map, bend, line->n_points);
	}
	free(bend);
	return err;
}

/* NTP says that two clocks are nearer than events show: somebody should know. */
static void compare_with_ntp(struct tp_run_in *run, uint32_t host)
{
	const struct tp_clocks_host *line = tp_clocks_of(run->clocks, host);
	const struct tp_host_at *here = &run->host[host], *first = &run->host[0];
	const struct tp_clocks_point *p = &line->point[line->n_points / 2];
	int64_t off = tp_sub(tp_add(p->own_ns, here->real_ns), tp_add(p->run_ns, first->real_ns));

	if (here->ntp_ns < 0 || first->ntp_ns < 0)
		return;
	if (fabs((double)off) - (double)p->error_ns - (double)here->moved_ns -
		    (double)first->moved_ns <= (double)(here->ntp_ns + first->ntp_ns))
		return;
	tp_run_issue(&run->pub, &here->proc->pub, false,
		     "CLOCK_REALTIME of '%s' and '%s' differ by %.3f ms, NTP says by no more than "
		     "%.3f ms; their events are placed without it", here->proc->pub.host,
		     first->proc->pub.host, (double)off / 1e6,
		     (double)(here->ntp_ns + first->ntp_ns) / 1e6);
}

static void describe(struct tp_run_in *run, const struct tp_clocks_found *found, uint32_t n_bounded,
		     uint32_t n_loose)
{
	const uint64_t n_orders = tp_clocks_n_orders(run->clocks);
	const uint64_t n_dropped = tp_clocks_n_dropped(run->clocks);
	char *at = run->pub.clocks, *end = at + sizeof(run->pub.clocks);

	if (n_bounded)
		at += snprintf(at, (size_t)(end - at), "%u hosts by ", n_bounded + 1);
	if (n_bounded && found->n_collectives)
		at += snprintf(at, (size_t)(end - at), "%llu collectives%s",
			       (unsigned long long)found->n_collectives,
			       found->n_exchanges ? " and " : "");
	if (n_bounded && found->n_exchanges)
		snprintf(at, (size_t)(end - at), "%llu exchanges",
			 (unsigned long long)found->n_exchanges);
	else if (!n_bounded && !n_loose)
		snprintf(at, (size_t)(end - at), "%u hosts by NTP", run->n_hosts);
	if (n_bounded && found->has_no_groups)
		tp_run_issue(&run->pub, NULL, false,
			     "hosts are compared by collectives, and some do not say to which ranks they "
			     "belong: taken for those of all ranks");
	if (n_dropped)
		tp_run_issue(&run->pub, NULL, false,
			     "of %llu orders of events on two hosts %llu contradict the others: they "
			     "are not used", (unsigned long long)n_orders,
			     (unsigned long long)n_dropped);
	if (n_loose)
		tp_run_issue(&run->pub, NULL, false,
			     "%u of %u hosts are put beside the first by their CLOCK_REALTIME; how "
			     "far these differ is not bounded", n_loose, run->n_hosts);
}

static int compare_hosts(struct tp_run_in *run)
{
	struct tp_clocks_found found;
	uint32_t n_bounded = 0, n_loose = 0;
	int err;

	run->clocks = tp_clocks_new(run->n_hosts);
	err = run->clocks ? tp_clocks_find(run, run->n_hosts, run->clocks, &found) : -ENOMEM;
	if (!err)
		err = tp_clocks_solve(run->clocks);
	for (uint32_t h = 1; h < run->n_hosts && !err; h++) {
		struct tp_host_at *host = &run->host[h];

		host->is_bounded = tp_clocks_of(run->clocks, h)->n_points > 0;
		n_bounded += host->is_bounded;
		if (host->is_bounded) {
			compare_with_ntp(run, h);
			err = bend_maps(run, h);
		} else {
			n_loose += host->ntp_ns < 0 || run->host[0].ntp_ns < 0;
		}
	}
	if (err)
		return err;
	run->pub.violations_before += tp_clocks_violations(run->clocks, by_real, run);
	run->pub.violations_after += tp_clocks_violations(run->clocks, by_events, run);
	describe(run, &found, n_bounded, n_loose);
	return 0;
}

int tp_run_place_hosts(struct tp_run_in *run)
{
	int err;

	align_procs(run);
	err = number_hosts(run);
	for (uint32_t h = 0; h < run->n_hosts && !err; h++)
		err = read_real(run, h);
	if (!err)
		read_ntp(run);
	if (!err && run->n_hosts > 1)
		err = compare_hosts(run);
	for (uint32_t i = 0; i < run->pub.n_procs && !err; i++) {
		struct tp_proc_in *proc = proc_at(run, i);

		proc->to_run_ns = run->host[run->host[proc->host].is_bounded ? 0
									     : proc->host].real_ns;
	}
	return err;
}

int64_t tp_run_mono_ns(const struct tp_run_in *run, const struct tp_proc_in *proc, int64_t mono_ns)
{
	int64_t own = tp_sub(mono_ns, proc->shift_ns);

	if (run->clocks && run->host[proc->host].is_bounded)
		own = tp_clocks_run_ns(tp_clocks_of(run->clocks, proc->host), own);
	return tp_add(own, proc->to_run_ns);
}

int64_t tp_run_clock_error(const struct tp_run_in *run, const struct tp_proc_in *proc,
			   int64_t first_ns, int64_t last_ns)
{
	const struct tp_host_at *host = &run->host[proc->host], *first = &run->host[0];
	const struct tp_clocks_host *line;
	bool is_compared = false;

	if (proc->map.error_ns < 0 || run->n_hosts < 2)
		return proc->map.error_ns;
	for (uint32_t h = 1; h < run->n_hosts; h++)
		is_compared |= run->host[h].is_bounded ||
			       (run->host[h].ntp_ns >= 0 && first->ntp_ns >= 0);
	if (!proc->host)
		return is_compared ? proc->map.error_ns : TP_ALIGN_UNBOUNDED;
	if (host->is_bounded) {
		line = tp_clocks_of(run->clocks, proc->host);
		first_ns = tp_clocks_own_ns(line, tp_sub(first_ns, proc->to_run_ns));
		last_ns = tp_clocks_own_ns(line, tp_sub(last_ns, proc->to_run_ns));
		return tp_add(tp_clocks_error(line, first_ns, last_ns), proc->map.error_ns);
	}
	if (host->ntp_ns < 0 || first->ntp_ns < 0)
		return TP_ALIGN_UNBOUNDED;
	return tp_add(tp_add(host->moved_ns, first->moved_ns),
		      host->ntp_ns + first->ntp_ns + proc->map.error_ns);
}
