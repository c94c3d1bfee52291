/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring_layout.h - the shared file in which a process keeps what has not been written yet
 *
 * One file a process, mapped MAP_SHARED: what is in it outlives the process, whatever killed
 * it. Written by runtime/engine, read by the drain thread and, after a death, by the merge.
 * Not an interchange format: reader and writer must be of the same TP_RING_VERSION.
 *
 *	struct tp_ring_head	one page
 *	slots			n_slots x struct tp_ring_slot: a thread and its open spans
 *	steps			n_steps x struct tp_ring_step: the last steps, a ring
 *	names			names_bytes of interned strings, append-only
 *	chunks			n_chunks x struct tp_chunk (64 KiB)
 *
 * A living process holds flock(2) on the file.
 *
 * Fields marked atomic are read and written with __atomic builtins: the file is shared
 * between builds by C and read by other processes.
 *
 * What a reader of the dead does, so that no record is lost and none is read twice
 *
 * Records leave the ring in passes: the drain thread takes what is published, writes it to
 * the trace file (whole blocks), then commits the pass by one store to head.pass_done. A kill
 * between the write and the commit leaves the records in both places. The commit says which
 * place counts:
 *
 *	chunk	of a chunk that is not FREE, records [n, published) are still in the ring,
 *		n = tp_chunk_in_file(chunk, pass_done). Chunks of one slot in order of `sequence`.
 *		Of those, one whose kind has TP_RING_PICKED is in the file when chunk.pass is not
 *		0 and committed; else it counts, without that bit. Kind 0: nothing.
 *	file	of a trace file whose run_id is head.run_id, whose window is >= windows_written
 *		and which has no END block, only the first N bytes count, with
 *		N = tp_ring_file_bytes(head, window). Event blocks after N hold records that are
 *		still in the ring. All other files count whole, also one with an END block that is
 *		still named .part (the kill came before the rename).
 *
 * Windows: number w is described by head.windows[w % TP_RING_WINDOWS]; windows_begun of them
 * have begun and the files of the first windows_written are finished. A record still in the
 * ring belongs to the window w in [windows_written, windows_begun) with begin <= e <= end
 * (end 0: not over; the lowest such w), where e is the record's end (time + len of a span,
 * else time). It belongs to none when there is no such w: warm-up, thrown away. One whose time is
 * before begin gets TP_F_EARLY. A FRAME from before begin belongs to the lowest w that was not over,
 * and its time becomes begin. A span with TP_F_AFTER (tp_rec_is_after) belongs to window
 * windows_written if that is over, else to none. Spans still on the stacks of open spans at the kill are in
 * no record.
 *
 * The flight recorder: when head.recorder.begin is not 0 its records are those of one window more,
 * number windows_begun, which is not over (tp_ring_head_take_recorder).
 *
 * Steps [steps_drained, steps_done) are not in the ledger file; a kill between the write of a
 * ledger line and the store of steps_drained shows the same index in both.
 */
#ifndef TP_TRACE_RING_LAYOUT_H
#define TP_TRACE_RING_LAYOUT_H

#include <stdint.h>

#include "runtime/trace/kinds.h"
#include "runtime/trace/trainprof_trace.h"

#define TP_RING_MAGIC 0x31474e5250545054ull
enum {
	TP_RING_VERSION = 2,
	TP_CHUNK_BYTES = 65536,
	TP_CHUNK_RECORDS = (TP_CHUNK_BYTES - 64) / 32, /* 2046 */
	TP_OPEN_SPANS = 56,	/* deeper spans are counted in depth but not kept */
	TP_RING_SLOTS = 512,	/* threads; more share the last slot, without open spans */
	TP_RING_STEPS = 1024,	/* power of two */
	TP_RING_STAND = 6,	/* places of struct tp_ring_stand */
	TP_RING_WINDOWS = 8,	/* begun and not yet written out; more are not recorded */
	TP_TID_MANY = 0x7fffffff, /* no thread's number: the slot that all others share */
	TP_NO_CHUNK = 0xffffffff,
	TP_RING_PICKED = 0x80,	/* bit of tp_rec.kind: taken by a pass before its elders */
};

