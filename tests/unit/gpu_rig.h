/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpu_rig.h - records of a GPU for merge_rig.h, and results of sinks as text
 *
 * Calls are of the thread `tid` (100 + rank is the main one); a device has 80 multiprocessors of
 * 2048 threads, like a V100.
 */
#ifndef TP_TESTS_GPU_RIG_H
#define TP_TESTS_GPU_RIG_H

#include "merge/sinks.h"
#include "merge/pass.h"
#include "tests/unit/merge_rig.h"

static char rig_text_of[1 << 20];

static inline void rig_device(uint32_t id)
{
	char text[400];
	int n = snprintf(text, sizeof(text),
			 "id=%u\nname=Tesla V100\nmajor=7\nminor=0\nsms=80\nwarp_threads=32\n"
			 "sm_threads=2048\nsm_registers=65536\nsm_shared=98304\nblock_threads=1024\n"
			 "block_registers=65536\nblock_shared=49152\nblock_shared_optin=98304\n"
			 "memory_bytes=34084028416\n", id);

	cr_assert_eq(tp_writer_string(&rig.writer,
				      rig_bytes(TP_STRING_DEVICE, text, (uint32_t)n)), 0);
}

static inline void rig_call(const char *name, uint32_t tid, uint32_t correlation, uint8_t flags,
			    uint64_t begin_ns, uint64_t end_ns)
{
	rig_put((struct tp_rec){.time = begin_ns, .kind = TP_REC_CALL, .name = rig_text(name),
				.flags = flags, .link = correlation,
				.arg = TP_ARG_CALL(tid, 0)}, end_ns - begin_ns, 0);
}

static inline void rig_kernel(const char *name, struct tp_device_place place,
			      uint32_t correlation, uint64_t begin_ns, uint64_t end_ns)
{
	struct tp_launch launch = {.place = place, .grid = {50, 1, 1}, .block = {256, 1, 1},
				   .registers = 38, .shared_static = 16, .shared_dynamic = 48};

	rig_put((struct tp_rec){.time = begin_ns, .kind = TP_REC_KERNEL, .name = rig_text(name),
				.link = correlation,
				.arg = rig_bytes(TP_STRING_LAUNCH, (char *)&launch, sizeof(launch))},
		end_ns - begin_ns, 0);
}

static inline void rig_copy(struct tp_device_place place, uint32_t correlation, uint64_t bytes,
			    uint64_t begin_ns, uint64_t end_ns)
{
	/* Host to device, from pageable memory. */
	struct tp_transfer transfer = {.place = place, .copy_kind = 1, .from_kind = 1, .to_kind = 3};

	rig_put((struct tp_rec){.time = begin_ns, .kind = TP_REC_MEMCPY, .link = correlation,
				.arg = bytes,
				.name = rig_bytes(TP_STRING_TRANSFER, (char *)&transfer,
						  sizeof(transfer))},
		end_ns - begin_ns, 0);
}

static inline void rig_sync(uint32_t kind, struct tp_device_place place, uint32_t correlation,
			    uint32_t recorded_stream, uint64_t begin_ns, uint64_t end_ns)
{
	struct tp_sync_what sync = {.place = place, .kind = kind,
				    .recorded_stream = recorded_stream};

	rig_put((struct tp_rec){.time = begin_ns, .kind = TP_REC_SYNC, .link = correlation,
				.name = rig_bytes(TP_STRING_SYNC, (char *)&sync, sizeof(sync)),
				.arg = kind == TP_SYNC_EVENT ? 9 | 32ull << 32 : 0},
		end_ns - begin_ns, 0);
}

/* ---- results ---- */

/* What the sink makes of the rig's files, at `path` in the rig's folder. */
static inline void rig_write(const struct tp_sink *sink, const char *path)
{
	struct tp_run *run = rig_open(NULL, NULL, NULL);
	char full[192];

	cr_assert_not_null(run);
	snprintf(full, sizeof(full), "%s/%s", rig.folder, path);
	cr_assert_eq(tp_pass_write(run, sink, full), 0);
	tp_run_free(run);
}

static inline const char *rig_read(const char *path)
{
	char full[512];
	FILE *file;

	snprintf(full, sizeof(full), "%s/%s", rig.folder, path);
	file = fopen(full, "r");
	cr_assert(file, "%s", full);
	rig_text_of[fread(rig_text_of, 1, sizeof(rig_text_of) - 1, file)] = 0;
	fclose(file);
	return rig_text_of;
}

static inline uint32_t rig_count(const char *text, const char *what)
{
	uint32_t n = 0;

	for (const char *at = text; (at = strstr(at, what)); at += strlen(what))
		n++;
	return n;
}

#define rig_has(text, what) cr_expect(strstr(text, what), "not there: %s\nin: %s", what, text)

#endif
