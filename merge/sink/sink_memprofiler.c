/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sink_memprofiler.c - memory at ranges as MemProfiler of finetuning-scheduler dumps it: a mapping of
 * snapshots by rank.fn_name.iter_idx.iter_ctx, as YAML and as a pickle, for each rank
 *
 * Fields have its names (rss, vms, rss_diff, those of torch.cuda.memory_stats); what it has no name for has
 * that of the view. The YAML has no tags, so that every reader takes it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/facts/tensor/memory_at.h"
#include "merge/facts/tensor/module_memory.h"
#include "merge/kit/json.h"
#include "merge/kit/list.h"
#include "merge/kit/need.h"
#include "merge/kit/pickle.h"
#include "merge/kit/say.h"
#include "merge/kit/sum.h"
#include "merge/model/sink.h"
#include "merge/model/view.h"
#include "merge/sink/fsdp_report.h"
#include "merge/sink/proc_file.h"
#include "runtime/base/file.h"

static struct tp_view_options view_options;

enum { DEPTH = 2 };	/* of modules, MemProfiler's own */

struct sink {
	char path[4096];
	const struct tp_memory_at *at;
	const struct tp_module_memories *memories;
};

struct snapshot {
	const struct tp_memory_at_call *call;
	bool is_end;
};

/* Where snapshots go: one of the two. */
struct form {
	struct tp_outfile *out;
	struct tp_pickle *pickle;	/* NULL: YAML */
};

static void prepare_memprofiler(const struct tp_view_options *options)
{
	view_options = *options;
}

/* ---- a snapshot in either form ---- */

static void put_text(struct tp_outfile *out, const char *text)
{
	char *p = tp_outfile_room(out, 6 * TP_MEMORY_AT_KEY + 8);

	/* JSON's text in quotes is YAML's. */
	p = tp_json_lit(p, "\"");
	p = tp_json_text(p, text, strnlen(text, TP_MEMORY_AT_KEY));
	out->at = tp_json_lit(p, "\"");
}

static void put(const struct form *form, const char *name, int64_t value)
{
	char line[128];

	if (form->pickle)
		tp_pickle_key_int(form->pickle, name, value);
	else
		tp_outfile_bytes(form->out, line, (size_t)snprintf(line, sizeof(line), "  %s: %lld\n", name,
								   (long long)value));
}

static void put_known(const struct form *form, const char *name, uint64_t bytes)
{
	if (bytes)
		put(form, name, (int64_t)bytes);
}

static void put_rss(const struct form *form, const struct tp_memory_at_call *call)
{
	const uint64_t before = call->start.process.rss, after = call->end.process.rss;

	if (!before || !after)
		return;
	put(form, "rss_pre", (int64_t)before);
	put(form, "rss_post", (int64_t)after);
	put(form, "rss_diff", tp_sub((int64_t)after, (int64_t)before));
}

static void put_tensors(const struct form *form, const struct tp_moment *tensors)
{
	char name[64];

	put(form, "tensor_bytes", tp_moment_bytes(tensors));
	for (uint32_t c = 0; c < TP_TENSOR_N; c++) {
		snprintf(name, sizeof(name), "%s_bytes", tp_memcat_word(c));
		put(form, name, tensors->bytes[c]);
	}
}

static void put_snapshot(const struct form *form, const struct sink *s, const struct tp_memory_at_call *call,
			 bool is_end)
{
	const struct tp_memory_at_point *point = is_end ? &call->end : &call->start;
	char key[TP_MEMORY_AT_KEY];

	tp_memory_at_key(key, s->at, call, is_end);
	if (form->pickle) {
		tp_pickle_key(form->pickle, key);
		tp_pickle_dict(form->pickle);
	} else {
		put_text(form->out, key);
		tp_outfile_bytes(form->out, ":\n", 2);
	}
	put(form, "when_ns", point->ns);
	put_known(form, "rss", point->process.rss);
	put_known(form, "vms", point->process.vms);
	put_known(form, "pss", point->process.pss);
	if (is_end)
		put_rss(form, call);
	put_known(form, "allocated_bytes.all.current", point->process.allocated);
	put_known(form, "reserved_bytes.all.current", point->process.reserved);
	if (point->tensors && tp_memory_at_has_tensors(s->at))
		put_tensors(form, point->tensors);
	if (form->pickle)
		tp_pickle_close(form->pickle);
}

