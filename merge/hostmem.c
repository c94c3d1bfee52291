/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hostmem.c - host memory over time: who holds it at the peak, what stays, what comes and goes
 *
 * What each stack held at the peak is not copied at each new peak: a row that changes for the
 * first time since then still has its value of that moment, and keeps it aside.
 *
 * The allocation that reuses an address can come before the free of the block that was there:
 * clocks of two threads differ a little, and a free is recorded before it is done. Then the old
 * block is gone at once, and the free that is still due is taken for its own when it comes from
 * another thread, soon enough.
 */
#include "merge/hostmem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "merge/grow.h"
#include "merge/hostmem_blocks.h"
#include "merge/hostmem_maps.h"
#include "merge/keyed.h"
#include "merge/label.h"
#include "merge/sum.h"

enum {
	SHARE = 1024,		/* of a block: a sampled one counts for more than one */
	DUE_NS = 100000,	/* a free may be that late */
	DUE_MAX = 256,
	SAMPLE_BYTES = 512 << 10,	/* when the trace does not say */
	LEAKED_STEPS = 2,
	SAMPLE_MOST = 1 << 30,
};

struct row {
	struct tp_hostmem_row pub;	/* blocks in shares until the end */
	int64_t live_bytes, live_shares;
	uint64_t epoch;		/* of the book's peaks, when it last changed */
	double variance;
};

/* A free that has not come yet. */
struct due {
	uint64_t address;
	int64_t until_ns;
	const struct tp_thread *other;	/* than this one, which has the address now */
};

/* Of a process. */
struct book {
	struct tp_hostmem_proc pub;
	int64_t live_bytes, live_shares, peak_shares;
	uint64_t epoch;		/* how often the peak moved */
	struct tp_hostmem_blocks blocks;
	struct tp_hostmem_maps maps;
	struct row *row;
	uint32_t n_rows, cap_rows;
	struct tp_keyed rows;	/* hash: of the stack, one to one */
	uint32_t *n_of_thread;	/* allocations; by index in proc->thread */
	uint8_t *moved_of_thread;	/* kind of what its last mremap took away */
	struct due due[DUE_MAX];
	uint32_t n_due;
	uint32_t window;
	bool has_window, has_any;
	uint32_t step;		/* of this process, from 1 on; 0: none yet */
	uint32_t step_at;	/* in hostmem.step, plus one; 0: not in one */
	uint32_t n_ended;	/* steps that are over */
	int64_t step_end_ns;
	double variance;
};

struct tp_hostmem {
	const struct tp_run *run;
	struct tp_stacks *stacks;
	struct book *book;	/* by tp_proc.at */
	struct tp_hostmem_proc *proc;	/* at the end: of those that have any */
	uint32_t n_procs, cap_procs;
	struct tp_hostmem_row *row;
	uint32_t n_rows, cap_rows;
	struct tp_hostmem_step *step;
	uint32_t n_steps, cap_steps;
	bool has_any, is_incomplete, is_ended;
};

static uint64_t sample_bytes_of(const struct tp_run *run, const struct tp_proc *proc)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < run->n_windows && !bytes; i++) {
		if (run->window[i].proc != proc)
			continue;
		bytes = tp_fact_u64(run->window[i].meta, "heap.sample_bytes", 0);
		if (!bytes)
			bytes = tp_fact_u64(run->window[i].totals, "heap.sample_bytes", 0);
	}
	return bytes && bytes <= SAMPLE_MOST ? bytes : SAMPLE_BYTES;
}

struct tp_hostmem *tp_hostmem_new(const struct tp_run *run)
{
	struct tp_hostmem *mem = calloc(1, sizeof(*mem));

