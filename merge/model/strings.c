/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strings.c - interning: equal strings of different ranks and windows become one
 *
 * Bytes come from files that are not trusted: any length and content is kept as it is, ids
 * are checked. Strings live in chunks that are never moved, so pointers to them stay good.
 */
#include "merge/model/strings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "merge/kit/demangle.h"
#include "merge/model/device.h"
#include "runtime/base/hash.h"

/* As it lies in a chunk; its bytes follow. */
struct kept {
	struct tp_string pub;
	const struct tp_string *title;
};

enum {
	SLOTS_AT_FIRST = 1024,
	CHUNK_BYTES = 64 << 10,
};

int tp_strings_init(struct tp_strings *strings)
{
	memset(strings, 0, sizeof(*strings));
	strings->none.bytes = "";
	strings->n_strings = 1;
	strings->n_slots = SLOTS_AT_FIRST;
	strings->slot = calloc(strings->n_slots, sizeof(strings->slot[0]));
	return strings->slot ? 0 : -ENOMEM;
}

void tp_strings_free(struct tp_strings *strings)
{
	for (uint32_t i = 0; i < strings->n_chunks; i++)
		free(strings->chunk[i]);
	free(strings->chunk);
	free(strings->slot);
	memset(strings, 0, sizeof(*strings));
}

static void *take_room(struct tp_strings *strings, size_t n)
{
	void *room;

	n = (n + 7) & ~(size_t)7;
	if (n > strings->room_left) {
		size_t bytes = n > CHUNK_BYTES ? n : CHUNK_BYTES;
		void **chunk = realloc(strings->chunk,
				       (strings->n_chunks + 1) * sizeof(chunk[0]));

		if (!chunk)
			return NULL;
		strings->chunk = chunk;
		chunk[strings->n_chunks] = malloc(bytes);
		if (!chunk[strings->n_chunks])
			return NULL;
		strings->room = chunk[strings->n_chunks++];
		strings->room_left = bytes;
	}
	room = strings->room;
	strings->room += n;
	strings->room_left -= n;
	return room;
}

static struct tp_string **find_slot(struct tp_string **slot, uint32_t n_slots, uint32_t kind,
				    const char *bytes, uint32_t n_bytes)
{
	uint64_t at = tp_hash_bytes(bytes, n_bytes, kind);

	for (;; at++) {
		struct tp_string **s = &slot[at & (n_slots - 1)];

		if (!*s || ((*s)->kind == kind && (*s)->n_bytes == n_bytes &&
			    !memcmp((*s)->bytes, bytes, n_bytes)))
			return s;
	}
}

static int grow_slots(struct tp_strings *strings)
{
	uint32_t n = strings->n_slots * 2;
	struct tp_string **slot = calloc(n, sizeof(slot[0]));

	if (!slot)
		return -ENOMEM;
	for (uint32_t i = 0; i < strings->n_slots; i++) {
		struct tp_string *s = strings->slot[i];

		if (s)
			*find_slot(slot, n, s->kind, s->bytes, s->n_bytes) = s;
	}
	free(strings->slot);
	strings->slot = slot;
	strings->n_slots = n;
	return 0;
}

/* Made with the string: the number of strings is known before the first event. */
static const struct tp_string *make_title(struct tp_strings *strings, const struct tp_string *s)
{
	struct tp_event event = {.detail = s};
	struct tp_transfer transfer;
	const struct tp_string *title;
	const char *text;
	uint32_t n;
	static char readable[TP_DEMANGLE_TO];
	char buf[64];

	switch (s->kind) {
	case TP_STRING_TEXT:
		text = tp_demangle(s->bytes, s->n_bytes, readable, &n);
		if (!text)
			return &strings->none;
		break;
	case TP_STRING_TRANSFER:
		transfer = tp_device_transfer(&event);
		text = tp_device_transfer_name(buf, &transfer);
		break;
	case TP_STRING_SYNC:
		text = tp_device_sync_name(tp_device_sync(&event).kind);
		break;
	case TP_STRING_LAUNCH:
		text = "cudaGraphLaunch";
		break;
	default:
		return &strings->none;
	}
	title = tp_strings_add(strings, TP_STRING_TEXT, text, (uint32_t)strlen(text));
	return title ? title : &strings->none;
}

const struct tp_string *tp_strings_title(const struct tp_string *string)
{
	const struct kept *kept = (const struct kept *)string;

	return kept->title;
}

const struct tp_string *tp_strings_add(struct tp_strings *strings, uint32_t kind,
				       const char *bytes, uint32_t n_bytes)
{
	struct tp_string **slot, *s;
	struct kept *kept;
	char *copy;

	if (!kind)
		return &strings->none;
	if (strings->n_strings > strings->n_slots / 2 && grow_slots(strings))
		return NULL;
	slot = find_slot(strings->slot, strings->n_slots, kind, bytes, n_bytes);
	s = *slot;
	if (s)
		return s;
	kept = take_room(strings, sizeof(*kept) + n_bytes + 1);
	if (!kept)
		return NULL;
	s = &kept->pub;
	copy = (char *)(kept + 1);
	memcpy(copy, bytes, n_bytes);
	copy[n_bytes] = 0;
	s->kind = kind;
	s->n_bytes = n_bytes;
	s->bytes = copy;
	s->same = strings->n_strings++;
	strings->n_bytes += sizeof(*kept) + n_bytes + 2 * sizeof(*slot);
	*slot = s;
	kept->title = make_title(strings, s);
	return s;
}

const struct tp_string **tp_strings_list(const struct tp_strings *strings)
{
	const struct tp_string **list = malloc(strings->n_strings * sizeof(*list));

	if (!list)
		return NULL;
	list[0] = &strings->none;
	for (uint32_t i = 0; i < strings->n_slots; i++)
		if (strings->slot[i])
			list[strings->slot[i]->same] = strings->slot[i];
	return list;
}

int tp_ids_set(struct tp_ids *ids, uint32_t id, const struct tp_string *string)
{
	uint32_t page = id >> TP_IDS_PAGE_BITS;
	const struct tp_string **entry;

	if (!id || id >= TP_IDS_MAX)
		return -ERANGE;
	if (page >= ids->n_pages) {
		uint32_t n = page + 1 > ids->n_pages * 2 ? page + 1 : ids->n_pages * 2;
		const struct tp_string ***more = realloc(ids->page, n * sizeof(more[0]));

		if (!more)
			return -ENOMEM;
		memset(more + ids->n_pages, 0, (n - ids->n_pages) * sizeof(more[0]));
		ids->page = more;
		ids->n_pages = n;
	}
	if (!ids->page[page]) {
		ids->page[page] = calloc(TP_IDS_PAGE, sizeof(ids->page[page][0]));
		if (!ids->page[page])
			return -ENOMEM;
		ids->n_bytes += TP_IDS_PAGE * sizeof(ids->page[page][0]);
	}
	entry = &ids->page[page][id & (TP_IDS_PAGE - 1)];
	if (*entry && *entry != string)
		return -EEXIST;
	*entry = string;
	return 0;
}

void tp_ids_free(struct tp_ids *ids)
{
	for (uint32_t i = 0; i < ids->n_pages; i++)
		free(ids->page[i]);
	free(ids->page);
	memset(ids, 0, sizeof(*ids));
}
