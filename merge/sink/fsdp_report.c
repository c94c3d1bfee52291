/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fsdp_report.c - memory of a sharded model in each call of ranges, as text
 */
#include "merge/sink/fsdp_report.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "merge/kit/outfile.h"
#include "merge/model/table.h"
#include "merge/sink/proc_file.h"

/* Words of FSDPMemTracker and MemTracker, in their order. */
static const struct {
	enum tp_tensor_category category;
	const char *word;
} words[] = {
	{TP_TENSOR_SHARDED_PARAMETER, "Sharded Param"},
	{TP_TENSOR_UNSHARDED_PARAMETER, "Unsharded Param"},
	{TP_TENSOR_PARAMETER, "Parameter"},
	{TP_TENSOR_BUFFER, "Buffer"},
	{TP_TENSOR_SHARDED_GRADIENT, "Sharded Grad"},
	{TP_TENSOR_UNSHARDED_GRADIENT, "Unsharded Grad"},
	{TP_TENSOR_GRADIENT, "Gradient"},
	{TP_TENSOR_ACTIVATION, "Activation"},
	{TP_TENSOR_TEMPORARY, "Temp"},
	{TP_TENSOR_ALL_GATHER, "All Gather"},
	{TP_TENSOR_REDUCE_SCATTER, "Reduce Scatter"},
	{TP_TENSOR_OPTIMIZER, "OptState"},
	{TP_TENSOR_INPUT, "Inputs"},
	{TP_TENSOR_UNKNOWN, "Other"},
};

static void __attribute__((format(printf, 2, 3))) put(struct tp_outfile *out, const char *format, ...)
{
	char line[TP_MEMORY_AT_KEY + TP_MODULE_TEXT];
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	tp_outfile_bytes(out, line, (size_t)n < sizeof(line) ? (size_t)n : sizeof(line) - 1);
}

static void put_bytes(struct tp_outfile *out, const char *word, int64_t bytes)
{
	put(out, "\t%s: %.2f MiB\n", word, (double)bytes / (1 << 20));
}

static void put_moment(struct tp_outfile *out, const struct tp_moment *moment)
{
	put(out, "Device: all\n");
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (moment->bytes[words[i].category])
			put_bytes(out, words[i].word, moment->bytes[words[i].category]);
	put_bytes(out, "Total", tp_moment_bytes(moment));
}

static void put_pass(struct tp_outfile *out, const struct tp_module_memory *memory, const char *before,
		     const char *peak, const char *after)
{
	const struct {
		const char *word;
		const struct tp_moment *moment;
	} state[] = {{before, memory->entry}, {peak, memory->peak}, {after, memory->exit}};

	for (size_t i = 0; memory->n_calls && i < sizeof(state) / sizeof(state[0]); i++) {
		put(out, "%s\n", state[i].word);
		put_moment(out, state[i].moment);
	}
}

static void put_modules(struct tp_outfile *out, const struct tp_module_memories *memories, uint32_t number,
			uint32_t depth)
{
	const struct tp_module_paths *paths = tp_module_memories_paths(memories);
	char title[TP_MODULE_TEXT], shown[TP_MODULE_TEXT];

	for (uint32_t path = 1; path < tp_module_paths_count(paths); path++) {
		struct tp_module_memory pass[TP_PASS_N];

		if (tp_module_paths_at(paths, path)->depth > depth)
			continue;
		for (uint32_t i = 0; i < TP_PASS_N; i++)
			pass[i] = tp_module_memories_in(memories, number, path, i);
		if (!pass[TP_PASS_FORWARD].n_calls && !pass[TP_PASS_BACKWARD].n_calls)
			continue;
		tp_module_title(paths, path, false, title, sizeof(title));
		put(out, "Module:  %s\n", tp_show_text(shown, sizeof(shown), title, (uint32_t)strlen(title)));
		put_pass(out, &pass[TP_PASS_FORWARD], "Before Pre-Forward", "Peak Forward", "After Post-Forward");
		put_pass(out, &pass[TP_PASS_BACKWARD], "Before Pre-Backward", "Peak Backward",
			 "After Post-Backward");
		put(out, "\n");
	}
}

bool tp_fsdp_report_is_sharded(const struct tp_memory_at_call *call)
{
	return call->peak && call->peak->bytes[TP_TENSOR_SHARDED_PARAMETER];
}

int tp_fsdp_report_write(const char *folder, const struct tp_run *run, const struct tp_memory_at *at,
			 const struct tp_module_memories *memories, uint32_t number, uint32_t depth)
{
	static const char line[] = "--------------------------------------------------------------------------------\n";
	uint32_t n;
	const struct tp_memory_at_call *call = &tp_memory_at_calls(at, &n)[number];
	const char *name = tp_names_at(tp_memory_at_names(at), call->name)->bytes;
	char file[TP_PROC_FILE_WORD], other[96], shown[TP_MODULE_TEXT], path[4096 + TP_PROC_FILE_WORD + 160];
	struct tp_outfile *out;

	tp_show_text(shown, sizeof(shown), name, (uint32_t)strlen(name));
	snprintf(path, sizeof(path), "%s/fsdp_mem_rank_%d%s_%s_%llu.log", folder, tp_proc_file_rank(call->proc),
		 tp_proc_file_other(other, run, call->proc), tp_proc_file_word(file, name),
		 (unsigned long long)call->number);
	out = tp_outfile_open(path);
	if (!out)
		return -EIO;
	put(out, "Iteration %llu %s Peak FSDP memory stats:\n%s", (unsigned long long)call->number, shown, line);
	put_moment(out, call->peak);
	put(out, "%sIteration %llu %s Modulewise FSDP memory stats:\n%s", line, (unsigned long long)call->number, shown,
	    line);
	put_modules(out, memories, number, depth);
	put(out, "%s", line);
	return tp_outfile_close(out);
}
