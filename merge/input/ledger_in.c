/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ledger_in.c - step ledgers into the run: every step of every process, once each
 *
 * A ledger is text that was appended to until its process died: its last line may be cut,
 * and the steps after it may still be in the ring, the last of them in both.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "merge/input/infile.h"
#include "merge/input/run.h"
#include "merge/kit/grow.h"
#include "merge/kit/list.h"
#include "merge/model/label.h"
#include "runtime/base/file.h"
#include "runtime/trace/ledger.h"

static const char fact_word[] = "#fact ";
enum {
	FACT_MOST = 4 * TP_LEDGER_LINE_MAX,
	FACTS_MOST = 128 << 10,	/* of one process */
};

static int add_row(struct tp_run_in *run, const struct tp_proc_in *proc,
		   const struct tp_ledger_row *row)
{
	struct tp_step_row *step;

	if (!tp_grow(&run->pub.step, &run->cap_steps, run->pub.n_steps + 1, sizeof(*step)))
		return -ENOMEM;
	step = &run->pub.step[run->pub.n_steps++];
	step->proc = &proc->pub;
	step->index = row->index;
	step->epoch = row->epoch;
	step->in_epoch = row->in_epoch;
	step->batches = row->batches;
	step->begin_ns = (int64_t)row->begin_ns;
	step->dur_ns = (int64_t)row->dur_ns;
	step->data_wait_ns = (int64_t)row->data_wait_ns;
	step->optimizer_ns = (int64_t)row->optimizer_ns;
	step->live_bytes = row->live_bytes;
	step->peak_bytes = row->peak_bytes;
	step->device_live = row->device_live;
	step->device_peak = row->device_peak;
	step->dropped = row->dropped;
	step->heap_bytes = row->heap_bytes;
	step->resident = row->resident;
	step->virtual = row->virtual;
	step->phase = row->phase;
	step->source = row->source;
	step->flags = row->flags;
	return 0;
}

void tp_run_fact(struct tp_run_in *run, struct tp_proc *proc, const char *fact)
{
	const char *more = strstr(fact, "+=");
	size_t n = strlen(proc->started), n_fact;
	char *text;

	/* The value goes on: "key+=value" right behind "key=...". */
	if (more && more < strchr(fact, '=') && n) {
		fact = more + 2;
		n--;
	}
	n_fact = strlen(fact);
	text = n_fact < FACT_MOST && n < FACTS_MOST && tp_run_affords(run, n_fact + 2)
		       ? realloc(proc->started[0] ? (char *)proc->started : NULL, n + n_fact + 2)
		       : NULL;
	if (!text)
		return;
	run->n_text_bytes += n_fact + 2;
	memcpy(text + n, fact, n_fact);
	memcpy(text + n + n_fact, "\n", 2);
	proc->started = text;
}

static struct tp_proc_in *proc_of_head(struct tp_run_in *run,
				       const struct tp_ledger_head *head)
{
	struct tp_file_head as_file = {
		.boot_id = {head->boot_id[0], head->boot_id[1]},
		.run_id = head->run_id,
		.pid = head->pid,
		.rank = head->rank,
		.local_rank = head->local_rank,
		.world_size = head->world_size,
		.node_rank = head->node_rank,
		.restart = head->restart,
	};
	/* The reading of both clocks places its steps when no window was ever written. */
	struct tp_clock_anchor anchor = {
		.ticks = head->mono_ns,
		.mono_ns = head->mono_ns,
		.real_ns = head->real_ns,
	};
	struct tp_proc_in *proc = tp_run_proc(run, &as_file);

	if (proc && !proc->pub.host[0])
		memcpy(proc->pub.host, head->host, sizeof(proc->pub.host));
	if (proc && !proc->n_anchors && tp_run_anchor(proc, &anchor))
		return NULL;
	return proc;
}

/* Behind what was never written. Of a text in memory: where it was. */
static void pass_hole(FILE *text)
{
	const off_t at = ftello(text);
	const uint64_t data = at >= 0 && fileno(text) >= 0 ? tp_infile_data(fileno(text), (uint64_t)at) : 0;

	if (data > (uint64_t)at)
		fseeko(text, (off_t)data, SEEK_SET);
}

/* Without a ring, which would say so: that was recovered. */
static void note_killed(struct tp_run_in *run, struct tp_proc_in *proc)
{
	char how[32];

	if (proc->has_ring || !tp_fact(proc->pub.started, "end", how, sizeof(how)) ||
	    (strcmp(how, TP_LEDGER_KILLED) && strcmp(how, TP_LEDGER_REPLACED)))
		return;
	proc->pub.is_dead = true;
	proc->pub.is_replaced = !strcmp(how, TP_LEDGER_REPLACED);
	tp_run_issue(&run->pub, &proc->pub, false, "process %u %s; all that it recorded was recovered",
		     proc->pub.pid, tp_run_how_ended(proc));
}

