/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cupti_layout.c - records of every version of CUPTI are read right, and never past their end
 *
 * What is right is said by NVIDIA's headers of each version that setup got: cupti_offsets.py put
 * it into $O/tests/cupti/<version>.txt. Records lie before a page that cannot be read.
 */
#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cupti.h>

#include "runtime/probe/gpu/cupti_layout.h"

enum { PAGE = 4096, NEWEST = 130500, N_KINDS = 64 };

/* One line of a table: a record (member empty) or a member. */
struct row {
	uint32_t version, kind, at, bytes;
	char member[40], file[20];
};
static struct row row[8000];
static uint32_t n_rows;
static uint8_t *page_end;	/* behind it lies what cannot be read */

static void read_table(const char *path, const char *file)
{
	FILE *f = fopen(path, "r");
	char line[200];
	uint32_t version = 0;

	cr_assert_not_null(f);
	while (fgets(line, sizeof(line), f)) {
		struct row *now = &row[n_rows];

		*now = (struct row){.version = version};
		snprintf(now->file, sizeof(now->file), "%.19s", file);
		if (sscanf(line, "version %u", &version) == 1)
			continue;
		if (sscanf(line, "record %u %u", &now->kind, &now->bytes) == 2 ||
		    sscanf(line, "member %u %39s %u %u", &now->kind, now->member, &now->at,
			   &now->bytes) == 4)
			n_rows++;
		cr_assert_lt(n_rows, sizeof(row) / sizeof(row[0]));
	}
	cr_assert_neq(version, 0);
	fclose(f);
}

static void set_up(void)
{
	char folder[400], path[800];
	const char *out = getenv("O") ? getenv("O") : "build";
	uint8_t *pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct dirent *entry;
	DIR *dir;

	cr_assert_neq(pages, MAP_FAILED);
	cr_assert_eq(mprotect(pages + PAGE, PAGE, PROT_NONE), 0);
	page_end = pages + PAGE;
	snprintf(folder, sizeof(folder), "%s/tests/cupti", out);
	dir = opendir(folder);
	cr_assert_not_null(dir, "no %s: make check-unit makes it", folder);
	while ((entry = readdir(dir))) {
		if (!strstr(entry->d_name, ".txt"))
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		read_table(path, entry->d_name);
	}
	closedir(dir);
}

TestSuite(cupti_layout, .init = set_up);

static struct tp_cupti_record got, wanted;

/* What is not of the record's kind is not set, hence stays 0 here. */
static bool read_zeroed(uint32_t version, const void *bytes, uint32_t n_bytes,
			struct tp_cupti_record *record)
{
	memset(record, 0, sizeof(*record));
	return tp_cupti_read(version, bytes, n_bytes, record);
}

/* A record of that kind, all zero, that ends where memory does. */
static uint8_t *zero_record(uint32_t kind, uint32_t bytes)
{
	uint8_t *record = page_end - bytes;

	memset(record, 0, bytes);
	if (bytes >= sizeof(kind))
		memcpy(record, &kind, sizeof(kind));
	return record;
}

/* Where each member goes. */
#define FIELD(field) offsetof(struct tp_cupti_record, field), sizeof(wanted.field)
static const struct {
	uint32_t kind[3];
	const char *member;
	size_t at, bytes;
} field_table[] = {
#define API {CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_DRIVER}
#define KERNEL {CUPTI_ACTIVITY_KIND_KERNEL, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL}
#define COPY {CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2}
#define MOVE {CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET}
#define PEER {CUPTI_ACTIVITY_KIND_MEMCPY2}
#define SET {CUPTI_ACTIVITY_KIND_MEMSET}
#define SYNC {CUPTI_ACTIVITY_KIND_SYNCHRONIZATION}
#define EVENT {CUPTI_ACTIVITY_KIND_CUDA_EVENT}
#define GRAPH {CUPTI_ACTIVITY_KIND_GRAPH_TRACE}
#define OVERHEAD {CUPTI_ACTIVITY_KIND_OVERHEAD}
#define MEMORY {CUPTI_ACTIVITY_KIND_MEMORY2}
#define PLACED {CUPTI_ACTIVITY_KIND_MEMORY2, CUPTI_ACTIVITY_KIND_CUDA_EVENT, \
		CUPTI_ACTIVITY_KIND_CONTEXT}
