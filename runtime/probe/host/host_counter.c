/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_counter.c - a counter of the host, recorded when it changes and once a window
 */
#include "runtime/probe/host/host_counter.h"

#include <stdbool.h>

#include "runtime/base/text.h"
#include "runtime/engine/intern.h"
#include "runtime/engine/ring/ring.h"

/* Changes when all values have to be recorded again: a reader of a window sees what was
 * recorded in its active steps, and nothing from before. */
static uint32_t stretch(void)
{
	uint32_t windows = __atomic_load_n(&tp_ring.head->windows_begun, __ATOMIC_RELAXED);

	return windows * 8 + __atomic_load_n(&tp_ring.head->phase, __ATOMIC_RELAXED) + 1;
}

static bool is_recording(void)
{
	return __atomic_load_n(&tp_ring.head->phase, __ATOMIC_RELAXED) == TP_PHASE_ACTIVE;
}

uint32_t tp_host_counter_name(const char *device, const char *name, const char *unit,
			      const char *group)
{
	char buf[128];
	struct tp_text text;

	tp_text_init(&text, buf, sizeof(buf));
	if (*device)
		tp_text_fmt(&text, "%s %s", device, name);
	else
		tp_text_str(&text, name);
	tp_text_char(&text, '\0');
	tp_text_str(&text, unit);
	tp_text_char(&text, '\0');
	tp_text_str(&text, group);
	return tp_intern(TP_STRING_COUNTER, buf, (uint32_t)text.len);
}

void tp_host_counter_record(struct tp_host_counter *counter, uint64_t now, uint32_t link,
			    int64_t value)
{
	uint32_t now_in = stretch();
	struct tp_rec *rec;

	if (!is_recording() || !counter->name ||
	    (counter->said_in == now_in && counter->last == value))
		return;
	rec = tp_ring_reserve();
	if (!rec)
		return;
	*rec = (struct tp_rec){
		.time = now,
		.kind = TP_REC_COUNTER,
		.name = counter->name,
		.link = link,
		.arg = (uint64_t)value,
	};
	tp_ring_commit();
	counter->said_in = now_in;
	counter->last = value;
}
