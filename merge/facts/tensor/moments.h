/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moments.h - what was alive at moments that somebody remembers, by category
 *
 * A block's category is known when it dies, the moments at which it was there lie before that. They
 * are kept in order of time; a block counts for a stretch of them, which is noted as a difference at
 * both its ends. So each block costs two searches, however many moments it was there at.
 *
 * Memory: moments that are remembered.
 */
#ifndef TP_MERGE_MOMENTS_H
#define TP_MERGE_MOMENTS_H

#include "merge/facts/tensor/memcat.h"

/* Bytes by category; the last one: of those, inside operators, which no tensor ever had. */
enum { TP_MOMENT_INTERNAL = TP_TENSOR_N, TP_MOMENT_N };
struct tp_moment {
	int64_t bytes[TP_MOMENT_N];
};

/* All categories. */
int64_t tp_moment_bytes(const struct tp_moment *moment);

/* Live bytes of a process, as tp_memcat_calls.live tells them device by device: what all of them have. */
enum { TP_LIVE_DEVICES = 32 };
struct tp_live_sum {
	int64_t bytes;
	struct {
		uint32_t device;
		int64_t bytes;
	} of[TP_LIVE_DEVICES];		/* further ones do not count */
	uint32_t n;
};
void tp_live_sum_set(struct tp_live_sum *sum, uint32_t device, int64_t bytes);

/* Of one process. All zero: none. */
struct tp_moments {
	struct tp_moment_entry {
		int64_t ns;
		uint32_t handle;
		struct tp_moment difference;	/* to the one before it */
	} *entry;			/* n, and one behind them */
	uint32_t n, cap;
	uint32_t *at;			/* by handle: where it is */
	uint32_t *n_users;		/* by handle */
	uint32_t n_handles, cap_at, cap_users;
	uint32_t *unused;		/* handles */
	uint32_t n_unused, cap_unused;
	uint32_t n_forgotten;
};

enum { TP_NO_MOMENT = UINT32_MAX };

void tp_moments_free(struct tp_moments *moments);
/* In order of time. Its handle, with one user; TP_NO_MOMENT: out of memory. */
uint32_t tp_moments_add(struct tp_moments *moments, int64_t ns);
/* Both take TP_NO_MOMENT, too. Without users it is forgotten. */
uint32_t tp_moments_use(struct tp_moments *moments, uint32_t handle);
/* One more user of a moment that several may have: `*shared` is TP_NO_MOMENT until the first one asks, and
 * then the handle that all get. */
uint32_t tp_moments_share(struct tp_moments *moments, uint32_t *shared, int64_t ns);
void tp_moments_drop(struct tp_moments *moments, uint32_t handle);
/* A block that was there from..to; all that die before its end were told, none that died later. */
void tp_moments_life(struct tp_moments *moments, const struct tp_life *life);
/* All blocks were told: differences become sums. Then tp_moments_get. */
void tp_moments_end(struct tp_moments *moments);
const struct tp_moment *tp_moments_get(const struct tp_moments *moments, uint32_t handle);
/* When it was; 0: TP_NO_MOMENT. */
int64_t tp_moments_ns(const struct tp_moments *moments, uint32_t handle);

#endif