	if (!mem)
		return NULL;
	mem->run = run;
	mem->stacks = tp_stacks_new(run);
	mem->book = calloc(run->n_procs + 1, sizeof(*mem->book));
	if (!mem->stacks || !mem->book) {
		tp_hostmem_free(mem);
		return NULL;
	}
	for (uint32_t i = 0; i < run->n_procs; i++) {
		struct book *book = &mem->book[i];

		book->pub.proc = run->proc[i];
		book->pub.sample_bytes = sample_bytes_of(run, run->proc[i]);
		for (uint32_t c = 0; c < TP_HOSTMEM_COUNTERS; c++)
			book->pub.counted[c] = (struct tp_hostmem_counted){-1, -1, -1, -1};
	}
	return mem;
}

void tp_hostmem_free(struct tp_hostmem *mem)
{
	if (!mem)
		return;
	for (uint32_t i = 0; mem->book && i < mem->run->n_procs; i++) {
		tp_hostmem_blocks_free(&mem->book[i].blocks);
		tp_hostmem_maps_free(&mem->book[i].maps);
		tp_keyed_free(&mem->book[i].rows);
		free(mem->book[i].row);
		free(mem->book[i].n_of_thread);
		free(mem->book[i].moved_of_thread);
	}
	free(mem->book);
	tp_stacks_free(mem->stacks);
	free(mem->proc);
	free(mem->row);
	free(mem->step);
	free(mem);
}

/* ---- what a block counts for ---- */

struct weight {
	int64_t bytes, shares;
	double variance;
};

/* A block of s bytes is sampled with probability p = 1 - exp(-s / mean); it stands for 1 / p. */
static struct weight weigh(const struct book *book, uint64_t bytes, bool is_sampled)
{
	double p, s = (double)bytes;

	if (bytes > INT64_MAX / SHARE)
		bytes = INT64_MAX / SHARE;
	if (!is_sampled)
		return (struct weight){(int64_t)bytes, SHARE, 0};
	/* Nothing is sampled by its 0 bytes: as if it had one. */
	p = -expm1(-(s > 0 ? s : 1) / (double)book->pub.sample_bytes);
	return (struct weight){
		.bytes = (int64_t)llround(fmin(s / p, 0x1p60)),
		.shares = (int64_t)llround(fmin(SHARE / p, 0x1p60)),
		.variance = (1 - p) * (s / p) * (s / p),
	};
}

/* ---- rows and the peak ---- */

/* Before the row changes. */
static void keep_peak(const struct book *book, struct row *row)
{
	if (row->epoch == book->epoch)
		return;
	row->pub.peak_bytes = (uint64_t)row->live_bytes;
	row->pub.peak_blocks = (uint64_t)row->live_shares;
	row->epoch = book->epoch;
}

/* Index, or UINT32_MAX: out of memory. */
static uint32_t find_row(struct tp_hostmem *mem, struct book *book, uint32_t stack)
{
	uint32_t hash = stack * 0x9e3779b1u, at, row = tp_keyed_first(&book->rows, hash, &at);

	if (row != TP_NO_KEYED)
		return row;
	if (!tp_grow(&book->row, &book->cap_rows, (uint64_t)book->n_rows + 1,
		     sizeof(*book->row)) ||
	    !tp_keyed_add(&book->rows, hash, book->n_rows)) {
		mem->is_incomplete = true;
		return UINT32_MAX;
	}
	book->row[book->n_rows] = (struct row){
		.pub = {.stack = stack, .proc = book->pub.proc->at}, .epoch = book->epoch};
	return book->n_rows++;
}

static void note_beside_peak(struct book *book)
{
	memcpy(book->pub.mapped_at_peak, book->pub.mapped, sizeof(book->pub.mapped));
	for (uint32_t i = 0; i < TP_HOSTMEM_COUNTERS; i++)
		book->pub.counted[i].at_peak = book->pub.counted[i].last;
}

static void note_live(struct tp_hostmem *mem, struct book *book, int64_t now)
{
	struct tp_hostmem_step *step = book->step_at ? &mem->step[book->step_at - 1] : NULL;

	if (step && book->live_bytes > step->peak_live)
		step->peak_live = book->live_bytes;
	if (book->live_bytes <= (int64_t)book->pub.peak_bytes)
		return;
	book->pub.peak_bytes = (uint64_t)book->live_bytes;
	book->peak_shares = book->live_shares;
	book->pub.peak_ns = now;
	book->pub.is_peak_in_step = step != NULL;
	book->pub.peak_step = step ? step->step : 0;
	book->epoch++;
	note_beside_peak(book);
}

