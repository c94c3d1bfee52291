/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mark.c - the program's own ranges, marks, counters and steps, as records
 *
 * The open ranges of a thread lie in a stack of their own, found by the thread's slot in the
 * ring; how many they are is thread-local, so a new thread with the slot of a dead one finds
 * none. A pop looks for the topmost range of its domain: what began while nobody looked is not
 * there, and what is there began later, so its end cannot be mistaken.
 *
 * Ranges that may end on another thread lie in one table for all. Its entries are taken and
 * given back by a compare-and-swap on their ids; one whose range never ends is taken over
 * when its turn comes again and no other near it is free.
 */
#include "runtime/probe/mark/mark.h"

#include <string.h>

#include "runtime/base/arena.h"
#include "runtime/base/clock.h"
#include "runtime/base/log.h"
#include "runtime/base/text.h"
#include "runtime/engine/config/config.h"
#include "runtime/engine/facts.h"
#include "runtime/engine/intern.h"
#include "runtime/engine/range_memory.h"
#include "runtime/engine/proof.h"
#include "runtime/engine/ring/ring.h"
#include "runtime/engine/session.h"
#include "runtime/engine/step/step.h"

enum {
	DEPTH_MAX = 64,		/* deeper ranges of a thread are not recorded, and counted */
	N_FLIGHTS = 4096,	/* ranges at once that may end on another thread; power of two */
	TRIES = 8,		/* entries that are looked at for a free one */
	ID_FREE = 0,
	ID_BUSY = 1,
};

struct span {
	uint64_t begin;
	const struct tp_mark_entry *domain;
	uint32_t name;
	uint32_t depth;		/* from tp_ring_span_begin */
	bool is_recorded;	/* else it only keeps others' ends apart */
	bool is_step;		/* its end ends a step */
};

struct flight {
	uint64_t id;		/* atomic: ID_FREE, ID_BUSY, or what the program has */
	uint64_t begin;
	uint32_t name;
	uint16_t slot;		/* of the thread on which it began */
	bool is_recorded, is_step;
};

struct stack {
	struct span span[DEPTH_MAX];
};

uint32_t tp_mark_mode;
__thread uint32_t tp_mark_depth __attribute__((tls_model("initial-exec"), visibility("hidden")));

static struct {
	struct tp_arena arena;
	struct stack *stack;		/* one for each slot of the ring */
	struct flight *flight;
	uint64_t cursor;		/* atomic: of flights taken */
	uint64_t n_lost;		/* atomic: ranges that found no room */
	bool is_wanted;			/* TRAINPROF_RECORD has "marks" or "frameworks" */
	char taken_by[256];		/* NVTX is */
} marks;

static void note_lost(void)
{
	__atomic_fetch_add(&marks.n_lost, 1, __ATOMIC_RELAXED);
}

static uint32_t get_mode(void)
{
	return __atomic_load_n(&tp_mark_mode, __ATOMIC_RELAXED);
}

static bool ends_step(uint32_t mode, const struct tp_mark_name *name)
{
	return mode & TP_MARK_WATCH && name->text && tp_step_is_range(name->text, name->n_text);
}

static void record_range(uint64_t begin, uint64_t now, uint32_t name, uint8_t flags, uint32_t slot)
{
	struct tp_rec *rec = tp_ring_reserve();

	if (!rec)
		return;
	rec->time = begin;
	tp_rec_set_len(rec, now - begin);
	rec->kind = TP_REC_RANGE;
	rec->flags = flags;
	rec->name = name;
	rec->link = TP_NO_SEQ;
	rec->arg = TP_ARG_OP(0, slot, TP_SCOPE_USER);
	tp_ring_commit();
	tp_range_memory_tell(name);
}

/* ---- ranges of a thread ---- */

/* NULL: the thread shares its slot with others, and cannot have one. */
static struct stack *find_stack(void)
{
	if (tp_unlikely(!tp_ring_slot()))
		return NULL;
	return marks.stack ? &marks.stack[tp_ring_self.slot_at] : NULL;
}

void tp_mark_push(const struct tp_mark_name *name)
{
	struct stack *stack = find_stack();
	const uint32_t mode = get_mode();
	struct span *span;

	if (tp_unlikely(!stack || tp_mark_depth >= DEPTH_MAX)) {
		tp_mark_depth += stack != NULL;
		note_lost();
		return;
	}
	span = &stack->span[tp_mark_depth++];
	span->domain = name->domain;
	span->is_step = ends_step(mode, name);
	span->is_recorded = mode & TP_MARK_ARMED;
	if (!span->is_recorded)
		return;
	span->name = tp_mark_intern(name);
	span->begin = tp_clock_now();
	span->depth = tp_ring_span_begin(TP_REC_RANGE, span->name, span->begin);
	tp_range_memory_tell(span->name);
}

