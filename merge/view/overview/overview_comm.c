/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_comm.c - advice of the overview on collectives: whether they are too many, too small or too large,
 * and who calls them
 */
#include "merge/view/overview/overview_comm_in.h"

#include <stdio.h>

#include "merge/facts/code/thread_times.h"
#include "merge/kit/sum.h"

enum {
	ROUNDS_PERCENT = 80,	/* of forward passes behind which gradients are reduced: no no_sync() */
	MANY = 8,		/* collectives of a kind and size in a step of a rank, */
	SMALL = 256 << 10,	/* of fewer bytes each: asking for them costs more than moving them */
	SCALAR_BYTE = 0,	/* of torch's ScalarType */
	WAITING_PERCENT = 40,	/* of communication alone */
	FULL_PERCENT = 85,	/* of the cores run what we know of */
	LARGE = 1 << 20,	/* bytes in a step of a rank */
	LARGE_PERCENT = 10,	/* of a step */
	PLAIN_PERCENT = 20,	/* of a step without devices: less is what gradients of a small model take */
};

/* How long ranks wait for each other, of all ranks together, as sums of categories are. */
static int64_t find_waiting(const struct tp_comm_rank *rank, uint32_t n)
{
	int64_t sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum = tp_add(sum, rank[i].held_ns);
	return sum;
}

const struct tp_comm_row *tp_advice_comm_rows(const struct tp_advice_facts *facts, uint32_t *n)
{
	*n = 0;
	return facts->overview->comm ? tp_comm_rows(facts->overview->comm, n) : NULL;
}

const struct tp_comm_row *tp_advice_comm_most(const struct tp_advice_facts *facts,
					      tp_advice_comm_weigh *weigh)
{
	const struct tp_comm_row *row, *most = NULL;
	int64_t weight, most_weight = -1;
	uint32_t n;

	row = tp_advice_comm_rows(facts, &n);
	for (uint32_t i = 0; i < n; i++) {
		weight = weigh(&row[i], facts->sums->n_steps);
		if (weight <= most_weight)
			continue;
		most_weight = weight;
		most = &row[i];
	}
	return most;
}

void tp_advice_comm_caller(const struct tp_advice_facts *facts, const struct tp_comm_row *row,
			   struct tp_advice *advice)
{
	if (row->use == TP_COMM_USE_OTHER)
		tp_advice_line(facts, NULL, TP_SITE_COLLECTIVES, advice);
}

/* Gradients are reduced behind each of several backward passes of a step. */
static bool judge_rounds(const struct tp_comm_rounds *rounds, struct tp_text *evidence,
			 struct tp_advice *advice)
{
	if (!rounds || !rounds->n_steps || rounds->n_forwards < 2 * rounds->n_steps ||
	    rounds->n_reduced / ROUNDS_PERCENT < rounds->n_forwards / 100 ||
	    rounds->n_reduced < 2 * rounds->n_steps)
		return false;
	tp_text_fmt(evidence, ", and gradients are reduced %lu times for each step of the optimizer",
		    rounds->n_reduced / rounds->n_steps);
	snprintf(advice->todo, sizeof(advice->todo),
		 "model.no_sync() around all but the last backward of an accumulation");
	return true;
}

/* The small collectives that are most in number. */
static bool judge_small(const struct tp_advice_facts *facts, uint64_t n_steps, struct tp_text *evidence,
			struct tp_advice *advice)
{
	const struct tp_comm_row *row, *most = NULL;
	uint64_t n_small = 0;
	uint32_t n = 0;
	char a[32];

