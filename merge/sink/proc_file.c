/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proc_file.c - rank0, rank0.worker1; rank0.pid4711, where a rank has several processes
 */
#include "merge/sink/proc_file.h"

#include <stdio.h>
#include <string.h>

#include "runtime/base/hash.h"

int32_t tp_proc_file_rank(const struct tp_proc *proc)
{
	return proc->rank < 0 ? 0 : proc->rank;
}

static bool has_double(const struct tp_run *run, const struct tp_proc *proc)
{
	for (uint32_t i = 0; i < run->n_procs; i++) {
		const struct tp_proc *other = run->proc[i];

		if (other != proc && tp_proc_file_rank(other) == tp_proc_file_rank(proc) &&
		    other->worker == proc->worker && other->restart == proc->restart)
			return true;
	}
	return false;
}

const char *tp_proc_file_other(char buf[96], const struct tp_run *run, const struct tp_proc *proc)
{
	char worker[32] = "", restart[32] = "", pid[32] = "";

	if (proc->worker)
		snprintf(worker, sizeof(worker), ".worker%u", proc->worker);
	if (proc->restart)
		snprintf(restart, sizeof(restart), ".restart%u", proc->restart);
	if (has_double(run, proc))
		snprintf(pid, sizeof(pid), ".pid%u", proc->pid);
	snprintf(buf, 96, "%s%s%s", worker, restart, pid);
	return buf;
}

const char *tp_proc_file_word(char buf[TP_PROC_FILE_WORD], const char *name)
{
	enum { NUMBER = 18 };	/* '-', 16 digits and the end */
	bool is_same = true;
	uint32_t n = 0;

	for (; name[n] && n < TP_PROC_FILE_WORD - NUMBER; n++) {
		const char c = name[n];
		const bool is_kept = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
				     (c >= '0' && c <= '9') || strchr(".-_#", c);

		buf[n] = is_kept ? c : '_';
		is_same &= is_kept;
	}
	is_same &= !name[n];
	buf[n] = '\0';
	if (!is_same)
		snprintf(buf + n, NUMBER, "-%016llx", (unsigned long long)tp_hash_bytes(name, strlen(name), 0));
	return buf;
}
