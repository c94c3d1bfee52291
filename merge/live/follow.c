/* SPDX-License-Identifier: Apache-2.0 */
/*
 * follow.c - the files of a run folder, look after look
 *
 * Names are remembered with what they turned out to be, so a file is opened once to see what it is. A
 * name that could not be judged (a ledger without a whole head yet) is tried again.
 */
#include "merge/live/follow.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "merge/input/infile.h"
#include "merge/input/jobs.h"
#include "merge/kit/grow.h"
#include "runtime/base/begins.h"
#include "runtime/base/clock.h"
#include "runtime/base/file.h"
#include "runtime/base/hash.h"

enum kind { UNKNOWN, OTHER, LEDGER, RING, TRACE };

struct tp_follow_entry {
	char *name;
	enum kind kind;
	uint32_t of;	/* number of its rank (ledger) or its trace */
};

int tp_follow_open(struct tp_follow *follow, const char *folder)
{
	*follow = (struct tp_follow){.folder = folder};
	follow->dir = tp_file_open(folder, O_RDONLY | O_DIRECTORY, 0);
	return follow->dir < 0 ? follow->dir : 0;
}

void tp_follow_close(struct tp_follow *follow)
{
	for (uint32_t i = 0; i < follow->n_entries; i++)
		free(follow->entry[i].name);
	free(follow->entry);
	free(follow->rank);
	free(follow->trace);
	tp_keyed_free(&follow->known);
	if (follow->dir >= 0)
		close(follow->dir);
}

/* ---- names ---- */

static struct tp_follow_entry *find_entry(struct tp_follow *follow, const char *name)
{
	uint32_t hash = tp_keyed_hash(tp_hash_bytes(name, strlen(name), 0)), at, row;
	struct tp_follow_entry *entry;

	for (row = tp_keyed_first(&follow->known, hash, &at); row != TP_NO_KEYED;
	     row = tp_keyed_next(&follow->known, hash, &at))
		if (!strcmp(follow->entry[row].name, name))
			return &follow->entry[row];
	if (!tp_grow(&follow->entry, &follow->cap_entries, follow->n_entries + 1ull, sizeof(*entry)))
		return NULL;
	entry = &follow->entry[follow->n_entries];
	entry->name = strdup(name);
	if (!entry->name || !tp_keyed_add(&follow->known, hash, follow->n_entries)) {
		free(entry->name);
		return NULL;
	}
	follow->n_entries++;
	return entry;
}

static void add_rank(struct tp_follow *follow, struct tp_follow_entry *entry)
{
	struct tp_follow_rank rank = {.name = entry->name};

	if (!tp_follow_begin_ledger(follow, &rank))
		return;
	if (!tp_grow(&follow->rank, &follow->cap_ranks, follow->n_ranks + 1ull, sizeof(rank))) {
		follow->is_cut = true;
		return;
	}
	entry->kind = LEDGER;
	entry->of = follow->n_ranks;
	follow->rank[follow->n_ranks++] = rank;
	follow->has_new = true;
}

static uint32_t find_rank(const struct tp_follow *follow, uint64_t run_id)
{
	for (uint32_t i = 0; i < follow->n_ranks; i++)
		if (follow->rank[i].head.run_id == run_id)
			return i;
	return UINT32_MAX;
}

/* Whose ring it is stands in it. */
static void add_ring(struct tp_follow *follow, struct tp_follow_entry *entry)
{
	struct tp_ring_head head;
	struct stat st;
	uint32_t at;
	/* A link to where there was room, but no other user's. */
	int fd = tp_infile_find(follow->dir, entry->name, &st);
	bool is_ring = fd >= 0 && !tp_file_read_at(fd, 0, &head, sizeof(head)) &&
		       head.magic == TP_RING_MAGIC;

	if (fd >= 0)
		close(fd);
	if (!is_ring)
		return;
	at = find_rank(follow, head.run_id);
	if (at != UINT32_MAX) {
		follow->rank[at].ring = entry->name;
		entry->kind = RING;
	} else if (head.worker) {
		entry->kind = OTHER;
	}
}

