/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nccl_pool.h - what is known of the events of NCCL that are under way, and their handles
 *
 * One pool for the process, taken when the first communicator is made: no callback allocates, and
 * a communicator that is destroyed with events under way leaves nothing behind that points to freed
 * memory. A handle is no address but a place and a number that changes whenever the place is used
 * anew: NCCL stops some events twice, gives parents that are long over, and with PXN handles that
 * another process made. All of those are found out.
 *
 * Any thread, no locks. Entries are worked on between enter and leave, any number of threads at a
 * time (their members are atomic); who has claimed one has it alone and gives it back.
 */
#ifndef TP_PROBE_NCCL_POOL_H
#define TP_PROBE_NCCL_POOL_H

#include <stdbool.h>
#include <stdint.h>

enum { TP_NCCL_ENTRIES = 8192 };	/* 1 MiB; a collective over 64 channels takes some 600 */

enum tp_nccl_kind {
	TP_NCCL_ENTRY_COLL = 1,	/* or a send or receive */
	TP_NCCL_ENTRY_OP = 2,	/* an operation of a proxy */
	TP_NCCL_ENTRY_STEP = 3,	/* of those */
};

/* For what a step waits, see TP_ARG_XFER. */
enum tp_nccl_wait {
	TP_NCCL_WAIT_DEVICE = 0,
	TP_NCCL_WAIT_PEER = 1,
	TP_NCCL_WAIT_NETWORK = 2,
	TP_NCCL_WAITS
};

struct tp_nccl_entry {
	uint64_t life;		/* atomic: number of use << 32 | state << 24 | threads inside */
	uint32_t next;		/* atomic: when free, 1 + the place of the next free one */
	uint8_t kind;		/* enum tp_nccl_kind */
	uint8_t flags;		/* COLL: TP_F_* known at its start; OP: 1 if foreign */
	uint16_t slot;		/* COLL: of the thread that enqueued it */
	uint32_t comm;		/* 1 + its place, see nccl_comm.h; 0: not known */
	uint32_t name, link;	/* of the record */
	uint64_t begin;		/* ticks */
	uint64_t since;		/* begin of its collective: says of which window it is */
	uint64_t parent;	/* handle; 0: none */
	uint64_t bytes;		/* COLL; OP: atomic */
	/* All atomic from here on. */
	uint64_t stopped;	/* ticks; 0: not yet */
	uint64_t last;		/* COLL: last operation's end; STEP: its state's start */
	uint32_t n_open, n_ops;	/* COLL: its operations, those under way */
	uint32_t state;		/* STEP: enum tp_nccl_wait */
	uint64_t wait[TP_NCCL_WAITS]; /* OP: of its steps, ticks */
} __attribute__((aligned(128)));

/* Takes the memory, if that was not done. 0 or -ENOMEM. */
int tp_nccl_pool_init(void);

/* One that nobody else has, all zero but for life and kind. NULL: all are taken (or no memory). */
struct tp_nccl_entry *tp_nccl_pool_take(enum tp_nccl_kind kind);
/* It is filled in: its handle, never 0. */
uint64_t tp_nccl_pool_publish(struct tp_nccl_entry *entry);

/* The entry, if the handle is one of ours, of that kind, and not over. Then leave. */
struct tp_nccl_entry *tp_nccl_pool_enter(uint64_t handle, enum tp_nccl_kind kind);
void tp_nccl_pool_leave(struct tp_nccl_entry *entry);

/* The entry alone, or NULL: over already. claim_at does not wait: also NULL when a thread is
 * inside. Then give_back, or put_back: nothing has happened. */
struct tp_nccl_entry *tp_nccl_pool_claim(uint64_t handle);
struct tp_nccl_entry *tp_nccl_pool_claim_at(uint32_t at);
void tp_nccl_pool_put_back(struct tp_nccl_entry *entry);
void tp_nccl_pool_give_back(struct tp_nccl_entry *entry);

/* Places that were ever used, for claim_at; what is there, as a first look without any promise. */
uint32_t tp_nccl_pool_used(void);
bool tp_nccl_pool_is_live(uint32_t at);

/* In the child of fork: all entries are free, the parent's handles over. */
void tp_nccl_pool_forked(void);

#endif
