/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deliver.h - a finished file is handed to a command
 *
 * The command is a line for sh(1) in which {file} (its path), {name} (without folders) and {run} (the
 * name of the run folder) are replaced, quoted for the shell; without {file} or {name} the path is its
 * last word. "rclone:REMOTE:PATH" is short for "rclone copyto {file} REMOTE:PATH/{name}". It must
 * put the file under a name that {name} alone gives, and may be run again for a file that it has
 * put there: after a kill nobody knows how far it came.
 */
#ifndef TP_MERGE_DELIVER_H
#define TP_MERGE_DELIVER_H

#include <stdint.h>
#include <sys/types.h>

struct tp_deliver {
	pid_t pid;		/* of the command that runs; 0: none */
	char name[256];		/* of its file */
};

/* The line for sh, from malloc; NULL: memory is out. */
char *tp_deliver_line(const char *command, const char *folder, const char *name);
/* Starts it, in a process group of its own. 0 or -errno. `lock`: a descriptor that it keeps open. */
int tp_deliver_start(struct tp_deliver *deliver, const char *command, const char *folder,
		     const char *name, int lock);
/* -EAGAIN: it runs; 0: it succeeded; another: its wait status, never 0. */
int tp_deliver_poll(struct tp_deliver *deliver);
/* Ends what runs. */
void tp_deliver_stop(struct tp_deliver *deliver);

/* Seconds until a file is tried again that has failed so often: 1, 2, 4 .. 300. */
uint32_t tp_deliver_pause(uint32_t n_failed);

#endif
