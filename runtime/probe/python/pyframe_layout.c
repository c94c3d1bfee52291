/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pyframe_layout.c - where CPython keeps a thread's frames and what a code object says
 *
 * Up to 3.12 from CPython's headers. From 3.13 on the interpreter says it itself, at the start of
 * _PyRuntime: in 3.13 that has to agree with the table, in 3.14 it is the table.
 */
#include "runtime/probe/python/pyframe_layout.h"

#include <dlfcn.h>

#include "runtime/probe/python/pyapi.h"

enum {
	NONE = TP_PYFRAME_NONE,
	MOST_OFFSET = 4096,	/* a larger one is a mistake */
	STATE_BYTES = 8,	/* PyASCIIObject: from the state's begin to the end of 3.12 on */
};

static const struct tp_pyframe_layout layouts[] = {
	{ .minor = 9, .state_frame = 24, .c_frame = NONE,
	  .code = 32, .previous = 24, .at = 104, .owner = NONE, .is_entry = NONE, .locals = NONE,
	  .first_line = 40, .name = 112, .qualified_name = NONE, .file = 104, .lines = 120,
	  .instructions = NONE, .ascii_bytes = 48, .instruction_bytes = 1,
	  .line_kind = TP_PYLINES_PAIRS },
	{ .minor = 10, .state_frame = 24, .c_frame = NONE,
	  .code = 32, .previous = 24, .at = 96, .owner = NONE, .is_entry = NONE, .locals = NONE,
	  .first_line = 40, .name = 112, .qualified_name = NONE, .file = 104, .lines = 120,
	  .instructions = NONE, .ascii_bytes = 48, .instruction_bytes = 2,
	  .line_kind = TP_PYLINES_RANGES },
	{ .minor = 11, .state_frame = 56, .c_frame = 8,
	  .code = 32, .previous = 48, .at = 56, .owner = 69, .is_entry = 68, .locals = 72,
	  .first_line = 72, .name = 120, .qualified_name = 128, .file = 112, .lines = 136,
	  .instructions = 184, .ascii_bytes = 48, .instruction_bytes = 0,
	  .line_kind = TP_PYLINES_LOCATIONS },
	{ .minor = 12, .state_frame = 56, .c_frame = 0,
	  .code = 0, .previous = 8, .at = 56, .owner = 70, .is_entry = NONE, .locals = 72,
	  .first_line = 68, .name = 120, .qualified_name = 128, .file = 112, .lines = 136,
	  .instructions = 192, .ascii_bytes = 40, .instruction_bytes = 0,
	  .line_kind = TP_PYLINES_LOCATIONS },
	{ .minor = 13, .state_frame = 72, .c_frame = NONE,
	  .code = 0, .previous = 8, .at = 56, .owner = 70, .is_entry = NONE, .locals = 72,
	  .first_line = 68, .name = 120, .qualified_name = 128, .file = 112, .lines = 136,
	  .instructions = 200, .ascii_bytes = 40, .instruction_bytes = 0,
	  .line_kind = TP_PYLINES_LOCATIONS },
};

/* Which of the 64-bit numbers of _Py_DebugOffsets says what. */
struct places {
	uint8_t state_frame, previous, code, at, locals, owner;
	uint8_t file, name, qualified_name, lines, first_line, instructions;
	uint8_t unicode_state, ascii_bytes;
};
static const struct places places_13 = {
	23, 29, 30, 31, 32, 33,		35, 36, 37, 38, 39, 43,		68, 70
};
static const struct places places_14 = {
	26, 32, 33, 34, 35, 36,		40, 41, 42, 43, 44, 48,		78, 80
};

static bool take_offset(const uint64_t *offsets, uint32_t at, uint16_t *out)
{
	*out = (uint16_t)offsets[at];
	return offsets[at] < MOST_OFFSET;
}

static const struct tp_pyframe_layout *find(uint16_t minor)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		if (layouts[i].minor == minor)
			return &layouts[i];
	}
	return NULL;
}

const char *tp_pyframe_said(const uint64_t *offsets, uint16_t minor, struct tp_pyframe_layout *out)
{
	const struct places *at = minor == 13 ? &places_13 : &places_14;
	const struct tp_pyframe_layout *known = find(minor);
	uint16_t state;
	bool is_sane;

	if (!offsets || memcmp(offsets, "xdebugpy", 8) != 0)
		return "_PyRuntime does not begin with what debuggers look for";
	if (offsets[1] >> 16 != (0x300u | minor))
		return "_PyRuntime is of another version";
	if (offsets[2])
		return "frames of free-threaded python are not known";
	/* What is not an offset has not changed since 3.13. */
	*out = *find(13);
	out->minor = minor;
	is_sane = take_offset(offsets, at->state_frame, &out->state_frame) &&
		  take_offset(offsets, at->previous, &out->previous) &&
		  take_offset(offsets, at->code, &out->code) &&
		  take_offset(offsets, at->at, &out->at) &&
		  take_offset(offsets, at->locals, &out->locals) &&
		  take_offset(offsets, at->owner, &out->owner) &&
		  take_offset(offsets, at->file, &out->file) &&
		  take_offset(offsets, at->name, &out->name) &&
		  take_offset(offsets, at->qualified_name, &out->qualified_name) &&
		  take_offset(offsets, at->lines, &out->lines) &&
		  take_offset(offsets, at->first_line, &out->first_line) &&
		  take_offset(offsets, at->instructions, &out->instructions) &&
		  take_offset(offsets, at->unicode_state, &state) &&
		  take_offset(offsets, at->ascii_bytes, &out->ascii_bytes);
	if (!is_sane || out->ascii_bytes != state + STATE_BYTES)
		return "what _PyRuntime says of its objects is not possible";
	if (known && memcmp(known, out, sizeof(*out)) != 0)
		return "what _PyRuntime says of its objects is not what is known";
	return NULL;
}

const struct tp_pyframe_layout *tp_pyframe_layout(const char **why)
{
	static struct tp_pyframe_layout said;
	const struct tp_pyframe_layout *known = find((uint16_t)tp_py.minor);

	*why = NULL;
	if (tp_py.minor == 13 || tp_py.minor == 14) {
		*why = tp_pyframe_said(dlsym(RTLD_DEFAULT, "_PyRuntime"), (uint16_t)tp_py.minor,
				       &said);
		known = *why ? NULL : &said;
	} else if (!known) {
		*why = "frames of this version of python are not known";
	}
	return known;
}
