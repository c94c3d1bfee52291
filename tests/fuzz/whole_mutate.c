/* SPDX-License-Identifier: Apache-2.0 */
/*
 * whole_mutate.c - changes to the files of a run that get past their checksums
 *
 * A trace or node file is taken apart into blocks, blocks of events into records; something in
 * them changes, and all is put together again with its lengths and checksums right. Text has
 * its numbers replaced. The rest is libFuzzer's own.
 */
#include <stdio.h>

#include "runtime/trace/columns.h"
#include "runtime/trace/frame.h"
#include "tests/fuzz/bundle.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);

enum { BLOCKS = 64, MORE = 512 };

struct piece {
	struct tp_block_head head;
	uint8_t *raw;		/* unpacked, when it could be: then head.codec is TP_CODEC_RAW */
	size_t n;
};

struct trace {
	struct tp_file_head head;
	struct piece block[BLOCKS];
	uint32_t n;
};

static uint64_t state;
static struct tp_rec rec[TP_BLOCK_EVENTS_MAX];
static uint16_t thread[TP_BLOCK_EVENTS_MAX];
static struct tp_columns_scratch *scratch;
static struct tp_frame_unpacker *unpacker;

static uint32_t below(uint32_t n)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return n ? (uint32_t)((state >> 33) % n) : 0;
}

/* Near what was there, or one of those at which sums overflow. */
static uint64_t other_number(uint64_t was)
{
	static const uint64_t extremes[] = {0, 1, 2, UINT64_MAX, INT64_MAX, 1ull << 63, 1ull << 62,
					    (1ull << 62) - 1, 1ull << 61, 1ull << 60, 1ull << 48,
					    1ull << 47, 1ull << 32, UINT32_MAX, INT32_MAX, 1ull << 31,
					    UINT16_MAX, 1000000000, 10000001};

	switch (below(5)) {
	case 0:
		return extremes[below(sizeof(extremes) / sizeof(extremes[0]))];
	case 1:
		return was ^ 1ull << below(64);
	case 2:
		return was + below(2000) - 1000;
	case 3:
		return was * (1 + below(1000));
	default:
		return was + extremes[below(sizeof(extremes) / sizeof(extremes[0]))];
	}
}

/* ---- traces and node files ---- */

static void unpack(struct piece *piece, const uint8_t *stored)
{
	uint8_t *raw = NULL;

	piece->n = piece->head.stored_bytes;
	if (piece->head.codec == TP_CODEC_ZSTD && piece->head.raw_bytes <= 1 << 18) {
		struct tp_block_head sound = piece->head;

		tp_frame_seal(&sound, stored);
		raw = malloc(piece->head.raw_bytes + 1);
		if (!tp_frame_unpack(unpacker, &sound, stored, raw)) {
			piece->head.codec = TP_CODEC_RAW;
			piece->n = piece->head.raw_bytes;
			piece->raw = raw;
			return;
		}
		free(raw);
	}
	piece->raw = malloc(piece->n + 1);
	memcpy(piece->raw, stored, piece->n);
}

static bool take_apart(struct trace *trace, const struct bundle_member *member)
{
	size_t at = sizeof(trace->head);

	trace->n = 0;
	if (member->n < at)
		return false;
	memcpy(&trace->head, member->bytes, at);
	while (trace->n < BLOCKS && member->n - at >= sizeof(trace->block[0].head)) {
		struct piece *piece = &trace->block[trace->n];

		memcpy(&piece->head, member->bytes + at, sizeof(piece->head));
		at += sizeof(piece->head);
		if (piece->head.magic != TP_BLOCK_MAGIC || piece->head.stored_bytes > member->n - at)
			break;
		/* Made anew from the others. */
		if (piece->head.type != TP_BLOCK_INDEX) {
			unpack(piece, member->bytes + at);
			trace->n++;
		}
		at += piece->head.stored_bytes;
	}
	return trace->n > 0;
}

static void put(struct bundle_member *member, const void *bytes, size_t n)
{
	memcpy(member->bytes + member->n, bytes, n);
	member->n += n;
}

