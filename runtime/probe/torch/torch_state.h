/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torch_state.h - what the files of the torch probe share
 */
#ifndef TP_PROBE_TORCH_STATE_H
#define TP_PROBE_TORCH_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/arena.h"
#include "runtime/base/sync.h"
#include "runtime/engine/ring/ring.h"
#include "runtime/probe/torch/torch_abi.h"
#include "runtime/probe/torch/torch_layout.h"

enum tp_torch_phase {
	TP_TORCH_NONE,
	TP_TORCH_WATCH,		/* user ranges arrive; there is no session yet */
	TP_TORCH_OPEN,
	TP_TORCH_OFF,		/* torch cannot be watched, or the session did not open */
	TP_TORCH_FORKED,	/* a child of fork: the parent's session is not ours; watched again */
};

/* A range between its two callbacks. torch owns it meanwhile, as an ObserverContext. */
struct tp_torch_span {
	void *const *vtable;
	union {
		struct tp_torch_span *next;	/* on a list */
		void **home;			/* in use: whose list it came from */
	};
	uint64_t begin;
	const struct tp_ring_slot *thread; /* on which it began; NULL: no open span there */
	uint32_t name, shapes;
	uint32_t depth;			/* from tp_ring_span_begin */
	uint32_t windows;		/* tp_torch.windows when it began */
	uint16_t thread_at;		/* slot number on which it began */
	uint8_t source : 4;		/* enum tp_torch_source */
	uint8_t is_recorded : 1;	/* of a user range: a window was open when it began */
	uint8_t is_collective : 1;	/* likewise, one whose end is counted */
	uint8_t is_async;
	union {
		int32_t n_yielded;	/* by the loader when it began; -1: not known */
		uint32_t waited_ns;	/* of a collective: since it was asked for */
	};
	uint64_t who;			/* optimizer, loader or flight (torch_flight.h) of a user range */
};
_Static_assert(sizeof(struct tp_torch_span) == 64, "a span is a cache line");

enum tp_torch_source {
	TP_TORCH_SOURCE_STEP,
	TP_TORCH_SOURCE_ZERO_GRAD,
	TP_TORCH_SOURCE_LOADER,
	TP_TORCH_SOURCE_OTHER,
};

struct tp_torch {
	uint32_t phase;			/* atomic, enum tp_torch_phase: first test of callbacks */
	uint32_t windows;		/* atomic; closed so far: open spans before were forgotten */
	uint64_t armed_at;		/* ticks */
	struct tp_torch_layout layout;
	struct tp_torch_abi abi;
	struct tp_arena arena;
	uint64_t n_lost;		/* atomic; ranges for which no span was left */
	uint64_t operators;		/* handle of the callback, 0: not registered */
	bool is_python;
	bool is_version_due;		/* atomic: it was not to be had where the session was opened */
} __attribute__((aligned(TP_CACHE_LINE)));
extern struct tp_torch tp_torch __attribute__((visibility("hidden")));

/* Where this thread's unused spans begin. */
static inline void **tp_torch_free(void)
{
	return &tp_ring_self.kept[TP_KEPT_SPANS];
}

TP_COLD struct tp_torch_span *tp_torch_span_refill(void);

/* A span for a range that begins, or NULL (counted). torch gives it back when the range dies. */
static inline struct tp_torch_span *tp_torch_span_take(void)
{
	struct tp_torch_span *span = *tp_torch_free();

	if (tp_unlikely(!span))
		return tp_torch_span_refill();
	*tp_torch_free() = span->next;
	span->home = tp_torch_free();
	return span;
}

/* The name of a range, interned. is_user: as TEXT, else as OP with its overload. */
uint32_t tp_torch_name(const void *rf, bool is_user);
/* Of a range that is no operator: its characters, valid while the range is. */
const char *tp_torch_text(const void *rf, uint32_t *n_bytes);
void tp_torch_names_reset(void);
void tp_torch_names_warm(void);

/* Makes pages present without changing them; others may use them meanwhile. */
void tp_torch_populate(void *start, size_t n_bytes);

/* Shapes and types of the inputs of a range that begins, interned; 0: none. */
uint32_t tp_torch_shapes(const void *rf);

/* Facts about torch and Python. Not on every thread it can be asked for: again on one that trains, the
 * last time. */
void tp_torch_note_version(bool is_last_time);

struct tp_text;

/* In which types operators compute (torch_types.c): those of the first of so many steps of a window are
 * looked at, where inputs can be read. The third wherever a range of the user's has ended, and perhaps a
 * step. */
enum { TP_TORCH_TYPES_REST = 64 };
void tp_torch_types_arm(void);
void tp_torch_types_disarm(void);
void tp_torch_types_range_ended(void);
void tp_torch_types_report(struct tp_text *totals);
void tp_torch_types_forked(void);

/* Registered with torch. */
void tp_torch_operators_add(bool with_shapes);
void tp_torch_operators_remove(void);
/* For user ranges; torch_ranges.c registers it. */
struct tp_torch_callback tp_torch_range_callback(void);

/* torch's number of this thread goes into its slot, once. */
static inline void tp_torch_note_thread(struct tp_ring_slot *slot, const void *rf)
{
	if (tp_unlikely(slot->torch_id == 0) && tp_torch.layout.record.thread)
		__atomic_store_n(&slot->torch_id,
				 (uint32_t)tp_torch_u64(rf, tp_torch.layout.record.thread),
				 __ATOMIC_RELAXED);
}

#endif
