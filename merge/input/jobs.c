/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jobs.c - which jobs left the files that were found: their names, and the one that is read
 *
 * Before anything is opened to be read, from the heads of the files and the last line of each ledger.
 * Node files are not looked into: one is of one job, because the merge wrote it.
 */
#include "merge/input/jobs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "merge/input/infile.h"
#include "merge/kit/say.h"
#include "merge/model/ranks.h"
#include "runtime/base/file.h"
#include "runtime/base/hold.h"
#include "runtime/trace/ring_layout.h"

enum {
	NAME_BYTES = TP_JOB_WORD + 32,
	SHOWN_MAX = 8,		/* jobs that are listed */
	RANKS_MOST = 1 << 20,
};

struct jobs {
	struct tp_job_proc *proc;
	uint64_t *run_id;		/* of each input; 0: of none */
	uint32_t n_procs, n;
	char (*name)[NAME_BYTES];
	uint32_t chosen;
};

/* ---- heads ---- */

static bool read_trace(int fd, struct tp_job_proc *proc)
{
	struct tp_file_head head;

	if (tp_file_read_at(fd, 0, &head, sizeof(head)) || head.magic != TP_FILE_MAGIC)
		return false;
	*proc = (struct tp_job_proc){
		.run_id = head.run_id, .parent_run_id = head.parent_run_id,
		.boot_id = {head.boot_id[0], head.boot_id[1]}, .pid = head.pid,
		.restart = head.restart, .rank = head.rank, .world = head.world_size,
	};
	return true;
}

static bool read_ring(int fd, struct tp_job_proc *proc)
{
	struct tp_ring_head head;

	if (tp_file_read_at(fd, 0, &head, sizeof(head)) || head.magic != TP_RING_MAGIC)
		return false;
	*proc = (struct tp_job_proc){
		.run_id = head.run_id, .boot_id = {head.boot_id[0], head.boot_id[1]},
		.pid = head.pid, .parent_pid = head.ppid, .restart = head.restart,
		.rank = head.rank, .world = head.world_size,
	};
	return true;
}

/* When the last step of a ledger ended, on the clock of its rows; 0: it has none. */
static uint64_t last_step(int fd, off_t n_bytes, bool *has_ended)
{
	char text[4 * TP_LEDGER_LINE_MAX + 1];
	size_t n = (size_t)n_bytes < sizeof(text) - 1 ? (size_t)n_bytes : sizeof(text) - 1;
	struct tp_ledger_row row;
	uint64_t last_ns = 0;
	char *line = text, *end;

	*has_ended = false;
	if (tp_file_read_at(fd, (uint64_t)n_bytes - n, text, n))
		return 0;
	text[n] = '\0';
	for (; (end = strchr(line, '\n')); line = end + 1) {
		*has_ended = !strncmp(line, TP_LEDGER_END, strlen(TP_LEDGER_END));
		if (tp_ledger_parse_row(line, (size_t)(end - line), &row))
			last_ns = row.begin_ns + row.dur_ns;
	}
	return last_ns;
}

static bool read_ledger(int fd, struct tp_job_proc *proc)
{
	char line[2 * TP_LEDGER_LINE_MAX];
	struct tp_ledger_head head;
	bool has_ended;
	struct stat st;
	uint64_t last;
	ssize_t n = pread(fd, line, sizeof(line), 0);
	const char *end = n > 0 ? memchr(line, '\n', (size_t)n) : NULL;

	if (!end || !tp_ledger_parse_head(line, (size_t)(end - line), &head) || fstat(fd, &st) ||
	    head.real_ns > INT64_MAX / 2)
		return false;
	*proc = (struct tp_job_proc){
		.run_id = head.run_id, .boot_id = {head.boot_id[0], head.boot_id[1]},
		.fork_ns = head.fork_ns, .pid = head.pid, .parent_pid = head.parent_pid,
		.restart = head.restart, .rank = head.rank, .world = head.world_size,
		.begin_ns = (int64_t)head.real_ns, .end_ns = (int64_t)head.real_ns,
	};
	memcpy(proc->word, head.job, sizeof(proc->word));
	last = last_step(fd, st.st_size, &has_ended);
	if (last > head.mono_ns && last - head.mono_ns < INT64_MAX / 4)
		proc->end_ns += (int64_t)(last - head.mono_ns);
	/* Nobody but its process holds a ledger: that one lives. */
	if (!has_ended && tp_hold_briefly(fd) == -EWOULDBLOCK)
		proc->end_ns = INT64_MAX / 2;
	return true;
}

