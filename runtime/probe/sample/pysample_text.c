/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pysample_text.c - strings of Python, copied from outside
 */
#include "runtime/probe/sample/pysample_text.h"

#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "runtime/base/hash.h"
#include "runtime/probe/python/pyapi.h"
#include "runtime/probe/python/pyframe_layout.h"
#include "runtime/probe/python/pystack_names.h"
#include "runtime/probe/sample/pysample_frames.h"

enum {
	SIZE = 16,		/* from here on an object stays as it is, as long as it says the same */
	UNICODE_STATE = 32, UNICODE_KIND = 2, UNICODE_ASCII = 6,
	MOST_CHARACTERS = 3000,
	MOST_BYTES = 128 + MOST_CHARACTERS * 4,
};

static struct {
	const struct tp_pyframe_layout *layout;
	const char *type;
	char object[TP_PYSAMPLE_TEXTS][MOST_BYTES] __attribute__((aligned(16)));
	struct tp_pystack_pages own_pages;
} texts;

const char *tp_pysample_text_init(const struct tp_pyframe_layout *layout)
{
	void *string = tp_py.from_utf8("", 0);

	if (!string) {
		tp_py.clear();
		return "no memory for a string";
	}
	texts.type = tp_pyframe_ptr(string, TP_PYOBJECT_TYPE);
	tp_py.drop(string);
	texts.layout = layout;
	return NULL;
}

static uint64_t get_digest(const char *object, uint32_t bytes)
{
	return tp_hash_bytes(object + SIZE, bytes - SIZE, 0);
}

int32_t tp_pysample_text_read(const char *string, char *out, uint32_t cap, struct tp_pysample_text *text)
{
	const struct tp_pyframe_layout *layout = texts.layout;
	uint32_t state, width, bytes;
	char *object = texts.object[0];
	int64_t n;

	if (!tp_pyframe_is_ptr(string) || !tp_pysample_read(string, object, layout->ascii_bytes) ||
	    tp_pyframe_ptr(object, TP_PYOBJECT_TYPE) != texts.type)
		return -1;
	memcpy(&n, object + SIZE, sizeof(n));
	memcpy(&state, object + UNICODE_STATE, sizeof(state));
	width = state >> UNICODE_KIND & 7;
	cap = cap < MOST_CHARACTERS ? cap : MOST_CHARACTERS;
	if (n < 0 || width > 4)
		return -1;
	n = n < (int64_t)cap ? n : (int64_t)cap;
	bytes = layout->ascii_bytes + (state >> UNICODE_ASCII & 1 ? 0 : layout->minor < 12 ? 24 : 16) +
		(uint32_t)n * width;
	if (!tp_pysample_read(string, object, bytes))
		return -1;
	*text = (struct tp_pysample_text){ string, get_digest(object, bytes), bytes };
	return tp_pystack_utf8(layout, &texts.own_pages, object, out, cap);
}

bool tp_pysample_text_is(const struct tp_pysample_text text[TP_PYSAMPLE_TEXTS], const char *from, char *to,
			 uint32_t n)
{
	struct iovec own[TP_PYSAMPLE_TEXTS + 1], other[TP_PYSAMPLE_TEXTS + 1];
	ssize_t wanted = n;

	for (uint32_t i = 0; i < TP_PYSAMPLE_TEXTS; i++) {
		if (!text[i].bytes)
			return false;
		own[i] = (struct iovec){ texts.object[i], text[i].bytes };
		other[i] = (struct iovec){ (void *)(uintptr_t)text[i].string, text[i].bytes };
		wanted += text[i].bytes;
	}
	own[TP_PYSAMPLE_TEXTS] = (struct iovec){ to, n };
	other[TP_PYSAMPLE_TEXTS] = (struct iovec){ (void *)(uintptr_t)from, n };
	if (process_vm_readv(getpid(), own, TP_PYSAMPLE_TEXTS + 1, other, TP_PYSAMPLE_TEXTS + 1, 0) != wanted)
		return false;
	for (uint32_t i = 0; i < TP_PYSAMPLE_TEXTS; i++)
		if (tp_pyframe_ptr(texts.object[i], TP_PYOBJECT_TYPE) != texts.type ||
		    get_digest(texts.object[i], text[i].bytes) != text[i].digest)
			return false;
	return true;
}