#define POOL {CUPTI_ACTIVITY_KIND_MEMORY_POOL}
	{{0}, "start", FIELD(start)},
	{{0}, "end", FIELD(end)},
	{{0}, "correlationId", FIELD(correlation)},
	{API, "cbid", FIELD(cbid)},
	{API, "threadId", FIELD(tid)},
	{API, "returnValue", FIELD(returned)},
	{KERNEL, "registersPerThread", FIELD(launch.registers)},
	{KERNEL, "gridX", FIELD(launch.grid[0])},
	{KERNEL, "gridY", FIELD(launch.grid[1])},
	{KERNEL, "gridZ", FIELD(launch.grid[2])},
	{KERNEL, "blockX", FIELD(launch.block[0])},
	{KERNEL, "blockY", FIELD(launch.block[1])},
	{KERNEL, "blockZ", FIELD(launch.block[2])},
	{KERNEL, "staticSharedMemory", FIELD(launch.shared_static)},
	{KERNEL, "dynamicSharedMemory", FIELD(launch.shared_dynamic)},
	{KERNEL, "localMemoryPerThread", FIELD(launch.local_per_thread)},
	{KERNEL, "name", FIELD(name)},
	{KERNEL, "clusterX", FIELD(launch.cluster[0])},
	{KERNEL, "clusterY", FIELD(launch.cluster[1])},
	{KERNEL, "clusterZ", FIELD(launch.cluster[2])},
	{KERNEL, "deviceId", FIELD(launch.place.device)},
	{KERNEL, "contextId", FIELD(launch.place.context)},
	{KERNEL, "streamId", FIELD(launch.place.stream)},
	{KERNEL, "graphNodeId", FIELD(launch.graph_node)},
	{KERNEL, "graphId", FIELD(launch.graph)},
	{COPY, "copyKind", FIELD(transfer.copy_kind)},
	{COPY, "srcKind", FIELD(transfer.from_kind)},
	{COPY, "dstKind", FIELD(transfer.to_kind)},
	{MOVE, "flags", FIELD(transfer.is_async)},
	{MOVE, "bytes", FIELD(bytes)},
	{MOVE, "deviceId", FIELD(transfer.place.device)},
	{MOVE, "contextId", FIELD(transfer.place.context)},
	{MOVE, "streamId", FIELD(transfer.place.stream)},
	{MOVE, "graphNodeId", FIELD(transfer.graph_node)},
	{MOVE, "graphId", FIELD(transfer.graph)},
	{PEER, "srcDeviceId", FIELD(transfer.from_device)},
	{PEER, "dstDeviceId", FIELD(transfer.to_device)},
	{SET, "value", FIELD(transfer.value)},
	{SET, "memoryKind", FIELD(transfer.to_kind)},
	{SYNC, "type", FIELD(sync.kind)},
	{SYNC, "contextId", FIELD(sync.place.context)},
	{SYNC, "streamId", FIELD(sync.place.stream)},
	{SYNC, "cudaEventId", FIELD(event)},
	{SYNC, "cudaEventSyncId", FIELD(event_sync)},
	{SYNC, "returnValue", FIELD(sync.returned)},
	{EVENT, "eventId", FIELD(event)},
	{EVENT, "cudaEventSyncId", FIELD(event_sync)},
	{GRAPH, "graphId", FIELD(graph)},
	{GRAPH, "deviceId", FIELD(launch.place.device)},
	{GRAPH, "contextId", FIELD(launch.place.context)},
	{GRAPH, "streamId", FIELD(launch.place.stream)},
	{OVERHEAD, "overheadKind", FIELD(overhead_kind)},
	{OVERHEAD, "objectId.pt.threadId", FIELD(tid)},
	{MEMORY, "memoryOperationType", FIELD(memory.operation)},
	{MEMORY, "memoryKind", FIELD(memory.memory_kind)},
	{MEMORY, "address", FIELD(memory.address)},
	{MEMORY, "bytes", FIELD(bytes)},
	{MEMORY, "timestamp", FIELD(start)},
	{PLACED, "deviceId", FIELD(place.device)},
	{PLACED, "contextId", FIELD(place.context)},
	{PLACED, "streamId", FIELD(place.stream)},
	{POOL, "deviceId", FIELD(place.device)},
	{POOL, "timestamp", FIELD(start)},
	{{CUPTI_ACTIVITY_KIND_DEVICE}, "id", FIELD(place.device)},
};

