/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_owner.h - gives each call of a replay file its work and its memory
 */
#ifndef REPLAY_OWNER_H
#define REPLAY_OWNER_H

#include "tests/progs/replay_file.h"

/* By correlation ids, once all items are there. What no call owns is loose. */
void replay_give(struct replay_file *file);

#endif
