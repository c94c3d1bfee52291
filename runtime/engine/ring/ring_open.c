/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring_open.c - the ring's life: made and mapped, closed or left behind, forgotten after fork
 *
 * The memory stays mapped until the process ends, whatever happens: a guest thread may be in
 * the middle of a record at any time.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/base/arena.h"
#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "runtime/base/own_table.h"
#include "runtime/base/process.h"
#include "runtime/engine/ring/ring_file.h"
#include "runtime/engine/ring/ring_guard.h"
#include "runtime/engine/ring/ring_pool.h"

enum {
	PAGE_BYTES = 4096,
	LEAST_CHUNKS = 4,
	/* Names get an eighth of the space, at most this: a training has some thousands of
	 * distinct operator names, user ranges and shapes, of 30-60 bytes. */
	MOST_NAMES_BYTES = 8 << 20,
};

struct tp_ring tp_ring;
struct tp_ring_pool tp_ring_pool;

static uint64_t round_up(uint64_t n, uint64_t unit)
{
	return (n + unit - 1) / unit * unit;
}

/* So that the first record in a page is as fast as the others. */
static int populate(char *base, uint64_t bytes)
{
#ifndef MADV_POPULATE_WRITE
	enum { MADV_POPULATE_WRITE = 23 };
#endif
	if (madvise(base, bytes, MADV_POPULATE_WRITE) == 0)
		return 0;
	if (errno != EINVAL)
		return -errno;
	for (uint64_t at = 0; at < bytes; at += PAGE_BYTES)	/* kernel before 5.14 */
		*(volatile char *)(base + at) = 0;
	return 0;
}

static void fill_head(struct tp_ring_head *head, const struct tp_ring_spec *spec,
		      uint64_t bytes, uint64_t fixed_bytes)
{
	struct tp_clock_anchor anchor;

	head->version = TP_RING_VERSION;
	head->n_slots = TP_RING_SLOTS;
	head->n_steps = TP_RING_STEPS;
	head->slots_at = PAGE_BYTES;
	head->steps_at = head->slots_at + TP_RING_SLOTS * sizeof(struct tp_ring_slot);
	head->names_at = head->steps_at + TP_RING_STEPS * sizeof(struct tp_ring_step);
	head->names_bytes = bytes / 8 < MOST_NAMES_BYTES ? bytes / 8 : MOST_NAMES_BYTES;
	head->names_bytes = round_up(head->names_bytes, PAGE_BYTES);
	head->chunks_at = head->names_at + head->names_bytes;
	head->n_chunks = (uint32_t)((bytes - head->names_bytes) / TP_CHUNK_BYTES);
	head->file_bytes = fixed_bytes + bytes;
	head->names_used = 8;
	tp_process_boot_id(head->boot_id);
	head->run_id = spec->run_id;
	head->process_start = tp_process_own_start();
	head->pid_ns = tp_process_pid_ns();
	head->pid = (uint32_t)getpid();
	head->ppid = (uint32_t)getppid();
	head->rank = spec->rank;
	head->local_rank = spec->local_rank;
	head->world_size = spec->world_size;
	head->node_rank = spec->node_rank;
	head->restart = spec->restart;
	head->worker = spec->worker;
	head->root_pid = spec->root_pid;
	head->clock_source = tp_clock_is_tsc ? TP_CLOCK_TSC : TP_CLOCK_MONOTONIC;
	tp_clock_take_anchor(&anchor);
	memcpy(&head->anchor[0], &anchor, sizeof(anchor));
	memcpy(&head->anchor[4], &anchor, sizeof(anchor));
}

/* The drain's and the threads' common ledger, in memory of this process only. */
static int make_pool(uint32_t n_chunks)
{
	size_t bytes;
	char *at;

	tp_ring_pool.n_words = (n_chunks + 63) / 64;
	bytes = tp_ring_pool.n_words * sizeof(uint64_t) + n_chunks * sizeof(struct tp_ring_taken);
	at = tp_map_memory(bytes, 0);
	if (at == MAP_FAILED)
		return -errno;
	tp_ring_pool.private = at;
	tp_ring_pool.private_bytes = bytes;
	tp_ring_pool.free = (uint64_t *)at;
	tp_ring_pool.taken = (struct tp_ring_taken *)(at + tp_ring_pool.n_words * sizeof(uint64_t));
	for (uint32_t i = 0; i < n_chunks; i++)
		tp_ring_pool.free[i / 64] |= 1ull << (i % 64);
	tp_ring_pool.n_free = n_chunks;
	tp_ring_pool.n_taken = tp_ring_pool.chunk_top = tp_ring_pool.slot_top = 0;
	tp_ring_pool.is_half_told = false;
	return 0;
}