/* ---- files ---- */

static uint32_t put_proc(const struct form *form, const struct sink *s, const struct tp_proc *proc)
{
	uint32_t n, n_put = 0;
	const struct tp_memory_at_call *call = tp_memory_at_calls(s->at, &n);

	for (uint32_t i = 0; i < n; i++) {
		if (call[i].proc != proc || !tp_list_has(view_options.calls, call[i].number))
			continue;
		n_put++;
		if (!form)
			continue;
		put_snapshot(form, s, &call[i], false);
		put_snapshot(form, s, &call[i], true);
	}
	return n_put;
}

static int write_file(const struct sink *s, const struct tp_run *run, const struct tp_proc *proc,
		      bool is_pickle)
{
	struct tp_pickle pickle;
	struct form form = {.pickle = is_pickle ? &pickle : NULL};
	char path[4096 + 160], other[96];

	snprintf(path, sizeof(path), "%s/rank_%d%s_memory_stats.%s", s->path, tp_proc_file_rank(proc),
		 tp_proc_file_other(other, run, proc), is_pickle ? "pickle" : "yaml");
	form.out = tp_outfile_open(path);
	if (!form.out)
		return -EIO;
	if (is_pickle) {
		tp_pickle_begin(&pickle, form.out);
		tp_pickle_dict(&pickle);
	}
	put_proc(&form, s, proc);
	if (is_pickle) {
		tp_pickle_close(&pickle);
		tp_pickle_end(&pickle);
	}
	return tp_outfile_close(form.out);
}

/* A file for each call, where the model is sharded. */
static int write_reports(const struct sink *s, const struct tp_run *run)
{
	const uint32_t depth = view_options.depth ? view_options.depth : DEPTH;
	uint32_t n;
	const struct tp_memory_at_call *call = tp_memory_at_calls(s->at, &n);
	int err = 0;

	for (uint32_t i = 0; i < n && !err; i++)
		if (tp_list_has(view_options.calls, call[i].number) && tp_fsdp_report_is_sharded(&call[i]))
			err = tp_fsdp_report_write(s->path, run, s->at, s->memories, i, depth);
	return err;
}

static void *begin_memprofiler(struct tp_facts *facts, const char *path)
{
	const struct tp_memory_at_params params = {.names = view_options.at};
	struct sink *s = tp_need(1, sizeof(*s));
	int err = tp_file_make_dirs(path, 0777);

	snprintf(s->path, sizeof(s->path), "%s", path);
	s->at = tp_facts_want(facts, &tp_fact_memory_at, &params);
	s->memories = tp_facts_want(facts, &tp_fact_module_memories_at, &params);
	if (!err)
		return s;
	tp_say("cannot make the folder '%s': %s", path, strerror(-err));
	free(s);
	return NULL;
}

static int end_memprofiler(void *state, const struct tp_run *run)
{
	struct sink *s = state;
	uint32_t n_files = 0;
	int err = 0;

	for (uint32_t i = 0; i < run->n_procs && !err; i++) {
		if (!put_proc(NULL, s, run->proc[i]))
			continue;
		n_files++;
		err = write_file(s, run, run->proc[i], false);
		if (!err)
			err = write_file(s, run, run->proc[i], true);
	}
	if (!err)
		err = write_reports(s, run);
	if (!n_files) {
		const char *asked = tp_memory_at_asked(s->at);

		tp_say("no range%s%s was recorded from start to end, so '%s' is empty: TRAINPROF_RECORD=frameworks "
		       "adds those of Lightning and the Hugging Face Trainer", asked ? " like " : "",
		       asked ? asked : "", s->path);
	}
	free(s);
	return err;
}

const struct tp_sink tp_sink_memprofiler = {
	.name = "memprofiler",
	.help = "memory at the start and end of ranges (--at, --calls), as MemProfiler's YAML and pickle (a folder)",
	.hint = "yaml.safe_load or pickle.load: a mapping of snapshots by rank.fn_name.iter_idx.iter_ctx",
	.suffix = "memprofiler",
	.is_folder = true,
	.like = "memory-at",
	.prepare = prepare_memprofiler,
	.begin = begin_memprofiler,
	.end = end_memprofiler,
};
