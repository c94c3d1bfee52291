/* SPDX-License-Identifier: Apache-2.0 */
/*
 * naming_owner.c - whose a file in a run folder is, and whether its process may still write to it
 */
#include "runtime/engine/naming/naming_owner.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/begins.h"
#include "runtime/base/clock.h"
#include "runtime/base/file.h"
#include "runtime/base/hold.h"
#include "runtime/base/process.h"
#include "runtime/trace/hang.h"
#include "runtime/trace/ledger.h"
#include "runtime/trace/oom.h"
#include "runtime/trace/ring_layout.h"
#include "runtime/trace/trainprof_trace.h"

enum { YOUNG_S = 10 };	/* a ledger without a head may be of a process that starts */
#define NS_PER_S 1000000000ull
/* The start of a process is counted in ticks, rounded down, and so are a file's times. */
#define START_ERROR_NS 20000000ull

struct owner {
	uint64_t boot_id[2];
	uint32_t pid, pid_ns;
	uint64_t start;		/* field 22 of /proc/PID/stat; 0: see real_ns */
	uint64_t real_ns;	/* a moment at which it lived */
};

/* Of this boot. By its number, where that means here what it meant there. */
static enum tp_owner_state judge_by_pid(const struct owner *owner)
{
	uint64_t start;

	if (!owner->pid_ns || owner->pid_ns != tp_process_pid_ns())
		return TP_OWNER_UNKNOWN;
	if (!tp_process_is_there(owner->pid, owner->start))
		return TP_OWNER_DEAD;
	start = tp_process_start(owner->pid);
	/* Who started after that moment has only inherited the number. A second for rounding. */
	return !owner->start && start &&
			       tp_process_start_real_ns(start) > owner->real_ns + NS_PER_S
		       ? TP_OWNER_DEAD
		       : TP_OWNER_ALIVE;
}

static bool is_of_this_boot(const struct owner *owner)
{
	uint64_t here[2];

	tp_process_boot_id(here);
	return !memcmp(here, owner->boot_id, sizeof(here));
}

/* `lock`: of tp_hold_briefly. A child of the owner may hold a ring, so where the number of the
 * process says something, it has the last word. */
static enum tp_owner_state judge(const struct owner *owner, int lock)
{
	enum tp_owner_state by_pid;

	if (!is_of_this_boot(owner))
		return lock == -EWOULDBLOCK ? TP_OWNER_ALIVE : TP_OWNER_UNKNOWN;
	by_pid = judge_by_pid(owner);
	if (by_pid != TP_OWNER_UNKNOWN)
		return by_pid;
	if (!owner->pid_ns || (lock && lock != -EWOULDBLOCK))
		return TP_OWNER_UNKNOWN;
	return lock ? TP_OWNER_ALIVE : TP_OWNER_DEAD;
}

static void inspect_trace(const struct tp_file_head *trace, struct tp_owned *owned)
{
	struct owner owner = {
		.boot_id = {trace->boot_id[0], trace->boot_id[1]}, .pid = trace->pid,
		.pid_ns = trace->pid_ns,
		/* It lived when it wrote. */
		.real_ns = owned->written_ns,
	};

	owned->kind = TP_OWNED_TRACE;
	owned->rank = trace->rank;
	owned->restart = trace->restart;
	owned->pid = trace->pid;
	owned->run_id = trace->run_id;
	owned->parent_run_id = trace->parent_run_id;
	owned->owner = is_of_this_boot(&owner) ? judge_by_pid(&owner) : TP_OWNER_UNKNOWN;
}

static void inspect_ring(const char *head, int lock, struct tp_owned *owned)
{
	struct tp_ring_head ring;
	struct owner owner;

	memcpy(&ring, head, sizeof(ring));
	/* anchor[2]: CLOCK_REALTIME when the ring was made. */
	owner = (struct owner){{ring.boot_id[0], ring.boot_id[1]}, ring.pid, ring.pid_ns,
			       ring.process_start, ring.anchor[2]};
	owned->kind = TP_OWNED_RING;
	owned->rank = ring.rank;
	owned->restart = ring.restart;
	owned->pid = ring.pid;
	owned->run_id = ring.run_id;
	owned->owner = judge(&owner, lock);
}

static bool has_ended(int fd, off_t n_bytes)
{
	char end[sizeof(TP_LEDGER_END)] = "\n";
	const off_t n = (off_t)strlen(TP_LEDGER_END);

	return n_bytes > n &&
	       !tp_file_read_at(fd, (uint64_t)(n_bytes - n - 1), end, (size_t)n + 1) &&
	       end[0] == '\n' && !memcmp(end + 1, TP_LEDGER_END, (size_t)n);
}

static void inspect_ledger(const char *head, size_t n, const struct stat *st, int lock,
			   struct tp_owned *owned)
{
	const char *end = memchr(head, '\n', n);
	struct tp_ledger_head ledger;
	struct owner owner;

	if (!end || !tp_ledger_parse_head(head, (size_t)(end - head), &ledger))
		return;
	owner = (struct owner){{ledger.boot_id[0], ledger.boot_id[1]}, ledger.pid, ledger.pid_ns,
			       0, ledger.real_ns};
	owned->kind = TP_OWNED_LEDGER;
	owned->rank = ledger.rank;
	owned->restart = ledger.restart;
	owned->pid = ledger.pid;
	owned->run_id = ledger.run_id;
	owned->real_ns = ledger.real_ns;
	owned->parent_pid = is_of_this_boot(&owner) ? ledger.parent_pid : 0;
	memcpy(owned->job, ledger.job, sizeof(owned->job));
	owned->world_size = ledger.world_size;
	/* Nobody but its process holds a ledger. */
	owned->owner = lock == -EWOULDBLOCK		 ? TP_OWNER_ALIVE
		       : has_ended(owned->own.fd, st->st_size) ? TP_OWNER_DEAD
							 : judge(&owner, lock);
}

