/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recorded.c - which steps of the ledgers have events
 */
#include "merge/facts/time/recorded.h"

#include "merge/kit/sum.h"

/* A ledger's times and a window's are read from two clocks: their edges may differ by so much. */
enum { APART_NS = 10000 };

bool tp_is_recorded(const struct tp_run *run, const struct tp_step_row *row)
{
	int64_t apart_ns = row->dur_ns / 2 < APART_NS ? row->dur_ns / 2 : APART_NS;
	int64_t from_ns = tp_add(row->begin_ns, apart_ns);
	int64_t to_ns = tp_sub(tp_add(row->begin_ns, row->dur_ns), apart_ns);

	for (uint32_t i = 0; i < run->n_windows; i++) {
		const struct tp_window *window = &run->window[i];

		if (window->proc == row->proc && window->n_events && window->begin_ns <= from_ns &&
		    (!window->is_whole || window->end_ns >= to_ns))
			return true;
	}
	return false;
}
