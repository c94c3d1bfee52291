/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overview_work.c - advice of the overview on what devices do: work that leaves most of them unused,
 * copies that nothing goes on beside, memory of the driver's
 */
#include "merge/view/overview/overview_advice.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "merge/kit/demangle.h"
#include "merge/kit/sum.h"
#include "runtime/base/own_python.h"

enum {
	TENSOR_CAPABILITY = 7,	/* devices from there on have tensor cores */
	NAME_SHOWN = 60,	/* of a kernel */
	LEAST = 5,		/* samples: fewer name nobody */
	FRAMES = 64,		/* of a stack, from the innermost one on */
	FAILED_LEAST = 2,	/* steps: of one that was the last, the report says what it needs */
};

static bool has_tensor_cores(const struct tp_overview *overview)
{
	for (uint32_t i = 0; i < tp_gpu_time_count(overview->gpu); i++) {
		const struct tp_device *device = tp_gpu_time_at(overview->gpu, i)->device;

		if (device && device->major >= TENSOR_CAPABILITY)
			return true;
	}
	return false;
}

/* Of the time of devices, in percent: what that is of all kernels' time. */
static double part_of_time(const struct tp_advice_facts *facts, int64_t ns)
{
	return tp_advice_percent(ns, facts->overview->use.kernel_ns) *
	       tp_advice_percent(facts->gpu.kernel_ns, facts->gpu.all_ns) / 100;
}

bool tp_advice_tensor_cores(struct tp_advice_facts *facts, struct tp_advice *advice)
{
	const double slow = part_of_time(facts, facts->overview->use.float32_ns);
	char a[32];

	if (!has_tensor_cores(facts->overview) || slow <= 0)
		return false;
	/* With them a product takes half the time, or less. */
	advice->percent = slow / 2;
	snprintf(advice->evidence, sizeof(advice->evidence),
		 "for %s of the time products and convolutions run in float32 without tensor cores",
		 tp_show_percent(a, slow, 100));
	snprintf(advice->todo, sizeof(advice->todo),
		 "torch.autocast, or torch.set_float32_matmul_precision('high')");
	tp_advice_line(facts, NULL, TP_SITE_FLOAT32, advice);
	return true;
}

/* What is lost is what no other kernel uses meanwhile. */
bool tp_advice_few_blocks(struct tp_advice_facts *facts, struct tp_advice *advice)
{
	const struct tp_device_use *use = &facts->overview->use;
	const uint32_t row = tp_device_use_fewest(use);
	const double unused =
		100 * ((double)facts->gpu.kernel_ns - facts->gpu.sm_ns) / (double)facts->gpu.all_ns;
	const struct tp_few_blocks *few;
	const struct tp_name *name;
	const char *bytes;
	uint32_t n_bytes;
	char a[32], b[32];

	if (row == TP_NO_NAME || unused <= 0)
		return false;
	few = &use->few[row];
	name = tp_names_at(facts->overview->names, row);
	n_bytes = name->n_bytes;
	bytes = tp_short_function(name->bytes, &n_bytes);
	advice->percent = part_of_time(facts, few->lost_ns);
	if (advice->percent > unused)
		advice->percent = unused;
	snprintf(advice->evidence, sizeof(advice->evidence),
		 "%s of the time runs a kernel that gives work to %.2g %% of the multiprocessors only: %" PRIu64
		 " per step, %s each: %.*s",
		 tp_show_percent(a, part_of_time(facts, few->ns), 100),
		 100 * (1 - (double)few->lost_ns / (double)few->ns), tp_advice_per_step(facts, few->n),
		 tp_show_ns(b, few->ns / (int64_t)few->n),
		 (int)(n_bytes < NAME_SHOWN ? n_bytes : NAME_SHOWN), bytes);
	snprintf(advice->todo, sizeof(advice->todo),
		 "give it more rows at once: a larger batch, a reduction of parts and then of their results, "
		 "another kernel for this shape");
	tp_advice_line(facts, NULL, TP_SITE_FEW_BLOCKS, advice);
	return true;
}

/* Those of memory that is not pinned are another rule's; those within a device have none. */
bool tp_advice_exposed_copies(struct tp_advice_facts *facts, struct tp_advice *advice)
{
	const struct tp_device_use *use = &facts->overview->use;
	const int64_t alone = facts->gpu.idle_ns[TP_IDLE_COPY];
	const int64_t copied = tp_add(use->to_device_ns, use->to_host_ns);
	int64_t exposed = tp_sub(alone, facts->habits->pageable_ns);
	const bool is_back = use->to_host_ns > use->to_device_ns;
	char a[32], b[32];

	if (exposed > copied)
		exposed = copied;
	if (exposed <= 0)
		return false;
	advice->percent = tp_advice_percent(exposed, facts->gpu.all_ns);
	snprintf(advice->evidence, sizeof(advice->evidence),
		 "for %s of the time the GPU does nothing but copy, most of it %s: kernels run in %s of the time of "
		 "copies", tp_show_percent(a, (double)alone, (double)facts->gpu.all_ns),
		 is_back ? "to the host" : "from the host",
		 tp_show_percent(b, (double)facts->gpu.compute_copy_ns, (double)facts->gpu.copy_ns));
	snprintf(advice->todo, sizeof(advice->todo), "%s",
		 is_back ? "copy results less often, or in a stream of their own: torch.cuda.stream(side)"
			 : "copy the next batch in a stream of its own while this one is computed: "
			   "torch.cuda.stream(side), then wait_stream(side); or copy less: smaller types");
	tp_advice_line(facts, NULL, TP_SITE_TRANSFER, advice);
	return true;
}

