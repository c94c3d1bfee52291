/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recorded.c - which steps of the ledgers have events
 */
#include "merge/facts/time/recorded.h"

#include "merge/kit/sum.h"

bool tp_is_recorded(const struct tp_run *run, const struct tp_step_row *row)
{
	for (uint32_t i = 0; i < run->n_windows; i++) {
		const struct tp_window *window = &run->window[i];

		if (window->proc == row->proc && window->n_events &&
		    window->begin_ns <= row->begin_ns &&
		    (!window->is_whole || window->end_ns >= tp_add(row->begin_ns, row->dur_ns)))
			return true;
	}
	return false;
}