/* ---- steps ---- */

static void end_step(struct tp_hostmem *mem, struct book *book)
{
	if (!book->step_at)
		return;
	mem->step[book->step_at - 1].end_live = book->live_bytes;
	book->step_at = 0;
	book->n_ended = book->step;
}

static void take_step(struct tp_hostmem *mem, struct book *book, const struct tp_event *event)
{
	end_step(mem, book);
	if (!tp_grow(&mem->step, &mem->cap_steps, (uint64_t)mem->n_steps + 1,
		     sizeof(*mem->step))) {
		mem->is_incomplete = true;
		return;
	}
	mem->step[mem->n_steps++] = (struct tp_hostmem_step){
		.proc = event->proc->at, .window = event->window, .step = event->link,
		.begin_live = book->live_bytes, .end_live = book->live_bytes,
		.peak_live = book->live_bytes,
		.begin_ns = event->begin_ns, .end_ns = event->end_ns,
	};
	book->step_at = mem->n_steps;
	book->step++;
	book->step_end_ns = event->end_ns;
}

/* The step that lasts now; NULL: none. */
static struct tp_hostmem_step *step_at(struct tp_hostmem *mem, struct book *book, int64_t now)
{
	if (book->step_at && now >= book->step_end_ns)
		end_step(mem, book);
	return book->step_at ? &mem->step[book->step_at - 1] : NULL;
}

/* ---- windows ---- */

struct leaked {
	uint32_t row, step;
};

static int compare_leaked(const void *a, const void *b)
{
	const struct leaked *x = a, *y = b;

	if (x->row != y->row)
		return x->row < y->row ? -1 : 1;
	return (x->step > y->step) - (x->step < y->step);
}

/* What is alive now, by stack; and what of it is older than it should be. */
static void close_rows(struct tp_hostmem *mem, struct book *book)
{
	struct leaked *leaked = malloc((book->blocks.n + 1) * sizeof(*leaked));
	uint32_t n = 0;

	for (uint32_t i = 0; i < book->n_rows; i++) {
		struct row *row = &book->row[i];

		keep_peak(book, row);
		row->pub.end_bytes = (uint64_t)row->live_bytes;
		row->pub.end_blocks = (uint64_t)row->live_shares;
		row->pub.leaked_blocks = row->pub.leaked_bytes = 0;
		row->pub.n_leaked_steps = 0;
	}
	book->pub.leaked_blocks = book->pub.leaked_bytes = 0;
	if (!leaked) {
		mem->is_incomplete = true;
		return;
	}
	for (uint32_t i = 0; i < book->blocks.n_slots; i++) {
		const struct tp_hostmem_block *block = &book->blocks.slot[i];
		struct weight weight;
		struct row *row;

		if (!block->row || !block->step || book->n_ended < block->step + LEAKED_STEPS)
			continue;
		weight = weigh(book, block->bytes, block->is_sampled);
		row = &book->row[block->row - 1];
		row->pub.leaked_bytes += (uint64_t)weight.bytes;
		row->pub.leaked_blocks += (uint64_t)weight.shares;
		book->pub.leaked_bytes += (uint64_t)weight.bytes;
		book->pub.leaked_blocks += (uint64_t)weight.shares;
		leaked[n++] = (struct leaked){block->row - 1, block->step};
	}
	qsort(leaked, n, sizeof(*leaked), compare_leaked);
	for (uint32_t i = 0; i < n; i++)
		book->row[leaked[i].row].pub.n_leaked_steps +=
			!i || compare_leaked(&leaked[i - 1], &leaked[i]) != 0;
	free(leaked);
}

