/* SPDX-License-Identifier: Apache-2.0 */
/*
 * naming_claim.c - may this process use a run folder, and what must go first
 *
 * The ledger is the mark: it is created with O_EXCL, so two processes cannot both have it.
 * Only files that prove by their contents to be this rank's, of a process that is dead, are
 * ever removed. No allocation: folders are read with getdents64, not opendir.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/base/file.h"
#include "runtime/base/log.h"
#include "runtime/base/process.h"
#include "runtime/engine/naming.h"
#include "runtime/trace/ledger.h"
#include "runtime/trace/ring_layout.h"
#include "runtime/trace/trainprof_trace.h"

enum {
	PATH_MAX_BYTES = 1024,
	YOUNG_S = 10,		/* a ledger without a head may be of a process that starts */
	N_TRIES = 4,		/* of claiming, when others claim at the same time */
	DIR_DEPTH_MAX = 8,
};
#define NS_PER_S 1000000000ull

/* ---- is the process that wrote a file still there? ---- */

struct owner {
	uint64_t boot_id[2];
	uint64_t start;		/* field 22 of /proc/PID/stat; 0: see real_ns */
	uint64_t real_ns;	/* a moment at which it lived */
	uint32_t pid;
};

static bool is_alive(const struct owner *owner)
{
	uint64_t here[2], start;

	tp_process_boot_id(here);
	if (memcmp(here, owner->boot_id, sizeof(here)))
		return false;
	start = tp_process_start(owner->pid);
	if (!start)
		return false;
	if (owner->start)
		return start == owner->start;
	/* Who started after that moment has only inherited the number. A second for rounding. */
	return tp_process_start_real_ns(start) <= owner->real_ns + NS_PER_S;
}

/* ---- what a file is ---- */

enum kind { OTHER, TRACE, RING, LEDGER };

struct found {
	enum kind kind;
	int32_t rank;
	uint32_t restart;
	bool is_alive;
	uint64_t real_ns;	/* of a ledger: when it was begun */
};

static void inspect_trace(const char *path, const struct tp_file_head *trace, struct found *found)
{
	struct owner owner = {{trace->boot_id[0], trace->boot_id[1]}, 0, 0, trace->pid};
	struct stat st;

	/* It lived when it wrote. */
	if (stat(path, &st) == 0)
		owner.real_ns = (uint64_t)st.st_mtim.tv_sec * NS_PER_S +
				(uint64_t)st.st_mtim.tv_nsec;
	*found = (struct found){TRACE, trace->rank, trace->restart, is_alive(&owner), 0};
}

static void inspect_ring(const char *head, struct found *found)
{
	struct tp_ring_head ring;
	struct owner owner;

	memcpy(&ring, head, sizeof(ring));
	/* anchor[2]: CLOCK_REALTIME when the ring was made. */
	owner = (struct owner){{ring.boot_id[0], ring.boot_id[1]}, ring.process_start,
			       ring.anchor[2], ring.pid};
	*found = (struct found){RING, ring.rank, ring.restart, is_alive(&owner), 0};
}

static void inspect_ledger(const char *head, size_t n, struct found *found)
{
	const char *end = memchr(head, '\n', n);
	struct tp_ledger_head ledger;
	struct owner owner;

	if (!end || !tp_ledger_parse_head(head, (size_t)(end - head), &ledger))
		return;
	owner = (struct owner){{ledger.boot_id[0], ledger.boot_id[1]}, 0, ledger.real_ns,
			       ledger.pid};
	*found = (struct found){LEDGER, ledger.rank, ledger.restart, is_alive(&owner),
				ledger.real_ns};
}

/* Whose file it is, by its contents. */
static void inspect(const char *path, struct found *found)
{
	char head[sizeof(struct tp_ring_head)];
	ssize_t n = tp_file_read(path, head, sizeof(head));
	struct tp_file_head trace;
	uint64_t magic = 0;

	memset(found, 0, sizeof(*found));
	if (n < (ssize_t)sizeof(magic))
		return;
	memcpy(&magic, head, sizeof(magic));
	if (magic == TP_FILE_MAGIC && n >= (ssize_t)sizeof(trace)) {
		memcpy(&trace, head, sizeof(trace));
		inspect_trace(path, &trace, found);
	} else if (magic == TP_RING_MAGIC && n == (ssize_t)sizeof(head)) {
		inspect_ring(head, found);
	} else {
		inspect_ledger(head, (size_t)n, found);
	}
}

/* A ledger without its head: its process is about to write it, or died before. */
static bool is_young(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && st.st_size == 0 &&
	       tp_clock_real_ns() / NS_PER_S < (uint64_t)st.st_mtime + YOUNG_S;
}

/* ---- removing what this rank left ---- */

struct sweep {
	const struct tp_naming *naming;
	const char *suffix;	/* of traces, by the present pattern */
	uint32_t n_removed;
};

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), n_end = strlen(end);

	return n >= n_end && !strcmp(text + n - n_end, end);
}