/* Its run's ledger says who is dead. */
static void inspect_report(struct tp_owned *owned)
{
	char text[TP_REPORT_HEAD_MAX];
	ssize_t n = pread(owned->own.fd, text, sizeof(text), 0);
	struct tp_hang hang;
	struct tp_oom oom;

	if (n > 0 && tp_hang_parse(text, (size_t)n, &hang))
		*owned = (struct tp_owned){.kind = TP_OWNED_REPORT, .owner = owned->owner, .rank = hang.rank,
					   .restart = hang.restart, .pid = hang.pid, .run_id = hang.run_id,
					   .own = owned->own, .is_locked = owned->is_locked};
	else if (n > 0 && tp_oom_parse(text, (size_t)n, &oom))
		*owned = (struct tp_owned){.kind = TP_OWNED_REPORT, .owner = owned->owner, .rank = oom.rank,
					   .restart = oom.restart, .pid = oom.pid, .run_id = oom.run_id,
					   .own = owned->own, .is_locked = owned->is_locked};
}

/* A ledger without its head: its process is about to write it, or died before. */
static enum tp_owner_state judge_empty(const struct stat *st, int lock)
{
	if (lock == -EWOULDBLOCK ||
	    tp_clock_real_ns() / NS_PER_S < (uint64_t)st->st_mtime + YOUNG_S)
		return TP_OWNER_ALIVE;
	return lock ? TP_OWNER_UNKNOWN : TP_OWNER_DEAD;
}

static void inspect(struct tp_owned *owned, const struct stat *st, int lock)
{
	char head[sizeof(struct tp_ring_head)] = "";
	struct tp_file_head trace;
	uint64_t magic = 0;
	ssize_t n = pread(owned->own.fd, head, sizeof(head), 0);

	owned->written_ns = (uint64_t)st->st_mtim.tv_sec * NS_PER_S + (uint64_t)st->st_mtim.tv_nsec;
	owned->is_empty = n == 0;
	owned->owner = owned->is_empty ? judge_empty(st, lock) : TP_OWNER_UNKNOWN;
	if (n < (ssize_t)sizeof(magic))
		return;
	memcpy(&magic, head, sizeof(magic));
	if (magic == TP_FILE_MAGIC && n >= (ssize_t)sizeof(trace)) {
		memcpy(&trace, head, sizeof(trace));
		inspect_trace(&trace, owned);
	} else if (magic == TP_RING_MAGIC && n == (ssize_t)sizeof(head)) {
		inspect_ring(head, lock, owned);
	} else if (tp_begins(head, (size_t)n, TP_HANG_FIRST_LINE) ||
		   tp_begins(head, (size_t)n, TP_OOM_FIRST_LINE)) {
		inspect_report(owned);
	} else {
		inspect_ledger(head, (size_t)n, st, lock, owned);
	}
}

/* A ring may lie elsewhere, with a link here: followed when the link is ours. 0 or -errno. */
static int open_linked(const char *path, int flags, struct tp_owned *owned)
{
	struct stat st;
	ssize_t n;

	if (lstat(path, &st) < 0 || !S_ISLNK(st.st_mode) || st.st_uid != geteuid())
		return -ELOOP;
	n = readlink(path, owned->target, sizeof(owned->target) - 1);
	if (n <= 0 || owned->target[0] != '/')
		return -ELOOP;
	owned->target[n] = '\0';
	return tp_folder_open_file(NULL, owned->target, flags, &owned->own);
}

static int open_any(const struct tp_folder *folder, const char *path, int flags,
		    struct tp_owned *owned)
{
	int err = tp_folder_open_file(folder, path, flags, &owned->own);

	return err == -ELOOP ? open_linked(path, flags, owned) : err;
}

int tp_owned_open(const struct tp_folder *folder, const char *path, struct tp_owned *owned)
{
	struct stat st;
	int lock, err;

	*owned = (struct tp_owned){.own = TP_OWN_FD_NONE};
	err = open_any(folder, path, O_RDWR, owned);
	/* Of somebody else's: only looked at. (Network file systems lock what may be written.) */
	if (err == -EACCES || err == -EROFS || err == -EPERM)
		err = open_any(folder, path, O_RDONLY, owned);
	if (err)
		return err;
	if (fstat(owned->own.fd, &st) < 0) {
		tp_owned_close(owned);
		return -EBADF;
	}
	lock = tp_hold_briefly(owned->own.fd);
	owned->is_locked = !lock;
	inspect(owned, &st, lock);
	return 0;
}

void tp_owned_close(struct tp_owned *owned)
{
	tp_own_fd_close(&owned->own);
}

int tp_owned_remove(const struct tp_folder *folder, const char *path, const struct tp_owned *owned)
{
	if (!owned->target[0])
		return tp_folder_unlink(folder, path, &owned->own);
	tp_folder_unlink(NULL, owned->target, &owned->own);
	/* Then the link, which is no file that was opened. */
	return tp_folder_unlink(folder, path, NULL);
}

bool tp_owned_is_beside(const struct tp_owned *owned, uint64_t start_ns, uint64_t fork_ns)
{
	return owned->kind == TP_OWNED_LEDGER &&
	       ((start_ns && owned->written_ns >= start_ns + START_ERROR_NS) ||
		(fork_ns && owned->real_ns >= fork_ns));
}