static void drop_books(struct book *book)
{
	for (uint32_t i = 0; i < book->n_rows; i++) {
		keep_peak(book, &book->row[i]);
		book->row[i].live_bytes = book->row[i].live_shares = 0;
	}
	book->live_bytes = book->live_shares = 0;
	book->pub.n_missed_frees += book->n_due;
	book->n_due = 0;
	tp_hostmem_blocks_free(&book->blocks);
	tp_hostmem_maps_free(&book->maps);
	memset(book->pub.mapped, 0, sizeof(book->pub.mapped));
}

static const struct tp_window *find_window(const struct tp_hostmem *mem,
					   const struct tp_proc *proc, uint32_t number)
{
	for (uint32_t i = 0; i < mem->run->n_windows; i++)
		if (mem->run->window[i].proc == proc && mem->run->window[i].window == number)
			return &mem->run->window[i];
	return NULL;
}

/* False: the event is of a window that is over. */
static bool enter_window(struct tp_hostmem *mem, struct book *book, const struct tp_event *event)
{
	const struct tp_window *before, *now;

	if (book->has_window && book->window == event->window)
		return true;
	if (book->has_window && event->window < book->window)
		return false;
	now = find_window(mem, event->proc, event->window);
	before = book->has_window ? find_window(mem, event->proc, book->window) : NULL;
	if (!before || !now || book->window + 1 != event->window ||
	    now->begin_ns > before->end_ns) {
		end_step(mem, book);
		drop_books(book);
		book->pub.n_windows++;
	}
	book->window = event->window;
	if (!book->has_window)
		book->pub.begin_ns = now ? now->begin_ns : event->begin_ns;
	book->pub.end_ns = now ? now->end_ns : event->begin_ns;
	book->has_window = true;
	return true;
}

/* ---- blocks ---- */

static void remove_block(struct tp_hostmem *mem, struct book *book,
			 struct tp_hostmem_block *block, int64_t now)
{
	struct weight weight = weigh(book, block->bytes, block->is_sampled);
	struct row *row = &book->row[block->row - 1];
	struct tp_hostmem_step *step = step_at(mem, book, now);

	keep_peak(book, row);
	row->live_bytes = tp_sub(row->live_bytes, weight.bytes);
	row->live_shares = tp_sub(row->live_shares, weight.shares);
	book->live_bytes = tp_sub(book->live_bytes, weight.bytes);
	book->live_shares = tp_sub(book->live_shares, weight.shares);
	book->pub.n_frees += (uint64_t)weight.shares;
	if (!block->is_sampled &&
	    book->n_of_thread[block->thread] - block->nth < TP_HOSTMEM_TEMPORARY) {
		row->pub.n_temporary++;
		row->pub.temporary_bytes += block->bytes;
		book->pub.n_temporary++;
	}
	if (step) {
		step->n_frees += (uint64_t)weight.shares;
		step->free_bytes += (uint64_t)weight.bytes;
	}
	tp_hostmem_block_take(&book->blocks, block);
}

static void expire_due(struct book *book, int64_t now)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < book->n_due; i++) {
		if (book->due[i].until_ns < now)
			book->pub.n_missed_frees++;
		else
			book->due[kept++] = book->due[i];
	}
	book->n_due = kept;
}

static void add_due(struct book *book, const struct tp_event *event)
{
	expire_due(book, event->begin_ns);
	if (book->n_due == DUE_MAX) {
		book->pub.n_missed_frees++;
		return;
	}
	book->due[book->n_due++] = (struct due){
		.address = event->arg, .until_ns = tp_add(event->begin_ns, DUE_NS),
		.other = event->thread,
	};
}

/* The free was due of a block that is gone already. */
static bool take_due(struct book *book, const struct tp_event *event)
{
	expire_due(book, event->begin_ns);
	for (uint32_t i = 0; i < book->n_due; i++) {
		if (book->due[i].address != event->arg || book->due[i].other == event->thread)
			continue;
		book->n_due--;
		memmove(&book->due[i], &book->due[i + 1],
			(book->n_due - i) * sizeof(book->due[0]));
		book->pub.n_late_frees++;
		return true;
	}
	return false;
}

