/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_rig.h - a session driven by hand, and its trace files read back
 */
#ifndef TP_TESTS_SESSION_RIG_H
#define TP_TESTS_SESSION_RIG_H

#include "runtime/base/text.h"
#include "runtime/engine/intern.h"
#include "runtime/engine/life.h"
#include "runtime/engine/session.h"
#include "runtime/engine/step/step.h"
#include "runtime/trace/ledger.h"
#include "runtime/trace/reader.h"
#include "tests/unit/ring_rig.h"

/* What the fake probe was told, in order: "warm", "arm", "disarm", "report", "close", "forked". */
static char rig_told[4096];
static uint32_t rig_n_told;

/* The drain thread and guest threads write there; tests that look at it wait first. */
static struct tp_spin rig_lock;

static inline void rig_note(const char *what)
{
	tp_spin_lock(&rig_lock);
	if (strlen(rig_told) + strlen(what) + 2 < sizeof(rig_told)) {
		strcat(rig_told, what);
		strcat(rig_told, " ");
	}
	rig_n_told++;
	tp_spin_unlock(&rig_lock);
}

/* What was told without the words the drain thread says when it comes to it: "warm". */
static inline const char *rig_told_in_order(void)
{
	static char told[sizeof(rig_told)];
	const char *from = rig_told;
	size_t n = 0;

	while (*from) {
		if (!strncmp(from, "warm ", 5))
			from += 5;
		else
			told[n++] = *from++;
	}
	told[n] = '\0';
	return told;
}

static inline int rig_probe_open(const struct tp_config *config)
{
	rig_note("open");
	return 0;
}
static inline void rig_probe_warm(void)
{
	rig_note("warm");
}
static inline void rig_probe_arm(void)
{
	rig_note("arm");
}
static inline void rig_probe_disarm(void)
{
	rig_note("disarm");
}
static inline void rig_probe_report(struct tp_text *totals)
{
	tp_text_str(totals, "rig=was here\n");
}
static inline void rig_probe_forked(void)
{
	atomic_store(&rig_lock.held, 0);	/* another thread of the parent may have had it */
	rig_note("forked");
}
static inline void rig_probe_close(void)
{
	rig_note("close");
}

static const struct tp_probe rig_probe = {
	.name = "rig", .open = rig_probe_open, .warm = rig_probe_warm, .arm = rig_probe_arm,
	.disarm = rig_probe_disarm, .report = rig_probe_report, .forked = rig_probe_forked,
	.close = rig_probe_close,
};
static const struct tp_probe *const rig_probes[] = {&rig_probe, NULL};

static struct tp_config rig_config;

static inline const char *rig_getenv(void *ctx, const char *name)
{
	return NULL;
}

/* Opens a session in rig_dir with that schedule. Fields of rig_config may be set before. */
static inline int rig_open(const char *schedule)
{
	char bad[64];

	if (tp_sched_parse(&rig_config.schedule, schedule, bad, sizeof(bad)))
		abort();
	return tp_session_open(&rig_config, rig_probes, "file:/x/train.py");
}

static inline void rig_set_up(void)
{
	rig_make_dir();
	tp_clock_init(TP_CLOCK_AUTO);
	tp_config_read(&rig_config, rig_getenv, NULL);
	snprintf(rig_config.dir, sizeof(rig_config.dir), "%s/run", rig_dir);
	snprintf(rig_config.buffer_dir, sizeof(rig_config.buffer_dir), "%s", rig_buffer_dir());
	rig_config.buffer_bytes = 4 << 20;
	rig_config.log = TP_LOG_QUIET;
}

static inline void rig_tear_down(void)
{
	tp_session_close("exit");
	rig_remove_dir();
}

