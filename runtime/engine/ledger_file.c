/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ledger_file.c - the step ledger on disk: rows of finished steps, from the ring to the file
 *
 * The file is never read, and only appended to. A row that was cut by a full disk is taken
 * back before anything else is written, so that there is never half a line in the middle.
 */
#include "runtime/engine/ledger_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/base/file.h"
#include "runtime/base/hold.h"
#include "runtime/base/log.h"
#include "runtime/base/own_table.h"
#include "runtime/base/process.h"
#include "runtime/base/text.h"
#include "runtime/engine/config/started.h"
#include "runtime/engine/ring/ring.h"

enum { BATCH_BYTES = 64 * TP_LEDGER_LINE_MAX };

/* 0 or -errno. After an error nothing of `bytes` is in the file. */
static int append(struct tp_ledger_file *ledger, const char *bytes, size_t n)
{
	struct iovec part = {.iov_base = (char *)bytes, .iov_len = n};
	int err = tp_own_fd_write(&ledger->file, &part, 1, ledger->good_bytes), cut_err;

	if (!err) {
		ledger->good_bytes += n;
		return 0;
	}
	cut_err = tp_own_fd_truncate(&ledger->file, ledger->good_bytes);
	return cut_err ? cut_err : err;
}

/* The file is open and empty. */
static int write_head(struct tp_ledger_file *ledger)
{
	static char text[2 * TP_LEDGER_LINE_MAX + TP_STARTED_BYTES];
	struct tp_text out;

	tp_text_init(&out, text, sizeof(text));
	out.len = tp_ledger_format_head(text, sizeof(text), &ledger->head);
	tp_started_put(&out);
	ledger->virtual_said = 0;
	return append(ledger, text, out.len);
}

static int create_file(struct tp_ledger_file *ledger)
{
	int err = tp_folder_create(ledger->folder, ledger->path, O_WRONLY, 0644, &ledger->file);

	ledger->good_bytes = 0;
	return err ? err : write_head(ledger);
}

static void say_failing(struct tp_ledger_file *ledger, int err)
{
	if (!ledger->is_failing)
		tp_warn("cannot write '%s': %s; steps wait in memory until it can be written",
			ledger->path, tp_file_error(err));
	ledger->is_failing = true;
}

int tp_ledger_file_open(struct tp_ledger_file *ledger, struct tp_folder *folder,
			const char *path, const struct tp_own_fd *claimed,
			const struct tp_ledger_head *head, const struct tp_clock_anchor *start)
{
	struct tp_text text;
	int err;

	memset(ledger, 0, sizeof(*ledger));
	tp_text_init(&text, ledger->path, sizeof(ledger->path));
	tp_text_str(&text, path);
	ledger->folder = folder;
	ledger->head = *head;
	ledger->start = *start;
	ledger->file = *claimed;
	err = claimed->fd >= 0 ? write_head(ledger) : create_file(ledger);
	if (err)
		say_failing(ledger, err);
	return err;
}

/* The file that the program closed, where it could: there is no table of our own. */
static int open_again(struct tp_ledger_file *ledger)
{
	const struct tp_own_fd before = ledger->file;
	struct stat st;
	int err = tp_folder_open_file(ledger->folder, ledger->path, O_WRONLY, &ledger->file);

	if (!err && (tp_own_fd_stat(&ledger->file, &st) || !tp_own_fd_is_file(&before, &st))) {
		tp_own_fd_close(&ledger->file);
		err = -ESTALE;
	}
	if (err)
		ledger->file = before;
	return err;
}

static int hold(void *arg)
{
	const struct tp_own_fd *file = arg;

	return tp_own_fd_is_ours(file) ? tp_hold(file->fd, 0) : -EBADF;
}

/* Made anew, with the folder. What the ring still has goes into it. */
static int make_again(struct tp_ledger_file *ledger)
{
	uint64_t done = __atomic_load_n(&tp_ring.head->steps_done, __ATOMIC_ACQUIRE);
	uint64_t first = done > TP_RING_STEPS ? done - TP_RING_STEPS : 0;
	bool is_gone;
	int err;

	tp_own_fd_close(&ledger->file);
	if (first < tp_ring.head->steps_drained)
		tp_ring.head->steps_drained = first;
	err = tp_folder_make(ledger->folder, ledger->path, &is_gone);
	if (!err)
		err = create_file(ledger);
	if (!err) {
		/* A new file is nobody's yet: others see by the lock that we live. */
		tp_own_table_call(hold, &ledger->file);
		tp_ring_relink();
	}
	return err;
}

/* True: the file is open and has a name and a head. */
static bool revive(struct tp_ledger_file *ledger)
{
	struct stat st;
	int err = tp_own_fd_stat(&ledger->file, &st);

	if (err && ledger->good_bytes)
		err = open_again(ledger);
	else if (!err && !st.st_nlink)
		err = -ENOENT;
	else if (!err && !ledger->good_bytes)
		err = write_head(ledger);
	if (err == -ENOENT || (err == -EBADF && !ledger->good_bytes))
		err = make_again(ledger);
	if (err)
		say_failing(ledger, err);
	return !err;
}