static bool read_head(const struct tp_input *input, struct tp_job_proc *proc)
{
	bool is_read = false;
	int fd;

	if (input->kind == TP_INPUT_KINETO || input->kind == TP_INPUT_NODE || input->kind == TP_INPUT_REPORT)
		return false;
	fd = tp_infile_again(input->path, input->dev, input->ino);
	if (fd < 0)
		return false;
	if (input->kind == TP_INPUT_TRACE)
		is_read = read_trace(fd, proc);
	else if (input->kind == TP_INPUT_RING)
		is_read = read_ring(fd, proc);
	else
		is_read = read_ledger(fd, proc);
	close(fd);
	return is_read;
}

/* ---- one entry for each process ---- */

static int by_run_id(const void *a, const void *b)
{
	const struct tp_job_proc *x = a, *y = b;

	return (x->run_id > y->run_id) - (x->run_id < y->run_id);
}

/* A ledger says more than a trace does, but not whose worker it is. */
static void add_words(struct tp_job_proc *to, const struct tp_job_proc *from)
{
	const uint64_t parent_run_id = to->parent_run_id | from->parent_run_id;

	if (from->begin_ns && !to->begin_ns)
		*to = *from;
	to->parent_run_id = parent_run_id;
	if (!to->parent_pid)
		to->parent_pid = from->parent_pid;
}

static void make_single(struct jobs *jobs)
{
	uint32_t kept = 0;

	if (jobs->n_procs)
		qsort(jobs->proc, jobs->n_procs, sizeof(jobs->proc[0]), by_run_id);
	for (uint32_t i = 0; i < jobs->n_procs; i++) {
		if (kept && jobs->proc[kept - 1].run_id == jobs->proc[i].run_id)
			add_words(&jobs->proc[kept - 1], &jobs->proc[i]);
		else
			jobs->proc[kept++] = jobs->proc[i];
	}
	jobs->n_procs = kept;
}

/* ---- names ---- */

static const struct tp_job_proc *first_of(const struct jobs *jobs, uint32_t job)
{
	uint32_t i = 0;

	while (jobs->proc[i].job != job)
		i++;
	return &jobs->proc[i];
}

/* What its launcher calls it, when that tells it from the others; "": nothing does. */
static const char *own_word(const struct jobs *jobs, uint32_t job)
{
	const char *word = "";

	for (uint32_t i = 0; i < jobs->n_procs && !word[0]; i++)
		if (jobs->proc[i].job == job && strncmp(jobs->proc[i].word, "port:", 5))
			word = jobs->proc[i].word;
	for (uint32_t i = 0; i < jobs->n_procs && word[0]; i++)
		if (jobs->proc[i].job != job && !strcmp(jobs->proc[i].word, word))
			return "";
	return word;
}

static void name_job(struct jobs *jobs, uint32_t job)
{
	const time_t begin = (time_t)(first_of(jobs, job)->begin_ns / 1000000000);
	const char *word = own_word(jobs, job);
	char *name = jobs->name[job];
	struct tm tm;
	size_t n;

	if (word[0]) {
		snprintf(name, NAME_BYTES, "%s", word);
		return;
	}
	if (!begin || !gmtime_r(&begin, &tm) || !strftime(name, NAME_BYTES, "%Y%m%d-%H%M%S", &tm))
		strcpy(name, "unknown");
	n = strlen(name);
	/* In the same second as an earlier one. */
	for (uint32_t i = 0, nth = 2; i < job; i++) {
		if (strcmp(jobs->name[i], name))
			continue;
		snprintf(name + n, NAME_BYTES - n, "-%u", nth++);
		i = UINT32_MAX;
	}
}

static void put_ranks(FILE *out, const struct jobs *jobs, uint32_t job)
{
	char list[TP_RANKS_TEXT];
	uint32_t n_ranks = 0, n_others = 0;
	int32_t world = 0;
	bool *is_in;

	for (uint32_t i = 0; i < jobs->n_procs; i++) {
		const struct tp_job_proc *p = &jobs->proc[i];

		if (p->job == job && p->rank >= (int32_t)n_ranks && p->rank < RANKS_MOST)
			n_ranks = (uint32_t)p->rank + 1;
		if (p->job == job && p->world > world)
			world = p->world;
		n_others += p->job == job && p->rank < 0;
	}
	is_in = calloc((size_t)n_ranks + 1, sizeof(*is_in));
	for (uint32_t i = 0; i < jobs->n_procs && is_in; i++)
		if (jobs->proc[i].job == job && (uint32_t)jobs->proc[i].rank < n_ranks)
			is_in[jobs->proc[i].rank] = true;
	if (is_in && n_ranks)
		fputs(tp_ranks_list(list, is_in, n_ranks), out);
	if (world > 0)
		fprintf(out, " of %d", world);
	if (n_others)
		fprintf(out, "%s%u process%s without a rank", n_ranks ? ", " : "", n_others,
			n_others > 1 ? "es" : "");
	free(is_in);
}

