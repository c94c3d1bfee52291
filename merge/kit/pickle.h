/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pickle.h - Python objects in a file: pickle, protocol 2
 *
 * What readers without Python know of it, too: dictionaries, lists, whole numbers, text. Lists and
 * dictionaries are written item by item, in batches, as pickle.dump does. Text that was written
 * before is named by its number.
 */
#ifndef TP_MERGE_PICKLE_H
#define TP_MERGE_PICKLE_H

#include "merge/kit/keyed.h"
#include "merge/kit/outfile.h"

enum { TP_PICKLE_DEPTH = 16 };

struct tp_pickle {
	struct tp_outfile *out;
	struct {
		char **bytes;		/* of texts, by number */
		uint32_t n, cap;
		struct tp_keyed keyed;
	} memo;
	struct {
		bool is_dict;
		uint32_t n_items;	/* of the present batch; a dictionary's key and value are one */
	} open[TP_PICKLE_DEPTH];
	uint32_t depth;
};

void tp_pickle_begin(struct tp_pickle *pickle, struct tp_outfile *out);
/* The one object is complete. */
void tp_pickle_end(struct tp_pickle *pickle);

void tp_pickle_dict(struct tp_pickle *pickle);
void tp_pickle_list(struct tp_pickle *pickle);
void tp_pickle_close(struct tp_pickle *pickle);	/* the innermost dictionary or list */
/* In a dictionary, before each value. */
void tp_pickle_key(struct tp_pickle *pickle, const char *key);

void tp_pickle_int(struct tp_pickle *pickle, int64_t value);
/* Not trusted: what is no UTF-8 becomes U+FFFD. NUL-terminated. */
void tp_pickle_text(struct tp_pickle *pickle, const char *text);
void tp_pickle_true(struct tp_pickle *pickle, bool value);

static inline void tp_pickle_key_int(struct tp_pickle *pickle, const char *key, int64_t value)
{
	tp_pickle_key(pickle, key);
	tp_pickle_int(pickle, value);
}

static inline void tp_pickle_key_text(struct tp_pickle *pickle, const char *key, const char *text)
{
	tp_pickle_key(pickle, key);
	tp_pickle_text(pickle, text);
}

#endif
