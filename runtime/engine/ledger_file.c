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
#include <unistd.h>

#include "runtime/base/file.h"
#include "runtime/base/hold.h"
#include "runtime/base/log.h"
#include "runtime/base/own_fd.h"
#include "runtime/base/text.h"
#include "runtime/engine/ring.h"

enum { BATCH_BYTES = 64 * TP_LEDGER_LINE_MAX };

/* 0 or -errno. After an error nothing of `bytes` is in the file. */
static int append(struct tp_ledger_file *ledger, const char *bytes, size_t n)
{
	int err = tp_file_write_all(ledger->fd, bytes, n);

	if (err)
		err = ftruncate(ledger->fd, (off_t)ledger->good_bytes) < 0 ? -errno : err;
	else
		ledger->good_bytes += n;
	return err;
}

/* Opens and writes the head. 0 or -errno, nothing said. */
static int start_file(struct tp_ledger_file *ledger)
{
	char text[2 * TP_LEDGER_LINE_MAX];
	struct stat st;
	int err = -EIO;

	ledger->fd = open(ledger->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (ledger->fd < 0)
		return -errno;
	ledger->fd = tp_own_fd_high(ledger->fd);
	if (fstat(ledger->fd, &st) == 0) {
		tp_own_fd_note(&ledger->own, ledger->fd);
		ledger->good_bytes = (uint64_t)st.st_size;
		/* Not empty: ours, whose descriptor the program had closed. */
		err = st.st_size ? 0 : append(ledger, text, tp_ledger_format_head(text, sizeof(text),
										  &ledger->head));
	}
	if (err) {
		close(ledger->fd);
		ledger->fd = -1;
	}
	return err;
}

int tp_ledger_file_open(struct tp_ledger_file *ledger, const char *path,
			const struct tp_ledger_head *head, const struct tp_clock_anchor *start)
{
	struct tp_text text;
	int err;

	memset(ledger, 0, sizeof(*ledger));
	tp_text_init(&text, ledger->path, sizeof(ledger->path));
	tp_text_str(&text, path);
	ledger->head = *head;
	ledger->start = *start;
	err = start_file(ledger);
	if (err) {
		ledger->is_failing = true;
		tp_warn("cannot write '%s': %s; steps wait in the ring until it can be written",
			path, strerror(-err));
	}
	return err;
}

/* The file has no name any more: somebody cleaned up. */
static bool is_removed(const struct tp_ledger_file *ledger)
{
	struct stat st;

	return fstat(ledger->fd, &st) == 0 && st.st_nlink == 0;
}

/* True: the file is open and has a name. */
static bool revive(struct tp_ledger_file *ledger)
{
	int err;

	if (ledger->fd >= 0 && !tp_own_fd_is_ours(&ledger->own))
		ledger->fd = -1;
	if (ledger->fd >= 0 && !is_removed(ledger))
		return true;
	if (ledger->fd >= 0) {
		uint64_t done = __atomic_load_n(&tp_ring.head->steps_done, __ATOMIC_ACQUIRE);

		close(ledger->fd);
		ledger->fd = -1;
		/* What the ring still has goes into the new file. */
		tp_ring.head->steps_drained = done > TP_RING_STEPS ? done - TP_RING_STEPS : 0;
	}
	err = tp_file_make_parents(ledger->path, 0755);
	if (!err)
		err = start_file(ledger);
	if (err && !ledger->is_failing)
		tp_warn("cannot write '%s': %s; steps wait in the ring until it can be written",
			ledger->path, strerror(-err));
	ledger->is_failing = err != 0;
	if (!err) {
		/* A new file is nobody's yet: others see by the lock that we live. */
		tp_hold(ledger->fd, 0);
		tp_ring_relink();
	}
	return !err;
}

/* Step `index` out of the ring. False: it has been overwritten. */
static bool read_step(uint64_t index, struct tp_ring_step *step)
{
	const uint64_t *from = (const uint64_t *)&tp_ring.steps[index % TP_RING_STEPS];
	uint64_t *to = (uint64_t *)step;

	if (__atomic_load_n(&from[0], __ATOMIC_ACQUIRE) != index + 1)
		return false;
	/* Acquire: the second look at the index comes after all of them. */
	for (uint32_t i = 1; i < sizeof(*step) / 8; i++)
		to[i] = __atomic_load_n(&from[i], __ATOMIC_ACQUIRE);
	return __atomic_load_n(&from[0], __ATOMIC_RELAXED) == index + 1;
}

static size_t format_step(const struct tp_ledger_file *ledger, const struct tp_clock_anchor *now,
			  uint64_t index, const struct tp_ring_step *step, char *out)
{
	struct tp_ledger_row row = {
		.index = index,
		.epoch = step->epoch, .in_epoch = step->in_epoch, .batches = step->batches,
		.phase = step->phase, .source = step->source, .flags = step->flags,
		.begin_ns = tp_clock_to_mono(&ledger->start, now, step->begin),
		.live_bytes = step->live_bytes, .peak_bytes = step->peak_bytes,
		.device_live = step->device_live, .device_peak = step->device_peak,
		.dropped = step->dropped,
	};

	row.dur_ns = tp_clock_to_mono(&ledger->start, now, step->begin + step->duration) -
		     row.begin_ns;
	row.data_wait_ns = tp_clock_to_mono(&ledger->start, now, step->begin + step->data_wait) -
			   row.begin_ns;
	row.optimizer_ns = tp_clock_to_mono(&ledger->start, now, step->begin + step->optimizer) -
			   row.begin_ns;
	return tp_ledger_format_row(out, TP_LEDGER_LINE_MAX, &row);
}

void tp_ledger_file_drain(struct tp_ledger_file *ledger, const struct tp_clock_anchor *now)
{
	struct tp_ring_head *head = tp_ring.head;
	uint64_t done = __atomic_load_n(&head->steps_done, __ATOMIC_ACQUIRE);
	uint64_t at, n_lost = ledger->n_lost;

	if (!ledger->path[0] || !revive(ledger))
		return;
	at = head->steps_drained;
	while (at < done) {
		char text[BATCH_BYTES];
		size_t n = 0;
		int err;

		for (; at < done && n + TP_LEDGER_LINE_MAX <= sizeof(text); at++) {
			struct tp_ring_step step;

			if (read_step(at, &step))
				n += format_step(ledger, now, at, &step, text + n);
			else
				ledger->n_lost++;
		}
		err = append(ledger, text, n);
		if (err) {
			if (!ledger->is_failing)
				tp_warn("cannot write '%s': %s; steps wait in the ring until it "
					"can be written", ledger->path, strerror(-err));
			ledger->is_failing = true;
			return;
		}
		ledger->is_failing = false;
		/* Release: a reader of the dead takes the rest from the ring. */
		__atomic_store_n(&head->steps_drained, at, __ATOMIC_RELEASE);
	}
	if (ledger->n_lost > n_lost)
		tp_warn_once("steps end faster than they can be written: some have no line in '%s'",
			     ledger->path);
}

void tp_ledger_file_end(struct tp_ledger_file *ledger)
{
	if (ledger->path[0] && !ledger->is_failing && revive(ledger))
		append(ledger, TP_LEDGER_END, strlen(TP_LEDGER_END));
}

void tp_ledger_file_close(struct tp_ledger_file *ledger)
{
	if (ledger->path[0] && ledger->fd >= 0 && tp_own_fd_is_ours(&ledger->own))
		close(ledger->fd);
	ledger->fd = -1;
}