static size_t find_field(const struct row *member)
{
	size_t n = sizeof(field_table) / sizeof(field_table[0]);

	for (size_t i = 0; i < n; i++) {
		bool is_all = field_table[i].kind[0] == 0;

		for (int k = 0; k < 3; k++)
			if (!strcmp(field_table[i].member, member->member) &&
			    (is_all || field_table[i].kind[k] == member->kind))
				return i;
	}
	return n;
}

/* A record with nothing but this member is read as a record with nothing but its field. */
static void check_member(const struct row *member, uint32_t bytes)
{
	size_t i = find_field(member);
	uint8_t value[8] = {0x5a, 0x43, 0x71, 0x2e, 0x19, 0x38, 0x64, 0x07};
	uint8_t *record = zero_record(member->kind, bytes);
	bool is_flags = !strcmp(member->member, "flags");
	uint32_t thread = CUPTI_ACTIVITY_OBJECT_THREAD;

	if (member->kind == CUPTI_ACTIVITY_KIND_STREAM || !strcmp(member->member, "objectKind") ||
	    (member->kind == CUPTI_ACTIVITY_KIND_DEVICE && strcmp(member->member, "id")))
		return;		/* not read, or tested elsewhere */
	cr_assert_lt(i, sizeof(field_table) / sizeof(field_table[0]), "%s of kind %u is read nowhere",
		     member->member, member->kind);
	if (is_flags)
		value[0] = 1;
	memcpy(record + member->at, value, member->bytes);
	if (member->kind == CUPTI_ACTIVITY_KIND_OVERHEAD && !strncmp(member->member, "objectId", 8))
		memcpy(record + 8, &thread, sizeof(thread));
	memset(&wanted, 0, sizeof(wanted));
	wanted.kind = member->kind;
	if (is_flags)
		wanted.transfer.is_async = 1;
	else
		memcpy((char *)&wanted + field_table[i].at, value,
		       member->bytes < field_table[i].bytes ? member->bytes : field_table[i].bytes);
	if (wanted.kind == CUPTI_ACTIVITY_KIND_MEMCPY || wanted.kind == CUPTI_ACTIVITY_KIND_MEMSET)
		wanted.transfer.from_device = wanted.transfer.to_device = wanted.transfer.place.device;
	if (wanted.kind == CUPTI_ACTIVITY_KIND_GRAPH_TRACE)
		wanted.launch.graph = wanted.graph;
	cr_assert(read_zeroed(member->version, record, bytes, &got));
	cr_assert_eq(memcmp(&got, &wanted, sizeof(got)), 0, "%s: version %u kind %u: %s at %u",
		     member->file, member->version, member->kind, member->member, member->at);
}

static uint32_t bytes_of(const struct row *member)
{
	for (uint32_t i = 0; i < n_rows; i++)
		if (!*row[i].member && row[i].kind == member->kind &&
		    !strcmp(row[i].file, member->file))
			return row[i].bytes;
	return 0;
}

Test(cupti_layout, is_that_of_the_headers)
{
	uint32_t n_members = 0;

	for (uint32_t i = 0; i < n_rows; i++) {
		uint32_t bytes = bytes_of(&row[i]);

		cr_assert_neq(bytes, 0);
		if (*row[i].member) {
			check_member(&row[i], bytes);
			n_members++;
			continue;
		}
		/* Longer than we know: of newer ones, and 12.0's, which says that it is 11.8. */
		if (row[i].version > NEWEST || row[i].version == 18)
			cr_assert_leq(tp_cupti_record_bytes(row[i].version, row[i].kind), bytes);
		else
			cr_assert_eq(tp_cupti_record_bytes(row[i].version, row[i].kind), bytes,
				     "%s: version %u kind %u: %u, we: %u", row[i].file, row[i].version,
				     row[i].kind, bytes,
				     tp_cupti_record_bytes(row[i].version, row[i].kind));
	}
	cr_assert_geq(n_members, 150);
}

/* As is, of what setup may not have got: how many versions were seen. */
Test(cupti_layout, is_tested_with_old_headers)
{
	uint32_t n_files = 0;

	for (uint32_t i = 0; i < n_rows; i++)
		n_files += !*row[i].member && row[i].kind == CUPTI_ACTIVITY_KIND_RUNTIME;
	if (n_files < 14)
		cr_skip_test("headers of %u versions only: make setup gets those of 14", n_files);
}

