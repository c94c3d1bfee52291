/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nccl_read.c - the descriptions of events, each version's laid out by tests/fakes/nccl_plugin.h
 */
#include <criterion/criterion.h>
#include <string.h>

#include "runtime/probe/nccl/nccl_abi.h"
#include "runtime/probe/nccl/nccl_read.h"
#include "tests/fakes/nccl_plugin.h"

static struct tp_nccl_event event;

static void check_coll(uint32_t version, const void *descr, const char *name)
{
	memset(&event, 0xff, sizeof(event));
	cr_assert(tp_nccl_read(version, descr, &event), "version %u", version);
	cr_expect_eq(event.type, TP_NCCL_COLL);
	cr_expect_eq(event.rank, 3);
	cr_expect_eq(event.parent, 0x1234);
	cr_expect_str_eq(event.func, "ReduceScatter", "version %u: %s", version, event.func);
	cr_expect_str_eq(event.datatype, "ncclBfloat16", "version %u", version);
	cr_expect_str_eq(event.algo, "NVLS_TREE", "version %u", version);
	cr_expect_str_eq(event.proto, "LL128", "version %u", version);
	cr_expect(event.has_seq && event.seq == 77, "version %u", version);
	cr_expect_eq(event.bytes, 2000, "version %u", version);
	cr_expect_eq(event.element_bytes, 2);
	cr_expect_eq(event.root, 5);
	cr_expect(event.channels == 24 && event.warps == 16, "version %u", version);
	cr_expect_eq(event.comm_hash, name ? 0xabc : 0, "version %u", version);
	if (name)
		cr_expect_str_eq(event.comm_name, name, "version %u", version);
}

#define COLL(d)                                                                            \
	(d).type = NCCL_COLL; (d).parent = (void *)0x1234; (d).rank = 3; (d).coll.seq = 77;  \
	(d).coll.count = 1000; (d).coll.root = 5; (d).coll.channels = 24; (d).coll.warps = 16
#define COLL_TEXTS(d)                                                                      \
	(d).coll.func = "ReduceScatter"; (d).coll.datatype = "ncclBfloat16";                 \
	(d).coll.algo = "NVLS_TREE"; (d).coll.proto = "LL128"
#define COLL_COMM(d) (d).coll.name = "dp"; (d).coll.hash = 0xabc

Test(nccl_read, collectives_of_every_version)
{
	struct nccl_descr_v1 v1;
	struct nccl_descr_v2 v2;
	struct nccl_descr_v3 v3;
	struct nccl_descr_v4 v4;
	struct nccl_descr_v6 v6;

	/* What is between members is anything. */
	memset(&v1, 0x5a, sizeof(v1));
	memset(&v2, 0x5a, sizeof(v2));
	memset(&v3, 0x5a, sizeof(v3));
	memset(&v4, 0x5a, sizeof(v4));
	memset(&v6, 0x5a, sizeof(v6));
	COLL(v1);
	COLL_COMM(v1);
	v1.coll.func = 3;
	v1.coll.datatype = 9;
	v1.coll.algo = 5;
	v1.coll.proto = 1;
	check_coll(1, &v1, "dp");
	COLL(v2);
	COLL_COMM(v2);
	COLL_TEXTS(v2);
	check_coll(2, &v2, "dp");
	COLL(v3);
	COLL_COMM(v3);
	COLL_TEXTS(v3);
	check_coll(3, &v3, "dp");
	COLL(v4);
	COLL_TEXTS(v4);
	check_coll(4, &v4, NULL);
	COLL(v6);
	COLL_TEXTS(v6);
	check_coll(5, &v6, NULL);
	check_coll(6, &v6, NULL);
}

Test(nccl_read, numbers_that_no_release_had_and_texts_that_are_missing)
{
	struct nccl_descr_v1 v1 = {.type = NCCL_COLL, .coll = {.func = 200, .datatype = 99,
				   .algo = 7, .proto = 3, .count = 10}};
	struct nccl_descr_v4 v4 = {.type = NCCL_COLL, .coll = {.count = 10}};

	cr_assert(tp_nccl_read(1, &v1, &event));
	cr_expect(!*event.func && !*event.datatype && !*event.algo && !*event.proto);
	cr_expect_eq(event.bytes, 0);
	cr_assert(tp_nccl_read(4, &v4, &event));
	cr_expect(!*event.func && !*event.datatype && !*event.algo && !*event.proto);
}