/* The descriptor is needed in between, so all of it is one call. */
static int do_open(void *arg)
{
	const struct tp_ring_spec *spec = arg;
	const uint64_t fixed_bytes = PAGE_BYTES + TP_RING_SLOTS * sizeof(struct tp_ring_slot) +
				     TP_RING_STEPS * sizeof(struct tp_ring_step);
	struct tp_ring_file file;
	struct tp_ring_head *head;
	char *base;
	int err;

	err = tp_ring_file_make(spec, fixed_bytes, &file);
	if (err)
		return err;
	base = tp_map(fixed_bytes + file.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.own.fd);
	if (base == MAP_FAILED) {
		err = -errno;
		goto remove_file;
	}
	err = populate(base, fixed_bytes + file.bytes);
	if (err)
		goto unmap;
	head = (struct tp_ring_head *)base;
	fill_head(head, spec, file.bytes, fixed_bytes);
	err = head->n_chunks >= LEAST_CHUNKS ? make_pool(head->n_chunks) : -ENOSPC;
	if (err)
		goto unmap;

	tp_ring.slots = (struct tp_ring_slot *)(base + head->slots_at);
	tp_ring.steps = (struct tp_ring_step *)(base + head->steps_at);
	tp_ring.names = base + head->names_at;
	tp_ring.chunks = (struct tp_chunk *)(base + head->chunks_at);
	memcpy(tp_ring.path, file.path, sizeof(tp_ring.path));
	memcpy(tp_ring.link_path, file.link_path, sizeof(tp_ring.link_path));
	for (uint32_t i = 0; i < TP_RING_SLOTS; i++)
		tp_ring.slots[i].chunk = TP_NO_CHUNK;
	strcpy(tp_ring.slots[TP_RING_LAST_SLOT].name, "other threads");
	memcpy(head->link_path, file.link_path, sizeof(head->link_path));
	tp_ring.n_bytes = fixed_bytes + file.bytes;
	tp_ring.folder = spec->folder;
	tp_ring.file = file.own;
	tp_ring.generation++;
	tp_own_words_begin();
	tp_own_words.ring = tp_ring.generation;
	__atomic_store_n(&head->magic, TP_RING_MAGIC, __ATOMIC_RELEASE);
	__atomic_store_n(&tp_ring.head, head, __ATOMIC_RELEASE);
	__atomic_store_n(&tp_ring_pool.is_open, true, __ATOMIC_RELEASE);
	return 0;

unmap:
	tp_unmap(base, fixed_bytes + file.bytes);
remove_file:
	tp_warn("cannot map the buffer file '%s': %s; nothing is recorded", file.path, strerror(-err));
	tp_folder_unlink(spec->folder, file.path, &file.own);
	if (file.link_path[0])
		tp_folder_unlink(spec->folder, file.link_path, NULL);
	tp_own_fd_close(&file.own);
	return err;
}

int tp_ring_open(const struct tp_ring_spec *spec)
{
	return tp_own_table_call(do_open, (void *)spec);
}

static void close_file(void)
{
	tp_own_fd_close(&tp_ring.file);
	tp_ring.file = TP_OWN_FD_NONE;
}

bool tp_ring_is_cut(void)
{
	struct stat st;

	return tp_ring_guard_has_met() ||
	       (!tp_own_fd_stat(&tp_ring.file, &st) && (uint64_t)st.st_size < tp_ring.n_bytes);
}

void tp_ring_lose(void)
{
	/* Guest threads may be in the middle of a record. */
	if (!tp_ring_guard_cover())
		tp_warn_once("cannot put memory in the place of buffer file '%s': %s", tp_ring.path,
			     strerror(errno));
	else
		tp_ring_guard_end();
	tp_ring_leave();
}

void tp_ring_leave(void)
{
	__atomic_store_n(&tp_ring_pool.is_open, false, __ATOMIC_RELEASE);
}

void tp_ring_close(void)
{
	if (!tp_ring.head || !__atomic_exchange_n(&tp_ring_pool.is_open, false, __ATOMIC_ACQ_REL))
		return;
	__atomic_store_n(&tp_ring.head->is_closed, 1, __ATOMIC_RELEASE);
	tp_folder_unlink(tp_ring.folder, tp_ring.path, &tp_ring.file);
	if (tp_ring.link_path[0])
		tp_folder_unlink(tp_ring.folder, tp_ring.link_path, NULL);
	close_file();
	tp_ring_guard_end();
}

void tp_ring_relink(void)
{
	tp_ring_file_link(tp_ring.folder, tp_ring.path, tp_ring.link_path);
}

void tp_ring_forked(void)
{
	/* The parent's file stays mapped, untouched: an unmapping here could meet a signal
	 * handler that still looks at it, and costs more than the address space is worth. */
	tp_ring_pool.is_open = false;
	tp_own_words.ring = 0;
	if (tp_ring.head)
		close_file();
	tp_ring.head = NULL;
	tp_ring_guard_end();
	tp_ring_self_clear(&tp_ring_self);
	tp_ring_self.is_reserved = false;
	if (tp_ring_pool.private)
		tp_unmap(tp_ring_pool.private, tp_ring_pool.private_bytes);
	tp_ring_pool.private = NULL;
}
