/* SPDX-License-Identifier: Apache-2.0 */
/*
 * coll.c - strings COLL and XFER of any length, and what a timeline shows of such events
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "merge/model/coll.h"

static const struct tp_coll ring = {
	.hash = 0xabc, .stream = 0x77, .rank = 1, .n_ranks = 4, .root = 2, .element_bytes = 4,
	.channels = 8, .warps = 16,
};
static const char texts[] = "AllReduce\0ncclFloat32\0RING\0SIMPLE\0dp";

/* The first n bytes of a whole COLL string, as a string of its own. */
static struct tp_string cut(uint32_t n)
{
	char whole[sizeof(ring) + sizeof(texts)], *bytes = calloc(1, n + 1);

	memcpy(whole, &ring, sizeof(ring));
	memcpy(whole + sizeof(ring), texts, sizeof(texts));
	memcpy(bytes, whole, n);
	return (struct tp_string){.kind = TP_STRING_COLL, .n_bytes = n, .bytes = bytes};
}

Test(coll, strings_of_any_length_are_read)
{
	/* The last zero byte is not part of it. */
	for (uint32_t n = 0; n < sizeof(ring) + sizeof(texts); n++) {
		struct tp_string string = cut(n);
		struct tp_coll_said said = tp_coll_read(&string);
		char title[TP_COLL_TITLE];

		cr_expect_eq(said.is.hash, n >= 8 ? 0xabc : n >= 2 ? 0xabc : n ? 0xbc : 0);
		cr_expect(!strncmp(said.func, "AllReduce", strlen(said.func)));
		cr_expect(!strncmp(said.proto, "SIMPLE", strlen(said.proto)));
		tp_coll_title(title, &string);
		cr_expect(!strncmp(title, "ncclAllReduce", strlen(title)), "%u: %s", n, title);
		free((char *)string.bytes);
	}
}

Test(coll, texts_and_titles)
{
	struct tp_string string = cut(sizeof(ring) + sizeof(texts) - 1), other = {.kind = 1,
		.n_bytes = 3, .bytes = "abc"};
	struct tp_coll_said said = tp_coll_read(&string);
	struct tp_xfer xfer = {.hash = 1, .peer = 3, .is_send = 1};
	struct tp_string name = {.kind = TP_STRING_XFER, .n_bytes = sizeof(xfer),
				 .bytes = (char *)&xfer};
	char title[TP_COLL_TITLE];

	cr_expect_str_eq(said.func, "AllReduce");
	cr_expect_str_eq(said.type, "ncclFloat32");
	cr_expect_str_eq(said.algo, "RING");
	cr_expect_str_eq(said.proto, "SIMPLE");
	cr_expect_str_eq(said.comm, "dp");
	cr_expect_str_eq(tp_coll_title(title, &string), "ncclAllReduce");
	cr_expect_str_eq(tp_coll_title(title, &name), "send to 3");
	cr_expect_str_eq(tp_coll_read_xfer(&name).func, "");
	cr_expect_eq(tp_coll_read(&other).is.hash, 0);
}

Test(coll, there_is_room_for_all_arguments)
{
	static const uint8_t kind[] = {TP_REC_COLL, TP_REC_XFER};
	struct tp_string string = cut(sizeof(ring) + sizeof(texts) - 1);
	struct tp_xfer xfer = {.hash = ~0ull, .rank = -1, .is_foreign = 1};
	struct tp_string name = {.kind = TP_STRING_XFER, .n_bytes = sizeof(xfer),
				 .bytes = (char *)&xfer};
	struct tp_coll_arg arg[TP_COLL_ARGS];
	char buf[64];

	for (int i = 0; i < 2; i++) {
		struct tp_event event = {.kind = kind[i], .flags = 0xff, .link = 5, .arg = ~0ull,
					 .name = i ? &name : &string};
		uint32_t n = tp_coll_args(&event, arg, buf);

		cr_assert_leq(n, TP_COLL_ARGS);
		cr_expect_str_eq(arg[0].name, "bytes");
		cr_expect_eq(arg[0].value, i ? (1ll << 40) - 1 : (1ll << 48) - 1);
		cr_expect_str_eq(arg[n - 1].name, "Unfinished");
	}
}
