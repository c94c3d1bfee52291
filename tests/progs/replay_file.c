/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_file.c - reads a replay file, and gives each thread its items and each call its work
 */
#include "tests/progs/replay_file.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cupti.h>

enum { FIELDS_MAX = 64, WARNED_MAX = 256 };
#define NONE UINT32_MAX

struct field {
	const char *key;
	char *value;
	bool is_used;
};

static struct {
	struct replay_file *file;
	uint32_t line;
	const char *kind;
	struct field field[FIELDS_MAX];
	uint32_t n;
	uint64_t start;			/* of the line before */
	const char *warned[WARNED_MAX];
	uint32_t n_warned;
} in;

static _Noreturn __attribute__((format(printf, 1, 2))) void fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fprintf(stderr, "replay: %s:%u: ", in.file->path, in.line);
	vfprintf(stderr, format, args);
	fprintf(stderr, "\n");
	va_end(args);
	exit(2);
}

/* Once for each `what`. */
static void warn(const char *what, const char *name)
{
	char text[160];

	snprintf(text, sizeof(text), "%s '%.100s' is ignored", what, name);
	for (uint32_t i = 0; i < in.n_warned; i++)
		if (!strcmp(in.warned[i], text))
			return;
	if (in.n_warned == WARNED_MAX)
		return;
	in.warned[in.n_warned++] = strdup(text);
	fprintf(stderr, "replay: %s:%u: %s\n", in.file->path, in.line, text);
}

/* ---- one line ---- */

static void unescape(char *text)
{
	char *to = text;

	for (; *text; text++) {
		if (*text != '%') {
			*to++ = *text;
		} else if (!strncmp(text, "%09", 3) || !strncmp(text, "%0A", 3) ||
			   !strncmp(text, "%25", 3)) {
			*to++ = text[2] == '9' ? '\t' : text[2] == 'A' ? '\n' : '%';
			text += 2;
		} else {
			fail("'%.4s' is none of %%09, %%0A and %%25", text);
		}
	}
	*to = 0;
}

static void split(char *line)
{
	char *rest = line, *text, *equals;

	in.kind = strsep(&rest, "\t");
	in.n = 0;
	while ((text = strsep(&rest, "\t"))) {
		equals = strchr(text, '=');
		if (!equals)
			fail("'%.40s' is not key=value", text);
		if (in.n == FIELDS_MAX)
			fail("more than %d fields", FIELDS_MAX);
		*equals = 0;
		unescape(equals + 1);
		in.field[in.n++] = (struct field){.key = text, .value = equals + 1};
	}
}

/* NULL: it is not there. */
static char *text_of(const char *key)
{
	char *found = NULL;

	for (uint32_t i = 0; i < in.n; i++) {
		if (strcmp(in.field[i].key, key))
			continue;
		if (found)
			fail("'%s' is there twice", key);
		in.field[i].is_used = true;
		found = in.field[i].value;
	}
	return found;
}

static char *need_text(const char *key)
{
	char *text = text_of(key);

	if (!text)
		fail("a '%s' line needs '%s'", in.kind, key);
	return text;
}

static int64_t number(const char *key, const char *text)
{
	char *end;
	int64_t value;

	errno = 0;
	value = (*text == '-') ? strtoll(text, &end, 10) : (int64_t)strtoull(text, &end, 0);
	if (errno || end == text || *end)
		fail("%s='%.40s' is no integer", key, text);
	return value;
}

static int64_t get(const char *key, int64_t otherwise)
{
	const char *text = text_of(key);

	return text ? number(key, text) : otherwise;
}

static int64_t need(const char *key)
{
	return number(key, need_text(key));
}

/* The place of a word in a list that ends with NULL; `otherwise` when the key is not there. */
static uint32_t word(const char *key, const char *const *words, uint32_t otherwise)
{
	const char *text = text_of(key);

	if (!text)
		return otherwise;
	for (uint32_t i = 0; words[i]; i++)
		if (!strcasecmp(words[i], text))
			return i;
	fail("%s='%.40s' is none that is known", key, text);
}