struct tp_open_span {
	uint64_t time;		/* begin, ticks; 0 while the entry is being written */
	uint32_t name;
	uint32_t kind;		/* TP_REC_OP, TP_REC_RANGE */
};

struct tp_ring_slot {		/* 1 KiB */
	uint32_t tid;		/* atomic; 0: slot not used; of the last slot TP_TID_MANY */
	uint32_t is_dead;	/* atomic: the thread has ended */
	uint32_t chunk;		/* atomic: the chunk it writes to, or TP_NO_CHUNK */
	uint32_t depth;		/* atomic: open spans, may exceed TP_OPEN_SPANS */
	uint64_t dropped;	/* atomic: records lost on this thread */
	uint32_t torch_id;	/* atomic */
	uint32_t flags;		/* as tp_thread_entry.flags */
	char name[16];
	uint64_t sequence;	/* atomic: of taking, counted with the chunks; 0: being taken */
	uint64_t reserved[9];
	struct tp_open_span open[TP_OPEN_SPANS];
};
TP_TRACE_ASSERT(sizeof(struct tp_ring_slot) == 1024, "slot");

/* One finished step. index is written last (release): entry i is valid when index == i + 1. */
struct tp_ring_step {		/* 128 bytes */
	uint64_t index;		/* atomic: number of the step in the run, plus one */
	uint64_t begin;		/* ticks */
	uint64_t duration;	/* ticks */
	uint64_t data_wait;	/* ticks inside the data loader on the training thread */
	uint64_t optimizer;	/* ticks inside the optimizer */
	uint64_t live_bytes;	/* tensor bytes (host) at the end of the step */
	uint64_t peak_bytes;	/* most in the step */
	uint64_t dropped;	/* records lost in the step */
	uint32_t epoch, in_epoch, batches;
	uint8_t phase;		/* enum tp_phase */
	uint8_t source;		/* enum tp_step_source */
	uint8_t flags;		/* TP_F_* of the STEP record */
	uint8_t reserved0;
	uint64_t device_live, device_peak; /* as reported by the framework, all devices */
	uint64_t heap_bytes;	/* alive in the allocator at the end of the step; 0: not known */
	uint64_t reserved[3];
};
TP_TRACE_ASSERT(sizeof(struct tp_ring_step) == 128, "step");

/* An interned string at offset 8 * id from the start of `names`. Id 0 is not used. */
struct tp_name_entry {
	uint32_t n_bytes;
	uint32_t kind;		/* enum tp_string_kind */
	char bytes[];		/* then padded to a multiple of 8 */
};

struct tp_chunk {
	uint32_t slot;		/* owner; set before the first record */
	uint32_t state;		/* atomic: enum tp_chunk_state */
	uint64_t sequence;	/* of taking, whole process: orders the chunks of a thread */
	uint32_t published;	/* atomic: whole records from the start */
	uint32_t drained;	/* atomic: of those, how many are in a trace file */
	uint32_t window;	/* windows_begun when it was taken */
	uint32_t taken;		/* atomic: `drained` as soon as pass `pass` is committed */
	uint64_t pass;		/* atomic: set after `taken`, 0 after `drained` */
	uint32_t tid;		/* the kernel's number of the owner (slots can be shared) */
	uint32_t reserved[5];
	struct tp_rec rec[TP_CHUNK_RECORDS];
};
TP_TRACE_ASSERT(sizeof(struct tp_chunk) == TP_CHUNK_BYTES, "chunk");

enum tp_chunk_state {
	TP_CHUNK_FREE = 0,
	TP_CHUNK_OWNED = 1,	/* its thread may still write to it */
	TP_CHUNK_FULL = 2,	/* given up by its thread; the drain frees it when written out */
};

enum tp_ring_opened {
	TP_OPENED_SCHEDULE = 0,
	TP_OPENED_TRIGGER = 1,
	TP_OPENED_RECORDER = 2,	/* it was over when it was opened: the last steps before something
				 * happened */
};

