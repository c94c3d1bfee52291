/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hang_stand.c - threads as text: their Python stacks, their open spans, their system calls
 */
#include "runtime/probe/hang/hang_stand.h"

#include <string.h>

#include "runtime/base/clock.h"
#include "runtime/base/hash.h"
#include "runtime/engine/intern.h"
#include "runtime/engine/ring/ring.h"
#include "runtime/probe/hang/hang_native.h"
#include "runtime/probe/hang/hang_proc.h"
#include "runtime/probe/hang/pynow.h"

enum {
	MOST_FRAMES = 40,	/* that are shown of a stack */
	KINDS = 32,		/* of threads without Python, that are counted apart */
};

static struct tp_hang_thread thread[TP_HANG_THREADS];
static struct tp_pysample_look look;

/* ---- the program's own place ---- */

static bool has(const char *text, uint32_t n, const char *part)
{
	return memmem(text, n, part, strlen(part)) != NULL;
}

/* Outside of it a worker's stack is its parent's. */
static bool is_begin_of_process(const struct tp_pynow_place *place)
{
	static const char name[] = "_bootstrap", file[] = "process.py";

	return has(place->function, place->n_function, name) && has(place->file, place->n_file, file);
}

/* The innermost frame of the program, and of the libraries that it has called. */
static void find_place(bool is_worker, struct tp_text *where, struct tp_text *within)
{
	struct tp_pynow_place place;

	for (uint32_t i = 0; i < look.n && !where->len; i++) {
		if (!tp_pynow_frame(&look.frame[i], &place))
			continue;
		if (is_worker && is_begin_of_process(&place))
			return;
		if (!tp_pynow_is_library(&place))
			tp_pynow_put(where, &place, true);
		else if (!within->len)
			tp_pynow_put(within, &place, true);
	}
}

static void fill_place(struct tp_hang *hang)
{
	struct tp_text where, within;

	tp_text_init(&where, hang->where, sizeof(hang->where));
	tp_text_init(&within, hang->within, sizeof(hang->within));
	find_place(hang->worker != 0, &where, &within);
	hang->is_idle = hang->worker && !where.len;
}

static void fill_other(struct tp_hang *hang)
{
	struct tp_text where, within;
	char unused[256];

	if (hang->other[0])
		return;
	tp_text_init(&where, hang->other, sizeof(hang->other));
	tp_text_init(&within, unused, sizeof(unused));
	find_place(hang->worker != 0, &where, &within);
}

/* ---- threads for people ---- */

static void put_frames(struct tp_text *out)
{
	struct tp_pynow_place place;
	uint32_t n = 0, n_all = 0;

	for (uint32_t i = 0; i < look.n; i++) {
		if (!tp_pynow_frame(&look.frame[i], &place) || n_all++ >= MOST_FRAMES)
			continue;
		n++;
		tp_text_str(out, "    ");
		tp_pynow_put(out, &place, false);
		tp_text_char(out, '\n');
	}
	if (n_all > n || look.is_cut)
		tp_text_fmt(out, "    ... and %u frames outside%s\n", n_all - n, look.is_cut ? ", or more" : "");
}

/* Of the slot with that thread, innermost first. */
static bool put_spans(struct tp_text *out, uint32_t tid)
{
	bool has_any = false;

	for (uint32_t i = 0; i < TP_RING_SLOTS - 1; i++) {
		const struct tp_ring_slot *slot = &tp_ring.slots[i];
		uint32_t depth = __atomic_load_n(&slot->depth, __ATOMIC_ACQUIRE), kind, n;
		const char *name;

		if (__atomic_load_n(&slot->tid, __ATOMIC_ACQUIRE) != tid ||
		    __atomic_load_n(&slot->is_dead, __ATOMIC_ACQUIRE))
			continue;
		for (uint32_t d = depth < TP_OPEN_SPANS ? depth : TP_OPEN_SPANS; d-- > 0;) {
			uint32_t id = __atomic_load_n(&slot->open[d].name, __ATOMIC_ACQUIRE);

			if (!tp_intern_get(NULL, id, &kind, &name, &n))
				continue;
			tp_text_fmt(out, "    inside %.*s\n", (int)strnlen(name, n), name);
			has_any = true;
		}
	}
	return has_any;
}

