/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crowded_steps.c - the lines of a ledger on steps without a core: see crowded_steps.h
 */
#include "merge/facts/code/crowded_steps.h"

#include <string.h>

#include "merge/model/label.h"
#include "runtime/base/text.h"
#include "runtime/trace/ledger.h"

enum { PERCENT_MOST = 100 };

/* A ledger may have been made by anybody: lines that are not in order are left out. */
void tp_crowded_read(const struct tp_proc *proc, struct tp_crowded *crowded)
{
	const char *at = proc->started;
	char key[64], value[64];

	crowded->n = 0;
	while (crowded->n < TP_CROWDED_MAX && at &&
	       tp_fact_next(&at, TP_LEDGER_CROWDED, key, value, sizeof(value))) {
		char *percent_text = strchr(value, ' ');
		uint64_t first, last, percent;

		if (!percent_text)
			continue;
		*percent_text++ = '\0';
		if (tp_text_parse_u64(key, &first) || tp_text_parse_u64(value, &last) || first > last ||
		    tp_text_parse_u64(percent_text, &percent) || percent > PERCENT_MOST ||
		    (crowded->n && first <= crowded->row[crowded->n - 1].last))
			continue;
		crowded->row[crowded->n].first = first;
		crowded->row[crowded->n].last = last;
		crowded->row[crowded->n++].percent = (uint32_t)percent;
	}
}

uint32_t tp_crowded_percent(const struct tp_crowded *crowded, uint64_t step)
{
	uint32_t first = 0, last = crowded->n;

	while (first < last) {
		const uint32_t middle = first + (last - first) / 2;

		if (crowded->row[middle].last < step)
			first = middle + 1;
		else
			last = middle;
	}
	return first < crowded->n && crowded->row[first].first <= step ? crowded->row[first].percent : 0;
}
