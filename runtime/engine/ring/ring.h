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
 *
 * Between reserve and commit a thread must not reserve again, not even in a signal handler:
 * hooks that run in handlers ask tp_ring_is_reserved. Commit a span's record before
 * tp_ring_span_end, so that at every moment it is in one of the two places.
 */
#ifndef TP_ENGINE_RING_H
#define TP_ENGINE_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/folder.h"
#include "runtime/base/own_words.h"
#include "runtime/base/sync.h"
#include "runtime/trace/ring_layout.h"

/* What a probe has for a thread. */
enum tp_ring_kept {
	TP_KEPT_PYSTACK,	/* pystack_thread.h */
	TP_KEPT_SPANS,		/* torch_state.h */
	TP_KEPT_N,
};

/* A guest thread's own view of its chunk, and what else each of its events needs: one cache line. All
 * zero in a new thread. Initial-exec TLS. */
struct tp_ring_self {
	struct tp_rec *next, *end;	/* free room in the chunk; equal: full, or none yet */
	struct tp_chunk *chunk;
	struct tp_ring_slot *slot;
	uint32_t slot_at;
	uint32_t generation;		/* of the ring this view belongs to */
	bool is_reserved;		/* between reserve and commit */
	bool is_busy;			/* at the tables of stacks, outside of all hooks: one that comes in
					 * between (a handler of a signal allocates) takes no stack */
	void *kept[TP_KEPT_N];
} __attribute__((aligned(TP_CACHE_LINE)));
_Static_assert(sizeof(struct tp_ring_self) == TP_CACHE_LINE, "one cache line");
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
	uint64_t n_bytes;		/* of the file */
	const struct tp_folder *folder;	/* of the run */
	struct tp_own_fd file;		/* locked: says to others that we live */
} __attribute__((aligned(TP_CACHE_LINE)));
extern struct tp_ring tp_ring __attribute__((visibility("hidden")));

/* Futex word on which the drain thread sleeps; any change wakes it. */
extern uint32_t tp_ring_bell __attribute__((visibility("hidden")));
void tp_ring_ring_bell(void);

struct tp_ring_spec {
	uint64_t bytes;			/* names and chunks together */
	const char *dir;		/* run folder (exists) */
	const struct tp_folder *folder;	/* the same, open; NULL: by its path */
	const char *buffer_dir;		/* "" : /dev/shm when it has room, else dir */
	const char *name;		/* file name, unique to this process */
	uint64_t run_id;
	int32_t rank, local_rank, world_size, node_rank;
	uint32_t restart;
	uint32_t worker, root_pid;	/* 0: a rank itself */
};

/* Creates, reserves (posix_fallocate), maps and populates the file. 0 or -errno; on failure
 * in one place the next is tried (said in a message); no ring then means no recording. */
int tp_ring_open(const struct tp_ring_spec *spec);
/* Everything is written: marks it closed and removes the file. The memory stays mapped:
 * records of late threads go there and nowhere else. */
void tp_ring_close(void);
/* Not everything is written: takes no more records, leaves the file for the merge. */
void tp_ring_leave(void);
/* Somebody cut the file: what is gone is read as zeros, or is SIGBUS (ring_guard.h). */
bool tp_ring_is_cut(void);
/* Memory of this process only takes its place, and no more records. */
void tp_ring_lose(void);
/* The run folder was made anew: puts the link to the ring there again. */
void tp_ring_relink(void);
/* In the child of fork: forgets the parent's mapping without touching its contents. */
void tp_ring_forked(void);

/* A thread's view is of no ring any more. */
static inline void tp_ring_self_clear(struct tp_ring_self *self)
{
	self->next = self->end = NULL;
	self->chunk = NULL;
	self->slot = NULL;
	self->slot_at = self->generation = 0;
}

/* Cold side of tp_ring_reserve: takes slot and chunk; NULL: dropped, counted. */
TP_COLD struct tp_rec *tp_ring_reserve_slow(void);

/* False: this thread has made no record yet, or is the only one of a child that was made
 * without the handlers of fork (own_words.h): the chunk and the slot are its parent's. */
static inline bool tp_ring_self_is_of_ring(void)
{
	return tp_ring_self.generation == __atomic_load_n(&tp_own_words.ring, __ATOMIC_RELAXED);
}

/* Room for one record of this thread, or NULL (dropped and counted). Fill it, then commit. */
static inline struct tp_rec *tp_ring_reserve(void)
{
	struct tp_rec *rec;

	tp_ring_self.is_reserved = true;
	/* A signal handler must find it set before we go on. */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	rec = tp_ring_self.next;
	if (tp_unlikely(rec == tp_ring_self.end || !tp_ring_self_is_of_ring())) {
		rec = tp_ring_reserve_slow();
		tp_ring_self.is_reserved = rec != NULL;
	}
	return rec;
}

static inline void tp_ring_commit(void)
{
	struct tp_chunk *chunk = tp_ring_self.chunk;
	struct tp_rec *next = tp_ring_self.next + 1;

	tp_ring_self.next = next;
	/* Release: whoever reads the count, also after our death, must see the whole record. */
	__atomic_store_n(&chunk->published, (uint32_t)(next - chunk->rec), __ATOMIC_RELEASE);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	tp_ring_self.is_reserved = false;
}

/* This thread is between reserve and commit: a hook that a signal handler came to must not
 * reserve. */
static inline bool tp_ring_is_reserved(void)
{
	return tp_ring_self.is_reserved;
}

