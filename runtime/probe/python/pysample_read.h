/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pysample_read.h - the Python frames of any thread, read from outside while it runs
 *
 * Nothing is stopped and no pointer of the interpreter's is followed by us: the kernel copies what
 * lies there (process_vm_readv on ourselves), so memory that is gone is an error and no fault.
 * What was copied may be torn: the thread goes on meanwhile. So a stack counts when a second look
 * finds the same functions, and only objects of the right type are taken for names.
 */
#ifndef TP_PROBE_PYSAMPLE_READ_H
#define TP_PROBE_PYSAMPLE_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tp_pyframe_layout;

enum { TP_PYSAMPLE_FRAMES = 512 };

struct tp_pysample_frame {
	const char *frame, *code, *at;
	uint32_t string, line;	/* PYFRAME; 0: not known */
	bool is_hidden;		/* of the interpreter itself */
};

/* A stack, innermost first. */
struct tp_pysample_look {
	struct tp_pysample_frame frame[TP_PYSAMPLE_FRAMES];
	uint32_t n;
	bool is_cut;		/* there are more outside */
};

/* With the interpreter's lock held, once, after tp_pystack_init's check of `layout`. NULL, or why
 * nothing can be read. */
const char *tp_pysample_read_init(const struct tp_pyframe_layout *layout);

/* Copies n bytes from `from`; false: not all of them are there. */
bool tp_pysample_read(const void *from, void *to, size_t n);

/*
 * The frames of the thread whose state stands at `state`, with names. False: what was read was
 * not the same twice, or impossible. n 0: it runs no Python.
 */
bool tp_pysample_look(const char *state, struct tp_pysample_look *look);

/* Strings begin anew: another ring. */
void tp_pysample_forget(void);

#endif
