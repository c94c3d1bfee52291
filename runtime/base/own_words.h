/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_words.h - words that no child process inherits: in every child they are 0
 *
 * A child of raw clone(2) or of _Fork runs no fork handler. It has our memory, and the ring is
 * shared with its parent: what its hooks wrote there would be written over the parent's records.
 * So what hooks look at lies in a page that the kernel clears in every child (MADV_WIPEONFORK); a
 * child of fork() gets its words back from the fork handlers, any other stays a stranger for
 * good: its hooks pass through. Where the kernel does not know how, such a child is not noticed.
 */
#ifndef TP_BASE_OWN_WORDS_H
#define TP_BASE_OWN_WORDS_H

#include <stdbool.h>
#include <stdint.h>

struct tp_own_words {
	uint32_t is_ours;	/* set by begin and by the handlers of fork */
	uint32_t level;		/* atomic: what hooks may record, enum tp_session_level of session.h */
	uint32_t ring;		/* generation of the ring that may be written to; 0: none */
};

#if defined(__x86_64__)
enum { TP_OWN_WORDS_BYTES = 4096 };
#else
enum { TP_OWN_WORDS_BYTES = 65536 };	/* the largest page there is */
#endif

union tp_own_words_page {
	struct tp_own_words words;
	char bytes[TP_OWN_WORDS_BYTES];
} __attribute__((aligned(TP_OWN_WORDS_BYTES)));
extern union tp_own_words_page tp_own_words_page __attribute__((visibility("hidden")));
#define tp_own_words (tp_own_words_page.words)

/* This process is about to make something of its own. False: it is a stranger and may not. */
bool tp_own_words_begin(void);
/* This process is a child that no fork handler has told of. */
bool tp_own_words_is_stranger(void);
/* Handlers of fork: in the parent before, in the child after. */
void tp_own_words_before_fork(void);
void tp_own_words_forked(void);

#endif
