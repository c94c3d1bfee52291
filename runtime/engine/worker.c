/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worker.c - finds the ring of the rank that this process works for, and reads it
 *
 * The ring is found through /proc: whatever DIR's template made of the run folder's name, the
 * parent holds its ring open, in the table of its thread for files. The file is opened there
 * for a moment, its first page mapped, and closed again. No allocation.
 */
#include "runtime/engine/worker.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/arena.h"
#include "runtime/base/file.h"
#include "runtime/base/own_table.h"
#include "runtime/base/process.h"
#include "runtime/base/sync.h"
#include "runtime/base/text.h"
#include "runtime/engine/ring/ring_file.h"

enum {
	PAGE_BYTES = 4096,
	MOST_SEEN = 4096,	/* threads, or descriptors, of a parent, looked at */
	/* Reading a folder of /proc costs some 50 us: the first looks come quickly, because the
	 * parent opens its session just after it made its workers. */
	LOOK_FIRST_MS = 10,
	LOOK_LAST_MS = 500,
	ALIVE_MS = 500,		/* between two looks whether the root still lives */
};

uint32_t tp_worker_candidate;

static struct {
	struct tp_ring_head *root;	/* its first page; NULL: not found yet */
	bool is_forked, is_loader;
	uint32_t number;		/* 0: has not joined */
	uint32_t is_looking;		/* atomic: one thread is at it */
	uint32_t look_ms;
	uint64_t look_due, alive_due;	/* CLOCK_MONOTONIC_COARSE */
	uint32_t n_replaced;		/* looks in a row at which it was calling exec */
	bool is_gone;
} worker;

static uint64_t coarse_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* ---- finding the root ---- */

static bool is_ring(const struct tp_ring_head *head, uint32_t pid)
{
	return __atomic_load_n(&head->magic, __ATOMIC_ACQUIRE) == TP_RING_MAGIC &&
	       head->version == TP_RING_VERSION && head->pid == pid &&
	       !__atomic_load_n(&head->is_closed, __ATOMIC_RELAXED) &&
	       memchr(head->ledger_path, '\0', sizeof(head->ledger_path));
}

/* The first page of the file `name` in `dir`, if that is the ring of process `pid`. */
static struct tp_ring_head *map_head(int dir, const char *name, uint32_t pid)
{
	struct tp_ring_head *head;
	int fd = tp_ring_file_open(dir, name, 0);

	if (fd < 0)
		return NULL;
	head = lseek(fd, 0, SEEK_END) < PAGE_BYTES
		       ? MAP_FAILED
		       : tp_map(PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd);
	close(fd);
	if (head == MAP_FAILED)
		return NULL;
	if (is_ring(head, pid))
		return head;
	tp_unmap(head, PAGE_BYTES);
	return NULL;
}

static bool is_ring_link(int dir, const char *name)
{
	char target[512];
	ssize_t n = readlinkat(dir, name, target, sizeof(target));

	return n > 5 && n < (ssize_t)sizeof(target) && !memcmp(target + n - 5, ".ring", 5);
}

/* What look_at says of the first entry of folder `path` for which it is something. */
static struct tp_ring_head *
search(const char *path, uint32_t pid,
       struct tp_ring_head *(*look_at)(int dir, const char *name, uint32_t pid))
{
	char entries[4096] __attribute__((aligned(16)));
	int dir = tp_file_open(path, O_RDONLY | O_DIRECTORY, 0);
	struct tp_ring_head *head = NULL;
	uint32_t n_seen = 0;
	ssize_t n;

	if (dir < 0)
		return NULL;
	while (!head && n_seen < MOST_SEEN &&
	       (n = syscall(SYS_getdents64, dir, entries, sizeof(entries))) > 0) {
		for (ssize_t at = 0; at < n && !head; n_seen++) {
			const struct dirent64 *entry = (const void *)(entries + at);

			at += entry->d_reclen;
			if (entry->d_name[0] != '.')
				head = look_at(dir, entry->d_name, pid);
		}
	}
	close(dir);
	return head;
}

static struct tp_ring_head *look_at_fd(int dir, const char *name, uint32_t pid)
{
	return is_ring_link(dir, name) ? map_head(dir, name, pid) : NULL;
}

