/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run.c - the parts of a run as they are found: processes, windows, threads, strings, issues
 *
 * Arrays of processes hold pointers, because events point to processes; everything else is
 * an array that grows while files are opened and stays where it is once events come.
 */
#include "merge/input/run.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "merge/kit/grow.h"
#include "merge/kit/say.h"
#include "merge/model/device.h"
#include "runtime/trace/torch_names.h"

enum {
	ISSUES_SAID = 200,	/* lines on stderr; all are kept and counted up to ISSUES_KEPT */
	ISSUES_KEPT = 10000,
	/* Names: see tp_run_affords. Those of trainings are a tenth of their files, unpacked. */
	TEXT_BYTES = 64 << 20,
	TEXT_BYTES_PER_BYTE = 64,
	/* The densest block of a real program has an event in 1.8 bytes. */
	EVENTS_FREE = 1 << 20,
	EVENTS_PER_BYTE = 4,
};

void tp_run_issue(struct tp_run *run, const struct tp_proc *proc, bool is_loss,
		  const char *format, ...)
{
	struct tp_run_in *in = tp_run_inside(run);
	struct tp_issue *issue;
	char *text;
	va_list args;
	int n;

	if (run->n_issues >= ISSUES_KEPT ||
	    !tp_grow(&run->issue, &in->cap_issues, run->n_issues + 1, sizeof(run->issue[0])))
		return;
	va_start(args, format);
	n = vasprintf(&text, format, args);
	va_end(args);
	if (n < 0)
		return;
	text = tp_say_plain(text);
	if (!text)
		return;
	issue = &run->issue[run->n_issues++];
	issue->proc = proc;
	issue->is_loss = is_loss;
	issue->text = text;
	if (!is_loss && in->options.is_quiet)
		return;
	if (run->n_issues == ISSUES_SAID + 1)
		tp_say("more messages follow; the 'health' view has them");
	if (run->n_issues > ISSUES_SAID)
		return;
	if (proc && proc->worker)
		tp_say("rank %d worker %u: %s",
			proc->rank < 0 ? 0 : proc->rank, proc->worker, issue->text);
	else if (proc && proc->rank >= 0)
		tp_say("rank %d: %s", proc->rank, issue->text);
	else
		tp_say("%s", issue->text);
}

void tp_run_keep(struct tp_run_in *run, uint32_t from)
{
	for (uint32_t i = from; i < run->pub.n_issues; i++) {
		if (!tp_grow(&run->note, &run->cap_notes, (uint64_t)run->n_notes + 1,
			     sizeof(run->note[0])))
			return;
		run->note[run->n_notes++] = (struct tp_note){.issue = i, .before = run->n_members};
	}
}

bool tp_run_member(struct tp_run_in *run, struct tp_member member)
{
	member.path = strdup(member.path);
	member.shown = strdup(member.shown);
	if (!member.path || !member.shown ||
	    !tp_grow(&run->member, &run->cap_members, (uint64_t)run->n_members + 1,
		     sizeof(member))) {
		free(member.path);
		free(member.shown);
		return false;
	}
	run->member[run->n_members++] = member;
	return true;
}

struct tp_proc_in *tp_run_proc(struct tp_run_in *run, const struct tp_file_head *head)
{
	struct tp_proc_in *proc;

	for (uint32_t i = 0; i < run->pub.n_procs; i++) {
		proc = (struct tp_proc_in *)run->pub.proc[i];
		if (proc->pub.run_id != head->run_id || proc->pub.pid != head->pid ||
		    memcmp(proc->pub.boot_id, head->boot_id, sizeof(head->boot_id)))
			continue;
		/* Its process group came after its first files. */
		if (proc->pub.rank < 0 && head->rank >= 0) {
			proc->pub.rank = head->rank;
			proc->pub.world_size = head->world_size;
			proc->pub.node_rank = head->node_rank;
		}
		return proc;
	}
	if (!tp_grow(&run->pub.proc, &run->cap_procs, run->pub.n_procs + 1,
		     sizeof(run->pub.proc[0])))
		return NULL;
	proc = calloc(1, sizeof(*proc));
	if (!proc)
		return NULL;
	proc->pub.at = run->pub.n_procs;
	proc->pub.rank = head->rank;
	proc->pub.local_rank = head->local_rank;
	proc->pub.world_size = head->world_size;
	proc->pub.node_rank = head->node_rank;
	proc->pub.pid = head->pid;
	proc->pub.restart = head->restart;
	proc->pub.run_id = head->run_id;
	memcpy(proc->pub.boot_id, head->boot_id, sizeof(head->boot_id));
	proc->pub.program = proc->pub.started = "";
	proc->is_tsc = head->clock_source == TP_CLOCK_TSC;
	run->pub.proc[run->pub.n_procs++] = &proc->pub;
	return proc;
}