static uint32_t size_class(uint64_t bytes)
{
	uint32_t class = bytes ? 63 - (uint32_t)__builtin_clzll(bytes) : 0;

	return class < TP_HOSTMEM_SIZES ? class : TP_HOSTMEM_SIZES - 1;
}

static bool has_threads(struct tp_hostmem *mem, struct book *book)
{
	/* One more than are counted: nobody's. */
	if (!book->n_of_thread)
		book->n_of_thread = calloc(book->pub.proc->n_threads + 1,
					   sizeof(*book->n_of_thread));
	if (!book->moved_of_thread)
		book->moved_of_thread = calloc(book->pub.proc->n_threads + 1, 1);
	if (book->n_of_thread && book->moved_of_thread)
		return true;
	mem->is_incomplete = true;
	return false;
}

static void take_alloc(struct tp_hostmem *mem, struct book *book, const struct tp_event *event)
{
	bool is_sampled = event->flags & TP_F_SAMPLED;
	struct weight weight = weigh(book, event->len, is_sampled);
	uint32_t thread = (uint32_t)(event->thread - event->proc->thread),
		 at = find_row(mem, book, tp_stacks_of(mem->stacks, event)),
		 class = size_class(event->len);
	struct tp_hostmem_step *step = step_at(mem, book, event->begin_ns);
	struct tp_hostmem_block block, *old;
	struct row *row;

	if (at == UINT32_MAX || !has_threads(mem, book))
		return;
	old = tp_hostmem_block_at(&book->blocks, event->arg);
	if (old) {
		remove_block(mem, book, old, event->begin_ns);
		add_due(book, event);
	}
	block = (struct tp_hostmem_block){
		.address = event->arg, .bytes = event->len, .row = at + 1,
		.nth = ++book->n_of_thread[thread], .step = step ? book->step : 0,
		.thread = (uint16_t)thread, .is_sampled = is_sampled,
	};
	if (!tp_hostmem_block_put(&book->blocks, &block)) {
		mem->is_incomplete = true;
		return;
	}
	row = &book->row[at];
	keep_peak(book, row);
	row->pub.n_allocs += (uint64_t)weight.shares;
	row->pub.alloc_bytes += (uint64_t)weight.bytes;
	row->variance += weight.variance;
	row->live_bytes = tp_add(row->live_bytes, weight.bytes);
	row->live_shares = tp_add(row->live_shares, weight.shares);
	book->pub.n_allocs += (uint64_t)weight.shares;
	book->pub.n_reallocs += event->flags & TP_F_MOVED ? (uint64_t)weight.shares : 0;
	book->pub.alloc_bytes += (uint64_t)weight.bytes;
	book->pub.is_sampled |= is_sampled;
	book->pub.size_count[class] += (uint64_t)weight.shares;
	book->pub.size_bytes[class] += (uint64_t)weight.bytes;
	book->variance += weight.variance;
	book->live_bytes = tp_add(book->live_bytes, weight.bytes);
	book->live_shares = tp_add(book->live_shares, weight.shares);
	if (step) {
		step->n_allocs += (uint64_t)weight.shares;
		step->alloc_bytes += (uint64_t)weight.bytes;
	}
	note_live(mem, book, event->begin_ns);
}

static void take_free(struct tp_hostmem *mem, struct book *book, const struct tp_event *event)
{
	struct tp_hostmem_block *block;

	if (book->n_due && take_due(book, event))
		return;
	block = tp_hostmem_block_at(&book->blocks, event->arg);
	if (block)
		remove_block(mem, book, block, event->begin_ns);
	else
		book->pub.n_unknown_frees++;
}

/* ---- mappings ---- */

static uint8_t mapping_kind(const struct tp_string *name)
{
	struct tp_mapping mapping = {.kind = 0};

	if (name->kind == TP_STRING_MAPPING)
		memcpy(&mapping, name->bytes,
		       name->n_bytes < sizeof(mapping) ? name->n_bytes : sizeof(mapping));
	return mapping.kind < TP_MAPPING_N ? mapping.kind : 0;
}

