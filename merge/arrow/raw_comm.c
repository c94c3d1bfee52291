/* SPDX-License-Identifier: Apache-2.0 */
/*
 * raw_comm.c - collectives and messages, a row for each rank that took part: matched across ranks, with
 * how long it waited and how late it was
 */
#include "merge/arrow/raw.h"
#include "merge/facts/comm/comm.h"
#include "merge/model/scalar.h"

struct row {
	int64_t collective, process_at, rank, step, device, bytes, collective_bytes, ranks, begin_ns, dur_ns,
		wait_ns, move_ns, behind_ns, is_last;
	const char *kind, *group, *dtype, *use;
};

static const struct tp_raw_column columns[] = {
	TP_RAW(struct row, collective, TP_UNIT_NUMBER, "number of the collective, the same on all its ranks"),
	TP_RAW(struct row, process_at, TP_UNIT_NUMBER, "of the table processes"),
	TP_RAW(struct row, rank, TP_UNIT_NUMBER, "rank in the job"),
	TP_RAW(struct row, step, TP_UNIT_NUMBER, "step of the run in which it began; none: before the first"),
	TP_RAW_NAME(struct row, kind, "all_reduce, all_gather, send..."),
	TP_RAW(struct row, device, TP_UNIT_COUNT, "1: a kernel of NCCL; 0: of the host, as gloo's"),
	TP_RAW(struct row, group, TP_UNIT_TEXT, "process group"),
	TP_RAW_NAME(struct row, use, "what it is used for"),
	TP_RAW(struct row, bytes, TP_UNIT_BYTES, "bytes of this rank; none: not known"),
	TP_RAW(struct row, collective_bytes, TP_UNIT_BYTES, "the most of any of its ranks; none: not known"),
	TP_RAW(struct row, dtype, TP_UNIT_TEXT, "type of its elements; none: not known"),
	TP_RAW(struct row, ranks, TP_UNIT_COUNT, "ranks that it was found on; 1: it was not matched"),
	TP_RAW(struct row, begin_ns, TP_UNIT_NS, "when this rank came, on the run's one clock"),
	TP_RAW(struct row, dur_ns, TP_UNIT_NS, "how long it took this rank"),
	TP_RAW(struct row, wait_ns, TP_UNIT_NS, "part of that until the last rank came; none: not matched"),
	TP_RAW(struct row, move_ns, TP_UNIT_NS, "from the last rank's start to the last end; none: not matched"),
	TP_RAW(struct row, is_last, TP_UNIT_COUNT, "1: this rank came last of those matched"),
	TP_RAW(struct row, behind_ns, TP_UNIT_NS, "of the last rank: how long others waited for it alone"),
	{.field = NULL},
};

struct state {
	struct tp_raw_rows *rows;
	int64_t n;
};

static int64_t or_none(int64_t value, bool is_known)
{
	return is_known ? value : TP_RAW_NONE;
}

static void put_met(void *ctx, const struct tp_comm *comm, const struct tp_comm_met *met)
{
	struct state *state = ctx;
	const struct tp_comm_row *row = met->row;
	bool is_matched = met->n > 1;
	char dtype[12];

	state->n++;
	for (uint32_t i = 0; i < met->n; i++) {
		const struct tp_comm_call *call = &met->call[i];
		const struct tp_proc *proc = tp_comm_call_proc(comm, call);
		int64_t step = tp_comm_call_step(comm, call);
		bool is_last = is_matched && i == met->last;

		tp_raw_rows_put(state->rows, &(struct row){
			.collective = state->n, .process_at = proc->at, .rank = tp_raw_rank(proc),
			.step = or_none(step, step >= 0), .kind = tp_comm_name(row->kind),
			.device = row->is_device, .group = tp_comm_group(comm, row->family)->label,
			.use = tp_comm_use_name(row->use),
			.bytes = or_none((int64_t)call->bytes, call->bytes),
			.collective_bytes = or_none((int64_t)row->bytes, row->bytes),
			.dtype = row->bytes ? tp_scalar_name(row->dtype, dtype) : NULL, .ranks = met->n,
			.begin_ns = call->begin_ns, .dur_ns = call->end_ns - call->begin_ns,
			.wait_ns = or_none(tp_comm_wait_ns(met, i), is_matched),
			.move_ns = or_none(met->end_ns - met->last_ns, is_matched), .is_last = is_last,
			.behind_ns = or_none(met->behind_ns, is_last),
		});
	}
}

static void begin_calls(void *opaque, struct tp_facts *facts, const void *params)
{
	struct state *state = opaque;

	state->rows = ((const struct tp_raw_to *)params)->rows;
	tp_comm_read(tp_facts_want(facts, &tp_fact_comm, NULL), put_met, state);
}

static const struct tp_fact fact = {
	.name = "rows of collectives", .bytes = sizeof(struct state), .params_bytes = sizeof(struct tp_raw_to),
	.begin = begin_calls,
};

const struct tp_raw tp_raw_collectives = {
	.name = "collective_calls", .help = "collectives and messages, matched across ranks, one row per rank",
	.column = columns, .fact = &fact,
};
