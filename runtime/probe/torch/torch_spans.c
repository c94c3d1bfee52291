/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torch_spans.c - what stands for a range between its two callbacks: made, given back, reused
 *
 * A thread takes spans from a list of its own, and a span that dies on the thread it came from
 * goes back there: no atomics. Collectives end on other threads than they began on, and
 * threads end with spans on their lists; those spans go to a stack that all share, which a
 * thread whose own list is empty takes whole. So the arena bounds the ranges in flight, not
 * those of the run. Spans are never unmapped: torch may hold them for ever.
 */
#include <pthread.h>

#include "runtime/probe/torch/torch.h"
#include "runtime/probe/torch/torch_state.h"

enum { SPANS_AT_ONCE = 16 };

static struct tp_torch_span *shared;	/* atomic */
static pthread_key_t thread_end;
static bool has_thread_end;

/* Pushing one by one and taking all at once: what a comparison of heads cannot see (a head
 * that went and came back) does no harm here. */
static void share(struct tp_torch_span *first, struct tp_torch_span *last)
{
	last->next = __atomic_load_n(&shared, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&shared, &last->next, first, true, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED))
		;
}

static void share_own(void *unused)
{
	struct tp_torch_span *first = *tp_torch_free(), *last = first;

	if (!first)
		return;
	while (last->next)
		last = last->next;
	*tp_torch_free() = NULL;
	share(first, last);
}

/* ~ObserverContext, not deleting: torch does not call it, C++ wants it in the table. */
static void end_span(void *object)
{
}

/* The deleting destructor: the range is gone, perhaps on another thread than it began on. */
static TP_HOT void give_back_span(void *object)
{
	struct tp_torch_span *span = object;

	if (tp_unlikely(span->home != tp_torch_free())) {
		share(span, span);
		return;
	}
	span->next = *tp_torch_free();
	*tp_torch_free() = span;
}

static void *const span_vtable[2] = { (void *)end_span, (void *)give_back_span };

void tp_torch_spans_init(void)
{
	has_thread_end = pthread_key_create(&thread_end, share_own) == 0;
}

static struct tp_torch_span *make_spans(void)
{
	struct tp_torch_span *spans;

	spans = tp_arena_alloc(&tp_torch.arena, SPANS_AT_ONCE * sizeof(*spans));
	for (uint32_t i = 0; spans && i < SPANS_AT_ONCE; i++) {
		spans[i].vtable = span_vtable;
		spans[i].next = i + 1 < SPANS_AT_ONCE ? &spans[i + 1] : NULL;
	}
	return spans;
}

struct tp_torch_span *tp_torch_span_refill(void)
{
	struct tp_torch_span *spans = NULL;

	if (__atomic_load_n(&shared, __ATOMIC_RELAXED))
		spans = __atomic_exchange_n(&shared, NULL, __ATOMIC_ACQUIRE);
	if (!spans)
		spans = make_spans();
	if (!spans) {
		__atomic_fetch_add(&tp_torch.n_lost, 1, __ATOMIC_RELAXED);
		return NULL;
	}
	/* The key is one of the first of the process, so that this takes no memory. */
	if (has_thread_end)
		pthread_setspecific(thread_end, tp_torch_free());
	*tp_torch_free() = spans->next;
	spans->home = tp_torch_free();
	return spans;
}