/* The thread that has the descriptors (own_table.h). */
static struct tp_ring_head *look_at_thread(int dir, const char *tid, uint32_t pid)
{
	char path[64], name[sizeof(TP_OWN_TABLE_THREAD) + 1];
	struct tp_text text;
	ssize_t n;

	tp_text_init(&text, path, sizeof(path));
	tp_text_fmt(&text, "/proc/%u/task/%s/comm", pid, tid);
	n = text.is_cut ? 0 : tp_file_read(path, name, sizeof(name));
	if (n != (ssize_t)sizeof(TP_OWN_TABLE_THREAD) ||
	    memcmp(name, TP_OWN_TABLE_THREAD "\n", (size_t)n))
		return NULL;
	tp_text_init(&text, path, sizeof(path));
	tp_text_fmt(&text, "/proc/%u/task/%s/fd", pid, tid);
	return search(path, pid, look_at_fd);
}

/* The ring that process `pid` holds open; NULL: it has none. */
static struct tp_ring_head *find_ring(uint32_t pid)
{
	struct tp_ring_head *head;
	struct tp_text text;
	char path[64];

	tp_text_init(&text, path, sizeof(path));
	tp_text_fmt(&text, "/proc/%u/task", pid);
	head = search(path, pid, look_at_thread);
	if (head)
		return head;
	/* Where it could have no table of its own. */
	tp_text_init(&text, path, sizeof(path));
	tp_text_fmt(&text, "/proc/%u/fd", pid);
	return search(path, pid, look_at_fd);
}

/* The same; of a worker, that of its rank. */
static struct tp_ring_head *find_root(uint32_t pid)
{
	struct tp_ring_head *head = find_ring(pid);
	uint32_t root_pid;

	if (!head || !head->worker)
		return head;
	root_pid = head->root_pid;
	tp_unmap(head, PAGE_BYTES);
	return find_ring(root_pid);
}

/* Process number of a process's parent; 0: not known. */
static uint32_t parent_of(uint32_t pid)
{
	char path[32], bytes[512];
	uint32_t parent = 0;
	struct tp_text text;
	const char *at;
	ssize_t n;

	tp_text_init(&text, path, sizeof(path));
	tp_text_fmt(&text, "/proc/%u/stat", pid);
	n = tp_file_read(path, bytes, sizeof(bytes) - 1);
	if (n <= 0)
		return 0;
	bytes[n] = '\0';
	at = strrchr(bytes, ')');	/* ") S 4711 " */
	for (at = at && strlen(at) > 4 ? at + 4 : ""; *at >= '0' && *at <= '9'; at++)
		parent = parent * 10 + (uint32_t)(*at - '0');
	return parent;
}

static bool is_look_due(void)
{
	uint64_t now = coarse_ns();

	if (now < worker.look_due)
		return false;
	worker.look_ms = !worker.look_ms		      ? LOOK_FIRST_MS
			 : worker.look_ms * 2 < LOOK_LAST_MS ? worker.look_ms * 2
							      : LOOK_LAST_MS;
	worker.look_due = now + worker.look_ms * 1000000ull;
	return true;
}

static bool is_armed(const struct tp_ring_head *root)
{
	uint32_t phase = __atomic_load_n(&root->phase, __ATOMIC_ACQUIRE);

	return phase == TP_PHASE_WARMUP || phase == TP_PHASE_ACTIVE;
}

static bool look(bool is_of_server)
{
	uint32_t parent;

	if (!worker.root && is_look_due()) {
		parent = (uint32_t)getppid();
		worker.root = find_root(parent);
		if (!worker.root && is_of_server && worker.is_loader)
			worker.root = find_root(parent_of(parent));
	}
	if (!worker.root)
		return false;
	if (tp_worker_is_root_gone()) {
		__atomic_store_n(&tp_worker_candidate, 0, __ATOMIC_RELAXED);
		return false;
	}
	return worker.is_loader || is_armed(worker.root);
}

