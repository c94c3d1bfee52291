/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oom.c - an out-of-memory report as text, back, and in words
 */
#include "runtime/trace/oom.h"

#include <string.h>

#define KEY(name, KIND, field) \
	{name, TP_REPORT_##KIND, offsetof(struct tp_oom, field), sizeof(((struct tp_oom *)NULL)->field)}
static const struct tp_report_key keys[] = {
	KEY("run", HEX, run_id), KEY("rank", I32, rank), KEY("restart", U32, restart), KEY("pid", U32, pid),
	KEY("written_ns", U64, real_ns), KEY("device", TEXT, device), KEY("asked", U64, asked),
	KEY("allocated", U64, allocated), KEY("reserved", U64, reserved), KEY("tensors", U64, tensors),
	KEY("tensors_peak", U64, tensors_peak), KEY("heap", U64, heap), KEY("resident", U64, resident),
	KEY("virtual", U64, virtual), KEY("virtual_limit", U64, virtual_limit), KEY("group", U64, group),
	KEY("group_limit", U64, group_limit), KEY("steps", U64, steps), KEY("grown", U64, grown),
	KEY("grown_steps", U64, grown_steps), KEY("where", TEXT, where), KEY("within", TEXT, within),
	KEY("held", TEXT, held),
};
enum { N_KEYS = sizeof(keys) / sizeof(keys[0]) };

void tp_oom_put(const struct tp_oom *oom, struct tp_text *out)
{
	tp_text_fmt(out, "%s\n", TP_OOM_FIRST_LINE);
	tp_report_put_all(out, keys, N_KEYS, oom);
	tp_text_char(out, '\n');
}

bool tp_oom_parse(const char *text, size_t n, struct tp_oom *oom)
{
	memset(oom, 0, sizeof(*oom));
	oom->rank = -1;
	return tp_report_parse(text, n, TP_OOM_FIRST_LINE, keys, N_KEYS, NULL, oom) && oom->pid != 0;
}

/* ", NAME BYTES", and of how much where there is a limit. */
static void put_held(struct tp_text *out, const char *name, uint64_t bytes, uint64_t limit)
{
	if (!bytes)
		return;
	tp_text_str(out, out->len && out->buf[out->len - 1] == '\n' ? "" : ", ");
	tp_text_fmt(out, "%s ", name);
	tp_report_put_bytes(out, bytes);
	if (!limit)
		return;
	tp_text_str(out, " of ");
	tp_report_put_bytes(out, limit);
}

void tp_oom_say_held(const struct tp_oom *oom, struct tp_text *out)
{
	if (oom->held[0])
		tp_text_fmt(out, "held by %s\n", oom->held);
}

void tp_oom_say_near(const struct tp_oom *oom, struct tp_text *out)
{
	tp_text_fmt(out, "nearly out of memory, step %lu", (unsigned long)oom->steps);
	put_held(out, "memory of the container", oom->group, oom->group_limit);
	put_held(out, "memory of the process", oom->resident, 0);
	put_held(out, "tensors on the host", oom->tensors, 0);
	tp_text_str(out, "; when the container's is full the kernel kills a process");
}

void tp_oom_say(const struct tp_oom *oom, struct tp_text *out)
{
	tp_text_fmt(out, "out of memory on %s%s: %lu bytes requested (",
		    strcmp(oom->device, "host") ? "" : "the ", oom->device, (unsigned long)oom->asked);
	tp_report_put_bytes(out, oom->asked);
	tp_text_char(out, ')');
	if (oom->where[0] || oom->within[0])
		tp_text_fmt(out, " in %s", oom->where[0] ? oom->where : oom->within);
	tp_text_fmt(out, ", step %lu\n", (unsigned long)oom->steps);
	if (oom->reserved)
		put_held(out, "of the device, allocated", oom->allocated, 0);
	put_held(out, "reserved", oom->reserved, 0);
	put_held(out, "reserved and not in use",
		 oom->reserved > oom->allocated ? oom->reserved - oom->allocated : 0, 0);
	put_held(out, "tensors on the host", oom->tensors, 0);
	put_held(out, "the most in this step", oom->tensors_peak, 0);
	put_held(out, "blocks of malloc", oom->heap, 0);
	put_held(out, "memory of the process", oom->resident, 0);
	put_held(out, "its addresses", oom->virtual_limit ? oom->virtual : 0, oom->virtual_limit);
	put_held(out, "memory of the container", oom->group, oom->group_limit);
	if (oom->grown_steps && oom->grown) {
		put_held(out, "tensors grew by", oom->grown, 0);
		tp_text_fmt(out, " in the last %lu steps", (unsigned long)oom->grown_steps);
	}
	tp_text_char(out, '\n');
}