int64_t tp_run_window(struct tp_run_in *run, struct tp_proc_in *proc, uint32_t window,
		      bool *is_new)
{
	struct tp_window *w;

	*is_new = false;
	for (uint32_t i = 0; i < run->pub.n_windows; i++) {
		if (run->pub.window[i].proc == &proc->pub && run->pub.window[i].window == window)
			return i;
	}
	if (!tp_grow(&run->pub.window, &run->cap_windows, run->pub.n_windows + 1, sizeof(*w)))
		return -1;
	*is_new = true;
	w = &run->pub.window[run->pub.n_windows];
	memset(w, 0, sizeof(*w));
	w->proc = &proc->pub;
	w->window = window;
	w->path = w->meta = w->totals = "";
	w->begin_ns = INT64_MAX;
	w->end_ns = INT64_MIN;
	return run->pub.n_windows++;
}

int64_t tp_run_source(struct tp_run_in *run, struct tp_proc_in *proc, uint32_t window_at,
		      const char *path)
{
	struct tp_source *source;

	if (!tp_grow(&run->source, &run->cap_sources, run->n_sources + 1, sizeof(*source)))
		return -1;
	source = &run->source[run->n_sources];
	memset(source, 0, sizeof(*source));
	source->proc = proc;
	source->window = window_at;
	source->path = strdup(path);
	if (!source->path ||
	    !tp_grow(&source->slots, &source->cap_slots, 1, sizeof(source->slots[0]))) {
		free(source->path);
		return -1;
	}
	source->n_slots = 1;
	return run->n_sources++;
}

int tp_run_block(struct tp_run_in *run, struct tp_block_ref block)
{
	if (!tp_grow(&run->block, &run->cap_blocks, (uint64_t)run->n_blocks + 1, sizeof(block)))
		return -ENOMEM;
	block.slots = run->source[block.source].n_slots - 1;
	run->block[run->n_blocks++] = block;
	run->n_events_due += block.n_events;
	return 0;
}

int tp_run_anchor(struct tp_proc_in *proc, const struct tp_clock_anchor *anchor)
{
	if (!anchor->ticks && !anchor->mono_ns)
		return 0;
	if (!tp_grow(&proc->anchor, &proc->cap_anchors, proc->n_anchors + 1, sizeof(*anchor)))
		return -ENOMEM;
	proc->anchor[proc->n_anchors++] = *anchor;
	return 0;
}

static void set_thread(struct tp_thread *thread, const struct tp_thread_entry *entry)
{
	thread->slot = entry->slot;
	thread->tid = entry->tid;
	if (entry->torch_id)
		thread->torch_id = entry->torch_id;
	thread->is_main = entry->flags & 1;
	if (entry->name[0])
		memcpy(thread->name, entry->name, sizeof(entry->name));
}

struct tp_file_head tp_run_file_head(const struct tp_proc_in *proc)
{
	return (struct tp_file_head){
		.magic = TP_FILE_MAGIC,
		.major = TP_TRACE_MAJOR,
		.minor = TP_TRACE_MINOR,
		.head_bytes = sizeof(struct tp_file_head),
		.boot_id = {proc->pub.boot_id[0], proc->pub.boot_id[1]},
		.run_id = proc->pub.run_id,
		.pid = proc->pub.pid,
		.rank = proc->pub.rank,
		.local_rank = proc->pub.local_rank,
		.world_size = proc->pub.world_size,
		.node_rank = proc->pub.node_rank,
		.clock_source = proc->is_tsc ? TP_CLOCK_TSC : TP_CLOCK_MONOTONIC,
		.restart = proc->pub.restart,
	};
}