/* Cut anywhere, also within a member: what is not there is 0, what is there is right. */
Test(cupti_layout, never_reads_past_the_end)
{
	srand(3);
	for (uint32_t i = 0; i < n_rows; i++) {
		uint32_t kind = row[i].kind, least = tp_cupti_record_bytes(18, kind);
		uint8_t whole[512];

		if (*row[i].member)
			continue;
		for (uint32_t b = 0; b < sizeof(whole); b++)
			whole[b] = (uint8_t)(1 + rand() % 255);
		memcpy(whole, &kind, sizeof(kind));
		for (uint32_t n = 0; n <= row[i].bytes; n++) {
			bool is_whole;

			memcpy(page_end - n, whole, n);
			is_whole = read_zeroed(row[i].version, page_end - n, n, &got);
			cr_assert_eq(is_whole, n >= least, "kind %u: %u of %u", kind, n, row[i].bytes);
			if (!is_whole)
				continue;
			cr_assert(read_zeroed(row[i].version, whole, row[i].bytes, &wanted));
			if (kind == CUPTI_ACTIVITY_KIND_SYNCHRONIZATION && n < 52)
				wanted.sync.returned = 0;
			if (n < (kind == CUPTI_ACTIVITY_KIND_SYNCHRONIZATION ? 48 : 56))
				wanted.event_sync = 0;
			if (kind == CUPTI_ACTIVITY_KIND_CUDA_EVENT && n < 28)
				wanted.place.device = 0;
			cr_assert_eq(memcmp(&got, &wanted, sizeof(got)), 0, "kind %u: %u of %u", kind, n,
				     row[i].bytes);
		}
	}
}

/* The next record follows at once, or garbage: a shorter version's record says nothing of it. */
Test(cupti_layout, takes_nothing_of_what_follows)
{
	for (uint32_t kind = 0; kind < N_KINDS; kind++) {
		uint32_t bytes = tp_cupti_record_bytes(18, kind);
		uint8_t record[300];

		if (!bytes)
			continue;
		memset(record, 0xee, sizeof(record));
		memset(record, 0, bytes);
		memcpy(record, &kind, sizeof(kind));
		cr_assert(read_zeroed(18, record, sizeof(record), &got));
		memset(&wanted, 0, sizeof(wanted));
		wanted.kind = kind;
		cr_assert_eq(memcmp(&got, &wanted, sizeof(got)), 0, "kind %u", kind);
	}
}

Test(cupti_layout, reads_a_future_version_as_the_newest)
{
	for (uint32_t kind = 0; kind < N_KINDS; kind++) {
		uint32_t bytes = tp_cupti_record_bytes(NEWEST, kind);
		uint8_t *record = page_end - bytes - 64;

		cr_assert_eq(tp_cupti_record_bytes(999999, kind), bytes);
		if (!bytes)
			continue;
		memset(record, 0x42, bytes + 64);
		memcpy(record, &kind, sizeof(kind));
		cr_assert(read_zeroed(999999, record, bytes + 64, &got));
		cr_assert(read_zeroed(NEWEST, record, bytes, &wanted));
		cr_assert_eq(memcmp(&got, &wanted, sizeof(got)), 0, "kind %u", kind);
	}
}

/* Members of the kind are set, all of them: of an earlier record nothing is left in them. */
Test(cupti_layout, leaves_nothing_of_the_record_before)
{
	for (uint32_t kind = 0; kind < N_KINDS; kind++) {
		uint32_t bytes = tp_cupti_record_bytes(18, kind);

		if (!bytes)
			continue;
		memset(&got, 0x5a, sizeof(got));
		cr_assert(tp_cupti_read(18, zero_record(kind, bytes), bytes, &got));
		for (size_t i = 0; i < sizeof(field_table) / sizeof(field_table[0]); i++)
			for (int k = 0; k < 3 && field_table[i].kind[k]; k++)
				for (size_t b = 0; field_table[i].kind[k] == kind &&
						   b < field_table[i].bytes; b++)
					cr_assert_eq(((char *)&got)[field_table[i].at + b], 0,
						     "kind %u: %s", kind, field_table[i].member);
		if (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL || kind == CUPTI_ACTIVITY_KIND_GRAPH_TRACE)
			cr_assert_eq(memcmp(&got.launch, &(struct tp_launch){.graph = 0},
					    sizeof(got.launch)), 0, "kind %u", kind);
		if (kind == CUPTI_ACTIVITY_KIND_MEMCPY || kind == CUPTI_ACTIVITY_KIND_MEMCPY2 ||
		    kind == CUPTI_ACTIVITY_KIND_MEMSET)
			cr_assert_eq(memcmp(&got.transfer, &(struct tp_transfer){.value = 0},
					    sizeof(got.transfer)), 0, "kind %u", kind);
		if (kind == CUPTI_ACTIVITY_KIND_SYNCHRONIZATION)
			cr_assert_eq(memcmp(&got.sync, &(struct tp_sync_what){.kind = 0},
					    sizeof(got.sync)), 0);
	}
}