/* Restarts before ours belong to this very run: only from ours on they are older runs'. */
static bool is_ours(const struct sweep *sweep, const struct found *found)
{
	return found->kind != OTHER && found->rank == sweep->naming->rank.rank &&
	       found->restart >= sweep->naming->rank.restart && !found->is_alive;
}

static void sweep_file(struct sweep *sweep, const char *path)
{
	char target[PATH_MAX_BYTES];
	struct found found;
	ssize_t n;

	if (!ends_with(path, ".ring") && !ends_with(path, ".steps") && !ends_with(path, ".part") &&
	    !ends_with(path, ".tpt") && !ends_with(path, sweep->suffix))
		return;
	inspect(path, &found);
	if (!is_ours(sweep, &found))
		return;
	/* A ring may lie elsewhere, with a link here. */
	n = found.kind == RING ? readlink(path, target, sizeof(target) - 1) : -1;
	if (n > 0) {
		target[n] = '\0';
		if (target[0] == '/')
			unlink(target);
	}
	if (unlink(path) == 0)
		sweep->n_removed++;
	else
		tp_warn("cannot remove the old '%s': %s; the merge will show it too", path,
			strerror(errno));
}

static void sweep_folder(struct sweep *sweep, const char *path, uint32_t depth)
{
	char entries[4096] __attribute__((aligned(16)));
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return;
	while ((n = getdents64(fd, entries, sizeof(entries))) > 0) {
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
				sweep_file(sweep, inner);
			if ((entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN) && depth > 0)
				sweep_folder(sweep, inner, depth - 1);
		}
	}
	close(fd);
}

static uint32_t sweep(const struct tp_naming *naming, const char *dir, const char *pattern)
{
	char name[PATH_MAX_BYTES];
	struct sweep sweep = {.naming = naming};
	struct tp_text out;
	uint32_t depth = 0;

	tp_text_init(&out, name, sizeof(name));
	tp_naming_expand(naming, pattern, &out);
	for (const char *at = name; (at = strchr(at, '/')) && depth < DIR_DEPTH_MAX; at++)
		depth++;
	sweep.suffix = strrchr(name, '.');
	if (!sweep.suffix || strchr(sweep.suffix, '/'))
		sweep.suffix = ".tpt";
	sweep_folder(&sweep, dir, depth);
	return sweep.n_removed;
}

/* ---- claiming ---- */

int tp_naming_ledger_path(const struct tp_naming *naming, const char *dir, char *path,
			  uint32_t cap)
{
	int32_t rank = naming->rank.rank;
	struct tp_text out;

	tp_text_init(&out, path, cap);
	tp_text_fmt(&out, "%s/rank%d", dir, rank >= 0 ? rank : 0);
	if (naming->worker)
		tp_text_fmt(&out, ".worker%u", naming->worker);
	if (naming->rank.restart)
		tp_text_fmt(&out, ".restart%u", naming->rank.restart);
	if (naming->add_pid)
		tp_text_fmt(&out, ".pid%u", naming->pid);
	tp_text_str(&out, ".steps");
	return out.is_cut ? -ENAMETOOLONG : 0;
}

/* 0, or -errno. */
static int create(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

/* The ledger of this very run: of a process that lives, or of one that this program forked. */
static bool is_of_this_run(const struct tp_naming *naming, const char *path,
			   const struct found *found)
{
	return found->is_alive || is_young(path) ||
	       (naming->fork_ns && found->kind == LEDGER && found->real_ns >= naming->fork_ns);
}

/* The name is taken: 0 when trying again makes sense, else -EEXIST. */
static int make_way(struct tp_naming *naming, const char *dir, const char *pattern,
		    bool overwrite, const char *path)
{
	struct found found;
	uint32_t n_removed;

	inspect(path, &found);
	if (!naming->add_pid && is_of_this_run(naming, path, &found)) {
		naming->add_pid = true;
		return 0;
	}
	if (!overwrite) {
		tp_warn("'%s' holds traces of this rank already ('%s'); set TRAINPROF_DIR to another "
			"folder or TRAINPROF_OVERWRITE=1; nothing is recorded", dir, path);
		return -EEXIST;
	}
	n_removed = sweep(naming, dir, pattern);
	tp_info("%u older files of this rank removed from '%s'", n_removed, dir);
	/* Whatever stands under the ledger's name now is no ledger of anyone alive. */
	if (unlink(path) < 0 && errno != ENOENT)
		return -errno;
	return 0;
}

int tp_naming_claim(struct tp_naming *naming, const char *dir, const char *pattern,
		    bool overwrite, char *ledger_path, uint32_t cap)
{
	int err = 0;

	naming->add_pid = false;
	for (int i = 0; i < N_TRIES; i++) {
		err = tp_naming_ledger_path(naming, dir, ledger_path, cap);
		if (err)
			break;
		err = create(ledger_path);
		if (err != -EEXIST)
			break;
		err = make_way(naming, dir, pattern, overwrite, ledger_path);
		if (err == -EEXIST)
			return err;
		if (err)
			break;
		err = -EEXIST;
	}
	if (err)
		tp_warn("cannot create '%s': %s; nothing is recorded", ledger_path, strerror(-err));
	return err;
}
