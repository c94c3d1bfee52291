/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring.h - where records go: a pool of chunks in a shared file, one chunk a thread at a time
 *
 * The producer side (reserve, commit, span_begin, span_end) runs on guest threads inside
 * operators, allocators and signal handlers: no lock, no allocation, no system call, except
 * that a thread's first record takes a slot (a spin lock) and every 2,046th a new chunk (one
 * compare-and-swap). When no chunk is free the record is dropped and counted; never waited for.
 *
 * The layout is runtime/trace/ring_layout.h: what is published outlives the process.
 * One ring a process. A forked child must call tp_ring_forked before anything else.
 */
#ifndef TP_ENGINE_RING_H
#define TP_ENGINE_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/sync.h"
#include "runtime/trace/ring_layout.h"

/* A guest thread's own view of its chunk. All zero in a new thread. Initial-exec TLS. */
struct tp_ring_self {
	struct tp_rec *next, *end;	/* free room in the chunk; equal: full, or none yet */
	struct tp_chunk *chunk;
	struct tp_ring_slot *slot;
	uint32_t slot_at;
	uint32_t generation;		/* of the ring this view belongs to */
};
extern __thread struct tp_ring_self tp_ring_self
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

struct tp_ring {
	struct tp_ring_head *head;	/* NULL: no ring */
	struct tp_ring_slot *slots;
	struct tp_ring_step *steps;
	char *names;
	struct tp_chunk *chunks;
	uint32_t generation;		/* counts rings in this process and its ancestors */
	char path[512];
	char link_path[512];		/* name in the run folder, when the file lies elsewhere */
};
extern struct tp_ring tp_ring __attribute__((visibility("hidden")));

struct tp_ring_spec {
	uint64_t bytes;			/* names and chunks together */
	const char *dir;		/* run folder (exists) */
	const char *buffer_dir;		/* "" : /dev/shm when it has room, else dir */
	const char *name;		/* file name, unique to this process */
	uint64_t run_id;
	int32_t rank, local_rank, world_size, node_rank;
	uint32_t restart;
};

/* Creates, reserves (posix_fallocate), maps and populates the file. 0 or -errno; on failure
 * in one place the next is tried (said in a message); no ring then means no recording. */
int tp_ring_open(const struct tp_ring_spec *spec);
/* Marks it closed and removes the file. Records of late threads go nowhere, counted. */
void tp_ring_close(void);
/* In the child of fork: forgets the parent's mapping without touching its contents. */
void tp_ring_forked(void);

/* Cold side of tp_ring_reserve: takes slot and chunk; NULL: dropped, counted. */
struct tp_rec *tp_ring_reserve_slow(void);

/* Room for one record of this thread, or NULL (dropped and counted). Fill it, then commit. */
static inline struct tp_rec *tp_ring_reserve(void)
{
	struct tp_ring_self *self = &tp_ring_self;

	if (tp_unlikely(self->next == self->end))
		return tp_ring_reserve_slow();
	return self->next;
}

static inline void tp_ring_commit(void)
{
	struct tp_ring_self *self = &tp_ring_self;

	self->next++;
	/* Release: whoever reads the count, also after our death, must see the whole record. */
	__atomic_store_n(&self->chunk->published, (uint32_t)(self->next - self->chunk->rec),
			 __ATOMIC_RELEASE);
}

/* This thread's slot, taken if need be. NULL: no ring, or no slot left. */
struct tp_ring_slot *tp_ring_slot_slow(void);
static inline struct tp_ring_slot *tp_ring_slot(void)
{
	return tp_likely(tp_ring_self.slot != NULL) ? tp_ring_self.slot : tp_ring_slot_slow();
}

/*
 * Open spans: what a thread is inside of, for hangs and kills. begin returns the depth to
 * give back to end (also when spans end out of order, or an outer one first).
 */
static inline uint32_t tp_ring_span_begin(uint32_t kind, uint32_t name, uint64_t time)
{
	struct tp_ring_slot *slot = tp_ring_slot();
	uint32_t depth;

	if (tp_unlikely(!slot))
		return 0;
	depth = slot->depth;
	if (tp_likely(depth < TP_OPEN_SPANS)) {
		struct tp_open_span *span = &slot->open[depth];

		/* 0 first, time last: a reader of the dead sees a whole entry or none. */
		__atomic_store_n(&span->time, 0, __ATOMIC_RELAXED);
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		span->name = name;
		span->kind = kind;
		__atomic_store_n(&span->time, time, __ATOMIC_RELEASE);
	}
	__atomic_store_n(&slot->depth, depth + 1, __ATOMIC_RELEASE);
	return depth;
}

static inline void tp_ring_span_end(uint32_t depth)
{
	struct tp_ring_slot *slot = tp_ring_self.slot;

	if (tp_likely(slot != NULL))
		__atomic_store_n(&slot->depth, depth, __ATOMIC_RELEASE);
}

/* All open spans of all threads are forgotten (records of ops stop being made: window end). */
void tp_ring_forget_spans(void);

/* ---- drain side: one thread at a time ---- */

/* Gets n whole records of one thread; they stay valid until the function returns. */
typedef void (*tp_ring_take_fn)(void *ctx, uint32_t slot, const struct tp_rec *rec, uint32_t n);

/*
 * Hands out all published, not yet drained records, the chunks of a thread in order. Nothing
 * is given back yet: tp_ring_release does that, after the records are safely in a file.
 */
void tp_ring_take(tp_ring_take_fn take, void *ctx);
/* What the last take handed out is safe: marks it drained, frees full chunks. */
void tp_ring_release(void);

uint32_t tp_ring_chunks_used(void);	/* of tp_ring.head->n_chunks */
uint64_t tp_ring_dropped(void);		/* all threads, since the start */

#endif
