/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sink_folded.c - time, host memory and samples as text for flame graphs: "outermost;...;innermost value"
 *
 * A file for each cost. flamegraph.pl and its like split at ';', take a number at the end of a
 * stack for a second value, and a line that begins with '#' for a comment; names come from
 * traces, so all of that is kept out of them here.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "merge/kit/grow.h"
#include "merge/kit/json.h"
#include "merge/kit/outfile.h"
#include "merge/kit/say.h"
#include "merge/kit/utf8.h"
#include "merge/model/sink.h"
#include "merge/sink/flamefiles.h"
#include "runtime/base/file.h"

enum {
	NAME_MAX_BYTES = 1024,	/* longer ones are cut: nobody reads them on a flame graph */
	NODES_MAX = 50000,	/* every line has all names of its stack: 80 MB of a deep Python's */
};

struct name {
	char *bytes;
	uint32_t n;
};

struct folded {
	struct tp_flame *flame;
	struct tp_outfile *out;
	struct name *name;	/* by place, made when it is first met */
	uint32_t cap_names;
	bool is_incomplete;
};

static bool is_space(char c)
{
	return c == ' ';
}

/* "f 12" at the end of a stack would be read as two values. */
static void join_number(char *bytes, uint32_t n)
{
	uint32_t digits = n;

	while (digits && ((bytes[digits - 1] >= '0' && bytes[digits - 1] <= '9') ||
			  bytes[digits - 1] == '.'))
		digits--;
	for (uint32_t i = digits; digits < n && i && is_space(bytes[i - 1]); i--)
		bytes[i - 1] = '_';
}

/* Returns the bytes written at `to`: at most NAME_MAX_BYTES + 3. */
static uint32_t escape(char *to, const char *title, uint32_t n)
{
	uint32_t written = 0, len;

	for (uint32_t i = 0; i < n && written < NAME_MAX_BYTES; i += len) {
		uint32_t c = tp_utf8_next(title + i, n - i, &len);

		if (c == ';') {
			to[written++] = ':';
		} else if (c == 0xfffd && len == 1) {
			memcpy(to + written, "\xef\xbf\xbd", 3);
			written += 3;
		} else if (tp_utf8_is_unsafe(c)) {
			to[written++] = ' ';
		} else {
			memcpy(to + written, title + i, len);
			written += len;
		}
	}
	if (written && to[0] == '#')
		to[0] = '_';
	join_number(to, written);
	return written;
}

static const struct name *name_of(struct folded *f, uint32_t place)
{
	char buf[TP_FLAME_TITLE_MAX], escaped[NAME_MAX_BYTES + 4];
	struct name *name = &f->name[place];
	const char *title;
	uint32_t n;

	/* What is folded is called by how much that is, which differs from cost to cost. */
	if (name->bytes && tp_flame_place(f->flame, place)->kind != TP_PLACE_OTHER)
		return name;
	title = tp_flame_title(f->flame, place, buf, &n);
	n = escape(escaped, title, n);
	free(name->bytes);
	name->bytes = malloc(n + 1);
	if (!name->bytes) {
		f->is_incomplete = true;
		*name = (struct name){NULL, 0};
		return name;
	}
	memcpy(name->bytes, escaped, n);
	name->n = n;
	return name;
}

static void put_stack(void *ctx, const uint32_t *place, uint32_t n, const uint64_t *value)
{
	struct folded *f = ctx;
	char *p;

	for (uint32_t i = 0; i < n; i++) {
		const struct name *name = name_of(f, place[i]);

		p = tp_outfile_room(f->out, NAME_MAX_BYTES + 32);
		if (i)
			*p++ = ';';
		if (name->bytes)
			p = (char *)memcpy(p, name->bytes, name->n) + name->n;
		f->out->at = p;
	}
	p = tp_outfile_room(f->out, 32);
	*p++ = ' ';
	p = tp_json_u64(p, *value);
	*p++ = '\n';
	f->out->at = p;
}

static int write_cost(struct folded *f, const char *folder, const struct tp_flame_cost *cost,
		      uint32_t at)
{
	char path[4096 + 64];
	int err, closed;

	snprintf(path, sizeof(path), "%s/%s.folded", folder, cost->word);
	/* No file without a line, nor one of an earlier merge in its place. */
	if (!tp_flame_total(f->flame, at))
		return unlink(path) && errno != ENOENT ? -errno : 0;
	f->out = tp_outfile_open(path);
	if (!f->out)
		return -EIO;
	err = tp_flame_each(f->flame, at, 1, put_stack, f);
	closed = tp_outfile_close(f->out);
	if (!closed && (err || f->is_incomplete))
		tp_say("'%s' is not complete: out of memory", path);
	return closed ? closed : f->is_incomplete ? -ENOMEM : err;
}

static int write_rows(const struct tp_flame_rows *rows, const char *path)
{
	struct folded f = {.flame = tp_flame_new(rows, TP_FLAME_BY_FUNCTION, NODES_MAX)};
	int err = 0;

	if (!f.flame || !tp_grow(&f.name, &f.cap_names, tp_flame_places(f.flame),
				 sizeof(f.name[0]))) {
		tp_say("cannot write '%s': out of memory", path);
		err = -ENOMEM;
	}
	for (uint32_t i = 0; i < rows->n_costs && !err; i++) {
		if (!rows->cost[i].is_extra)
			err = write_cost(&f, path, &rows->cost[i], i);
	}
	for (uint32_t i = 0; i < f.cap_names; i++)
		free(f.name[i].bytes);
	free(f.name);
	tp_flame_free(f.flame);
	return err;
}

int tp_folded_write(const struct tp_flame_rows *rows, uint32_t n, const char *path)
{
	int err = tp_file_make_dirs(path, 0777);

	if (err)
		tp_say("cannot make the folder '%s': %s", path,
			strerror(-err));
	for (uint32_t i = 0; i < n && !err; i++)
		err = write_rows(&rows[i], path);
	return err;
}

static int end_folded(void *state, const struct tp_run *run)
{
	return tp_flamefile_end(state, "folded", tp_folded_write, true);
}

const struct tp_sink tp_sink_folded = {
	.name = "folded",
	.help = "time, host memory and samples by stack: text for flamegraph.pl, a file per cost (a folder)",
	.hint = "flamegraph.pl host-time.folded >host-time.svg draws one of them",
	.suffix = "folded",
	.is_folder = true,
	.begin = tp_flamefile_begin,
	.end = end_folded,
};