static void add_trace(struct tp_follow *follow, struct tp_follow_entry *entry)
{
	struct tp_follow_trace trace = {.name = entry->name};
	struct tp_file_head head;
	struct stat st;
	int fd = tp_file_open_at(follow->dir, entry->name, O_RDONLY | O_NOFOLLOW, 0);
	bool is_trace = fd >= 0 && !tp_file_read_at(fd, 0, &head, sizeof(head)) &&
			head.magic == TP_FILE_MAGIC && !fstat(fd, &st);

	if (fd >= 0)
		close(fd);
	entry->kind = OTHER;
	if (!is_trace)
		return;
	if (!tp_grow(&follow->trace, &follow->cap_traces, follow->n_traces + 1ull, sizeof(trace))) {
		follow->is_cut = true;
		return;
	}
	trace.run_id = head.parent_run_id ? head.parent_run_id : head.run_id;
	trace.window = head.window;
	trace.of = UINT32_MAX;
	trace.is_of_worker = head.parent_run_id != 0;
	trace.bytes = (uint64_t)st.st_size;
	trace.real_ns = st.st_mtim.tv_sec * 1000000000ll + st.st_mtim.tv_nsec;
	entry->kind = TRACE;
	entry->of = follow->n_traces;
	follow->trace[follow->n_traces++] = trace;
}

static void add_report(struct tp_follow *follow, struct tp_follow_entry *entry)
{
	entry->kind = OTHER;
	follow->n_reports++;
	follow->report = entry->name;
}

static void take_name(struct tp_follow *follow, const char *name)
{
	static const struct {
		const char *suffix;
		void (*add)(struct tp_follow *follow, struct tp_follow_entry *entry);
	} sorts[] = {{".steps", add_rank}, {".ring", add_ring}, {".tpt", add_trace},
		     {".hang", add_report}, {".oom", add_report}};
	struct tp_follow_entry *entry;

	for (size_t i = 0; i < sizeof(sorts) / sizeof(sorts[0]); i++) {
		if (!tp_ends(name, sorts[i].suffix))
			continue;
		entry = find_entry(follow, name);
		if (!entry)
			follow->is_cut = true;
		else if (entry->kind == UNKNOWN)
			sorts[i].add(follow, entry);
		if (entry && entry->kind == TRACE)
			follow->trace[entry->of].seen = follow->look;
	}
}

