/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nccl_record.c - what NCCL told of an event as a record COLL or XFER, with its name
 */
#include "runtime/probe/nccl/nccl_record.h"

#include <string.h>

#include "runtime/base/sync.h"
#include "runtime/engine/intern.h"
#include "runtime/engine/ring/ring.h"

enum { TEXT_MAX = 40 };	/* of a function, type, algorithm, protocol: all short */

struct tp_nccl_taking tp_nccl_taking;

static uint32_t append(char *to, uint32_t n, const char *text, uint32_t most)
{
	uint32_t n_text = (uint32_t)strnlen(text, most);

	memcpy(to + n, text, n_text);
	return n + n_text;
}

uint32_t tp_nccl_name_coll(const struct tp_communicator *comm, const char *comm_name,
			   const struct tp_nccl_event *event, uint64_t stream)
{
	const char *const text[] = {event->func, event->datatype, event->algo, event->proto};
	struct {
		struct tp_coll is;
		char texts[4 * (TEXT_MAX + 1) + TP_NCCL_NAME];
	} name = {
		.is = {
			.hash = comm->hash, .stream = stream, .rank = event->rank,
			.n_ranks = comm->n_ranks, .root = event->root,
			.element_bytes = event->element_bytes, .channels = event->channels,
			.warps = event->warps,
			.what = event->type == TP_NCCL_P2P ? TP_COLL_P2P :
				event->type == TP_NCCL_CE_COLL ? TP_COLL_ENGINE : 0,
		},
	};
	uint32_t n = 0;

	for (uint32_t i = 0; i < 4; i++) {
		n = append(name.texts, n, text[i], TEXT_MAX);
		name.texts[n++] = '\0';
	}
	n = append(name.texts, n, comm_name, TP_NCCL_NAME);
	return tp_intern(TP_STRING_COLL, &name, (uint32_t)sizeof(name.is) + n);
}

uint32_t tp_nccl_name_xfer(const struct tp_nccl_event *event, uint64_t hash, bool is_foreign,
			   uint32_t coll)
{
	struct {
		struct tp_xfer is;
		char func[TEXT_MAX];
	} name = {
		.is = {
			.hash = hash, .rank = event->rank, .peer = event->peer,
			.channel = event->channel, .is_send = event->is_send,
			.is_foreign = is_foreign,
		},
	};
	uint32_t kind, n_bytes, n = 0;
	const char *bytes;

	if (coll && tp_intern_get(NULL, coll, &kind, &bytes, &n_bytes) &&
	    n_bytes > sizeof(struct tp_coll)) {
		uint32_t most = n_bytes - (uint32_t)sizeof(struct tp_coll);

		bytes += sizeof(struct tp_coll);
		n = (uint32_t)strnlen(bytes, most < TEXT_MAX ? most : TEXT_MAX);
		memcpy(name.func, bytes, n);
	}
	return tp_intern(TP_STRING_XFER, &name, (uint32_t)sizeof(name.is) + n);
}

static void record(uint8_t kind, const struct tp_nccl_entry *entry, uint64_t end, uint8_t flags,
		   uint64_t arg)
{
	struct tp_rec *rec = tp_ring_reserve();

	if (tp_unlikely(!rec)) {
		TP_NCCL_COUNT(no_room);
		return;
	}
	rec->time = entry->begin;
	tp_rec_set_len(rec, end > entry->begin ? end - entry->begin : 0);
	rec->kind = kind;
	rec->flags = flags;
	rec->name = entry->name;
	rec->link = entry->link;
	rec->arg = arg;
	tp_ring_commit();
	if (kind == TP_REC_COLL)
		TP_NCCL_COUNT(colls);
	else
		TP_NCCL_COUNT(xfers);
}

uint64_t tp_nccl_end_of(const struct tp_nccl_entry *entry)
{
	if (!entry->stopped || entry->kind != TP_NCCL_ENTRY_COLL || !entry->n_ops)
		return entry->stopped;
	return entry->last > entry->stopped ? entry->last : entry->stopped;
}

void tp_nccl_record_coll(const struct tp_nccl_entry *entry, uint64_t end, uint8_t flags)
{
	uint64_t bytes = entry->bytes <= TP_LEN_MAX ? entry->bytes : TP_LEN_MAX;

	flags |= entry->flags | (entry->n_ops ? TP_F_ASYNC : TP_F_ENQUEUED);
	record(TP_REC_COLL, entry, end, flags, TP_ARG_COLL(bytes, entry->slot));
}

void tp_nccl_record_xfer(const struct tp_nccl_entry *entry, uint64_t end, uint8_t flags)
{
	const uint64_t most = (1ull << 40) - 1;
	uint64_t bytes = entry->bytes < most ? entry->bytes : most, share[TP_NCCL_WAITS], sum = 0;

	for (uint32_t i = 0; i < TP_NCCL_WAITS; i++)
		sum += entry->wait[i];
	for (uint32_t i = 0; i < TP_NCCL_WAITS; i++)
		share[i] = sum ? (uint64_t)((double)entry->wait[i] / (double)sum * 255 + 0.5) : 0;
	record(TP_REC_XFER, entry, end, flags,
	       TP_ARG_XFER(bytes, share[TP_NCCL_WAIT_DEVICE], share[TP_NCCL_WAIT_PEER],
			   share[TP_NCCL_WAIT_NETWORK]));
}

void tp_nccl_record_entry(const struct tp_nccl_entry *entry, uint64_t end, uint8_t flags)
{
	if (entry->kind == TP_NCCL_ENTRY_COLL)
		tp_nccl_record_coll(entry, end, flags);
	else if (entry->kind == TP_NCCL_ENTRY_OP)
		tp_nccl_record_xfer(entry, end, flags);
}
