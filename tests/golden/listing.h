/* SPDX-License-Identifier: Apache-2.0 */
/*
 * listing.h - everything in a trace as plain text, line by line, for comparison
 */
#ifndef TP_TESTS_LISTING_H
#define TP_TESTS_LISTING_H

#include <inttypes.h>
#include <stdio.h>

#include "runtime/trace/reader.h"

static inline void list_bytes(FILE *out, const char *bytes, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)bytes[i];

		fprintf(out, c > ' ' && c < 0x7f && c != '\\' ? "%c" : "\\x%02x", c);
	}
	fputc('\n', out);
}

static inline void list_string(void *ctx, uint32_t id, uint32_t kind, const char *bytes,
			       uint32_t n)
{
	fprintf(ctx, "string %u kind %u ", id, kind);
	list_bytes(ctx, bytes, n);
}

static inline void list_complaint(void *ctx, const char *path, uint64_t offset,
				  const char *what)
{
	fprintf(ctx, "trouble at %" PRIu64 ": %s\n", offset, what);
}

static inline void list_block(FILE *out, struct tp_reader *reader, uint32_t i)
{
	static struct tp_rec rec[TP_BLOCK_EVENTS_MAX];
	static uint16_t thread[TP_BLOCK_EVENTS_MAX];
	const struct tp_block_head *head = &reader->block[i].head;
	const uint8_t *raw;
	uint32_t n;

	fprintf(out,
		"block %u type %u items %u first %" PRIu64 " last %" PRIu64 " end %" PRIu64
		" dropped %" PRIu64 " anchor %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
		"\n",
		head->sequence, head->type, head->n_items, head->first_time,
		head->last_time, head->end_time, head->dropped, head->anchor_ticks,
		head->anchor_mono_ns, head->anchor_real_ns, head->anchor_bracket_ticks);
	switch (head->type) {
	case TP_BLOCK_EVENTS:
	case TP_BLOCK_LONG:
	case TP_BLOCK_HEAP:
		if (tp_reader_events(reader, i, rec, thread))
			return;
		for (uint32_t k = 0; k < head->n_items; k++)
			fprintf(out,
				"event %u %u time %" PRIu64 " len %" PRIu64
				" name %u link %u "
				"arg %" PRIu64 " thread %u\n",
				rec[k].kind, rec[k].flags, rec[k].time, tp_rec_len(&rec[k]),
				rec[k].name, rec[k].link, rec[k].arg, thread[k]);
		break;
	case TP_BLOCK_STRINGS:
		tp_reader_strings(reader, i, list_string, out);
		break;
	default:
		if (!tp_reader_payload(reader, i, &raw, &n))
			list_bytes(out, (const char *)raw, n);
	}
}

/* 0, or what tp_reader_open said. */
static inline int list_trace(FILE *out, const char *path)
{
	struct tp_reader reader;
	const struct tp_file_head *head = &reader.head;
	int err = tp_reader_open(&reader, path, list_complaint, out);

	if (err)
		return err;
	fprintf(out,
		"file %u.%u boot %016" PRIx64 "%016" PRIx64 " run %016" PRIx64
		" pid %u window %u rank %d local %d world %d node %d clock %u restart %u\n",
		head->major, head->minor, head->boot_id[0], head->boot_id[1], head->run_id,
		head->pid, head->window, head->rank, head->local_rank, head->world_size,
		head->node_rank, head->clock_source, head->restart);
	for (uint32_t i = 0; i < reader.n_blocks; i++)
		list_block(out, &reader, i);
	fprintf(out, "whole %d bad %u cut %" PRIu64 "\n", reader.is_whole,
		reader.n_bad_blocks, reader.cut_bytes);
	tp_reader_close(&reader);
	return 0;
}

#endif
