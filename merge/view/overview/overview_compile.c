/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_compile.c - advice of the overview on torch.compile: functions that are compiled again and again
 *
 * torch names what it compiled "Torch-Compiled Region: FRAME/NUMBER", and traces it with operators
 * called PythonDispatchMode: many numbers of one frame beside such operators are compilations.
 */
#include "merge/view/overview/overview_advice.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/kit/sum.h"
#include "runtime/base/begins.h"
#include "runtime/trace/torch_names.h"

enum {
	AGAIN_LEAST = 3,	/* compilations after the first, in recorded steps */
	STEPS_OF = 4,		/* one in so many steps; */
	IN_EACH_LEAST = 3,	/* in fewer steps, as many as there are of one function: its first one is for
				 * lengths that do not change, its second one for such as do */
	TRACED_LEAST = 5,	/* operators of a compilation */
	KEPT_BYTES = 1 << 20,	/* by each compilation: 0.5 MiB for a model of four layers */
};

static const char region[] = TP_NAME_COMPILED, tracing[] = "PythonDispatchMode";

struct compiled {
	uint32_t n_regions, n_frames, n_most; /* of one frame */
	uint64_t n_traced;
	int64_t traced_ns;
};

/* Earlier names of the same frame. */
static uint32_t count_before(const struct tp_overview *overview, uint32_t at)
{
	const struct tp_name *name = tp_names_at(overview->names, at), *other;
	size_t n = sizeof(region) - 1 + strspn(name->bytes + sizeof(region) - 1, "0123456789") + 1;
	uint32_t n_before = 0;

	for (uint32_t i = 0; i < at; i++) {
		other = tp_names_at(overview->names, i);
		n_before += overview->row[i].calls && tp_begins(other->bytes, other->n_bytes, region) &&
			    !strncmp(other->bytes, name->bytes, n);
	}
	return n_before;
}

static void count_compiled(const struct tp_overview *overview, struct compiled *compiled)
{
	uint32_t n = tp_names_count(overview->names);

	for (uint32_t i = 0; i < n && i < overview->cap_rows; i++) {
		const struct tp_name *name = tp_names_at(overview->names, i);

		if (!overview->row[i].calls)
			continue;
		if (tp_begins(name->bytes, name->n_bytes, region)) {
			const uint32_t n_before = count_before(overview, i);

			compiled->n_regions++;
			compiled->n_frames += !n_before;
			if (n_before >= compiled->n_most)
				compiled->n_most = n_before + 1;
		} else if (!strcmp(name->bytes, tracing)) {
			compiled->n_traced += overview->row[i].calls;
			compiled->traced_ns = tp_add(compiled->traced_ns, overview->row[i].self_ns);
		}
	}
}

static bool is_again_and_again(const struct compiled *compiled, uint64_t n_steps)
{
	const uint32_t n_again = compiled->n_regions - compiled->n_frames;
	const bool is_in_each = compiled->n_most >= IN_EACH_LEAST && compiled->n_most >= n_steps;

	return (n_again >= AGAIN_LEAST || is_in_each) && (uint64_t)n_again * STEPS_OF >= n_steps &&
	       compiled->n_traced >= (uint64_t)n_again * TRACED_LEAST;
}

bool tp_advice_recompilation(struct tp_advice_facts *facts, struct tp_advice *advice)
{
	const struct tp_overview_sums *sums = facts->sums;
	struct compiled compiled = {.n_regions = 0};
	struct tp_site site = {.place = ""};
	uint32_t n_again;
	int64_t ns;
	char a[32];

	count_compiled(facts->overview, &compiled);
	if (!is_again_and_again(&compiled, sums->n_steps))
		return false;
	n_again = compiled.n_regions - compiled.n_frames;
	/* Most of a compilation is Python, before the first operator of what was compiled. */
	tp_sites_top(facts->overview->sites, NULL, TP_SITE_GAP, &site, 1);
	ns = tp_add(compiled.traced_ns, site.figure[TP_SITE_GAP]);
	if (ns > sums->ns[TP_CAT_OTHER] + sums->ns[TP_CAT_CPU])
		ns = sums->ns[TP_CAT_OTHER] + sums->ns[TP_CAT_CPU];
	advice->percent = tp_advice_percent(ns, sums->all_ns);
	snprintf(advice->evidence, sizeof(advice->evidence),
		 "torch.compile compiled %" PRIu32 " times again in %" PRIu64 " recorded steps: up to %s of step "
		 "time", n_again, sums->n_steps, tp_show_percent(a, (double)ns, (double)sums->all_ns));
	snprintf(advice->place, sizeof(advice->place), "%s", site.place);
	snprintf(advice->todo, sizeof(advice->todo), "dynamic=True or torch._dynamo.mark_dynamic(), no numbers of "
		 "Python that change: TORCH_LOGS=recompiles says which guard fails");
	facts->is_compiling = true;
	facts->explained_bytes = tp_add(facts->explained_bytes,
					n_again * (int64_t)KEPT_BYTES / (int64_t)sums->n_steps);
	return true;
}