/* ---- memory of the driver's ---- */

static bool judge_failed(const struct tp_advice_facts *facts, struct tp_advice *advice)
{
	const struct tp_overview *overview = facts->overview;
	char a[32];

	if (overview->n_failed_steps < FAILED_LEAST)
		return false;
	advice->percent = tp_advice_percent(overview->failed_ns, facts->sums->all_ns);
	snprintf(advice->evidence, sizeof(advice->evidence),
		 "in %" PRIu64 " of %" PRIu64 " recorded steps memory runs out and the program tries "
		 "again: up to %s of the time is wasted", overview->n_failed_steps, facts->sums->n_steps,
		 tp_show_percent(a, (double)overview->failed_ns, (double)facts->sums->all_ns));
	snprintf(advice->todo, sizeof(advice->todo),
		 "start with a batch size that fits and keep it, instead of trying again in each step");
	tp_advice_line(facts, NULL, TP_SITE_FAILED, advice);
	return true;
}

/* The program's own frame that the function is called from; NULL: it is not in the stack. */
static const struct tp_frame *find_call(const struct tp_frame *frame, uint32_t n, const char *function)
{
	bool is_in = false;

	for (uint32_t i = 0; i < n; i++) {
		is_in |= frame[i].is_python && !strcmp(frame[i].function, function);
		if (is_in && frame[i].is_python && tp_own_python(frame[i].file))
			return &frame[i];
	}
	return NULL;
}

/* The place is where the program calls that function of torch's, by samples between operators. False: it
 * hardly does. */
static bool name_caller_of(const struct tp_advice_facts *facts, const char *function,
			   struct tp_advice *advice)
{
	const struct tp_samples *samples = facts->overview->owners->samples;
	struct tp_frame frame[FRAMES];
	uint64_t n = 0, most = 0;

	for (uint32_t i = 0; i < samples->n_met; i++) {
		const struct tp_samples_met *met = &samples->met[i];
		const uint32_t n_frames = tp_stacks_frames(samples->stacks, met->stack, frame, FRAMES);
		const struct tp_frame *call = find_call(frame, n_frames < FRAMES ? n_frames : FRAMES,
							function);
		struct tp_sample_owner shown;

		if (met->where != TP_SAMPLES_GAP || !call)
			continue;
		n += met->sum.n;
		if (met->sum.n <= most)
			continue;
		most = met->sum.n;
		shown = (struct tp_sample_owner){.frame = *call};
		tp_sample_owner_show(advice->place, sizeof(advice->place), &shown);
	}
	if (n < LEAST)
		advice->place[0] = '\0';
	return n >= LEAST;
}

static const char *alloc_todo(const struct tp_advice_facts *facts, struct tp_advice *advice)
{
	const struct tp_habits *habits = facts->habits;

	if (name_caller_of(facts, "empty_cache", advice))
		return "leave out torch.cuda.empty_cache(): what it returns to the driver is requested again";
	tp_advice_line(facts, NULL, TP_SITE_ALLOCS, advice);
	return habits->host_alloc_ns > habits->alloc_ns
		       ? "keep pinned memory and use it again, instead of pin_memory() of new tensors in each step"
		       : "too little memory, or too many sizes: PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True";
}

/* Memory of the host costs its time only, which a device may not be waiting for. */
bool tp_advice_allocations(struct tp_advice_facts *facts, struct tp_advice *advice)
{
	const struct tp_habits *habits = facts->habits;
	const int64_t idle = facts->gpu.idle_ns[TP_IDLE_HOST];
	const int64_t cost = tp_add(habits->alloc_ns,
				    habits->host_alloc_ns < idle ? habits->host_alloc_ns : idle);
	const uint64_t n = tp_advice_per_step(facts, habits->n_allocs + habits->n_host_allocs);
	struct tp_advice failed = {.rule = advice->rule};
	const bool has_failed = judge_failed(facts, &failed);
	char a[32];

	advice->percent = tp_advice_percent(cost, facts->all_ns);
	if (has_failed && failed.percent > advice->percent) {
		*advice = failed;
		return true;
	}
	if (!n)
		return false;
	snprintf(advice->evidence, sizeof(advice->evidence),
		 "%" PRIu64 " calls per step request memory from the driver or return it: %s of the time",
		 n, tp_show_percent(a, (double)cost, (double)facts->all_ns));
	snprintf(advice->todo, sizeof(advice->todo), "%s", alloc_todo(facts, advice));
	return true;
}
