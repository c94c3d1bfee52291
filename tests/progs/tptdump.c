/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tptdump.c - one trace file as lines of tab-separated text, for tests
 *
 *	tptdump FILE.tpt...
 *
 *	HEAD	pid	window	rank	run_id
 *	META	key=value	and END	key=value
 *	CLOCK	mono_ns	real_ns	(one moment on two clocks)
 *	THREAD	slot	tid	torch_id	flags	name
 *	DEVICE	key=value	(each line about each device; "id" comes first)
 *	COMM	hash	rank	ranks	nodes	interface	name
 *	MODULE	begin	end	bias	from	to	build_id	path
 *	EVENT	kind	begin_ns	length	flags	thread	name	link	arg	shapes
 *	BAD	offset	what
 *
 * kind is the number of records.def. begin_ns is CLOCK_MONOTONIC; length is nanoseconds for
 * spans, else as stored; flags and arg are hexadecimal. An operator's name has its overload
 * after a dot. shapes are the bytes of the SHAPES string in hexadecimal, "-" without one.
 * Where the name is a structure of a device, a mapping or a collective, its numbers are shown
 * instead, by name; those of a kernel's launch stand in place of shapes.
 * Control characters in names become '?'. Events come in the file's order.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/clock.h"
#include "runtime/trace/reader.h"

struct string {
	uint32_t id, kind, n_bytes;
	char *bytes;
};

static struct string *strings;
static size_t n_strings, cap_strings;

static void complain(void *ctx, const char *path, uint64_t offset, const char *what)
{
	printf("BAD\t%" PRIu64 "\t%s\n", offset, what);
}

static void keep_string(void *ctx, uint32_t id, uint32_t kind, const char *bytes,
			uint32_t n_bytes)
{
	struct string *string;

	if (n_strings == cap_strings) {
		cap_strings = cap_strings ? cap_strings * 2 : 1024;
		strings = realloc(strings, cap_strings * sizeof(*strings));
		if (!strings)
			exit(1);
	}
	string = &strings[n_strings++];
	*string = (struct string){ id, kind, n_bytes, malloc(n_bytes + 1) };
	if (!string->bytes)
		exit(1);
	memcpy(string->bytes, bytes, n_bytes);
}

