/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crowded_steps.c - the lines of a ledger on steps without a core: see crowded_steps.h
 */
#include "merge/facts/code/crowded_steps.h"

#include <string.h>

#include "merge/model/label.h"
#include "runtime/base/text.h"

enum { PERCENT_MOST = 100 };

/* A ledger may have been made by anybody. */
void tp_crowded_read(const struct tp_proc *proc, struct tp_crowded *crowded)
{
	const char *at = proc->started;
	char key[64], value[64];

	crowded->n = 0;
	while (crowded->n < TP_CROWDED_MAX && at && tp_fact_next(&at, "crowded.", key, value, sizeof(value))) {
		char *percent_text = strchr(value, ' ');
		uint64_t first, last, percent;

		if (!percent_text)
			continue;
		*percent_text++ = '\0';
		if (tp_text_parse_u64(key, &first) || tp_text_parse_u64(value, &last) || first > last ||
		    tp_text_parse_u64(percent_text, &percent) || percent > PERCENT_MOST)
			continue;
		crowded->row[crowded->n].first = first;
		crowded->row[crowded->n].last = last;
		crowded->row[crowded->n++].percent = (uint32_t)percent;
	}
}

uint32_t tp_crowded_percent(const struct tp_crowded *crowded, uint64_t step)
{
	uint32_t percent = 0;

	for (uint32_t i = 0; i < crowded->n; i++)
		if (step >= crowded->row[i].first && step <= crowded->row[i].last &&
		    crowded->row[i].percent > percent)
			percent = crowded->row[i].percent;
	return percent;
}
