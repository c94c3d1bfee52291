/* SPDX-License-Identifier: Apache-2.0 */
/*
 * await.h - waiting until something is so, on however slow and busy a machine
 */
#ifndef TP_TESTS_AWAIT_H
#define TP_TESTS_AWAIT_H

#include <stdbool.h>
#include <unistd.h>

/* False: not in a minute, or as soon as it would have been asked 60,000 times. */
#define AWAIT(condition) ({                                             \
	int await_tries = 60000;                                        \
	while (!(condition) && --await_tries)                           \
		usleep(1000);                                           \
	await_tries > 0;                                                \
})

#endif
