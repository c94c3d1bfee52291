/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sink_pprof.c - time and host memory by stack as pprof's profile.proto: of memory with the sample
 * types of Go's heap profiles and those of the peak
 *
 * https://github.com/google/pprof/blob/main/proto/profile.proto. Fields may come in any order, so
 * strings, functions and locations are written when they are first met and nothing is kept but
 * their numbers. Code was at different addresses in different processes; here each file of code
 * has a range of addresses of its own.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/facts/time/paths.h"
#include "merge/kit/grow.h"
#include "merge/kit/outfile.h"
#include "merge/kit/proto.h"
#include "merge/kit/say.h"
#include "merge/model/sink.h"
#include "merge/model/strings.h"
#include "merge/sink/flamefiles.h"

enum {	/* profile.proto's numbers */
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_TIME_NANOS = 9,
	PROFILE_DURATION_NANOS = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_TYPE = 14,
	TYPE_TYPE = 1,
	TYPE_UNIT = 2,
	SAMPLE_LOCATIONS = 1,
	SAMPLE_VALUES = 2,
	MAPPING_ID = 1,
	MAPPING_START = 2,
	MAPPING_LIMIT = 3,
	MAPPING_FILE = 5,
	MAPPING_BUILD_ID = 6,
	MAPPING_HAS_FUNCTIONS = 7,
	MAPPING_HAS_FILES = 8,
	MAPPING_HAS_LINES = 9,
	MAPPING_HAS_INLINED = 10,
	LOCATION_ID = 1,
	LOCATION_MAPPING = 2,
	LOCATION_ADDRESS = 3,
	LOCATION_LINE = 4,
	LINE_FUNCTION = 1,
	LINE_LINE = 2,
	FUNCTION_ID = 1,
	FUNCTION_NAME = 2,
	FUNCTION_SYSTEM_NAME = 3,
	FUNCTION_FILE = 4,
};

enum {
	MAPPING_BITS = 40,	/* addresses of a file of code */
	TEXT_MAX_BYTES = 16 << 10,
	NODES_MAX = 200000,	/* a file of a few MB */
};

enum { TYPES_MAX = 16 };	/* of all sets */

struct mapping {
	const char *path;
	uint32_t flags;		/* 1 << MAPPING_HAS_...: known of some place in it */
	bool is_main;		/* readers take the first one for the program itself */
};

struct pprof {
	const struct tp_run *run;
	struct tp_flame *flame;	/* of the set that is being written */
	uint32_t first_type, n_costs;	/* that set's sample types */
	uint32_t n_types;	/* of all sets */
	uint64_t first_id;	/* locations of that set come behind it */
	struct tp_outfile *out;
	char *body;		/* of the message that is being made */
	uint32_t cap_body;
	struct tp_strings strings;
	uint32_t n_strings;	/* written */
	struct tp_paths functions;	/* (name, file): its number */
	struct mapping *mapping;
	uint32_t n_mappings, cap_mappings;
	uint8_t *has_location;	/* by place */
	uint32_t cap_locations;
	uint64_t *id;		/* of the locations of a sample */
	uint32_t cap_ids;
	bool is_incomplete;
};

/* Room for n bytes behind p in the body; NULL: out of memory. */
static char *make_room(struct pprof *f, char *p, size_t n)
{
	size_t used = p ? (size_t)(p - f->body) : 0;

	if (tp_grow(&f->body, &f->cap_body, (uint64_t)used + n, 1))
		return f->body + used;
	f->is_incomplete = true;
	return NULL;
}

/* The body up to p as a message of the profile. */
static void put_message(struct pprof *f, uint32_t field, const char *p)
{
	size_t n = (size_t)(p - f->body);
	char *head = tp_outfile_room(f->out, 16);

	head = tp_proto_varint(tp_proto_varint(head, field << 3 | 2), n);
	f->out->at = head;
	tp_outfile_bytes(f->out, f->body, n);
}

static void put_number(struct pprof *f, uint32_t field, int64_t value)
{
	f->out->at = tp_proto_int(tp_outfile_room(f->out, 32), field, value);
}

/* Its index in the string table; 0 is the empty one. Uses no body. */
static uint64_t string_of(struct pprof *f, const char *text, size_t n)
{
	const struct tp_string *string;
	char *copy;

	if (!n)
		return 0;
	if (n > TEXT_MAX_BYTES)
		n = TEXT_MAX_BYTES;
	/* A kind that has no other form of it beside it. */
	string = tp_strings_add(&f->strings, TP_STRING_PYFRAME, text, (uint32_t)n);
	copy = malloc(3 * n + 16);
	if (!string || !copy) {
		f->is_incomplete = true;
		free(copy);
		return 0;
	}
	if (string->same >= f->n_strings) {
		tp_outfile_bytes(f->out, copy,
				 (size_t)(tp_proto_text(copy, PROFILE_STRING, text, n) - copy));
		f->n_strings = string->same + 1;
	}
	free(copy);
	return string->same;
}

