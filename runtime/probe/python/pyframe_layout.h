/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pyframe_layout.h - where CPython keeps a thread's frames and what a code object says
 *
 * Offsets are those of 64-bit builds with the global lock, by minor version; whoever reads with
 * them first compares what he reads with what the public API says (pyframe.c, pystack_check.c).
 * Up to 3.10 a frame is a PyFrameObject, from 3.11 on a struct _PyInterpreterFrame.
 *
 * A thread may read its own frames at any time, lock held or not: nobody else changes them, and
 * what they name is alive.
 */
#ifndef TP_PROBE_PYFRAME_LAYOUT_H
#define TP_PROBE_PYFRAME_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum tp_pylines {
	TP_PYLINES_PAIRS,	/* co_lnotab: up to 3.9 */
	TP_PYLINES_RANGES,	/* co_linetable of 3.10 */
	TP_PYLINES_LOCATIONS,	/* co_linetable from 3.11 on */
};

enum { TP_PYFRAME_NONE = 0xffff };	/* an offset of what this version does not have */

struct tp_pyframe_layout {
	uint16_t minor;			/* of Python 3 */

	/* From a thread state to its newest frame. */
	uint16_t state_frame;		/* the frame, or a _PyCFrame */
	uint16_t c_frame;		/* in that */

	/* In a frame. */
	uint16_t code, previous;
	uint16_t at;			/* the last instruction: an address, up to 3.10 a number */
	uint16_t owner;
	uint16_t is_entry;		/* 3.11: called from C; later such a frame's previous one is
					 * the interpreter's own; before: all are */
	uint16_t locals;

	/* In a code object. */
	uint16_t first_line, name, qualified_name, file, lines;
	uint16_t instructions;		/* up to 3.10 not needed */

	uint16_t ascii_bytes;		/* sizeof(PyASCIIObject) */
	uint16_t instruction_bytes;	/* what 1 means in `at`; 0: an address */
	uint16_t line_kind;		/* enum tp_pylines */
};

enum {
	TP_PYFRAME_OWN = 3,		/* owner: from here on frames are the interpreter's own */
	TP_PYFRAME_TAGS = 7,	/* 3.14: low bits of a frame's references that are no address */
	TP_PYOBJECT_TYPE = 8,	/* PyObject.ob_type, in any version */
};

/* Of the running interpreter (tp_pyapi_find was successful); NULL and why. Same again. */
const struct tp_pyframe_layout *tp_pyframe_layout(const char **why);

/*
 * Of a version that says it itself, from the start of its _PyRuntime (NULL: there is none) on.
 * NULL, or why not.
 */
const char *tp_pyframe_said(const uint64_t *runtime, uint16_t minor, struct tp_pyframe_layout *out);

static inline const char *tp_pyframe_ptr(const char *object, uint32_t at)
{
	const char *p;

	memcpy(&p, object + at, sizeof(p));
	return p;
}

/* Could be the address of an object or a frame. */
static inline bool tp_pyframe_is_ptr(const char *p)
{
	return (uintptr_t)p - 4096 < (1ull << 47) - 4096 && ((uintptr_t)p & 7) == 0;
}

/* The object that a frame refers to: its code, a local variable. */
static inline const char *tp_pyframe_ref(const char *frame, uint32_t at)
{
	return (const char *)((uintptr_t)tp_pyframe_ptr(frame, at) & ~(uintptr_t)TP_PYFRAME_TAGS);
}

/* Is it a frame of the interpreter itself, without code of the program? */
static inline bool tp_pyframe_is_own(const struct tp_pyframe_layout *layout, const char *frame)
{
	return layout->owner != TP_PYFRAME_NONE && (uint8_t)frame[layout->owner] >= TP_PYFRAME_OWN;
}

/* Code with which the interpreter starts constructors (3.12 on); nobody wrote it. */
static inline bool tp_pyframe_is_helper(const struct tp_pyframe_layout *layout, const char *code)
{
	const char *name = tp_pyframe_ptr(code, layout->name);

	return !name || name == tp_pyframe_ptr(code, layout->file);
}

/* The newest frame of a thread state, the interpreter's own included; NULL: none. */
static inline const char *tp_pyframe_newest(const struct tp_pyframe_layout *layout,
					    const char *thread_state)
{
	const char *frame = tp_pyframe_ptr(thread_state, layout->state_frame);

	if (layout->c_frame != TP_PYFRAME_NONE && frame)
		frame = tp_pyframe_ptr(frame, layout->c_frame);
	return tp_pyframe_is_ptr(frame) ? frame : NULL;
}

#endif
