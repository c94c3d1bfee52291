/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kineto_strings.h - names, input shapes and launches of a torch.profiler trace as strings of
 * our own format, each kept once, with ids as a trace file has them
 */
#ifndef TP_MERGE_KINETO_STRINGS_H
#define TP_MERGE_KINETO_STRINGS_H

#include "merge/kit/json_in.h"
#include "merge/model/strings.h"

enum { TP_KINETO_IDS = 1 << 22 };	/* ids are below it; what comes beyond has no name */

struct tp_kineto_strings {
	struct tp_strings strings;
	const struct tp_string **by_id;	/* id: its number among the strings */
	uint32_t cap_ids;
	uint32_t *shapes_of;		/* by id of the raw text: id of the SHAPES string */
	uint32_t cap_shapes;
	uint64_t n_nameless;		/* strings for which there was no room */
};

int tp_kineto_strings_init(struct tp_kineto_strings *s);
void tp_kineto_strings_free(struct tp_kineto_strings *s);

/* All return an id, 0: no room (counted), or nothing to say. */
uint32_t tp_kineto_id(struct tp_kineto_strings *s, uint32_t kind, const void *bytes, uint32_t n);
/* A text as it stands in the file, which is not written: to be looked at once, however often it
 * comes. */
uint32_t tp_kineto_raw(struct tp_kineto_strings *s, const char *bytes, uint32_t n);
const struct tp_string *tp_kineto_string(const struct tp_kineto_strings *s, uint32_t id);
/* Its escapes resolved; at most cap bytes, no NUL at the end. How many. */
uint32_t tp_kineto_plain(const struct tp_kineto_strings *s, uint32_t id, char *out, uint32_t cap);
/* kind TP_STRING_TEXT or TP_STRING_OP; escapes are resolved. */
uint32_t tp_kineto_name(struct tp_kineto_strings *s, uint32_t kind,
			const struct tp_json_text *text);
/* "Input Dims" and "Input type" as they stand in the file. */
uint32_t tp_kineto_shapes_id(struct tp_kineto_strings *s, const struct tp_json_text *dims,
			     const struct tp_json_text *types);

/* Signature of tp_writer_string_fn; ctx: the tp_kineto_strings. */
bool tp_kineto_string_of(void *ctx, uint32_t id, uint32_t *kind, const char **bytes,
			 uint32_t *n_bytes);

#endif
