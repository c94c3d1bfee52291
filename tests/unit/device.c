/* SPDX-License-Identifier: Apache-2.0 */
/* Strings of device records as structures and as torch.profiler's words. */
#include <criterion/criterion.h>

#include "merge/model/device.h"
#include "runtime/trace/kinds.h"
#include "tests/unit/fake_run.h"

static struct tp_event with(uint32_t kind, const void *bytes, uint32_t n)
{
	/* Just as long as it says: a read behind it is the address sanitizer's. */
	char *exact = malloc(n + 1);
	struct tp_string *string = fake_alloc(sizeof(*string));

	memcpy(exact, bytes, n);
	exact[n] = '\0';
	*string = (struct tp_string){.kind = kind, .n_bytes = n, .bytes = exact};
	return (struct tp_event){.detail = string};
}

Test(device, structures_of_every_length_are_read_as_far_as_they_go)
{
	struct tp_launch launch = {.place = {1, 2, 3}, .graph = 4, .graph_node = 5,
				   .grid = {6, 7, 8}, .block = {9, 10, 11}, .cluster = {2, 1, 1},
				   .registers = 12, .shared_static = 13, .shared_dynamic = 14,
				   .local_per_thread = 15};
	char longer[100] = {0};

	memcpy(longer, &launch, sizeof(launch));
	longer[99] = 1;
	for (uint32_t n = 0; n <= sizeof(longer); n++) {
		struct tp_event event = with(TP_STRING_LAUNCH, longer, n);
		struct tp_launch got = tp_device_launch(&event), want = {0};

		memcpy(&want, &launch, n < sizeof(want) ? n : sizeof(want));
		cr_expect(!memcmp(&got, &want, sizeof(got)), "%u bytes", n);
		free((char *)event.detail->bytes);
	}
}

Test(device, a_string_of_another_kind_says_nothing)
{
	struct tp_transfer transfer = {.place = {1, 2, 3}, .copy_kind = 1};
	struct tp_sync_what sync = {.place = {1, 2, 3}, .kind = 2};
	struct tp_event as_sync = with(TP_STRING_SYNC, &transfer, sizeof(transfer));
	struct tp_event as_transfer = with(TP_STRING_TRANSFER, &sync, sizeof(sync));
	const char *owner;

	cr_expect_eq(tp_device_transfer(&as_sync).copy_kind, 0);
	cr_expect_eq(tp_device_sync(&as_transfer).kind, 0);
	cr_expect_eq(tp_device_launch(&as_sync).place.device, 0);
	cr_expect_eq(tp_device_memory(&as_sync, &owner).device, 0);
	cr_expect_str_empty(owner);
	as_transfer.detail = with(TP_STRING_TRANSFER, &transfer, sizeof(transfer)).detail;
	cr_expect_eq(tp_device_transfer(&as_transfer).place.stream, 3);
}

Test(device, memory_has_an_owner_or_none)
{
	struct tp_devmem_what what = {.device = 1, .kind = TP_DEVMEM_PINNED, .pool = 77};
	char bytes[64];
	const char *owner;
	struct tp_event event;

	memcpy(bytes, &what, sizeof(what));
	memcpy(bytes + sizeof(what), "/x/libnccl.so.2", 15);
	event = with(TP_STRING_DEVMEM, bytes, sizeof(what) + 15);
	cr_expect_eq(tp_device_memory(&event, &owner).pool, 77);
	cr_expect_str_eq(owner, "/x/libnccl.so.2");
	event = with(TP_STRING_DEVMEM, bytes, sizeof(what));
	cr_expect_eq(tp_device_memory(&event, &owner).kind, TP_DEVMEM_PINNED);
	cr_expect_str_empty(owner);
	event = with(TP_STRING_DEVMEM, bytes, 3);
	cr_expect_eq(tp_device_memory(&event, &owner).kind, 0);
	cr_expect_str_empty(owner);
	cr_expect_str_eq(tp_devmem_kind_name(TP_DEVMEM_PINNED), "pinned");
	cr_expect_str_eq(tp_devmem_kind_name(TP_DEVMEM_GRAPH), "graph");
	cr_expect_str_eq(tp_devmem_kind_name(0), "unknown");
	cr_expect_str_eq(tp_devmem_kind_name(TP_DEVMEM_N), "unknown");
}