static int read_memory(void *arg)
{
	struct tp_process_memory *memory = arg;

	*memory = tp_process_memory();
	return 0;
}

/* Memory of the process is known when the line is written: `memory` is of the last step that ended. */
static size_t format_step(struct tp_ledger_file *ledger, const struct tp_clock_anchor *now,
			  uint64_t index, const struct tp_ring_step *step,
			  const struct tp_process_memory *memory, char *out)
{
	struct tp_ledger_row row = {
		.index = index,
		.epoch = step->epoch, .in_epoch = step->in_epoch, .batches = step->batches,
		.phase = step->phase, .source = step->source, .flags = step->flags,
		.begin_ns = tp_clock_to_mono(&ledger->start, now, step->begin),
		.live_bytes = step->live_bytes, .peak_bytes = step->peak_bytes,
		.device_live = step->device_live, .device_peak = step->device_peak,
		.dropped = step->dropped, .heap_bytes = step->heap_bytes,
		.resident = memory->resident, .virtual = memory->virtual,
	};

	row.dur_ns = tp_clock_to_mono(&ledger->start, now, step->begin + step->duration) -
		     row.begin_ns;
	row.data_wait_ns = tp_clock_to_mono(&ledger->start, now, step->begin + step->data_wait) -
			   row.begin_ns;
	row.optimizer_ns = tp_clock_to_mono(&ledger->start, now, step->begin + step->optimizer) -
			   row.begin_ns;
	ledger->last_end_ns = row.begin_ns + row.dur_ns;
	return tp_ledger_format_row(out, TP_LEDGER_LINE_MAX, &row);
}

void tp_ledger_file_drain(struct tp_ledger_file *ledger, const struct tp_clock_anchor *now)
{
	struct tp_ring_head *head = tp_ring.head;
	uint64_t done = __atomic_load_n(&head->steps_done, __ATOMIC_ACQUIRE);
	uint64_t at, n_lost = ledger->n_lost;
	const struct tp_process_memory none = {0};
	struct tp_process_memory memory = none;

	if (!ledger->path[0] || !revive(ledger))
		return;
	at = head->steps_drained;
	if (tp_ring_is_cut())
		return;
	if (at < done)
		tp_own_table_call(read_memory, &memory);
	/* It rarely changes: 14 bytes of each step of a job whose steps take a second. */
	if (memory.virtual == ledger->virtual_said)
		memory.virtual = 0;
	while (at < done) {
		char text[BATCH_BYTES];
		size_t n = 0;
		int err;

		for (; at < done && n + TP_LEDGER_LINE_MAX <= sizeof(text); at++) {
			struct tp_ring_step step;

			if (tp_ring_step(at, &step))
				n += format_step(ledger, now, at, &step, at + 1 < done ? &none : &memory,
						 text + n);
			else
				ledger->n_lost++;
		}
		err = append(ledger, text, n);
		if (err) {
			say_failing(ledger, err);
			return;
		}
		ledger->is_failing = false;
		if (at == done && memory.virtual)
			ledger->virtual_said = memory.virtual;
		/* Release: a reader of the dead takes the rest from the ring. */
		__atomic_store_n(&head->steps_drained, at, __ATOMIC_RELEASE);
	}
	if (ledger->n_lost > n_lost)
		tp_warn_once("steps end faster than they can be written: some have no line in '%s'",
			     ledger->path);
}

void tp_ledger_file_note(struct tp_ledger_file *ledger, const char *facts)
{
	char text[2 * TP_LEDGER_NOTES];
	struct tp_text out;

	if (!ledger->path[0] || ledger->is_failing || !revive(ledger))
		return;
	tp_text_init(&out, text, sizeof(text));
	for (const char *end; (end = strchr(facts, '\n')) != NULL; facts = end + 1) {
		tp_text_str(&out, "#fact ");
		tp_text_bytes(&out, facts, (size_t)(end + 1 - facts));
	}
	if (!out.is_cut)
		append(ledger, text, out.len);
}

void tp_ledger_file_end(struct tp_ledger_file *ledger)
{
	char text[TP_LEDGER_LINE_MAX];
	struct tp_text out;

	if (!ledger->path[0] || ledger->is_failing || !revive(ledger))
		return;
	tp_text_init(&out, text, sizeof(text));
	tp_started_put_end(&out, ledger->last_end_ns);
	tp_text_str(&out, TP_LEDGER_END);
	append(ledger, text, out.len);
}

void tp_ledger_file_close(struct tp_ledger_file *ledger)
{
	if (ledger->path[0])
		tp_own_fd_close(&ledger->file);
}