static void triple(const char *key, uint32_t *out, uint32_t otherwise)
{
	const char *text = text_of(key);

	out[0] = out[1] = out[2] = otherwise;
	if (text && sscanf(text, "%u,%u,%u", &out[0], &out[1], &out[2]) != 3)
		fail("%s='%.40s' is not x,y,z", key, text);
}

/* ---- what it tells ---- */

static struct replay_item *add(enum replay_kind kind)
{
	struct replay_file *file = in.file;
	struct replay_item *item;

	if (file->n_items == file->cap_items) {
		file->cap_items = file->cap_items ? 2 * file->cap_items : 4096;
		file->items = realloc(file->items, file->cap_items * sizeof(*file->items));
	}
	item = &file->items[file->n_items++];
	memset(item, 0, sizeof(*item));
	item->kind = kind;
	item->line = in.line;
	item->thread = NONE;
	return item;
}

static void read_span(struct replay_item *item)
{
	item->start = (uint64_t)need("start");
	item->end = (uint64_t)need("end");
	if (item->end < item->start)
		fail("ends before it starts");
	if (item->start < in.start)
		fail("starts before the line before it");
	in.start = item->start;
	if (item->end > in.file->last)
		in.file->last = item->end;
}

static void read_at(struct replay_item *item)
{
	item->start = item->end = (uint64_t)need("at");
	if (item->start < in.start)
		fail("starts before the line before it");
	in.start = item->start;
	if (item->end > in.file->last)
		in.file->last = item->end;
}

static void read_correlation(struct replay_item *item, int64_t value)
{
	if (value < 0 || value > UINT32_MAX)
		fail("corr=%ld is not of 32 bits", value);
	item->correlation = (uint32_t)value;
	if (item->correlation > in.file->max_correlation)
		in.file->max_correlation = item->correlation;
}

static uint32_t thread_of(uint64_t tid)
{
	struct replay_file *file = in.file;
	uint32_t i;

	for (i = 0; i < file->n_threads; i++)
		if (file->threads[i].tid == tid)
			return i;
	if (file->n_threads == file->cap_threads) {
		file->cap_threads = file->cap_threads ? 2 * file->cap_threads : 64;
		file->threads = realloc(file->threads, file->cap_threads * sizeof(*file->threads));
	}
	memset(&file->threads[i], 0, sizeof(file->threads[i]));
	file->threads[i].tid = tid;
	file->n_threads++;
	return i;
}

static void give_to_thread(struct replay_item *item, uint64_t tid)
{
	struct replay_thread *thread;

	item->thread = thread_of(tid);	/* which may move them */
	thread = &in.file->threads[item->thread];
	if (thread->n_items == thread->cap_items) {
		thread->cap_items = thread->cap_items ? 2 * thread->cap_items : 256;
		thread->items = realloc(thread->items, thread->cap_items * sizeof(*thread->items));
	}
	thread->items[thread->n_items++] = (uint32_t)(item - in.file->items);
}

static void copy(char *to, size_t cap, const char *text)
{
	if (text)
		snprintf(to, cap, "%s", text);
}

static void ignore_keys(const char *const *keys)
{
	for (; *keys; keys++)
		text_of(*keys);
}

static void read_run(void)
{
	static const char *const told[] = { "backend", "pid", "host", NULL };

	copy(in.file->rank, sizeof(in.file->rank), text_of("rank"));
	copy(in.file->world_size, sizeof(in.file->world_size), text_of("world_size"));
	ignore_keys(told);
}

static void read_cupti(void)
{
	copy(in.file->cupti_version, sizeof(in.file->cupti_version), text_of("version"));
	copy(in.file->driver_version, sizeof(in.file->driver_version), text_of("driver"));
	text_of("runtime");
}