static uint64_t text_of(struct pprof *f, const char *text)
{
	return string_of(f, text, strlen(text));
}

/* ---- functions, files of code, locations ---- */

static uint64_t function_of(struct pprof *f, uint32_t place_at)
{
	const struct tp_flame_place *place = tp_flame_place(f->flame, place_at);
	char buf[TP_FLAME_TITLE_MAX], *p;
	uint32_t n, key[2], function, n_before = f->functions.n;
	const char *title = tp_flame_title(f->flame, place_at, buf, &n);

	key[0] = (uint32_t)string_of(f, title, n);
	key[1] = (uint32_t)text_of(f, place->file);
	function = tp_paths_find(&f->functions, key, 2);
	if (function == TP_NO_PATH || !(p = make_room(f, NULL, 64))) {
		f->is_incomplete = true;
		return 0;
	}
	if (function < n_before)
		return function;
	p = tp_proto_uint(p, FUNCTION_ID, function);
	p = tp_proto_uint(p, FUNCTION_NAME, key[0]);
	/* pprof takes a name that is the system's for one to shorten, "<module>" to nothing. */
	if (place->kind == TP_PLACE_FRAME && !place->is_python)
		p = tp_proto_uint(p, FUNCTION_SYSTEM_NAME, key[0]);
	p = tp_proto_uint(p, FUNCTION_FILE, key[1]);
	put_message(f, PROFILE_FUNCTION, p);
	return function;
}

/* Its number from 1 on; 0: none. */
static uint32_t mapping_of(struct pprof *f, const struct tp_flame_place *place)
{
	uint32_t at = 0;

	if (!*place->module)
		return 0;
	while (at < f->n_mappings && strcmp(f->mapping[at].path, place->module))
		at++;
	if (at == f->n_mappings) {
		if (!tp_grow(&f->mapping, &f->cap_mappings, (uint64_t)at + 1,
			     sizeof(f->mapping[0]))) {
			f->is_incomplete = true;
			return 0;
		}
		f->mapping[f->n_mappings++] = (struct mapping){.path = place->module};
	}
	if (*place->function)
		f->mapping[at].flags |= 1u << MAPPING_HAS_FUNCTIONS;
	f->mapping[at].is_main |= !strcmp(place->function, "_start");
	if (*place->file)
		f->mapping[at].flags |= 1u << MAPPING_HAS_FILES;
	if (place->line)
		f->mapping[at].flags |= 1u << MAPPING_HAS_LINES;
	if (place->is_inlined)
		f->mapping[at].flags |= 1u << MAPPING_HAS_INLINED;
	return at + 1;
}

/* Is this frame inlined into that one: both are one address? */
static bool is_inside(const struct tp_flame_place *inner, const struct tp_flame_place *outer)
{
	return inner->kind == TP_PLACE_FRAME && outer->kind == TP_PLACE_FRAME &&
	       inner->is_inlined && !outer->is_python && inner->offset == outer->offset &&
	       !strcmp(inner->module, outer->module);
}

/* The frames place[0 .. n), the innermost last, are one address. */
static void put_location(struct pprof *f, uint64_t id, const uint32_t *place, uint32_t n)
{
	const struct tp_flame_place *outer = tp_flame_place(f->flame, place[0]);
	uint64_t *function = calloc(n, sizeof(*function));
	uint32_t mapping = 0;
	char *p;

	for (uint32_t i = 0; i < n && function; i++) {
		const struct tp_flame_place *at = tp_flame_place(f->flame, place[i]);

		mapping = mapping_of(f, at);
		/* What has no name but an address: readers show that. */
		if (at->kind != TP_PLACE_FRAME || *at->function || !*at->module)
			function[i] = function_of(f, place[i]);
	}
	p = make_room(f, NULL, 64 + 64 * (size_t)n);
	if (!p || !function) {
		f->is_incomplete = true;
		free(function);
		return;
	}
	p = tp_proto_uint(p, LOCATION_ID, id);
	if (mapping) {
		p = tp_proto_uint(p, LOCATION_MAPPING, mapping);
		p = tp_proto_uint(p, LOCATION_ADDRESS,
				  ((uint64_t)mapping << MAPPING_BITS) +
				  (outer->offset & ((1ull << MAPPING_BITS) - 1)));
	}
	for (uint32_t i = n; i--;) {
		char *at;

		if (!function[i])
			continue;
		p = tp_proto_begin(p, LOCATION_LINE, &at);
		p = tp_proto_uint(p, LINE_FUNCTION, function[i]);
		p = tp_proto_uint(p, LINE_LINE, tp_flame_place(f->flame, place[i])->line);
		tp_proto_end(p, at);
	}
	put_message(f, PROFILE_LOCATION, p);
	free(function);
}

