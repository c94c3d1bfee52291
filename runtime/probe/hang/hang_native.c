/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hang_native.c - return addresses on another thread's stack
 */
#include "runtime/probe/hang/hang_native.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "runtime/base/open.h"
#include "runtime/base/own_table.h"
#include "runtime/base/peek.h"
#include "runtime/probe/python/maps.h"

enum {
	RANGES = 2048,		/* of code, in the process */
	NAMES = 64 << 10,
	WORDS = 4096,		/* of a stack that are looked at */
	SHOWN = 12,
	CALL_BYTES = 7,		/* of the longest call instruction */
	TEXT = 8192,
};

struct range {
	uint64_t begin, end, offset;	/* offset: of begin in the file */
	uint32_t name;			/* in names */
};

static struct {
	struct range range[RANGES];	/* ascending, as the kernel lists them */
	uint32_t n_ranges, n_names;
	char names[NAMES], text[TEXT];
	uint64_t word[WORDS];
} native;

bool tp_hang_native_is_call(const uint8_t *code, uint32_t n)
{
	const uint8_t *end = code + n;

	if (n < CALL_BYTES)
		return false;
	/* call rel32; then call of a register, and of memory by register or rip, with and without SIB and
	 * displacement of one or four bytes. */
	return end[-5] == 0xe8 || (end[-2] == 0xff && (end[-1] & 0xf8) == 0xd0) ||
	       (end[-2] == 0xff && (end[-1] & 0xf8) == 0x10 && (end[-1] & 7) != 4 && (end[-1] & 7) != 5) ||
	       (end[-3] == 0xff && (end[-2] == 0x14 || ((end[-2] & 0xf8) == 0x50 && end[-2] != 0x54))) ||
	       (end[-4] == 0xff && end[-3] == 0x54) ||
	       (end[-6] == 0xff && (end[-5] == 0x15 || ((end[-5] & 0xf8) == 0x90 && end[-5] != 0x94))) ||
	       (end[-7] == 0xff && end[-6] == 0x94);
}

/* ---- which code is where ---- */

static void add_range(struct range range, const char *name)
{
	size_t n = strlen(name) + 1;
	const struct range *last = native.n_ranges ? &native.range[native.n_ranges - 1] : NULL;

	if (native.n_ranges == RANGES)
		return;
	if (last && !strcmp(native.names + last->name, name)) {
		range.name = last->name;
	} else if (native.n_names + n <= NAMES) {
		range.name = native.n_names;
		memcpy(native.names + native.n_names, name, n);
		native.n_names += (uint32_t)n;
	} else {
		return;
	}
	native.range[native.n_ranges++] = range;
}

static void take_line(void *ctx, const char *line)
{
	struct tp_map map;
	const char *name;

	if (!tp_map_parse(line, &map) || !map.has_code || !map.path)
		return;
	name = strrchr(map.path, '/');
	/* Generated code, and the kernel's own page. */
	if (name)
		add_range((struct range){.begin = map.begin, .end = map.end, .offset = map.offset}, name + 1);
}

static int read_maps(void *arg)
{
	int fd = tp_file_open("/proc/self/maps", O_RDONLY, 0);
	size_t kept = 0;
	ssize_t got;

	native.n_ranges = native.n_names = 0;
	while (fd >= 0 && (got = read(fd, native.text + kept, TEXT - 1 - kept)) > 0)
		tp_maps_lines(native.text, TEXT - 1, &kept, (size_t)got, take_line, NULL);
	if (fd >= 0)
		close(fd);
	return 0;
}

void tp_hang_native_look(void)
{
	tp_own_table_call(read_maps, NULL);
}

#if defined(__x86_64__)

static const struct range *find_range(uint64_t at)
{
	uint32_t low = 0, high = native.n_ranges;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (native.range[middle].end <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low < native.n_ranges && native.range[low].begin <= at ? &native.range[low] : NULL;
}

/* ---- a stack ---- */

/* A stack ends in the middle of a page's worth of words: as many as there are. */
static uint32_t read_stack(uint64_t sp)
{
	const size_t part = 4096;
	size_t n = 0, most = sizeof(native.word);

	while (n < most) {
		size_t wanted = part - (sp + n) % part;
		size_t got;

		wanted = wanted < most - n ? wanted : most - n;
		got = tp_peek((const char *)(uintptr_t)sp + n, (char *)native.word + n, wanted);
		n += got;
		if (got < wanted)
			break;
	}
	return (uint32_t)(n / sizeof(native.word[0]));
}

static bool is_behind_call(uint64_t at)
{
	uint8_t code[CALL_BYTES];

	return tp_peek((const void *)(uintptr_t)(at - CALL_BYTES), code, CALL_BYTES) == CALL_BYTES &&
	       tp_hang_native_is_call(code, CALL_BYTES);
}

static void put_place(const struct range *range, uint64_t at, bool is_first, struct tp_text *out)
{
	tp_text_fmt(out, "%s%s+0x%lx", is_first ? "" : " < ", native.names + range->name,
		    (unsigned long)(at - range->begin + range->offset));
}

bool tp_hang_native_put(const struct tp_hang_call *call, struct tp_text *out)
{
	const struct range *range = call->pc ? find_range(call->pc) : NULL, *last = range;
	uint32_t n_words, n_shown = 1;

	if (!range)
		return false;
	put_place(range, call->pc, true, out);
	n_words = read_stack(call->sp);
	for (uint32_t i = 0; i < n_words && n_shown < SHOWN; i++) {
		range = find_range(native.word[i]);
		/* Of each library that is passed through the innermost one. */
		if (!range || (last && range->name == last->name) || !is_behind_call(native.word[i]))
			continue;
		put_place(range, native.word[i], false, out);
		last = range;
		n_shown++;
	}
	return true;
}

#else	/* calls look otherwise */

bool tp_hang_native_put(const struct tp_hang_call *call, struct tp_text *out)
{
	return false;
}

#endif
