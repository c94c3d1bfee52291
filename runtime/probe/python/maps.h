/* SPDX-License-Identifier: Apache-2.0 */
/*
 * maps.h - lines of /proc/PID/maps, out of the parts in which they are read
 *
 * No allocation; who reads the file, and how, is the caller's business. One thread for each text.
 */
#ifndef TP_PROBE_MAPS_H
#define TP_PROBE_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tp_map {
	uint64_t begin, end;
	uint64_t offset;	/* of begin in the file */
	const char *file;	/* " major:minor inode   path", in the line */
	const char *path;	/* in that: "/usr/lib/libm.so", "[vdso]"; NULL: none */
	bool has_code;
};

/* "begin-end rwxp offset major:minor inode   path", terminated. False: it is not such a line. */
bool tp_map_parse(const char *line, struct tp_map *map);

/*
 * `text` has room for *kept bytes that are left from before, `got` new ones behind them, and an end: each
 * whole line goes to `take`, and what is left of the last one to the start of `text`, its length to *kept. A
 * line that fills all of `cap` bytes is left out: no path is so long.
 */
typedef void tp_map_line(void *ctx, const char *line);
void tp_maps_lines(char *text, size_t cap, size_t *kept, size_t got, tp_map_line *take, void *ctx);

#endif
