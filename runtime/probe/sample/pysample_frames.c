/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pysample_frames.c - copies a thread's frames by whole pages: they lie together
 */
#include "runtime/probe/sample/pysample_frames.h"

#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "runtime/base/hash.h"
#include "runtime/base/peek.h"
#include "runtime/base/sandbox.h"
#include "runtime/probe/python/pyframe_layout.h"

enum {
	MOST_FRAME = 128,	/* bytes of a frame, as far as we read it */
	PAGE = 4096, PAGES = 16,
	FIXED = 2,		/* pieces of a call before its pages */
	MOST_SPAN = PAGE,	/* bytes of the C stack between two places that are read as one */
};

static struct {
	const struct tp_pyframe_layout *layout;
	/* Of this look. */
	uintptr_t page[PAGES];	/* address, 0: none */
	bool is_used[PAGES];
	char bytes[PAGES][PAGE];
	uint32_t next_page;
	char span[MOST_SPAN + sizeof(char *)];
} copy;

bool tp_pysample_read(const void *from, void *to, size_t n)
{
	return tp_peek(from, to, n) == n;
}

const char *tp_pysample_frames_init(const struct tp_pyframe_layout *layout)
{
	uint64_t here = 0x5a5a1234, there = 0;

	if (!tp_sandbox_allows(TP_SANDBOX_READV))
		return "a filter of system calls may end the process for process_vm_readv";
	if (!tp_pysample_read(&here, &there, sizeof(there)) || there != here)
		return "process_vm_readv is not allowed here";
	if (tp_pysample_read((const void *)8, &there, sizeof(there)))
		return "process_vm_readv says that memory is there where none is";
	copy.layout = layout;
	return NULL;
}

/* n bytes at p (n at most MOST_FRAME). */
static bool read_near(const char *p, char *to, size_t n)
{
	uintptr_t page = (uintptr_t)p & ~(uintptr_t)(PAGE - 1);
	uint32_t i;

	if ((uintptr_t)p + n > page + PAGE)
		return tp_pysample_read(p, to, n);
	for (i = 0; i < PAGES && copy.page[i] != page; i++)
		;
	if (i == PAGES) {
		i = copy.next_page++ % PAGES;
		copy.page[i] = 0;
		if (!tp_pysample_read((const void *)page, copy.bytes[i], PAGE))
			return false;
		copy.page[i] = page;
	}
	copy.is_used[i] = true;
	memcpy(to, copy.bytes[i] + ((uintptr_t)p - page), n);
	return true;
}

/*
 * 3.11 and 3.12: the newest frame is named on the C stack, at another place for each function that C called
 * (what sum() takes from a generator). The last two such places are near each other, and are read as one.
 */
static struct iovec span_of(const struct tp_pysample_hint *hint)
{
	const uintptr_t a = (uintptr_t)hint->c_frame[0], b = (uintptr_t)hint->c_frame[1];
	const uintptr_t low = a < b ? a : b, high = a < b ? b : a;

	if (copy.layout->c_frame == TP_PYFRAME_NONE || !a)
		return (struct iovec){ NULL, 0 };
	if (!b || high - low > MOST_SPAN)
		return (struct iovec){ (void *)(a + copy.layout->c_frame), sizeof(char *) };
	return (struct iovec){ (void *)(low + copy.layout->c_frame), high - low + sizeof(char *) };
}

static bool follow_c_frame(const char *c_frame, const struct iovec *span, struct tp_pysample_hint *hint,
			   const char **frame)
{
	const char *at = c_frame + copy.layout->c_frame;
	const uintptr_t offset = (uintptr_t)at - (uintptr_t)span->iov_base;

	if ((c_frame == hint->c_frame[0] || c_frame == hint->c_frame[1]) && offset < span->iov_len) {
		memcpy(frame, copy.span + offset, sizeof(*frame));
		return true;
	}
	hint->c_frame[1] = hint->c_frame[0];
	hint->c_frame[0] = c_frame;
	return tp_pyframe_is_ptr(c_frame) && tp_pysample_read(at, frame, sizeof(*frame));
}

/* The newest frame, and the pages of the hint; what of these is not there stays out. */
static bool begin(const char *state, struct tp_pysample_hint *hint, const char **frame)
{
	const struct tp_pyframe_layout *layout = copy.layout;
	const struct iovec span = span_of(hint);
	const ssize_t fixed = (ssize_t)(span.iov_len + sizeof(*frame));
	struct iovec own[FIXED + TP_PYSAMPLE_HINTS] = {
		{ frame, sizeof(*frame) }, { copy.span, span.iov_len }
	};
	struct iovec other[FIXED + TP_PYSAMPLE_HINTS] = {
		{ (void *)(uintptr_t)(state + layout->state_frame), sizeof(*frame) }, span
	};
	ssize_t n_read;

	memset(copy.page, 0, sizeof(copy.page));
	memset(copy.is_used, 0, sizeof(copy.is_used));
	for (uint32_t i = 0; i < hint->n; i++) {
		own[FIXED + i] = (struct iovec){ copy.bytes[i], PAGE };
		other[FIXED + i] = (struct iovec){ (void *)hint->page[i], PAGE };
	}
	n_read = process_vm_readv(getpid(), own, FIXED + hint->n, other, FIXED + hint->n, 0);
	for (uint32_t i = 0; i < hint->n && n_read >= fixed + (ssize_t)(i + 1) * PAGE; i++)
		copy.page[i] = hint->page[i];
	copy.next_page = hint->n;
	if (n_read < fixed) {
		memset(hint->c_frame, 0, sizeof(hint->c_frame));
		return false;
	}
	return layout->c_frame == TP_PYFRAME_NONE || !*frame || follow_c_frame(*frame, &span, hint, frame);
}

static void keep_hint(struct tp_pysample_hint *hint)
{
	hint->n = 0;
	for (uint32_t i = 0; i < PAGES && hint->n < TP_PYSAMPLE_HINTS; i++)
		if (copy.page[i] && copy.is_used[i])
			hint->page[hint->n++] = copy.page[i];
}

bool tp_pysample_frames(const char *state, struct tp_pysample_hint *hint,
			struct tp_pysample_look *look)
{
	const struct tp_pyframe_layout *layout = copy.layout;
	char bytes[MOST_FRAME];
	const char *frame;

	look->n = 0;
	look->is_cut = false;
	look->digest = 1;
	if (!begin(state, hint, &frame)) {
		hint->n = 0;
		return false;
	}
	for (; frame; frame = tp_pyframe_ptr(bytes, layout->previous)) {
		struct tp_pysample_frame *out = &look->frame[look->n];

		look->is_cut = look->n == TP_PYSAMPLE_FRAMES;
		if (look->is_cut)
			break;
		if (!tp_pyframe_is_ptr(frame) || !read_near(frame, bytes, sizeof(bytes)))
			return false;
		*out = (struct tp_pysample_frame){ .frame = frame };
		out->is_hidden = tp_pyframe_is_own(layout, bytes);
		if (!out->is_hidden) {
			out->code = tp_pyframe_ref(bytes, layout->code);
			out->at = tp_pyframe_ptr(bytes, layout->at);
		}
		if (!out->is_hidden && !tp_pyframe_is_ptr(out->code))
			return false;
		if (layout->instruction_bytes)
			out->at = (const char *)((uintptr_t)out->at & UINT32_MAX);
		look->digest = tp_hash_mix(look->digest ^ (uintptr_t)frame) + (uintptr_t)out->code;
		look->digest = tp_hash_mix(look->digest ^ (uintptr_t)out->at);
		look->n++;
	}
	keep_hint(hint);
	return true;
}