static void read_device(void)
{
	static const char *const keys[] = {
		"name", "sms", "cc", "mem", "clock_khz", "warp", "max_threads_sm", "max_regs_sm",
		"max_smem_sm", "max_threads_block", "max_regs_block", "max_smem_block",
		"max_smem_optin",
	};
	uint32_t id = (uint32_t)need("id");
	const char *text;

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if ((text = text_of(keys[i])))
			fake_gpu_device(id, keys[i], text);
}

static void read_thread(void)
{
	uint32_t i = thread_of((uint64_t)need("tid"));

	copy(in.file->threads[i].name, sizeof(in.file->threads[i].name), text_of("name"));
}

/*
 * A mark has no kind, and trainprof-merge tells operators by their names. One that is not called
 * like an operator ("detach", "record_param_comms") gets the category, which is then part of its
 * name in other forms.
 */
static const char *category_of(const char *name, const char *cat)
{
	static const char own[] = "cpu_op", backward[] = "Backward";
	size_t n = strlen(name);

	while (n && name[n - 1] >= '0' && name[n - 1] <= '9')
		n--;
	if (strcmp(cat, own) || strstr(name, "::") || !strncmp(name, "enumerate(Data", 14) ||
	    !strncmp(name, "ProfilerStep#", 13) ||
	    (n >= sizeof(backward) - 1 &&
	     !strncmp(name + n - (sizeof(backward) - 1), backward, sizeof(backward) - 1)))
		return NULL;
	return own;
}

static void read_range(void)
{
	/* What a mark cannot carry. */
	static const char *const told[] = { "seq", "fwd_tid", "scope", "shapes", "dtypes",
					    "strides", "values", "stack", NULL };
	struct replay_item *item = add(REPLAY_RANGE);

	read_span(item);
	item->name = need_text("name");
	item->range.category = category_of(item->name, need_text("cat"));
	item->range.is_step = !strncmp(item->name, "ProfilerStep#", 13);
	give_to_thread(item, (uint64_t)need("tid"));
	ignore_keys(told);
}

static void read_api(void)
{
	static const char *const domains[] = { "", "driver", "runtime", NULL };
	struct replay_item *item = add(REPLAY_API);

	read_span(item);
	item->name = need_text("name");
	read_correlation(item, need("corr"));
	item->api.domain = word("domain", domains, strncmp(item->name, "cuda", 4) ? 1 : 2);
	item->api.event = (uint32_t)get("event", 0);
	item->api.stream = (uint32_t)get("stream", 0);
	item->api.returned = (int32_t)get("ret", 0);
	item->api.memory = NONE;
	give_to_thread(item, (uint64_t)need("tid"));
}

/* `is_placed`: device, context and stream have to be there. */
static struct fake_work *add_work(enum fake_kind kind, bool is_placed)
{
	struct replay_item *item = add(REPLAY_WORK);
	struct fake_work *work = &item->work;

	read_span(item);
	read_correlation(item, need("corr"));
	work->kind = kind;
	work->start_ns = item->start;
	work->end_ns = item->end;
	work->correlation = item->correlation;
	work->device = (uint32_t)(is_placed ? need("device") : get("device", 0));
	work->context = (uint32_t)(is_placed ? need("context") : get("context", 1));
	work->stream = (uint32_t)(is_placed ? need("stream") : get("stream", -1));
	work->graph = (uint32_t)get("graph", 0);
	work->graph_node = (uint64_t)get("graph_node", 0);
	return work;
}

static void read_kernel(void)
{
	struct fake_work *work = add_work(FAKE_KERNEL, true);

	work->name = need_text("name");
	triple("grid", work->grid, 1);
	triple("block", work->block, 1);
	triple("cluster", work->cluster, 0);
	work->registers = (uint32_t)get("regs", 0);
	work->shared_static = (uint32_t)get("smem_static", 0);
	work->shared_dynamic = (uint32_t)get("smem_dynamic", 0);
	work->queued_ns = (uint64_t)get("queued", 0);
	work->submitted_ns = (uint64_t)get("submitted", 0);
}

