/* SPDX-License-Identifier: Apache-2.0 */
/*
 * naming_sweep.c - what dead processes left in a run folder: is there any, and removing a rank's
 *
 * First all ledgers are asked who is dead: a trace alone cannot tell, it is judged by its run's
 * ledger, a worker's by its rank's. Then traces and rings go, ledgers last, so that what is not
 * finished here is found again. No allocation: folders are read with getdents64, not opendir.
 */
#include "runtime/engine/naming/naming_sweep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/base/begins.h"
#include "runtime/base/file.h"
#include "runtime/base/log.h"
#include "runtime/engine/naming/naming_owner.h"
#include "runtime/trace/hang.h"
#include "runtime/trace/oom.h"

enum {
	PATH_MAX_BYTES = 1024,
	DIR_DEPTH_MAX = 8,
	MOST_RUNS = 512,	/* ledgers; runs of others cannot be judged */
	ENOUGH_RUNS = 8,	/* of others, all dead: ranks of a large job need not read them all */
};
#define LATE_NS 60000000000ull

struct sweep {
	const struct tp_naming *naming;
	const char *dir;	/* the run folder */
	const char *suffix;	/* of traces, by the present pattern */
	const char *own;	/* the ledger that stays */
	void (*visit)(struct sweep *sweep, const char *path, struct tp_owned *owned);
	bool only_ledgers, is_settled;	/* settled: no more files are looked at */
	uint32_t n_removed, n_kept, n_runs;
	struct {
		uint64_t run_id;
		enum tp_owner_state owner;
	} run[MOST_RUNS];
};

static bool has_our_name(const struct sweep *sweep, const char *path)
{
	if (sweep->only_ledgers)
		return tp_ends(path, ".steps");
	return tp_ends(path, ".ring") || tp_ends(path, ".steps") || tp_ends(path, ".part") ||
	       tp_ends(path, ".tpt") || tp_ends(path, TP_HANG_SUFFIX) || tp_ends(path, TP_OOM_SUFFIX) ||
	       tp_ends(path, sweep->suffix);
}

static void visit_file(struct sweep *sweep, const char *path)
{
	struct tp_owned owned;

	if (sweep->is_settled || !has_our_name(sweep, path) ||
	    tp_owned_open(sweep->naming->folder, path, &owned))
		return;
	sweep->visit(sweep, path, &owned);
	tp_owned_close(&owned);
}

/* The run folder itself may be the user's link; what lies in it is opened without following any. */
static int list_folder(const struct sweep *sweep, const char *path)
{
	const struct tp_folder *folder = sweep->naming->folder;

	if (strcmp(path, sweep->dir))
		return tp_file_open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	if (folder && tp_own_fd_is_ours(&folder->own))
		return tp_file_open_at(folder->own.fd, ".", O_RDONLY | O_DIRECTORY, 0);
	return tp_file_open(path, O_RDONLY | O_DIRECTORY, 0);
}

static void visit_folder(struct sweep *sweep, const char *path, uint32_t depth)
{
	char entries[4096] __attribute__((aligned(16)));
	int fd = list_folder(sweep, path);
	ssize_t n;

	if (fd < 0)
		return;
	while ((n = syscall(SYS_getdents64, fd, entries, sizeof(entries))) > 0) {
		for (ssize_t at = 0; at < n;) {
			const struct dirent64 *entry = (const void *)(entries + at);
			char inner[PATH_MAX_BYTES];
			struct tp_text out;

			at += entry->d_reclen;
			if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
				continue;
			tp_text_init(&out, inner, sizeof(inner));
			tp_text_fmt(&out, "%s/%s", path, entry->d_name);
			if (out.is_cut)
				continue;
			/* Links are not followed into folders; what has no type may be either. */
			if (entry->d_type != DT_DIR)
				visit_file(sweep, inner);
			if ((entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN) && depth > 0)
				visit_folder(sweep, inner, depth - 1);
		}
	}
	close(fd);
}

/* ---- who is dead ---- */

static void note_run(struct sweep *sweep, const char *path, struct tp_owned *owned)
{
	enum tp_owner_state owner = owned->owner;

	if (owned->kind != TP_OWNED_LEDGER || sweep->n_runs == MOST_RUNS)
		return;
	/* The caller has found it dead, and holds it. */
	if (!strcmp(path, sweep->own))
		owner = TP_OWNER_DEAD;
	sweep->run[sweep->n_runs].run_id = owned->run_id;
	sweep->run[sweep->n_runs++].owner = owner;
}

/* False: there is no ledger of that run. */
static bool find_run(const struct sweep *sweep, uint64_t run_id, enum tp_owner_state *owner)
{
	for (uint32_t i = 0; i < sweep->n_runs; i++) {
		if (sweep->run[i].run_id == run_id) {
			*owner = sweep->run[i].owner;
			return true;
		}
	}
	return false;
}

static enum tp_owner_state judge(const struct sweep *sweep, const struct tp_owned *owned)
{
	enum tp_owner_state owner;

	if (owned->kind == TP_OWNED_LEDGER || find_run(sweep, owned->run_id, &owner))
		return owned->kind == TP_OWNED_LEDGER ? owned->owner : owner;
	/* A worker, which has no ledger, ends soon after its rank. */
	if (owned->owner == TP_OWNER_UNKNOWN && owned->parent_run_id &&
	    find_run(sweep, owned->parent_run_id, &owner))
		return owner;
	return owned->owner;
}

/* ---- removing ---- */

