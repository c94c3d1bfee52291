/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kineto_file.c - a torch.profiler trace becomes a file of ours: begun, told facts, finished
 *
 * Which rank it was may stand behind the events, so the head is written again at the end.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "merge/kineto/kineto_state.h"
#include "merge/kineto/kineto_words.h"
#include "merge/kit/show.h"
#include "runtime/base/hash.h"
#include "runtime/trace/frame.h"

enum {
	ARENA_BYTES = 64 << 20,
	DEVICE_BYTES = 1024,
	FIRST_TORCH_THREAD = 1,	/* torch's own number of the first training thread */
};

static void take_world(struct tp_kineto_records *r, struct tp_json_in *in)
{
	struct tp_json_text key;
	bool is_first = true;
	int64_t number;

	if (!tp_json_in_take(in, '{'))
		return;
	while (tp_json_in_key(in, &key, &is_first)) {
		if (TP_JSON_IS(&key, "pg_config")) {
			tp_kineto_groups(in, r->head.rank, &r->group);
			continue;
		}
		if (!tp_json_in_number(in, 1, &number))
			continue;
		if (TP_JSON_IS(&key, "rank"))
			r->head.rank = (int32_t)number;
		else if (TP_JSON_IS(&key, "world_size"))
			r->head.world_size = (int32_t)number;
	}
}

static void take_devices(struct tp_kineto_records *r, struct tp_json_in *in)
{
	bool is_first = true;

	if (!tp_json_in_take(in, '['))
		return;
	while (tp_json_in_item(in, &is_first) && r->n_devices < TP_KINETO_DEVICES) {
		char lines[DEVICE_BYTES];
		uint32_t n = tp_kineto_device(in, lines, sizeof(lines));

		if (in->is_bad || in->is_short)
			return;
		if (!n)
			continue;
		r->device_string[r->n_devices++] =
			tp_kineto_id(&r->strings, TP_STRING_DEVICE, lines, n);
	}
}

/* Of versions that write it behind the events, times are put right at the end. */
static void take_base(struct tp_kineto_records *r, struct tp_json_in *in)
{
	int64_t base;

	if (!tp_json_in_number(in, 1, &base) || base < 0 || base >> 62)
		return;
	if (r->first > r->last)
		r->base_ns = base;
	else
		r->late_ns = (uint64_t)base;
}

void tp_kineto_records_fact(struct tp_kineto_records *r, const char *key, const char *value,
			    const char *end)
{
	/* Where a number or a text ends is seen from what follows; something does. */
	struct tp_json_in in = {.at = value, .end = end + 1};
	struct tp_json_text text;

	if (!strcmp(key, "distributedInfo")) {
		take_world(r, &in);
	} else if (!strcmp(key, "deviceProperties") || !strcmp(key, "computeProperties")) {
		take_devices(r, &in);
	} else if (!strcmp(key, "baseTimeNanoseconds")) {
		take_base(r, &in);
	} else if (!strcmp(key, "host_name") && tp_json_in_string(&in, &text)) {
		r->host[tp_json_in_plain(&text, r->host, sizeof(r->host) - 1)] = 0;
	}
}

/* "<host>_<pid>.<ms>.pt.trace.json.gz", as torch's own handler calls its files. */
static void read_file_name(struct tp_kineto_records *r, const char *name)
{
	const char *dot = strchr(name, '.'), *bar = dot ? memrchr(name, '_', (size_t)(dot - name)) : NULL;
	size_t n = bar ? (size_t)(bar - name) : 0;

	if (!n || n >= sizeof(r->host) || strspn(bar + 1, "0123456789") != (size_t)(dot - bar - 1) ||
	    dot == bar + 1)
		return;
	memcpy(r->host, name, n);
	r->host[n] = 0;
}

struct tp_kineto_records *tp_kineto_records_new(const char *path, const char *called, const char *to,
						struct tp_kineto_report *report, int *err)
{
	struct tp_kineto_records *r = calloc(1, sizeof(*r));
	const char *name = tp_show_base(called);
	struct stat st;
	char meta[600], order[520];
	int n;

	*err = -ENOMEM;
	if (!r)
		return NULL;
	r->report = report;
	r->first = UINT64_MAX;
	if (tp_kineto_strings_init(&r->strings) || tp_arena_init(&r->arena, ARENA_BYTES))
		goto fail;
	if (tp_writer_init(&r->writer, &r->arena, TP_KINETO_IDS, tp_kineto_string_of, &r->strings))
		goto fail_arena;
	r->head = (struct tp_file_head){
		.magic = TP_FILE_MAGIC, .major = TP_TRACE_MAJOR, .minor = TP_TRACE_MINOR,
		.head_bytes = sizeof(r->head), .rank = -1, .local_rank = -1, .world_size = -1,
		.node_rank = -1, .clock_source = TP_CLOCK_MONOTONIC,
	};
	if (!stat(path, &st))
		r->head.run_id = tp_hash_bytes(&st.st_ino, sizeof(st.st_ino), (uint64_t)st.st_dev);
	read_file_name(r, name);
	snprintf(r->to, sizeof(r->to), "%s", to);
	snprintf(order, sizeof(order), "%s.order", to);
	tp_kineto_stacks_init(&r->stacks, order);
	n = snprintf(meta, sizeof(meta), "program=torch.profiler %.255s\nhost=%s\n", name, r->host);
	*err = tp_writer_open(&r->writer, to, &r->head, meta, (uint32_t)n);
	r->step_name = tp_kineto_id(&r->strings, TP_STRING_TEXT, "step", 4);
	if (!*err)
		return r;
	tp_kineto_stacks_free(&r->stacks);
fail_arena:
	tp_arena_fini(&r->arena);
fail:
	tp_kineto_strings_free(&r->strings);
	free(r);
	return NULL;
}