int64_t tp_run_find_thread(const struct tp_proc_in *proc, uint32_t slot, uint32_t tid)
{
	const struct tp_thread *t = proc->pub.thread;

	if (slot < proc->pub.n_threads && t[slot].slot == slot && t[slot].tid == tid)
		return slot;
	for (uint32_t i = 0; i < proc->pub.n_threads; i++) {
		if (t[i].slot == slot && t[i].tid == tid)
			return i;
	}
	return -1;
}

/* Slots come first in the array, each at its own index; threads that took over the slot of
 * another one are put behind. `keep` moves those when the slots need their places. */
static int64_t add_thread(struct tp_proc_in *proc, const struct tp_thread_entry *entry)
{
	uint32_t need = entry->slot + 1 > proc->n_slots ? entry->slot + 1 : proc->n_slots;

	if (proc->pub.n_threads == proc->n_slots) {
		/* One more than is counted: the nobody of events without a known thread. */
		if (!tp_grow(&proc->pub.thread, &proc->cap_threads, need + 1,
			     sizeof(struct tp_thread)))
			return -1;
		for (uint32_t i = proc->n_slots; i < need; i++) {
			memset(&proc->pub.thread[i], 0, sizeof(struct tp_thread));
			proc->pub.thread[i].slot = i;
		}
		proc->n_slots = proc->pub.n_threads = need;
		if (!proc->pub.thread[entry->slot].tid)
			return entry->slot;
	} else if (entry->slot < proc->n_slots && !proc->pub.thread[entry->slot].tid) {
		return entry->slot;
	}
	if (proc->pub.n_threads + 1 >= TP_NO_THREAD ||
	    !tp_grow(&proc->pub.thread, &proc->cap_threads, proc->pub.n_threads + 2,
		     sizeof(struct tp_thread)))
		return -1;
	memset(&proc->pub.thread[proc->pub.n_threads], 0, sizeof(struct tp_thread));
	return proc->pub.n_threads++;
}

/* The slots of a source from its next block on; a copy when blocks already use the last. */
static struct tp_slots *open_slots(struct tp_source *source, uint32_t n, bool is_copy)
{
	struct tp_slots *slots = &source->slots[source->n_slots - 1];
	uint16_t *more;

	if (is_copy) {
		if (!tp_grow(&source->slots, &source->cap_slots, source->n_slots + 1,
			     sizeof(*slots)))
			return NULL;
		slots = &source->slots[source->n_slots];
		slots->n = slots[-1].n;
		slots->thread = malloc((slots->n + 1) * sizeof(more[0]));
		if (!slots->thread)
			return NULL;
		memcpy(slots->thread, slots[-1].thread, slots->n * sizeof(more[0]));
		source->n_slots++;
	}
	if (n > slots->n) {
		more = realloc(slots->thread, n * sizeof(more[0]));
		if (!more)
			return NULL;
		for (uint32_t i = slots->n; i < n; i++)
			more[i] = TP_NO_THREAD;
		slots->thread = more;
		slots->n = n;
	}
	return slots;
}

int64_t tp_run_proc_thread(struct tp_proc_in *proc, const struct tp_thread_entry *entry)
{
	int64_t at;

	if (entry->slot >= TP_NO_THREAD || !entry->tid)
		return -1;
	at = tp_run_find_thread(proc, entry->slot, entry->tid);
	if (at < 0)
		at = add_thread(proc, entry);
	if (at >= 0)
		set_thread(&proc->pub.thread[at], entry);
	return at;
}

int tp_run_thread(struct tp_source *source, const struct tp_thread_entry *entry)
{
	struct tp_slots *slots = &source->slots[source->n_slots - 1];
	int64_t at = tp_run_proc_thread(source->proc, entry);

	if (at < 0)
		return -EINVAL;
	slots = open_slots(source, entry->slot + 1,
			   entry->slot < slots->n && slots->thread[entry->slot] != TP_NO_THREAD &&
				   slots->thread[entry->slot] != at);
	if (!slots)
		return -ENOMEM;
	slots->thread[entry->slot] = (uint16_t)at;
	return 0;
}

