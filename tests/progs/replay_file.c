/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_file.c - reads a replay file, and gives each thread its items
 */
#include "tests/progs/replay_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cupti.h>

#include "tests/progs/replay_line.h"
#include "tests/progs/replay_owner.h"

#define NONE UINT32_MAX

static struct {
	struct replay_file *file;
	uint64_t start;			/* of the line before */
} in;

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
	item->line = replay_line.number;
	item->thread = NONE;
	return item;
}

static void read_span(struct replay_item *item)
{
	item->start = (uint64_t)replay_need("start");
	item->end = (uint64_t)replay_need("end");
	if (item->end < item->start)
		replay_fail("ends before it starts");
	if (item->start < in.start)
		replay_fail("starts before the line before it");
	in.start = item->start;
	if (item->end > in.file->last)
		in.file->last = item->end;
}

static void read_at(struct replay_item *item)
{
	item->start = item->end = (uint64_t)replay_need("at");
	if (item->start < in.start)
		replay_fail("starts before the line before it");
	in.start = item->start;
	if (item->end > in.file->last)
		in.file->last = item->end;
}

static void read_correlation(struct replay_item *item, int64_t value)
{
	if (value < 0 || value > UINT32_MAX)
		replay_fail("corr=%ld is not of 32 bits", value);
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
		replay_text(*keys);
}

static void read_run(void)
{
	static const char *const told[] = { "backend", "pid", "host", NULL };

	copy(in.file->rank, sizeof(in.file->rank), replay_text("rank"));
	copy(in.file->world_size, sizeof(in.file->world_size), replay_text("world_size"));
	ignore_keys(told);
}

static void read_cupti(void)
{
	copy(in.file->cupti_version, sizeof(in.file->cupti_version), replay_text("version"));
	copy(in.file->driver_version, sizeof(in.file->driver_version), replay_text("driver"));
	replay_text("runtime");
}

static void read_device(void)
{
	static const char *const keys[] = {
		"name", "sms", "cc", "mem", "clock_khz", "warp", "max_threads_sm", "max_regs_sm",
		"max_smem_sm", "max_threads_block", "max_regs_block", "max_smem_block",
		"max_smem_optin",
	};
	uint32_t id = (uint32_t)replay_need("id");
	const char *text;

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if ((text = replay_text(keys[i])))
			fake_gpu_device(id, keys[i], text);
}

static void read_thread(void)
{
	uint32_t i = thread_of((uint64_t)replay_need("tid"));

	copy(in.file->threads[i].name, sizeof(in.file->threads[i].name), replay_text("name"));
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
	item->name = replay_need_text("name");
	item->range.category = category_of(item->name, replay_need_text("cat"));
	item->range.is_step = !strncmp(item->name, "ProfilerStep#", 13);
	give_to_thread(item, (uint64_t)replay_need("tid"));
	ignore_keys(told);
}

static void read_api(void)
{
	static const char *const domains[] = { "", "driver", "runtime", NULL };
	struct replay_item *item = add(REPLAY_API);

	read_span(item);
	item->name = replay_need_text("name");
	read_correlation(item, replay_need("corr"));
	item->api.domain = replay_word("domain", domains, strncmp(item->name, "cuda", 4) ? 1 : 2);
	item->api.event = (uint32_t)replay_get("event", 0);
	item->api.stream = (uint32_t)replay_get("stream", 0);
	item->api.returned = (int32_t)replay_get("ret", 0);
	item->api.memory = NONE;
	give_to_thread(item, (uint64_t)replay_need("tid"));
}

/* `is_placed`: device, context and stream have to be there. */
static struct fake_work *add_work(enum fake_kind kind, bool is_placed)
{
	struct replay_item *item = add(REPLAY_WORK);
	struct fake_work *work = &item->work;

	read_span(item);
	read_correlation(item, replay_need("corr"));
	work->kind = kind;
	work->start_ns = item->start;
	work->end_ns = item->end;
	work->correlation = item->correlation;
	work->device = (uint32_t)(is_placed ? replay_need("device") : replay_get("device", 0));
	work->context = (uint32_t)(is_placed ? replay_need("context") : replay_get("context", 1));
	work->stream = (uint32_t)(is_placed ? replay_need("stream") : replay_get("stream", -1));
	work->graph = (uint32_t)replay_get("graph", 0);
	work->graph_node = (uint64_t)replay_get("graph_node", 0);
	return work;
}

static void read_kernel(void)
{
	struct fake_work *work = add_work(FAKE_KERNEL, true);

	work->name = replay_need_text("name");
	replay_triple("grid", work->grid, 1);
	replay_triple("block", work->block, 1);
	replay_triple("cluster", work->cluster, 0);
	work->registers = (uint32_t)replay_get("regs", 0);
	work->shared_static = (uint32_t)replay_get("smem_static", 0);
	work->shared_dynamic = (uint32_t)replay_get("smem_dynamic", 0);
	work->queued_ns = (uint64_t)replay_get("queued", 0);
	work->submitted_ns = (uint64_t)replay_get("submitted", 0);
}

static const char *const memory_kinds[] = {	/* CUpti_ActivityMemoryKind */
	"unknown", "pageable", "pinned", "device", "array", "managed", "device_static",
	"managed_static", NULL,
};