static int list_names(struct tp_follow *follow)
{
	int fd = openat(follow->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *name;

	if (!list) {
		int err = -errno;

		if (fd >= 0)
			close(fd);
		return err;
	}
	while ((name = readdir(list)))
		take_name(follow, name->d_name);
	closedir(list);
	return 0;
}

/* ---- which of them is the job ---- */

/* Ledgers that say to be the same process's need not be of one job. */
static bool is_of_job(const struct tp_job_proc *proc, uint32_t n, uint64_t run_id, uint32_t job)
{
	for (uint32_t i = 0; i < n; i++)
		if (proc[i].run_id == run_id && proc[i].job == job)
			return true;
	return false;
}

static int64_t end_of(const struct tp_follow_rank *rank)
{
	int64_t end_ns = (int64_t)rank->head.real_ns;

	if (rank->is_alive)
		return INT64_MAX / 2;
	if (rank->has_step && rank->last.begin_ns > rank->head.mono_ns)
		end_ns += (int64_t)(rank->last.begin_ns + rank->last.dur_ns - rank->head.mono_ns);
	return end_ns;
}

/* A rank that was restarted, or whose number other processes have, is shown once: the newest that
 * lives, else the newest. */
static bool is_newer(const struct tp_follow_rank *a, const struct tp_follow_rank *b)
{
	if (a->is_alive != b->is_alive)
		return a->is_alive;
	return a->head.real_ns > b->head.real_ns;
}

static int by_rank(const void *a, const void *b)
{
	const struct tp_follow_rank *const *x = a, *const *y = b;

	if ((*x)->head.rank != (*y)->head.rank)
		return (*x)->head.rank < (*y)->head.rank ? -1 : 1;
	return is_newer(*x, *y) ? -1 : 1;
}

static void show_newest(struct tp_follow *follow)
{
	struct tp_follow_rank **order = calloc(follow->n_ranks, sizeof(*order));
	uint32_t n = 0;

	follow->n_shown = 0;
	if (!order) {
		follow->is_cut = true;
		return;
	}
	for (uint32_t i = 0; i < follow->n_ranks; i++)
		if (follow->rank[i].is_shown)
			order[n++] = &follow->rank[i];
	if (n)
		qsort(order, n, sizeof(*order), by_rank);
	for (uint32_t i = 0; i < n; i++) {
		order[i]->is_shown = !i || order[i]->head.rank != order[i - 1]->head.rank;
		follow->n_shown += order[i]->is_shown;
	}
	free(order);
}

static void choose_job(struct tp_follow *follow)
{
	struct tp_job_proc *proc = calloc(follow->n_ranks, sizeof(*proc));

	if (!proc) {
		follow->is_cut = true;
		return;
	}
	for (uint32_t i = 0; i < follow->n_ranks; i++) {
		const struct tp_follow_rank *rank = &follow->rank[i];
		const struct tp_ledger_head *head = &rank->head;

		proc[i] = (struct tp_job_proc){
			.run_id = head->run_id, .boot_id = {head->boot_id[0], head->boot_id[1]},
			.fork_ns = head->fork_ns, .pid = head->pid, .parent_pid = head->parent_pid,
			.restart = head->restart, .rank = head->rank, .world = head->world_size,
			.begin_ns = (int64_t)head->real_ns, .end_ns = end_of(rank),
		};
		memcpy(proc[i].word, head->job, sizeof(proc[i].word));
	}
	follow->n_jobs = tp_jobs_group(proc, follow->n_ranks);
	for (uint32_t i = 0; i < follow->n_ranks; i++)
		follow->rank[i].is_of_job = follow->rank[i].is_shown =
			is_of_job(proc, follow->n_ranks, follow->rank[i].head.run_id,
				  follow->n_jobs - 1);
	free(proc);
	show_newest(follow);
}

/* ---- looking ---- */

static void count_traces(struct tp_follow *follow)
{
	follow->n_removed = 0;
	for (uint32_t i = 0; i < follow->n_ranks; i++)
		follow->rank[i].n_traces = 0;
	for (uint32_t i = 0; i < follow->n_traces; i++) {
		struct tp_follow_trace *trace = &follow->trace[i];

		/* Names come in any order. */
		if (trace->of == UINT32_MAX)
			trace->of = find_rank(follow, trace->run_id);
		if (trace->seen != follow->look)
			follow->n_removed++;
		else if (trace->of != UINT32_MAX && !trace->is_of_worker)
			follow->rank[trace->of].n_traces++;
	}
}

int tp_follow_look(struct tp_follow *follow)
{
	int err;

	follow->look++;
	follow->before_ns = follow->look_ns;
	follow->look_ns = tp_clock_mono_ns();
	err = list_names(follow);
	if (err)
		return err;
	for (uint32_t i = 0; i < follow->n_ranks; i++) {
		struct tp_follow_rank *rank = &follow->rank[i];

		rank->part[follow->look % TP_FOLLOW_LOOKS] = (struct tp_follow_part){0};
		/* One that has ended writes no more. */
		if (rank->has_ended)
			continue;
		tp_follow_read_ledger(follow, rank);
		if (rank->ring && rank->is_alive)
			tp_follow_read_ring(follow, rank);
	}
	count_traces(follow);
	if (follow->has_new)
		choose_job(follow);
	follow->has_new = false;
	return 0;
}

bool tp_follow_is_over(const struct tp_follow *follow)
{
	for (uint32_t i = 0; i < follow->n_ranks; i++)
		if (follow->rank[i].is_shown && follow->rank[i].is_alive)
			return false;
	return follow->n_shown > 0;
}

struct tp_follow_part tp_follow_recent(const struct tp_follow *follow,
				       const struct tp_follow_rank *rank, uint32_t n)
{
	struct tp_follow_part sum = {0};

	for (uint32_t i = 0; i < n && i < follow->look; i++) {
		const struct tp_follow_part *part =
			&rank->part[(follow->look - i) % TP_FOLLOW_LOOKS];

		sum.steps += part->steps;
		sum.step_ns += part->step_ns;
		sum.data_wait_ns += part->data_wait_ns;
		sum.optimizer_ns += part->optimizer_ns;
		if (part->most_ns > sum.most_ns)
			sum.most_ns = part->most_ns;
	}
	return sum;
}