static void put_index(struct bundle_member *member, const struct tp_node_entry *entry, uint32_t n)
{
	struct tp_node_tail tail = {.magic = TP_NODE_TAIL_MAGIC, .index_at = member->n, .n_index = 1,
				    .n_blocks = n};
	struct tp_block_head head = {.magic = TP_BLOCK_MAGIC, .head_bytes = sizeof(head),
				     .type = TP_BLOCK_INDEX, .n_items = n};

	for (uint32_t i = 0; i < n; i++)
		tail.n_members += entry[i].head.type == TP_BLOCK_MEMBER;
	head.raw_bytes = head.stored_bytes = (uint32_t)(n * sizeof(entry[0]));
	tp_frame_seal(&head, entry);
	put(member, &head, sizeof(head));
	put(member, entry, head.stored_bytes);
	tp_frame_seal_node_tail(&tail);
	put(member, &tail, sizeof(tail));
}

static void put_together(struct trace *trace, struct bundle_member *member)
{
	static struct tp_node_entry entry[BLOCKS];
	size_t most = sizeof(trace->head) + sizeof(struct tp_node_tail) + 2 * sizeof(entry);

	for (uint32_t i = 0; i < trace->n; i++)
		most += sizeof(trace->block[i].head) + trace->block[i].n;
	free(member->bytes);
	member->bytes = malloc(most + 1);
	member->n = 0;
	tp_frame_seal_file_head(&trace->head);
	put(member, &trace->head, sizeof(trace->head));
	for (uint32_t i = 0; i < trace->n; i++) {
		struct piece *piece = &trace->block[i];

		piece->head.stored_bytes = (uint32_t)piece->n;
		if (piece->head.codec == TP_CODEC_RAW)
			piece->head.raw_bytes = (uint32_t)piece->n;
		tp_frame_seal(&piece->head, piece->raw);
		entry[i] = (struct tp_node_entry){.at = member->n, .head = piece->head};
		put(member, &piece->head, sizeof(piece->head));
		put(member, piece->raw, piece->n);
		free(piece->raw);
	}
	if (member->kind == BUNDLE_NODE)
		put_index(member, entry, trace->n);
}

/* ---- records ---- */

static void mutate_record(uint32_t n)
{
	struct tp_rec *one = &rec[below(n)], *two = &rec[below(n)];

	switch (below(9)) {
	case 0:
		one->kind = (uint8_t)below(TP_REC_N);
		break;
	case 1:
		one->time = other_number(below(2) ? one->time : two->time);
		break;
	case 2:
		tp_rec_set_len(one, other_number(tp_rec_len(one)) & TP_LEN_MAX);
		break;
	case 3:
		one->name = below(2) ? two->name : (uint32_t)other_number(one->name);
		break;
	case 4:
		one->link = below(2) ? two->link : (uint32_t)other_number(one->link);
		break;
	case 5:
		one->arg = below(2) ? two->arg : other_number(one->arg);
		break;
	case 6:
		one->flags = (uint8_t)(one->flags ^ 1u << below(8));
		break;
	case 7:
		thread[one - rec] = below(2) ? thread[two - rec] : (uint16_t)other_number(0);
		break;
	default:
		*one = *two;
		break;
	}
}

/* One record more or less. */
static uint32_t mutate_count(uint32_t n)
{
	uint32_t at = below(n);

	if (below(2) && n > 1) {
		memmove(rec + at, rec + at + 1, (n - at - 1) * sizeof(rec[0]));
		memmove(thread + at, thread + at + 1, (n - at - 1) * sizeof(thread[0]));
		return n - 1;
	}
	if (n == TP_BLOCK_EVENTS_MAX)
		return n;
	rec[n] = rec[at];
	thread[n] = thread[at];
	return n + 1;
}

/* The head goes on saying the truth about times, or not. */
static void tell_times(struct tp_block_head *head, uint32_t n)
{
	head->first_time = UINT64_MAX;
	head->last_time = head->end_time = 0;
	for (uint32_t i = 0; i < n; i++) {
		head->first_time = rec[i].time < head->first_time ? rec[i].time : head->first_time;
		head->last_time = rec[i].time > head->last_time ? rec[i].time : head->last_time;
	}
	head->end_time = head->last_time;
}