int tp_run_read_ledger_text(struct tp_run_in *run, FILE *text, const char *shown,
			    struct tp_proc_in **of)
{
	char line[2 * TP_LEDGER_LINE_MAX + 2];
	struct tp_proc_in *proc = NULL;
	uint64_t virtual = 0;
	uint32_t n_odd = 0;
	int err = 0;

	while (!err && fgets(line, sizeof(line), text)) {
		size_t n = strlen(line);
		struct tp_ledger_head head;
		struct tp_ledger_row row;

		if (!n || line[n - 1] != '\n') {
			/* Cut by the death of its process; longer than a line can be: no row. */
			n_odd += !feof(text);
			if (!n)
				pass_hole(text);
			continue;
		}
		line[--n] = 0;
		if (tp_ledger_parse_head(line, n, &head)) {
			if (!tp_list_has(run->options.ranks,
					      head.rank < 0 ? 0 : (uint64_t)head.rank))
				break;
			proc = proc_of_head(run, &head);
			err = proc ? 0 : -ENOMEM;
			if (proc && head.job[0]) {
				snprintf(line, sizeof(line), "job=%s", head.job);
				tp_run_fact(run, &proc->pub, line);
			}
		} else if (proc && tp_ledger_parse_row(line, n, &row)) {
			/* Written where it has changed. */
			virtual = row.virtual ? row.virtual : virtual;
			row.virtual = row.resident ? virtual : 0;
			err = add_row(run, proc, &row);
		} else if (proc && !strncmp(line, fact_word, strlen(fact_word))) {
			tp_run_fact(run, &proc->pub, line + strlen(fact_word));
		} else if (n && line[0] != '#') {
			n_odd++;
		}
	}
	if (n_odd)
		tp_run_issue(&run->pub, proc ? &proc->pub : NULL, true,
			     "'%s': %u lines are not those of a step log; they are left out", shown, n_odd);
	if (proc)
		note_killed(run, proc);
	*of = proc;
	return err;
}

int tp_run_read_ledger(struct tp_run_in *run, int fd, const char *path, const char *shown)
{
	FILE *file = fdopen(fd, "re");
	struct tp_proc_in *proc;
	struct stat st;
	int err;

	if (!file || fstat(fd, &st)) {
		tp_run_issue(&run->pub, NULL, true, "'%s': %s", shown, strerror(errno));
		if (file)
			fclose(file);
		else
			close(fd);
		tp_run_keep(run, run->pub.n_issues - 1);
		return 0;
	}
	err = tp_run_read_ledger_text(run, file, shown, &proc);
	if (proc && !proc->ledger_path) {
		proc->ledger_path = strdup(path);
		proc->ledger_file = (struct tp_own_fd){.fd = -1, .device = st.st_dev,
						       .inode = st.st_ino};
	}
	fclose(file);
	if (!err && proc &&
	    !tp_run_member(run, (struct tp_member){.kind = TP_MEMBER_LEDGER, .proc = proc,
						   .path = (char *)path, .shown = (char *)shown,
						   .dev = st.st_dev, .ino = st.st_ino}))
		err = -ENOMEM;
	return err;
}

static int compare_steps(const void *a, const void *b)
{
	const struct tp_step_row *x = a, *y = b;

	if (x->proc->at != y->proc->at)
		return x->proc->at < y->proc->at ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

static bool is_length(int64_t ns)
{
	return ns >= 0 && tp_run_is_time(ns);
}

/* Numbers of a damaged line, or of a ring that was being written. */
static bool is_possible(const struct tp_step_row *step)
{
	return tp_run_is_time(step->begin_ns) && is_length(step->dur_ns) &&
	       is_length(step->data_wait_ns) && is_length(step->optimizer_ns);
}

void tp_run_settle_steps(struct tp_run_in *run)
{
	struct tp_run *pub = &run->pub;
	uint32_t kept = 0, n_odd = 0;

	if (pub->n_steps)
		qsort(pub->step, pub->n_steps, sizeof(pub->step[0]), compare_steps);
	for (uint32_t i = 0; i < pub->n_steps; i++) {
		const struct tp_proc_in *proc = (const struct tp_proc_in *)pub->step[i].proc;

		/* The same steps stand in its other ledger. */
		if (proc->twin)
			continue;
		if (kept && pub->step[kept - 1].proc == pub->step[i].proc &&
		    pub->step[kept - 1].index == pub->step[i].index)
			continue;
		pub->step[kept] = pub->step[i];
		pub->step[kept].begin_ns = tp_run_mono_ns(run, proc, pub->step[i].begin_ns);
		if (is_possible(&pub->step[kept]))
			kept++;
		else
			n_odd++;
	}
	pub->n_steps = kept;
	if (n_odd)
		tp_run_issue(pub, NULL, true,
			     "%u steps of step logs (*.steps) and buffer files (*.ring) have impossible times; they are left out",
			     n_odd);
}
