/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keepers.h - containers of the program that grow from step to step, as its process told them in the ledger
 *
 * By runtime/probe/keep: those that were longer at each look than at the one before, up to the last look.
 */
#ifndef TP_MERGE_KEEPERS_H
#define TP_MERGE_KEEPERS_H

#include "merge/model/model.h"
#include "runtime/trace/grows.h"

enum { TP_KEEPERS = TP_GROWS_MOST };

struct tp_keeper {
	uint64_t first_step, last_step;	/* steps of the run that had ended then */
	uint64_t first, last;		/* items at these times */
	uint64_t item_bytes;		/* about, of one, without tensors; 0: not known */
	bool has_tensor;		/* tensors are in them */
	char kind[16];			/* "list", "dict", "set", "deque", "cache" (functools.lru_cache) */
	char name[200], file[600];	/* "Cached.items"; "main().rows"; not to be trusted */
};

/* The heaviest first. How many. */
uint32_t tp_keepers_of(const struct tp_proc *proc, struct tp_keeper keeper[TP_KEEPERS]);
/* Items that each step adds. */
double tp_keeper_rate(const struct tp_keeper *keeper);
/* "'losses', a list of /home/me/train.py: one more item each step". Returns buf. */
const char *tp_keeper_tell(char *buf, size_t cap, const struct tp_keeper *keeper);

#endif
