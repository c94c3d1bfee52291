/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clocks_find.c - collectives and clock exchanges out of the files, record by record
 *
 * A collective is one of gloo's ranges, one of NCCL's COLL records, or, where a process has
 * none of these, one of its kernels. The n-th of a kind and group in a step of one rank is the
 * n-th of every other in that step if all made as many of them: else a record is missing
 * somewhere, and the whole step is not compared. NCCL numbers its own. Kernels are counted in
 * a window: they run when they can.
 *
 * Times are of CLOCK_MONOTONIC of the host, each moved by its error to where it certainly lies.
 */
#include "merge/input/clocks_find.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "merge/clock/clocks_match.h"
#include "merge/input/decode.h"
#include "merge/kit/grow.h"
#include "merge/model/comm_kind.h"
#include "merge/model/shapes.h"
#include "runtime/base/begins.h"
#include "runtime/trace/torch_names.h"

enum {
	MOST_CALLS = 1 << 21,		/* of a process in a window */
	DEVICE_ERROR_NS = 10000,	/* of CUPTI's times against the host's */
	BOOT_DIGITS = 32,
};

struct call {
	uint64_t of;		/* kind and group */
	int64_t begin_ns, end_ns;
	uint64_t number;	/* NCCL's own, plus one; 0: to be counted */
	bool is_device;
};

struct step {
	int64_t begin_ns, end_ns;
	uint64_t number;
};

/* What is known of a string, by tp_string.same. */
struct meaning {
	bool is_known;
	bool has_group;
	uint8_t kind;		/* enum tp_comm_kind, TP_COMM_KINDS: no collective */
	uint64_t group;
};

struct find {
	struct tp_run_in *run;
	struct tp_clocks *clocks;
	struct tp_clocks_match *match;
	struct tp_clocks_found *found;
	struct meaning *meaning;
	uint32_t n_meanings;
	/* Of one process in one window. */
	struct call *call;
	uint32_t n_calls, cap_calls;
	struct step *step;
	uint32_t n_steps, cap_steps;
	int64_t first_ns, last_ns;
	bool has_coll;
};

/* ---- strings ---- */

static uint64_t hash_text(const char *text, uint32_t n)
{
	uint64_t hash = n;

	for (uint32_t i = 0; i < n; i++)
		hash = tp_clocks_key(hash, (uint8_t)text[i]);
	return hash;
}

/* NCCL's record says all of it in one string: communicator and function. */
static void read_coll(struct meaning *meaning, const struct tp_string *s)
{
	struct tp_coll coll;
	const char *function = s->bytes + sizeof(coll);
	uint32_t n;

	if (s->n_bytes <= sizeof(coll))
		return;
	memcpy(&coll, s->bytes, sizeof(coll));
	n = (uint32_t)strnlen(function, s->n_bytes - sizeof(coll));
	meaning->kind = (uint8_t)tp_comm_kind_of_function(function, n);
	meaning->has_group = true;
	meaning->group = tp_clocks_key(coll.hash, hash_text(function, n));
}

static const struct meaning *meaning_of(struct find *f, const struct tp_string *s)
{
	static const struct meaning nothing = {.kind = TP_COMM_KINDS};
	struct tp_shapes_group group;
	struct meaning *meaning;

	if (!s || s->same >= f->n_meanings)
		return &nothing;
	meaning = &f->meaning[s->same];
	if (meaning->is_known)
		return meaning;
	*meaning = (struct meaning){.is_known = true, .kind = TP_COMM_KINDS};
	if (s->kind == TP_STRING_TEXT || s->kind == TP_STRING_OP) {
		meaning->kind = (uint8_t)tp_comm_kind_of(s->bytes, s->n_bytes);
	} else if (s->kind == TP_STRING_COLL) {
		read_coll(meaning, s);
	} else if (s->kind == TP_STRING_SHAPES &&
		   tp_shapes_group(s->bytes, s->n_bytes, &group)) {
		meaning->has_group = true;
		meaning->group = tp_clocks_key(hash_text(group.name, group.n_name), group.size);
	}
	return meaning;
}

/* ---- records ---- */

static void add_call(struct find *f, const struct tp_proc_in *proc, const struct call *call)
{
	int64_t error = proc->map.error_ns + (call->is_device ? DEVICE_ERROR_NS : 0);

	if (f->n_calls >= MOST_CALLS ||
	    !tp_grow(&f->call, &f->cap_calls, (uint64_t)f->n_calls + 1, sizeof(*call)))
		return;
	f->call[f->n_calls] = *call;
	f->call[f->n_calls].begin_ns -= error;
	f->call[f->n_calls++].end_ns += error;
}

