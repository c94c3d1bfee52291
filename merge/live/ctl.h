/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctl.h - a request to a running job, and its answers: trainprof-merge --ctl
 */
#ifndef TP_MERGE_CTL_H
#define TP_MERGE_CTL_H

#include <stdint.h>

enum tp_ctl_end {
	TP_CTL_DONE,
	TP_CTL_REFUSED,		/* or nobody answered; said */
	TP_CTL_USAGE,		/* it is no command */
};

/*
 * Puts the request into `folder`, prints the answers, a line each, until the last. A request
 * that nobody takes in so many seconds is taken back. Waits for a window as long as the process that
 * answers lives.
 */
enum tp_ctl_end tp_ctl(const char *folder, const char *command, uint32_t wait_s);

#endif
