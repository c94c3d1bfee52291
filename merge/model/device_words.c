/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_words.c - copies, sorts of memory, synchronisations: their numbers and torch.profiler's words
 *
 * Its readers tell copies apart by the first letters of their names.
 */
#include "merge/model/device.h"

#include <stdio.h>
#include <string.h>

/* By number of CUpti_ActivityMemcpyKind. */
static const char *const copy_words[] = {
	[TP_COPY_HTOD] = "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH", "PtoP",
};

/* By number of CUpti_ActivityMemoryKind. */
static const char *const memory_words[] = {
	"Unknown", [TP_MEMORY_PAGEABLE] = "Pageable", "Pinned", "Device", "Array", "Managed", "Device Static",
	"Managed Static",
};

/* The first of a kind is how it is written; the others are CUPTI's, in older traces. */
static const struct {
	const char *word;
	enum tp_sync_kind kind;
} sync_words[] = {
	{"Stream Wait Event", TP_SYNC_STREAM_WAIT}, {"Event Sync", TP_SYNC_EVENT},
	{"Event Synchronize", TP_SYNC_EVENT}, {"Stream Sync", TP_SYNC_STREAM},
	{"Stream Synchronize", TP_SYNC_STREAM}, {"Context Sync", TP_SYNC_CONTEXT},
	{"Context Synchronize", TP_SYNC_CONTEXT},
};

enum {
	N_COPIES = sizeof(copy_words) / sizeof(copy_words[0]),
	N_MEMORIES = sizeof(memory_words) / sizeof(memory_words[0]),
	N_SYNCS = sizeof(sync_words) / sizeof(sync_words[0]),
};

static const char copy_begin[] = "Memcpy ", arrow[] = " -> ";

static const char *copy_word(uint8_t kind)
{
	return kind && kind < N_COPIES ? copy_words[kind] : "<unknown>";
}

static const char *memory_word(uint8_t kind)
{
	return kind < N_MEMORIES ? memory_words[kind] : "Unrecognized";
}

const char *tp_device_transfer_name(char buf[64], const struct tp_transfer *transfer)
{
	if (transfer->to_kind == TP_MEMORY_UNTOLD)
		snprintf(buf, 64, "%s%s", transfer->copy_kind ? copy_begin : "Memset",
			 transfer->copy_kind ? copy_word(transfer->copy_kind) : "");
	else if (transfer->copy_kind)
		snprintf(buf, 64, "%s%s (%s%s%s)", copy_begin, copy_word(transfer->copy_kind),
			 memory_word(transfer->from_kind), arrow, memory_word(transfer->to_kind));
	else
		snprintf(buf, 64, "Memset (%s)", memory_word(transfer->to_kind));
	return buf;
}

static bool is_word(const char *word, const char *text, size_t n)
{
	return strlen(word) == n && !memcmp(word, text, n);
}

static uint8_t number_of(const char *const *words, size_t n_words, const char *text, size_t n)
{
	for (size_t i = 1; i < n_words; i++)
		if (is_word(words[i], text, n))
			return (uint8_t)i;
	return 0;
}

void tp_device_transfer_of(struct tp_transfer *transfer, const char *name, uint32_t n)
{
	const size_t n_begin = sizeof(copy_begin) - 1, n_arrow = sizeof(arrow) - 1;
	const char *open, *close, *to;

	if (!n)
		return;
	open = memchr(name, '(', n);
	if (n >= n_begin + 4 && !memcmp(name, copy_begin, n_begin))
		transfer->copy_kind = number_of(copy_words, N_COPIES, name + n_begin, 4);
	if (!open)
		transfer->from_kind = transfer->to_kind = TP_MEMORY_UNTOLD;
	close = open ? memchr(open, ')', (size_t)(name + n - open)) : NULL;
	if (!close)
		return;
	open++;
	to = memmem(open, (size_t)(close - open), arrow, n_arrow);
	if (to) {
		transfer->from_kind = number_of(memory_words, N_MEMORIES, open, (size_t)(to - open));
		open = to + n_arrow;
	}
	transfer->to_kind = number_of(memory_words, N_MEMORIES, open, (size_t)(close - open));
}

const char *tp_device_sync_name(uint32_t kind)
{
	for (uint32_t i = 0; i < N_SYNCS; i++)
		if (sync_words[i].kind == kind)
			return sync_words[i].word;
	return "Unknown Sync";
}

uint32_t tp_device_sync_of(const char *name, uint32_t n)
{
	for (uint32_t i = 0; i < N_SYNCS; i++)
		if (is_word(sync_words[i].word, name, n))
			return sync_words[i].kind;
	return 0;
}