void tp_mark_pop(const struct tp_mark_entry *domain)
{
	struct stack *stack = tp_mark_depth ? find_stack() : NULL;
	uint32_t i = tp_mark_depth;
	struct span span;
	uint64_t now;

	if (!stack)
		return;
	if (tp_unlikely(i > DEPTH_MAX)) {
		tp_mark_depth--;
		return;
	}
	while (i && stack->span[i - 1].domain != domain)
		i--;
	if (!i)
		return;
	span = stack->span[i - 1];
	if (tp_unlikely(i != tp_mark_depth))
		memmove(&stack->span[i - 1], &stack->span[i],
			(tp_mark_depth - i) * sizeof(span));
	tp_mark_depth--;
	if (!span.is_recorded && !span.is_step)
		return;
	now = tp_clock_now();
	if (span.is_recorded) {
		/* Also after the window: what lay in it is written, open-ended. */
		record_range(span.begin, now, span.name, 0, 0);
		if (__atomic_load_n(&tp_ring_self.slot->depth, __ATOMIC_RELAXED) > span.depth)
			tp_ring_span_end(span.depth);
	}
	/* A tick later: the range belongs to the step that ends with it, not to the next. */
	if (span.is_step)
		tp_step_named_end(now + 1);
}

/* ---- ranges that may end on another thread ---- */