	row = tp_advice_comm_rows(facts, &n);
	for (uint32_t i = 0; i < n; i++) {
		if (row[i].bytes >= SMALL || row[i].kind == TP_COMM_BARRIER)
			continue;
		n_small += row[i].n_calls;
		if (!most || row[i].n_calls > most->n_calls)
			most = &row[i];
	}
	if (!most || n_small < MANY * n_steps)
		return false;
	tp_text_fmt(evidence, "; a rank calls %lu small collectives per step, most of them %s of %s",
		    n_small / n_steps, tp_comm_name(most->kind), tp_show_bytes(a, (int64_t)most->bytes));
	snprintf(advice->todo, sizeof(advice->todo), "%s",
		 most->use == TP_COMM_USE_DDP
		     ? "larger buckets of gradients: bucket_cap_mb of DistributedDataParallel (25 if not given)"
		     : "one collective for all of them (torch.stack the values), or only every n-th step");
	tp_advice_comm_caller(facts, most, advice);
	return true;
}

/* torch pickles objects into tensors of bytes, of whose size the ranks tell each other first. */
static int64_t weigh_object(const struct tp_comm_row *row, uint64_t n_steps)
{
	return row->dtype == SCALAR_BYTE && row->bytes && row->kind != TP_COMM_ALL_REDUCE &&
	       row->kind != TP_COMM_REDUCE_SCATTER ? row->time_ns : -1;
}

static bool judge_objects(const struct tp_advice_facts *facts, uint64_t n_steps, struct tp_text *evidence,
			  struct tp_advice *advice)
{
	const struct tp_comm_row *most = tp_advice_comm_most(facts, weigh_object);
	char a[32];

	if (!most || most->n_calls < n_steps)
		return false;
	tp_text_fmt(evidence, "; pickled Python objects are exchanged in each step: %s of %s",
		    tp_comm_name(most->kind), tp_show_bytes(a, (int64_t)most->bytes));
	snprintf(advice->todo, sizeof(advice->todo), "exchange tensors instead of all_gather_object(), or only at the "
		 "end of an epoch");
	tp_advice_comm_caller(facts, most, advice);
	return true;
}

static void tell_row(const struct tp_comm_row *row, const char *where, uint64_t n_steps,
		     struct tp_text *evidence)
{
	char a[32];

	tp_text_fmt(evidence, "; most of it %s of %s%s, %lu per step", tp_comm_name(row->kind),
		    tp_show_bytes(a, (int64_t)row->bytes), where, (row->n_calls + n_steps / 2) / n_steps);
}

/* What is copied in each step for no wrapper of the model: the time for which all are there, so that full
 * cores and waiting explain little of it. */
static int64_t weigh_copy(const struct tp_comm_row *row, uint64_t n_steps)
{
	const int64_t ns = tp_sub(row->time_ns, row->wait_ns);
	const bool is_copied = row->kind == TP_COMM_BROADCAST || row->kind == TP_COMM_ALL_GATHER ||
			       row->kind == TP_COMM_GATHER;
	const double n_bytes = (double)row->bytes * (double)row->n_calls;

	return is_copied && row->use == TP_COMM_USE_OTHER && row->n_calls >= n_steps &&
			       n_bytes >= (double)LARGE * (double)n_steps && ns >= row->time_ns / 2 ? ns : -1;
}

static bool judge_large(const struct tp_advice_facts *facts, uint64_t n_steps, struct tp_text *evidence,
			struct tp_advice *advice)
{
	const struct tp_comm_row *most = tp_advice_comm_most(facts, weigh_copy);

	if (!most || tp_advice_percent(weigh_copy(most, n_steps), facts->sums->all_ns) < LARGE_PERCENT)
		return false;
	tell_row(most, " beside DDP and FSDP", n_steps, evidence);
	snprintf(advice->todo, sizeof(advice->todo), "%s",
		 most->kind == TP_COMM_BROADCAST
		     ? "buffers that all ranks compute alike need none: DistributedDataParallel(broadcast_buffers=False)"
		     : "reduce to a few numbers on each rank first, or exchange only every n-th step");
	tp_advice_comm_caller(facts, most, advice);
	return true;
}

/* The cores of a host are busy: there, collectives on the host wait for cores as all else does. Where a rank
 * waits for another (is_waiting), what threads of collectives wait for a core does not count: they wake up
 * for a moment each. */