static void tell_threads(struct tp_kineto_records *r)
{
	for (uint32_t i = 0; i < r->n_threads; i++) {
		struct tp_thread_entry entry = {.slot = i, .tid = (uint32_t)r->thread[i].tid};

		entry.flags = r->thread[i].tid == (int64_t)r->head.pid;
		entry.torch_id = entry.flags ? FIRST_TORCH_THREAD : 0;
		memcpy(entry.name, r->thread[i].name, sizeof(entry.name));
		tp_writer_threads(&r->writer, &entry, 1);
	}
}

/* What was learnt after the file was begun. */
static int write_head(const struct tp_kineto_records *r)
{
	struct tp_file_head head = r->head;
	int fd = open(r->to, O_WRONLY | O_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	tp_frame_seal_file_head(&head);
	err = pwrite(fd, &head, sizeof(head), 0) == sizeof(head) ? 0 : -EIO;
	close(fd);
	return err;
}

/* Clocks of all blocks, `late_ns` later; times of events are ticks and stay. */
static int shift_clocks(const struct tp_kineto_records *r)
{
	int fd = open(r->to, O_RDWR | O_CLOEXEC), err = 0;
	uint8_t *stored = malloc(tp_frame_bound(TP_BLOCK_RAW_MAX));
	off_t at = sizeof(struct tp_file_head);
	struct tp_block_head head;

	if (fd < 0)
		err = -errno;
	if (!stored)
		err = -ENOMEM;
	while (!err && pread(fd, &head, sizeof(head), at) == sizeof(head)) {
		if (head.magic != TP_BLOCK_MAGIC ||
		    head.stored_bytes > tp_frame_bound(TP_BLOCK_RAW_MAX) ||
		    pread(fd, stored, head.stored_bytes, at + head.head_bytes) != head.stored_bytes) {
			err = -EIO;
			break;
		}
		head.anchor_mono_ns += r->late_ns;
		head.anchor_real_ns += r->late_ns;
		tp_frame_seal(&head, stored);
		if (pwrite(fd, &head, sizeof(head), at) != sizeof(head))
			err = -EIO;
		at += head.head_bytes + head.stored_bytes;
	}
	if (fd >= 0)
		close(fd);
	free(stored);
	return err;
}

static int write_steps(struct tp_kineto_records *r)
{
	struct tp_ledger_head head = {
		.run_id = r->head.run_id, .boot_id = {r->head.boot_id[0]},
		.mono_ns = r->first + r->late_ns, .real_ns = r->first + r->late_ns,
		.rank = r->head.rank, .local_rank = -1, .world_size = r->head.world_size,
		.node_rank = -1, .pid = r->head.pid,
	};
	char path[sizeof(r->to) + 8];

	memcpy(head.host, r->host, sizeof(head.host));
	snprintf(path, sizeof(path), "%s.steps", r->to);
	return tp_kineto_steps_write(&r->steps, &head, r->late_ns, path);
}

uint64_t tp_kineto_boot_id(const char *host)
{
	return tp_hash_bytes(host, strlen(host), TP_FILE_MAGIC);
}

int tp_kineto_records_end(struct tp_kineto_records *r)
{
	char totals[256];
	int err, n, stacks_err;

	stacks_err = tp_kineto_stacks_end(r);
	/* Trouble with the file is the file's: closing it says so. */
	for (uint32_t i = 0; i < r->n_devices; i++)
		tp_writer_string(&r->writer, r->device_string[i]);
	tell_threads(r);
	n = snprintf(totals, sizeof(totals),
		     "window=0\nbegin=%llu\nend=%llu\nfirst_step=%llu\nsteps=%llu\n"
		     "names_lost=%llu\nstep_source=torch.profiler\n",
		     (unsigned long long)(r->first <= r->last ? r->first : 0),
		     (unsigned long long)r->last, (unsigned long long)r->first_step,
		     (unsigned long long)r->steps.n_steps, (unsigned long long)r->strings.n_nameless);
	r->head.boot_id[0] = tp_kineto_boot_id(r->host);
	err = tp_writer_close(&r->writer, totals, (uint32_t)n);
	if (!err && r->late_ns)
		err = shift_clocks(r);
	if (!err)
		err = write_head(r);
	if (!err) {
		err = write_steps(r);
		err = err == -ENODATA ? 0 : err;
	}
	if (!err)
		err = stacks_err;
	tp_kineto_stacks_free(&r->stacks);
	tp_kineto_steps_free(&r->steps);
	tp_kineto_strings_free(&r->strings);
	tp_arena_fini(&r->arena);
	free(r->thread);
	free(r);
	return err;
}