static void take_span(struct find *f, const struct tp_proc_in *proc, const struct tp_rec *rec,
		      int64_t begin_ns, int64_t end_ns)
{
	const struct tp_string *name = tp_ids_get(&proc->ids, rec->name);
	const struct meaning *what = meaning_of(f, name), *group = what;
	struct call call = {.begin_ns = begin_ns, .end_ns = end_ns,
			    .is_device = rec->kind == TP_REC_KERNEL};

	/* What had not ended did not end then. */
	if (what->kind == TP_COMM_KINDS || rec->flags & TP_F_OPEN ||
	    !tp_comm_is_synchronising(what->kind))
		return;
	if (rec->kind == TP_REC_RANGE) {
		/* Of NCCL's ranges only the asking is on the host. */
		if (!name || tp_comm_library(name->bytes, name->n_bytes) != TP_COMM_BY_GLOO)
			return;
		group = meaning_of(f, tp_ids_get(&proc->ids, TP_ARG_SHAPES(rec->arg)));
	} else if (rec->kind == TP_REC_COLL) {
		if (rec->flags & (TP_F_ENQUEUED | TP_F_REPLAY) || rec->link == TP_NO_SEQ)
			return;
		call.number = (uint64_t)rec->link + 1;
		f->has_coll = true;
	}
	if (!group->has_group)
		f->found->has_no_groups = true;
	call.of = tp_clocks_key(what->kind + 32u * rec->kind, group->has_group ? group->group : 0);
	add_call(f, proc, &call);
}

static void take_step(struct find *f, const struct tp_rec *rec, int64_t begin_ns, int64_t end_ns)
{
	if (!tp_grow(&f->step, &f->cap_steps, (uint64_t)f->n_steps + 1, sizeof(*f->step)))
		return;
	f->step[f->n_steps++] = (struct step){begin_ns, end_ns, rec->link};
}

/* The host whose boot id these digits are; n_procs: none of this run's. */
static uint32_t host_of(const struct find *f, const struct tp_string *s)
{
	const uint32_t n_prefix = sizeof(TP_CLOCK_PEER) - 1;
	char digits[BOOT_DIGITS / 2 + 1] = "";
	uint64_t id[2];

	if (!s || !tp_begins(s->bytes, s->n_bytes, TP_CLOCK_PEER) ||
	    s->n_bytes < n_prefix + BOOT_DIGITS)
		return UINT32_MAX;
	for (int i = 0; i < 2; i++) {
		memcpy(digits, s->bytes + n_prefix + i * (BOOT_DIGITS / 2), BOOT_DIGITS / 2);
		id[i] = strtoull(digits, NULL, 16);
	}
	for (uint32_t i = 0; i < f->run->pub.n_procs; i++) {
		const struct tp_proc_in *proc = (struct tp_proc_in *)f->run->pub.proc[i];

		if (!memcmp(proc->pub.boot_id, id, sizeof(id)))
			return proc->host;
	}
	return UINT32_MAX;
}

/* One datagram: sent by one host's clock, arrived by the other's. */
static int take_exchange(struct find *f, const struct tp_proc_in *proc, const struct tp_rec *rec,
			 uint32_t *hint)
{
	uint32_t peer = host_of(f, tp_ids_get(&proc->ids, rec->name));
	uint64_t len = tp_rec_len(rec);
	int64_t here, there = (int64_t)rec->arg, error = proc->map.error_ns;
	bool is_sent = rec->flags & TP_F_SENT;

	if (peer == UINT32_MAX || len > rec->time || rec->arg >> 62)
		return 0;
	here = tp_align_ns(&proc->map, hint, rec->time - len);
	f->found->n_exchanges += is_sent;
	return tp_clocks_add(f->clocks, &(struct tp_clocks_order){
		.from = is_sent ? proc->host : peer, .to = is_sent ? peer : proc->host,
		.sent_ns = (is_sent ? here : there) - error,
		.got_ns = (is_sent ? there : here) + error});
}

static int take_record(struct find *f, const struct tp_proc_in *proc, const struct tp_rec *rec,
		       uint32_t *hint)
{
	int64_t begin, end;

	switch (rec->kind) {
	case TP_REC_EXCHANGE:
		return rec->time >> 62 ? 0 : take_exchange(f, proc, rec, hint);
	case TP_REC_RANGE:
	case TP_REC_KERNEL:
	case TP_REC_COLL:
	case TP_REC_STEP:
		break;
	default:
		return 0;
	}
	if (rec->time >> 62)
		return 0;
	begin = tp_align_ns(&proc->map, hint, rec->time);
	end = tp_align_ns(&proc->map, hint, rec->time + tp_rec_len(rec));
	if (rec->kind == TP_REC_STEP)
		take_step(f, rec, begin, end);
	else
		take_span(f, proc, rec, begin, end);
	if (end > f->last_ns)
		f->last_ns = end;
	return 0;
}