static bool are_cores_full(const struct tp_run *run, bool is_waiting)
{
	const struct tp_thread_time *trainer;
	int64_t used_ns = 0, wall_ns = 0;
	struct tp_thread_times times;
	uint32_t cores = 0;

	for (uint32_t i = 0; i < run->n_procs; i++) {
		if (!tp_thread_times_of(run, run->proc[i], &times))
			continue;
		trainer = tp_thread_times_trainer(&times, run->proc[i]);
		used_ns = tp_add(used_ns, tp_add(times.cpu_ns, is_waiting && trainer ? trainer->wait_ns
										    : times.wait_ns));
		wall_ns = times.wall_ns > wall_ns ? times.wall_ns : wall_ns;
		cores = times.cores > cores ? times.cores : cores;
	}
	return wall_ns > 0 && used_ns / FULL_PERCENT >= wall_ns / 100 * cores;
}

static int64_t weigh_time(const struct tp_comm_row *row, uint64_t n_steps)
{
	return row->time_ns;
}

bool tp_advice_communication(struct tp_advice_facts *facts, struct tp_advice *advice)
{
	const int64_t comm_ns = facts->sums->ns[TP_CAT_COMM];
	const struct tp_comm_rank *rank;
	const struct tp_comm_row *most;
	int64_t waiting_ns, own_ns;
	bool is_waiting;
	struct tp_text text;
	uint32_t n = 0;
	char a[32];

	if (!facts->sums->n_steps)
		return false;
	rank = facts->overview->comm ? tp_comm_ranks(facts->overview->comm, &n) : NULL;
	waiting_ns = find_waiting(rank, n);
	if (waiting_ns > comm_ns)
		waiting_ns = comm_ns;
	/* What makes a rank late makes the others wait for it. */
	own_ns = facts->is_explained ? tp_sub(comm_ns, waiting_ns) : comm_ns;
	advice->percent = tp_advice_percent(own_ns, facts->sums->all_ns);
	tp_text_init(&text, advice->evidence, sizeof(advice->evidence));
	tp_text_fmt(&text, "for %s of step time nothing but communication runs%s",
		    tp_show_percent(a, (double)own_ns, (double)facts->sums->all_ns),
		    facts->is_explained ? ", waiting for other ranks left out" : "");
	if (judge_rounds(facts->overview->rounds, &text, advice) ||
	    judge_small(facts, facts->sums->n_steps, &text, advice) ||
	    judge_objects(facts, facts->sums->n_steps, &text, advice) ||
	    judge_large(facts, facts->sums->n_steps, &text, advice))
		return true;
	if (facts->is_explained)
		return false;
	is_waiting = tp_advice_percent(waiting_ns, comm_ns) >= WAITING_PERCENT;
	if (!facts->gpu.all_ns && (advice->percent < PLAIN_PERCENT || facts->is_crowded ||
				   are_cores_full(facts->run, is_waiting)))
		return false;
	if (is_waiting && facts->has_slow_core)
		return false;
	if (is_waiting && tp_advice_comm_pipeline(facts, rank, n, &text, advice))
		return true;
	if (is_waiting) {
		/* The rest is what ranks that are alike take, too. */
		advice->percent = tp_advice_percent(waiting_ns, facts->sums->all_ns);
		tp_text_fmt(&text, ", %s of it waiting for the last rank, which is not always the same one",
			    tp_show_percent(a, (double)waiting_ns, (double)comm_ns));
		/* What is waited for is not made shorter by larger buckets. */
		snprintf(advice->todo, sizeof(advice->todo), "give all ranks equal work in each step "
			 "(inputs of equal length, cores for all): -v comm");
		return true;
	}
	most = tp_advice_comm_most(facts, weigh_time);
	if (most) {
		tell_row(most, "", facts->sums->n_steps, &text);
		tp_advice_comm_caller(facts, most, advice);
	}
	snprintf(advice->todo, sizeof(advice->todo),
		 "larger batches, gradient accumulation with no_sync(), larger buckets: -v comm");
	return true;
}