/* One operator that ends now. Returns its end. */
static inline uint64_t rig_op(const char *name, uint64_t begin, uint64_t arg)
{
	struct tp_rec *rec = tp_ring_reserve();
	uint64_t now = tp_clock_now();

	if (!rec)
		return 0;
	memset(rec, 0, sizeof(*rec));
	rec->time = begin ? begin : now;
	tp_rec_set_len(rec, now - rec->time);
	rec->kind = TP_REC_OP;
	rec->name = tp_intern(TP_STRING_OP, name, (uint32_t)strlen(name) + 1);
	rec->arg = TP_ARG_OP(0, 0, 0);
	rec->link = (uint32_t)arg;
	tp_ring_commit();
	return now;
}

static inline void rig_step(void)
{
	const struct tp_step_facts facts = {.batches = 1, .source = TP_STEP_OPTIMIZER};

	tp_session_step(tp_clock_now(), &facts);
}

/* ---- a trace, read ---- */

struct rig_trace {
	bool is_there, is_whole;
	struct tp_rec *rec;
	uint16_t *thread;
	uint32_t n;
	char meta[20000], totals[20000];
	struct tp_thread_entry slot[TP_RING_SLOTS];
	struct rig_string {
		uint32_t id, kind;
		char text[64];
	} string[512];
	uint32_t n_strings;
	uint32_t n_bad_blocks;
	struct rig_trace *older;
};

/* All that were read, until the test's process ends. */
static struct rig_trace *rig_traces __attribute__((unused));

static inline void rig_complain(void *ctx, const char *path, uint64_t offset, const char *what)
{
}

static inline void rig_keep_string(void *ctx, uint32_t id, uint32_t kind, const char *bytes,
				   uint32_t n_bytes)
{
	struct rig_trace *trace = ctx;
	struct rig_string *string = &trace->string[trace->n_strings++ % 512];

	string->id = id;
	string->kind = kind;
	snprintf(string->text, sizeof(string->text), "%.*s", (int)n_bytes, bytes);
}

/* `limit`: only blocks that end before it count. */
static inline struct rig_trace *rig_read_trace(const char *path, uint64_t limit)
{
	struct rig_trace *trace = calloc(1, sizeof(*trace));
	struct tp_reader reader;

	trace->older = rig_traces;
	rig_traces = trace;
	if (tp_reader_open(&reader, path, rig_complain, NULL))
		return trace;
	trace->is_there = true;
	trace->is_whole = reader.is_whole;
	trace->rec = calloc(1, sizeof(struct tp_rec));
	for (uint32_t i = 0; i < reader.n_blocks; i++) {
		const struct tp_reader_block *block = &reader.block[i];
		const uint8_t *raw;
		uint32_t n;

		switch (block->head.type) {
		case TP_BLOCK_META:
		case TP_BLOCK_END:
			if (!tp_reader_payload(&reader, i, &raw, &n))
				memcpy(block->head.type == TP_BLOCK_META ? trace->meta : trace->totals,
				       raw, n < 19999 ? n : 19999);
			break;
		case TP_BLOCK_STRINGS:
			tp_reader_strings(&reader, i, rig_keep_string, trace);
			break;
		case TP_BLOCK_THREADS:
			if (!tp_reader_payload(&reader, i, &raw, &n))
				for (uint32_t t = 0; t < block->head.n_items; t++) {
					struct tp_thread_entry entry;

					memcpy(&entry, raw + t * sizeof(entry), sizeof(entry));
					trace->slot[entry.slot] = entry;
				}
			break;
		case TP_BLOCK_EVENTS:
		case TP_BLOCK_LONG:
		case TP_BLOCK_HEAP:
			if (block->offset + 128 + block->head.stored_bytes > limit)
				break;
			trace->rec = realloc(trace->rec, (trace->n + block->head.n_items) *
								 sizeof(struct tp_rec));
			trace->thread = realloc(trace->thread, (trace->n + block->head.n_items) *
								       sizeof(uint16_t));
			if (!tp_reader_events(&reader, i, trace->rec + trace->n,
					      trace->thread + trace->n))
				trace->n += block->head.n_items;
			break;
		}
	}
	trace->n_bad_blocks = reader.n_bad_blocks;
	tp_reader_close(&reader);
	return trace;
}

