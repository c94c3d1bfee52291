/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring_file.h - finds a place for the ring's file and reserves its space
 *
 * A mapping of a file without space behind it is a SIGBUS in the guest the moment the disk is
 * full, so every byte is allocated before anything is mapped. Once, when the session opens. So it is
 * when somebody cuts the file: then nobody may open it for writing.
 */
#ifndef TP_ENGINE_RING_FILE_H
#define TP_ENGINE_RING_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/engine/ring/ring.h"

struct tp_ring_file {
	struct tp_own_fd own;
	uint64_t bytes;		/* names and chunks: as asked for, or what did fit */
	bool is_elsewhere;	/* not in the run folder itself */
	char path[512];
	char link_path[512];	/* in the run folder, when the file is elsewhere */
};

/* In a call of own_table.h. `fixed_bytes`: size of the file beyond spec->bytes. 0, or -errno of the
 * last place tried, all said. */
int tp_ring_file_make(const struct tp_ring_spec *spec, uint64_t fixed_bytes,
		      struct tp_ring_file *file);

/*
 * Opens a ring that is there to write into it: its mode lets nobody, so that its user cuts it by no mistake
 * (a shell's `>`, cp), and is another one only while it is opened. `flags`: 0 or O_NOFOLLOW. A descriptor, or
 * -errno.
 */
int tp_ring_file_open(int dir, const char *name, int flags);

/* Puts the link to file `path` into the run folder; silent when it is there or cannot be. */
void tp_ring_file_link(const struct tp_folder *folder, const char *path, const char *link_path);

#endif