/* Restarts before ours belong to this very run: only from ours on they are older runs'. */
static bool is_of_our_rank(const struct sweep *sweep, const struct tp_owned *owned)
{
	return owned->kind != TP_OWNED_OTHER && owned->rank == sweep->naming->rank.rank &&
	       owned->restart >= sweep->naming->rank.restart;
}

static void remove_file(struct sweep *sweep, const char *path, const struct tp_owned *owned)
{
	int err;

	if (!is_of_our_rank(sweep, owned) || !strcmp(path, sweep->own))
		return;
	if (judge(sweep, owned) != TP_OWNER_DEAD ||
	    (owned->kind == TP_OWNED_LEDGER && !owned->is_locked)) {
		sweep->n_kept++;
		return;
	}
	err = tp_owned_remove(sweep->naming->folder, path, owned);
	sweep->n_removed += !err;
	sweep->n_kept += err == -ESTALE;
	if (err && err != -ESTALE)
		tp_warn("cannot remove the old '%s': %s; the merge will show it too", path,
			strerror(-err));
}

static void remove_data(struct sweep *sweep, const char *path, struct tp_owned *owned)
{
	if (owned->kind != TP_OWNED_LEDGER)
		remove_file(sweep, path, owned);
}

static void remove_ledger(struct sweep *sweep, const char *path, struct tp_owned *owned)
{
	if (owned->kind == TP_OWNED_LEDGER)
		remove_file(sweep, path, owned);
}

/* What the merge made of traces that are gone, under the name that it gives of itself. */
static void remove_node_file(const struct sweep *sweep)
{
	static const char *const suffix[] = {".json.gz", ".json"};
	const struct tp_rank *rank = &sweep->naming->rank;

	for (size_t i = 0; i < sizeof(suffix) / sizeof(suffix[0]); i++) {
		char path[PATH_MAX_BYTES];
		struct tp_text out;

		tp_text_init(&out, path, sizeof(path));
		tp_text_fmt(&out, "%s/node%d%s", sweep->dir, rank->node_rank > 0 ? rank->node_rank : 0,
			    suffix[i]);
		tp_folder_unlink(sweep->naming->folder, path, NULL);
	}
}

void tp_naming_sweep(const struct tp_naming *naming, const char *dir, const char *pattern,
		     const char *own)
{
	char name[PATH_MAX_BYTES];
	struct sweep sweep = {.naming = naming, .dir = dir, .own = own, .visit = note_run};
	struct tp_text out;
	uint32_t depth = 0;

	tp_text_init(&out, name, sizeof(name));
	tp_naming_expand(naming, pattern, &out);
	for (const char *at = name; (at = strchr(at, '/')) && depth < DIR_DEPTH_MAX; at++)
		depth++;
	sweep.suffix = strrchr(name, '.');
	if (!sweep.suffix || strchr(sweep.suffix, '/'))
		sweep.suffix = ".tpt";
	visit_folder(&sweep, dir, 0);
	sweep.visit = remove_data;
	visit_folder(&sweep, dir, depth);
	sweep.visit = remove_ledger;
	visit_folder(&sweep, dir, 0);
	if (sweep.n_removed)
		remove_node_file(&sweep);
	tp_info("%u older files of this rank removed from '%s'", sweep.n_removed, dir);
	if (sweep.n_kept)
		tp_warn("%u older files of this rank stay in '%s': their processes run, or may run in "
			"another container or on another machine", sweep.n_kept, dir);
}

/* ---- is there any ---- */

/* Of this very job, by its name, or by who started both. */
static bool is_of_job(const struct tp_naming *naming, const struct tp_owned *owned)
{
	return (owned->job[0] && !strcmp(owned->job, naming->job)) ||
	       (owned->parent_pid && owned->parent_pid == naming->parent_pid);
}

/* An earlier start of a rank. */
static bool is_restarted(const struct tp_naming *naming, const struct tp_owned *owned)
{
	return owned->restart < naming->rank.restart && is_of_job(naming, owned);
}

/* Another rank that has ended before this one began, as the merge sees it (jobs_group.c). Of a
 * job that is run again this rank has a ledger, too. */
static bool is_late(const struct tp_naming *naming, const struct tp_owned *owned)
{
	return is_of_job(naming, owned) && owned->world_size == naming->rank.world_size &&
	       owned->world_size > 1 && owned->rank != naming->rank.rank &&
	       owned->restart == naming->rank.restart && naming->start_ns < owned->written_ns + LATE_NS;
}

static void look_for_others(struct sweep *sweep, const char *path, struct tp_owned *owned)
{
	const struct tp_naming *naming = sweep->naming;

	(void)path;
	if (owned->kind != TP_OWNED_LEDGER)
		return;
	if (owned->owner == TP_OWNER_ALIVE)
		sweep->n_kept++;
	else if (!tp_owned_is_beside(owned, naming->start_ns, naming->fork_ns) &&
		 !is_restarted(naming, owned) && !is_late(naming, owned))
		sweep->n_runs++;
	sweep->is_settled = sweep->n_kept || sweep->n_runs == ENOUGH_RUNS;
}

bool tp_naming_is_used(const struct tp_naming *naming, const char *dir)
{
	struct sweep sweep = {.naming = naming, .dir = dir, .suffix = "", .own = "",
			      .only_ledgers = true, .visit = look_for_others};

	visit_folder(&sweep, dir, 0);
	return sweep.n_runs && !sweep.n_kept;
}