/* One window of recording, from the boundary where it began to the one where it ended. */
struct tp_ring_window {		/* 48 bytes */
	uint64_t begin;		/* atomic: ticks; what ended before is warm-up */
	uint64_t end;		/* atomic: ticks; 0: not over */
	uint64_t first_step;	/* number in the run of its first step */
	uint64_t in_epoch;	/* of that step */
	uint32_t epoch;		/* of that step */
	uint32_t opened_by;	/* enum tp_ring_opened */
	uint64_t end_step;	/* first step after the window; set before `end` */
};

/* Where the process's first thread stood when its Python stack was last looked at (samples): in the innermost
 * function, and in those of the user's own around it, innermost first. */
struct tp_ring_stand {		/* 64 bytes */
	uint64_t turn;		/* atomic: 0: never looked at; odd while what follows is being written */
	uint64_t time;		/* ticks */
	struct {
		uint32_t name;	/* PYFRAME; 0: there is no more */
		uint32_t line;	/* 0: not known */
	} place[TP_RING_STAND];
};

struct tp_ring_head {
	uint64_t magic;		/* TP_RING_MAGIC, written last */
	uint32_t version;	/* TP_RING_VERSION */
	uint32_t n_slots, n_steps, n_chunks;
	uint64_t slots_at, steps_at, names_at, chunks_at; /* bytes from the start of the file */
	uint64_t names_bytes, file_bytes;
	uint64_t boot_id[2];
	uint64_t run_id;
	uint64_t process_start;	/* field 22 of /proc/PID/stat: with pid and boot id, who it was */
	uint32_t pid, ppid;
	int32_t rank, local_rank, world_size, node_rank;
	uint32_t restart, clock_source;
	uint64_t anchor[8];	/* struct tp_clock_anchor at start [0-3], newest [4-7]; the newest
				 * is being written when its bracket [7] is ~0: use the start's */

	uint64_t names_used;	/* atomic: bytes of `names` that are whole; starts at 8 */
	uint64_t names_lost;	/* atomic: strings that found no space */
	uint64_t dropped;	/* atomic: all threads; the slots' own figures are parts of it */
	uint64_t steps_done;	/* atomic: finished steps of the run */
	uint64_t steps_drained;	/* atomic: of those, in the ledger file */
	uint64_t chunk_sequence;/* atomic */

	/* Passes of the drain: see the top. */
	uint64_t pass_done;	/* atomic: passes committed; the first is 1 */
	uint64_t pass_bytes[2];	/* of the file after pass n, at [n & 1] */
	uint32_t pass_window[2];/* its window, plus one; 0: thrown away, no file */

	uint32_t windows_begun;	/* atomic: after the entry of `windows` is whole */
	uint32_t windows_written;/* atomic: their files are finished (or given up, said so) */
	struct tp_ring_window windows[TP_RING_WINDOWS];

	/* Where the program stands. */
	uint32_t phase;		/* atomic: enum tp_phase */
	uint32_t is_closed;	/* atomic: the process finished in order; nothing to recover */
	uint32_t is_replaced;	/* atomic: it called exec; its pid is another program's now */
	uint32_t after_death;	/* enum tp_ring_after: what later runs did with it */
	uint64_t step_begin;	/* atomic: ticks, of the step in progress */
	uint32_t epoch, in_epoch;
	char trace_path[512];	/* final name of the file of window windows_written, for messages;
				 * the file is this + ".part". Empty: not made yet */
	char ledger_path[512];
	char meta[1536];	/* the META text of the process, for files made by recovery */
	char link_path[512];	/* in the run folder, leads to this file; "" when it lies there */

	/* A worker process of a rank has a ring of its own and follows the rank's windows, which
	 * it reads in this page of the rank's ring. */
	uint32_t worker;	/* its number; 0: a rank itself */
	uint32_t root_pid;	/* of a worker: the rank's process */
	uint32_t n_workers;	/* atomic, of a rank: numbers given out, by the workers themselves */
	uint32_t pid_ns;	/* in which pid is a number; 0: not known */
	uint32_t window_turn;	/* atomic: another even number in each window; odd while a boundary
				 * that may begin one has not said so yet */
	uint32_t hang_turn;	/* atomic, of a rank: another number when its workers are to say where
				 * they stand, because it hangs */

