/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frame.c - payloads there and back, on the caller's memory only, and damage is seen
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/trace/frame.h"

static struct tp_frame_packer *packer;
static struct tp_frame_unpacker *unpacker;
static uint8_t *raw, *stored, *back;

static void set_up(void)
{
	size_t packer_bytes = tp_frame_packer_bytes(),
	       unpacker_bytes = tp_frame_unpacker_bytes();

	packer = tp_frame_packer_init(malloc(packer_bytes), packer_bytes);
	unpacker = tp_frame_unpacker_init(malloc(unpacker_bytes), unpacker_bytes);
	cr_assert(packer && unpacker);
	cr_assert_null(tp_frame_packer_init(packer, packer_bytes - 1));
	cr_assert_null(tp_frame_unpacker_init(NULL, unpacker_bytes));
	packer = tp_frame_packer_init(packer, packer_bytes);
	raw = calloc(1, TP_BLOCK_RAW_MAX);
	back = calloc(1, TP_BLOCK_RAW_MAX);
	stored = malloc(tp_frame_bound(TP_BLOCK_RAW_MAX));
}

TestSuite(frame, .init = set_up);

static void fill(size_t n, bool is_noise)
{
	uint64_t random = 88172645463325252ull;

	for (size_t i = 0; i < n; i++) {
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		raw[i] = (uint8_t)(is_noise ? random : random % 3);
	}
}

static size_t there_and_back(size_t n, const uint32_t *part_bytes, uint32_t n_parts)
{
	struct tp_block_head head = {.type = TP_BLOCK_EVENTS, .n_items = 7};
	size_t n_stored = tp_frame_pack(packer, &head, raw, n, part_bytes, n_parts, stored);

	cr_assert_eq(head.magic, TP_BLOCK_MAGIC);
	cr_assert_eq(head.stored_bytes, n_stored);
	cr_assert_eq(head.raw_bytes, n);
	cr_assert_leq(n_stored, n);
	memset(back, 0xee, n);
	cr_assert_eq(tp_frame_unpack(unpacker, &head, stored, back), 0);
	cr_assert_eq(memcmp(raw, back, n), 0);
	return n_stored;
}

Test(frame, keeps_payloads_of_all_sizes)
{
	static const size_t size[] = {0, 1, 8, 100, 4096, 131072, 131073, TP_BLOCK_RAW_MAX};

	for (size_t i = 0; i < sizeof(size) / sizeof(size[0]); i++) {
		fill(size[i], true);
		cr_assert_eq(there_and_back(size[i], NULL, 0), size[i],
			     "noise is stored as it is");
		fill(size[i], false);
		if (size[i] >= 100)
			cr_assert_lt(there_and_back(size[i], NULL, 0), size[i] / 2 + 40);
	}
}

Test(frame, keeps_payloads_of_any_parts)
{
	static const uint32_t parts[][5] = {
	    {20000, 20000, 20000, 20000, 20000},
	    {0, 0, 0, 0, 100000},
	    {100000, 0, 0, 0, 0},
	    {1, 1, 1, 1, 99996},
	    {99996, 1, 1, 1, 1},
	    {600, 600, 600, 600, 97600},
	    /* Lengths that are not those of the payload must do no harm either. */
	    {50000, 90000, 0, 0, 0},
	    {10, 10, 10, 10, 10},
	    {0, 0, 0, 0, 0},
	};

	fill(100000, false);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		cr_assert_lt(there_and_back(100000, parts[i], 5), 50000);
}

Test(frame, of_damaged_bytes_is_refused)
{
	struct tp_block_head head = {.type = TP_BLOCK_EVENTS}, good;
	size_t n;

	fill(3000, false);
	n = tp_frame_pack(packer, &head, raw, 3000, NULL, 0, stored);
	good = head;
	for (size_t bit = 0; bit < 8 * n; bit++) {
		stored[bit / 8] ^= (uint8_t)(1 << bit % 8);
		cr_assert_eq(tp_frame_unpack(unpacker, &head, stored, back), -EBADMSG);
		stored[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	for (size_t bit = 0; bit < 8 * sizeof(head); bit++) {
		((uint8_t *)&head)[bit / 8] ^= (uint8_t)(1 << bit % 8);
		/* A length is checked against the file by the reader, before this. */
		if (head.stored_bytes == good.stored_bytes)
			cr_assert_lt(tp_frame_unpack(unpacker, &head, stored, back), 0);
		head = good;
	}
	cr_assert_eq(tp_frame_unpack(unpacker, &head, stored, back), 0);
	head.raw_bytes = TP_BLOCK_RAW_MAX + 1;
	cr_assert_eq(tp_frame_unpack(unpacker, &head, stored, back), -E2BIG);
}

Test(frame, head_of_a_file_is_sealed_and_checked)
{
	struct tp_file_head head = {
	    .magic = TP_FILE_MAGIC, .major = TP_TRACE_MAJOR, .head_bytes = sizeof(head)};

	cr_assert_eq(tp_frame_check_file_head(&head), -EBADMSG);
	tp_frame_seal_file_head(&head);
	cr_assert_eq(tp_frame_check_file_head(&head), 0);
	head.head_bytes = 64;
	tp_frame_seal_file_head(&head);
	cr_assert_eq(tp_frame_check_file_head(&head), -EBADMSG);
	head.major++;
	cr_assert_eq(tp_frame_check_file_head(&head), -EPROTONOSUPPORT);
	head.magic++;
	cr_assert_eq(tp_frame_check_file_head(&head), -EINVAL);
}
