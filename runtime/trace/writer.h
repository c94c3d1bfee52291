/* SPDX-License-Identifier: Apache-2.0 */
/*
 * writer.h - one trace file being written: PATH.part, renamed to PATH when it is whole
 *
 * Used by the drain thread only (and by tools and tests). All memory is taken once, from an
 * arena, by tp_writer_init; files are opened and closed any number of times afterwards.
 * A write error (disk full, folder gone) is returned once; the writer then swallows events,
 * counting them (n_lost), until the file is closed: the caller never has to care in between.
 */
#ifndef TP_TRACE_WRITER_H
#define TP_TRACE_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/arena.h"
#include "runtime/base/clock.h"
#include "runtime/base/folder.h"
#include "runtime/trace/columns.h"
#include "runtime/trace/frame.h"
#include "runtime/trace/trainprof_trace.h"

/* How the writer finds a string that an event names: kind, bytes. False: id is not valid. */
typedef bool (*tp_writer_string_fn)(void *ctx, uint32_t id, uint32_t *kind, const char **bytes,
				    uint32_t *n_bytes);

/* Events of the next block of one type. */
struct tp_writer_stage {
	uint8_t type;			/* TP_BLOCK_EVENTS, ... */
	struct tp_rec *rec;
	uint16_t *thread;
	uint32_t n;
};
enum { TP_WRITER_STAGES = 3 };

struct tp_writer {
	struct tp_own_fd file;		/* .fd -1: none open */
	const struct tp_folder *folder;	/* the run's; NULL: whatever the path says */
	int error;			/* -errno of the first failed write of this file */
	char path[512];			/* final name; the file is path + ".part" until closed */
	uint32_t sequence;		/* of the next block */
	uint64_t n_events, n_lost, n_bytes;
	uint64_t dropped;		/* written to each block's head; the caller keeps it current */
	uint64_t long_ticks;		/* TP_LONG_NS in ticks */
	struct tp_clock_anchor anchor;	/* written to each block's head; the caller keeps it current */

	tp_writer_string_fn string_of;
	void *string_ctx;
	uint64_t *strings_seen;		/* bitmap by id, per file */
	uint32_t n_string_ids;

	struct tp_writer_stage stage[TP_WRITER_STAGES];
	uint8_t *raw, *stored;		/* room to encode one */
	uint8_t *strings;		/* payload of the next STRINGS block */
	uint32_t strings_bytes, n_strings;
	struct tp_frame_packer *packer;
	struct tp_columns_scratch *scratch;
};

/* n_string_ids: ids are below it. 0 or -ENOMEM. */
int tp_writer_init(struct tp_writer *writer, struct tp_arena *arena, uint32_t n_string_ids,
		   tp_writer_string_fn string_of, void *string_ctx);

/* Creates PATH.part, in place of one in which nothing is, and writes the head and the META block.
 * 0 or -errno. */
int tp_writer_open(struct tp_writer *writer, const char *path, const struct tp_file_head *head,
		   const char *meta, uint32_t meta_bytes);

/* Stages n events of one thread; writes blocks as they fill. 0 or -errno (once). */
int tp_writer_events(struct tp_writer *writer, const struct tp_rec *rec, uint32_t n,
		     uint16_t thread);

/* Entries that are new or changed since the last call. */
int tp_writer_threads(struct tp_writer *writer, const struct tp_thread_entry *entry, uint32_t n);

/* String `id` is to be in the file though no event may name it. 0 or -errno, once a file. */
int tp_writer_string(struct tp_writer *writer, uint32_t id);

/* Everything staged goes to the file (write(2), no fsync). */
int tp_writer_flush(struct tp_writer *writer);

/*
 * Flush, END block with `totals` ("key=value\n"), rename. 0; or -errno of what was still staged
 * (the file has its END and its name, and says how many events it lacks), or of END or the
 * rename (it is still PATH.part). An error that was returned before is not returned again when
 * the file could be finished nevertheless. The descriptor is closed anyway.
 */
int tp_writer_close(struct tp_writer *writer, const char *totals, uint32_t totals_bytes);

/* Gives the file up as it is: closes the descriptor, leaves PATH.part (in a forked child: only that). */
void tp_writer_abandon(struct tp_writer *writer);
/* The same, and takes PATH.part away. */
void tp_writer_discard(struct tp_writer *writer);

#endif