/* ---- which one ---- */

/* Every job, or the newest of many: 'NAME' (ranks 0, 1 of 2), ... NULL: out of memory. */
static char *list_jobs(const struct jobs *jobs)
{
	uint32_t from = jobs->n > SHOWN_MAX ? jobs->n - SHOWN_MAX : 0;
	char *text = NULL;
	size_t n;
	FILE *out = open_memstream(&text, &n);

	if (!out)
		return NULL;
	if (from)
		fprintf(out, "%u earlier ones, ", from);
	for (uint32_t i = from; i < jobs->n; i++) {
		fprintf(out, "%s'%s' (", i == from ? "" : i + 1 == jobs->n ? " and " : ", ",
			jobs->name[i]);
		put_ranks(out, jobs, i);
		fputs(")", out);
	}
	if (fclose(out)) {
		free(text);
		return NULL;
	}
	return text;
}

static int choose(struct tp_run_in *run, struct jobs *jobs)
{
	const char *wanted = run->options.job;
	char *list = list_jobs(jobs);
	uint32_t at = 0;

	if (!list)
		return -ENOMEM;
	/* The newest: those of which it is not known when they began come last. */
	for (uint32_t i = 0; i < jobs->n && !wanted; i++)
		if (first_of(jobs, i)->begin_ns >= first_of(jobs, at)->begin_ns)
			at = i;
	while (wanted && at < jobs->n && strcmp(jobs->name[at], wanted))
		at++;
	jobs->chosen = at;
	if (wanted && !strcmp(wanted, "all"))
		tp_run_issue(&run->pub, NULL, false, "%u jobs left files here, and are read as if they were "
			     "one: %s", jobs->n, list);
	else if (at == jobs->n)
		tp_say("no job '%s' left files here: there are %s", wanted, list);
	else if (!wanted)
		tp_run_issue(&run->pub, NULL, false, "%u jobs left files here: %s; the newest is read, '%s'; "
			     "--job NAME reads another one, --job all fuses them", jobs->n, list,
			     jobs->name[at]);
	free(list);
	return at == jobs->n && strcmp(wanted, "all") ? -ENOENT : 0;
}

static void mark_others(const struct jobs *jobs, struct tp_input_list *list)
{
	for (uint32_t i = 0; i < list->n_items; i++) {
		for (uint32_t p = 0; p < jobs->n_procs && jobs->run_id[i]; p++) {
			if (jobs->proc[p].run_id != jobs->run_id[i])
				continue;
			list->item[i].is_of_other_job = jobs->proc[p].job != jobs->chosen;
			break;
		}
	}
}

int tp_jobs_choose(struct tp_run_in *run, struct tp_input_list *list)
{
	struct jobs jobs = {
		.proc = calloc((size_t)list->n_items + 1, sizeof(jobs.proc[0])),
		.run_id = calloc((size_t)list->n_items + 1, sizeof(jobs.run_id[0])),
	};
	int err = jobs.proc && jobs.run_id ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < list->n_items && !err; i++) {
		if (read_head(&list->item[i], &jobs.proc[jobs.n_procs]))
			jobs.run_id[i] = jobs.proc[jobs.n_procs++].run_id;
	}
	if (!err) {
		make_single(&jobs);
		jobs.n = tp_jobs_group(jobs.proc, jobs.n_procs);
		jobs.name = calloc((size_t)jobs.n + 1, sizeof(jobs.name[0]));
		err = jobs.name ? 0 : -ENOMEM;
	}
	for (uint32_t i = 0; i < jobs.n && !err; i++)
		name_job(&jobs, i);
	/* Of one job that was asked for by another name: that one isn't here. */
	if (!err && (jobs.n > 1 || (jobs.n && run->options.job && strcmp(run->options.job, "all"))))
		err = choose(run, &jobs);
	if (!err && jobs.n > 1 && jobs.chosen < jobs.n)
		mark_others(&jobs, list);
	free(jobs.proc);
	free(jobs.run_id);
	free(jobs.name);
	return err;
}
