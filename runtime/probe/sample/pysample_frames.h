/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pysample_frames.h - the frames of any thread, copied from outside while it runs
 *
 * Nothing is stopped and no pointer of the interpreter's is followed by us: the kernel copies what
 * lies there (process_vm_readv on ourselves), so memory that is gone is an error and no fault. What
 * was copied may be torn: the thread goes on meanwhile.
 *
 * One thread at a time uses it: the drain thread.
 */
#ifndef TP_PROBE_PYSAMPLE_FRAMES_H
#define TP_PROBE_PYSAMPLE_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tp_pyframe_layout;

enum { TP_PYSAMPLE_FRAMES = 512, TP_PYSAMPLE_HINTS = 8 };

struct tp_pysample_frame {
	const char *frame, *code, *at;
	uint32_t string, line;	/* PYFRAME; 0: not known */
	bool is_hidden;		/* of the interpreter itself */
	bool is_fleeting;	/* other code may stand at the same address a moment later */
};

static inline bool tp_pysample_is_at(const struct tp_pysample_frame *of, const char *frame, const char *code)
{
	return of->frame == frame && of->code == code;
}

/* A stack, innermost first. */
struct tp_pysample_look {
	struct tp_pysample_frame frame[TP_PYSAMPLE_FRAMES];
	uint32_t n;
	bool is_cut;		/* there are more outside */
	bool is_fleeting;	/* named: a frame is, so that the next digest says nothing of names */
	uint64_t digest;	/* of frames, code and instructions */
	uint64_t time;		/* when the innermost fleeting name was read, else the frames */
};

static inline bool tp_pysample_ends_at(const struct tp_pysample_look *look, const char *frame,
				       const char *code)
{
	return look->n && tp_pysample_is_at(&look->frame[look->n - 1], frame, code);
}

/* Where a thread's frames were: they are asked for in one call of the kernel. And its outermost frame
 * (pysample_outer.h). It saves looks, and nothing depends on it. All zero: not known. */
struct tp_pysample_hint {
	const char *c_frame[2];	/* the last two places that named the newest one */
	uintptr_t page[TP_PYSAMPLE_HINTS];
	uint32_t n;
	const char *end_frame, *end_code;
};

/* Once. NULL, or why nothing can be read. */
const char *tp_pysample_frames_init(const struct tp_pyframe_layout *layout);

/* Copies n bytes from `from`; false: not all of them are there. */
bool tp_pysample_read(const void *from, void *to, size_t n);

/* The frames of the thread whose state stands at `state`, without names. False: impossible, and those
 * that are not (look->n, innermost first) may be some of it. */
bool tp_pysample_frames(const char *state, struct tp_pysample_hint *hint,
			struct tp_pysample_look *look);

#endif