	/* The flight recorder: what the ring holds of the last steps, and no window has. */
	struct tp_ring_window recorder;	/* begin 0: it is off, or a window is open */
	uint64_t recorder_overwritten;	/* atomic: records of those steps that had to make room */

	struct tp_ring_stand stand;
};
TP_TRACE_ASSERT(sizeof(struct tp_ring_head) <= 4096, "ring head fits a page");

/* Of a copy of a head: what the flight recorder holds is the last of its windows. */
static inline void tp_ring_head_take_recorder(struct tp_ring_head *copy)
{
	if (copy->recorder.begin && copy->windows_begun - copy->windows_written < TP_RING_WINDOWS)
		copy->windows[copy->windows_begun++ % TP_RING_WINDOWS] = copy->recorder;
}

/* What the process's trace files begin with, but for their window and its parent. */
static inline struct tp_file_head tp_ring_head_of_files(const struct tp_ring_head *head)
{
	return (struct tp_file_head){
		.boot_id = {head->boot_id[0], head->boot_id[1]},
		.run_id = head->run_id, .pid = head->pid, .rank = head->rank,
		.local_rank = head->local_rank, .world_size = head->world_size,
		.node_rank = head->node_rank, .clock_source = head->clock_source,
		.restart = head->restart, .pid_ns = head->pid_ns,
	};
}

/* How many records of a chunk are in a trace file (or were thrown away on purpose). */
static inline uint32_t tp_chunk_in_file(const struct tp_chunk *chunk, uint64_t pass_done)
{
	uint64_t pass = __atomic_load_n(&chunk->pass, __ATOMIC_ACQUIRE);

	return pass != 0 && pass <= pass_done ? chunk->taken : chunk->drained;
}

/* Bytes that count of the file of window w, which has no END block. Its head and META blocks
 * may lie beyond: they hold no records and are always good. */
static inline uint64_t tp_ring_file_bytes(const struct tp_ring_head *head, uint32_t w)
{
	uint64_t at = __atomic_load_n(&head->pass_done, __ATOMIC_ACQUIRE) & 1;

	return head->pass_window[at] == w + 1 ? head->pass_bytes[at] : 0;
}

/* What the program started on a device or with NCCL lies in one window as a whole: the one that
 * started it. For these kinds only TP_F_AFTER means something. */
static inline int tp_rec_is_whole(const struct tp_rec *rec)
{
	return tp_kind_is_device(rec->kind) || tp_kind_is_nccl(rec->kind);
}

static inline int tp_rec_is_after(const struct tp_rec *rec)
{
	return rec->flags & TP_F_AFTER && tp_rec_is_whole(rec);
}

/* Bits. */
enum tp_ring_after {
	TP_RING_TOLD = 1,	/* one line has named it */
	TP_RING_TRIMMED = 2,	/* the memory of what is in files was given back; its pages are 0 */
};

enum tp_phase {
	TP_PHASE_STARTUP = 0,	/* before the first step */
	TP_PHASE_SKIP = 1,	/* skip_first */
	TP_PHASE_WAIT = 2,
	TP_PHASE_WARMUP = 3,
	TP_PHASE_ACTIVE = 4,
	TP_PHASE_DONE = 5,	/* after the last repeat: nothing more in this epoch */
};

enum tp_step_source {
	TP_STEP_NONE = 0,
	TP_STEP_OPTIMIZER = 1,
	TP_STEP_ZERO_GRAD = 2,
	TP_STEP_LOADER = 3,
	TP_STEP_RANGE = 4,	/* a user range by name */
	TP_STEP_CLOCK = 5,
	TP_STEP_MARK = 6,	/* the program says so: preload/trainprof.h */
};

#endif