bool tp_worker_look(bool is_of_server)
{
	int saved_errno = errno;
	bool is_time;

	/* What was started anew may train: it has to show that it does not. */
	if (!worker.is_forked && !worker.is_loader)
		return false;
	if (__atomic_exchange_n(&worker.is_looking, 1, __ATOMIC_ACQUIRE))
		return false;
	is_time = tp_worker_is_candidate() && look(is_of_server);
	__atomic_store_n(&worker.is_looking, 0, __ATOMIC_RELEASE);
	errno = saved_errno;
	return is_time;
}

/* ---- becoming one ---- */

void tp_worker_forked(struct tp_ring_head *parent_ring)
{
	/* The page of a worker's root is mapped here too. */
	if (parent_ring)
		worker.root = parent_ring;
	worker.is_forked = true;
	worker.is_loader = false;
	worker.number = 0;
	worker.is_looking = 0;
	worker.look_ms = 0;
	worker.look_due = worker.alive_due = 0;
	worker.n_replaced = 0;
	worker.is_gone = false;
	tp_worker_candidate = 1;
}

void tp_worker_spawned(void)
{
	__atomic_store_n(&tp_worker_candidate, 1, __ATOMIC_RELAXED);
}

void tp_worker_is_loader(void)
{
	worker.is_loader = true;
}

void tp_worker_join(void)
{
	__atomic_store_n(&tp_worker_candidate, 0, __ATOMIC_RELAXED);
	/* Of a worker's child the page may be as its parent left it here. */
	if (mprotect(worker.root, PAGE_BYTES, PROT_READ | PROT_WRITE) < 0) {
		worker.number = (uint32_t)getpid();
		return;
	}
	worker.number = __atomic_add_fetch(&worker.root->n_workers, 1, __ATOMIC_RELAXED);
	/* Whatever goes wrong here, the rank's own ledger stays as it is. */
	mprotect(worker.root, PAGE_BYTES, PROT_READ);
}

void tp_worker_never(void)
{
	__atomic_store_n(&tp_worker_candidate, 0, __ATOMIC_RELAXED);
}

uint32_t tp_worker_number(void)
{
	return worker.number;
}

const struct tp_ring_head *tp_worker_root(void)
{
	return worker.root;
}

/* ---- what the root does ---- */

bool tp_worker_is_root_gone(void)
{
	const struct tp_ring_head *root = worker.root;
	uint64_t now;

	if (worker.is_gone)
		return true;
	if (__atomic_load_n(&root->is_closed, __ATOMIC_ACQUIRE)) {
		worker.is_gone = true;
		return true;
	}
	now = coarse_ns();
	if (now >= worker.alive_due) {
		worker.alive_due = now + ALIVE_MS * 1000000ull;
		/* Marked while it tries to become another program, which may fail. */
		worker.n_replaced = __atomic_load_n(&root->is_replaced, __ATOMIC_ACQUIRE)
					    ? worker.n_replaced + 1
					    : 0;
		worker.is_gone = worker.n_replaced > 1 ||
				 tp_process_start(root->pid) != root->process_start;
	}
	return worker.is_gone;
}

bool tp_worker_window(uint32_t window, struct tp_ring_window *out)
{
	const struct tp_ring_head *root = worker.root;
	const struct tp_ring_window *from = &root->windows[window % TP_RING_WINDOWS];

	if (window >= __atomic_load_n(&root->windows_begun, __ATOMIC_ACQUIRE))
		return false;
	/* The end first: who sees it sees the step that comes with it. */
	out->end = __atomic_load_n(&from->end, __ATOMIC_ACQUIRE);
	out->begin = __atomic_load_n(&from->begin, __ATOMIC_ACQUIRE);
	out->first_step = __atomic_load_n(&from->first_step, __ATOMIC_ACQUIRE);
	out->in_epoch = __atomic_load_n(&from->in_epoch, __ATOMIC_ACQUIRE);
	out->epoch = __atomic_load_n(&from->epoch, __ATOMIC_ACQUIRE);
	out->end_step = __atomic_load_n(&from->end_step, __ATOMIC_ACQUIRE);
	out->opened_by = __atomic_load_n(&from->opened_by, __ATOMIC_ACQUIRE);
	/* The root reuses an entry before it counts the window that it is for. */
	return __atomic_load_n(&root->windows_begun, __ATOMIC_RELAXED) < window + TP_RING_WINDOWS;
}
