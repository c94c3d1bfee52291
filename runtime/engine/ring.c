/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring.c - the pool of chunks: taking, handing out to the drain, giving back
 *
 * Guest threads come here for their first record and whenever a chunk is full; everything on
 * their side is a few atomic operations, so that no thread ever waits for another. A free
 * chunk is a set bit in `pool.free`; who clears the bit owns the chunk. The lowest free chunk
 * is taken first: a drain that keeps up then leaves the same few chunks in use, and they stay
 * in the cache.
 *
 * The drain's side is one thread at a time and is the only one to set bits.
 */
#include "runtime/engine/ring.h"

#include <errno.h>
#include <linux/futex.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/base/clock.h"
#include "runtime/base/file.h"
#include "runtime/base/log.h"
#include "runtime/engine/ring_file.h"

enum {
	PAGE_BYTES = 4096,
	LAST_SLOT = TP_RING_SLOTS - 1,	/* shared by all threads that found no other */
	LEAST_CHUNKS = 4,
	/* Names get an eighth of the space, at most this: a training has some thousands of
	 * distinct operator names, stacks of user ranges and shapes, of 30-60 bytes. */
	MOST_NAMES_BYTES = 8 << 20,
};

/* A chunk that the pass in progress has handed out, or could. */
struct taken {
	uint64_t sequence;
	uint32_t chunk;
	uint32_t from, to;	/* records handed out: [from, to) */
};

static struct {
	bool is_open;		/* atomic */
	bool is_half_told;	/* atomic: the drain knows that half of the pool is used */
	uint32_t n_free;	/* atomic */
	uint32_t chunk_top;	/* atomic: chunks from here on were never used */
	uint32_t slot_top;	/* atomic: slots from here on were never used */
	uint64_t *free;		/* atomic bits, private memory */
	uint32_t n_words;
	/* drain side */
	struct taken *taken;	/* n_chunks of them */
	uint32_t n_taken;
	void *private;		/* mapping that holds `free` and `taken` */
	size_t private_bytes;
} pool;

__thread struct tp_ring_self tp_ring_self
	__attribute__((tls_model("initial-exec"), visibility("hidden")));
struct tp_ring tp_ring;
uint32_t tp_ring_bell;