/* "host" is another word for pageable memory. */
static uint8_t memory_kind(const char *key)
{
	char *text = replay_text(key);

	if (text && !strcmp(text, "host"))
		return CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE;
	return (uint8_t)replay_word(key, memory_kinds, 0);
}

static void read_memcpy(void)
{
	static const char *const kinds[] = {	/* CUpti_ActivityMemcpyKind */
		"unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH", "PtoP",
		NULL,
	};
	struct fake_work *work = add_work(FAKE_MEMCPY, true);

	replay_need_text("kind");
	work->copy_kind = (uint8_t)replay_word("kind", kinds, 0);
	work->bytes = (uint64_t)replay_need("bytes");
	work->from_kind = memory_kind("src");
	work->to_kind = memory_kind("dst");
	work->is_async = (uint8_t)replay_get("async", 0);
	work->from_device = (uint32_t)replay_get("src_device", work->device);
	work->to_device = (uint32_t)replay_get("dst_device", work->device);
}

static void read_memset(void)
{
	struct fake_work *work = add_work(FAKE_MEMSET, true);

	work->bytes = (uint64_t)replay_need("bytes");
	work->value = (uint32_t)replay_get("value", 0);
	work->to_kind = memory_kind("memkind");
	work->is_async = (uint8_t)replay_get("async", 0);
}

static void read_sync(void)
{
	/* CUpti_ActivitySynchronizationType */
	static const char *const kinds[] = { "unknown", "event", "stream_wait", "stream", "context",
					     NULL };
	struct fake_work *work = add_work(FAKE_SYNC, false);

	replay_need_text("kind");
	work->sync_kind = replay_word("kind", kinds, 0);
	work->event = (uint32_t)replay_get("event", CUPTI_SYNCHRONIZATION_INVALID_VALUE);
	work->event_correlation = (uint32_t)replay_get("event_corr", 0);
	work->wait_stream = (uint32_t)replay_get("wait_stream", 0);
}

static void read_graph(void)
{
	struct fake_work *work = add_work(FAKE_GRAPH, false);

	replay_need("device");
	replay_need("stream");
	work->graph = (uint32_t)replay_need("id");
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
	const char *kind = replay_need_text("kind"), *tid = replay_text("tid");

	read_span(item);
	item->work = (struct fake_work){.kind = FAKE_OVERHEAD, .start_ns = item->start,
					.end_ns = item->end};
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(kinds[i].word, kind))
			item->work.overhead_kind = kinds[i].kind;
	if (tid)
		give_to_thread(item, (uint64_t)replay_number("tid", tid));
}

static void read_mem(void)
{
	static const char *const ops[] = { "alloc", "free", "map", "unmap", NULL };
	static const char *const levels[] = { "driver", "framework", NULL };
	static const char *const kinds[] = { "device", "host", "pinned", "managed", "pool", "vmm",
					     "array", "registered", NULL };
	struct replay_item *item = add(REPLAY_MEM);

	read_at(item);
	replay_need_text("op");
	replay_need_text("kind");
	item->mem.op = (uint8_t)replay_word("op", ops, 0);
	item->mem.kind = (uint8_t)replay_word("kind", kinds, 0);
	item->mem.is_driver = replay_word("level", levels, 0) == 0;
	item->mem.address = (uint64_t)replay_get("addr", 0);
	item->mem.bytes = (uint64_t)replay_need("bytes");
	item->mem.device = (int32_t)replay_get("device", 0);
	item->mem.pool = (uint64_t)replay_get("pool", 0);
	item->mem.allocated = (uint64_t)replay_get("total_allocated", 0);
	item->mem.reserved = (uint64_t)replay_get("total_reserved", 0);
	read_correlation(item, replay_get("corr", 0));
	give_to_thread(item, (uint64_t)replay_need("tid"));
}

static void read_nvtx(void)
{
	static const char *const ops[] = { "push", "pop", "mark", "start", "end", NULL };
	struct replay_item *item = add(REPLAY_NVTX);

	read_at(item);
	replay_need_text("op");
	item->nvtx.op = (uint8_t)replay_word("op", ops, 0);
	item->name = replay_text("name");
	if (!item->name)
		item->name = (char *)"";
	item->nvtx.domain = replay_text("domain");
	item->nvtx.id = (uint64_t)replay_get("id", 0);
	give_to_thread(item, (uint64_t)replay_need("tid"));
}

static void read_nccl(void)
{
	if (!in.file->n_nccl++)
		replay_warn("kind", "nccl");
	replay_ignore_rest();
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
	replay_split(text);
	for (size_t i = 0; i < sizeof(readers) / sizeof(*readers); i++) {
		if (strcmp(readers[i].kind, replay_line.kind))
			continue;
		readers[i].read();
		replay_warn_unused();
		return;
	}
	replay_warn("kind", replay_line.kind);
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
	char *rest, *text;
	size_t n;

	memset(file, 0, sizeof(*file));
	file->path = path;
	in.file = file;
	replay_line.path = path;
	rest = file->bytes = read_bytes(path, &n);
	replay_line.number = 1;
	if (strlen(file->bytes) != n)
		replay_fail("there is a NUL byte");
	text = strsep(&rest, "\n");
	if (strcmp(text, "# trainprof-replay 1"))
		replay_fail("the first line is not '# trainprof-replay 1'");
	while ((text = strsep(&rest, "\n"))) {
		replay_line.number++;
		if (*text && *text != '#')
			read_line(text);
	}
	replay_give(file);
}