static bool mutate_events(struct piece *piece)
{
	bool is_heap = piece->head.type == TP_BLOCK_HEAP;
	uint32_t bad_at, n = piece->head.n_items;

	if (piece->head.codec != TP_CODEC_RAW || !n || n > TP_BLOCK_EVENTS_MAX ||
	    (is_heap ? tp_columns_decode_heap : tp_columns_decode)(scratch, piece->raw, piece->n, n,
								   rec, thread, &bad_at))
		return false;
	for (uint32_t times = 1 + below(8); times; times--)
		mutate_record(n);
	if (!below(3))
		n = mutate_count(n);
	free(piece->raw);
	piece->raw = malloc(tp_columns_bound(n));
	piece->n = (is_heap ? tp_columns_encode_heap : tp_columns_encode)(scratch, rec, thread, n,
									  piece->raw, NULL);
	piece->head.n_items = n;
	if (below(4))
		tell_times(&piece->head, n);
	return true;
}

static void mutate_bytes(uint8_t **bytes, size_t *n)
{
	*bytes = realloc(*bytes, *n + MORE + 1);
	*n = LLVMFuzzerMutate(*bytes, *n, *n + MORE);
}

static void mutate_head(struct piece *piece, const struct piece *other)
{
	static const uint8_t wide[] = {
		offsetof(struct tp_block_head, first_time), offsetof(struct tp_block_head, last_time),
		offsetof(struct tp_block_head, anchor_ticks), offsetof(struct tp_block_head, anchor_mono_ns),
		offsetof(struct tp_block_head, anchor_real_ns),
		offsetof(struct tp_block_head, anchor_bracket_ticks),
		offsetof(struct tp_block_head, dropped), offsetof(struct tp_block_head, end_time),
		offsetof(struct tp_block_head, reserved), offsetof(struct tp_block_head, reserved) + 8};
	uint8_t at = wide[below(sizeof(wide))];
	uint64_t value;

	switch (below(8)) {
	case 0:
		piece->head.n_items = (uint32_t)other_number(piece->head.n_items);
		return;
	case 1:
		piece->head.type = below(3) ? other->head.type : (uint8_t)below(24);
		return;
	case 2:
		piece->head.sequence = (uint32_t)other_number(piece->head.sequence);
		return;
	case 3:
		piece->head.raw_bytes = (uint32_t)other_number(piece->head.raw_bytes);
		return;
	default:
		memcpy(&value, (const char *)&other->head + at, sizeof(value));
		value = below(3) ? other_number(value) : value;
		memcpy((char *)&piece->head + at, &value, sizeof(value));
	}
}

static void mutate_file_head(struct tp_file_head *head)
{
	uint32_t *field[] = {&head->pid, &head->window, (uint32_t *)&head->rank,
			     (uint32_t *)&head->local_rank, (uint32_t *)&head->world_size,
			     (uint32_t *)&head->node_rank, &head->clock_source, &head->restart};
	uint32_t *one = field[below(8)];

	if (below(4))
		*one = below(2) ? below(4) : (uint32_t)other_number(*one);
	else if (below(2))
		head->run_id ^= 1;
	else
		head->boot_id[0] ^= 1;
}

static void copy_block(struct trace *trace)
{
	struct piece *from = &trace->block[below(trace->n)], *to = &trace->block[trace->n];

	if (trace->n == BLOCKS)
		return;
	*to = *from;
	to->raw = malloc(from->n + 1);
	memcpy(to->raw, from->raw, from->n);
	trace->n++;
}