Test(nccl_read, sizes_of_elements)
{
	static const struct {
		const char *type;
		uint8_t bytes;
	} row[] = {
		{"ncclInt8", 1}, {"ncclUint32", 4}, {"ncclInt64", 8}, {"ncclFloat16", 2},
		{"ncclFloat64", 8}, {"ncclBfloat16", 2}, {"ncclFloat8e4m3", 1},
		{"ncclFloat8e5m2", 1}, {"Unknown", 0}, {"", 0}, {"x99999999999999999999", 0},
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct nccl_descr_v4 v4 = {.type = NCCL_COLL, .coll = {.count = 3,
					   .datatype = row[i].type}};

		cr_assert(tp_nccl_read(4, &v4, &event));
		cr_expect_eq(event.element_bytes, row[i].bytes, "%s", row[i].type);
	}
}

Test(nccl_read, sends_and_receives)
{
	struct nccl_descr_v1 v1 = {.type = NCCL_P2P, .p2p = {"pp", 0xdef, 6, NULL, 7, 25, 4}};
	struct nccl_descr_v2 v2 = {.type = NCCL_P2P, .p2p = {"pp", 0xdef, "Send", NULL,
							     "ncclFloat32", 25, 4}};
	struct nccl_descr_v3 v3 = {.type = NCCL_P2P, .p2p = {"pp", 0xdef, "Send", NULL,
							     "ncclFloat32", 25, 4}};
	struct nccl_descr_v4 v4 = {.type = NCCL_P2P, .p2p = {"Send", NULL, "ncclFloat32", 25, 4, 2}};
	struct nccl_descr_v6 v6 = {.type = NCCL_P2P, .p2p = {"Send", NULL, "ncclFloat32", 25, 4, 2,
							     NULL}};
	const void *descr[] = {NULL, &v1, &v2, &v3, &v4, &v6, &v6};

	for (uint32_t version = 1; version <= 6; version++) {
		cr_assert(tp_nccl_read(version, descr[version], &event), "version %u", version);
		cr_expect_str_eq(event.func, "Send", "version %u", version);
		cr_expect(!event.has_seq && event.bytes == 100 && event.root == 4, "version %u",
			  version);
		cr_expect_eq(event.comm_hash, version < 4 ? 0xdef : 0, "version %u", version);
		cr_expect_eq(event.channels, version < 4 ? 0 : 2, "version %u", version);
	}
}

Test(nccl_read, what_proxies_and_calls_say)
{
	struct nccl_descr_v3 v3 = {.type = NCCL_PROXY_OP, .op = {42, 7, 9, 3, 4096, 1}};
	struct nccl_descr_v6 v6 = {.type = NCCL_PROXY_OP, .op = {42, 7, 9, 3, 4096, 1}};

	for (uint32_t version = 3; version <= 6; version += 3) {
		cr_assert(tp_nccl_read(version, version == 3 ? (void *)&v3 : (void *)&v6, &event));
		cr_expect(event.pid == 42 && event.channel == 7 && event.peer == 9 && event.is_send);
	}
	v6 = (struct nccl_descr_v6){.type = NCCL_COLL_API,
				    .coll_api = {"Reduce", 1, "ncclInt8", 0, (void *)0x77, true}};
	cr_assert(tp_nccl_read(5, &v6, &event));
	cr_expect(event.stream == 0x77 && event.is_captured);
	v6 = (struct nccl_descr_v6){.type = NCCL_P2P_API,
				    .p2p_api = {"Send", 1, "ncclInt8", (void *)0x78, true}};
	cr_assert(tp_nccl_read(6, &v6, &event));
	cr_expect(event.stream == 0x78 && event.is_captured);
	v6 = (struct nccl_descr_v6){.type = NCCL_CE_COLL,
				    .ce_coll = {8, "AllGather", NULL, NULL, 6, 0, "ncclFloat16", "UC",
						false, 0, 0, 8, (void *)0x79}};
	cr_assert(tp_nccl_read(6, &v6, &event));
	cr_expect(event.stream == 0x79 && event.seq == 8 && event.bytes == 12);
	cr_expect_str_eq(event.algo, "CE");
	/* Of versions that have no such events, or nobody asked for. */
	cr_expect(!tp_nccl_read(5, &v6, &event));
	v6.type = NCCL_KERNEL_CH;
	cr_expect(!tp_nccl_read(6, &v6, &event));
	v6.type = 1ull << 40;
	cr_expect(!tp_nccl_read(6, &v6, &event));
}