/* One more of these, packed, in the body. */
static char *put_packed(struct pprof *f, char *p, uint32_t field, const uint64_t *value,
			uint32_t n)
{
	char number[10], *at;
	size_t n_bytes = 0;

	for (uint32_t i = 0; i < n; i++)
		n_bytes += (size_t)(tp_proto_varint(number, value[i]) - number);
	at = make_room(f, p, n_bytes + 32);
	if (!at)
		return NULL;
	at = tp_proto_varint(tp_proto_varint(at, field << 3 | 2), n_bytes);
	for (uint32_t i = 0; i < n; i++)
		at = tp_proto_varint(at, value[i]);
	return at;
}

static void put_sample(void *ctx, const uint32_t *place, uint32_t n, const uint64_t *value)
{
	struct pprof *f = ctx;
	uint64_t figure[TYPES_MAX] = {0};
	uint32_t n_ids = 0;
	char *p;

	if (!tp_grow(&f->id, &f->cap_ids, n, sizeof(f->id[0]))) {
		f->is_incomplete = true;
		return;
	}
	for (uint32_t end = n; end;) {
		uint32_t begin = end - 1, inner = place[end - 1];

		while (begin && is_inside(tp_flame_place(f->flame, place[begin]),
					  tp_flame_place(f->flame, place[begin - 1])))
			begin--;
		/* The innermost one has its own place for each address. */
		if (!f->has_location[inner]) {
			f->has_location[inner] = 1;
			put_location(f, f->first_id + inner, place + begin, end - begin);
		}
		f->id[n_ids++] = f->first_id + inner;
		end = begin;
	}
	for (uint32_t i = 0; i < f->n_costs; i++)
		figure[f->first_type + i] = value[i] > INT64_MAX ? INT64_MAX : value[i];
	p = put_packed(f, NULL, SAMPLE_LOCATIONS, f->id, n_ids);
	p = p ? put_packed(f, p, SAMPLE_VALUES, figure, f->n_types) : NULL;
	if (p)
		put_message(f, PROFILE_SAMPLE, p);
}

/* ---- what is said once ---- */

static void put_type(struct pprof *f, uint32_t field, const char *type, const char *unit)
{
	uint64_t type_at = text_of(f, type), unit_at = text_of(f, unit);
	char *p = make_room(f, NULL, 64);

	if (!p)
		return;
	p = tp_proto_uint(p, TYPE_TYPE, type_at);
	put_message(f, field, tp_proto_uint(p, TYPE_UNIT, unit_at));
}

static const struct tp_module_at *module_of(const struct tp_run *run, const char *path)
{
	for (uint32_t i = 0; i < run->n_procs; i++) {
		for (uint32_t k = 0; k < run->proc[i]->n_modules; k++) {
			if (!strcmp(run->proc[i]->module[k].path, path))
				return &run->proc[i]->module[k];
		}
	}
	return NULL;
}

static void put_mapping(struct pprof *f, uint32_t number, const struct mapping *mapping)
{
	static const char digits[] = "0123456789abcdef";
	const struct tp_module_at *module = module_of(f->run, mapping->path);
	uint64_t path = text_of(f, mapping->path), build_id;
	char hex[2 * 64];
	uint32_t n = 0;
	char *p;

	for (uint32_t i = 0; module && i < module->build_id_bytes && i < 64; i++) {
		hex[n++] = digits[module->build_id[i] >> 4];
		hex[n++] = digits[module->build_id[i] & 15];
	}
	build_id = string_of(f, hex, n);
	p = make_room(f, NULL, 128);
	if (!p)
		return;
	p = tp_proto_uint(p, MAPPING_ID, number);
	p = tp_proto_uint(p, MAPPING_START, (uint64_t)number << MAPPING_BITS);
	p = tp_proto_uint(p, MAPPING_LIMIT, (uint64_t)(number + 1) << MAPPING_BITS);
	p = tp_proto_uint(p, MAPPING_FILE, path);
	p = tp_proto_uint(p, MAPPING_BUILD_ID, build_id);
	for (uint32_t has = MAPPING_HAS_FUNCTIONS; has <= MAPPING_HAS_INLINED; has++)
		p = tp_proto_uint(p, has, mapping->flags >> has & 1);
	put_message(f, PROFILE_MAPPING, p);
}

static void put_comment(struct pprof *f, const char *text)
{
	put_number(f, PROFILE_COMMENT, (int64_t)text_of(f, text));
}