static void take_mapping(struct tp_hostmem *mem, struct book *book, const struct tp_event *event)
{
	uint64_t removed[TP_MAPPING_N] = {0}, known = 0, begin = event->arg,
		 end = begin + event->len;
	bool is_map = event->kind == TP_REC_MAP, is_good;
	uint8_t kind = is_map ? mapping_kind(event->name) : 0, *moved;

	if (end < begin || !event->len || !has_threads(mem, book))
		return;
	moved = &book->moved_of_thread[event->thread - event->proc->thread];
	/* It is still what it was. */
	if (is_map && !kind && (event->flags & TP_F_MOVED))
		kind = *moved;
	is_good = is_map ? tp_hostmem_map(&book->maps, begin, end, kind, removed)
			 : tp_hostmem_unmap(&book->maps, begin, end, removed);
	if (!is_good) {
		mem->is_incomplete = true;
		return;
	}
	for (uint32_t i = 0; i < TP_MAPPING_N; i++) {
		book->pub.mapped[i] -= removed[i];
		known += removed[i];
		if (!is_map && removed[i])
			*moved = (uint8_t)i;
	}
	if (!is_map) {
		book->pub.unknown_unmap_bytes += event->len - known;
		return;
	}
	book->pub.n_maps[kind]++;
	book->pub.mapped[kind] += event->len;
	if (book->pub.mapped[kind] > book->pub.mapped_peak[kind])
		book->pub.mapped_peak[kind] = book->pub.mapped[kind];
}

/* ---- counters ---- */

static void take_counter(struct book *book, const struct tp_event *event)
{
	static const char *const names[TP_HOSTMEM_COUNTERS] = {
		[TP_HOSTMEM_RSS] = "RSS", [TP_HOSTMEM_PSS] = "PSS",
		[TP_HOSTMEM_PRIVATE] = "private", [TP_HOSTMEM_SHARED] = "shared",
		[TP_HOSTMEM_LIVE] = "heap live",
	};
	int64_t value = (int64_t)event->arg;

	if (event->name->kind != TP_STRING_COUNTER || (event->flags & TP_F_DOUBLE) || value < 0)
		return;
	for (uint32_t i = 0; i < TP_HOSTMEM_COUNTERS; i++) {
		struct tp_hostmem_counted *counted = &book->pub.counted[i];

		/* Name, NUL, unit, NUL, group. */
		if (strcmp(event->name->bytes, names[i]) != 0)
			continue;
		counted->last = value;
		if (counted->first < 0)
			counted->first = counted->at_peak = value;
		if (value > counted->most)
			counted->most = value;
		return;
	}
}

void tp_hostmem_event(struct tp_hostmem *mem, const struct tp_event *event)
{
	struct book *book = &mem->book[event->proc->at];

	switch (event->kind) {
	case TP_REC_FRAME:
		tp_stacks_event(mem->stacks, event);
		return;
	case TP_REC_COUNTER:
		take_counter(book, event);
		return;
	case TP_REC_STEP:
		if (enter_window(mem, book, event))
			take_step(mem, book, event);
		return;
	case TP_REC_HEAPALLOC:
	case TP_REC_HEAPFREE:
	case TP_REC_MAP:
	case TP_REC_UNMAP:
		break;
	default:
		return;
	}
	mem->has_any = book->has_any = true;
	if (!enter_window(mem, book, event))
		return;
	if (event->kind == TP_REC_HEAPALLOC)
		take_alloc(mem, book, event);
	else if (event->kind == TP_REC_HEAPFREE)
		take_free(mem, book, event);
	else
		take_mapping(mem, book, event);
}

/* ---- results ---- */

static uint64_t blocks_of(uint64_t shares)
{
	return (shares + SHARE / 2) / SHARE;
}

