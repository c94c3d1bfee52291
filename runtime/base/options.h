/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options.h - the TRAINPROF_ variables as a table: names, defaults, ranges, meanings
 *
 * The rows are runtime/base/options.def. This floor knows only words; the engine gives the
 * values their types. Pure, no allocation; threads: any.
 */
#ifndef TP_BASE_OPTIONS_H
#define TP_BASE_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/base/text.h"

#define TP_OPTION_PREFIX "TRAINPROF_"

enum tp_option_kind {
	TP_OPTION_TEXT,
	TP_OPTION_U64,
	TP_OPTION_BYTES,
	TP_OPTION_MS,
	TP_OPTION_KEEP,
	TP_OPTION_SECONDS,	/* "60s", "5m"; off is 0 */
	TP_OPTION_SCHEDULE,
	TP_OPTION_TRIGGER,
	TP_OPTION_RECORDER,	/* "steps=8"; off is 0 */
	TP_OPTION_RECORD,
	TP_OPTION_STEP,
	TP_OPTION_OVERWRITE,
	TP_OPTION_LOG,
	TP_OPTION_CLOCK,
	TP_OPTION_GRAPHS,
	TP_OPTION_STACKS,
	TP_OPTION_HEAP,
};

enum tp_option_id {
#define _(NAME, KIND, field, default_, least, most, meaning) TP_OPTION_ID_##NAME,
#include "runtime/base/options.def"
#undef _
	TP_OPTION_N
};

struct tp_option {
	const char *name;	/* without TRAINPROF_ */
	enum tp_option_kind kind;
	const char *preset;	/* the default, as one would write it */
	uint64_t least, most;	/* of numbers; lengths of TEXT; 0, 0: the kind has a grammar */
	const char *meaning;
};

extern const struct tp_option tp_options[TP_OPTION_N];

/* Index in tp_options, or -1. `name` without the prefix, n bytes, capitals. */
int tp_option_find(const char *name, size_t n);

/* The name that was probably meant (few letters differ), or -1 when none is near. */
int tp_option_nearest(const char *name, size_t n);

/* What the variable accepts, in words: "a size from 1M to 4G", "0 or 1". */
void tp_option_range(const struct tp_option *option, struct tp_text *out);

/* 33554432 -> "32M"; what is no whole number of K stays a number. */
void tp_option_bytes(uint64_t bytes, struct tp_text *out);

/* The text of `trainprof-merge --help-env`: all variables sorted, each with range, default
 * and meaning, lines of at most 79 columns. 8 KiB are enough. */
void tp_options_help(struct tp_text *out);

#endif
