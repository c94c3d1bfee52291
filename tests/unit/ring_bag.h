/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ring_bag.h - a ring set up and torn down, and a bag that takes records of the rig and checks them
 */
#ifndef TP_TESTS_RING_BAG_H
#define TP_TESTS_RING_BAG_H

#include "runtime/base/log.h"
#include "tests/unit/ring_rig.h"

enum { MIB = 1 << 20 };

static inline void set_up(void)
{
	rig_make_dir();
	tp_clock_init(TP_CLOCK_AUTO);
	tp_log_set_level(TP_LOG_QUIET);
}

static inline void tear_down(void)
{
	tp_ring_close();
	rig_remove_dir();
}

/* Takes records of the rig; `most`: then refuses. */
struct bag {
	uint64_t n, most;
	uint64_t next[4096];	/* expected number, by writer */
	uint64_t slot_of[4096];
	uint32_t n_bad, n_out_of_order;
};

static inline uint32_t take_into_bag(void *ctx, uint32_t slot, const struct tp_rec *rec, uint32_t n)
{
	struct bag *bag = ctx;
	uint32_t i;

	for (i = 0; i < n && bag->n < bag->most; i++, bag->n++) {
		uint32_t who = rec[i].link % 4096;

		bag->n_bad += !rig_is_whole(&rec[i]);
		bag->n_out_of_order += rec[i].arg != bag->next[who];
		bag->next[who] = rec[i].arg + 1;
		bag->slot_of[who] = slot;
	}
	return i;
}

static inline struct bag *new_bag(void)
{
	struct bag *bag = calloc(1, sizeof(*bag));

	bag->most = UINT64_MAX;
	return bag;
}

static inline void take_all(struct bag *bag)
{
	tp_ring_take(take_into_bag, bag);
	tp_ring_release(1, 0);
}

static inline int open_ring_in(const char *buffer_dir, uint64_t bytes)
{
	struct tp_ring_spec spec = {
		.bytes = bytes, .dir = rig_dir, .buffer_dir = buffer_dir, .name = "r.ring", .run_id = 5,
	};

	return tp_ring_open(&spec);
}

#endif