void tp_ring_ring_bell(void)
{
	int saved_errno = errno;

	__atomic_fetch_add(&tp_ring_bell, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &tp_ring_bell, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
	errno = saved_errno;
}

/* ---- opening ---- */

static uint64_t round_up(uint64_t n, uint64_t unit)
{
	return (n + unit - 1) / unit * unit;
}

/* Field 22 of /proc/self/stat, in clock ticks since boot; 0: not known. */
static uint64_t read_process_start(void)
{
	char text[1024];
	ssize_t n = tp_file_read("/proc/self/stat", text, sizeof(text) - 1);
	uint64_t start = 0;
	const char *p;

	if (n <= 0)
		return 0;
	text[n] = '\0';
	p = strrchr(text, ')');	/* the name before it may hold anything */
	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	for (p = p ? p + 1 : ""; *p >= '0' && *p <= '9'; p++)
		start = start * 10 + (uint64_t)(*p - '0');
	return start;
}

/* The two halves of the boot's UUID, most significant digits first; 0, 0: not known. */
static void read_boot_id(uint64_t id[2])
{
	char text[64];
	ssize_t n = tp_file_read("/proc/sys/kernel/random/boot_id", text, sizeof(text));
	uint32_t digits = 0;

	id[0] = id[1] = 0;
	for (ssize_t i = 0; i < n && digits < 32; i++) {
		char c = text[i];
		uint64_t v;

		if (c >= '0' && c <= '9')
			v = (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			v = (uint64_t)(c - 'a' + 10);
		else
			continue;
		id[digits / 16] = id[digits / 16] << 4 | v;
		digits++;
	}
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
	read_boot_id(head->boot_id);
	head->run_id = spec->run_id;
	head->process_start = read_process_start();
	head->pid = (uint32_t)getpid();
	head->ppid = (uint32_t)getppid();
	head->rank = spec->rank;
	head->local_rank = spec->local_rank;
	head->world_size = spec->world_size;
	head->node_rank = spec->node_rank;
	head->restart = spec->restart;
	head->clock_source = tp_clock_is_tsc ? TP_CLOCK_TSC : TP_CLOCK_MONOTONIC;
	tp_clock_take_anchor(&anchor);
	memcpy(&head->anchor[0], &anchor, sizeof(anchor));
	memcpy(&head->anchor[4], &anchor, sizeof(anchor));
}

/* The drain's and the threads' common books, in memory of this process only. */
static int make_pool(uint32_t n_chunks)
{
	size_t bytes;
	char *at;

	pool.n_words = (n_chunks + 63) / 64;
	bytes = pool.n_words * sizeof(uint64_t) + n_chunks * sizeof(struct taken);
	at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		return -errno;
	pool.private = at;
	pool.private_bytes = bytes;
	pool.free = (uint64_t *)at;
	pool.taken = (struct taken *)(at + pool.n_words * sizeof(uint64_t));
	for (uint32_t i = 0; i < n_chunks; i++)
		pool.free[i / 64] |= 1ull << (i % 64);
	pool.n_free = n_chunks;
	pool.n_taken = pool.chunk_top = pool.slot_top = 0;
	pool.is_half_told = false;
	return 0;
}

int tp_ring_open(const struct tp_ring_spec *spec)
{
	const uint64_t fixed_bytes = PAGE_BYTES + TP_RING_SLOTS * sizeof(struct tp_ring_slot) +
				     TP_RING_STEPS * sizeof(struct tp_ring_step);
	struct tp_ring_file file;
	struct tp_ring_head *head;
	char *base;
	int err;

	err = tp_ring_file_make(spec, fixed_bytes, &file);
	if (err)
		return err;
	base = mmap(NULL, fixed_bytes + file.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd, 0);
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
	strcpy(tp_ring.slots[LAST_SLOT].name, "other threads");
	tp_ring.generation++;
	__atomic_store_n(&head->magic, TP_RING_MAGIC, __ATOMIC_RELEASE);
	__atomic_store_n(&tp_ring.head, head, __ATOMIC_RELEASE);
	__atomic_store_n(&pool.is_open, true, __ATOMIC_RELEASE);
	close(file.fd);
	return 0;

unmap:
	munmap(base, fixed_bytes + file.bytes);
remove_file:
	tp_warn("cannot map the ring '%s': %s; nothing is recorded", file.path, strerror(-err));
	unlink(file.path);
	if (file.link_path[0])
		unlink(file.link_path);
	close(file.fd);
	return err;
}

void tp_ring_leave(void)
{
	__atomic_store_n(&pool.is_open, false, __ATOMIC_RELEASE);
}

void tp_ring_close(void)
{
	if (!tp_ring.head || !__atomic_exchange_n(&pool.is_open, false, __ATOMIC_ACQ_REL))
		return;
	__atomic_store_n(&tp_ring.head->is_closed, 1, __ATOMIC_RELEASE);
	unlink(tp_ring.path);
	if (tp_ring.link_path[0])
		unlink(tp_ring.link_path);
}

void tp_ring_relink(void)
{
	tp_ring_file_link(tp_ring.path, tp_ring.link_path);
}

void tp_ring_forked(void)
{
	/* The parent's file stays mapped, untouched: an unmapping here could meet a signal
	 * handler that still looks at it, and costs more than the address space is worth. */
	pool.is_open = false;
	tp_ring.head = NULL;
	memset(&tp_ring_self, 0, sizeof(tp_ring_self));
	if (pool.private)
		munmap(pool.private, pool.private_bytes);
	pool.private = NULL;
}

/* ---- guest threads ---- */

static void raise_top(uint32_t *top, uint32_t n)
{
	uint32_t seen = __atomic_load_n(top, __ATOMIC_RELAXED);

	while (seen < n && !__atomic_compare_exchange_n(top, &seen, n, true, __ATOMIC_RELEASE,
							__ATOMIC_RELAXED))
		;
}

/* TP_NO_CHUNK: none is free. */
static uint32_t take_free_chunk(void)
{
	if (__atomic_load_n(&pool.n_free, __ATOMIC_RELAXED) == 0)
		return TP_NO_CHUNK;
	for (uint32_t i = 0; i < pool.n_words; i++) {
		uint64_t bits = __atomic_load_n(&pool.free[i], __ATOMIC_RELAXED);

		while (bits) {
			/* Acquire: whatever the drain did to the chunk is done. */
			if (__atomic_compare_exchange_n(&pool.free[i], &bits, bits & (bits - 1),
							true, __ATOMIC_ACQUIRE,
							__ATOMIC_RELAXED)) {
				uint32_t at = i * 64 + (uint32_t)__builtin_ctzll(bits);

				__atomic_fetch_sub(&pool.n_free, 1, __ATOMIC_RELAXED);
				raise_top(&pool.chunk_top, at + 1);
				return at;
			}
		}
	}
	return TP_NO_CHUNK;
}

/* A slot for this thread: its number, LAST_SLOT when all are in use. */
static uint32_t take_slot(uint32_t tid)
{
	uint32_t top = __atomic_load_n(&pool.slot_top, __ATOMIC_ACQUIRE);
	struct tp_ring_slot *slot;

	/* The kernel gave us this number, so the thread that had it before is no more. */
	for (uint32_t i = 0; i < top; i++)
		if (__atomic_load_n(&tp_ring.slots[i].tid, __ATOMIC_RELAXED) == tid)
			__atomic_store_n(&tp_ring.slots[i].is_dead, 1, __ATOMIC_RELEASE);

	for (uint32_t i = 0; i < LAST_SLOT; i++) {
		uint32_t none = 0;

		slot = &tp_ring.slots[i];
		if (__atomic_load_n(&slot->tid, __ATOMIC_RELAXED) == 0 &&
		    __atomic_compare_exchange_n(&slot->tid, &none, tid, false,
						__ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
			prctl(PR_GET_NAME, slot->name);
			__atomic_store_n(&slot->flags, tid == tp_ring.head->pid, __ATOMIC_RELEASE);
			raise_top(&pool.slot_top, i + 1);
			return i;
		}
	}
	slot = &tp_ring.slots[LAST_SLOT];
	__atomic_store_n(&slot->tid, TP_TID_MANY, __ATOMIC_RELEASE);
	raise_top(&pool.slot_top, TP_RING_SLOTS);
	return LAST_SLOT;
}

/* Makes this thread's view one of the present ring, with a slot. False: no ring. */
static bool prepare_self(struct tp_ring_self *self)
{
	if (!__atomic_load_n(&pool.is_open, __ATOMIC_ACQUIRE))
		return false;
	if (self->generation != tp_ring.generation) {
		memset(self, 0, sizeof(*self));
		self->slot_at = take_slot((uint32_t)syscall(SYS_gettid));
		/* Open spans of several threads cannot share a stack. */
		if (self->slot_at != LAST_SLOT)
			self->slot = &tp_ring.slots[self->slot_at];
		self->generation = tp_ring.generation;
	}
	return true;
}

struct tp_ring_slot *tp_ring_slot_slow(void)
{
	return prepare_self(&tp_ring_self) ? tp_ring_self.slot : NULL;
}

static void start_chunk(struct tp_ring_self *self, uint32_t at)
{
	struct tp_ring_head *head = tp_ring.head;
	struct tp_chunk *chunk = &tp_ring.chunks[at];

	chunk->slot = self->slot_at;
	chunk->tid = self->slot ? self->slot->tid : (uint32_t)syscall(SYS_gettid);
	chunk->window = __atomic_load_n(&head->windows_begun, __ATOMIC_RELAXED);
	chunk->sequence = __atomic_fetch_add(&head->chunk_sequence, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&chunk->published, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&chunk->drained, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&chunk->taken, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&chunk->pass, 0, __ATOMIC_RELAXED);
	/* Release: who sees it owned, also after our death, sees it empty and ours. */
	__atomic_store_n(&chunk->state, TP_CHUNK_OWNED, __ATOMIC_RELEASE);
	if (self->slot)
		__atomic_store_n(&self->slot->chunk, at, __ATOMIC_RELAXED);
	self->chunk = chunk;
	self->next = chunk->rec;
	self->end = chunk->rec + TP_CHUNK_RECORDS;
}

/* Half of the pool in use: the drain must not sleep on. Said once a pass. */
static void tell_half(void)
{
	uint32_t n_free = __atomic_load_n(&pool.n_free, __ATOMIC_RELAXED);

	if (n_free * 2 <= tp_ring.head->n_chunks &&
	    !__atomic_exchange_n(&pool.is_half_told, true, __ATOMIC_RELAXED))
		tp_ring_ring_bell();
}

struct tp_rec *tp_ring_reserve_slow(void)
{
	struct tp_ring_self *self = &tp_ring_self;
	struct tp_ring_head *head = __atomic_load_n(&tp_ring.head, __ATOMIC_ACQUIRE);
	uint32_t at;

	if (!head)
		return NULL;
	if (prepare_self(self)) {
		if (self->chunk) {
			/* Release: the drain takes the published count to be final after this. */
			__atomic_store_n(&self->chunk->state, TP_CHUNK_FULL, __ATOMIC_RELEASE);
			self->chunk = NULL;
			self->next = self->end = NULL;
		}
		at = take_free_chunk();
		tell_half();
		if (at != TP_NO_CHUNK) {
			start_chunk(self, at);
			return self->next;
		}
		__atomic_fetch_add(&tp_ring.slots[self->slot_at].dropped, 1, __ATOMIC_RELAXED);
	}
	__atomic_fetch_add(&head->dropped, 1, __ATOMIC_RELAXED);
	return NULL;
}

/* ---- drain ---- */

uint64_t tp_ring_dropped(void)
{
	return tp_ring.head ? __atomic_load_n(&tp_ring.head->dropped, __ATOMIC_RELAXED) : 0;
}

uint32_t tp_ring_chunks_used(void)
{
	if (!tp_ring.head)
		return 0;
	return tp_ring.head->n_chunks - __atomic_load_n(&pool.n_free, __ATOMIC_RELAXED);
}

static void give_back(uint32_t at)
{
	__atomic_store_n(&tp_ring.chunks[at].state, TP_CHUNK_FREE, __ATOMIC_RELEASE);
	/* Count first: a thread that finds the bit takes it off the count. */
	__atomic_fetch_add(&pool.n_free, 1, __ATOMIC_RELAXED);
	__atomic_fetch_or(&pool.free[at / 64], 1ull << (at % 64), __ATOMIC_RELEASE);
}

uint64_t tp_ring_waiting(void)
{
	uint32_t top = __atomic_load_n(&pool.chunk_top, __ATOMIC_ACQUIRE);
	uint64_t n = 0;

	for (uint32_t i = 0; tp_ring.head && i < top; i++) {
		const struct tp_chunk *chunk = &tp_ring.chunks[i];

		if (__atomic_load_n(&chunk->state, __ATOMIC_ACQUIRE) != TP_CHUNK_FREE)
			n += __atomic_load_n(&chunk->published, __ATOMIC_RELAXED) - chunk->drained;
	}
	return n;
}

/* Moves entry i of a heap (greatest sequence on top) of n down to its place. */
static void sift_down(struct taken *heap, uint32_t i, uint32_t n)
{
	struct taken moved = heap[i];

	for (uint32_t child; (child = 2 * i + 1) < n; i = child) {
		if (child + 1 < n && heap[child + 1].sequence > heap[child].sequence)
			child++;
		if (heap[child].sequence <= moved.sequence)
			break;
		heap[i] = heap[child];
	}
	heap[i] = moved;
}

/* By sequence. (qsort takes memory from the guest's malloc when there is much to sort.) */
static void sort_taken(struct taken *taken, uint32_t n)
{
	for (uint32_t i = n / 2; i-- > 0;)
		sift_down(taken, i, n);
	for (uint32_t last = n; last-- > 1;) {
		struct taken top = taken[0];

		taken[0] = taken[last];
		taken[last] = top;
		sift_down(taken, 0, last);
	}
}

/* All chunks with something to hand out, oldest first. */
static void collect(void)
{
	uint32_t top = __atomic_load_n(&pool.chunk_top, __ATOMIC_ACQUIRE);

	pool.n_taken = 0;
	for (uint32_t i = 0; i < top; i++) {
		struct tp_chunk *chunk = &tp_ring.chunks[i];
		uint32_t state = __atomic_load_n(&chunk->state, __ATOMIC_ACQUIRE);
		uint32_t published;

		if (state == TP_CHUNK_FREE)
			continue;
		published = __atomic_load_n(&chunk->published, __ATOMIC_ACQUIRE);
		if (published > chunk->drained)
			pool.taken[pool.n_taken++] = (struct taken){
				.sequence = chunk->sequence, .chunk = i,
				.from = chunk->drained, .to = published};
		else if (state == TP_CHUNK_FULL)
			give_back(i);	/* it was drained to the end before it was full */
	}
	sort_taken(pool.taken, pool.n_taken);
}

void tp_ring_take(tp_ring_take_fn take, void *ctx)
{
	uint64_t stopped[TP_RING_SLOTS / 64] = {0};
	uint64_t pass;
	uint32_t n_kept = 0;

	if (!tp_ring.head)
		return;
	/* Threads that fill more of the pool from here on have to say so again. */
	__atomic_store_n(&pool.is_half_told, false, __ATOMIC_RELAXED);
	pass = tp_ring.head->pass_done + 1;
	collect();
	for (uint32_t i = 0; i < pool.n_taken; i++) {
		struct taken *taken = &pool.taken[i];
		struct tp_chunk *chunk = &tp_ring.chunks[taken->chunk];
		uint32_t slot = chunk->slot % TP_RING_SLOTS;
		uint32_t n = taken->to - taken->from, n_took;

		if (stopped[slot / 64] >> (slot % 64) & 1)
			continue;
		n_took = take(ctx, slot, &chunk->rec[taken->from], n);
		if (n_took < n)
			stopped[slot / 64] |= 1ull << (slot % 64);
		if (n_took == 0)
			continue;
		taken->to = taken->from + n_took;
		__atomic_store_n(&chunk->taken, taken->to, __ATOMIC_RELAXED);
		__atomic_store_n(&chunk->pass, pass, __ATOMIC_RELEASE);
		pool.taken[n_kept++] = *taken;
	}
	pool.n_taken = n_kept;
}

void tp_ring_release(uint32_t window_plus_one, uint64_t file_bytes)
{
	struct tp_ring_head *head = tp_ring.head;
	uint64_t pass;

	if (!head)
		return;
	pass = head->pass_done + 1;
	head->pass_bytes[pass & 1] = file_bytes;
	head->pass_window[pass & 1] = window_plus_one;
	/* Release: this one store makes the whole pass count. */
	__atomic_store_n(&head->pass_done, pass, __ATOMIC_RELEASE);

	for (uint32_t i = 0; i < pool.n_taken; i++) {
		struct tp_chunk *chunk = &tp_ring.chunks[pool.taken[i].chunk];
		uint32_t state = __atomic_load_n(&chunk->state, __ATOMIC_ACQUIRE);

		__atomic_store_n(&chunk->drained, chunk->taken, __ATOMIC_RELAXED);
		__atomic_store_n(&chunk->pass, 0, __ATOMIC_RELEASE);
		if (state == TP_CHUNK_FULL &&
		    __atomic_load_n(&chunk->published, __ATOMIC_RELAXED) == chunk->drained)
			give_back(pool.taken[i].chunk);
	}
	pool.n_taken = 0;
}

static bool has_ended(uint32_t pid, uint32_t tid)
{
	return syscall(SYS_tgkill, pid, tid, 0) < 0 && errno == ESRCH;
}

/* Whether the owner of the chunk is no more. */
static bool is_orphan(const struct tp_chunk *chunk)
{
	const struct tp_ring_slot *slot = &tp_ring.slots[chunk->slot % TP_RING_SLOTS];

	if (chunk->slot != LAST_SLOT &&
	    (slot->tid != chunk->tid || __atomic_load_n(&slot->is_dead, __ATOMIC_ACQUIRE)))
		return true;
	return has_ended(tp_ring.head->pid, chunk->tid);
}

/* The slot's thread has ended and all it did is written: the next thread may have it. */
static void free_slot(struct tp_ring_slot *slot)
{
	slot->depth = 0;
	slot->dropped = 0;
	slot->torch_id = 0;
	slot->flags = 0;
	slot->chunk = TP_NO_CHUNK;
	slot->is_dead = 0;
	memset(slot->name, 0, sizeof(slot->name));
	/* Release: who takes it finds it clean. */
	__atomic_store_n(&slot->tid, 0, __ATOMIC_RELEASE);
}

void tp_ring_reap(bool and_slots)
{
	uint32_t chunk_top = __atomic_load_n(&pool.chunk_top, __ATOMIC_ACQUIRE);
	uint32_t slot_top = __atomic_load_n(&pool.slot_top, __ATOMIC_ACQUIRE);
	uint64_t busy[TP_RING_SLOTS / 64] = {0};

	if (!tp_ring.head)
		return;
	if (slot_top > LAST_SLOT)
		slot_top = LAST_SLOT;
	for (uint32_t i = 0; i < slot_top; i++) {
		struct tp_ring_slot *slot = &tp_ring.slots[i];
		uint32_t tid = __atomic_load_n(&slot->tid, __ATOMIC_ACQUIRE);

		if (tid && has_ended(tp_ring.head->pid, tid))
			__atomic_store_n(&slot->is_dead, 1, __ATOMIC_RELEASE);
	}
	for (uint32_t i = 0; i < chunk_top; i++) {
		struct tp_chunk *chunk = &tp_ring.chunks[i];
		uint32_t state = __atomic_load_n(&chunk->state, __ATOMIC_ACQUIRE);

		if (state == TP_CHUNK_FREE)
			continue;
		/* The owner first, then the count: it cannot publish after its end. */
		if ((state == TP_CHUNK_FULL || is_orphan(chunk)) &&
		    __atomic_load_n(&chunk->published, __ATOMIC_ACQUIRE) == chunk->drained)
			give_back(i);
		else
			busy[chunk->slot % TP_RING_SLOTS / 64] |= 1ull << (chunk->slot % 64);
	}
	for (uint32_t i = 0; and_slots && i < slot_top; i++)
		if (__atomic_load_n(&tp_ring.slots[i].is_dead, __ATOMIC_ACQUIRE) &&
		    !(busy[i / 64] >> (i % 64) & 1))
			free_slot(&tp_ring.slots[i]);
}

void tp_ring_forget_spans(void)
{
	uint32_t top = __atomic_load_n(&pool.slot_top, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < top; i++) {
		struct tp_ring_slot *slot = &tp_ring.slots[i];
		uint32_t depth = __atomic_load_n(&slot->depth, __ATOMIC_ACQUIRE);
		uint32_t keep = 0;

		while (keep < depth && keep < TP_OPEN_SPANS &&
		       __atomic_load_n(&slot->open[keep].kind, __ATOMIC_RELAXED) != TP_REC_OP)
			keep++;
		/* Loses against the thread itself when it moves just now: its word is newer. */
		if (keep < depth)
			__atomic_compare_exchange_n(&slot->depth, &depth, keep, false,
						    __ATOMIC_RELEASE, __ATOMIC_RELAXED);
	}
}
