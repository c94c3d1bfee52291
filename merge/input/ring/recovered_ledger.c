/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recovered_ledger.c - what only a ring knows of its process's steps and end goes into the ledger
 */
#include "merge/input/ring/recovered_ledger.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "merge/kit/say.h"
#include "merge/model/label.h"
#include "runtime/base/file.h"
#include "runtime/trace/ledger.h"

int tp_recovered_say(const struct tp_proc_in *proc, const char *path, int err)
{
	tp_say("rank %d: cannot recover '%s': %s; its buffer file stays", proc->pub.rank, path,
	       err == -ESTALE ? "it is another file than was read" : tp_file_error(err));
	return err;
}

/* The ledger that was read, and nobody else's: its only name, and of the ring's user. */
static int open_ledger(struct tp_proc_in *proc, const struct tp_folder *folder,
		       struct tp_own_fd *ledger, uint64_t *end)
{
	int err = tp_folder_open_file(folder, proc->ledger_path, O_RDWR, ledger);
	struct stat st;

	if (!err)
		err = tp_own_fd_stat(ledger, &st);
	if (!err && (!tp_own_fd_is_file(&proc->ledger_file, &st) || st.st_nlink != 1 ||
		     st.st_uid != proc->ring_uid))
		err = -ESTALE;
	if (err)
		tp_own_fd_close(ledger);
	else
		*end = (uint64_t)st.st_size;
	return err;
}

static int append(const struct tp_own_fd *ledger, const char *line, size_t n, uint64_t *end)
{
	struct iovec part = {(char *)line, n};
	int err = tp_own_fd_write(ledger, &part, 1, *end);

	*end += n;
	return err;
}

/* The ring was given without the ledger: its steps get one of their own, beside the ring. */
static int start_ledger(struct tp_proc_in *proc, const struct tp_folder *folder,
			struct tp_own_fd *ledger, uint64_t *end)
{
	const struct tp_proc *of = &proc->pub;
	const struct tp_clock_anchor *start = &proc->anchor[0];
	const char *slash = strrchr(proc->ring_path, '/');
	char path[4096], text[2 * TP_LEDGER_LINE_MAX];
	struct tp_ledger_head head = {
		.run_id = of->run_id, .boot_id = {of->boot_id[0], of->boot_id[1]},
		.mono_ns = start->mono_ns, .real_ns = start->real_ns,
		.rank = of->rank, .local_rank = of->local_rank, .world_size = of->world_size,
		.node_rank = of->node_rank, .pid = of->pid, .restart = of->restart,
	};
	int err, n;

	n = snprintf(path, sizeof(path), "%.*srank%d.pid%u.recovered.steps",
		     slash ? (int)(slash - proc->ring_path + 1) : 0, proc->ring_path,
		     of->rank < 0 ? 0 : of->rank, of->pid);
	if (n < 0 || (size_t)n >= sizeof(path))
		return tp_recovered_say(proc, proc->ring_path, -ENAMETOOLONG);
	err = tp_folder_create(folder, path, O_RDWR, 0644, ledger);
	if (err)
		return tp_recovered_say(proc, path, err);
	memcpy(head.host, of->host, sizeof(head.host));
	*end = 0;
	err = append(ledger, text, tp_ledger_format_head(text, sizeof(text), &head), end);
	proc->ledger_path = err ? NULL : strdup(path);
	if (!err && !proc->ledger_path)
		err = -ENOMEM;
	if (err) {
		tp_own_fd_close(ledger);
		return tp_recovered_say(proc, path, err);
	}
	printf("recovered %s: %u steps\n", path, proc->n_ring_steps);
	return 0;
}

static int open_or_start(struct tp_proc_in *proc, const struct tp_folder *folder,
			 struct tp_own_fd *ledger, uint64_t *end)
{
	int err;

	if (!proc->ledger_path)
		return start_ledger(proc, folder, ledger, end);
	err = open_ledger(proc, folder, ledger, end);
	return err ? tp_recovered_say(proc, proc->ledger_path, err) : 0;
}

static int append_step(const struct tp_proc_in *proc, const struct tp_ring_step *step,
		       const struct tp_own_fd *ledger, uint64_t *end)
{
	uint32_t hint = 0;
	int64_t begin = tp_align_ns(&proc->map, &hint, step->begin);
	char line[TP_LEDGER_LINE_MAX];
	struct tp_ledger_row row = {
		.index = step->index - 1,
		.epoch = step->epoch,
		.in_epoch = step->in_epoch,
		.batches = step->batches,
		.phase = step->phase,
		.source = step->source,
		.flags = step->flags,
		.begin_ns = (uint64_t)begin,
		.live_bytes = step->live_bytes,
		.peak_bytes = step->peak_bytes,
		.device_live = step->device_live,
		.device_peak = step->device_peak,
		.dropped = step->dropped,
		.heap_bytes = step->heap_bytes,
	};

	row.dur_ns = (uint64_t)(tp_align_ns(&proc->map, &hint, step->begin + step->duration) - begin);
	row.data_wait_ns = (uint64_t)(tp_align_ns(&proc->map, &hint, step->begin + step->data_wait) - begin);
	row.optimizer_ns = (uint64_t)(tp_align_ns(&proc->map, &hint, step->begin + step->optimizer) - begin);
	return append(ledger, line, tp_ledger_format_row(line, sizeof(line), &row), end);
}

/* The fact `key`, which the merge has found and no line of the ledger has yet. */
static int append_fact(const struct tp_proc_in *proc, const char *key, const struct tp_own_fd *ledger,
		       uint64_t *end)
{
	char value[TP_STOOD_BYTES], line[2 * TP_LEDGER_LINE_MAX];

	if (!tp_fact(proc->pub.started, key, value, sizeof(value)))
		return 0;
	return append(ledger, line, (size_t)snprintf(line, sizeof(line), "#fact %s=%s\n", key, value), end);
}

int tp_recovered_ledger(struct tp_proc_in *proc, const struct tp_folder *folder)
{
	const char *how_it_ended = proc->pub.is_replaced ? "#fact end=" TP_LEDGER_REPLACED "\n"
							 : "#fact end=" TP_LEDGER_KILLED "\n";
	char last = '\n', how[32];
	struct tp_own_fd ledger;
	uint64_t end;
	int err = open_or_start(proc, folder, &ledger, &end);

	if (err)
		return err;
	if (end > 0 && tp_own_fd_read(&ledger, &last, 1, end - 1) == 1 && last != '\n')
		err = append(&ledger, "\n", 1, &end);
	for (uint32_t i = 0; i < proc->n_ring_steps && !err; i++)
		err = append_step(proc, &proc->ring_step[i], &ledger, &end);
	if (!err)
		err = append_fact(proc, "stood", &ledger, &end);
	/* It may have died after it had said how it ends. */
	if (!err && !tp_fact(proc->pub.started, "end", how, sizeof(how)))
		err = append(&ledger, how_it_ended, strlen(how_it_ended), &end);
	tp_own_fd_close(&ledger);
	return err ? tp_recovered_say(proc, proc->ledger_path, err) : 0;
}