/* ---- a process in a window ---- */

static int compare_calls(const void *a, const void *b)
{
	const struct call *x = a, *y = b;

	if (x->of != y->of)
		return x->of < y->of ? -1 : 1;
	return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

static int compare_steps(const void *a, const void *b)
{
	const struct step *x = a, *y = b;

	return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

/* Which step (or window) a call is counted in. False: in none, it is not compared. */
static bool count_in(const struct find *f, const struct call *call, uint32_t window, uint64_t *in)
{
	uint32_t lo = 0, hi = f->n_steps;

	*in = 2ull * window;
	if (call->number || call->is_device || !f->n_steps)
		return true;
	while (hi - lo > 1) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (f->step[mid].begin_ns <= call->begin_ns)
			lo = mid;
		else
			hi = mid;
	}
	*in = 2 * f->step[lo].number + 1;
	return call->begin_ns >= f->step[lo].begin_ns && call->begin_ns < f->step[lo].end_ns;
}

static int match_run(struct find *f, const struct tp_proc_in *proc, const struct call *call,
		     uint32_t n, uint64_t in)
{
	uint64_t whose = tp_clocks_key(proc->pub.restart, (uint32_t)proc->pub.world_size);
	int err = 0;

	for (uint32_t i = 0; i < n && !err; i++) {
		uint64_t key = tp_clocks_key(call[i].of, whose);

		if (call[i].number)
			key = tp_clocks_key(key, call[i].number);
		else
			key = tp_clocks_key(tp_clocks_key(tp_clocks_key(key, in), n), i);
		err = tp_clocks_match_call(f->match, proc->host, key, call[i].begin_ns,
					   call[i].end_ns);
	}
	return err;
}

static int end_window(struct find *f, const struct tp_proc_in *proc, uint32_t window)
{
	uint32_t kept = 0, first = 0;
	int err = 0;

	for (uint32_t i = 0; i < f->n_calls; i++) {
		if (!f->call[i].is_device || !f->has_coll)
			f->call[kept++] = f->call[i];
	}
	f->n_calls = kept;
	if (f->n_calls)
		qsort(f->call, f->n_calls, sizeof(*f->call), compare_calls);
	if (f->n_steps)
		qsort(f->step, f->n_steps, sizeof(*f->step), compare_steps);
	while (first < f->n_calls && !err) {
		uint64_t in, other;
		bool is_in = count_in(f, &f->call[first], window, &in);
		uint32_t n = 1;

		while (first + n < f->n_calls && f->call[first + n].of == f->call[first].of &&
		       count_in(f, &f->call[first + n], window, &other) == is_in && other == in)
			n++;
		if (is_in)
			err = match_run(f, proc, &f->call[first], n, in);
		first += n;
	}
	if (!err && f->last_ns >= f->first_ns)
		err = tp_clocks_need(f->clocks, proc->host, f->first_ns, f->last_ns);
	f->n_calls = f->n_steps = 0;
	f->first_ns = INT64_MAX;
	f->last_ns = INT64_MIN;
	f->has_coll = false;
	return err;
}

/* ---- the pass ---- */

struct due {
	uint32_t proc, window, block;
};

static int compare_due(const void *a, const void *b)
{
	const struct due *x = a, *y = b;

	if (x->proc != y->proc)
		return x->proc < y->proc ? -1 : 1;
	if (x->window != y->window)
		return x->window < y->window ? -1 : 1;
	return (x->block > y->block) - (x->block < y->block);
}

static struct due *list_blocks(const struct tp_run_in *run)
{
	struct due *due = malloc((run->n_blocks + 1) * sizeof(*due));

	for (uint32_t i = 0; due && i < run->n_blocks; i++) {
		const struct tp_source *source = &run->source[run->block[i].source];

		due[i] = (struct due){source->proc->pub.at, source->window, i};
	}
	if (due && run->n_blocks)
		qsort(due, run->n_blocks, sizeof(*due), compare_due);
	return due;
}

/* Which of its strings are worth a look at its records at all. */
static bool has_anything(struct find *f, const struct tp_proc_in *proc)
{
	for (uint32_t page = 0; page < proc->ids.n_pages; page++) {
		for (uint32_t i = 0; proc->ids.page[page] && i < TP_IDS_PAGE; i++) {
			const struct tp_string *s = proc->ids.page[page][i];
			const struct meaning *what = meaning_of(f, s);

			if (s && (what->kind != TP_COMM_KINDS || host_of(f, s) != UINT32_MAX))
				return true;
		}
	}
	return false;
}

/* What cannot be read is said when the events are. */
static int take_block(struct find *f, struct tp_reader_room *room, const struct tp_block_ref *ref,
		      struct tp_rec *rec, uint16_t *thread)
{
	const struct tp_proc_in *proc = f->run->source[ref->source].proc;
	enum tp_decode_trouble trouble;
	uint32_t hint = 0;
	int err = 0;

	if (tp_decode_read(f->run, room, ref, rec, thread, &trouble))
		return 0;
	for (uint32_t i = 0; i < ref->n_events && !err; i++)
		err = take_record(f, proc, &rec[i], &hint);
	return err;
}

/* The block's bounds, whether its records are looked at or not. */
static void note_bounds(struct find *f, const struct tp_proc_in *proc,
			const struct tp_block_ref *ref)
{
	uint64_t tick[2] = {(uint64_t)ref->first_ns, (uint64_t)ref->last_ns};
	uint32_t hint = 0;

	for (int i = 0; i < 2; i++) {
		int64_t ns;

		if (tick[i] >> 62)
			continue;
		ns = tp_align_ns(&proc->map, &hint, tick[i]);
		if (ns < f->first_ns)
			f->first_ns = ns;
		if (ns > f->last_ns)
			f->last_ns = ns;
	}
}

static int take_blocks(struct find *f, const struct due *due)
{
	struct tp_rec *rec = malloc(TP_BLOCK_EVENTS_MAX * sizeof(*rec));
	uint16_t *thread = malloc(TP_BLOCK_EVENTS_MAX * sizeof(*thread));
	struct tp_reader_room room;
	int err = tp_reader_room_init(&room);
	bool is_wanted = false;

	if (!rec || !thread)
		err = -ENOMEM;
	for (uint32_t i = 0; i < f->run->n_blocks && !err; i++) {
		const struct tp_block_ref *ref = &f->run->block[due[i].block];
		const struct tp_proc_in *proc = (struct tp_proc_in *)f->run->pub.proc[due[i].proc];

		if (!i || due[i].proc != due[i - 1].proc)
			is_wanted = proc->pub.rank >= 0 && !proc->pub.worker &&
				    proc->map.error_ns >= 0 && has_anything(f, proc);
		if (proc->map.n_knots) {
			note_bounds(f, proc, ref);
			if (is_wanted)
				err = take_block(f, &room, ref, rec, thread);
		}
		if (!err && (i + 1 == f->run->n_blocks || due[i + 1].proc != due[i].proc ||
			     due[i + 1].window != due[i].window))
			err = end_window(f, proc, f->run->pub.window[due[i].window].window);
	}
	tp_reader_room_free(&room);
	free(rec);
	free(thread);
	return err;
}

/* The same rank on two hosts, never started again: these are traces of two trainings. */
static bool has_twice(const struct tp_run_in *run)
{
	for (uint32_t i = 0; i < run->pub.n_procs; i++) {
		const struct tp_proc_in *a = (struct tp_proc_in *)run->pub.proc[i];

		for (uint32_t k = 0; k < i && a->pub.rank >= 0 && !a->pub.worker; k++) {
			const struct tp_proc_in *b = (struct tp_proc_in *)run->pub.proc[k];

			if (a->host == b->host || a->pub.rank != b->pub.rank || b->pub.worker ||
			    a->pub.restart != b->pub.restart ||
			    a->pub.world_size != b->pub.world_size)
				continue;
			tp_run_issue((struct tp_run *)&run->pub, &a->pub, false,
				     "this rank is on two hosts: these are several training jobs, and "
				     "their collectives say nothing about each other's clocks");
			return true;
		}
	}
	return false;
}

int tp_clocks_find(struct tp_run_in *run, uint32_t n_hosts, struct tp_clocks *clocks,
		   struct tp_clocks_found *found)
{
	struct find f = {.run = run, .clocks = clocks, .found = found,
			 .first_ns = INT64_MAX, .last_ns = INT64_MIN,
			 .n_meanings = run->strings.n_strings};
	struct due *due = list_blocks(run);
	int err = -ENOMEM;

	*found = (struct tp_clocks_found){0};
	f.match = tp_clocks_match_new(n_hosts);
	f.meaning = calloc(f.n_meanings + 1, sizeof(*f.meaning));
	if (due && f.match && f.meaning)
		err = take_blocks(&f, due);
	if (!err && !has_twice(run))
		err = tp_clocks_match_orders(f.match, clocks, &found->n_collectives);
	tp_clocks_match_free(f.match);
	free(f.meaning);
	free(f.call);
	free(f.step);
	free(due);
	return err;
}
