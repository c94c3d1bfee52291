/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proto.c - text in protobuf: it must be UTF-8, names in traces need not be
 */
#include "merge/kit/proto.h"

#include "merge/kit/utf8.h"

static const char replacement[] = "\xef\xbf\xbd";

/* Length of the valid character at `at`; 0: none is there. */
static uint32_t char_length(const char *at, size_t left)
{
	uint32_t len;

	if (tp_utf8_next(at, (uint32_t)(left < 4 ? left : 4), &len) == 0xfffd && len == 1)
		return 0;
	return len;
}

char *tp_proto_text(char *p, uint32_t field, const char *bytes, size_t n)
{
	size_t length = 0;
	uint32_t len;

	for (size_t i = 0; i < n; i += len ? len : 1) {
		len = char_length(bytes + i, n - i);
		length += len ? len : sizeof(replacement) - 1;
	}
	p = tp_proto_varint(tp_proto_varint(p, field << 3 | 2), length);
	for (size_t i = 0; i < n; i += len ? len : 1) {
		len = char_length(bytes + i, n - i);
		memcpy(p, len ? bytes + i : replacement, len ? len : sizeof(replacement) - 1);
		p += len ? len : sizeof(replacement) - 1;
	}
	return p;
}