Test(device, transfers_and_syncs_are_called_as_torch_calls_them)
{
	static const struct {
		struct tp_transfer transfer;
		const char *want;
	} cases[] = {
		{{.copy_kind = 1, .from_kind = 1, .to_kind = 3}, "Memcpy HtoD (Pageable -> Device)"},
		{{.copy_kind = 2, .from_kind = 3, .to_kind = 2}, "Memcpy DtoH (Device -> Pinned)"},
		{{.copy_kind = 8, .from_kind = 3, .to_kind = 3}, "Memcpy DtoD (Device -> Device)"},
		{{.copy_kind = 10, .from_kind = 3, .to_kind = 3}, "Memcpy PtoP (Device -> Device)"},
		{{.copy_kind = 3, .from_kind = 6, .to_kind = 7},
		 "Memcpy HtoA (Device Static -> Managed Static)"},
		{{.copy_kind = 255, .from_kind = 255, .to_kind = 0},
		 "Memcpy <unknown> (Unrecognized -> Unknown)"},
		{{.copy_kind = 0, .to_kind = 3}, "Memset (Device)"},
		{{.copy_kind = 0, .to_kind = 5}, "Memset (Managed)"},
	};
	char buf[64];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		cr_expect_str_eq(tp_device_transfer_name(buf, &cases[i].transfer), cases[i].want);
	cr_expect_str_eq(tp_device_sync_name(TP_SYNC_EVENT), "Event Sync");
	cr_expect_str_eq(tp_device_sync_name(TP_SYNC_STREAM_WAIT), "Stream Wait Event");
	cr_expect_str_eq(tp_device_sync_name(TP_SYNC_STREAM), "Stream Sync");
	cr_expect_str_eq(tp_device_sync_name(TP_SYNC_CONTEXT), "Context Sync");
	cr_expect_str_eq(tp_device_sync_name(99), "Unknown Sync");
}

Test(device, facts_are_read_by_key)
{
	static const char text[] =
		"id=1\nname=NVIDIA H100 80GB HBM3\nmajor=9\nminor=0\nsms=132\nwarp_threads=32\n"
		"sm_threads=2048\nsm_registers=65536\nsm_shared=233472\nblock_threads=1024\n"
		"block_registers=65536\nblock_shared=49152\nblock_shared_optin=232448\n"
		"memory_bytes=85031714816\nclock_khz=1980000\nnews=of a newer writer\n";
	struct tp_device d;

	cr_assert(tp_device_parse(&d, text, sizeof(text) - 1));
	cr_expect_eq(d.id, 1);
	cr_expect_str_eq(d.name, "NVIDIA H100 80GB HBM3");
	cr_expect(d.major == 9 && d.minor == 0 && d.n_sms == 132 && d.warp_threads == 32);
	cr_expect(d.sm_threads == 2048 && d.sm_registers == 65536 && d.sm_shared == 233472);
	cr_expect(d.block_threads == 1024 && d.block_registers == 65536);
	cr_expect(d.block_shared == 49152 && d.block_shared_optin == 232448);
	cr_expect(d.memory_bytes == 85031714816 && d.clock_khz == 1980000);
}

Test(device, bad_facts_are_none)
{
	static const char *const no_id[] = {"", "name=x\n", "id=\n", "id=x\n", "id=-1\n",
					    "id=4294967296\n", "xid=3\n"};
	struct tp_device d;
	char name[200] = "id=7\nname=";

	for (size_t i = 0; i < sizeof(no_id) / sizeof(no_id[0]); i++)
		cr_expect(!tp_device_parse(&d, no_id[i], (uint32_t)strlen(no_id[i])), "%s", no_id[i]);
	cr_assert(tp_device_parse(&d, "sms=99999999999\nid=3", 20));
	cr_expect_eq(d.id, 3);
	cr_expect_eq(d.n_sms, 0);
	cr_expect_str_empty(d.name);
	memset(name + strlen(name), 'n', 150);
	cr_assert(tp_device_parse(&d, name, (uint32_t)strlen(name)));
	cr_expect_eq(strlen(d.name), sizeof(d.name) - 1);
}

Test(device, is_found_by_its_id)
{
	struct tp_device device[] = {{.id = 1, .n_sms = 10}, {.id = 5, .n_sms = 50}};
	struct tp_proc proc = {.device = device, .n_devices = 2};

	cr_expect_eq(tp_device_of(&proc, 5)->n_sms, 50);
	cr_expect_null(tp_device_of(&proc, 0));
}

Test(device, words_lead_back_to_their_numbers)
{
	char buf[64];

	for (uint8_t copy = 0; copy <= 10; copy++) {
		for (uint8_t memory = 0; memory <= 7; memory++) {
			struct tp_transfer is = {.copy_kind = copy, .from_kind = copy ? memory : 0,
						 .to_kind = memory}, back = {.value = 0};

			tp_device_transfer_name(buf, &is);
			tp_device_transfer_of(&back, buf, (uint32_t)strlen(buf));
			cr_expect_eq(back.copy_kind, is.copy_kind, "%s", buf);
			cr_expect_eq(back.from_kind, is.from_kind, "%s", buf);
			cr_expect_eq(back.to_kind, is.to_kind, "%s", buf);
		}
	}
	for (uint32_t kind = TP_SYNC_EVENT; kind <= TP_SYNC_CONTEXT; kind++) {
		const char *name = tp_device_sync_name(kind);

		cr_expect_eq(tp_device_sync_of(name, (uint32_t)strlen(name)), kind, "%s", name);
	}
	cr_expect_eq(tp_device_sync_of("Stream Synchronize", 18), TP_SYNC_STREAM);
	cr_expect_eq(tp_device_sync_of("Stream", 6), 0);
}
