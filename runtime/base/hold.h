/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hold.h - a lock on a file for as long as this process lives, which others can ask about
 *
 * A process number means nothing in another pid namespace or on another machine. A lock of
 * flock(2) does: the kernel takes it back when its process ends, however that came.
 */
#ifndef TP_BASE_HOLD_H
#define TP_BASE_HOLD_H

#include <stdint.h>

/*
 * Locks the open file. The lock outlives the descriptor, which the program may close, and is not
 * inherited: a child that lives on holds nothing. (Of an overlay file system it ends with the
 * last descriptor; what lies there is seen by the processes of one container only.)
 * `wait_ms`: for others that hold it briefly. 0; -EWOULDBLOCK: another process holds it; other
 * -errno: the file system knows no locks.
 */
int tp_hold(int fd, uint32_t wait_ms);
/* For the moment that somebody looks at a file; ends with the descriptor. As above. */
int tp_hold_briefly(int fd);

#endif