static bool add_rows(struct tp_hostmem *mem, const struct book *book)
{
	if (!tp_grow(&mem->row, &mem->cap_rows, (uint64_t)mem->n_rows + book->n_rows,
		     sizeof(*mem->row)))
		return false;
	for (uint32_t i = 0; i < book->n_rows; i++) {
		struct tp_hostmem_row row = book->row[i].pub;

		row.n_allocs = blocks_of(row.n_allocs);
		row.peak_blocks = blocks_of(row.peak_blocks);
		row.end_blocks = blocks_of(row.end_blocks);
		row.leaked_blocks = blocks_of(row.leaked_blocks);
		row.error_bytes = sqrt(book->row[i].variance);
		mem->row[mem->n_rows++] = row;
	}
	return true;
}

static void close_book(struct tp_hostmem *mem, struct book *book)
{
	struct tp_hostmem_proc *pub = &book->pub;

	end_step(mem, book);
	close_rows(mem, book);
	pub->live_bytes = (uint64_t)book->live_bytes;
	pub->live_blocks = blocks_of((uint64_t)book->live_shares);
	pub->peak_blocks = blocks_of((uint64_t)book->peak_shares);
	pub->leaked_blocks = blocks_of(pub->leaked_blocks);
	pub->n_allocs = blocks_of(pub->n_allocs);
	pub->n_frees = blocks_of(pub->n_frees);
	pub->n_reallocs = blocks_of(pub->n_reallocs);
	pub->n_missed_frees += book->n_due;
	pub->error_bytes = sqrt(book->variance);
	for (uint32_t i = 0; i < TP_HOSTMEM_SIZES; i++)
		pub->size_count[i] = blocks_of(pub->size_count[i]);
	if (!tp_grow(&mem->proc, &mem->cap_procs, (uint64_t)mem->n_procs + 1,
		     sizeof(*mem->proc)) ||
	    !add_rows(mem, book)) {
		mem->is_incomplete = true;
		return;
	}
	mem->proc[mem->n_procs++] = *pub;
	tp_hostmem_blocks_free(&book->blocks);
	tp_hostmem_maps_free(&book->maps);
	tp_keyed_free(&book->rows);
	free(book->row);
	book->row = NULL;
	book->n_rows = book->cap_rows = 0;
}

void tp_hostmem_end(struct tp_hostmem *mem)
{
	uint32_t n_steps = 0;

	if (mem->is_ended)
		return;
	mem->is_ended = true;
	for (uint32_t i = 0; i < mem->run->n_procs; i++)
		if (mem->book[i].has_any)
			close_book(mem, &mem->book[i]);
	for (uint32_t i = 0; i < mem->n_steps; i++) {
		struct tp_hostmem_step step = mem->step[i];

		if (!mem->book[step.proc].has_any)
			continue;
		step.n_allocs = blocks_of(step.n_allocs);
		step.n_frees = blocks_of(step.n_frees);
		mem->step[n_steps++] = step;
	}
	mem->n_steps = n_steps;
}

const struct tp_hostmem_proc *tp_hostmem_procs(const struct tp_hostmem *mem, uint32_t *n)
{
	*n = mem->n_procs;
	return mem->proc;
}

const struct tp_hostmem_row *tp_hostmem_rows(const struct tp_hostmem *mem, uint32_t *n)
{
	*n = mem->n_rows;
	return mem->row;
}

const struct tp_hostmem_step *tp_hostmem_steps(const struct tp_hostmem *mem, uint32_t *n)
{
	*n = mem->n_steps;
	return mem->step;
}

struct tp_stacks *tp_hostmem_stacks(const struct tp_hostmem *mem)
{
	return mem->stacks;
}

int64_t tp_hostmem_live_now(const struct tp_hostmem *mem, const struct tp_proc *proc)
{
	return mem->book[proc->at].live_bytes;
}

uint64_t tp_hostmem_allocs_now(const struct tp_hostmem *mem, const struct tp_proc *proc)
{
	return blocks_of(mem->book[proc->at].pub.n_allocs);
}

bool tp_hostmem_has_any(const struct tp_hostmem *mem)
{
	return mem->has_any;
}

bool tp_hostmem_is_incomplete(const struct tp_hostmem *mem)
{
	return mem->is_incomplete;
}