static const char *const memory_kinds[] = {	/* CUpti_ActivityMemoryKind */
	"unknown", "pageable", "pinned", "device", "array", "managed", "device_static",
	"managed_static", NULL,
};

/* "host" is another word for pageable memory. */
static uint8_t memory_kind(const char *key)
{
	char *text = text_of(key);

	if (text && !strcmp(text, "host"))
		return CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE;
	return (uint8_t)word(key, memory_kinds, 0);
}

static void read_memcpy(void)
{
	static const char *const kinds[] = {	/* CUpti_ActivityMemcpyKind */
		"unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH", "PtoP",
		NULL,
	};
	struct fake_work *work = add_work(FAKE_MEMCPY, true);

	need_text("kind");
	work->copy_kind = (uint8_t)word("kind", kinds, 0);
	work->bytes = (uint64_t)need("bytes");
	work->from_kind = memory_kind("src");
	work->to_kind = memory_kind("dst");
	work->is_async = (uint8_t)get("async", 0);
	work->from_device = (uint32_t)get("src_device", work->device);
	work->to_device = (uint32_t)get("dst_device", work->device);
}

static void read_memset(void)
{
	struct fake_work *work = add_work(FAKE_MEMSET, true);

	work->bytes = (uint64_t)need("bytes");
	work->value = (uint32_t)get("value", 0);
	work->to_kind = memory_kind("memkind");
	work->is_async = (uint8_t)get("async", 0);
}

static void read_sync(void)
{
	/* CUpti_ActivitySynchronizationType */
	static const char *const kinds[] = { "unknown", "event", "stream_wait", "stream", "context",
					     NULL };
	struct fake_work *work = add_work(FAKE_SYNC, false);

	need_text("kind");
	work->sync_kind = word("kind", kinds, 0);
	work->event = (uint32_t)get("event", CUPTI_SYNCHRONIZATION_INVALID_VALUE);
	work->event_correlation = (uint32_t)get("event_corr", 0);
	work->wait_stream = (uint32_t)get("wait_stream", 0);
}

static void read_graph(void)
{
	struct fake_work *work = add_work(FAKE_GRAPH, false);

	need("device");
	need("stream");
	work->graph = (uint32_t)need("id");
}

static void read_overhead(void)
{
	static const struct { const char *word; uint32_t kind; } kinds[] = {
		{ "unknown", CUPTI_ACTIVITY_OVERHEAD_UNKNOWN },
		{ "driver_compiler", CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER },
		{ "buffer_flush", CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH },
		{ "instrumentation", CUPTI_ACTIVITY_OVERHEAD_CUPTI_INSTRUMENTATION },
		{ "resource", CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE },
		{ "runtime_triggered_module_loading",
		  CUPTI_ACTIVITY_OVERHEAD_RUNTIME_TRIGGERED_MODULE_LOADING },
		{ "lazy_function_loading", CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING },
		{ "command_buffer_full", CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL },
		{ "activity_buffer_request", CUPTI_ACTIVITY_OVERHEAD_ACTIVITY_BUFFER_REQUEST },
		{ "uvm_activity_init", CUPTI_ACTIVITY_OVERHEAD_UVM_ACTIVITY_INIT },
	};
	struct replay_item *item = add(REPLAY_OVERHEAD);
	const char *kind = need_text("kind"), *tid = text_of("tid");

	read_span(item);
	item->work = (struct fake_work){.kind = FAKE_OVERHEAD, .start_ns = item->start,
					.end_ns = item->end};
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(kinds[i].word, kind))
			item->work.overhead_kind = kinds[i].kind;
	if (tid)
		give_to_thread(item, (uint64_t)number("tid", tid));
}