static void put_types(struct pprof *f, const struct tp_flame_rows *rows, uint32_t n)
{
	static const char *const units[] = {
		[TP_FLAME_BYTES] = "bytes", [TP_FLAME_NS] = "nanoseconds",
		[TP_FLAME_COUNT] = "count",
	};
	const struct tp_flame_rows *last = &rows[n - 1];

	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t k = 0; k < rows[i].n_costs && f->n_types < TYPES_MAX; k++) {
			put_type(f, PROFILE_SAMPLE_TYPE, rows[i].cost[k].type,
				 units[rows[i].cost[k].unit]);
			f->n_types++;
		}
	}
	put_number(f, PROFILE_DEFAULT_TYPE, (int64_t)text_of(f, rows[0].cost[0].type));
	if (last->cost[0].unit == TP_FLAME_BYTES) {
		put_type(f, PROFILE_PERIOD_TYPE, "space", "bytes");
		put_number(f, PROFILE_PERIOD,
			   last->sample_bytes ? (int64_t)last->sample_bytes : 1);
	}
}

static void put_head(struct pprof *f, const struct tp_flame_rows *rows, uint32_t n)
{
	int64_t end_ns = 0;
	char text[512];

	/* The first string is the empty one. */
	f->out->at = tp_proto_bytes(tp_outfile_room(f->out, 16), PROFILE_STRING, "", 0);
	f->n_strings = 1;
	put_types(f, rows, n);
	for (uint32_t i = 0; i < f->run->n_windows; i++) {
		if (f->run->window[i].end_ns > end_ns)
			end_ns = f->run->window[i].end_ns;
	}
	put_number(f, PROFILE_TIME_NANOS, (int64_t)f->run->zero_real_ns);
	put_number(f, PROFILE_DURATION_NANOS, end_ns);
	for (uint32_t i = 0; i < n; i++) {
		snprintf(text, sizeof(text), "trainprof-merge: %s of %.400s", rows[i].what,
			 f->run->path);
		put_comment(f, text);
		if (rows[i].cost[0].unit == TP_FLAME_BYTES)
			put_comment(f, "inuse: alive at the end of the last window; peak: alive when the "
				       "process held most; addresses are those of the files, one "
				       "range each");
		if (rows[i].sample_bytes)
			put_comment(f, "figures are estimates: allocations were sampled");
	}
}

/* False: out of memory. */
static bool put_samples(struct pprof *f, const struct tp_flame_rows *rows)
{
	uint32_t n;
	bool is_good;

	f->flame = tp_flame_new(rows, TP_FLAME_BY_ADDRESS, NODES_MAX);
	if (!f->flame)
		return false;
	n = tp_flame_places(f->flame);
	f->n_costs = rows->n_costs;
	is_good = tp_grow(&f->has_location, &f->cap_locations, n, 1);
	if (is_good) {
		memset(f->has_location, 0, n);
		is_good = !tp_flame_each(f->flame, 0, f->n_costs, put_sample, f);
	}
	f->first_id += n;
	f->first_type += f->n_costs;
	tp_flame_free(f->flame);
	return is_good;
}

static void put_file(struct pprof *f, const struct tp_flame_rows *rows, uint32_t n)
{
	put_head(f, rows, n);
	for (uint32_t i = 0; i < n; i++)
		f->is_incomplete |= !put_samples(f, &rows[i]);
	for (uint32_t i = 0; i < 2 * f->n_mappings; i++) {
		const struct mapping *mapping = &f->mapping[i % f->n_mappings];

		if (mapping->is_main == (i < f->n_mappings))
			put_mapping(f, i % f->n_mappings + 1, mapping);
	}
}

int tp_pprof_write(const struct tp_flame_rows *rows, uint32_t n, const char *path)
{
	struct pprof f = {.run = rows->run, .first_id = 1};
	int err = -ENOMEM;

	if (tp_strings_init(&f.strings)) {
		tp_say("cannot write '%s': out of memory", path);
	} else if (!(f.out = tp_outfile_open(path))) {
		err = -EIO;
	} else {
		put_file(&f, rows, n);
		err = tp_outfile_close(f.out);
		if (!err && f.is_incomplete) {
			tp_say("'%s' is not complete: out of memory",
				path);
			err = -ENOMEM;
		}
	}
	tp_strings_free(&f.strings);
	tp_paths_free(&f.functions);
	free(f.body);
	free(f.mapping);
	free(f.has_location);
	free(f.id);
	return err;
}

static int end_pprof(void *state, const struct tp_run *run)
{
	return tp_flamefile_end(state, "pprof", tp_pprof_write, false);
}

const struct tp_sink tp_sink_pprof = {
	.name = "pprof",
	.help = "time and host memory by stack for pprof (.pb.gz)",
	.hint = "go tool pprof -http=: takes it",
	.suffix = ".pb.gz",
	.begin = tp_flamefile_begin,
	.end = end_pprof,
};
