/* SPDX-License-Identifier: Apache-2.0 */
/*
 * close.c - a run is freed, with all that its files gave it
 */
#include <stdlib.h>
#include <unistd.h>

#include "merge/clock/clocks.h"
#include "merge/input/fuse.h"
#include "merge/input/node.h"
#include "merge/input/run.h"

static void free_proc(struct tp_proc_in *proc)
{
	tp_queues_free(&proc->queues);
	free(proc->pub.thread);
	free(proc->pub.device);
	free(proc->pub.module);
	free(proc->loose_id);
	if (proc->pub.program[0])
		free((char *)proc->pub.program);
	if (proc->pub.started[0])
		free((char *)proc->pub.started);
	tp_ids_free(&proc->ids);
	tp_align_free(&proc->map);
	free(proc->anchor);
	free(proc->chosen);
	free(proc->chosen_call);
	free(proc->ring_step);
	free(proc->ring_open);
	free(proc->ring_path);
	free(proc->ledger_path);
	free(proc);
}

static void free_source(struct tp_source *source)
{
	tp_recover_free(source->rest);
	for (uint32_t i = 0; i < source->n_slots; i++)
		free(source->slots[i].thread);
	free(source->slots);
	free(source->path);
}

static void free_text(const char *text)
{
	if (text[0])
		free((char *)text);
}

void tp_run_free(struct tp_run *run)
{
	struct tp_run_in *in = tp_run_inside(run);

	if (!run)
		return;
	for (uint32_t i = 0; i < in->n_sources; i++)
		free_source(&in->source[i]);
	for (uint32_t i = 0; i < run->n_procs; i++)
		free_proc((struct tp_proc_in *)run->proc[i]);
	for (uint32_t i = 0; i < run->n_windows; i++) {
		free_text(run->window[i].path);
		free_text(run->window[i].meta);
		free_text(run->window[i].totals);
	}
	for (uint32_t i = 0; i < in->n_members; i++) {
		free(in->member[i].path);
		free(in->member[i].shown);
	}
	for (uint32_t i = 0; i < in->n_nodes; i++)
		tp_node_free(in->node[i]);
	free(in->member);
	free(in->note);
	free(in->node);
	for (uint32_t i = 0; i < in->n_kept_fds; i++)
		close(in->kept_fd[i]);
	free(in->kept_fd);
	free(in->host);
	tp_clocks_free(in->clocks);
	free(in->source);
	free(in->block);
	free(run->proc);
	free(run->window);
	free(run->step);
	free(run->open);
	for (uint32_t i = 0; i < run->n_hangs; i++)
		tp_run_free_report(&run->hang[i].at);
	free(run->hang);
	for (uint32_t i = 0; i < run->n_ooms; i++)
		tp_run_free_report(&run->oom[i].at);
	free(run->oom);
	for (uint32_t i = 0; i < run->n_issues; i++)
		free((char *)run->issue[i].text);
	free(run->issue);
	tp_strings_free(&in->strings);
	tp_infiles_free(&in->files);
	free(in);
}