static int compare_ids(const void *a, const void *b)
{
	const struct string *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

static const struct string *find_string(uint32_t id)
{
	const struct string key = { .id = id };

	return id ? bsearch(&key, strings, n_strings, sizeof(key), compare_ids) : NULL;
}

static void print_place(const struct tp_device_place *place)
{
	printf("device=%u context=%u stream=%d", place->device, place->context, (int)place->stream);
}

/* Behind a structure: texts with zero bytes between, each one in quotes. */
static void print_texts(const struct string *string, uint32_t at)
{
	printf(" '");
	for (; at < string->n_bytes; at++)
		printf(string->bytes[at] ? "%c" : "' '", string->bytes[at]);
	putchar('\'');
}

static void print_launch(const struct tp_launch *launch)
{
	printf(" graph=%u node=%" PRIx64 " grid=%u,%u,%u block=%u,%u,%u cluster=%u,%u,%u "
	       "registers=%u shared=%u+%u local=%u",
	       launch->graph, launch->graph_node, launch->grid[0], launch->grid[1],
	       launch->grid[2], launch->block[0], launch->block[1],
	       launch->block[2], launch->cluster[0], launch->cluster[1],
	       launch->cluster[2], launch->registers, launch->shared_static,
	       launch->shared_dynamic, launch->local_per_thread);
}

/* A string that is a structure. False: it is another one. */
static bool print_structure(const struct string *string)
{
	union {
		struct tp_launch launch;
		struct tp_transfer transfer;
		struct tp_sync_what sync;
		struct tp_devmem_what memory;
		struct tp_mapping mapping;
		struct tp_coll coll;
		struct tp_xfer xfer;
	} as;
	uint32_t n = string->n_bytes < sizeof(as) ? string->n_bytes : sizeof(as);

	memset(&as, 0, sizeof(as));
	memcpy(&as, string->bytes, n);
	switch (string->kind) {
	case TP_STRING_LAUNCH:
		print_place(&as.launch.place);
		print_launch(&as.launch);
		return true;
	case TP_STRING_TRANSFER:
		print_place(&as.transfer.place);
		printf(" graph=%u node=%" PRIx64 " copy=%u from=%u to=%u async=%u devices=%u,%u "
		       "value=%u", as.transfer.graph, as.transfer.graph_node, as.transfer.copy_kind,
		       as.transfer.from_kind, as.transfer.to_kind, as.transfer.is_async,
		       as.transfer.from_device, as.transfer.to_device, as.transfer.value);
		return true;
	case TP_STRING_SYNC:
		print_place(&as.sync.place);
		printf(" kind=%u returned=%u", as.sync.kind, as.sync.returned);
		return true;
	case TP_STRING_DEVMEM:
		printf("device=%d kind=%u async=%u pool=%" PRIx64 " owner=%.*s", (int)as.memory.device,
		       as.memory.kind, as.memory.is_async, as.memory.pool,
		       string->n_bytes > sizeof(as.memory) ?
			       (int)(string->n_bytes - sizeof(as.memory)) : 0,
		       string->bytes + sizeof(as.memory));
		return true;
	case TP_STRING_MAPPING:
		printf("kind=%u shared=%u writable=%u executable=%u path=%.*s", as.mapping.kind,
		       as.mapping.is_shared, as.mapping.is_writable, as.mapping.is_executable,
		       string->n_bytes > sizeof(as.mapping) ?
			       (int)(string->n_bytes - sizeof(as.mapping)) : 0,
		       string->bytes + sizeof(as.mapping));
		return true;
	case TP_STRING_COLL:
		printf("hash=%" PRIx64 " stream=%" PRIx64 " rank=%d/%d root=%d element=%u channels=%u "
		       "warps=%u what=%u", as.coll.hash, as.coll.stream, as.coll.rank, as.coll.n_ranks,
		       as.coll.root, as.coll.element_bytes, as.coll.channels, as.coll.warps,
		       as.coll.what);
		print_texts(string, sizeof(as.coll));
		return true;
	case TP_STRING_XFER:
		printf("hash=%" PRIx64 " rank=%d peer=%d channel=%u %s%s", as.xfer.hash, as.xfer.rank,
		       as.xfer.peer, as.xfer.channel, as.xfer.is_send ? "send" : "recv",
		       as.xfer.is_foreign ? " foreign" : "");
		print_texts(string, sizeof(as.xfer));
		return true;
	default:
		return false;
	}
}

static void print_name(uint32_t id)
{
	const struct string *string = find_string(id);

	putchar('\t');
	if (!string) {
		putchar('-');
		return;
	}
	if (print_structure(string))
		return;
	for (uint32_t i = 0; i < string->n_bytes; i++) {
		unsigned char c = (unsigned char)string->bytes[i];

		/* "aten::add\0Tensor" -> "aten::add.Tensor", "aten::relu\0" -> "aten::relu" */
		if (c == 0 && string->kind == TP_STRING_OP && i + 1 == string->n_bytes)
			break;
		putchar(c == 0 && string->kind == TP_STRING_OP ? '.' : c < ' ' ? '?' : c);
	}
}

static void print_shapes(uint32_t id)
{
	const struct string *string = find_string(id);

	putchar('\t');
	if (!string)
		putchar('-');
	if (string && print_structure(string))
		return;
	for (uint32_t i = 0; string && i < string->n_bytes; i++)
		printf("%02x", (unsigned char)string->bytes[i]);
}

static bool is_span(uint8_t kind)
{
	switch (kind) {
#define _(id, NAME, text, span, since)                                                     \
	case id:                                                                           \
		return span;
#include "runtime/trace/records.def"
#undef _
	}
	return false;
}

static void print_text(const char *tag, const uint8_t *text, uint32_t n_bytes)
{
	for (uint32_t at = 0; at < n_bytes;) {
		const uint8_t *end = memchr(text + at, '\n', n_bytes - at);
		uint32_t n = end ? (uint32_t)(end - (text + at)) : n_bytes - at;

		printf("%s\t%.*s\n", tag, (int)n, (const char *)text + at);
		at += n + 1;
	}
}

static void print_events(struct tp_reader *reader, uint32_t block,
			 const struct tp_clock_anchor *a, const struct tp_clock_anchor *b)
{
	uint32_t n = reader->block[block].head.n_items;
	struct tp_rec *rec = calloc(n + 1, sizeof(*rec));
	uint16_t *thread = calloc(n + 1, sizeof(*thread));

	if (!rec || !thread)
		exit(1);
	if (tp_reader_events(reader, block, rec, thread) != 0)
		n = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t begin = tp_clock_to_mono(a, b, rec[i].time);
		uint64_t len = tp_rec_len(&rec[i]);
		uint32_t shapes = rec[i].kind == TP_REC_OP	 ? TP_ARG_SHAPES(rec[i].arg)
				  : rec[i].kind == TP_REC_KERNEL ? (uint32_t)rec[i].arg
								 : 0;

		if (is_span(rec[i].kind))
			len = tp_clock_to_mono(a, b, rec[i].time + len) - begin;
		printf("EVENT\t%u\t%" PRIu64 "\t%" PRIu64 "\t%x\t%u", rec[i].kind, begin, len,
		       rec[i].flags, thread[i]);
		print_name(rec[i].name);
		printf("\t%" PRIu32 "\t%" PRIx64, rec[i].link, rec[i].arg);
		print_shapes(shapes);
		putchar('\n');
	}
	free(rec);
	free(thread);
}