static void read_mem(void)
{
	static const char *const ops[] = { "alloc", "free", "map", "unmap", NULL };
	static const char *const levels[] = { "driver", "framework", NULL };
	static const char *const kinds[] = { "device", "host", "pinned", "managed", "pool", "vmm",
					     "array", "registered", NULL };
	struct replay_item *item = add(REPLAY_MEM);

	read_at(item);
	need_text("op");
	need_text("kind");
	item->mem.op = (uint8_t)word("op", ops, 0);
	item->mem.kind = (uint8_t)word("kind", kinds, 0);
	item->mem.is_driver = word("level", levels, 0) == 0;
	item->mem.address = (uint64_t)get("addr", 0);
	item->mem.bytes = (uint64_t)need("bytes");
	item->mem.device = (int32_t)get("device", 0);
	item->mem.pool = (uint64_t)get("pool", 0);
	item->mem.allocated = (uint64_t)get("total_allocated", 0);
	item->mem.reserved = (uint64_t)get("total_reserved", 0);
	read_correlation(item, get("corr", 0));
	give_to_thread(item, (uint64_t)need("tid"));
}

static void read_nvtx(void)
{
	static const char *const ops[] = { "push", "pop", "mark", "start", "end", NULL };
	struct replay_item *item = add(REPLAY_NVTX);

	read_at(item);
	need_text("op");
	item->nvtx.op = (uint8_t)word("op", ops, 0);
	item->name = text_of("name");
	if (!item->name)
		item->name = (char *)"";
	item->nvtx.domain = text_of("domain");
	item->nvtx.id = (uint64_t)get("id", 0);
	give_to_thread(item, (uint64_t)need("tid"));
}

static void read_nccl(void)
{
	if (!in.file->n_nccl++)
		warn("kind", "nccl");
	in.n = 0;
}

static void read_line(char *text)
{
	static const struct { const char *kind; void (*read)(void); } readers[] = {
		{ "run", read_run }, { "cupti", read_cupti }, { "device", read_device },
		{ "thread", read_thread }, { "range", read_range }, { "api", read_api },
		{ "kernel", read_kernel }, { "memcpy", read_memcpy }, { "memset", read_memset },
		{ "sync", read_sync }, { "mem", read_mem }, { "graph", read_graph },
		{ "overhead", read_overhead }, { "nvtx", read_nvtx }, { "nccl", read_nccl },
	};
	char key[96];

	split(text);
	for (size_t i = 0; i < sizeof(readers) / sizeof(*readers); i++) {
		if (strcmp(readers[i].kind, in.kind))
			continue;
		readers[i].read();
		for (uint32_t j = 0; j < in.n; j++)
			if (!in.field[j].is_used) {
				snprintf(key, sizeof(key), "%s.%s", in.kind, in.field[j].key);
				warn("key", key);
			}
		return;
	}
	warn("kind", in.kind);
}

/* ---- who owns what ---- */

/* The first call of each correlation id, by it: an open table of items' indices. */
struct calls {
	uint32_t *slot;		/* NONE: free */
	uint32_t mask;
};

/* The slot of the call that has this id, or of none. */
static uint32_t *slot_of(const struct replay_file *file, const struct calls *calls, uint32_t id)
{
	uint32_t i = (uint32_t)(id * 0x9e3779b97f4a7c15u >> 32) & calls->mask;

	while (calls->slot[i] != NONE && file->items[calls->slot[i]].correlation != id)
		i = (i + 1) & calls->mask;
	return &calls->slot[i];
}

static struct calls find_calls(const struct replay_file *file)
{
	struct calls calls = {.mask = 1023};

	while (calls.mask / 2 < file->n_items)
		calls.mask = calls.mask * 2 + 1;
	calls.slot = malloc(((size_t)calls.mask + 1) * sizeof(*calls.slot));
	memset(calls.slot, 0xff, ((size_t)calls.mask + 1) * sizeof(*calls.slot));
	for (uint32_t i = 0; i < file->n_items; i++) {
		const struct replay_item *item = &file->items[i];
		uint32_t *slot;

		if (item->kind != REPLAY_API || !item->correlation)
			continue;
		slot = slot_of(file, &calls, item->correlation);
		if (*slot == NONE)
			*slot = i;
	}
	return calls;
}