/* Window `n` of rig_dir/run. */
static inline struct rig_trace *rig_window(uint32_t n)
{
	char path[600];

	snprintf(path, sizeof(path), "%s/rank0.%u.tpt", rig_config.dir, n);
	return rig_read_trace(path, UINT64_MAX);
}

static inline const char *rig_name_of(const struct rig_trace *trace, const struct tp_rec *rec)
{
	for (uint32_t i = 0; i < trace->n_strings && i < 512; i++)
		if (trace->string[i].id == rec->name)
			return trace->string[i].text;
	return "";
}

/* How many records have that name (NULL: any), kind (0: any) and all these flags. */
static inline uint32_t rig_count(const struct rig_trace *trace, const char *name, uint8_t kind,
				 uint8_t flags)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < trace->n; i++)
		n += (!kind || trace->rec[i].kind == kind) && (trace->rec[i].flags & flags) == flags &&
		     (!name || !strcmp(name, rig_name_of(trace, &trace->rec[i])));
	return n;
}

static inline uint64_t rig_total(const struct rig_trace *trace, const char *key)
{
	char value[64];

	if (!tp_reader_text_value(trace->totals, strlen(trace->totals), key, value, sizeof(value)))
		return UINT64_MAX;
	return strtoull(value, NULL, 10);
}

/* Rows of the ledger into row[]; returns how many. */
static inline uint32_t rig_read_ledger(const char *path, struct tp_ledger_row *row, uint32_t max)
{
	FILE *file = fopen(path, "r");
	char line[1000];
	uint32_t n = 0;

	while (file && n < max && fgets(line, sizeof(line), file)) {
		size_t len = strcspn(line, "\n");

		n += tp_ledger_parse_row(line, len, &row[n]);
	}
	if (file)
		fclose(file);
	return n;
}

/* Has the drain finished the first `n` windows, whether with a file or without? It gets its time. */
static inline bool rig_await_written(uint32_t n)
{
	return AWAIT(__atomic_load_n(&tp_ring.head->windows_written, __ATOMIC_ACQUIRE) >= n);
}

/* Is the file of window `n`, which goes on, there? */
static inline bool rig_await_file(uint32_t n)
{
	char path[600];

	snprintf(path, sizeof(path), "%s/rank0.%u.tpt.part", rig_config.dir, n);
	return AWAIT(!access(path, F_OK));
}

static inline uint32_t rig_ledger(struct tp_ledger_row *row, uint32_t max)
{
	char path[600];

	snprintf(path, sizeof(path), "%s/rank0.steps", rig_config.dir);
	return rig_read_ledger(path, row, max);
}

/* ---- steps whose operators tell which one it was ---- */

enum { RIG_OPS = 10 };

/* `n` steps; in step s, RIG_OPS operators called "s<number>" of the run. */
static inline void rig_run_steps(uint32_t first, uint32_t n)
{
	char name[16];

	for (uint32_t s = first; s < first + n; s++) {
		snprintf(name, sizeof(name), "s%u", s);
		for (int i = 0; i < RIG_OPS && tp_session_is_recording(); i++)
			rig_op(name, 0, s);
		rig_step();
	}
}

/* Which steps have their operators in the trace, e.g. "3 4 5"; a wrong number of them: "3?". */
static inline const char *rig_steps_in(const struct rig_trace *trace)
{
	static char text[4096];
	char name[16];

	text[0] = '\0';
	for (uint32_t s = 0; s < 200; s++) {
		uint32_t n;

		snprintf(name, sizeof(name), "s%u", s);
		n = rig_count(trace, name, TP_REC_OP, 0);
		if (n)
			sprintf(text + strlen(text), "%s%u%s", text[0] ? " " : "", s, n == RIG_OPS ? "" : "?");
	}
	return text;
}

#endif