Test(cupti_layout, knows_what_it_does_not_know)
{
	static const uint32_t unknown[] = {0, 6, 39, 48, 63, 64, 1000, UINT32_MAX};

	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
		cr_assert_not(read_zeroed(NEWEST, zero_record(unknown[i], 400), 400, &got));
		cr_assert_eq(tp_cupti_record_bytes(NEWEST, unknown[i]), 0);
	}
	cr_assert_not(read_zeroed(17, zero_record(CUPTI_ACTIVITY_KIND_RUNTIME, 40), 40, &got));
	cr_assert_not(read_zeroed(NEWEST, page_end, 0, &got));
}

/* What CUPTI says does not apply is none; a thread is one only where the object is a thread. */
Test(cupti_layout, leaves_out_what_does_not_apply)
{
	uint8_t *record = zero_record(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, 56);

	memset(record + 32, 0xff, 24);
	cr_assert(read_zeroed(26, record, 56, &got));
	cr_assert_eq(got.sync.place.stream, TP_NO_STREAM);
	cr_assert_eq(got.event, 0);
	cr_assert_eq(got.sync.returned, 0);
	record = zero_record(CUPTI_ACTIVITY_KIND_OVERHEAD, 56);
	memset(record + 8, 3, 16);
	cr_assert(read_zeroed(26, record, 56, &got));
	cr_assert_eq(got.tid, 0);
}

/* Properties of a device, by the members that each version's header has. */
Test(cupti_layout, describes_a_device)
{
	static const struct {
		const char *member;
		uint64_t value;
	} property[] = {
		{"id", 0}, {"globalMemorySize", 85899345920}, {"numThreadsPerWarp", 32},
		{"coreClockRate", 1980000}, {"numMultiprocessors", 132}, {"maxWarpsPerMultiprocessor", 64},
		{"maxSharedMemoryPerMultiprocessor", 233472}, {"maxRegistersPerMultiprocessor", 65536},
		{"maxRegistersPerBlock", 65537}, {"maxSharedMemoryPerBlock", 49152},
		{"maxThreadsPerBlock", 1024}, {"computeCapabilityMajor", 9},
	};
	const char *name = "NVIDIA H100 80GB HBM3";
	char text[1000];
	uint32_t id = 9;

	for (uint32_t f = 0; f < n_rows; f++) {
		uint8_t *record;
		uint32_t n;

		if (*row[f].member || row[f].kind != CUPTI_ACTIVITY_KIND_DEVICE)
			continue;
		record = zero_record(row[f].kind, row[f].bytes);
		for (uint32_t i = 0; i < n_rows; i++) {
			if (row[i].kind != row[f].kind || strcmp(row[i].file, row[f].file))
				continue;
			for (size_t p = 0; p < sizeof(property) / sizeof(property[0]); p++)
				if (!strcmp(row[i].member, property[p].member))
					memcpy(record + row[i].at, &property[p].value, row[i].bytes);
			if (!strcmp(row[i].member, "name"))
				memcpy(record + row[i].at, &name, sizeof(name));
		}
		n = tp_cupti_read_device(row[f].version, record, row[f].bytes, &id, text, sizeof(text));
		cr_assert_eq(n, strlen(text));
		cr_assert_eq(id, 0);
		cr_assert_str_eq(text, "id=0\nmajor=9\nsms=132\nwarp_threads=32\nsm_registers=65536\n"
				       "sm_shared=233472\nblock_threads=1024\nblock_registers=65537\n"
				       "block_shared=49152\nmemory_bytes=85899345920\n"
				       "clock_khz=1980000\nsm_threads=2048\n"
				       "name=NVIDIA H100 80GB HBM3\n");
		cr_assert_eq(tp_cupti_read_device(row[f].version, record, 175, &id, text, sizeof(text)), 0);
		cr_assert_eq(tp_cupti_read_device(row[f].version, record, 3, &id, text, sizeof(text)), 0);
	}
	cr_assert_eq(tp_cupti_read_device(NEWEST, zero_record(CUPTI_ACTIVITY_KIND_CONTEXT, 184), 184,
					  &id, text, sizeof(text)), 0);
}
