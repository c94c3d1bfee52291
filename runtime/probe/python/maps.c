/* SPDX-License-Identifier: Apache-2.0 */
/*
 * maps.c - lines of /proc/PID/maps: see maps.h
 */
#include "runtime/probe/python/maps.h"

#include <string.h>

static const char *parse_hex(const char *p, uint64_t *value)
{
	*value = 0;
	for (;; p++) {
		if (*p >= '0' && *p <= '9')
			*value = *value << 4 | (uint64_t)(*p - '0');
		else if (*p >= 'a' && *p <= 'f')
			*value = *value << 4 | (uint64_t)(*p - 'a' + 10);
		else
			return p;
	}
}

bool tp_map_parse(const char *line, struct tp_map *map)
{
	const char *p = parse_hex(line, &map->begin);

	if (*p != '-')
		return false;
	p = parse_hex(p + 1, &map->end);
	if (strlen(p) < 6)
		return false;
	map->has_code = p[3] == 'x';
	map->file = parse_hex(p + 6, &map->offset);
	map->path = strpbrk(map->file, "/[");
	return true;
}

void tp_maps_lines(char *text, size_t cap, size_t *kept, size_t got, tp_map_line *take, void *ctx)
{
	char *line = text, *end;
	size_t n = *kept + got;

	text[n] = '\0';
	while ((end = memchr(line, '\n', (size_t)(text + n - line)))) {
		*end = '\0';
		take(ctx, line);
		line = end + 1;
	}
	n = (size_t)(text + n - line);
	n = n < cap ? n : 0;
	memmove(text, line, n);
	*kept = n;
}