static void put_call(struct tp_text *out, const struct tp_hang_call *call)
{
	tp_hang_call_say(call, out);
	if (!call->is_known)
		tp_text_str(out, "what it waits for is not known here");
}

/* Some return addresses may be of calls that are over. */
static void put_native(struct tp_text *out, const struct tp_hang_call *call)
{
	const size_t before = out->len;

	tp_text_str(out, "    native code, innermost first: ");
	if (tp_hang_native_put(call, out)) {
		tp_text_char(out, '\n');
		return;
	}
	out->len = before;
	out->buf[before] = '\0';
}

static void put_thread(struct tp_text *out, const struct tp_hang_thread *of, bool has_stack)
{
	tp_text_fmt(out, "thread %u %s: ", of->tid, of->name);
	put_call(out, &of->call);
	tp_text_char(out, '\n');
	put_native(out, &of->call);
	put_spans(out, of->tid);
	if (has_stack)
		put_frames(out);
}

/* Threads of libraries, told apart by name and system call only. */
static struct {
	const struct tp_hang_thread *first;
	uint32_t n;
} others[KINDS];

static void count_other(const struct tp_hang_thread *of, uint32_t *n_kinds)
{
	for (uint32_t i = 0; i < *n_kinds; i++) {
		if (strcmp(others[i].first->name, of->name) ||
		    others[i].first->call.number != of->call.number)
			continue;
		others[i].n++;
		return;
	}
	if (*n_kinds == KINDS)
		return;
	others[*n_kinds].first = of;
	others[(*n_kinds)++].n = 1;
}

static bool has_spans(uint32_t tid)
{
	char bytes[8];
	struct tp_text none;

	tp_text_init(&none, bytes, sizeof(bytes));
	return put_spans(&none, tid);
}

static void put_main(uint32_t tid, const struct tp_hang_thread *of, struct tp_hang *hang,
		     struct tp_text *threads)
{
	struct tp_text waits;
	bool has_stack = tp_pynow_stack(tid, &look);

	if (has_stack)
		fill_place(hang);
	else
		hang->is_idle = hang->worker != 0;
	tp_text_init(&waits, hang->waits, sizeof(hang->waits));
	tp_hang_call_say(&of->call, &waits);
	put_thread(threads, of, has_stack);
}

void tp_hang_stand(uint32_t tid, struct tp_hang *hang, struct tp_text *threads)
{
	uint32_t n = tp_hang_proc_threads(thread), n_kinds = 0;

	tp_hang_native_look();
	for (uint32_t i = 0; i < n; i++)
		if (thread[i].tid == tid)
			put_main(tid, &thread[i], hang, threads);
	for (uint32_t i = 0; i < n; i++) {
		bool has_stack;

		if (thread[i].tid == tid)
			continue;
		has_stack = tp_pynow_stack(thread[i].tid, &look);
		if (has_stack)
			fill_other(hang);
		if (has_stack || has_spans(thread[i].tid))
			put_thread(threads, &thread[i], has_stack);
		else
			count_other(&thread[i], &n_kinds);
	}
	for (uint32_t i = 0; i < n_kinds; i++) {
		tp_text_fmt(threads, "%u thread%s %s: ", others[i].n, others[i].n > 1 ? "s" : "",
			    others[i].first->name);
		put_call(threads, &others[i].first->call);
		tp_text_char(threads, '\n');
	}
}

void tp_hang_stack_number(uint32_t tid, uint64_t *stack, uint64_t *function)
{
	*stack = *function = 0;
	if (!tp_pynow_stack(tid, &look))
		return;
	for (uint32_t i = 0; i < look.n; i++) {
		const struct tp_pysample_frame *frame = &look.frame[i];

		*stack = tp_hash_mix(*stack ^ (uintptr_t)frame->frame ^ (uintptr_t)frame->at << 24);
		if (!*function)
			*function = (uintptr_t)frame->code;
	}
	*stack |= 1;
}