/* By id; a later description of the same one replaces. False: out of memory. */
static bool take_device(struct tp_proc_in *proc, const char *bytes, uint32_t n_bytes)
{
	struct tp_device device;
	uint32_t at = 0, n = proc->pub.n_devices;

	if (!tp_device_parse(&device, bytes, n_bytes))
		return true;
	while (at < n && proc->pub.device[at].id < device.id)
		at++;
	if (at == n || proc->pub.device[at].id != device.id) {
		if (!tp_grow(&proc->pub.device, &proc->cap_devices, (uint64_t)n + 1,
			     sizeof(device)))
			return false;
		memmove(&proc->pub.device[at + 1], &proc->pub.device[at],
			(n - at) * sizeof(device));
		proc->pub.n_devices++;
	}
	proc->pub.device[at] = device;
	return true;
}

/* Events do not name it: whoever wants to see it needs its id. */
static bool take_loose(struct tp_proc_in *proc, uint32_t id)
{
	if (!tp_grow(&proc->loose_id, &proc->cap_loose_ids, (uint64_t)proc->n_loose_ids + 1,
		     sizeof(id)))
		return false;
	proc->loose_id[proc->n_loose_ids++] = id;
	return true;
}

bool tp_run_affords(struct tp_run_in *run, uint64_t n_bytes)
{
	uint64_t used = run->strings.n_bytes + run->n_text_bytes + n_bytes;

	if (used <= TEXT_BYTES + TEXT_BYTES_PER_BYTE * run->n_input_bytes)
		return true;
	run->n_left_out++;
	return false;
}

bool tp_run_affords_events(struct tp_run_in *run, uint32_t n)
{
	if (run->n_events_due + n <= EVENTS_FREE + EVENTS_PER_BYTE * run->n_input_bytes)
		return true;
	run->n_events_left_out += n;
	return false;
}

int tp_run_string(struct tp_run_in *run, struct tp_proc_in *proc, uint32_t id, uint32_t kind,
		  const char *bytes, uint32_t n_bytes)
{
	uint64_t ids_bytes = proc->ids.n_bytes;
	const struct tp_string *s;
	int err;

	if (!tp_run_affords(run, n_bytes))
		return 0;
	s = tp_strings_add(&run->strings, kind, bytes, n_bytes);
	if (!s)
		return -ENOMEM;
	proc->has_modules |= kind == TP_STRING_NNMODULE;
	proc->pub.has_gpu |= kind >= TP_STRING_LAUNCH && kind <= TP_STRING_DEVICE;
	if (kind == TP_STRING_DEVICE && !take_device(proc, bytes, n_bytes))
		return -ENOMEM;
	if ((kind == TP_STRING_DEVICE || kind == TP_STRING_MODULE || kind == TP_STRING_COMM) &&
	    !take_loose(proc, id))
		return -ENOMEM;
	err = tp_ids_set(&proc->ids, id, s);
	run->n_text_bytes += proc->ids.n_bytes - ids_bytes;
	return err;
}

static uint64_t read_number(const char *meta, size_t n, const char *key, int base)
{
	char text[24];

	return tp_reader_text_value(meta, n, key, text, sizeof(text)) ? strtoull(text, NULL, base)
								       : 0;
}

static void take_parent(struct tp_proc *proc, const char *meta, size_t n)
{
	proc->worker = (uint32_t)read_number(meta, n, "worker", 10);
	proc->parent_pid = (uint32_t)read_number(meta, n, "parent_pid", 10);
	proc->parent_run_id = read_number(meta, n, "parent_run_id", 16);
}

void tp_run_take_meta(struct tp_proc_in *proc, const char *meta)
{
	char program[512], steps[64] = "";
	size_t n = strlen(meta);

	tp_reader_text_value(meta, n, "host", proc->pub.host, sizeof(proc->pub.host));
	take_parent(&proc->pub, meta, n);
	tp_reader_text_value(meta, n, "STEP", steps, sizeof(steps));
	proc->pub.has_own_steps = tp_begins(steps, strlen(steps), "range:" TP_NAME_PROFILER_STEP);
	if (!proc->pub.program[0] &&
	    tp_reader_text_value(meta, n, "program", program, sizeof(program)) && program[0]) {
		char *copy = strdup(program);

		if (copy)
			proc->pub.program = copy;
	}
}
