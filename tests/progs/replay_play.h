/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_play.h - does what a replay file says, and prints how punctually
 */
#ifndef REPLAY_PLAY_H
#define REPLAY_PLAY_H

#include "tests/progs/replay_file.h"

struct replay_options {
	double speed;
	uint32_t repeat;
};

void replay_play(const struct replay_file *file, const struct replay_options *options);

/* replay_calls.c: one item, done now. `moved`: what is added to the file's ids, its times, and a
 * divisor of those. */
struct replay_moved {
	uint64_t zero_ns;	/* the file's zero on CLOCK_REALTIME */
	double speed;
	uint32_t correlation;	/* added to those that are not 0 */
};
uint64_t replay_time(const struct replay_moved *moved, uint64_t ns);
void replay_begin(const struct replay_file *file, const struct replay_item *item,
		  const struct replay_moved *moved);
void replay_end(const struct replay_item *item);
void replay_at_once(const struct replay_item *item, const struct replay_moved *moved);

#endif