static struct tp_clock_anchor get_anchor(const struct tp_block_head *head)
{
	return (struct tp_clock_anchor){ head->anchor_ticks, head->anchor_mono_ns,
					 head->anchor_real_ns, head->anchor_bracket_ticks };
}

/* Addresses of a MODULE string, its build id, its path. */
static void print_module(const char *bytes, size_t n_bytes)
{
	struct tp_module module;
	size_t at = sizeof(module);

	if (n_bytes < at)
		return;
	memcpy(&module, bytes, at);
	if (module.build_id_bytes > n_bytes - at)
		return;
	printf("MODULE\t%" PRIx64 "\t%" PRIx64 "\t%" PRIx64 "\t%" PRIu64 "\t%" PRIu64 "\t",
	       module.begin, module.end, module.bias, module.from, module.to);
	for (uint32_t i = 0; i < module.build_id_bytes; i++)
		printf("%02x", (uint8_t)bytes[at++]);
	printf("\t%.*s\n", (int)(n_bytes - at), bytes + at);
}

static void print_comm(const char *bytes, size_t n_bytes)
{
	struct tp_communicator comm;

	if (n_bytes < sizeof(comm))
		return;
	memcpy(&comm, bytes, sizeof(comm));
	printf("COMM\t%" PRIx64 "\t%d\t%d\t%d\t%u\t%.*s\n", comm.hash, comm.rank, comm.n_ranks,
	       comm.n_nodes, comm.interface, (int)(n_bytes - sizeof(comm)), bytes + sizeof(comm));
}

static int dump(const char *path)
{
	struct tp_reader reader;
	struct tp_clock_anchor a, b;
	const uint8_t *raw;
	uint32_t n_bytes;

	if (tp_reader_open(&reader, path, complain, NULL) != 0)
		return 1;
	n_strings = 0;
	printf("HEAD\t%u\t%u\t%d\t%" PRIx64 "\n", reader.head.pid, reader.head.window,
	       reader.head.rank, reader.head.run_id);
	for (uint32_t i = 0; i < reader.n_blocks; i++) {
		if (reader.block[i].head.type == TP_BLOCK_STRINGS)
			tp_reader_strings(&reader, i, keep_string, NULL);
	}
	qsort(strings, n_strings, sizeof(*strings), compare_ids);
	for (size_t i = 0; i < n_strings; i++) {
		if (strings[i].kind == TP_STRING_DEVICE)
			print_text("DEVICE", (const uint8_t *)strings[i].bytes, strings[i].n_bytes);
		if (strings[i].kind == TP_STRING_MODULE)
			print_module(strings[i].bytes, strings[i].n_bytes);
		if (strings[i].kind == TP_STRING_COMM)
			print_comm(strings[i].bytes, strings[i].n_bytes);
	}
	if (reader.n_blocks) {
		a = get_anchor(&reader.block[0].head);
		b = get_anchor(&reader.block[reader.n_blocks - 1].head);
		printf("CLOCK\t%" PRIu64 "\t%" PRIu64 "\n", a.mono_ns, a.real_ns);
	}
	for (uint32_t i = 0; i < reader.n_blocks; i++) {
		uint8_t type = reader.block[i].head.type;

		if (tp_reader_has_events(&reader.block[i].head)) {
			print_events(&reader, i, &a, &b);
		} else if (type == TP_BLOCK_META || type == TP_BLOCK_END) {
			if (tp_reader_payload(&reader, i, &raw, &n_bytes) == 0)
				print_text(type == TP_BLOCK_META ? "META" : "END", raw, n_bytes);
		} else if (type == TP_BLOCK_THREADS &&
			   tp_reader_payload(&reader, i, &raw, &n_bytes) == 0) {
			struct tp_thread_entry entry;

			for (uint32_t at = 0; at + sizeof(entry) <= n_bytes; at += sizeof(entry)) {
				memcpy(&entry, raw + at, sizeof(entry));
				printf("THREAD\t%u\t%u\t%u\t%u\t%.16s\n", entry.slot, entry.tid,
				       entry.torch_id, entry.flags, entry.name);
			}
		}
	}
	tp_reader_close(&reader);
	return 0;
}

int main(int argc, char **argv)
{
	int failed = argc < 2;

	for (int i = 1; i < argc; i++)
		failed |= dump(argv[i]);
	return failed;
}