static bool take_flight(struct flight *flight, uint64_t seen)
{
	return __atomic_compare_exchange_n(&flight->id, &seen, ID_BUSY, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

/* An entry that nobody else has, for the range of number *count; NULL: none. */
static struct flight *find_flight(uint64_t *count)
{
	uint64_t seen;

	if (!marks.flight)
		return NULL;
	*count = __atomic_add_fetch(&marks.cursor, 1, __ATOMIC_RELAXED);
	for (uint32_t i = 0; i < TRIES; i++) {
		struct flight *flight = &marks.flight[(*count + i) % N_FLIGHTS];

		if (__atomic_load_n(&flight->id, __ATOMIC_RELAXED) == ID_FREE &&
		    take_flight(flight, ID_FREE))
			return flight;
	}
	note_lost();
	seen = __atomic_load_n(&marks.flight[*count % N_FLIGHTS].id, __ATOMIC_RELAXED);
	if (seen == ID_BUSY || !take_flight(&marks.flight[*count % N_FLIGHTS], seen))
		return NULL;
	return &marks.flight[*count % N_FLIGHTS];
}

uint64_t tp_mark_start(const struct tp_mark_name *name)
{
	const uint32_t mode = get_mode();
	bool is_step = ends_step(mode, name);
	struct flight *flight;
	uint64_t count, id;

	if (!(mode & TP_MARK_ARMED) && !is_step)
		return TP_MARK_NOTHING;
	flight = find_flight(&count);
	if (!flight)
		return TP_MARK_NOTHING;
	flight->is_step = is_step;
	flight->is_recorded = mode & TP_MARK_ARMED;
	if (flight->is_recorded) {
		flight->name = tp_mark_intern(name);
		flight->begin = tp_clock_now();
		(void)tp_ring_slot();
		flight->slot = (uint16_t)tp_ring_self.slot_at;
		tp_range_memory_tell(flight->name);
	}
	id = count * N_FLIGHTS + (uint64_t)(flight - marks.flight);
	/* Release: who ends it sees all of it. */
	__atomic_store_n(&flight->id, id, __ATOMIC_RELEASE);
	return id;
}

void tp_mark_stop(uint64_t id)
{
	struct flight flight, *at;
	uint64_t now;

	if (id < N_FLIGHTS || !marks.flight)
		return;
	at = &marks.flight[id % N_FLIGHTS];
	if (!take_flight(at, id))
		return;
	flight = *at;
	__atomic_store_n(&at->id, ID_FREE, __ATOMIC_RELEASE);
	now = tp_clock_now();
	if (flight.is_recorded)
		record_range(flight.begin, now, flight.name, TP_F_ASYNC, flight.slot);
	if (flight.is_step && tp_session_is_open())
		tp_step_named_end(now + 1);
}

/* ---- what has no length ---- */

static void record_moment(uint64_t now, uint8_t kind, uint32_t name, uint64_t value, bool is_double)
{
	struct tp_rec *rec = tp_ring_reserve();

	if (!rec)
		return;
	rec->time = now;
	tp_rec_set_len(rec, 0);
	rec->kind = kind;
	rec->flags = is_double ? TP_F_DOUBLE : 0;
	rec->name = name;
	rec->link = 0;
	rec->arg = value;
	tp_ring_commit();
}

void tp_mark_instant(const struct tp_mark_name *name, uint64_t value, bool is_double)
{
	const uint32_t mode = get_mode();
	uint64_t now = tp_clock_now();

	if (mode & TP_MARK_ARMED)
		record_moment(now, TP_REC_MARK, tp_mark_intern(name), value, is_double);
	if (ends_step(mode, name))
		tp_step_named_end(now + 1);
}

void tp_mark_counter(const char *name, const char *unit, double value)
{
	static const char group[] = "marks";
	uint64_t now = tp_clock_now(), bits;
	char buf[256];
	size_t n = strnlen(name, sizeof(buf) / 2 - 1), n_unit = strnlen(unit, 31);

	if (!(get_mode() & TP_MARK_ARMED))
		return;
	memcpy(buf, name, n);
	buf[n++] = '\0';
	memcpy(buf + n, unit, n_unit);
	n += n_unit;
	buf[n++] = '\0';
	memcpy(buf + n, group, sizeof(group) - 1);
	n += sizeof(group) - 1;
	memcpy(&bits, &value, sizeof(bits));
	record_moment(now, TP_REC_COUNTER, tp_intern(TP_STRING_COUNTER, buf, (uint32_t)n), bits,
		      true);
}

void tp_mark_step(void)
{
	if (tp_session_is_open() || tp_proof_training_seen())
		tp_step_mark(tp_clock_now());
}

/* ---- the probe ---- */

static void set_mode(uint32_t set, uint32_t clear)
{
	if (set)
		__atomic_fetch_or(&tp_mark_mode, set, __ATOMIC_RELAXED);
	else
		__atomic_fetch_and(&tp_mark_mode, ~clear, __ATOMIC_RELAXED);
}

void tp_mark_nvtx_taken(const char *path)
{
	struct tp_text text;

	tp_text_init(&text, marks.taken_by, sizeof(marks.taken_by));
	tp_text_str(&text, path);
}

static int open_marks(const struct tp_config *config)
{
	const size_t n_stacks = TP_RING_SLOTS * sizeof(struct stack);
	const size_t n_flights = N_FLIGHTS * sizeof(struct flight);
	bool is_watched = config->step.source == TP_STEP_RANGE;

	marks.is_wanted = config->record & (TP_RECORD_MARKS | TP_RECORD_FRAMEWORKS);
	if (!marks.is_wanted && !is_watched)
		return 0;
	if (marks.taken_by[0]) {
		tp_info("NVTX_INJECTION64_PATH is '%s': ranges of NVTX go there and are not recorded",
			marks.taken_by);
		tp_facts_add("off.nvtx", "NVTX_INJECTION64_PATH was set to another library");
	}
	/* A child of fork has its parent's. */
	if (!marks.stack) {
		if (!tp_arena_init(&marks.arena, n_stacks + n_flights + 4096)) {
			marks.stack = tp_arena_alloc(&marks.arena, n_stacks);
			marks.flight = tp_arena_alloc(&marks.arena, n_flights);
		}
		if (!marks.flight)
			tp_probe_off("marks.ranges", "no memory");
	}
	if (is_watched)
		set_mode(TP_MARK_WATCH, 0);
	return 0;
}

static void arm_marks(void)
{
	if (marks.is_wanted)
		set_mode(TP_MARK_ARMED, 0);
}

static void disarm_marks(void)
{
	set_mode(0, TP_MARK_ARMED);
}

static void report_marks(struct tp_text *totals)
{
	uint64_t n_lost = __atomic_load_n(&marks.n_lost, __ATOMIC_RELAXED);

	if (n_lost)
		tp_text_fmt(totals, "marks.ranges_lost=%lu\n", (unsigned long)n_lost);
}

static void forget_marks(void)
{
	set_mode(0, TP_MARK_ARMED | TP_MARK_WATCH);
	tp_mark_depth = 0;
	tp_mark_names_forked();
	/* What the parent has begun is the parent's to end. */
	if (marks.flight)
		memset(marks.flight, 0, N_FLIGHTS * sizeof(struct flight));
}

static void close_marks(void)
{
	set_mode(0, TP_MARK_ARMED | TP_MARK_WATCH);
}

const struct tp_probe tp_mark_probe = {
	.name = "marks",
	.open = open_marks,
	.arm = arm_marks,
	.disarm = disarm_marks,
	.report = report_marks,
	.forked = forget_marks,
	.close = close_marks,
};