static void mutate_trace(struct bundle_member *member)
{
	static struct trace trace;
	struct piece *piece, *other;

	if (!take_apart(&trace, member)) {
		mutate_bytes(&member->bytes, &member->n);
		return;
	}
	for (uint32_t times = 1 + below(3); times; times--) {
		piece = &trace.block[below(trace.n)];
		other = &trace.block[below(trace.n)];
		switch (below(10)) {
		case 0:
			mutate_file_head(&trace.head);
			break;
		case 1:
			copy_block(&trace);
			break;
		case 2: {
			struct piece swap = *piece;

			*piece = *other;
			*other = swap;
			break;
		}
		case 3:
		case 4:
			mutate_head(piece, other);
			break;
		case 5:
			mutate_bytes(&piece->raw, &piece->n);
			break;
		default:
			if (!mutate_events(piece))
				mutate_bytes(&piece->raw, &piece->n);
		}
	}
	put_together(&trace, member);
}

/* ---- text ---- */

/* A number becomes another one. */
static bool mutate_number(struct bundle_member *member)
{
	size_t at = below((uint32_t)member->n), end;
	char text[32];
	size_t n;

	while (at < member->n && (member->bytes[at] < '0' || member->bytes[at] > '9'))
		at++;
	while (at && at < member->n && member->bytes[at - 1] >= '0' && member->bytes[at - 1] <= '9')
		at--;
	for (end = at; end < member->n && member->bytes[end] >= '0' && member->bytes[end] <= '9';)
		end++;
	if (at == end)
		return false;
	n = (size_t)snprintf(text, sizeof(text), below(4) ? "%llu" : "%lld",
			     (unsigned long long)other_number(strtoull((char *)member->bytes + at,
								       NULL, 10)));
	member->bytes = realloc(member->bytes, member->n + sizeof(text) + 1);
	memmove(member->bytes + at + n, member->bytes + end, member->n - end);
	memcpy(member->bytes + at, text, n);
	member->n = member->n - (end - at) + n;
	return true;
}

/* ---- all of them ---- */

static void mutate_member(struct bundle *bundle)
{
	struct bundle_member *member = &bundle->member[below(bundle->n)];
	bool is_text = member->kind == BUNDLE_LEDGER || member->kind >= BUNDLE_KINETO;

	/* strtoull wants an end. */
	member->bytes[member->n] = '\0';
	if (!is_text && member->kind != BUNDLE_RING && below(16))
		mutate_trace(member);
	else if (!is_text || !below(2) || !member->n || !mutate_number(member))
		mutate_bytes(&member->bytes, &member->n);
}

static void drop_member(struct bundle *bundle)
{
	uint32_t at = below(bundle->n);

	free(bundle->member[at].bytes);
	bundle->member[at] = bundle->member[--bundle->n];
}

static void copy_member(struct bundle *bundle)
{
	const struct bundle_member *from = &bundle->member[below(bundle->n)];
	struct bundle_member *to = &bundle->member[bundle->n];

	if (bundle->n == BUNDLE_MEMBERS)
		return;
	*to = *from;
	to->bytes = malloc(from->n + 1);
	memcpy(to->bytes, from->bytes, from->n);
	bundle->n++;
}

static void begin(void)
{
	size_t bytes = tp_frame_unpacker_bytes();

	scratch = malloc(tp_columns_scratch_bytes());
	unpacker = tp_frame_unpacker_init(malloc(bytes), bytes);
	if (!scratch || !unpacker)
		abort();
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	struct bundle bundle;
	size_t n;

	if (!scratch)
		begin();
	state = seed;
	if (!below(32))
		return LLVMFuzzerMutate(data, size, max);
	bundle_read(&bundle, data, size);
	if (!below(6))
		bundle.option[below(BUNDLE_OPTIONS)] = (uint8_t)below(256);
	else if (bundle.n && !below(12))
		bundle.member[below(bundle.n)].kind = (uint8_t)below(BUNDLE_KINDS);
	else if (bundle.n > 1 && !below(24))
		drop_member(&bundle);
	else if (bundle.n && !below(24))
		copy_member(&bundle);
	for (uint32_t times = bundle.n ? 1 + below(2) : 0; times; times--)
		mutate_member(&bundle);
	n = bundle_write(&bundle, data, max);
	bundle_free(&bundle);
	return n;
}