/* Where the call that `item` belongs to is, or NONE. */
static uint32_t owner(const struct replay_file *file, const struct replay_item *item,
		      const struct calls *calls)
{
	return item->correlation ? *slot_of(file, calls, item->correlation) : NONE;
}

static void give_work(struct replay_file *file, const struct calls *calls)
{
	uint32_t n_works = 0, n_loose = 0, at;

	for (uint32_t i = 0; i < file->n_items; i++) {
		struct replay_item *item = &file->items[i];

		if (item->kind != REPLAY_WORK)
			n_loose += item->kind == REPLAY_OVERHEAD && item->thread == NONE;
		else if ((at = owner(file, item, calls)) == NONE)
			n_loose++;
		else
			file->items[at].api.n_work++;
	}
	for (uint32_t i = 0; i < file->n_items; i++)
		if (file->items[i].kind == REPLAY_API) {
			file->items[i].api.first_work = n_works;
			n_works += file->items[i].api.n_work;
			file->items[i].api.n_work = 0;
		}
	file->works = calloc(n_works + 1, sizeof(*file->works));
	file->loose = calloc(n_loose + 1, sizeof(*file->loose));
	for (uint32_t i = 0; i < file->n_items; i++) {
		struct replay_item *item = &file->items[i], *of;

		if (item->kind == REPLAY_OVERHEAD && item->thread == NONE)
			file->loose[file->n_loose++] = i;
		if (item->kind != REPLAY_WORK)
			continue;
		at = owner(file, item, calls);
		if (at == NONE) {
			file->loose[file->n_loose++] = i;
			continue;
		}
		of = &file->items[at];
		file->works[of->api.first_work + of->api.n_work++] = item->work;
	}
}

/* An allocation whose call is in the file is what that call does. */
static void give_memory(struct replay_file *file, const struct calls *calls)
{
	for (uint32_t i = 0; i < file->n_items; i++) {
		struct replay_item *item = &file->items[i];
		uint32_t at;

		if (item->kind != REPLAY_MEM || !item->mem.is_driver)
			continue;
		at = owner(file, item, calls);
		if (at == NONE || file->items[at].api.memory != NONE ||
		    file->items[at].thread != item->thread)
			continue;
		file->items[at].api.memory = i;
		item->mem.is_inside = true;
	}
}

static char *read_bytes(const char *path, size_t *n)
{
	FILE *stream = fopen(path, "r");
	size_t cap = 1 << 20, got;
	char *bytes = malloc(cap);

	if (!stream) {
		fprintf(stderr, "replay: cannot open '%s': %s\n", path, strerror(errno));
		exit(2);
	}
	*n = 0;
	while ((got = fread(bytes + *n, 1, cap - *n - 1, stream))) {
		*n += got;
		if (cap - *n < 2)
			bytes = realloc(bytes, cap *= 2);
	}
	fclose(stream);
	bytes[*n] = 0;
	return bytes;
}

void replay_read(struct replay_file *file, const char *path)
{
	struct calls calls;
	char *rest, *text;
	size_t n;

	memset(file, 0, sizeof(*file));
	file->path = path;
	in.file = file;
	rest = file->bytes = read_bytes(path, &n);
	in.line = 1;
	if (strlen(file->bytes) != n)
		fail("there is a NUL byte");
	text = strsep(&rest, "\n");
	if (strcmp(text, "# trainprof-replay 1"))
		fail("the first line is not '# trainprof-replay 1'");
	while ((text = strsep(&rest, "\n"))) {
		in.line++;
		if (*text && *text != '#')
			read_line(text);
	}
	calls = find_calls(file);
	give_work(file, &calls);
	give_memory(file, &calls);
	free(calls.slot);
}