/* This thread's slot, taken if need be. NULL: no ring, or no slot left. */
TP_COLD struct tp_ring_slot *tp_ring_slot_slow(void);
static inline struct tp_ring_slot *tp_ring_slot(void)
{
	return tp_likely(tp_ring_self.slot != NULL && tp_ring_self_is_of_ring())
		       ? tp_ring_self.slot
		       : tp_ring_slot_slow();
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
	depth = __atomic_load_n(&slot->depth, __ATOMIC_RELAXED);
	if (tp_likely(depth < TP_OPEN_SPANS)) {
		struct tp_open_span *span = &slot->open[depth];

		/* 0 first, time last, all in order: a reader sees a whole entry or none. */
		__atomic_store_n(&span->time, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&span->name, name, __ATOMIC_RELEASE);
		__atomic_store_n(&span->kind, kind, __ATOMIC_RELEASE);
		__atomic_store_n(&span->time, time, __ATOMIC_RELEASE);
	}
	__atomic_store_n(&slot->depth, depth + 1, __ATOMIC_RELEASE);
	return depth;
}

static inline void tp_ring_span_end(uint32_t depth)
{
	struct tp_ring_slot *slot = tp_ring_self.slot;

	if (tp_likely(slot != NULL && tp_ring_self_is_of_ring()))
		__atomic_store_n(&slot->depth, depth, __ATOMIC_RELEASE);
}

/* Window end: open operators, and what lies inside of them, are forgotten on all threads (their
 * ends may never be seen). User ranges outside of operators stay: they are watched always. */
void tp_ring_forget_spans(void);

/* Of the last TP_RING_WINDOWS windows. */
static inline struct tp_ring_window *tp_ring_window_at(uint32_t window)
{
	return &tp_ring.head->windows[window % TP_RING_WINDOWS];
}

/* Ticks; it moves when the window's warm-up ends. */
static inline uint64_t tp_ring_window_begin_of(uint32_t window)
{
	return __atomic_load_n(&tp_ring_window_at(window)->begin, __ATOMIC_ACQUIRE);
}

/* 0: it is not over. */
static inline uint64_t tp_ring_window_end_of(uint32_t window)
{
	return __atomic_load_n(&tp_ring_window_at(window)->end, __ATOMIC_ACQUIRE);
}

/* The window that is open, or was last, by its begin, which moves when its warm-up ends. While the flight
 * recorder stands each step is one: whatever it forgets, a step names its own stacks. 0: none was. */
static inline uint64_t tp_ring_window_begin(void)
{
	const struct tp_ring_head *head = __atomic_load_n(&tp_ring.head, __ATOMIC_ACQUIRE);
	uint32_t begun = head ? __atomic_load_n(&head->windows_begun, __ATOMIC_ACQUIRE) : 0;

	if (tp_unlikely(head && __atomic_load_n(&head->recorder.begin, __ATOMIC_RELAXED)))
		return __atomic_load_n(&head->step_begin, __ATOMIC_RELAXED);
	return begun ? __atomic_load_n(&head->windows[(begun - 1) % TP_RING_WINDOWS].begin,
				       __ATOMIC_RELAXED) : 0;
}

/* Another even number in each window, and in each step while the flight recorder stands; odd: a boundary
 * that may begin one has not said so yet. */
static inline uint32_t tp_ring_window_turn(void)
{
	const struct tp_ring_head *head = __atomic_load_n(&tp_ring.head, __ATOMIC_ACQUIRE);

	return tp_likely(head != NULL) ? __atomic_load_n(&head->window_turn, __ATOMIC_ACQUIRE) : 0;
}

/* ---- drain side: one thread at a time ---- */

/*
 * Gets n whole records of one thread, oldest first; returns how many of them it takes. The
 * others stay in the ring, with all later ones of that thread. The records stay valid and
 * unchanged until tp_ring_release.
 */
typedef uint32_t (*tp_ring_take_fn)(void *ctx, uint32_t slot, const struct tp_rec *rec,
				    uint32_t n);

/*
 * A pass: hands out all published, not yet drained records, the chunks of a thread in order.
 * Nothing is given back yet: tp_ring_release does that, after the records are in a file.
 */
void tp_ring_take(tp_ring_take_fn take, void *ctx);
/* Shows what the next pass would hand out, and hands out nothing. */
typedef void (*tp_ring_show_fn)(void *ctx, uint32_t slot, const struct tp_rec *rec, uint32_t n);
void tp_ring_show(tp_ring_show_fn show, void *ctx);
/*
 * Part of the same pass, for the caller's own records: the drain's come in any order, also
 * behind some that have to stay. Gives out those that are left, one by one; `pick` returns
 * whether it takes the record.
 */
typedef bool (*tp_ring_pick_fn)(void *ctx, uint32_t slot, const struct tp_rec *rec);
void tp_ring_pick(tp_ring_pick_fn pick, void *ctx);
/* Commits the pass: what the last take and pick handed out is in the first `file_bytes` of the file of
 * window `window_plus_one` - 1 (0: thrown away on purpose). Frees full chunks. */
void tp_ring_release(uint32_t window_plus_one, uint64_t file_bytes);

/* A step that has ended. False: it has been overwritten since. */
bool tp_ring_step(uint64_t index, struct tp_ring_step *step);

uint64_t tp_ring_waiting(void);		/* records published and not yet drained */
uint32_t tp_ring_chunks_used(void);	/* of tp_ring.head->n_chunks */
uint32_t tp_ring_chunks_full(void);	/* of those, the ones that no thread writes to any more */
uint64_t tp_ring_dropped(void);		/* all threads, since the start */

/*
 * Gives back the chunks of threads that have ended, once drained; with `and_slots` their
 * slots too (between windows only: within one a slot's number must mean one thread).
 */
void tp_ring_reap(bool and_slots);
/* Half of the slots are taken, perhaps by threads that have ended: time to reap. */
bool tp_ring_is_short_of_slots(void);

#endif
