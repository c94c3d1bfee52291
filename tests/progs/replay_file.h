/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_file.h - a replay file (man/trainprof-replay.5), read as a whole
 */
#ifndef REPLAY_FILE_H
#define REPLAY_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/fakes/fake.h"

enum replay_kind {
	REPLAY_RANGE, REPLAY_API, REPLAY_MEM, REPLAY_NVTX,	/* of a thread */
	REPLAY_OVERHEAD,					/* of a thread, or of none */
	REPLAY_WORK,						/* of a call, or of none */
};

/* What a thread does, or, REPLAY_WORK, the device; times in the file's ns. */
struct replay_item {
	enum replay_kind kind;
	uint32_t line;
	uint32_t thread;	/* index; ~0: none */
	uint64_t start, end;
	uint32_t correlation;
	char *name;		/* range, api, nvtx */
	union {
		struct {
			bool is_step;
			const char *category;	/* of its mark, or NULL */
		} range;
		struct {
			uint32_t domain, event, stream;
			int32_t returned;
			uint32_t first_work, n_work;	/* in replay_file.works */
			uint32_t memory;		/* the mem line it makes; ~0: none */
		} api;
		struct {
			uint8_t op;		/* enum replay_mem_op */
			uint8_t kind;		/* enum replay_mem_kind */
			bool is_driver;
			bool is_inside;		/* of the call of the same correlation */
			int32_t device;
			uint64_t address, bytes, allocated, reserved, pool;
		} mem;
		struct {
			uint8_t op;		/* enum replay_nvtx_op */
			uint64_t id;
			char *domain;
		} nvtx;
		struct fake_work work;	/* REPLAY_WORK, REPLAY_OVERHEAD */
	};
};

enum replay_mem_op { REPLAY_ALLOC, REPLAY_FREE, REPLAY_MAP, REPLAY_UNMAP };
enum replay_mem_kind {
	REPLAY_DEVICE, REPLAY_HOST, REPLAY_PINNED, REPLAY_MANAGED, REPLAY_POOL, REPLAY_VMM,
	REPLAY_ARRAY, REPLAY_REGISTERED,
};
enum replay_nvtx_op { REPLAY_PUSH, REPLAY_POP, REPLAY_NVTX_MARK, REPLAY_START, REPLAY_END };

struct replay_thread {
	uint64_t tid;
	char name[16];
	uint32_t *items;	/* indices, in order */
	uint32_t n_items, cap_items;
};

struct replay_file {
	const char *path;
	char *bytes;		/* names point into it */
	struct replay_item *items;
	uint32_t n_items, cap_items;
	struct replay_thread *threads;
	uint32_t n_threads, cap_threads;
	struct fake_work *works;	/* of calls, together */
	uint32_t *loose;		/* items that no call and no thread owns */
	uint32_t n_loose;
	uint64_t last;			/* latest end */
	uint32_t max_correlation;
	uint32_t n_nccl;
	/* `run` and `cupti` */
	char rank[16], world_size[16], cupti_version[16], driver_version[16];
};

/* Reads it whole; what cannot be read ends the program with one line and status 2. Devices are told
 * to the stand-in. */
void replay_read(struct replay_file *file, const char *path);

#endif
